"""The proxy through which the browser of a crawl connects: on the loopback address, to allowed addresses only.

The browser resolves no name and follows no redirect past it, so each connection of a page is checked when it is made,
like those of Scrapy's downloader.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import closing, suppress
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from collections.abc import Callable, Coroutine
    from typing import Self

    from crawler.fetching.addresses import Addresses


logger = logging.getLogger(__name__)

_HEAD_SECONDS = 60.0  # browsers open connections before they need them
_CONNECT_SECONDS = 10.0
_CHUNK_BYTES = 1 << 16
_BROKEN_CONNECTION = (asyncio.IncompleteReadError, asyncio.LimitOverrunError)
_HOP_HEADERS = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization"})


class _ConnectionRefused(Exception):  # noqa: N818 — an answer to the browser, not an error
    pass


@dataclass(frozen=True, slots=True)
class _HttpHead:
    """The first line and the headers of a request or response, without hop-by-hop headers."""

    line: bytes
    headers: tuple[bytes, ...]

    @classmethod
    async def read(cls, reader: StreamReader) -> Self:
        line, *headers = (await reader.readuntil(b"\r\n\r\n")).removesuffix(b"\r\n\r\n").split(b"\r\n")
        kept = [header for header in headers if header.partition(b":")[0].strip().lower() not in _HOP_HEADERS]
        return cls(line, tuple(kept))

    def get(self, name: bytes) -> bytes | None:
        values = [value.strip() for key, _, value in (h.partition(b":") for h in self.headers) if key.lower() == name]
        return values[-1] if values else None

    def bytes(self, line: bytes, *more: bytes) -> bytes:
        return b"\r\n".join((line, *self.headers, *more, b"", b""))


@dataclass(frozen=True, slots=True)
class _Target:
    """The destination of a request: a tunnel (for https), or one plain http request."""

    tunnel: bool
    host: str
    port: int
    path: bytes

    @classmethod
    def read(cls, line: bytes) -> Self:
        """Raises ValueError for a line that is not a request to a proxy."""
        method, url, _ = line.decode("ascii").split(" ")
        parts = urlsplit(f"//{url}" if method == "CONNECT" else url)
        if not parts.hostname or parts.scheme not in {"", "http"}:
            raise ValueError(f"no address to connect to in {url[:100]!r}")
        path = "/" + url.partition("://")[2].partition("/")[2]
        return cls(method == "CONNECT", parts.hostname, parts.port or 80, path.encode())

    @property
    def proxy(self) -> str | None:
        """The user's proxy for this target from the environment, as Scrapy finds it."""
        proxy_url = getproxies().get("https" if self.tunnel else "http")
        return proxy_url if proxy_url and not proxy_bypass(self.host) else None


class BrowserProxy:
    """A local proxy for the browser; `on_refused` is called for each connection that it refuses."""

    def __init__(self, addresses: Addresses, on_refused: Callable[[], None]) -> None:
        self._addresses = addresses
        self._on_refused = on_refused
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def open(self) -> str:
        """Start the proxy and return its URL."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        return f"http://{host}:{port}"

    async def close(self) -> None:
        """Close the proxy and all its connections; it need not be open."""
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _accept(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await _HttpHead.read(reader)
            target = _Target.read(head.line)
            site_reader, site = await self._connect(target)
        except _ConnectionRefused as error:
            logger.debug("A connection of the browser was refused: %s", error)
            self._on_refused()
            writer.write(_empty_response(b"403 Forbidden"))
        except (OSError, ValueError, *_BROKEN_CONNECTION) as error:
            logger.debug("A connection of the browser failed: %r", error)
            writer.write(_empty_response(b"502 Bad Gateway"))
        else:
            # If either side closes the connection, the page does without the resource.
            with closing(site), suppress(OSError, ValueError, *_BROKEN_CONNECTION):
                if target.tunnel:
                    await _tunnel(target, head, (reader, site), (site_reader, writer))
                else:
                    await _send_request(target, head, reader, site)
                    await _wait_for_first(_pass_response(site_reader, writer), reader.read(1))
        finally:
            writer.close()

    async def _connect(self, target: _Target) -> tuple[StreamReader, StreamWriter]:
        """Connect to a target, or to the user's proxy, whose address is not checked and which resolves names itself."""
        if refusal := self._addresses.host_refusal(target.host):
            raise _ConnectionRefused(f"{target.host} leads to {refusal}")
        if target.proxy:
            proxy = urlsplit(target.proxy if "://" in target.proxy else f"http://{target.proxy}")
            async with asyncio.timeout(_CONNECT_SECONDS):
                return await asyncio.open_connection(proxy.hostname, proxy.port or 80)
        return await self._connect_directly(target)

    async def _connect_directly(self, target: _Target) -> tuple[StreamReader, StreamWriter]:
        address_infos = await _resolve(target)
        problem: Exception = OSError(f"{target.host} has no address")
        for address in dict.fromkeys(str(socket_address[0]) for *_, socket_address in address_infos):
            if refusal := self._addresses.refusal(address):
                problem = _ConnectionRefused(f"{target.host} leads to {refusal}")
                continue
            try:
                async with asyncio.timeout(_CONNECT_SECONDS):
                    return await asyncio.open_connection(address, target.port)
            except OSError as error:
                problem = error
        raise problem


async def _resolve(target: _Target) -> list[Any]:
    """Return the result of getaddrinfo, which runs in a thread; the program ends without waiting for it."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[list[Any]] = loop.create_future()

    def end(set_end: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            set_end(value)

    def resolve() -> None:
        try:
            ended: tuple[Callable[[Any], None], Any] = (
                future.set_result,
                socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM),
            )
        except OSError as error:
            ended = future.set_exception, error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(end, *ended)

    Thread(target=resolve, daemon=True, name="resolve").start()
    return await future


async def _tunnel(
    target: _Target, head: _HttpHead, out: tuple[StreamReader, StreamWriter], back: tuple[StreamReader, StreamWriter]
) -> None:
    """Open a tunnel, or let the user's proxy open it, and relay both directions."""
    if target.proxy:
        out[1].write(head.bytes(head.line))
    else:
        back[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    await _wait_for_first(_relay(*out), _relay(*back))


async def _send_request(target: _Target, head: _HttpHead, reader: StreamReader, site: StreamWriter) -> None:
    """Send one request with its body, and announce that no other follows."""
    if head.get(b"transfer-encoding"):
        raise ValueError("a request of unknown length is not forwarded")
    method, _, version = head.line.split(b" ")
    line = head.line if target.proxy else b" ".join((method, target.path, version))
    site.write(head.bytes(line, b"Connection: close"))
    site.write(await reader.readexactly(int(head.get(b"content-length") or 0)))
    await site.drain()


async def _pass_response(site: StreamReader, writer: StreamWriter) -> None:
    """Forward one response and announce it as the last, so that the browser sends no other site's request here."""
    head = await _HttpHead.read(site)
    while head.line.partition(b" ")[2].startswith(b"1"):  # informational, such as "100 Continue": the response follows
        head = await _HttpHead.read(site)
    writer.write(head.bytes(head.line, b"Connection: close"))
    await _relay(site, writer)


async def _relay(reader: StreamReader, writer: StreamWriter) -> None:
    while chunk := await reader.read(_CHUNK_BYTES):
        writer.write(chunk)
        await writer.drain()


async def _wait_for_first(*coroutines: Coroutine[Any, Any, object]) -> None:
    """Wait until one coroutine is done, cancel the others, and raise the first one's exception."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _empty_response(status: bytes) -> bytes:
    return b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

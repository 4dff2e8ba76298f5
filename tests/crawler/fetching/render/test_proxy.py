"""The browser's proxy: which connections it makes, and which it refuses."""

import asyncio
import socket
from contextlib import asynccontextmanager, closing

import pytest

from crawler.fetching.addresses import Addresses
from crawler.fetching.render.proxy import BrowserProxy

HERE = "127.0.0.1"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def resolver(monkeypatch):
    """Let the system's resolver know some names; the last answer stays."""
    answers = {"inside.example": [HERE], "rebound.example": ["127.0.0.2", HERE]}
    getaddrinfo = socket.getaddrinfo

    def resolve(host, port, *arguments, **more):
        addresses = answers.get(host)
        return getaddrinfo(
            addresses.pop(0) if addresses and addresses[1:] else addresses[0] if addresses else host,
            port,
            *arguments,
            **more,
        )

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


@asynccontextmanager
async def opened(allowed):
    """Open an outlet; what it gives asks it for something, and has a list of what was refused."""
    refused = []
    outlet = BrowserProxy(Addresses.read(allowed), lambda: refused.append(1))
    port = int((await outlet.open()).rpartition(":")[2])

    async def ask(*lines, body=b""):
        reader, writer = await asyncio.open_connection(HERE, port)
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        try:
            async with asyncio.timeout(300):
                return await reader.read()
        finally:
            writer.close()

    ask.refused, ask.port = refused, port
    try:
        yield ask
    finally:
        await outlet.close()


def ask_through(allowed, *lines, body=b""):
    """Return the answer to one request, and how many were refused."""

    async def run():
        async with opened(allowed) as ask:
            return await ask(*lines, body=body), len(ask.refused)

    return asyncio.run(run())


def test_a_request_is_forwarded_as_the_last_of_its_connection(serve, answer):
    site, requests = serve({"/a//b?c=/d": answer("a style", headers={"Keep-Alive": "5", "X-Kept": "yes"})})
    reply, refused = ask_through(
        HERE, f"GET {site}/a//b?c=/d HTTP/1.1", "Host: x", "Proxy-Connection: keep-alive", "X-A: 1"
    )
    head, _, body = reply.partition(b"\r\n\r\n")
    assert (body, refused) == (b"a style", 0)
    assert b"X-Kept: yes" in head
    assert head.endswith(b"\r\nConnection: close")
    assert b"Keep-Alive" not in head
    (path, headers), *others = requests
    assert (path, headers, others) == ("/a//b?c=/d", {"Host": "x", "X-A": "1", "Connection": "close"}, [])


def test_a_tunnel_passes_bytes_both_ways():
    async def echo(reader, writer):
        writer.write((await reader.readexactly(4)).upper())
        writer.close()

    async def run():
        server = await asyncio.start_server(echo, HERE, 0)
        port = server.sockets[0].getsockname()[1]
        async with server, opened(HERE) as ask:
            return await ask(f"CONNECT {HERE}:{port} HTTP/1.1", body=b"abcd")

    assert asyncio.run(run()) == b"HTTP/1.1 200 Connection established\r\n\r\nABCD"


@pytest.mark.parametrize("request_line", ["GET http://{} HTTP/1.1", "CONNECT {} HTTP/1.1"])
@pytest.mark.parametrize("host", [HERE, "localhost", "2130706433", "inside.example"])
def test_no_connection_is_made_to_a_refused_address(request_line, host, resolver):
    with closing(socket.create_server((HERE, 0))) as server:
        server.setblocking(False)
        reply, refused = ask_through("10.0.0.0/8", request_line.format(f"{host}:{server.getsockname()[1]}"))
        assert (reply.split(b"\r\n")[0], refused) == (b"HTTP/1.1 403 Forbidden", 1)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_name_is_resolved_for_each_connection(resolver):
    """127.0.0.2 is allowed, and nobody is there; the second answer is not, and somebody is."""
    with closing(socket.create_server((HERE, 0))) as server:
        server.setblocking(False)
        line = f"GET http://rebound.example:{server.getsockname()[1]}/ HTTP/1.1"
        replies = [ask_through("127.0.0.2", line) for _ in range(2)]
        statuses = [(reply.split(b" ")[1], refused) for reply, refused in replies]
        assert statuses == [(b"502", 0), (b"403", 1)]
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize(
    "lines",
    [
        ("GET /page HTTP/1.1",),
        ("GET https://a.example/ HTTP/1.1",),
        ("CONNECT a.invalid:443 HTTP/1.1",),
        ("CONNECT a.invalid:99999999 HTTP/1.1",),
        ("CONNECT",),
        ("GET http://[/ HTTP/1.1",),
        ("GET http://a.invalid/ HTTP/1.1", "X: " + "x" * 100_000),
    ],
)
def test_a_failed_connection_is_a_bad_gateway(lines):
    reply, refused = ask_through("", *lines)
    assert (reply.split(b"\r\n")[0], refused) == (b"HTTP/1.1 502 Bad Gateway", 0)


@pytest.mark.parametrize("line", ["GET http://a.invalid/x HTTP/1.1", "CONNECT a.invalid:443 HTTP/1.1"])
def test_the_user_s_proxy_gets_the_unchanged_request(line, monkeypatch):
    async def run():
        heads = []

        async def proxy(reader, writer):
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * line.startswith("GET"))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
            writer.close()

        server = await asyncio.start_server(proxy, HERE, 0)
        for scheme in ("http", "https"):
            monkeypatch.setenv(f"{scheme}_proxy", f"http://{HERE}:{server.sockets[0].getsockname()[1]}")
        async with server, opened("") as ask:
            return heads, await ask(line, "Host: a.invalid")

    heads, reply = asyncio.run(run())
    assert heads[0].splitlines()[:2] == [line.encode(), b"Host: a.invalid"]
    assert reply.startswith(b"HTTP/1.1 200 OK\r\n")
    assert reply.endswith(b"done")


def test_the_user_s_proxy_is_not_asked_for_a_private_address(serve, monkeypatch):
    proxy, requests = serve({})
    monkeypatch.setenv("http_proxy", proxy)
    reply, refused = ask_through("", "GET http://10.0.0.1/ HTTP/1.1")
    assert (reply.split(b"\r\n")[0], refused, requests) == (b"HTTP/1.1 403 Forbidden", 1, [])


def test_closing_the_proxy_ends_open_connections():
    async def run():
        async with opened(HERE) as ask:
            reader, writer = await asyncio.open_connection(HERE, ask.port)
            writer.write(b"GET http://")
            await writer.drain()
            reading = asyncio.ensure_future(reader.read())
            await asyncio.sleep(0)
        async with asyncio.timeout(300):
            assert await reading == b""
        writer.close()

    asyncio.run(run())

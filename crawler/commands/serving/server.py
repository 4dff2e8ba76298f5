"""The server of `scrapy serve` and `scrapy mcp --http`: no client that does not do its part keeps others out.

uvicorn has no time limit on the head of a request, and counts a connection that sends nothing like one that is being
answered.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp

logger = logging.getLogger(__name__)

_CONNECTIONS_MAX = 100
_WAIT_SECONDS = 10.0
"""How long a client may take to send the rest of a head, or to read what was written; the latter some 50 KB at once."""
_OTHER_FILES = 32
"""File descriptors that are left for the database, templates and jobs."""
_SHUTDOWN_SECONDS = 2
_NO_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


def make_server(app: ASGIApp, lifespan: Literal["on", "off"] = "off") -> uvicorn.Server:
    """Return the server of an application."""
    most = _count_connections()
    config = uvicorn.Config(
        app,
        http=_Connection,
        access_log=False,  # addresses may hold a token
        backlog=most,  # asyncio accepts as many before it closes one
        lifespan=lifespan,
        limit_concurrency=most + 1,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    return _Server(config)


def _count_connections() -> int:
    """Return how many connections may be open at once: as many again may wait to be accepted or closed."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return _CONNECTIONS_MAX
    free = limit - sum(1 for _ in Path("/dev/fd").iterdir()) - _OTHER_FILES
    return max(2, min(_CONNECTIONS_MAX, free // 2))


class _Server(uvicorn.Server):
    """Says once that there are no file descriptors left, in place of asyncio's traceback for each connection."""

    _told = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._tell)
        await super().startup(sockets)

    def _tell(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if getattr(context.get("exception"), "errno", None) not in _NO_DESCRIPTORS:
            loop.default_exception_handler(context)
        elif not self._told:
            self._told = True
            logger.warning("connections wait: %s; allow more with `ulimit -n`", context["exception"])


class _Connection(H11Protocol):
    """A connection that ends if its client keeps it waiting: after a time, or when another one needs its place."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        super().connection_made(transport)
        self._watch()
        assert self.limit_concurrency is not None  # make_server sets it
        if len(self.connections) < self.limit_concurrency:
            return
        waiting = {
            other._deadline.when(): other  # noqa: SLF001 — of this class
            for other in self.connections
            if isinstance(other, _Connection) and other is not self and other._deadline is not None  # noqa: SLF001 — as above
        }
        if waiting:
            longest = waiting[min(waiting)]
            self.connections.discard(longest)
            longest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._watch()

    def _watch(self) -> None:
        """Begin to count the time if the client has to act, and end it if it has."""
        needs_head = self.cycle is None or self.cycle.response_complete
        if not needs_head and not self.flow.write_paused:
            self._stop_watching()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(_WAIT_SECONDS, self.transport.abort)

    def _stop_watching(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

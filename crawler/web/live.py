"""The figures of open crawls as server-sent events, for as long as a reader looks at them."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from anyio import Lock, sleep
from msgspec import json
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from crawler.errors import StoreError
from crawler.web.views.overview import open_crawls

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

    from crawler.web.records import OpenCrawl
    from crawler.web.snapshot import DatabaseSnapshot

_EVENT_SECONDS = 2.0
_READERS_MAX = 16
"""More readers get no events; their page shows the figures of when it was made."""


class LiveFigures:
    """Reads the figures once for all readers, every two seconds while there is one."""

    def __init__(self, run: Callable[[Callable[[], Any]], Awaitable[Any]], read: Callable[..., Any]) -> None:
        self._run = run
        self._read = read
        self._lock = Lock()
        self._readers = 0
        self._until = 0.0
        self._event = ""

    async def stream(self, _request: Request) -> Response:
        """Return the events; each holds all open crawls."""
        if self._readers >= _READERS_MAX:
            return PlainTextResponse(f"{_READERS_MAX} readers get live figures already", 503)
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def _events(self) -> AsyncIterator[str]:
        self._readers += 1
        try:
            while True:
                yield await self._next_event()
                await sleep(_EVENT_SECONDS)
        finally:
            self._readers -= 1

    async def _next_event(self) -> str:
        async with self._lock:
            if monotonic() > self._until:
                try:
                    crawls = await self._run(lambda: self._read(_open))
                    self._event = f"event: crawls\ndata: {json.encode(crawls).decode()}\n\n"
                except StoreError:
                    self._event = ": the database does not answer\n\n"  # a comment, which keeps the connection
                self._until = monotonic() + _EVENT_SECONDS / 2
            return self._event


def _open(snapshot: DatabaseSnapshot) -> list[OpenCrawl]:
    return open_crawls(snapshot.connection, snapshot.now)

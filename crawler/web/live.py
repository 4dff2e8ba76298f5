"""The figures of open crawls as server-sent events, for as long as a reader looks at them."""

from __future__ import annotations

from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Any

from anyio import Lock, sleep
from msgspec import json
from msgspec.structs import replace
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from crawler.errors import StoreError
from crawler.web.views.crawls import open_crawls

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

    from crawler.web.records import OpenCrawl
    from crawler.web.snapshot import DatabaseSnapshot

_EVENT_SECONDS = 2.0
_RATE_SECONDS = 60.0
"""The rate of a crawl is that of the time before, while somebody looks."""
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
        self._earlier: deque[tuple[float, dict[int, int]]] = deque()

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
                    crawls = self._with_rates(await self._run(lambda: self._read(_open)))
                    self._event = f"event: crawls\ndata: {json.encode(crawls).decode()}\n\n"
                except StoreError:
                    self._event = ": the database does not answer\n\n"  # a comment, which keeps the connection
                self._until = monotonic() + _EVENT_SECONDS / 2
            return self._event

    def _with_rates(self, crawls: list[OpenCrawl]) -> list[OpenCrawl]:
        """Return the crawls with the requests that ended in a minute, by what was read before."""
        now = monotonic()
        while self._earlier and now - self._earlier[0][0] > _RATE_SECONDS:
            self._earlier.popleft()
        ended = {crawl.id: crawl.ended + crawl.failed for crawl in crawls}
        self._earlier.append((now, ended))
        began, before = self._earlier[0]
        if now - began < _EVENT_SECONDS:
            return crawls
        return [
            replace(crawl, rate=60 * (ended[crawl.id] - before[crawl.id]) / (now - began))
            if crawl.id in before
            else crawl
            for crawl in crawls
        ]


def _open(snapshot: DatabaseSnapshot) -> list[OpenCrawl]:
    return open_crawls(snapshot.connection, snapshot.now)

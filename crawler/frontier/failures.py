"""Requests that end without a response: each becomes a visit too, with what its errback yields."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.asyncgen import as_async_generator
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.spider import iterate_spider_output
from twisted.python.failure import Failure

from crawler.errors import ArchiveError
from crawler.fetching.response_filter import ResponseRejected
from crawler.fetching.throttling import failure_outcome
from crawler.frontier.serialize import WatchedErrback
from crawler.visit import Visit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from scrapy.crawler import Crawler

    from crawler.frontier.scheduler import Frontier
    from crawler.visit import RequestRecord

_MAX_ERROR_CHARS = 500


class RequestFailures:
    """Puts itself in front of the errbacks of leased requests."""

    def __init__(self, crawler: Crawler, frontier: Frontier) -> None:
        self._crawler = crawler
        self._frontier = frontier

    def wrap(self, request: Request) -> None:
        """See to it that a failure of this request ends as a visit, after its own errback has had its say."""
        request.errback = WatchedErrback(request.errback, self._end)

    def _end(self, failure: Failure, errback: Callable[[Failure], Any] | None) -> Any:
        if isinstance(failure.value, ResponseRejected):
            # There is a response: the visit is made of that, and of what comes from here.
            return errback(failure) if errback else ()
        if isinstance(failure.value, ArchiveError):
            return ()  # not an end: the crawl closes, gives the lease back, and asks again when it goes on
        return self._visit(failure, errback)

    async def _visit(self, failure: Failure, errback: Callable[[Failure], Any] | None) -> AsyncIterator[Any]:
        request: Request = failure.request  # type: ignore[attr-defined] # set by Scrapy
        leased = self._frontier.lease(request)
        wanted: list[RequestRecord] = []
        try:
            async for thing in as_async_generator(await _errback_output(errback, failure)):
                if leased is not None and isinstance(thing, Request):
                    wanted.append(self._frontier.pack(thing, leased.child(len(wanted))))
                else:
                    yield thing
        except Exception:  # noqa: BLE001 — one errback must not end the crawl
            self._crawler.engine.scraper.handle_spider_error(
                Failure(),  # type: ignore[no-untyped-call] # twisted is untyped
                request,
                failure,
            )
        if leased is not None:
            yield Visit(
                url=request.url,
                at=datetime.now(UTC),
                outcome=failure_outcome(failure.value),
                error=failure.getErrorMessage()[:_MAX_ERROR_CHARS],
                children=len(wanted),
                lease_token=leased.lease_token,
                request=leased.record,
                attempts=leased.attempts,
                requests=tuple(wanted),
            )


async def _errback_output(errback: Callable[[Failure], Any] | None, failure: Failure) -> Any:
    output = errback(failure) if errback else None
    # An errback that gives the failure back has nothing to add.
    return () if isinstance(output, Failure) else await ensure_awaitable(iterate_spider_output(output))

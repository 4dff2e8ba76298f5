"""Requests that end without a response: each becomes a visit, with the requests that its errback yields."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.asyncgen import as_async_generator
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.spider import iterate_spider_output
from twisted.python.failure import Failure

from crawler.errors import ArchiveError
from crawler.fetching.response_filter import ResponseRejected
from crawler.fetching.throttling import NotSentError, RobotsUnavailable, failure_outcome, failure_text
from crawler.frontier.serialize import WatchedErrback
from crawler.urls import host_of
from crawler.visit import Visit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from scrapy.crawler import Crawler

    from crawler.storage.requests import LeasedRequest
    from crawler.visit import RequestRecord

_MAX_ERROR_CHARS = 500


class RequestFailures:
    """Wraps the errbacks of leased requests, so that every failure ends as a visit."""

    def __init__(
        self,
        crawler: Crawler,
        find_lease: Callable[[Request], LeasedRequest | None],
        serialize: Callable[[Request, str], RequestRecord],
        pause: Callable[[str, float], None],
    ) -> None:
        self._crawler = crawler
        self._find_lease = find_lease
        self._serialize = serialize
        self._pause = pause

    def wrap(self, request: Request) -> None:
        """Make a failure of this request end as a visit, after the request's own errback."""
        request.errback = WatchedErrback(request.errback, self._end)

    def _end(self, failure: Failure, errback: Callable[[Failure], Any] | None) -> Any:
        if isinstance(failure.value, ResponseRejected):
            # There is a response, so VisitMiddleware makes the visit, and takes the errback's output into it.
            return errback(failure) if errback else ()
        if isinstance(failure.value, ArchiveError | NotSentError):
            return ()  # not an end: the crawl closes and releases the lease
        return self._visit(failure, errback)

    async def _visit(self, failure: Failure, errback: Callable[[Failure], Any] | None) -> AsyncIterator[Any]:
        request: Request = failure.request  # type: ignore[attr-defined] # set by Scrapy
        leased = self._find_lease(request)
        children: list[RequestRecord] = []
        try:
            async for output in as_async_generator(await _errback_output(errback, failure)):
                if leased is not None and isinstance(output, Request):
                    children.append(self._serialize(output, leased.child(len(children))))
                else:
                    yield output
        except Exception:  # noqa: BLE001 — one errback must not end the crawl
            self._crawler.engine.scraper.handle_spider_error(
                Failure(),  # type: ignore[no-untyped-call] # twisted is untyped
                request,
                failure,
            )
        if leased is not None:
            visit = Visit(
                url=request.url,
                at=datetime.now(UTC),
                outcome=failure_outcome(failure.value),
                error=failure_text(failure.value)[:_MAX_ERROR_CHARS],
                children=len(children),
                lease_token=leased.lease_token,
                request=leased.record,
                attempts=leased.attempts,
                requests=tuple(children),
            )
            if isinstance(failure.value, RobotsUnavailable):
                seconds = failure.value.retry_after_seconds
                self._pause(host_of(request.url), seconds)
                visit = replace(visit, pause_evidence=visit.error, retry_after_seconds=seconds)
            yield visit


async def _errback_output(errback: Callable[[Failure], Any] | None, failure: Failure) -> Any:
    output = errback(failure) if errback else None
    # An errback that returns the failure yields nothing.
    return () if isinstance(output, Failure) else await ensure_awaitable(iterate_spider_output(output))

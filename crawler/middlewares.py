"""Between Scrapy and the pipelines: what is no page is refused, and each response becomes one visit.

JudgeMiddleware (downloader side, outermost) judges a response, parses it once and marks what is no page.
VisitMiddleware (spider side, outermost) drains a callback's output into one Visit, refusals included.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from scrapy import Request, signals
from scrapy.exceptions import CloseSpider, IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from twisted.python.failure import Failure

from crawler.config import Config
from crawler.context import context_of
from crawler.fetching import revalidation
from crawler.fetching.response_filter import (
    RENDERED_FLAG,
    PageResponse,
    Rejection,
    ResponseRejected,
    filter_response,
    reject_status,
)
from crawler.fetching.throttling import RefusalBackoff
from crawler.frontier.serialize import START_NUMBER
from crawler.page import get_header
from crawler.visit import REFUSAL_OUTCOMES, FetchedPage, Outcome, Visit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from cleaning.blocks import Page
    from crawler.frontier.scheduler import Frontier
    from crawler.storage.requests import LeasedRequest
    from crawler.visit import RequestRecord


logger = logging.getLogger(__name__)

_MAX_ERROR_CHARS = 500


class ResponseFilterMiddleware:
    """Turns responses into PageResponses and marks those that are no page.

    A request with `meta={"judge": False}` gets its response as it came (feeds, sitemaps), whatever its type; a
    status that the spider handles (`handle_httpstatus_list`, `handle_httpstatus_all`) is no reason to refuse.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._max_bytes = Config.read(crawler.settings).page_max_bytes

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response | Request:
        # robots.txt and the like are fetched for Scrapy itself.
        if request.callback is NO_CALLBACK or _is_filtered(response):
            return response
        if revalidation.is_doubtful_304(request, response):
            self._crawler.stats.inc_value("page/not_modified_doubted")
            return revalidation.without_conditions(request)
        judged = self._judge(request, response)
        if isinstance(judged, Rejection):
            judged.mark(response)
            return response
        if judged is None or isinstance(response, PageResponse):
            return response
        return PageResponse.of(response, judged)

    def _judge(self, request: Request, response: Response) -> Rejection | Page | None:
        """Return the page, or why it is none; nothing for a response that is not to be judged."""
        if not self._handles(request, response.status):
            verdict = revalidation.reject_unmodified(request, response) or reject_status(response.status, response.body)
            if verdict and response.status == HTTPStatus.OK:
                self._crawler.stats.inc_value("page/same_body")
            if verdict:
                return verdict
        if request.meta.get("judge", True) is False:
            return None
        return filter_response(response, self._max_bytes)

    def _handles(self, request: Request, status: int) -> bool:
        own = getattr(self._crawler.spider, "handle_httpstatus_list", ())
        statuses = request.meta.get("handle_httpstatus_list", own)
        return bool(request.meta.get("handle_httpstatus_all")) or status in statuses


def _is_filtered(response: Response) -> bool:
    """Tell whether a response has its page already, other than from the renderer, which judges nothing."""
    return isinstance(response, PageResponse) and RENDERED_FLAG not in response.flags


@dataclass(slots=True)
class _CallbackOutput:
    """What a callback has given so far, beside the items that went on at once, and requests without a frontier."""

    pages: list[FetchedPage] = field(default_factory=list)
    requests: list[RequestRecord] = field(default_factory=list)
    children: int = 0
    items: int = 0
    error: str | None = None


class VisitMiddleware:
    """Drains what a callback yields into one Visit a response, and counts it as `visit/<outcome>`.

    Ordinary items pass untouched and in order; the visit comes last. So do child requests, unless the frontier is in
    the database: then they are part of the visit, to be stored with it. A callback that fails has one visit too, with
    the error and the last page it gave before.
    """

    def __init__(self, crawler: Crawler, backoff: RefusalBackoff | None) -> None:
        self._crawler = crawler
        self._backoff = backoff
        self._begun: WeakSet[Response] = WeakSet()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        config = Config.read(crawler.settings)
        max_delay = crawler.settings.getfloat("AUTOTHROTTLE_MAX_DELAY")
        # A replayed site is not contacted: there is nobody to spare.
        backoff = None if config.replay else RefusalBackoff(crawler, max_delay, config.max_refusals_in_a_row)
        return cls(crawler, backoff)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Give the start requests to the frontier, unless it has them."""
        frontier = self._frontier
        if frontier is None:
            async for thing in start:
                yield thing
        elif not frontier.seeded:
            number = 0
            async for thing in start:
                if isinstance(thing, Request):
                    await frontier.room()
                    thing.meta[START_NUMBER] = f"start{number}"
                    frontier.check(thing)
                    number += 1
                yield thing
            frontier.end_seeding()

    @property
    def _frontier(self) -> Frontier | None:
        frontier: Frontier | None = context_of(self._crawler).frontier
        return frontier

    def process_spider_input(self, response: Response) -> None:
        if verdict := Rejection.read(response):
            raise ResponseRejected(verdict, response)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        drained = _CallbackOutput()
        # Output that another middleware gives in place of an exception comes as a second stream.
        again = response in self._begun
        self._begun.add(response)
        try:
            async for thing in result:
                if isinstance(thing, FetchedPage):
                    drained.pages.append(thing)
                    continue
                if isinstance(thing, Request):
                    drained.children += 1
                    if self._keep(thing, response, drained):
                        continue
                else:
                    drained.items += 1
                yield thing
        except Exception as error:  # noqa: BLE001 — the per-page boundary: one page must not end the crawl
            drained.error = self._report(error, response)
        if drained.pages or drained.error or not again:
            for visit in self._conclude(response, drained):
                yield visit

    def process_spider_exception(self, response: Response, exception: Exception) -> list[Visit] | None:
        """Return the visit of a response whose callback was not called, or failed before it gave an iterator."""
        if response in self._begun:
            return None  # raised while draining: it arrives there
        drained = _CallbackOutput()
        if not isinstance(exception, ResponseRejected):
            drained.error = self._report(exception, response)
        return self._conclude(response, drained)

    def _keep(self, request: Request, response: Response, drained: _CallbackOutput) -> bool:
        """Tell whether a child request is the visit's to bring along, or refused by those who are asked beforehand."""
        frontier = self._frontier
        leased = frontier.lease(response.request) if frontier and response.request else None
        if frontier is None or leased is None:
            return False
        if self._is_admitted(request):
            drained.requests.append(frontier.pack(request, leased.child(len(drained.requests))))
        return True

    def _is_admitted(self, request: Request) -> bool:
        """Ask what the engine asks before it gives a request to the scheduler: other sites are refused here."""
        answers = self._crawler.signals.send_catch_log(
            signals.request_scheduled, request=request, spider=self._crawler.spider, dont_log=IgnoreRequest
        )
        return not any(isinstance(answer, Failure) and isinstance(answer.value, IgnoreRequest) for _, answer in answers)

    def _conclude(self, response: Response, drained: _CallbackOutput) -> list[Visit]:
        verdict = Rejection.read(response)
        visits = _make_visits(response, drained, verdict)
        frontier = self._frontier
        leased = frontier.lease(response.request) if frontier and response.request else None
        if leased is not None:
            visits = list(_add_request(visits, leased, drained.requests))
        for visit in visits:
            self._count(visit)
        if self._backoff is not None:
            _update_backoff(self._backoff, response, verdict, served=bool(drained.pages or drained.items))
        return visits

    def _count(self, visit: Visit) -> None:
        self._crawler.stats.inc_value(f"visit/{visit.outcome}")
        if visit.outcome not in {Outcome.PAGE, Outcome.SECTION}:
            logger.debug("No page at %s: %s: %s", visit.url, visit.outcome, visit.error)

    def _report(self, error: Exception, response: Response) -> str | None:
        """Log and count a callback's exception as Scrapy does; return it in words, None where it ends the crawl."""
        request = response.request
        assert request is not None
        failure = Failure(error)  # type: ignore[no-untyped-call] # twisted is untyped
        self._crawler.engine.scraper.handle_spider_error(failure, request, response)
        if isinstance(error, CloseSpider):
            return None
        return f"{type(error).__name__}: {error}"[:_MAX_ERROR_CHARS]


def _make_visits(response: Response, drained: _CallbackOutput, verdict: Rejection | None) -> list[Visit]:
    """Return a visit for each page, or one without; the error stands on the last of them, the children on the first."""
    without_page = verdict.outcome if verdict else Outcome.SECTION
    whole = Visit(
        url=response.url,
        at=datetime.now(UTC),
        outcome=Outcome.PAGE if drained.pages else without_page,
        status=response.status,
        items=drained.items,
        error=verdict.detail if verdict else None,
        etag=get_header(response, "ETag"),
        last_modified=get_header(response, "Last-Modified"),
    )
    visits = [replace(whole, url=page.url, page=page) for page in drained.pages] or [whole]
    visits[0] = replace(visits[0], children=drained.children)
    if drained.error is not None:
        visits[-1] = replace(visits[-1], outcome=Outcome.CALLBACK_FAILED, error=drained.error)
    return visits


def _add_request(visits: list[Visit], leased: LeasedRequest, requests: list[RequestRecord]) -> Iterator[Visit]:
    """Yield the visits of a leased request; the last of them ends it, and brings its children."""
    for number, visit in enumerate(visits, 1):
        asked = replace(visit, lease_token=leased.lease_token, request=leased.record, attempts=leased.attempts)
        part = replace(asked, part=number, parts=len(visits))
        yield replace(part, requests=tuple(requests)) if part.ends_request else part


def _update_backoff(backoff: RefusalBackoff, response: Response, verdict: Rejection | None, *, served: bool) -> None:
    if verdict and verdict.outcome in REFUSAL_OUTCOMES:
        backoff.record_refusal(response)
    elif served:
        backoff.record_success(response)
    if verdict and "Retry-After" in response.headers:
        backoff.record_retry_after(response)

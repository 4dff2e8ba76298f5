"""The middlewares of a crawl: responses that are not pages are rejected, and each response becomes one visit.

`ResponseFilterMiddleware` (downloader side, outermost) filters a response, parses its page once and marks rejections.
`VisitMiddleware` (spider side, outermost) collects the output of a callback into a Visit, also for rejected responses.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from scrapy import Request, signals
from scrapy.exceptions import CloseSpider, IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from twisted.python.failure import Failure

from cleaning.errors import PageError
from crawler.config import Config, config_of
from crawler.context import context_of
from crawler.errors import TimeLimitError
from crawler.fetching import revalidation
from crawler.fetching.directives import Directive, DirectiveReader, reject_unwanted
from crawler.fetching.redirects import redirect_chain
from crawler.fetching.response_filter import (
    RENDERED_FLAG,
    PageResponse,
    Rejection,
    ResponseRejected,
    filter_response,
    reject_status,
)
from crawler.fetching.throttling import PauseRequest, RefusalBackoff
from crawler.fetching.walls import RepeatedAnswers, shows_few_words
from crawler.frontier.serialize import START_NUMBER
from crawler.monitoring.exit_status import FAILED_ITEMS_STAT, NOFOLLOW_STAT
from crawler.page import begin_visit, end_visit
from crawler.time_limit import time_limit
from crawler.urls import host_of
from crawler.visit import (
    FEW_WORDS,
    PAUSE_OUTCOMES,
    RECORD_ID_KEY,
    VISIT_TIME_KEY,
    FetchedPage,
    Outcome,
    UnparsedPage,
    Visit,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from cleaning.blocks import Page
    from crawler.frontier.scheduler import Frontier
    from crawler.storage.requests import LeasedRequest
    from crawler.visit import RequestRecord, WalledAnswer


logger = logging.getLogger(__name__)

_MAX_ERROR_CHARS = 500
# The key in a request's meta for how often it was refused, in a crawl that keeps its requests in memory.
_REFUSED_TIMES = "refused_times"


class ResponseFilterMiddleware:
    """Turns responses into PageResponses, and marks those that are not pages.

    A request with `meta={"judge": False}` (for feeds and sitemaps) gets its response unchanged, whatever its type. A
    status that the spider handles (`handle_httpstatus_list`, `handle_httpstatus_all`) is not rejected.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._config = config_of(crawler)
        self._directives = DirectiveReader.from_crawler(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response | Request:
        # Scrapy's own requests, such as robots.txt, have no callback.
        if request.callback is NO_CALLBACK or _is_filtered(response):
            return response
        if revalidation.is_doubtful_304(request, response):
            self._crawler.stats.inc_value("page/not_modified_doubted")
            return revalidation.without_conditions(request)
        if self._is_unread(request, response) and revalidation.is_conditional(request):
            return revalidation.without_conditions(request)
        result = self._filter(request, response)
        if isinstance(result, Rejection):
            result.mark(response)
            return response
        if result is None or isinstance(response, PageResponse):
            return response
        return PageResponse.of(response, result)

    def _filter(self, request: Request, response: Response) -> Rejection | Page | UnparsedPage | None:
        """Return the page or its rejection, None for a response that is passed on unchanged."""
        if not self._is_handled(request, response.status):
            rejection = None
            if not self._is_unread(request, response):
                rejection = revalidation.reject_unmodified(request, response)
            rejection = rejection or reject_status(response.status, response.body)
            if rejection and response.status == HTTPStatus.OK:
                self._crawler.stats.inc_value("page/same_body")
            if rejection:
                return rejection
        if request.meta.get("judge", True) is False:
            return None
        asked = next(iter(redirect_chain(request)), None)
        parse_later = self._config.cleaning_processes > 0
        return filter_response(response, self._config, parse_later=parse_later, asked=asked)

    def _is_unread(self, request: Request, response: Response) -> bool:
        """Return True if a stored page must be read although it is unchanged.

        Its header or the file of its host has a directive that concerns stored pages, and perhaps had none before.
        """
        if revalidation.KNOWN_PAGE not in request.meta:
            return False
        directives = self._directives.read(response)
        return reject_unwanted(directives) is not None or Directive.NOARCHIVE in directives

    def _is_handled(self, request: Request, status: int) -> bool:
        own = getattr(self._crawler.spider, "handle_httpstatus_list", ())
        statuses = request.meta.get("handle_httpstatus_list", own)
        return bool(request.meta.get("handle_httpstatus_all")) or status in statuses


def _is_filtered(response: Response) -> bool:
    """Return True if a response was filtered before; the renderer makes PageResponses without filtering them."""
    return isinstance(response, PageResponse) and RENDERED_FLAG not in response.flags


@dataclass(slots=True)
class _CallbackOutput:
    """The output of a callback: its pages, or why they must be left alone, by their URLs; requests for the frontier.

    `children` and `items` count all requests and items.
    """

    pages: list[tuple[str, FetchedPage | Rejection]] = field(default_factory=list)
    requests: list[RequestRecord] = field(default_factory=list)
    children: int = 0
    items: int = 0
    error: str | None = None
    failure: Outcome = Outcome.CALLBACK_FAILED
    nofollow: bool | None = None  # not known before the first request


class VisitMiddleware:
    """Collects the output of a callback into one Visit per response, and counts it as `visit/<outcome>`.

    Items pass unchanged and in order, and the visit comes last. With Scrapy's own scheduler requests pass too; with the
    frontier they are part of the visit and are stored with it. A callback that fails also has a visit, with the error
    and the last page that it yielded.

    Here the directives of pages are obeyed, whatever the spider: a page that must be left alone is taken out of its
    visit, and links that must not be followed are dropped.
    """

    def __init__(self, crawler: Crawler, config: Config, backoff: RefusalBackoff | None) -> None:
        self._crawler = crawler
        self._config = config
        self._backoff = backoff
        self._directives = DirectiveReader.from_crawler(crawler)
        self._started: WeakSet[Response] = WeakSet()
        self._answers = RepeatedAnswers()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        config = config_of(crawler)
        max_delay = crawler.settings.getfloat("AUTOTHROTTLE_MAX_DELAY")
        backoff = None  # a replay contacts no site
        if not config.replay:
            backoff = RefusalBackoff(crawler, config, max_delay)
        middleware = cls(crawler, config, backoff)
        crawler.signals.connect(middleware.item_error, signal=signals.item_error)
        return middleware

    def item_error(self) -> None:
        self._crawler.stats.inc_value(FAILED_ITEMS_STAT)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass on the start requests, unless the frontier has stored all of them."""
        frontier = self._frontier
        if frontier is None:
            async for output in start:
                yield output
        elif not frontier.is_seeded:
            number = 0
            async for output in start:
                if isinstance(output, Request):
                    await frontier.wait_for_capacity()
                    output.meta[START_NUMBER] = f"start{number}"
                    frontier.check_storable(output)
                    number += 1
                yield output
            frontier.end_seeding()

    def process_spider_input(self, response: Response) -> None:
        if rejection := Rejection.read(response):
            raise ResponseRejected(rejection, response)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        collected = _CallbackOutput()
        # The output that another middleware returns for an exception arrives as a second stream.
        is_second = response in self._started
        self._started.add(response)
        try:
            async for output in result:
                if isinstance(output, FetchedPage):
                    collected.pages.append((output.url, self._directives.obey(output, response)))
                    continue
                if isinstance(output, Request):
                    if self._is_forbidden(output, response, collected):
                        self._crawler.stats.inc_value(NOFOLLOW_STAT)
                        continue
                    collected.children += 1
                    if self._take_request(output, response, collected):
                        continue
                else:
                    collected.items += 1
                yield output
        except TimeLimitError as error:
            logger.error("Reading %s was stopped: %s", response.url, error)  # noqa: TRY400 — a traceback adds nothing
            collected.error, collected.failure = str(error), Outcome.CLEANING_TIMEOUT
        except Exception as error:  # noqa: BLE001 — the boundary of a page: one page must not end the crawl
            collected.error = self._report(error, response)
        if collected.pages or collected.error or not is_second:
            for visit in self._end_response(response, collected):
                yield visit

    def process_spider_exception(self, response: Response, exception: Exception) -> list[Visit | Request] | None:
        """Return the visit of a response whose callback was not called, or failed before it returned an iterator."""
        if response in self._started:
            return None  # raised during iteration, and handled there
        collected = _CallbackOutput()
        if not isinstance(exception, ResponseRejected):
            collected.error = self._report(exception, response)
        return self._end_response(response, collected)

    @property
    def _frontier(self) -> Frontier | None:
        frontier: Frontier | None = context_of(self._crawler).frontier
        return frontier

    def _find_lease(self, response: Response) -> LeasedRequest | None:
        frontier = self._frontier
        return frontier.find_lease(response.request) if frontier and response.request else None

    def _is_forbidden(self, request: Request, response: Response, collected: _CallbackOutput) -> bool:
        """Return True for a link of a page that says nofollow. A request for the page itself is not a link.

        The requests that an errback yields for a rejected response are not links either.
        """
        if collected.nofollow is None:
            directives = {} if Rejection.read(response) else self._directives.read(response)
            collected.nofollow = Directive.NOFOLLOW in directives
            if collected.nofollow:
                logger.debug("No link of %s is followed: %s", response.url, directives[Directive.NOFOLLOW])
        requested = response.request.url if response.request else response.url
        return collected.nofollow and request.url not in {response.url, requested}

    def _take_request(self, request: Request, response: Response, collected: _CallbackOutput) -> bool:
        """Add a request to the visit unless other components reject it; return False if Scrapy schedules it."""
        frontier, leased = self._frontier, self._find_lease(response)
        if frontier is None or leased is None:
            return False
        if self._is_admitted(request):
            collected.requests.append(frontier.serialize(request, leased.child(len(collected.requests))))
        return True

    def _is_admitted(self, request: Request) -> bool:
        """Send the signal that the engine sends before scheduling; a receiver may reject requests to other sites."""
        answers = self._crawler.signals.send_catch_log(
            signals.request_scheduled, request=request, spider=self._crawler.spider, dont_log=IgnoreRequest
        )
        return not any(isinstance(answer, Failure) and isinstance(answer.value, IgnoreRequest) for _, answer in answers)

    def _pause(self, response: Response, pause: PauseRequest, outcome: Outcome) -> Request | None:
        """Pause the host of a response; return its request again if it is not in the database, which repeats it."""
        if self._frontier is not None and self._find_lease(response) is not None:
            self._frontier.pause(host_of(response.url), pause.retry_after_seconds)
            return None
        if outcome in PAUSE_OUTCOMES or context_of(self._crawler).looks_only:
            return None
        request = response.request
        assert request is not None
        assert self._backoff is not None
        self._backoff.pause_slot(response, pause)
        tries = 1 + request.meta.get(_REFUSED_TIMES, 0)
        is_waited_for = pause.retry_after_seconds <= self._config.frontier_wait_seconds
        if not is_waited_for or tries >= self._config.frontier_max_attempts:
            return None
        self._crawler.stats.inc_value("throttling/repeated")
        return request.replace(dont_filter=True, meta=request.meta | {_REFUSED_TIMES: tries})

    def _end_response(self, response: Response, collected: _CallbackOutput) -> list[Visit | Request]:
        rejection = Rejection.read(response)
        repeated = None
        if rejection is None and not (collected.children or collected.items or collected.error or collected.pages[1:]):
            repeated = self._find_repeated(response, Outcome.PAGE if collected.pages else Outcome.SECTION)
        if repeated:
            rejection = Rejection(Outcome.WALL, f"the few words of the page are also those of {repeated[0].asked}")
            collected.pages = []
        visits = _make_visits(response, collected, rejection)
        if repeated is not None:
            unknown = tuple(earlier for earlier in repeated if earlier.outcome is not Outcome.WALL)
            visits[0] = replace(visits[0], few_words=True, walled=unknown)
        if self._backoff is not None:
            served = bool(collected.pages or collected.items)
            pause = self._backoff.record(response, visits[0].outcome, served=served)
            if pause is not None and (again := self._pause(response, pause, visits[0].outcome)):
                return [again]
            if pause is not None:
                seconds = pause.retry_after_seconds
                visits = [
                    replace(visit, pause_evidence=pause.evidence, retry_after_seconds=seconds) for visit in visits
                ]
        leased, frontier = self._find_lease(response), self._frontier
        if leased is not None and frontier is not None:
            frontier.end_hold(response)
            visits = list(_add_request(visits, leased, collected.requests))
        for visit in visits:
            self._count(visit)
        return [*visits]

    def _find_repeated(self, response: Response, outcome: Outcome) -> list[WalledAnswer] | None:
        """Return the earlier visits with the same few words, [] for the first of them, None for other pages."""
        if not isinstance(response, PageResponse) or not shows_few_words(response.body, FEW_WORDS):
            return None
        chain = redirect_chain(response.request) if response.request else []
        try:
            with time_limit(self._config.cleaning_seconds):
                return self._answers.add(next(iter(chain), response.url), response.tree, outcome)
        except (PageError, TimeLimitError):
            return None  # the visit says so where it is cleaned

    def _count(self, visit: Visit) -> None:
        self._crawler.stats.inc_value(f"visit/{visit.outcome}")
        if visit.outcome not in {Outcome.PAGE, Outcome.SECTION}:
            # Who looks at one page, as with `scrapy parse`, must see why its callback was not called.
            level = logging.WARNING if context_of(self._crawler).looks_only else logging.DEBUG
            logger.log(level, "No page at %s: %s: %s", visit.url, visit.outcome, visit.error)

    def _report(self, error: Exception, response: Response) -> str | None:
        """Log and count a callback's exception as Scrapy does; return its text, None for CloseSpider."""
        request = response.request
        assert request is not None
        failure = Failure(error)  # type: ignore[no-untyped-call] # twisted is untyped
        self._crawler.engine.scraper.handle_spider_error(failure, request, response)
        if isinstance(error, CloseSpider):
            return None
        return f"{type(error).__name__}: {error}"[:_MAX_ERROR_CHARS]


def _make_visits(response: Response, collected: _CallbackOutput, rejection: Rejection | None) -> list[Visit]:
    """Return one visit per page, or one without a page. The first has the children, the last the error."""
    meta = response.request.meta if response.request else {}
    common = replace(begin_visit(response, response.request), items=collected.items, record_id=meta.get(RECORD_ID_KEY))
    if captured := meta.get(VISIT_TIME_KEY):
        common = replace(common, at=datetime.fromisoformat(captured))
    if rejection:
        common = end_visit(common, rejection)
    chain = redirect_chain(response.request) if response.request and common.outcome is Outcome.WALL else []
    if chain:  # the page that a wall hides is not at the address of the wall
        common = replace(common, url=next(iter(chain)), moved_from=())
    visits = [
        end_visit(common if url == common.url else replace(common, url=url, moved_from=()), page)
        for url, page in collected.pages
    ] or [common]
    visits[0] = replace(visits[0], children=collected.children)
    if collected.error is not None:
        visits[-1] = replace(visits[-1], outcome=collected.failure, error=collected.error)
    return visits


def _add_request(visits: list[Visit], leased: LeasedRequest, children: list[RequestRecord]) -> Iterator[Visit]:
    """Yield the visits of a leased request; the last one ends it and has its children."""
    for number, visit in enumerate(visits, 1):
        part = replace(
            visit,
            lease_token=leased.lease_token,
            request=leased.record,
            attempts=leased.attempts,
            is_known=leased.is_known,
            part=number,
            parts=len(visits),
        )
        yield replace(part, requests=tuple(children)) if part.ends_request else part

"""How fast a crawl asks a host: there are five mechanisms, and the slowest counts.

================  =====================================  ===============================  =============================
mechanism         trigger                                state                            settings
================  =====================================  ===============================  =============================
`AutoThrottle`    how long each answer takes             delay of the download slot       AUTOTHROTTLE_*, DOWNLOAD_DELAY
`CrawlDelay`      robots.txt: Crawl-delay, Request-rate  seconds of each host, and        CRAWL_DELAY_MAX
                                                         `host.delay` in the database
`RefusalBackoff`  a host refuses enough pages            delay of the slot, and what it   AUTOTHROTTLE_MAX_DELAY
                                                         was before
Retry-After       an answer or a robots.txt that fails   `host.paused_until`              HOST_PAUSE_MAX_SECONDS
                  with this header
host pause        429, 503, a robots.txt that fails,     `host.paused_until`, and         HOST_PAUSE_SECONDS,
                  quota and CAPTCHA pages                `host.refusals` in a row         HOST_PAUSE_MAX_SECONDS
================  =====================================  ===============================  =============================

The first three act on the requests of this process; `host.delay` and the pauses hold for all processes of a database.
`Downloader` applies the Crawl-delay before each request. `VisitMiddleware` reports each response to `RefusalBackoff`,
and the frontier stores the `PauseRequest` that it returns. A crawl without a frontier pauses its slot instead, for
FRONTIER_WAIT_SECONDS at most. After MAX_REFUSALS_IN_A_ROW refusals the crawl ends.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import signals
from scrapy.core.downloader import Downloader as ScrapyDownloader
from scrapy.downloadermiddlewares import robotstxt
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import DownloadCancelledError, IgnoreRequest, NotSupported
from scrapy.extensions.throttle import AutoThrottle as ScrapyAutoThrottle
from scrapy.http.request import NO_CALLBACK
from scrapy.robotstxt import ProtegoRobotParser
from scrapy.utils.asyncio import AsyncioLoopingCall
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from crawler.config import Config, config_of
from crawler.context import context_of
from crawler.errors import ArchiveError
from crawler.fetching.network import FIRST_BYTES_META_KEY, AddressRefused
from crawler.fetching.redirects import RedirectLoop, redirect_chain
from crawler.monitoring.exit_status import FIRST_FAILURE_STAT, FinishReason
from crawler.redact import redact_text
from crawler.urls import host_of
from crawler.visit import PAUSE_OUTCOMES, REFUSAL_OUTCOMES, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from scrapy import Request, Spider
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser

logger = logging.getLogger(__name__)

# The delay that is doubled first if a slot has none.
_FIRST_DELAY_SECONDS = 0.5
_DOUBLINGS_MAX = 30
_SERVED_OUTCOMES = frozenset({Outcome.PAGE, Outcome.SECTION, Outcome.NOT_MODIFIED})
# Answers whose Retry-After is obeyed; a 404 with one is only a 404.
_RETRY_AFTER_OUTCOMES = REFUSAL_OUTCOMES | {Outcome.HTTP_ERROR}
_CLOSING_CHECK_SECONDS = 0.5
_ROBOTS_PATH = "/robots.txt"
_MAX_SECONDS = 10**9  # larger integers may overflow a float
_LAST_ANSWERS = 8
_SHOWN_CHARS = 40
_TOO_MANY_REDIRECTS = "max redirections reached"  # the text of Scrapy's exception
_ROBOTS_PAUSE_SHARE = 0.9
# RFC 9309, 2.5: a crawler reads at least the first 500 KiB of a robots.txt.
_ROBOTS_MAX_BYTES = 500 * 1024
# How long a stopped crawl waits for the answers to requests that are sent.
_GRACE_SECONDS = 5.0
# Refused pages of a host, at least, before it counts as refusing.
_MIN_REFUSED_PAGES = 2
_MIN_REFUSED_SHARE = 0.5


class NotSentError(IgnoreRequest):
    """The crawl is stopped before the request was sent, or had its answer."""


class RobotsUnavailable(IgnoreRequest):
    """The robots.txt of a host answers with a server error; `retry_after_seconds` is 0 without a Retry-After."""

    def __init__(self, text: str, retry_after_seconds: float) -> None:
        super().__init__(text)
        self.retry_after_seconds = retry_after_seconds


class RobotsUnreachable(IgnoreRequest):
    """The robots.txt of a host cannot be fetched."""


_OUTCOMES_BY_ERROR = (
    ((AddressRefused, NotSupported), Outcome.ADDRESS),  # NotSupported: no handler for the URL's scheme
    (RobotsUnavailable, Outcome.ROBOTS_UNAVAILABLE),
    (RobotsUnreachable, Outcome.DOWNLOAD_FAILED),
    (RedirectLoop, Outcome.REDIRECT_LOOP),
    (DownloadCancelledError, Outcome.TOO_LARGE),
)


class Downloader(ScrapyDownloader):
    """Scrapy's downloader, which also applies Crawl-delays and counts requests that end without a response.

    Their outcomes are those of `failure_outcome`. Only the downloader sees all of them: an exception that a middleware
    raises on a response (a decompression bomb, a redirect loop) reaches no other middleware and no callback.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._crawl_delay = CrawlDelay(crawler)
        self._sent: dict[Request, Deferred[Response]] = {}
        self._closing_since: float | None = None
        self._timer = AsyncioLoopingCall(self._drop_if_closing)
        crawler.signals.connect(self._watch, signal=signals.spider_opened)

    def _watch(self) -> None:
        self._timer.start(_CLOSING_CHECK_SECONDS, now=False)

    def _drop_if_closing(self) -> None:
        """When the spider is being closed, drop the requests that wait for their host's delay or Retry-After.

        Scrapy would wait for them, up to an hour. After a signal those are dropped too whose answer does not come, and
        at once those of Scrapy itself, such as robots.txt. With the frontier they stay in the queue of the crawl.
        """
        engine = self.crawler.engine
        engine_slot = engine._slot if engine else None  # noqa: SLF001 — no public way
        if engine is None or engine_slot is None or not engine_slot.closing:
            return
        for slot in self.slots.values():
            drop_waiting(slot, lambda _request: True)
        if engine.running:  # the crawl closes for a reason of its own, such as a limit
            return
        now = time.monotonic()
        self._closing_since = self._closing_since or now
        for request, download in list(self._sent.items()):
            if request.callback is NO_CALLBACK or now > self._closing_since + _GRACE_SECONDS:
                download.cancel()

    def close(self) -> None:
        if self._timer.running:
            self._timer.stop()
        super().close()

    def _process_queue(self, slot: Slot) -> None:
        # Scrapy calls this before each request that it sends, and after each response.
        self._crawl_delay.apply(slot)
        super()._process_queue(slot)

    async def _download(self, slot: Slot, request: Request) -> Response:
        # All delays are over: the request is sent now.
        frontier = context_of(self.crawler).frontier
        if frontier is not None:
            slot.transferring.add(request)
            try:
                await frontier.mark_sent(request)
            except NotSentError:
                slot.transferring.remove(request)
                raise
        self._sent[request] = download = deferred_from_coro(super()._download(slot, request))
        try:
            return await maybe_deferred_to_future(download)
        except (asyncio.CancelledError, CancelledError) as error:
            raise NotSentError(f"{request.url} has not answered before the crawl was stopped") from error
        finally:
            del self._sent[request]

    def fetch(self, request: Request, spider: Any = None) -> Deferred[Any]:
        response: Deferred[Any] = super().fetch(request, *filter(None, [spider]))
        # Scrapy's own requests, such as robots.txt, are not visits.
        return response if request.callback is NO_CALLBACK else response.addErrback(self._count_failure, request)

    def _count_failure(self, failure: Failure, request: Request) -> Failure:
        if isinstance(failure.value, ArchiveError | NotSentError):
            return failure  # not an end: the request is made again when the crawl is continued
        outcome = failure_outcome(failure.value)
        stats, text = self.crawler.stats, failure_text(failure.value)
        stats.inc_value(f"visit/{outcome}")
        if stats.get_value(FIRST_FAILURE_STAT) is None:
            stats.set_value(FIRST_FAILURE_STAT, redact_text(f"{request.url}: {text}"))
        logger.info("No response from %s: %s: %s", request.url, outcome, text)
        return failure


def drop_waiting(slot: Slot, is_dropped: Callable[[Request], bool]) -> list[Request]:
    """Remove requests that wait in a slot, and return those that are not requests of Scrapy itself.

    Each ends with NotSentError, which makes no visit.
    """
    waiting = list(slot.queue)
    slot.queue.clear()
    dropped = []
    for request, deferred in waiting:
        if not is_dropped(request):
            slot.queue.append((request, deferred))
            continue
        dropped.append(request)
        deferred.errback(Failure(NotSentError(f"{request.url} is not requested now")))  # type: ignore[no-untyped-call] # twisted is untyped
    return dropped


def failure_text(error: BaseException | None) -> str:
    """Return why a request ended without a response; never an empty text."""
    text = " ".join(str(error).split()) or type(error).__name__
    return f"{text}, more than REDIRECT_MAX_TIMES" if text == _TOO_MANY_REDIRECTS else text


def failure_outcome(error: BaseException | None) -> Outcome:
    """Return the outcome of a request that ended with this error."""
    text = str(error)
    for kinds, outcome in _OUTCOMES_BY_ERROR:
        if isinstance(error, kinds):
            return outcome
    if isinstance(error, IgnoreRequest) and "robots.txt" in text:
        return Outcome.ROBOTS
    if text == _TOO_MANY_REDIRECTS:
        return Outcome.REDIRECT_LOOP
    return Outcome.TOO_LARGE if "DOWNLOAD_MAXSIZE" in text else Outcome.DOWNLOAD_FAILED


class AutoThrottle(ScrapyAutoThrottle):
    """Scrapy's AutoThrottle, for which "304 Not Modified" is an answer like "200 OK".

    Scrapy lowers a delay after a 200 only, because errors and redirects are quick whatever the server's load. A
    re-crawl gets little else than 304s: its delays would only rise.
    """

    def _adjust_delay(self, slot: Slot, latency: float, response: Response) -> None:
        if response.status == HTTPStatus.NOT_MODIFIED:
            response = response.replace(status=HTTPStatus.OK.value)
        super()._adjust_delay(slot, latency, response)


class CrawlDelay:
    """Applies the delay that each robots.txt asks for, up to CRAWL_DELAY_MAX, to the host's download slot.

    A delay in DOWNLOAD_SLOTS is applied too, because AutoThrottle would soon go below it. A delay that is asked for on
    one port of a host counts for all its ports. A replay contacts no host, so it has no delays; with
    ROBOTSTXT_OBEY=false no robots.txt is read.
    """

    def __init__(self, crawler: Crawler) -> None:
        config = config_of(crawler)
        self._max_delay_seconds = config.crawl_delay_max
        self._agent: str = crawler.settings["ROBOTSTXT_USER_AGENT"] or crawler.settings["USER_AGENT"]
        self._seconds: dict[str, float] = {}
        if not config.replay:
            slots = crawler.settings.getdict("DOWNLOAD_SLOTS")
            self._seconds |= {name: float(slot["delay"]) for name, slot in slots.items() if slot.get("delay")}
            crawler.signals.connect(self._note, signal=signals.robots_parsed)

    def apply(self, slot: Slot) -> None:
        """Raise the delay of a slot with requests to what their host asks for.

        It must be called before each request, because AutoThrottle and RefusalBackoff change the slot's delay too.
        """
        if not self._seconds or not slot.active:
            return
        seconds = self._seconds.get(host_of(next(iter(slot.active)).url), 0.0)
        if seconds:
            slot.delay = max(slot.delay, seconds)
            slot.jitter = 0.0  # Scrapy's random variation would shorten half of all waits

    def _note(self, robotparser: RobotParser, request: Request) -> None:
        seconds = _requested_delay(robotparser, self._agent)
        name = host_of(request.url)
        if seconds > self._max_delay_seconds:
            logger.warning(
                "The robots.txt of %s asks for %g seconds between two requests; the crawl waits CRAWL_DELAY_MAX=%g",
                name,
                seconds,
                self._max_delay_seconds,
            )
        elif seconds:
            logger.info("The robots.txt of %s asks for %g seconds between two requests", name, seconds)
        self._seconds[name] = max(self._seconds.get(name, 0.0), min(seconds, self._max_delay_seconds))


def _requested_delay(parser: RobotParser, agent: str) -> float:
    """Return the seconds between two requests that a robots.txt asks of an agent; 0 if it states no delay.

    That is the larger of Crawl-delay and Request-rate. A rate for certain hours of the day counts all day.
    """
    delay = parser.crawl_delay(agent) or 0.0
    rate = parser.rp.request_rate(agent) if isinstance(parser, ProtegoRobotParser) else None
    if rate is not None and rate.requests > 0:
        delay = max(delay, min(rate.seconds, _MAX_SECONDS) / rate.requests)
    return max(0.0, delay)


class RobotsMiddleware(RobotsTxtMiddleware):
    """Scrapy's robots.txt middleware, fixed so that every request waits for the rules of its site, and obeys RFC 9309.

    In Scrapy 2.19 all requests that wait for a robots.txt share one Deferred, and the future made from it consumes the
    result: the first request gets the rules, and the others get None, which lets them pass.

    A robots.txt with status 4xx allows everything, whatever its body, and so does one behind too many redirects. One
    that answers 5xx or 429, or cannot be reached, forbids everything; it is requested again for a request that comes
    HOST_PAUSE_SECONDS or its Retry-After later. A robots.txt that cannot be fetched is a warning of one line. Of a
    large one the first _ROBOTS_MAX_BYTES count.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        config = config_of(crawler)
        self._pause_seconds = config.host_pause_seconds
        self._max_pause_seconds = config.host_pause_max_seconds
        self._failures: dict[str, _RobotsFailure] = {}
        self._redirected: set[str] = set()
        robotstxt.logger.addFilter(_make_warning)

    async def process_request(self, request: Request, spider: Spider | None = None) -> None:  # noqa: ARG002 — Scrapy's
        if request.callback is NO_CALLBACK and urlparse_cached(request).path == _ROBOTS_PATH:
            request.meta.update({FIRST_BYTES_META_KEY: _ROBOTS_MAX_BYTES, "download_maxsize": 0})
        if FIRST_BYTES_META_KEY in request.meta and (chain := redirect_chain(request)):
            self._redirected.add(urlsplit(chain[0]).netloc)
        await super().process_request(request)

    async def robot_parser(self, request: Request) -> RobotParser | None:
        """Raises RobotsUnavailable, RobotsUnreachable, and NotSentError when the crawl has been stopped."""
        netloc = urlparse_cached(request).netloc
        failure = self._failures.get(netloc)
        if failure is not None and failure.ends <= time.monotonic():
            del self._failures[netloc]
            self._parsers.pop(netloc, None)
        await super().robot_parser(request)
        if (failure := self._failures.get(netloc)) is not None:
            raise failure.error
        parser = self._parsers[netloc]
        assert not isinstance(parser, Deferred)  # the call above waited for it
        return parser

    async def _parse_robots(self, response: Response, netloc: str, request: Request) -> None:
        status = response.status
        if status < HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.TOO_MANY_REQUESTS:
            body = b"" if status >= HTTPStatus.BAD_REQUEST else _first_lines(response.body)
            await super()._parse_robots(response.replace(body=body), netloc, request)
            return
        self._stats.inc_value("robotstxt/response_count")
        self._stats.inc_value(f"robotstxt/response_status_count/{status}")
        seconds = _retry_after(response)
        text = f"the robots.txt of {netloc} answers with HTTP status {status}, which forbids all pages of the host"
        self._fail(netloc, RobotsUnavailable(text, seconds), seconds)

    def _robots_error(self, exc: Exception, netloc: str) -> None:
        outcome = failure_outcome(exc)
        if isinstance(exc, NotSentError):
            self._failures[netloc] = _RobotsFailure(exc, time.monotonic())
        elif outcome is not Outcome.REDIRECT_LOOP and (outcome is not Outcome.ADDRESS or netloc in self._redirected):
            self._stats.inc_value(f"robotstxt/exception_count/{type(exc)}")
            text = f"the robots.txt of {netloc} cannot be reached, which forbids all pages of the host"
            kind = AddressRefused if outcome is Outcome.ADDRESS else RobotsUnreachable
            self._fail(netloc, kind(f"{text}: {failure_text(exc)}"), 0.0)
            return
        super()._robots_error(exc, netloc)  # the pages of a refused address are refused themselves

    def _fail(self, netloc: str, error: IgnoreRequest, retry_after_seconds: float) -> None:
        """Forbid the pages of a host for a while, and let the requests that wait for its rules see that."""
        seconds = min(retry_after_seconds or self._pause_seconds, self._max_pause_seconds)
        # A little less than the pause of the host, so that the first page after it sees the new robots.txt.
        self._failures[netloc] = _RobotsFailure(error, time.monotonic() + _ROBOTS_PAUSE_SHARE * seconds)
        logger.warning("For %.0f seconds, %s (RFC 9309); `scrapy retry --failed` requests them later", seconds, error)
        super()._robots_error(IgnoreRequest(str(error)), netloc)


@dataclass(frozen=True, slots=True)
class _RobotsFailure:
    """Why the pages of a host are forbidden, and until which moment (`time.monotonic`)."""

    error: IgnoreRequest
    ends: float


def _first_lines(robots: bytes) -> bytes:
    """Return the lines of a robots.txt that are read: a large one ends with its last whole line."""
    if len(robots) < _ROBOTS_MAX_BYTES:
        return robots
    beginning = robots[:_ROBOTS_MAX_BYTES]
    return beginning[: max(beginning.rfind(b"\n"), beginning.rfind(b"\r")) + 1]


def _make_warning(record: logging.LogRecord) -> bool:
    """Make an error of Scrapy's robots.txt middleware a warning without the traceback; a filter of its logger."""
    if record.levelno == logging.ERROR:
        record.levelno, record.levelname, record.exc_info = logging.WARNING, "WARNING", None
    return True


@dataclass(frozen=True, slots=True)
class PauseRequest:
    """Why a host needs a pause, and for how long it asks; 0 if it does not say."""

    evidence: str
    retry_after_seconds: float = 0.0


class RecentAnswers:
    """The last answers of each host: one page that is refused says little about its host, several pages do."""

    def __init__(self) -> None:
        self._answers: defaultdict[str, deque[tuple[str, Outcome]]] = defaultdict(lambda: deque(maxlen=_LAST_ANSWERS))

    def add(self, host: str, url: str, outcome: Outcome) -> None:
        """Add an answer. A server error is not an answer: it says nothing about refusals."""
        if outcome is not Outcome.HTTP_ERROR:
            self._answers[host].append((url, outcome))

    def is_page_alone(self, host: str, url: str) -> bool:
        """Return True if a page was refused before and its host has served another page since."""
        answers = list(self._answers[host])
        numbers = [number for number, answer in enumerate(answers) if answer == (url, Outcome.REFUSED)]
        return bool(numbers) and any(outcome in _SERVED_OUTCOMES for _, outcome in answers[numbers[0] :])

    def find_evidence(self, host: str, outcomes: AbstractSet[Outcome]) -> str | None:
        """Return how many of a host's last answers had these outcomes; None if too few, or all of them at one page."""
        answers = self._answers[host]
        urls = [url for url, outcome in answers if outcome in outcomes]
        if len(set(urls)) < _MIN_REFUSED_PAGES or len(urls) < _MIN_REFUSED_SHARE * len(answers):
            return None
        return f"{len(urls)} of its last {len(answers)} answers, at {len(set(urls))} pages"


class RefusalBackoff:
    """Doubles a refusing site's delay at each refusal, and closes the spider after too many refusals without a page.

    AutoThrottle only measures how long answers take. Refusals are answered quickly, so it would speed up. Therefore the
    delays are remembered here until the site serves pages again.
    """

    def __init__(self, crawler: Crawler, config: Config, max_delay: float) -> None:
        self._crawler = crawler
        self._pause_seconds = config.host_pause_seconds
        self._max_wait_seconds = config.frontier_wait_seconds
        self._max_delay = max_delay
        self._max_in_a_row = config.max_refusals_in_a_row
        self._recent = RecentAnswers()
        self._pauses: Counter[str] = Counter()
        self._pause_ends: dict[str, float] = {}
        self._in_a_row = 0
        self._slowed: dict[str, _SlowedSlot] = {}
        self._logged: set[str] = set()
        self._closing: asyncio.Future[None] | None = None

    def record(self, response: Response, outcome: Outcome, *, served: bool) -> PauseRequest | None:
        """Record how a visit ended; `served` if it had pages or items. Return the pause that its host needs.

        A page that is not modified shows as well as a page with text that the site serves us.
        It is None for a refusal that says nothing about the host: one quota or CAPTCHA page among others, or a page
        that answers 503 again while others are served.
        """
        name = host_of(response.url)
        is_page_alone = outcome is Outcome.REFUSED and self._recent.is_page_alone(name, response.url)
        self._recent.add(name, response.url, outcome)
        if outcome in REFUSAL_OUTCOMES:
            self._record_refusal(response, name, is_busy=outcome is Outcome.REFUSED)
        elif served or outcome is Outcome.NOT_MODIFIED:
            self._record_success(response)
        pause = self._requested_pause(response, outcome, is_page_alone=is_page_alone)
        if pause is not None:
            self._pause_ends[name] = time.monotonic() + (pause.retry_after_seconds or self._pause_seconds)
        return pause

    def _requested_pause(self, response: Response, outcome: Outcome, *, is_page_alone: bool) -> PauseRequest | None:
        status = response.status
        seconds = _retry_after(response) if outcome in _RETRY_AFTER_OUTCOMES else 0.0
        if seconds:
            text = _header_text(response, "Retry-After")[:_SHOWN_CHARS]
            return PauseRequest(f"HTTP status {status}, Retry-After: {text}", seconds)
        if outcome is Outcome.REFUSED:
            is_of_host = status == HTTPStatus.TOO_MANY_REQUESTS or not is_page_alone
            return PauseRequest(f"HTTP status {status}") if is_of_host else None
        evidence = self._recent.find_evidence(host_of(response.url), PAUSE_OUTCOMES)
        return PauseRequest(evidence) if evidence and outcome in PAUSE_OUTCOMES else None

    def pause_slot(self, response: Response, pause: PauseRequest) -> None:
        """Pause the download slot of a host, in a crawl whose requests are not in the database.

        Such a crawl cannot be continued later, so it waits for FRONTIER_WAIT_SECONDS at most.
        """
        key, slot = self._slot(response)
        seconds = pause.retry_after_seconds or self._pause_seconds * 2 ** min(self._pauses[key], _DOUBLINGS_MAX)
        seconds = min(seconds, self._max_wait_seconds)
        if slot is None or not seconds:
            return
        self._pauses[key] += 1
        self._count("waits")
        logger.info("%s is paused for %.0f seconds (%s)", key, seconds, pause.evidence)
        # The slot starts its next request `delay` after `lastseen`, but only if it has a delay.
        slowed = self._slowed.setdefault(key, _SlowedSlot(slot.delay, max(slot.delay, _FIRST_DELAY_SECONDS)))
        slot.delay = max(slot.delay, slowed.delay)
        slot.lastseen = max(slot.lastseen, time.monotonic() + seconds - slot.delay)

    def _record_refusal(self, response: Response, name: str, *, is_busy: bool) -> None:
        """Slow down a site that refuses requests, and stop the crawl after too many refusals in a row."""
        if not (is_busy and self._pause_ends.get(name, 0.0) > time.monotonic()):
            self._in_a_row += 1  # an answer during a pause is one to an earlier request
        key, slot = self._slot(response)
        evidence = self._recent.find_evidence(name, REFUSAL_OUTCOMES)
        if response.status == HTTPStatus.TOO_MANY_REQUESTS:
            evidence = evidence or "HTTP status 429, too many requests"
        if slot is not None and evidence:
            self._slow_down(key, slot, evidence)
        if self._in_a_row >= self._max_in_a_row and self._closing is None:
            self._close()

    def _record_success(self, response: Response) -> None:
        """Halve the delay of a site that serves pages again, until it has the delay from before."""
        self._in_a_row = 0
        key, slot = self._slot(response)
        self._pauses.pop(key, None)
        slowed = self._slowed.get(key)
        if slowed is None or slot is None:
            return
        slowed.delay = max(slowed.before, slowed.delay / 2)
        slot.delay = min(slot.delay, slowed.delay)
        if slowed.delay <= slowed.before:
            del self._slowed[key]

    def _slow_down(self, key: str, slot: Slot, evidence: str) -> None:
        slowed = self._slowed.setdefault(key, _SlowedSlot(slot.delay, slot.delay))
        if key not in self._logged:
            self._logged.add(key)
            logger.warning("%s refuses our requests (%s): slowing down", key, evidence)
        slowed.delay = min(2 * max(slowed.delay, slot.delay, _FIRST_DELAY_SECONDS), self._max_delay)
        slot.delay = max(slot.delay, slowed.delay)
        self._count("slower")

    def _slot(self, response: Response) -> tuple[str, Slot | None]:
        key = response.meta.get("download_slot", "") if response.request else ""
        return key, self._engine.downloader.slots.get(key)

    def _close(self) -> None:
        logger.error(
            "%d refusals without a page in between (MAX_REFUSALS_IN_A_ROW=%d): the crawl stops",
            self._in_a_row,
            self._max_in_a_row,
        )
        # Not awaited: closing waits for the requests in progress, and this is one of them.
        self._closing = asyncio.ensure_future(self._engine.close_spider_async(reason=FinishReason.REFUSED))

    def _count(self, event: str) -> None:
        self._crawler.stats.inc_value(f"throttling/{event}")

    @property
    def _engine(self) -> Any:
        return self._crawler.engine


@dataclass(slots=True)
class _SlowedSlot:
    """A download slot that was slowed down: its delay before that, and the delay it has now."""

    before: float
    delay: float


def _header_text(response: Response, name: str) -> str:
    return (response.headers.get(name) or b"").decode("latin-1").strip()


def _retry_after(response: Response) -> float:
    """Return the seconds of a Retry-After header; 0 if it is missing or invalid."""
    value = _header_text(response, "Retry-After")
    if value.isdecimal():
        return float(value)  # infinite for hundreds of digits
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return 0.0

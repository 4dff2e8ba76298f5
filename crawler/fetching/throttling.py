"""How fast a site is asked: its Crawl-delay, its refusals and its robots.txt, all applied in one downloader."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.core.downloader import Downloader as ScrapyDownloader
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import DownloadCancelledError, IgnoreRequest, NotSupported
from scrapy.http.request import NO_CALLBACK
from scrapy.robotstxt import ProtegoRobotParser
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import Deferred

from crawler.config import Config
from crawler.errors import ArchiveError
from crawler.fetching.network import AddressRefused
from crawler.monitoring.exit_status import FinishReason
from crawler.urls import host_of
from crawler.visit import Outcome

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser
    from twisted.python.failure import Failure


logger = logging.getLogger(__name__)

# Where a crawl has no delay yet, doubling needs something to double.
_FIRST_DELAY_SECONDS = 0.5
_MAX_WAIT_SECONDS = 3_600.0


@dataclass(slots=True)
class _SlowedSlot:
    """A download slot that was slowed down: its delay before, and the one we gave it."""

    before: float
    delay: float


class RefusalBackoff:
    """Doubles a site's delay at each refusal and closes the spider after too many of them without a page.

    AutoThrottle knows only how long answers take, and a refusal is answered quickly: it would speed up. So the
    delays given are remembered here until the site serves pages again.
    """

    def __init__(self, crawler: Crawler, max_delay: float, most_in_a_row: int) -> None:
        self._crawler = crawler
        self._max_delay = max_delay
        self._most_in_a_row = most_in_a_row
        self._in_a_row = 0
        self._held: dict[str, _SlowedSlot] = {}
        self._told: set[str] = set()
        self._closing: asyncio.Future[None] | None = None

    def refused(self, response: Response) -> None:
        """The site does not want us now: slow down, and stop after too many times."""
        self._in_a_row += 1
        key, slot = self._slot(response)
        if slot is not None:
            self._slow_down(key, slot)
        if self._in_a_row >= self._most_in_a_row and self._closing is None:
            self._close()

    def served(self, response: Response) -> None:
        """The site serves pages: speed up again, step by step, down to the delay it had."""
        self._in_a_row = 0
        key, slot = self._slot(response)
        held = self._held.get(key)
        if held is None or slot is None:
            return
        held.delay = max(held.before, held.delay / 2)
        slot.delay = min(slot.delay, held.delay)
        if held.delay <= held.before:
            del self._held[key]

    def wait(self, response: Response) -> None:
        """Leave the site alone for as long as its Retry-After header says, an hour at most."""
        seconds = _retry_after(response)
        key, slot = self._slot(response)
        if not seconds or slot is None:
            return
        self._count("waits")
        logger.info("%s asks to be left alone for %.0f seconds", key, seconds)
        # The slot starts its next request `delay` after `lastseen`, but only where it has a delay at all.
        held = self._held.setdefault(key, _SlowedSlot(slot.delay, max(slot.delay, _FIRST_DELAY_SECONDS)))
        slot.delay = max(slot.delay, held.delay)
        slot.lastseen = max(slot.lastseen, time.monotonic() + min(seconds, _MAX_WAIT_SECONDS) - slot.delay)

    def _slow_down(self, key: str, slot: Slot) -> None:
        held = self._held.setdefault(key, _SlowedSlot(slot.delay, slot.delay))
        if key not in self._told:
            self._told.add(key)
            logger.warning("%s refuses our requests: slowing down", key)
        held.delay = min(2 * max(held.delay, slot.delay, _FIRST_DELAY_SECONDS), self._max_delay)
        slot.delay = max(slot.delay, held.delay)
        self._count("slower")

    def _slot(self, response: Response) -> tuple[str, Slot | None]:
        key = response.meta.get("download_slot", "") if response.request else ""
        return key, self._engine.downloader.slots.get(key)

    def _close(self) -> None:
        logger.error(
            "%d refusals without a page in between (MAX_REFUSALS_IN_A_ROW=%d): the crawl stops",
            self._in_a_row,
            self._most_in_a_row,
        )
        # Closing waits for the requests under way, this one among them: it must not be waited for here.
        self._closing = asyncio.ensure_future(self._engine.close_spider_async(reason=FinishReason.REFUSED))

    def _count(self, event: str) -> None:
        self._crawler.stats.inc_value(f"throttling/{event}")

    @property
    def _engine(self) -> Any:
        return self._crawler.engine


def _retry_after(response: Response) -> float:
    """Return the seconds to wait; 0 without the header and for one that cannot be read."""
    value = (response.headers.get("Retry-After") or b"").decode("latin-1").strip()
    if value.isdecimal():
        return float(value[:9])
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return 0.0


_MAX_SECONDS = 10**9  # larger numbers need not be numbers to a float


class CrawlDelay:
    """Notes what each robots.txt asks for, up to CRAWL_DELAY_MOST, and keeps a download slot to it.

    What DOWNLOAD_SLOTS says of a host is kept too: AutoThrottle would soon be faster.

    What is asked under several ports of a host counts for all of them. Nobody is to be spared where a crawl is
    replayed, and nothing is asked where ROBOTSTXT_OBEY is false.
    """

    def __init__(self, crawler: Crawler) -> None:
        config = Config.read(crawler.settings)
        self._most = config.crawl_delay_most
        self._agent: str = crawler.settings["ROBOTSTXT_USER_AGENT"] or crawler.settings["USER_AGENT"]
        self._seconds: dict[str, float] = {}
        if not config.replay:
            slots = crawler.settings.getdict("DOWNLOAD_SLOTS")
            self._seconds |= {name: float(slot["delay"]) for name, slot in slots.items() if slot.get("delay")}
            crawler.signals.connect(self._note, signal=signals.robots_parsed)

    def keep(self, slot: Slot) -> None:
        """Let a slot in which there are requests wait between them as long as their host asks, or longer.

        To be called before each is sent: AutoThrottle and the brake set the slot's delay as they like.
        """
        if not self._seconds or not slot.active:
            return
        seconds = self._seconds.get(host_of(next(iter(slot.active)).url), 0.0)
        if seconds:
            slot.delay = max(slot.delay, seconds)
            slot.jitter = 0.0  # Scrapy's random variation makes half of all waits shorter

    def _note(self, robotparser: RobotParser, request: Request) -> None:
        seconds, name = requested_delay(robotparser, self._agent), host_of(request.url)
        if seconds > self._most:
            logger.warning(
                "The robots.txt of %s asks for %g seconds between two requests; they get CRAWL_DELAY_MOST=%g",
                name,
                seconds,
                self._most,
            )
        elif seconds:
            logger.info("The robots.txt of %s asks for %g seconds between two requests", name, seconds)
        self._seconds[name] = max(self._seconds.get(name, 0.0), min(seconds, self._most))


def requested_delay(parser: RobotParser, agent: str) -> float:
    """Return how many seconds a robots.txt wants between two requests of an agent; 0 where it does not say.

    That is its Crawl-delay, or its Request-rate where that is slower. A rate for some hours of the day counts always.
    """
    delay = parser.crawl_delay(agent) or 0.0
    rate = parser.rp.request_rate(agent) if isinstance(parser, ProtegoRobotParser) else None
    if rate is not None and rate.requests > 0:
        delay = max(delay, min(rate.seconds, _MAX_SECONDS) / rate.requests)
    return max(0.0, delay)


class RobotsMiddleware(RobotsTxtMiddleware):
    """Lets every request wait for the rules of its site.

    In Scrapy 2.19 all that wait share one Deferred, and a future made of it takes the result away: the first request
    is given the rules, the others None, which lets them pass.
    """

    async def robot_parser(self, request: Request) -> RobotParser | None:
        await super().robot_parser(request)
        found = self._parsers[urlparse_cached(request).netloc]
        assert not isinstance(found, Deferred)  # it has fired
        return found


class Downloader(ScrapyDownloader):
    """Counts each request that fails for good, as `visit/` and robots, address, too_large or download_failed.

    This is the one place that sees them all: what a middleware raises on a response (a compressed body that unpacks
    to too much, a circle of redirects) reaches no other middleware and no callback.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._pace = CrawlDelay(crawler)

    def _process_queue(self, slot: Slot) -> None:
        # Scrapy comes here before each request that it sends, and after each response.
        self._pace.keep(slot)
        super()._process_queue(slot)

    def fetch(self, request: Request, spider: Any = None) -> Deferred[Any]:
        fetching: Deferred[Any] = super().fetch(request, *filter(None, [spider]))
        # robots.txt and the like are fetched for Scrapy itself and are no visits.
        return fetching if request.callback is NO_CALLBACK else fetching.addErrback(self._failed, request)

    def _failed(self, failure: Failure, request: Request) -> Failure:
        if isinstance(failure.value, ArchiveError):
            return failure  # it had a response, and is asked again when the crawl goes on
        outcome = failure_outcome(failure.value)
        self.crawler.stats.inc_value(f"visit/{outcome}")
        logger.info("No response from %s: %s: %s", request.url, outcome, failure.getErrorMessage())
        return failure


def failure_outcome(error: BaseException | None) -> Outcome:
    """Return how a request ended that failed for good with this error."""
    text = str(error)
    # NotSupported: the URL's scheme has no handler.
    if isinstance(error, AddressRefused | NotSupported):
        return Outcome.ADDRESS
    if isinstance(error, IgnoreRequest) and "robots.txt" in text:
        return Outcome.ROBOTS
    if isinstance(error, DownloadCancelledError) or "DOWNLOAD_MAXSIZE" in text:
        return Outcome.TOO_LARGE
    return Outcome.DOWNLOAD_FAILED

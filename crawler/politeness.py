"""How long a site's robots.txt asks its visitors to wait from one request to the next."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.robotstxt import ProtegoRobotParser

from crawler.config import Config
from crawler.urls import host

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser

logger = logging.getLogger(__name__)

_LONGEST_SECONDS = 10**9  # larger numbers need not be numbers to a float


class Pace:
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
        seconds = self._seconds.get(host(next(iter(slot.active)).url), 0.0)
        if seconds:
            slot.delay = max(slot.delay, seconds)
            slot.jitter = 0.0  # Scrapy's random variation makes half of all waits shorter

    def _note(self, robotparser: RobotParser, request: Request) -> None:
        seconds, name = asked(robotparser, self._agent), host(request.url)
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


def asked(parser: RobotParser, agent: str) -> float:
    """Return how many seconds a robots.txt wants between two requests of an agent; 0 where it does not say.

    That is its Crawl-delay, or its Request-rate where that is slower. A rate for some hours of the day counts always.
    """
    delay = parser.crawl_delay(agent) or 0.0
    rate = parser.rp.request_rate(agent) if isinstance(parser, ProtegoRobotParser) else None
    if rate is not None and rate.requests > 0:
        delay = max(delay, min(rate.seconds, _LONGEST_SECONDS) / rate.requests)
    return max(0.0, delay)

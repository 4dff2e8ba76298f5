"""Scrapy's downloader, which also keeps to each site's Crawl-delay and counts requests without a response."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.core.downloader import Downloader as ScrapyDownloader
from scrapy.exceptions import DownloadCancelledError, IgnoreRequest, NotSupported
from scrapy.http.request import NO_CALLBACK

from crawler.errors import ArchiveError
from crawler.network.handler import AddressRefused
from crawler.politeness import Pace
from crawler.visit import Outcome

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

logger = logging.getLogger(__name__)


class Downloader(ScrapyDownloader):
    """Counts each request that fails for good, as `visit/` and robots, address, too_large or download_failed.

    This is the one place that sees them all: what a middleware raises on a response (a compressed body that unpacks
    to too much, a circle of redirects) reaches no other middleware and no callback.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._pace = Pace(crawler)

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
        outcome = outcome_of(failure.value)
        self.crawler.stats.inc_value(f"visit/{outcome}")
        logger.info("No response from %s: %s: %s", request.url, outcome, failure.getErrorMessage())
        return failure


def outcome_of(error: BaseException | None) -> Outcome:
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

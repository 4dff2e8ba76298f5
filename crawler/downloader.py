"""Scrapy's downloader, which also counts the requests that end without a response."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.core.downloader import Downloader as ScrapyDownloader
from scrapy.exceptions import DownloadCancelledError, IgnoreRequest
from scrapy.http.request import NO_CALLBACK

from crawler.visit import Outcome

if TYPE_CHECKING:
    from scrapy import Request
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

logger = logging.getLogger(__name__)


class Downloader(ScrapyDownloader):
    """Counts each request that fails for good as `visit/robots`, `visit/too_large` or `visit/download_failed`.

    This is the one place that sees them all: what a middleware raises on a response (a compressed body that unpacks
    to too much, a circle of redirects) reaches no other middleware and no callback.
    """

    def fetch(self, request: Request, spider: Any = None) -> Deferred[Any]:
        fetching: Deferred[Any] = super().fetch(request, *filter(None, [spider]))
        # robots.txt and the like are fetched for Scrapy itself and are no visits.
        return fetching if request.callback is NO_CALLBACK else fetching.addErrback(self._failed, request)

    def _failed(self, failure: Failure, request: Request) -> Failure:
        outcome = _outcome(failure.value)
        self.crawler.stats.inc_value(f"visit/{outcome}")
        logger.info("No response from %s: %s: %s", request.url, outcome, failure.getErrorMessage())
        return failure


def _outcome(error: BaseException | None) -> Outcome:
    text = str(error)
    if isinstance(error, IgnoreRequest) and "robots.txt" in text:
        return Outcome.ROBOTS
    if isinstance(error, DownloadCancelledError) or "DOWNLOAD_MAXSIZE" in text:
        return Outcome.TOO_LARGE
    return Outcome.DOWNLOAD_FAILED

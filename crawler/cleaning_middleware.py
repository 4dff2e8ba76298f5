"""Downloader middleware that cleans and stores the pages of a host project (add-on `crawler.addon.Cleaning`).

A host project is another Scrapy project with its own spiders and items. Its responses reach its spiders unchanged.
Pages are cleaned, fingerprinted and stored here, not in Scrapy's item pipelines, so the host project's pipelines, feeds
and signals only ever see its own items.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import CloseSpider
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import is_asyncio_available

from cleaning.blocks import PageType
from crawler.config import Config, compile_patterns, config_of
from crawler.context import context_of
from crawler.errors import ConfigError, StoreError
from crawler.fetching.directives import DirectiveReader
from crawler.fetching.reservations import Reservations
from crawler.fetching.response_filter import Rejection, filter_response, reject_status
from crawler.monitoring.exit_status import FinishReason
from crawler.page import begin_visit, end_visit, fetched_page
from crawler.processing import CleanStep, FingerprintStep, StoreStep
from crawler.visit import LEFT_ALONE_OUTCOMES, MISSING_OUTCOMES, CleanedPage, Outcome, Visit

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from cleaning.structure.clean_page import CleanPage

logger = logging.getLogger(__name__)

# A pattern that backtracks takes longer on longer texts, and the URLs are not under our control.
_MAX_URL_CHARS = 2_000
# Below it the guess of a page's type is more often wrong than right.
_MIN_CONFIDENCE = 0.5


class CleaningMiddleware:
    """Outermost downloader middleware: it sees each response as the spider gets it, whatever the callback does with it.

    It waits for cleaning and for the database, so a crawl that is faster than these downloads more slowly. A failing
    database closes the spider as `store_failed`.
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        self._crawler = crawler
        self._rule = PageRule.of(config.pages_from, config.pages_of_types)
        self._config = config
        self._directives = DirectiveReader.from_crawler(crawler)
        self._reservations = Reservations(crawler) if config.obey_tdm_reservation else None
        self._store = StoreStep.from_crawler(crawler)
        self._fingerprint = FingerprintStep.from_crawler(crawler)
        self._clean = CleanStep.from_crawler(crawler)
        self._has_begun = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Raises ConfigError and StoreError, which stop the crawl."""
        if not is_asyncio_available():
            raise ConfigError(
                f"TWISTED_REACTOR is {crawler.settings['TWISTED_REACTOR']!r}; the add-on Cleaning needs the asyncio "
                "reactor, which is Scrapy's default"
            )
        middleware = cls(crawler, config_of(crawler))
        crawler.signals.connect(middleware.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(middleware.spider_closed, signal=signals.spider_closed)
        return middleware

    def spider_opened(self) -> None:
        try:
            self._store.open()
        except Exception as error:
            # Scrapy would log it and crawl on, and every page would be lost. A StoreError needs no traceback.
            logger.error("%s", error, exc_info=not isinstance(error, StoreError))  # noqa: TRY400 — as said
            raise CloseSpider(FinishReason.STORE_FAILED) from error
        self._has_begun = True

    async def process_response(self, request: Request, response: Response) -> Response:
        # Requests for robots.txt or for the files of media pipelines have no callback.
        if request.callback is not NO_CALLBACK and self._has_begun:
            try:
                await self._process(request, response)
            except Exception:
                # The host project's crawl must go on.
                logger.exception("%s was not stored", response.url)
                self._crawler.stats.inc_value(f"visit/{Outcome.PIPELINE_FAILED}")
        return response

    async def spider_closed(self, reason: str) -> None:
        self._clean.close()
        if self._has_begun:
            await self._store.close()
            self._store.end_crawl(reason)
        else:
            self._store.abandon()

    async def _process(self, request: Request, response: Response) -> None:
        """Store the response if its URL matches PAGES_FROM, or if it is a page of a type in PAGES_OF_TYPES.

        A page that is missing, or must be left alone, ends as a visit under both settings, because it may be stored.
        """
        url_matches = self._rule.takes_url(response.url)
        if not (url_matches or self._rule.types):
            return
        visit = await self._visit(response, request)
        is_page = visit.page is not None
        if not (url_matches or is_page or visit.outcome in MISSING_OUTCOMES | LEFT_ALONE_OUTCOMES):
            return
        self._crawler.stats.inc_value(f"visit/{visit.outcome}")
        visit = await self._clean.clean(visit)
        if is_page and not (url_matches or self._is_of_wanted_type(visit)):
            self._discard(visit)
            return
        if isinstance(visit.page, CleanedPage):
            context_of(self._crawler).cleaned_pages[response] = visit.page.cleaned
        self._clean.count(visit)
        await self._store.store(self._fingerprint.fingerprint(visit))

    def _is_of_wanted_type(self, visit: Visit) -> bool:
        return isinstance(visit.page, CleanedPage) and self._rule.takes_type(visit.page.cleaned)

    def _discard(self, visit: Visit) -> None:
        """Count a page of another type as such, and no longer as a visit. A page that failed to be cleaned stays."""
        if visit.page is not None:
            self._crawler.stats.inc_value(f"visit/{visit.outcome}", -1)
            self._crawler.stats.inc_value("clean/other_type")

    async def _visit(self, response: Response, request: Request) -> Visit:
        """Return the visit of a response with its page as its publisher wants it left, or why it has none."""
        visit = begin_visit(response, request)
        result = reject_status(response.status, response.body) or filter_response(response, self._config)
        if isinstance(result, Rejection):
            return end_visit(visit, result)
        if self._reservations is not None:
            await self._reservations.load(response.url)
        return end_visit(visit, self._directives.obey(fetched_page(response, result), response))


@dataclass(frozen=True, slots=True)
class PageRule:
    """Which responses of a host project are pages: by a pattern found in the URL, or by page type and confidence."""

    patterns: tuple[re.Pattern[str], ...]
    types: frozenset[str]

    @classmethod
    def of(cls, patterns: Sequence[str], types: Sequence[str]) -> Self:
        """Return the rule; without patterns and types it takes articles.

        Raises ValueError for too many patterns, a pattern that is too long, and an invalid regular expression.
        """
        wanted = frozenset(types) if patterns or types else frozenset({PageType.ARTICLE})
        return cls(compile_patterns(patterns), wanted)

    def takes_url(self, url: str) -> bool:
        """Return True if the URL is that of a page; a URL of more than 2,000 characters is not."""
        return len(url) <= _MAX_URL_CHARS and any(pattern.search(url) for pattern in self.patterns)

    def takes_type(self, cleaned: CleanPage | None) -> bool:
        """Return True if a cleaned page has one of the types, with enough confidence."""
        if cleaned is None or cleaned.type is None:
            return False
        return cleaned.type in self.types and (cleaned.confidence or 0.0) >= _MIN_CONFIDENCE

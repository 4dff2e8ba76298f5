"""Downloader middleware that cleans and stores pages in a host project.

A response goes on to the project's spider unchanged. A page is processed by our own three steps and not by Scrapy's
item pipelines: the host project's pipelines, feeds and signals see only its own items.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import CloseSpider
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import is_asyncio_available

from cleaning.blocks import Metadata
from crawler.config import Config
from crawler.errors import ConfigError, StoreError
from crawler.fetching.response_filter import Rejection, filter_response, reject_status
from crawler.monitoring.exit_status import FinishReason
from crawler.page import get_header
from crawler.stages.clean import CleanPipeline
from crawler.stages.dedup import DedupPipeline
from crawler.stages.store import StorePipeline
from crawler.visit import MISSING_OUTCOMES, FetchedPage, Outcome, Visit

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


logger = logging.getLogger(__name__)


class CleaningMiddleware:
    """Downloader middleware, outermost: it sees what spiders are given, whatever their callbacks make of it.

    It waits for cleaning and for the database, so a crawl that is faster than those holds back further downloads. A
    database that fails closes the spider with the reason `store_failed`.
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        self._crawler = crawler
        self._rule = config.page_rule
        self._max_bytes = config.page_max_bytes
        self._store = StorePipeline.alone(crawler)
        self._dedup = DedupPipeline.from_crawler(crawler)
        self._clean = CleanPipeline.from_crawler(crawler)
        self._begun = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Raises ConfigError and StoreError, which stop the crawl."""
        if not is_asyncio_available():
            raise ConfigError(
                f"TWISTED_REACTOR is {crawler.settings['TWISTED_REACTOR']!r}; the add-on Cleaning needs asyncio's, "
                "which is Scrapy's default"
            )
        onlooker = cls(crawler, Config.read(crawler.settings))
        crawler.signals.connect(onlooker.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(onlooker.spider_closed, signal=signals.spider_closed)
        return onlooker

    def spider_opened(self) -> None:
        try:
            self._store.open_spider()
        except Exception as error:
            # Scrapy would log it and crawl on, and every page would be lost. A StoreError says all in words.
            logger.error("%s", error, exc_info=not isinstance(error, StoreError))  # noqa: TRY400 — as said
            raise CloseSpider(FinishReason.STORE_FAILED) from error
        self._begun = True

    async def process_response(self, request: Request, response: Response) -> Response:
        # robots.txt, the media pipelines' files and the like are nobody's pages.
        if request.callback is not NO_CALLBACK and self._begun:
            try:
                await self._look(response)
            except Exception:
                # The project's own crawl goes on, whatever we make of a page of its.
                logger.exception("%s was not stored", response.url)
                self._crawler.stats.inc_value(f"visit/{Outcome.PIPELINE_FAILED}")
        return response

    async def spider_closed(self, reason: str) -> None:
        self._clean.close_spider()
        if self._begun:
            await self._store.close_spider()
            self._store.spider_closed(reason)
        else:
            self._store.abandon()

    async def _look(self, response: Response) -> None:
        at_its_url = self._rule.takes_url(response.url)
        if not (at_its_url or self._rule.types):
            return
        visit = self._visit(response)
        if at_its_url or visit.fetched is not None or visit.outcome in MISSING_OUTCOMES:
            self._crawler.stats.inc_value(f"visit/{visit.outcome}")
            await self._pass(visit, whatever_type=at_its_url)

    async def _pass(self, visit: Visit, *, whatever_type: bool) -> None:
        """Clean, compare and store a visit, unless its page turns out to be of a type that nobody asked for."""
        if visit.fetched is not None:
            visit = await self._clean.cleaned(visit, visit.fetched)
            if not (whatever_type or self._rule.takes_type(visit.cleaned)):
                self._leave(visit)
                return
        if visit.cleaned is not None:
            self._clean.count(visit.cleaned)
        await self._store.process_item(self._dedup.process_item(visit))

    def _leave(self, visit: Visit) -> None:
        """Count a page as one of another type, and as a visit no more; one that could not be cleaned stays counted."""
        if visit.cleaned is not None:
            self._crawler.stats.inc_value(f"visit/{visit.outcome}", -1)
            self._crawler.stats.inc_value("clean/other_type")

    def _visit(self, response: Response) -> Visit:
        found = reject_status(response.status, response.body) or filter_response(response, self._max_bytes)
        etag, last_modified = get_header(response, "ETag"), get_header(response, "Last-Modified")
        seen = Visit(
            response.url, datetime.now(UTC), Outcome.PAGE, response.status, etag=etag, last_modified=last_modified
        )
        if isinstance(found, Rejection):
            return replace(seen, outcome=found.outcome, error=found.detail)
        return replace(seen, fetched=FetchedPage(response.url, response.body, found, Metadata(), etag, last_modified))

"""First stage: a fetched page becomes blocks with decisions."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cleaning import PageError, clean
from crawler.config import Config
from crawler.errors import SetupError, WorkerTimeoutError
from crawler.monitoring.exit_status import FinishReason
from crawler.visit import OUTCOME_BY_FAULT, Outcome, Visit
from crawler.workers.pool import WorkerPool
from crawler.workers.worker import PageToClean, crawl_task, load_models

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from scrapy.crawler import Crawler

    from cleaning import CleanPage
    from crawler.visit import FetchedPage

logger = logging.getLogger(__name__)


class CleanPipeline:
    """Cleans each visit that has a page; what is no visit passes untouched.

    With `cleaners` it is done in their processes, several pages at once, and visits go on in the order in which their
    pages are done. A page that was not made of its bytes is cleaned here all the same.
    """

    def __init__(
        self, method: str, options: Mapping[str, Any], crawler: Crawler, cleaners: WorkerPool[CleanPage] | None = None
    ) -> None:
        assert crawler.stats
        self._method = method
        self._options = options
        self._crawler = crawler
        self._stats = crawler.stats
        self._cleaners = cleaners
        self._closing: asyncio.Future[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        config = Config.read(crawler.settings)
        method, options = config.cleaning_method, config.cleaning_options
        if not config.cleaning_processes:
            load_models()
            return cls(method, options, crawler)
        assert crawler.stats
        task = crawl_task(method, options, config.cleaning_seconds)
        return cls(method, options, crawler, WorkerPool.start(config.cleaning_processes, task, crawler.stats))

    async def process_item(self, item: Any) -> Any:
        if not isinstance(item, Visit) or item.fetched is None:
            return item
        visit = await self.cleaned(item, item.fetched)
        if visit.cleaned is not None:
            self.count(visit.cleaned)
        return visit

    async def cleaned(self, visit: Visit, fetched: FetchedPage) -> Visit:
        """Return the visit with its page cleaned, and not yet counted; one that cannot be is counted, as what it is."""
        try:
            cleaned = await self._clean(fetched)
        except PageError as error:
            return self._failed(visit, OUTCOME_BY_FAULT[error.cause], str(error))
        except WorkerTimeoutError as error:
            logger.error("Cleaning %s was stopped: %s", visit.url, error)  # noqa: TRY400 — it says all
            return self._failed(visit, Outcome.CLEANING_TIMEOUT, str(error))
        except SetupError as error:
            logger.error("%s was not cleaned, and the crawl ends: %s", visit.url, error)  # noqa: TRY400 — as above
            self._close_spider()
            return self._failed(visit, Outcome.CLEANING_FAILED, str(error))
        except Exception as error:
            # The one broad except of the project: a page that breaks cleaning must not end the crawl.
            logger.exception("Cleaning failed on %s", visit.url)
            return self._failed(visit, Outcome.CLEANING_FAILED, repr(error))
        return replace(visit, cleaned=replace(cleaned, metadata=fetched.stated.filled_from(cleaned.metadata)))

    def count(self, cleaned: CleanPage) -> None:
        """Count the page and its blocks, kept and dropped for each reason."""
        self._stats.inc_value("clean/pages")
        self._stats.inc_value("blocks/seen", len(cleaned.decisions))
        for reason, count in cleaned.counts().items():
            self._stats.inc_value(f"blocks/{reason}", count)
        for parse_warning in cleaned.parse_warnings:
            self._stats.inc_value(f"page/{parse_warning}")

    def close_spider(self) -> None:
        if self._cleaners is not None:
            self._cleaners.close()

    async def _clean(self, fetched: FetchedPage) -> CleanPage:
        order = PageToClean.of(fetched) if self._cleaners else None
        if self._cleaners is None or order is None:
            return clean(fetched.tree, method=fetched.method or self._method, **self._options)
        return await self._cleaners.clean(order)

    def _close_spider(self) -> None:
        """Close once; closing waits for the visits under way, so it must not be waited for here."""
        if self._closing is None:
            assert self._crawler.engine is not None
            closing = self._crawler.engine.close_spider_async(reason=FinishReason.WORKERS_FAILED)
            self._closing = asyncio.ensure_future(closing)

    def _failed(self, visit: Visit, outcome: Outcome, error: str) -> Visit:
        """The visit was counted as a page; it is none. A callback that failed stays counted as that."""
        if visit.outcome is not Outcome.PAGE:
            return replace(visit, fetched=None)
        self._stats.inc_value(f"visit/{Outcome.PAGE}", -1)
        self._stats.inc_value(f"visit/{outcome}")
        return replace(visit, outcome=outcome, error=error, fetched=None)

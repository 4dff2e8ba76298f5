"""Last item pipeline: store each visit, and turn its page into the item that feeds get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import signals

from crawler.config import config_of
from crawler.context import context_of
from crawler.page import VisitWithoutPage, page_item, stored_item
from crawler.processing import StoreStep
from crawler.visit import Outcome, Visit

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from twisted.python.failure import Failure


class StorePipeline:
    """Stores visits and returns their pages as PageItems; other items pass unchanged.

    A visit without a page ends here; with FEED_UNCHANGED one that found its page not modified returns the stored page.
    A visit that another pipeline drops is stored without its page.
    """

    def __init__(self, step: StoreStep, *, sends_unchanged: bool = False) -> None:
        self._step = step
        self._sends_unchanged = sends_unchanged

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        """Return the pipeline; one that only makes PageItems for a command that only looks at pages."""
        if context_of(crawler).looks_only:
            return _PageItems()
        step = StoreStep.from_crawler(crawler)
        context_of(crawler).store_thread = step.thread
        pipeline = cls(step, sends_unchanged=config_of(crawler).feed_unchanged)
        crawler.signals.connect(pipeline.item_dropped, signal=signals.item_dropped)
        crawler.signals.connect(pipeline.item_error, signal=signals.item_error)
        crawler.signals.connect(pipeline.spider_closed, signal=signals.spider_closed)
        return pipeline

    def open_spider(self) -> None:
        self._step.open()

    async def process_item(self, item: Any) -> Any:
        if not isinstance(item, Visit):
            return item
        await self._step.store(item)
        if self._sends_unchanged and item.outcome is Outcome.NOT_MODIFIED:
            content = await self._step.stored_item(item)
            if content is not None:
                return stored_item(content, item.at)
        return page_item(item)

    def item_dropped(self, item: Any, exception: BaseException) -> None:
        if isinstance(item, Visit) and not isinstance(exception, VisitWithoutPage):
            self._step.store_without_page(item, Outcome.DROPPED, str(exception))

    def item_error(self, item: Any, failure: Failure) -> None:
        if isinstance(item, Visit):
            self._step.store_without_page(item, Outcome.PIPELINE_FAILED, failure.getErrorMessage())

    async def close_spider(self) -> None:
        await self._step.close()

    def spider_closed(self, reason: str) -> None:
        # Scrapy sends this signal after it has closed the pipelines, so the last batch is stored.
        self._step.end_crawl(reason)


class _PageItems:
    """The last pipeline of a command that stores nothing, such as `scrapy parse`."""

    def process_item(self, item: Any) -> Any:
        return page_item(item) if isinstance(item, Visit) else item

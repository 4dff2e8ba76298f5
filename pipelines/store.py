"""Last pipeline: visits go to the database in batches, one transaction each, through one writer thread."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.asyncio import AsyncioLoopingCall

from crawler.config import Config
from crawler.errors import StoreError
from crawler.finish import Finish
from crawler.storage.engine import location
from crawler.storage.store import PageState, Store
from crawler.totals import imbalances, totals
from crawler.visit import Visit

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from crawler.storage.store import Saved

logger = logging.getLogger(__name__)

# What is counted of each saved visit, by stat name.
_COUNTED = {
    "store/blocks_new": "stored",
    "store/blocks_refreshed": "refreshed",
    "store/blocks_revived": "revived",
    "store/blocks_gone": "gone",
    "dedup/exact": "exact",
    "dedup/near": "near",
    "dedup/template": "template",
    "store/mirrors": "mirrors",
}
# Batches that may wait for the writer; a crawl faster than its database waits here, in bounded memory.
_MOST_WAITING = 3


class StorePipeline:
    """Stores each visit. A failing database closes the spider with the reason `store_failed`."""

    def __init__(self, crawler: Crawler, config: Config) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._batch_pages = config.store_batch_pages
        self._batch_seconds = config.store_batch_seconds
        self._place = location(config.database_url)
        self._store = Store.open(config)
        self._crawl_id = 0
        self._pending: list[Visit] = []
        self._waiting: set[asyncio.Future[None]] = set()
        self._closing: asyncio.Future[None] | None = None
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._timer = AsyncioLoopingCall(self._tick)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        pipeline = cls(crawler, Config.read(crawler.settings))
        crawler.signals.connect(pipeline.spider_closed, signal=signals.spider_closed)
        return pipeline

    def open_spider(self) -> None:
        spider = self._crawler.spider
        assert spider is not None
        logger.info("Storing blocks in %s", self._place)
        self._crawl_id = self._store.begin_crawl(spider.name, _arguments(spider))
        self._timer.start(self._batch_seconds, now=False)

    async def process_item(self, item: Any) -> Any:
        if not isinstance(item, Visit):
            return item
        self._pending.append(item)
        if len(self._pending) >= self._batch_pages:
            self._flush()
        while len(self._waiting) > _MOST_WAITING:
            await asyncio.wait(self._waiting, return_when=asyncio.FIRST_COMPLETED)
        return item

    async def close_spider(self) -> None:
        if self._timer.running:
            self._timer.stop()
        self._tick()
        if self._waiting:
            await asyncio.wait(self._waiting)

    def spider_closed(self, reason: str) -> None:
        """Finish the crawl's row, after the last batch: Scrapy closes pipelines before it sends this signal."""
        for imbalance in imbalances(self._stats.get_stats()):
            self._stats.inc_value("store/imbalances")
            logger.error("The crawl's counts do not add up: %s", imbalance)
        try:
            self._store.end_crawl(self._crawl_id, reason, totals(self._stats.get_stats()))
        except StoreError as error:
            self._report(error)
        self._writer.shutdown()
        self._store.close()

    def _tick(self) -> None:
        if not self._crawler.crawling:
            # Ctrl-C: whoever asks to end does not want to wait for a database that is away.
            self._store.stop_waiting()
        self._flush()

    def _flush(self) -> None:
        if not self._pending:
            return
        batch, self._pending = self._pending, []
        future = asyncio.ensure_future(self._write(batch))
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)

    async def _write(self, batch: list[Visit]) -> None:
        pages = sum(visit.cleaned is not None for visit in batch)
        if self._closing is not None:
            self._stats.inc_value("store/pages_failed", pages)
            return
        loop = asyncio.get_running_loop()
        try:
            saved = await loop.run_in_executor(self._writer, self._store.save, self._crawl_id, batch)
        except StoreError as error:
            self._stats.inc_value("store/pages_failed", pages)
            self._report(error)
            self._close_spider()
            return
        for result in saved:
            self._count(result)

    def _report(self, error: StoreError) -> None:
        self._stats.set_value("store/error", str(error))
        logger.error("%s", error)

    def _close_spider(self) -> None:
        """Close once; closing waits for the visits under way, so it must not be waited for here."""
        if self._closing is None:
            assert self._crawler.engine is not None
            closing = self._crawler.engine.close_spider_async(reason=Finish.STORE_FAILED)
            self._closing = asyncio.ensure_future(closing)

    def _count(self, saved: Saved) -> None:
        if saved.state is not PageState.NONE:
            self._stats.inc_value(f"store/pages_{saved.state}")
        for name, attribute in _COUNTED.items():
            if count := getattr(saved, attribute):
                self._stats.inc_value(name, count)


def _arguments(spider: Spider) -> dict[str, str]:
    """Return the spider arguments of the command line: what Scrapy put on the spider as plain texts."""
    return {name: value for name, value in vars(spider).items() if isinstance(value, str) and name != "name"}

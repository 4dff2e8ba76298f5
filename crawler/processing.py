"""The three steps of a page: clean it, fingerprint it and compare its blocks, store it."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from crawler.arguments import FRESH, given
from crawler.errors import StoreError
from crawler.monitoring.exit_status import CRAWL_ID_STAT, FinishReason
from crawler.redact import redact_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from crawler.storage.crawls import JoinedCrawl
    from crawler.storage.store import CrawlPolicy, Store


logger = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

_TRUE_WORDS = frozenset({"1", "true", "yes", "on"})


class StoreThread:
    """Gives work to the thread, in order. A failing database closes the spider with the reason `store_failed`.

    `crawl_id` is set when the crawl has begun; `waiting` counts the visits that wait to be stored.
    """

    def __init__(self, crawler: Crawler, store: Store) -> None:
        self.store = store
        self.crawl_id = 0
        self.waiting = 0
        self._crawler = crawler
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._closing: asyncio.Future[None] | None = None

    @property
    def failed(self) -> bool:
        """Whether the database has failed: nothing more can be stored."""
        return self._closing is not None

    def join(self, spider: Spider, manners: CrawlPolicy) -> JoinedCrawl:
        """Go on with the open crawl of this spider and these arguments, or begin one, as `-a fresh=1` does anyway."""
        arguments = given(spider)
        fresh = arguments.pop(FRESH, "").lower() in _TRUE_WORDS
        joined = self.store.join_crawl(spider.name, arguments, manners, fresh=fresh)
        self._begun(joined.crawl_id)
        return joined

    def begin(self, spider: Spider) -> None:
        """Begin a crawl whose requests are not the database's business."""
        self._begun(self.store.begin_crawl(spider.name, given(spider)))

    async def run(self, work: Callable[[], ResultT]) -> ResultT:
        """Do the work in the thread and return its result; StoreError, of whatever fails, is the caller's to report."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except StoreError:
            raise
        except Exception as error:
            # The news or the visits of the transaction are lost with it: a crawl that went on would miss them.
            logger.exception("Storing failed")
            said = redact_text(" ".join(str(error).split()))
            raise StoreError(f"the database was not written: {type(error).__name__}: {said}") from error

    def report(self, error: StoreError) -> None:
        """Log an error of the database, once in words and in the crawl's totals."""
        assert self._crawler.stats
        self._crawler.stats.set_value("store/error", str(error))
        logger.error("%s", error)

    def fail(self, error: StoreError) -> None:
        """Report the error and close the spider, once; closing waits for what is under way, so it is not waited for."""
        self.report(error)
        if self._closing is None:
            assert self._crawler.engine is not None
            closing = self._crawler.engine.close_spider_async(reason=FinishReason.STORE_FAILED)
            self._closing = asyncio.ensure_future(closing)

    def tick(self) -> None:
        """Look now and then: whoever asks the crawl to end does not want to wait for a database that is away."""
        if not self._crawler.crawling:
            self.store.stop_waiting()

    def close(self) -> None:
        """End the thread and close the store, after the last work."""
        self._thread.shutdown()
        self.store.close()

    def _begun(self, crawl_id: int) -> None:
        assert self._crawler.stats
        self.crawl_id = crawl_id
        self._crawler.stats.set_value(CRAWL_ID_STAT, crawl_id)

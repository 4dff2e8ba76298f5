"""The one thread of a crawl that uses the database."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from crawler.config import config_of
from crawler.config.arguments import FRESH, given_arguments
from crawler.errors import StoreError
from crawler.monitoring.exit_status import CRAWL_ID_STAT, MOVED_STAT, FinishReason
from crawler.redact import redact_text
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.database import WAITED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from crawler.storage.crawls import JoinedCrawl
    from crawler.storage.pages import PageAbsence
    from crawler.storage.store import Store

logger = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

_TRUE_WORDS = frozenset({"1", "true", "yes", "on"})


class StoreThread:
    """The one thread of a crawl that writes to its database, in the order in which it gets work.

    `crawl_id` is set once the crawl has begun. `waiting` counts the visits that are not stored yet.
    """

    def __init__(self, crawler: Crawler, store: Store) -> None:
        self.store = store
        self.crawl_id = 0
        self.waiting = 0
        self._crawler = crawler
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        self._closer = SpiderCloser(crawler)

    @property
    def failed(self) -> bool:
        """True once the database has failed: nothing more can be stored."""
        return self._closer.is_closing

    def join_crawl(self, spider: Spider, policy: CrawlPolicy) -> JoinedCrawl:
        """Continue the open crawl of this spider and these arguments. Without one, or with `-a fresh=1`, begin one."""
        arguments = given_arguments(spider)
        fresh = arguments.pop(FRESH, "").lower() in _TRUE_WORDS
        joined = self.store.join_crawl(spider.name, arguments, policy, fresh=fresh)
        self._set_crawl_id(joined.crawl_id)
        return joined

    async def record_absences(self, absences: Sequence[PageAbsence]) -> None:
        """Record pages whose requests were redirected elsewhere, and count those that have moved there."""
        saved = await self.run(partial(self.store.record_absences, absences))
        if moved := sum(result.moved for result in saved):
            self._crawler.stats.inc_value(MOVED_STAT, moved)

    def begin_crawl(self, spider: Spider) -> None:
        """Begin a crawl whose requests are not in the database."""
        config = config_of(self._crawler)
        policy = CrawlPolicy(options_hash=config.options_hash, settings=config.page_settings)
        self._set_crawl_id(self.store.begin_crawl(spider.name, given_arguments(spider), policy))

    async def run(self, work: Callable[[], ResultT]) -> ResultT:
        """Run the work in the thread and return its result. Raises StoreError if it raises anything."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except StoreError:
            raise
        except Exception as error:
            # Acknowledgements or visits of this transaction are lost. A crawl that went on would miss them.
            logger.exception("Storing failed")
            message = redact_text(" ".join(str(error).split()))
            raise StoreError(f"the database was not written: {type(error).__name__}: {message}") from error

    def report(self, error: StoreError) -> None:
        """Log an error of the database and set it as a stat, which decides the exit code.

        All that waited for a database that is away report the same: it is logged once.
        """
        assert self._crawler.stats
        reported = str(self._crawler.stats.get_value("store/error", ""))
        self._crawler.stats.set_value("store/error", str(error))
        if reported.partition(WAITED)[0] != str(error).partition(WAITED)[0]:
            logger.error("%s", error)

    def fail(self, error: StoreError) -> None:
        """Report the error and close the spider."""
        self.report(error)
        self._closer.close(FinishReason.STORE_FAILED)

    def stop_waiting_if_closing(self) -> None:
        """Stop waiting for a database that is away, once someone has asked the crawl to end."""
        if not self._crawler.crawling:
            self.store.stop_waiting()

    def close(self) -> None:
        """End the thread after its last work, and close the store."""
        self._thread.shutdown()
        self.store.close()

    def _set_crawl_id(self, crawl_id: int) -> None:
        assert self._crawler.stats
        self.crawl_id = crawl_id
        self._crawler.stats.set_value(CRAWL_ID_STAT, crawl_id)


class SpiderCloser:
    """Closes the spider once. Closing waits for the visits in work, so a step cannot wait for it."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._closing: asyncio.Future[None] | None = None

    @property
    def is_closing(self) -> bool:
        return self._closing is not None

    def close(self, reason: FinishReason) -> None:
        if self._closing is None:
            assert self._crawler.engine is not None
            self._closing = asyncio.ensure_future(self._crawler.engine.close_spider_async(reason=reason))

"""Last stage: visits go to the database in batches, one transaction each, through one writer thread."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.asyncio import AsyncioLoopingCall

from crawler.config import Config
from crawler.context import context_of
from crawler.errors import StoreError
from crawler.monitoring.exit_status import find_imbalances, stored_counters
from crawler.processing import StoreThread
from crawler.storage.database import location_of_url
from crawler.storage.store import PageState, Store
from crawler.urls import host_of
from crawler.visit import PAUSE_OUTCOMES, Outcome, Visit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from scrapy.crawler import Crawler
    from twisted.python.failure import Failure

    from crawler.frontier.scheduler import Frontier
    from crawler.storage.store import SavedVisit
    from crawler.visit import LeaseToken

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
    "recrawl/not_due": "spared",
}
# Batches that may wait for the writer; a crawl faster than its database waits here, in bounded memory.
_MOST_WAITING = 3
# A visit without a page to store takes little of a transaction: a batch has room for so many in place of a page.
_VISITS_A_PAGE = 4
# How long links that a crawl is in need of wait for others, so that each does not cost a transaction.
_GATHER_SECONDS = 0.1
_NOTHING_LEFT = "finished"  # Scrapy's reason for an end that nobody asked for


class StorePipeline:
    """Stores each visit. A failing database closes the spider with the reason `store_failed`."""

    def __init__(self, crawler: Crawler, config: Config, writer: StoreThread) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._room = config.store_batch_pages * _VISITS_A_PAGE
        self._batch_seconds = config.store_batch_seconds
        self._place = location_of_url(config.database_url)
        self._writer = writer
        self._pending: list[Visit] = []
        self._arrived: dict[LeaseToken, dict[int, Visit]] = {}
        self._waiting: set[asyncio.Future[None]] = set()
        self._soon: asyncio.TimerHandle | None = None
        self._timer = AsyncioLoopingCall(self._tick)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        config = Config.read(crawler.settings)
        writer = StoreThread(crawler, Store.open(config))
        context_of(crawler).store_thread = writer
        pipeline = cls(crawler, config, writer)
        crawler.signals.connect(pipeline.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(pipeline.item_dropped, signal=signals.item_dropped)
        crawler.signals.connect(pipeline.item_error, signal=signals.item_error)
        return pipeline

    @classmethod
    def alone(cls, crawler: Crawler) -> Self:
        """Return one that is told of the crawl's begin and end by its owner, in a crawl without our frontier."""
        config = Config.read(crawler.settings)
        return cls(crawler, config, StoreThread(crawler, Store.open(config)))

    def open_spider(self) -> None:
        assert self._crawler.spider is not None
        logger.info("Storing blocks in %s", self._place)
        if self._frontier is None:
            self._writer.begin(self._crawler.spider)
        self._timer.start(self._batch_seconds, now=False)

    async def process_item(self, item: Any) -> Any:
        if not isinstance(item, Visit):
            return item
        self._receive(item)
        while len(self._waiting) > _MOST_WAITING:
            await asyncio.wait(self._waiting, return_when=asyncio.FIRST_COMPLETED)
        return item

    def item_dropped(self, item: Any, exception: BaseException) -> None:
        self._receive_lost(item, Outcome.DROPPED, str(exception))

    def item_error(self, item: Any, failure: Failure) -> None:
        self._receive_lost(item, Outcome.PIPELINE_FAILED, failure.getErrorMessage())

    async def close_spider(self) -> None:
        if self._timer.running:
            self._timer.stop()
        self._tick()
        if self._waiting:
            await asyncio.wait(self._waiting)

    def spider_closed(self, reason: str) -> None:
        """Finish the crawl's row, after the last batch: Scrapy closes pipelines before it sends this signal."""
        for imbalance in find_imbalances(self._stats.get_stats()):
            self._stats.inc_value("store/imbalances")
            logger.error("The crawl's counts do not add up: %s", imbalance)
        counted = stored_counters(self._stats.get_stats())
        finished = self._frontier is None or reason == _NOTHING_LEFT
        try:
            if self._writer.store.end_crawl(self._writer.crawl_id, reason, counted, finished=finished):
                self._stats.set_value("frontier/pages_found", 1)
        except StoreError as error:
            self._writer.report(error)
        self._writer.close()

    def abandon(self) -> None:
        """Close the database of a crawl that has not begun."""
        self._writer.close()

    @property
    def _frontier(self) -> Frontier | None:
        frontier: Frontier | None = context_of(self._crawler).frontier
        return frontier

    def _receive(self, visit: Visit) -> None:
        self._writer.waiting += 1
        self._pending += self._whole(visit)
        if sum(map(_share, self._pending)) >= self._room or self._is_urgent(visit):
            self._flush()
        elif visit.requests and self._frontier and self._frontier.is_starving and self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(_GATHER_SECONDS, self._flush)

    def _is_urgent(self, visit: Visit) -> bool:
        """Tell whether something waits for the visit: its host's rest, or all that is left to be done."""
        return self._frontier is not None and (visit.outcome in PAUSE_OUTCOMES or self._frontier.is_drained)

    def _receive_lost(self, item: Any, outcome: Outcome, error: str) -> None:
        """Let a visit that another pipeline made an end of end its request all the same, and bring its children."""
        if not isinstance(item, Visit) or item.lease_token is None or not self._frontier:
            return
        if not self._frontier.holds(item.lease_token) or item.part in self._arrived.get(item.lease_token, {}):
            return  # a pipeline behind this one
        self._stats.inc_value(f"visit/{item.outcome}", -1)
        self._stats.inc_value(f"visit/{outcome}")
        self._receive(replace(item, outcome=outcome, error=error, fetched=None, cleaned=None, candidates=()))

    def _whole(self, visit: Visit) -> list[Visit]:
        """Return all visits of a response once they are there, the one that ends its request last."""
        if visit.lease_token is None:
            return [visit]
        arrived = self._arrived.setdefault(visit.lease_token, {})
        arrived[visit.part] = visit
        return [arrived[part] for part in sorted(arrived)] if len(arrived) == visit.parts else []

    def _tick(self) -> None:
        self._writer.tick()
        self._flush()

    def _flush(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        while self._pending:
            fitting = sum(taken <= self._room for taken in accumulate(map(_share, self._pending)))
            batch, self._pending = self._pending[:fitting], self._pending[fitting:]
            future = asyncio.ensure_future(self._write(batch))
            self._waiting.add(future)
            future.add_done_callback(self._waiting.discard)

    async def _write(self, batch: list[Visit]) -> None:
        try:
            await self._save(batch)
        finally:
            self._writer.waiting -= len(batch)

    async def _save(self, batch: list[Visit]) -> None:
        pages = sum(visit.cleaned is not None for visit in batch)
        if self._writer.failed:
            self._stats.inc_value("store/pages_failed", pages)
            return
        try:
            saved = await self._writer.run(partial(self._writer.store.save, self._writer.crawl_id, batch))
        except StoreError as error:
            self._stats.inc_value("store/pages_failed", pages)
            self._writer.fail(error)
            return
        for visit, result in zip(batch, saved, strict=True):
            self._count(visit, result)
            if visit.lease_token and visit.ends:
                del self._arrived[visit.lease_token]
        if self._frontier is not None:
            _tell(self._frontier, batch)

    def _count(self, visit: Visit, saved: SavedVisit) -> None:
        if saved.state is PageState.LOST:
            self._stats.inc_value("frontier/lost")
            if visit.cleaned is not None:
                self._stats.inc_value("store/pages_lost")
        elif saved.state is not PageState.NONE:
            self._stats.inc_value(f"store/pages_{saved.state}")
        for name, attribute in _COUNTED.items():
            if count := getattr(saved, attribute):
                self._stats.inc_value(name, count)


def _share(visit: Visit) -> int:
    """Return how much of a batch's room a visit takes."""
    return 1 if visit.cleaned is None else _VISITS_A_PAGE


def _tell(frontier: Frontier, batch: Sequence[Visit]) -> None:
    frontier.acknowledged([visit.lease_token for visit in batch if visit.lease_token and visit.ends])
    for visit in batch:
        if visit.outcome in PAUSE_OUTCOMES:
            frontier.leave_alone(host_of(visit.url))

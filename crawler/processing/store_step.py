"""The third step of a page: store it, in batches, through the store thread."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial
from itertools import accumulate
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from scrapy.utils.asyncio import AsyncioLoopingCall

from crawler.config import Config, config_of
from crawler.config.arguments import ArgumentSpider, given_arguments
from crawler.context import context_of
from crawler.errors import StoreError
from crawler.health.alerts import HealthStep
from crawler.health.conditions import FAILING_CONDITIONS
from crawler.monitoring.exit_status import (
    CANONICAL_STAT,
    GIVEN_UP_STAT,
    MOVED_STAT,
    QUEUED_AGAIN_STAT,
    SITE_PROBLEMS_STAT,
    FinishReason,
    find_imbalances,
    stored_counters,
)
from crawler.processing.store_thread import StoreThread
from crawler.storage.database import location_of_url
from crawler.storage.store import Store
from crawler.storage.visits import PageState
from crawler.urls import site_of
from crawler.visit import Outcome, ProcessedPage, Visit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Self

    from scrapy.crawler import Crawler

    from crawler.storage.queries import StoredItem
    from crawler.storage.visits import SavedVisit
    from crawler.visit import LeaseToken

logger = logging.getLogger(__name__)

_COUNT_BY_STAT = {
    "store/blocks_new": "stored",
    "store/blocks_refreshed": "refreshed",
    "store/blocks_revived": "revived",
    "store/blocks_gone": "gone",
    "dedup/exact": "exact",
    "dedup/near": "near",
    "dedup/boilerplate": "boilerplate",
    "dedup/not_compared": "not_compared",
    "store/near_duplicate_pages": "near_duplicate_pages",
    "recrawl/not_due": "not_due",
    MOVED_STAT: "moved",
}
"""The field of a SavedVisit that each stat adds up."""

# Batches that may wait for the store thread. A crawl that is faster than its database waits here, in bounded memory.
_MAX_WAITING_BATCHES = 1
# A visit without a page takes little of a transaction: a batch takes this many of them in place of one page.
_VISITS_PER_PAGE = 4
# So a batch of the default size has 2,000 blocks, or one page: others wait for half a second.
_BLOCKS_PER_PAGE = 50
# New requests wait this long for others if the crawl has nothing else to do, so that each does not cost a transaction.
_GATHER_SECONDS = 0.1
_NOTHING_LEFT = "finished"  # Scrapy's finish reason of a crawl that nobody stopped


class LeaseHolder(Protocol):
    """The part of the frontier (`crawler.frontier.scheduler.Frontier`) that `StoreStep` uses."""

    @property
    def is_starving(self) -> bool: ...

    @property
    def is_drained(self) -> bool: ...

    @property
    def unasked(self) -> Mapping[tuple[str, str], int]:
        """The number of requests, by site and outcome, that this process ended because their host was given up."""

    def holds(self, token: LeaseToken) -> bool: ...

    def acknowledged(self, tokens: Iterable[LeaseToken]) -> None: ...

    def check_pauses(self) -> None: ...


class StoreStep:
    """Third step: store visits in batches, one transaction each, through the store thread.

    The visits of one request are stored together. With the frontier in the database, the transaction also ends their
    requests and adds the requests that they yielded. A failing database closes the spider as `store_failed`.
    """

    def __init__(self, crawler: Crawler, config: Config, thread: StoreThread) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._batch_capacity = config.store_batch_pages * _VISITS_PER_PAGE
        self._batch_seconds = config.store_batch_seconds
        self._location = location_of_url(config.database_url)
        self.thread = thread
        self._health = HealthStep(config)
        self._pending: list[Visit] = []
        self._walled: set[str] = set()  # addresses whose answers were walls, as later ones have shown
        self._parts: dict[LeaseToken, dict[int, Visit]] = {}
        self._saving: set[asyncio.Future[None]] = set()
        self._flush_soon: asyncio.TimerHandle | None = None
        self._timer = AsyncioLoopingCall(self._tick)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Open the database. Raises StoreError."""
        config = config_of(crawler)
        store = Store.open(config)
        if (change := store.keep_settings(config)) is not None:
            logger.warning("%s%s", change[0].upper(), change[1:])
        return cls(crawler, config, StoreThread(crawler, store))

    def open(self) -> None:
        """Begin to store. Without a frontier in the database this begins the crawl there."""
        assert self._crawler.spider is not None
        logger.info("Storing blocks in %s", self._location)
        if self._frontier is None:
            self.thread.begin_crawl(self._crawler.spider)
        self._timer.start(self._batch_seconds, now=False)

    async def store(self, visit: Visit) -> None:
        """Take a visit to be stored with the next batch. This waits while too many batches wait for the database."""
        self._add(visit)
        while len(self._saving) > _MAX_WAITING_BATCHES:
            await asyncio.wait(self._saving, return_when=asyncio.FIRST_COMPLETED)

    def store_without_page(self, visit: Visit, outcome: Outcome, error: str) -> None:
        """Store a visit that another pipeline dropped or failed on, so that its request ends and its children count."""
        if visit.lease_token is None or not self._frontier or not self._frontier.holds(visit.lease_token):
            return
        if visit.part in self._parts.get(visit.lease_token, {}):
            return  # a pipeline behind this one failed: the visit is being stored
        self._stats.inc_value(f"visit/{visit.outcome}", -1)
        self._stats.inc_value(f"visit/{outcome}")
        self._add(replace(visit, outcome=outcome, error=error, page=None))

    async def stored_item(self, visit: Visit) -> StoredItem | None:
        """Return the stored item of a page that was not modified; None if the database has failed."""
        if self.thread.failed:
            return None
        try:
            return await self.thread.run(partial(self.thread.store.stored_item, visit))
        except StoreError as error:
            self.thread.fail(error)
            return None

    async def close(self) -> None:
        """Store what is pending, and wait until all is stored."""
        if self._timer.running:
            self._timer.stop()
        self._tick()
        if self._saving:
            await asyncio.wait(self._saving)

    def end_crawl(self, reason: str) -> None:
        """Write the crawl's end and its counts, after `close`, and close the database.

        If the last batch was not stored, the crawl did not finish, whatever Scrapy's reason is.
        """
        if self.thread.failed:
            reason = FinishReason.STORE_FAILED
            self._stats.set_value("finish_reason", reason)
        for imbalance in find_imbalances(self._stats.get_stats()):
            self._stats.inc_value("store/imbalances")
            logger.error("The crawl's counts do not add up: %s", imbalance)
        counters = stored_counters(self._stats.get_stats())
        finished = self._frontier is None or reason == _NOTHING_LEFT
        try:
            crawl_end = self.thread.store.end_crawl(self.thread.crawl_id, reason, counters, finished=finished)
            if crawl_end.has_pages:
                self._stats.set_value("frontier/pages_found", 1)
            if crawl_end.given_up:
                self._stats.set_value(GIVEN_UP_STAT, crawl_end.given_up)
            self._judge_sites()
        except StoreError as error:
            self.thread.report(error)
        self.thread.close()

    def _judge_sites(self) -> None:
        """Store what the crawl met on each site, and set as a stat why it has not done what it is for."""
        assert self._crawler.spider is not None
        arguments = given_arguments(self._crawler.spider)
        if self._frontier is not None:
            self._health.add_unasked(self._frontier.unasked)
        spider = self._crawler.spider
        sections = spider.sections() if isinstance(spider, ArgumentSpider) else ()
        targets = {site_of(url) for url in (*arguments.values(), *sections) if "://" in url}
        findings = self._health.record(self.thread.store, self.thread.crawl_id, targets)
        problems = [
            f"{site}: {finding.sentence}"
            for site, site_findings in sorted(findings.items())
            for finding in site_findings
            if finding.holds and finding.condition in FAILING_CONDITIONS
        ]
        if problems:
            self._stats.set_value(SITE_PROBLEMS_STAT, [*self._stats.get_value(SITE_PROBLEMS_STAT, ()), *problems])

    def abandon(self) -> None:
        """Close the database of a crawl that has not begun."""
        self.thread.close()

    @property
    def _frontier(self) -> LeaseHolder | None:
        frontier: LeaseHolder | None = context_of(self._crawler).frontier
        return frontier

    def _add(self, visit: Visit) -> None:
        self.thread.waiting += 1
        if visit.walled:
            visit = replace(visit, walled=tuple(walled for walled in visit.walled if walled.asked not in self._walled))
            for walled in visit.walled:
                self._count_wall(walled.asked, walled.outcome)
            self._pending = [self._as_walled(pending) for pending in self._pending]
        self._pending += self._complete(self._as_walled(_without_tree(visit)))
        if sum(map(_weight, self._pending)) >= self._batch_capacity or self._is_urgent(visit):
            self._flush()
        elif visit.requests and self._frontier and self._frontier.is_starving and self._flush_soon is None:
            self._flush_soon = asyncio.get_running_loop().call_later(_GATHER_SECONDS, self._flush)

    def _count_wall(self, asked: str, outcome: Outcome) -> None:
        """Count a visit as one to a wall that has counted as something else."""
        self._walled.add(asked)
        self._stats.inc_value(f"visit/{outcome}", -1)
        self._stats.inc_value(f"visit/{Outcome.WALL}")

    def _as_walled(self, visit: Visit) -> Visit:
        """Return a visit that is not stored yet without its page if that was a wall; its stats are right already."""
        if _asked_url(visit) not in self._walled or visit.outcome not in {Outcome.PAGE, Outcome.SECTION}:
            return visit
        self._stats.inc_value("store/pages_walled", int(visit.page is not None))
        return replace(visit, outcome=Outcome.WALL, error="later pages have the same few words", page=None)

    def _is_urgent(self, visit: Visit) -> bool:
        """Return True if something waits for the visit: the pause of its host, or a crawl with no other request."""
        return self._frontier is not None and (bool(visit.pause_evidence) or self._frontier.is_drained)

    def _complete(self, visit: Visit) -> list[Visit]:
        """Return all visits of a request once the last of them has arrived, in the order of their parts."""
        if visit.lease_token is None:
            return [visit]
        parts = self._parts.setdefault(visit.lease_token, {})
        parts[visit.part] = visit
        return [parts[part] for part in sorted(parts)] if len(parts) == visit.parts else []

    def _tick(self) -> None:
        self.thread.stop_waiting_if_closing()
        self._flush()

    def _flush(self) -> None:
        if self._flush_soon is not None:
            self._flush_soon.cancel()
            self._flush_soon = None
        while self._pending:
            fitting = sum(weight <= self._batch_capacity for weight in accumulate(map(_weight, self._pending)))
            count = max(1, fitting)
            batch, self._pending = self._pending[:count], self._pending[count:]
            future = asyncio.ensure_future(self._save(batch))
            self._saving.add(future)
            future.add_done_callback(self._saving.discard)

    async def _save(self, batch: list[Visit]) -> None:
        try:
            await self._write(batch)
        finally:
            self.thread.waiting -= len(batch)

    async def _write(self, batch: list[Visit]) -> None:
        pages = sum(isinstance(visit.page, ProcessedPage) for visit in batch)
        if self.thread.failed:
            self._stats.inc_value("store/pages_failed", pages)
            return
        try:
            saved = await self.thread.run(partial(self._save_timed, batch))
        except StoreError as error:
            self._stats.inc_value("store/pages_failed", pages)
            self.thread.fail(error)
            return
        for visit, result in zip(batch, saved, strict=True):
            self._count(visit, result)
            if result.state is PageState.WALLED and _asked_url(visit) not in self._walled:
                self._count_wall(_asked_url(visit), visit.outcome)
            self._health.add_visit(visit, result)
            if visit.lease_token and visit.ends_request:
                del self._parts[visit.lease_token]
        if self._frontier is not None:
            _inform(self._frontier, batch)

    def _save_timed(self, batch: list[Visit]) -> list[SavedVisit]:
        began = monotonic()
        saved = self.thread.store.save(self.thread.crawl_id, batch)
        self._health.add_transaction(monotonic() - began)
        return saved

    def _count(self, visit: Visit, saved: SavedVisit) -> None:
        if saved.state is PageState.LOST:
            self._stats.inc_value("frontier/lost")
            if isinstance(visit.page, ProcessedPage):
                self._stats.inc_value("store/pages_lost")
        elif saved.other_method and isinstance(visit.page, ProcessedPage):
            self._warn_of_method(saved.other_method, visit.page)
        if saved.doubted_canonical:
            self._warn_of_canonical(saved.doubted_canonical, visit)
        if saved.state not in {PageState.LOST, PageState.NONE}:
            self._stats.inc_value(f"store/pages_{saved.state}")
        if saved.queued_again:
            self._stats.inc_value(f"{QUEUED_AGAIN_STAT}/{visit.outcome}")
        if saved.refused:
            self._stats.inc_value(f"frontier/{visit.outcome}", saved.refused)
        for stat, name in _COUNT_BY_STAT.items():
            if count := getattr(saved, name):
                self._stats.inc_value(stat, count)

    def _warn_of_method(self, before: str, page: ProcessedPage) -> None:
        """Count a page that was cleaned by another method before; the first one is logged."""
        if not self._stats.get_value("store/pages_other_method"):
            logger.warning(
                "%s was cleaned by %s before, and now by %s; further such pages are counted as "
                "store/pages_other_method. CLEANING_METHOD=%s keeps to the earlier method",
                page.fetched.url,
                before,
                page.cleaned.method,
                before,
            )
        self._stats.inc_value("store/pages_other_method")

    def _warn_of_canonical(self, canonical: str, visit: Visit) -> None:
        """Count a page whose canonical address is not believed; the first one is logged."""
        if not self._stats.get_value(CANONICAL_STAT):
            logger.warning(
                "%s states the canonical address %s, where a listing or a page with another text is, or which other "
                "texts state too; it is stored under its own address. Further such pages are counted as %s",
                visit.url,
                canonical,
                CANONICAL_STAT,
            )
        self._stats.inc_value(CANONICAL_STAT)


def _inform(frontier: LeaseHolder, batch: Sequence[Visit]) -> None:
    """Tell the frontier which requests have ended, and that hosts are paused."""
    frontier.acknowledged([visit.lease_token for visit in batch if visit.lease_token and visit.ends_request])
    if any(visit.pause_evidence for visit in batch):
        frontier.check_pauses()


def _asked_url(visit: Visit) -> str:
    return visit.url if visit.request is None else visit.request.url


def _without_tree(visit: Visit) -> Visit:
    """Return the visit without the tree of its page, which takes ten times the memory of all else that waits."""
    page = visit.page
    if not isinstance(page, ProcessedPage):
        return visit
    fetched = replace(page.fetched, source=page.fetched.unparsed)
    return replace(visit, page=replace(page, fetched=fetched, cleaned=replace(page.cleaned, source=None)))


def _weight(visit: Visit) -> int:
    """Return how much of a batch's capacity a visit takes: a page with many blocks takes the place of several."""
    if not isinstance(visit.page, ProcessedPage):
        return 1
    return _VISITS_PER_PAGE * max(1, -(-len(visit.page.blocks) // _BLOCKS_PER_PAGE))

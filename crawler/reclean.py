"""Clean stored pages again (`scrapy reclean`), without the network.

Pages are read in batches, cleaned in worker processes while other pages are stored, and stored in order.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Protocol

from xxhash import xxh64_intdigest

from cleaning import PageError
from crawler.errors import WorkerError
from crawler.fetching.replay import ReplayMiss
from crawler.storage import reclean
from crawler.storage.database import read_transaction
from crawler.storage.pages import decompress_html
from crawler.storage.reclean import RecleanedPage
from crawler.storage.store import PageState
from crawler.workers.pool import WorkerPool
from crawler.workers.worker import page_to_reclean, reclean_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy.engine import Connection

    from crawler.fetching.replay import ReplaySource
    from crawler.fingerprinting import FingerprintedPage
    from crawler.storage.reclean import PageToReclean, RecleanJob, RecleanProgress
    from crawler.storage.store import SavedVisit, Store
    from crawler.workers.worker import ProcessingOptions


class SkipReason(StrEnum):
    """Why a page is left as it is; a closed set, counted under these words."""

    NO_HTML = "no_html"
    """It was stored with KEEP_HTML=false."""
    NOT_ARCHIVED = "not_archived"
    OTHER_BODY = "other_body"
    """The archive has it as it was at another visit than the last one, or rendered pages as they were fetched."""
    DAMAGED = "damaged"
    """Its record in the archive cannot be read."""
    RETIRED = "retired"
    """It is gone from its site, and so are its blocks."""
    OVERTAKEN = "overtaken"
    """A crawl stored it anew while it was cleaned."""


class PageBodies(Protocol):
    """Gives the bytes of pages as their last visit read them."""

    stored: bool
    """Whether they come with the page from the database."""

    def find(self, page: PageToReclean) -> bytes | SkipReason:
        """Return a page's bytes, or why there are none."""


class StoredBodies:
    """Those that the database has."""

    stored = True

    def find(self, page: PageToReclean) -> bytes | SkipReason:
        return SkipReason.NO_HTML if page.html is None else decompress_html(page.html)


class ArchivedBodies:
    """Those of an archive, or another source of a replay."""

    stored = False

    def __init__(self, source: ReplaySource) -> None:
        self._source = source

    def find(self, page: PageToReclean) -> bytes | SkipReason:
        saved = self._source.find(page.url)
        if saved is ReplayMiss.ABSENT:
            return SkipReason.NOT_ARCHIVED
        if isinstance(saved, ReplayMiss):
            return SkipReason.DAMAGED
        return saved.body if xxh64_intdigest(saved.body) == page.body_hash else SkipReason.OTHER_BODY


_MAX_NAMED_PAGES = 1_000
_BLOCK_COUNTS = ("stored", "refreshed", "revived", "exact", "near", "template", "gone")


@dataclass(frozen=True, slots=True)
class SkippedPage:
    """A page that was not cleaned again, and why not: a word of `Skip`, or an error's own."""

    url: str
    reason: str


@dataclass(slots=True)
class RecleanResult:
    """What a run has done so far: pages by what became of them, their blocks, and the first pages left as they were.

    `failed` pages are those that cleaning could not do. Blocks are counted as `crawler.storage.store.SavedVisit`
    does. It is
    `complete` where no page is left. `processes` counts what the cleaning processes went through: those that died.
    """

    pages: int = 0
    changed: int = 0
    unchanged: int = 0
    failed: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    blocks: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_BLOCK_COUNTS, 0))
    named: list[SkippedPage] = field(default_factory=list)
    complete: bool = False
    processes: dict[str, int] = field(default_factory=dict)

    def count(self, saved: SavedVisit) -> None:
        """Count a page that was cleaned."""
        if saved.state is PageState.DEFERRED:
            self.skip(saved.url, SkipReason.OVERTAKEN)
            return
        self.pages += 1
        self.changed += saved.state is PageState.CHANGED
        self.unchanged += saved.state is PageState.UNCHANGED
        for name in _BLOCK_COUNTS:
            self.blocks[name] += getattr(saved, name)

    def skip(self, url: str, reason: SkipReason) -> None:
        """Count a page that is left as it is."""
        self.pages += 1
        self.skipped[reason.value] = self.skipped.get(reason.value, 0) + 1
        self._name(url, reason.value)

    def fail(self, url: str, error: str) -> None:
        """Count a page that cleaning could not do, and that is left as it is."""
        self.pages += 1
        self.failed += 1
        self._name(url, error)

    def inc_value(self, key: str) -> None:
        """Count one more event of the cleaning processes."""
        self.processes[key] = self.processes.get(key, 0) + 1

    def _name(self, url: str, reason: str) -> None:
        if len(self.named) < _MAX_NAMED_PAGES:
            self.named.append(SkippedPage(url, reason))


_PAGES_PER_TRANSACTION = 10  # pages: see crawler/storage/locks.py


@dataclass(frozen=True, slots=True)
class RecleanPlan:
    """What a run is to do: at most so many pages (None: all), in so many processes, each page within so many seconds.

    A `dry_run` stores nothing, and where it ends no other goes on. `options_hash` is of the way's options.
    """

    job: RecleanJob
    way: ProcessingOptions
    options_hash: int
    limit: int | None
    processes: int
    seconds: float
    dry_run: bool = False


def start_reclean(store: Store, orders: RecleanPlan, *, anew: bool) -> RecleanProgress | None:
    """Note that the job begins, unless an earlier run began it; return how far that has come, None for a new one."""
    if orders.dry_run:
        return None

    def begin(connection: Connection) -> RecleanProgress | None:
        earlier = None if anew else reclean.read_reclean_progress(connection, orders.job)
        if earlier is None:
            reclean.begin_reclean(connection, orders.job, datetime.now(UTC))
        return earlier

    return store.write(begin)


async def run_reclean(
    store: Store, bodies: PageBodies, orders: RecleanPlan, after_page: int, report: Callable[[int, int], None]
) -> RecleanResult:
    """Clean the pages after one again and return what came of it; `report` is told how many are done, of how many.

    Raises StoreError, and SetupError where the processes cannot be started.
    """
    task = reclean_task(orders.way, orders.seconds)
    result = RecleanResult()
    cleaners = await asyncio.to_thread(WorkerPool.start, orders.processes, task, result)
    try:
        await _RecleanRun(store, bodies, orders, cleaners, result).all(after_page, report)
        return result
    finally:
        cleaners.close()


@dataclass(frozen=True, slots=True)
class _PageInWork:
    """A page that is being cleaned, or why it is not."""

    page: PageToReclean
    cleaning: asyncio.Task[FingerprintedPage] | SkipReason


class _RecleanRun:
    """A run; what comes of it is counted in `result`."""

    def __init__(
        self,
        store: Store,
        bodies: PageBodies,
        orders: RecleanPlan,
        cleaners: WorkerPool[FingerprintedPage],
        result: RecleanResult,
    ) -> None:
        self._store = store
        self._bodies = bodies
        self._orders = orders
        self._cleaners = cleaners
        self._result = result

    async def all(self, after_page: int, report: Callable[[int, int], None]) -> None:
        total = self._count(after_page)
        ahead: deque[list[_PageInWork]] = deque()
        for pages in self._batches(after_page):
            ahead.append([self._begin(page) for page in pages])
            # Enough that no process waits while a batch is stored.
            if sum(map(len, ahead)) > 2 * self._orders.processes + _PAGES_PER_TRANSACTION:
                await self._finish(ahead.popleft())
                report(self._result.pages, total)
        while ahead:
            await self._finish(ahead.popleft())
            report(self._result.pages, total)

    def _count(self, after_page: int) -> int:
        with read_transaction(self._store.engine) as connection:
            count = reclean.count_pages_after(connection, self._orders.job, after_page)
        return count if self._orders.limit is None else min(count, self._orders.limit)

    def _batches(self, after_page: int) -> Iterator[Sequence[PageToReclean]]:
        """Give the pages in batches, each a transaction's; the result says so where there are no more."""
        given, last = 0, after_page
        while self._orders.limit is None or given < self._orders.limit:
            most = _PAGES_PER_TRANSACTION
            if self._orders.limit is not None:
                most = min(most, self._orders.limit - given)
            with read_transaction(self._store.engine) as connection:
                pages = reclean.read_pages_after(connection, self._orders.job, last, most, html=self._bodies.stored)
            if not pages:
                self._result.complete = True
                return
            yield pages
            given, last = given + len(pages), pages[-1].page_id

    def _begin(self, page: PageToReclean) -> _PageInWork:
        body = SkipReason.RETIRED if page.retired else self._bodies.find(page)
        if isinstance(body, SkipReason):
            return _PageInWork(page, body)
        order = page_to_reclean(body, page.url, page.encoding)
        return _PageInWork(page, asyncio.ensure_future(self._cleaners.clean(order)))

    async def _finish(self, batch: Sequence[_PageInWork]) -> None:
        redone = [found for one in batch if (found := await self._redone(one)) is not None]
        note: Callable[[Connection], None] = partial(
            reclean.advance_reclean, job=self._orders.job, after_page=batch[-1].page.page_id, pages=len(batch)
        )
        saving = partial(self._store.redo, redone, None if self._orders.dry_run else note)
        for saved in await asyncio.to_thread(saving):
            self._result.count(saved)

    async def _redone(self, one: _PageInWork) -> RecleanedPage | None:
        if isinstance(one.cleaning, SkipReason):
            self._result.skip(one.page.url, one.cleaning)
            return None
        try:
            marked = await one.cleaning
        except (WorkerError, PageError) as error:
            self._result.fail(one.page.url, str(error))
            return None
        way = self._orders.way
        return RecleanedPage(one.page, way.method, self._orders.options_hash, marked.candidates, marked.fingerprint)

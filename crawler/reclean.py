"""Clean stored pages again (`scrapy reclean`), without the network.

Pages are read in batches, cleaned in worker processes while earlier ones are stored, and stored in order.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from xxhash import xxh64_intdigest

from cleaning import PageError
from crawler.errors import WorkerError
from crawler.fetching.replay import ReplayMiss
from crawler.storage.database import read_transaction
from crawler.storage.pages import decompress_html
from crawler.storage.reclean import (
    RecleanedPage,
    advance_reclean,
    begin_reclean,
    count_pages_after,
    read_pages_after,
    read_reclean_progress,
)
from crawler.storage.store import PageState
from crawler.workers.pool import WorkerPool
from crawler.workers.worker import PageToClean, reclean_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sqlalchemy.engine import Connection

    from cleaning.page_fingerprint import Fingerprinter, PageFingerprint
    from crawler.fetching.replay import ReplaySource
    from crawler.storage.reclean import PageToReclean, RecleanJob, RecleanProgress
    from crawler.storage.store import SavedVisit, Store

_PAGES_PER_TRANSACTION = 10  # few enough for its locks: see crawler/storage/locks.py
_MAX_NAMED_PAGES = 1_000
_BLOCK_COUNTS = ("stored", "refreshed", "revived", "exact", "near", "boilerplate", "gone")


@dataclass(frozen=True, slots=True)
class RecleanPlan:
    """What a run does: which pages, how they are cleaned, and in how many processes.

    `limit` is the largest number of pages; None means all. Each page must be cleaned within `seconds`. `options_hash`
    is the hash of `options`. A `dry_run` stores nothing, and no later run continues it.
    """

    job: RecleanJob
    method: str
    options: Mapping[str, Any]
    fingerprinter: Fingerprinter
    options_hash: int
    limit: int | None
    processes: int
    seconds: float
    dry_run: bool = False


class SkipReason(StrEnum):
    """Why a page is skipped; a closed set. Skipped pages are counted under these words."""

    NO_HTML = "no_html"
    """It was stored with KEEP_HTML=false."""
    NOT_ARCHIVED = "not_archived"
    OTHER_BODY = "other_body"
    """The archive has its body of an earlier visit, or the body as fetched where the page was rendered."""
    DAMAGED = "damaged"
    """Its record in the archive cannot be read."""
    RETIRED = "retired"
    """It no longer exists on its site, and its blocks are gone."""
    OVERTAKEN = "overtaken"
    """A crawl stored it again while it was being cleaned."""


class PageBodies(Protocol):
    """Gives the bytes of pages as their last visit read them."""

    stored: bool
    """Whether the bytes are read from the database together with the page."""

    def find(self, page: PageToReclean) -> bytes | SkipReason:
        """Return a page's bytes, or why there are none."""


class StoredBodies:
    """The bodies that the database has."""

    stored = True

    def find(self, page: PageToReclean) -> bytes | SkipReason:
        return SkipReason.NO_HTML if page.html is None else decompress_html(page.html)


class ArchivedBodies:
    """The bodies in an archive, or in another source of a replay."""

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


@dataclass(frozen=True, slots=True)
class SkippedPage:
    """A page that was not cleaned again; `reason` is a SkipReason or the message of an error."""

    url: str
    reason: str


@dataclass(slots=True)
class RecleanResult:
    """What a run has done so far.

    `pages` counts all its pages: `changed`, `unchanged`, `failed` (cleaning failed) and `skipped` by reason. `blocks`
    has the counts of `crawler.storage.store.SavedVisit`. `named` lists the first failed and skipped pages. The run is
    `complete` once no page is left. `processes` counts workers that died.
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
        """Count a page that is skipped."""
        self.pages += 1
        self.skipped[reason.value] = self.skipped.get(reason.value, 0) + 1
        self._name(url, reason.value)

    def fail(self, url: str, error: str) -> None:
        """Count a page that could not be cleaned."""
        self.pages += 1
        self.failed += 1
        self._name(url, error)

    def inc_value(self, key: str) -> None:
        """Count an event of the worker processes."""
        self.processes[key] = self.processes.get(key, 0) + 1

    def _name(self, url: str, reason: str) -> None:
        if len(self.named) < _MAX_NAMED_PAGES:
            self.named.append(SkippedPage(url, reason))


def start_reclean(store: Store, plan: RecleanPlan, *, restart: bool) -> RecleanProgress | None:
    """Record the start of the job. Return the progress of an earlier run to continue; None for a new job."""
    if plan.dry_run:
        return None

    def begin(connection: Connection) -> RecleanProgress | None:
        earlier = None if restart else read_reclean_progress(connection, plan.job)
        if earlier is None:
            begin_reclean(connection, plan.job, datetime.now(UTC))
        return earlier

    return store.write(begin)


async def run_reclean(
    store: Store, bodies: PageBodies, plan: RecleanPlan, after_page: int, report: Callable[[int, int], None]
) -> RecleanResult:
    """Clean the pages with an id above `after_page` again; `report` gets the number of pages done and of all.

    Raises StoreError, and SetupError if the workers cannot be started.
    """
    task = reclean_task(plan.method, plan.options, plan.fingerprinter, plan.seconds)
    result = RecleanResult()
    pool = await asyncio.to_thread(WorkerPool.start, plan.processes, task, result)
    try:
        await RecleanRun(store, bodies, plan, pool, result).run(after_page, report)
        return result
    finally:
        pool.close()


@dataclass(frozen=True, slots=True)
class _PageInWork:
    """A page that is being cleaned, or the reason why it is skipped."""

    page: PageToReclean
    cleaning: asyncio.Task[PageFingerprint] | SkipReason


class RecleanRun:
    """One run over the stored pages with workers that are already started; it counts in `result`."""

    def __init__(
        self,
        store: Store,
        bodies: PageBodies,
        plan: RecleanPlan,
        pool: WorkerPool[PageFingerprint],
        result: RecleanResult,
    ) -> None:
        self._store = store
        self._bodies = bodies
        self._plan = plan
        self._pool = pool
        self._result = result

    async def run(self, after_page: int, report: Callable[[int, int], None]) -> None:
        total = self._count(after_page)
        batches: deque[list[_PageInWork]] = deque()
        for pages in self._read_batches(after_page):
            batches.append([self._begin(page) for page in pages])
            # Enough pages in work that no worker waits while a batch is stored.
            if sum(map(len, batches)) > 2 * self._plan.processes + _PAGES_PER_TRANSACTION:
                await self._finish(batches.popleft())
                report(self._result.pages, total)
        while batches:
            await self._finish(batches.popleft())
            report(self._result.pages, total)

    def _count(self, after_page: int) -> int:
        with read_transaction(self._store.engine) as connection:
            count = count_pages_after(connection, self._plan.job, after_page)
        return count if self._plan.limit is None else min(count, self._plan.limit)

    def _read_batches(self, after_page: int) -> Iterator[Sequence[PageToReclean]]:
        """Yield the pages in batches of one transaction each; after the last page the result is complete."""
        count, last = 0, after_page
        while self._plan.limit is None or count < self._plan.limit:
            size = _PAGES_PER_TRANSACTION
            if self._plan.limit is not None:
                size = min(size, self._plan.limit - count)
            with read_transaction(self._store.engine) as connection:
                pages = read_pages_after(connection, self._plan.job, last, size, html=self._bodies.stored)
            if not pages:
                self._result.complete = True
                return
            yield pages
            count, last = count + len(pages), pages[-1].page_id

    def _begin(self, page: PageToReclean) -> _PageInWork:
        body = SkipReason.RETIRED if page.retired else self._bodies.find(page)
        if isinstance(body, SkipReason):
            return _PageInWork(page, body)
        to_clean = PageToClean.from_stored(body, page.url, page.encoding)
        return _PageInWork(page, asyncio.ensure_future(self._pool.run(to_clean)))

    async def _finish(self, batch: Sequence[_PageInWork]) -> None:
        recleaned = [page for one in batch if (page := await self._recleaned(one)) is not None]
        record_progress: Callable[[Connection], None] = partial(
            advance_reclean, job=self._plan.job, after_page=batch[-1].page.page_id, pages=len(batch)
        )
        save = partial(self._store.save_recleaned, recleaned, None if self._plan.dry_run else record_progress)
        for saved in await asyncio.to_thread(save):
            self._result.count(saved)

    async def _recleaned(self, one: _PageInWork) -> RecleanedPage | None:
        if isinstance(one.cleaning, SkipReason):
            self._result.skip(one.page.url, one.cleaning)
            return None
        try:
            found = await one.cleaning
        except (WorkerError, PageError) as error:
            self._result.fail(one.page.url, str(error))
            return None
        return RecleanedPage(one.page, self._plan.method, self._plan.options_hash, found.blocks, found.fingerprint)

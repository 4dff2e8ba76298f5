"""Clean stored pages again: batches are read, cleaned in processes while others are stored, and stored in order."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from cleaning import PageError
from crawler.cleaners.supervise import Cleaners
from crawler.errors import CleanerError
from crawler.reclean.bodies import Skip
from crawler.reclean.result import Result
from crawler.reclean.work import order_for, reclean_task
from crawler.storage import redoing
from crawler.storage.engine import reading
from crawler.storage.redoing import Redone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy.engine import Connection

    from crawler.candidates import Marked
    from crawler.reclean.bodies import Bodies
    from crawler.reclean.work import Way
    from crawler.storage.redoing import Begun, Job, PageToRedo
    from crawler.storage.store import Store

_IN_ONE_TRANSACTION = 10  # pages: see crawler/storage/locks.py


@dataclass(frozen=True, slots=True)
class Orders:
    """What a run is to do: at most so many pages (None: all), in so many processes, each page within so many seconds.

    A `dry_run` stores nothing, and where it ends no other goes on. `options_hash` is of the way's options.
    """

    job: Job
    way: Way
    options_hash: int
    limit: int | None
    processes: int
    seconds: float
    dry_run: bool = False


def start(store: Store, orders: Orders, *, anew: bool) -> Begun | None:
    """Note that the job begins, unless an earlier run began it; return how far that has come, None for a new one."""
    if orders.dry_run:
        return None

    def begin(connection: Connection) -> Begun | None:
        earlier = None if anew else redoing.begun(connection, orders.job)
        if earlier is None:
            redoing.begin(connection, orders.job, datetime.now(UTC))
        return earlier

    return store.write(begin)


async def run(
    store: Store, bodies: Bodies, orders: Orders, after_page: int, report: Callable[[int, int], None]
) -> Result:
    """Clean the pages after one again and return what came of it; `report` is told how many are done, of how many.

    Raises StoreError, and SetupError where the processes cannot be started.
    """
    task = reclean_task(orders.way, orders.seconds)
    result = Result()
    cleaners = await asyncio.to_thread(Cleaners.start, orders.processes, task, result)
    try:
        await _Run(store, bodies, orders, cleaners, result).all(after_page, report)
        return result
    finally:
        cleaners.close()


@dataclass(frozen=True, slots=True)
class _InWork:
    """A page that is being cleaned, or why it is not."""

    page: PageToRedo
    cleaning: asyncio.Task[Marked] | Skip


class _Run:
    """A run; what comes of it is counted in `result`."""

    def __init__(
        self, store: Store, bodies: Bodies, orders: Orders, cleaners: Cleaners[Marked], result: Result
    ) -> None:
        self._store = store
        self._bodies = bodies
        self._orders = orders
        self._cleaners = cleaners
        self._result = result

    async def all(self, after_page: int, report: Callable[[int, int], None]) -> None:
        total = self._count(after_page)
        ahead: deque[list[_InWork]] = deque()
        for pages in self._batches(after_page):
            ahead.append([self._begin(page) for page in pages])
            # Enough that no process waits while a batch is stored.
            if sum(map(len, ahead)) > 2 * self._orders.processes + _IN_ONE_TRANSACTION:
                await self._finish(ahead.popleft())
                report(self._result.pages, total)
        while ahead:
            await self._finish(ahead.popleft())
            report(self._result.pages, total)

    def _count(self, after_page: int) -> int:
        with reading(self._store.engine) as connection:
            count = redoing.count(connection, self._orders.job, after_page)
        return count if self._orders.limit is None else min(count, self._orders.limit)

    def _batches(self, after_page: int) -> Iterator[Sequence[PageToRedo]]:
        """Give the pages in batches, each a transaction's; the result says so where there are no more."""
        given, last = 0, after_page
        while self._orders.limit is None or given < self._orders.limit:
            most = _IN_ONE_TRANSACTION
            if self._orders.limit is not None:
                most = min(most, self._orders.limit - given)
            with reading(self._store.engine) as connection:
                pages = redoing.pages_after(connection, self._orders.job, last, most, html=self._bodies.stored)
            if not pages:
                self._result.complete = True
                return
            yield pages
            given, last = given + len(pages), pages[-1].page_id

    def _begin(self, page: PageToRedo) -> _InWork:
        body = Skip.RETIRED if page.retired else self._bodies.find(page)
        if isinstance(body, Skip):
            return _InWork(page, body)
        order = order_for(body, page.url, page.encoding)
        return _InWork(page, asyncio.ensure_future(self._cleaners.clean(order)))

    async def _finish(self, batch: Sequence[_InWork]) -> None:
        redone = [found for one in batch if (found := await self._redone(one)) is not None]
        note: Callable[[Connection], None] = partial(
            redoing.advance, job=self._orders.job, after_page=batch[-1].page.page_id, pages=len(batch)
        )
        saving = partial(self._store.redo, redone, None if self._orders.dry_run else note)
        for saved in await asyncio.to_thread(saving):
            self._result.count(saved)

    async def _redone(self, one: _InWork) -> Redone | None:
        if isinstance(one.cleaning, Skip):
            self._result.skip(one.page.url, one.cleaning)
            return None
        try:
            marked = await one.cleaning
        except (CleanerError, PageError) as error:
            self._result.fail(one.page.url, str(error))
            return None
        way = self._orders.way
        return Redone(one.page, way.method, self._orders.options_hash, marked.candidates, marked.fingerprint)

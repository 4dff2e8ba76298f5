"""One process's client of the frontier in the database: it pushes new requests and ends, and leases requests."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import func, select

from crawler.errors import StoreError
from crawler.storage import pages, requests
from crawler.storage.crawls import mark_seeded
from crawler.storage.pages import is_repeatable, target_key
from crawler.storage.requests import LeaseOptions, lease_requests, queue_status
from crawler.storage.store import PageAbsence
from crawler.storage.tables import request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sqlalchemy.engine import Connection

    from crawler.processing import StoreThread
    from crawler.storage.pages import PageValidators, ReadPolicy
    from crawler.storage.requests import Ack, LeasedRequest, QueueStatus
    from crawler.visit import LeaseToken, RequestRecord


class RequestEnd(StrEnum):
    """Stored as the request's outcome, beside the outcomes of visits; counted as `frontier/<end>`."""

    REDIRECTED = "redirected"
    """What it led to is a request of its own, or was one already."""
    CALLBACK_MISSING = "callback_missing"
    """The spider has no method of the stored name any more."""
    UNREADABLE = "unreadable"
    """What is stored of it makes no request."""
    UNACKNOWLEDGED = "unacknowledged"
    """Nothing was heard of it although nothing was under way any more."""


_HORIZON_SECONDS = 2.0  # how far ahead of a host's next turn its requests are leased


@dataclass(frozen=True, slots=True)
class CrawlWorker:
    """One process at one crawl: under which name it leases, for how long, how often a request may be lost.

    `most_pause_seconds` is the longest time that a host may be left alone: what says more is an error of the clock.
    Without a `reader` all pages are fetched whole.
    """

    crawl_id: int
    lease_id: str
    lease_seconds: float
    most_attempts: int
    most_pause_seconds: float
    reader: ReadPolicy | None = None
    is_recrawl: bool = False


@dataclass(frozen=True, slots=True)
class FrontierUpdate:
    """What a process has to tell: requests it wants, ends of those it had, those it gives back, that all are seeded.

    `delays` are those of the hosts, in seconds, as they are now; to `renew` is to keep the leases that are held.
    """

    wanted: tuple[RequestRecord, ...] = ()
    endings: tuple[Ack, ...] = ()
    returned: tuple[LeaseToken, ...] = ()
    seeded: bool = False
    renew: bool = False
    delays: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LeaseBatch:
    """Leases taken, with the database's clock; `outlook` is given where there were fewer than asked for.

    `known` has, by the request's id, what is stored of pages that need not be read again where they have not changed.
    """

    now: datetime
    leased: tuple[LeasedRequest, ...]
    outlook: QueueStatus | None
    known: Mapping[int, PageValidators] = field(default_factory=dict)


def push_update(connection: Connection, worker: CrawlWorker, news: FrontierUpdate) -> int:
    """Store the news, all or nothing; return how many wanted requests a re-crawl does not make, as they are not due."""
    now = requests.database_now(connection)
    if news.endings:
        requests.acknowledge_requests(connection, news.endings, now)
    requests.release_leases(connection, news.returned)
    if news.renew:
        until = now + timedelta(seconds=worker.lease_seconds)
        requests.renew_lease(connection, worker.crawl_id, worker.lease_id, until)
    spared = pages.keys_not_due(connection, news.wanted, now) if worker.is_recrawl else frozenset()
    added = requests.add_due_requests(connection, worker.crawl_id, news.wanted, spared, now)
    if news.seeded:
        mark_seeded(connection, worker.crawl_id, now)
    if news.delays:
        requests.set_host_delays(connection, news.delays)
    return len(added.spared)


def lease_batch(
    connection: Connection, worker: CrawlWorker, room: int, after_host: str, *, expire: bool = True
) -> LeaseBatch:
    """Lease up to so many requests, of the hosts that come after one before those that come before it.

    With `expire` requests are handed on first whose leases have expired.
    """
    now = requests.database_now(connection)
    terms = LeaseOptions(
        lease_id=worker.lease_id,
        now=now,
        until=now + timedelta(seconds=worker.lease_seconds),
        horizon_seconds=_HORIZON_SECONDS,
        limit=room,
        after_host=after_host,
        most_attempts=worker.most_attempts,
        most_pause_seconds=worker.most_pause_seconds,
        expire=expire,
    )
    leased = lease_requests(connection, worker.crawl_id, terms)
    short = len(leased) < room
    seen = (worker.crawl_id, now, worker.lease_id, worker.most_pause_seconds)
    ahead = queue_status(connection, *seen) if short else None
    known = pages.find_validators(connection, worker.reader, leased) if worker.reader else {}
    return LeaseBatch(now, tuple(leased), ahead, known)


def count_queued(connection: Connection, crawl_id: int) -> int:
    """Return how many requests of a crawl are queued; it takes the longer the more there are."""
    statement = select(func.count()).select_from(request).where(*requests.is_queued(crawl_id))
    return connection.execute(statement).scalar_one()


Result = TypeVar("Result")

_MIN_POLL_SECONDS, _MAX_POLL_SECONDS = 0.2, 5.0
_RENEWALS_PER_LEASE = 3  # of a lease before it would expire
_EXPIRY_SECONDS = 1.0  # from one look for expired leases to the next
_COUNT_SECONDS = 5.0  # from one count of what is queued to the next
_COUNT_SHARE = 0.02  # of the time, at most


class LeaseClient:
    """Keeps the leases that have not ended (`held`, by the request's id) and exchanges with the database.

    `arrived` is called in the crawl's own thread after each exchange that asked for leases; `delays` tells those of the
    hosts, in seconds; `counted` is told every few seconds, and at the end, how many requests are queued. `outlook` is
    what the last exchange saw: None until one was given fewer than it asked for. `spared` counts requests that a
    re-crawl does not make, as they are not due.
    """

    def __init__(
        self,
        writer: StoreThread,
        worker: CrawlWorker,
        arrived: Callable[[LeaseBatch], None],
        delays: Callable[[], Mapping[str, float]],
        counted: Callable[[int], None],
    ) -> None:
        self.held: dict[int, LeasedRequest] = {}
        self.outlook: QueueStatus | None = None
        self.spared = 0
        self._writer = writer
        self._worker = worker
        self._arrived = arrived
        self._delays = delays
        self._told_delays: Mapping[str, float] = {}
        self._counted = counted
        self._wanted: list[RequestRecord] = []
        self._endings: list[Ack] = []
        self._moved: list[PageAbsence] = []
        self._returned: list[LeaseToken] = []
        self._seeded = False
        self._unasked = True  # there may be requests that nobody has
        self._running: asyncio.Future[None] | None = None
        self._poll_at = self._rests_until = self._count_at = self._expire_at = 0.0
        self._renew_at = monotonic() + worker.lease_seconds / _RENEWALS_PER_LEASE
        self._after_host = ""

    @property
    def is_settled(self) -> bool:
        """Whether all is told, no lease is held, and none was there to be had when the database was last asked."""
        return not (self._untold or self._unasked or self._running or self.held)

    @property
    def unsent(self) -> int:
        """How many new requests have not been brought to the database yet."""
        return len(self._wanted)

    def rests(self, seconds: float) -> bool:
        """Tell whether all that is left is put off for longer than this, and no other process has any of it."""
        seen = self.outlook
        return seen is not None and seen.queued > 0 and not seen.leased and self._rests_until > monotonic() + seconds

    def want(self, wanted: RequestRecord) -> None:
        """Note a request that is to be made."""
        self._wanted.append(wanted)
        self._unasked = True

    def end(self, ending: Ack) -> None:
        """Note how a held request ends, unless that was noted before."""
        leased = self.held.pop(ending.lease_token.request_id, None)
        if leased is not None:
            self._endings.append(ending)
            self._unasked = True
            if ending.outcome == RequestEnd.REDIRECTED and is_repeatable(leased.record):
                self._moved.append(PageAbsence(target_key(leased.record), leased.record.url, datetime.now(UTC)))

    def give_back(self, request_id: int) -> None:
        """Note that a held request is to be leased again some other time."""
        leased = self.held.pop(request_id, None)
        if leased is not None:
            self._returned.append(leased.lease_token)
            self._unasked = True

    def ended(self, lease_tokens: Iterable[LeaseToken]) -> None:
        """Forget leases that were acknowledged in the transaction of their visit, which may have brought requests."""
        for lease_token in lease_tokens:
            self.held.pop(lease_token.request_id, None)
        self._unasked = True

    def seed(self) -> None:
        """Note that the last start request was noted."""
        self._seeded = True

    def stir(self, room: int) -> None:
        """Exchange, where there is reason to and it is not being done; up to so many leases are asked for."""
        now = monotonic()
        asks = room > 0 and (self._unasked or now >= self._poll_at)
        due = self._untold or asks or now >= min(self._renew_at, self._count_at)
        if due and self._running is None and not self._writer.failed:
            self._running = asyncio.ensure_future(self._exchange(room if asks else 0))

    async def wait(self) -> None:
        """Wait for the exchange that is under way."""
        if self._running is not None:
            await asyncio.wait([self._running])

    async def close(self) -> None:
        """Tell what is left, and give back the leases that have not ended."""
        await self.wait()
        for request_id in list(self.held):
            self.give_back(request_id)
        self._count_at = 0.0
        self.stir(0)
        await self.wait()

    @property
    def _untold(self) -> bool:
        return bool(self._wanted or self._endings or self._returned or self._seeded)

    async def _exchange(self, room: int) -> None:
        try:
            await self._tell()
            await self._miss()
            taken = await self._take(room) if room else None
            await self._count()
        except StoreError as error:
            self._writer.fail(error)
            return
        finally:
            self._running = None
        if taken is not None:
            self._arrived(taken)

    async def _tell(self) -> None:
        now = monotonic()
        renew = now >= self._renew_at
        if not (self._untold or renew):
            return
        if renew:
            self._renew_at = now + self._worker.lease_seconds / _RENEWALS_PER_LEASE
        delays = self._delays()
        news = FrontierUpdate(
            wanted=tuple(self._wanted),
            endings=tuple(self._endings),
            returned=tuple(self._returned),
            seeded=self._seeded,
            renew=renew,
            delays=dict(delays.items() - self._told_delays.items()),
        )
        self._told_delays = delays
        self._wanted, self._endings, self._returned, self._seeded = [], [], [], False
        self.spared += await self._write(lambda connection: push_update(connection, self._worker, news))
        # What was noted while leases were being taken could not be among them.
        self._unasked = self._unasked or bool(news.wanted or news.endings or news.returned)

    async def _miss(self) -> None:
        moved, self._moved = self._moved, []
        if moved:
            await self._writer.run(partial(self._writer.store.miss, moved))

    async def _count(self) -> None:
        began = monotonic()
        if began < self._count_at:
            return
        self._counted(await self._write(lambda connection: count_queued(connection, self._worker.crawl_id)))
        ended = monotonic()
        self._count_at = ended + max(_COUNT_SECONDS, (ended - began) / _COUNT_SHARE)

    async def _take(self, room: int) -> LeaseBatch:
        self._unasked = False
        now = monotonic()
        expire = now >= self._expire_at
        if expire:
            self._expire_at = now + _EXPIRY_SECONDS
        taken = await self._write(
            lambda connection: lease_batch(connection, self._worker, room, self._after_host, expire=expire)
        )
        # What expired because this process was slow to renew it, and came back to it, is under way here already.
        new = tuple(leased for leased in taken.leased if leased.lease_token.request_id not in self.held)
        for leased in taken.leased:
            self.held[leased.lease_token.request_id] = leased
            self._after_host = leased.record.host
        self._look_ahead(taken)
        return replace(taken, leased=new)

    def _look_ahead(self, taken: LeaseBatch) -> None:
        self.outlook = taken.outlook
        self._unasked = self._unasked or taken.outlook is None
        pause = _MAX_POLL_SECONDS
        if taken.outlook is not None and taken.outlook.ready_at is not None:
            pause = (taken.outlook.ready_at - taken.now).total_seconds()
            self._rests_until = monotonic() + pause
        self._poll_at = monotonic() + min(max(pause, _MIN_POLL_SECONDS), _MAX_POLL_SECONDS)

    async def _write(self, work: Callable[[Connection], Result]) -> Result:
        return await self._writer.run(partial(self._writer.store.write, work))

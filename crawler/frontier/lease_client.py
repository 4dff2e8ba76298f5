"""One process's client of the frontier in the database: it pushes new requests and ends, and leases requests.

`LeaseClient` collects changes for the database and syncs with it every few seconds, in the store thread. One sync
is `_push_update` and then, if the process has capacity, `_lease_batch`.
"""

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
from crawler.storage import requests
from crawler.storage.crawls import mark_active, mark_seeded
from crawler.storage.database import check_damage
from crawler.storage.pages import PageAbsence, find_validators, is_repeatable, keys_not_due, mark_known, target_key
from crawler.storage.requests import LeaseOptions, lease_requests, queue_status
from crawler.storage.tables import request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sqlalchemy.engine import Connection

    from crawler.processing import StoreThread
    from crawler.schedule import RevisitBounds
    from crawler.storage.pages import PageValidators, ReadPolicy
    from crawler.storage.requests import Ack, LeasedRequest, QueueStatus
    from crawler.visit import LeaseToken, RequestRecord

_WriteResultT = TypeVar("_WriteResultT")

# Requests are leased up to this long before their host may be asked.
_HORIZON_SECONDS = 2.0
_MIN_POLL_SECONDS, _MAX_POLL_SECONDS = 0.2, 5.0
_RENEWALS_PER_LEASE = 3
# The time between two checks for expired leases.
_EXPIRY_SECONDS = 1.0
# The time between two counts of the queued requests. Counting takes at most this share of the time.
_COUNT_SECONDS = 5.0
# Requests that are due for this long and cannot be leased are a sign of damage.
_STALLED_SECONDS = 5.0
_COUNT_SHARE = 0.02


class RequestEnd(StrEnum):
    """How a request ended without a visit; stored as its outcome and counted as `frontier/<end>`."""

    REDIRECTED = "redirected"
    """The target of the redirect is a request of its own."""
    CALLBACK_MISSING = "callback_missing"
    """The spider no longer has the stored callback or errback."""
    UNREADABLE = "unreadable"
    """The stored values do not make a request."""
    REFUSED = "refused"
    """The request was not made, because its host has refused others for too long."""
    ROBOTS_UNAVAILABLE = "robots_unavailable"
    """The request was not made, because the robots.txt of its host has failed for too long."""
    UNACKNOWLEDGED = requests.UNACKNOWLEDGED
    """No end was reported, although nothing was in progress any more."""


@dataclass(frozen=True, slots=True)
class CrawlWorker:
    """One process that works on a crawl: its lease id, the length of a lease, and how often a request is tried.

    `max_pause_seconds` is the longest pause of a host; a longer one in the database is a clock error. `revisits` bounds
    the time between two visits to a page. Without a `reader` all pages are fetched unconditionally.
    """

    crawl_id: int
    lease_id: str
    lease_seconds: float
    max_attempts: int
    max_pause_seconds: float
    revisits: RevisitBounds
    reader: ReadPolicy | None = None
    is_recrawl: bool = False


@dataclass(frozen=True, slots=True)
class FrontierUpdate:
    """The content of one sync: new requests, acknowledgements, leases to release, and whether seeding has finished.

    With `renew` the held leases are renewed. `delays` are the delays of hosts that changed, in seconds.
    """

    new: tuple[RequestRecord, ...] = ()
    acks: tuple[Ack, ...] = ()
    released: tuple[LeaseToken, ...] = ()
    seeded: bool = False
    renew: bool = False
    delays: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LeaseBatch:
    """The leases from one sync and the database's time; `queue_status` is set if they are fewer than the capacity.

    `validators` has, by request id, the validators of stored pages that need not be read again if they are unchanged.
    """

    now: datetime
    leased: tuple[LeasedRequest, ...]
    queue_status: QueueStatus | None
    validators: Mapping[int, PageValidators] = field(default_factory=dict)


def _push_update(connection: Connection, worker: CrawlWorker, update: FrontierUpdate) -> int:
    """Store an update; return how many new requests a re-crawl skips because their pages are not due."""
    now = requests.database_now(connection)
    if update.acks:
        requests.acknowledge_requests(connection, update.acks, now)
    requests.release_leases(connection, update.released)
    if update.renew:
        until = now + timedelta(seconds=worker.lease_seconds)
        requests.renew_lease(connection, worker.crawl_id, worker.lease_id, until)
        mark_active(connection, worker.crawl_id, until)
    not_due = _keys_not_due(connection, worker, update, now)
    added = requests.add_due_requests(connection, worker.crawl_id, update.new, not_due, now)
    if update.seeded:
        mark_seeded(connection, worker.crawl_id, now)
    if update.delays:
        requests.set_host_delays(connection, update.delays)
    return len(added.not_due)


def _keys_not_due(connection: Connection, worker: CrawlWorker, update: FrontierUpdate, now: datetime) -> frozenset[str]:
    if not worker.is_recrawl:
        return frozenset()
    return keys_not_due(connection, update.new, now, worker.revisits)


def _lease_batch(
    connection: Connection, worker: CrawlWorker, capacity: int, after_host: str, *, expire: bool = True
) -> LeaseBatch:
    """Lease up to `capacity` requests, starting with the hosts that follow `after_host`.

    With `expire`, requests whose leases have expired are put back into the queue first.
    """
    now = requests.database_now(connection)
    options = LeaseOptions(
        lease_id=worker.lease_id,
        now=now,
        until=now + timedelta(seconds=worker.lease_seconds),
        horizon_seconds=_HORIZON_SECONDS,
        limit=capacity,
        after_host=after_host,
        max_attempts=worker.max_attempts,
        max_pause_seconds=worker.max_pause_seconds,
        expire=expire,
    )
    leased = mark_known(connection, lease_requests(connection, worker.crawl_id, options))
    status = None
    if len(leased) < capacity:
        status = queue_status(connection, worker.crawl_id, now, worker.lease_id, worker.max_pause_seconds)
    validators = find_validators(connection, worker.reader, leased) if worker.reader else {}
    return LeaseBatch(now, tuple(leased), status, validators)


def _count_queued(connection: Connection, crawl_id: int) -> int:
    """Return the number of queued requests of a crawl; the time this takes grows with the number."""
    statement = select(func.count()).select_from(request).where(*requests.is_queued(crawl_id))
    return connection.execute(statement).scalar_one()


class LeaseClient:
    """Holds the leases of this process (`leases`, by request id) and syncs with the database.

    `on_leased` is called in the crawl's own thread as soon as a sync has leased requests. `host_delays` returns the
    current delays of hosts, in seconds; `pushed_delays` are the last ones that were stored. `on_counted` is called
    every few seconds, and at the end, with the number of queued requests. `queue_status` is that of the last sync; it
    is None until a sync finds fewer requests than the capacity. `skipped_not_due` counts the requests that a re-crawl
    skips because their pages are not due.
    """

    def __init__(
        self,
        store_thread: StoreThread,
        worker: CrawlWorker,
        on_leased: Callable[[LeaseBatch], None],
        host_delays: Callable[[], Mapping[str, float]],
        on_counted: Callable[[int], None],
    ) -> None:
        self.leases: dict[int, LeasedRequest] = {}
        self.queue_status: QueueStatus | None = None
        self.skipped_not_due = 0
        self._store_thread = store_thread
        self._worker = worker
        self._on_leased = on_leased
        self._host_delays = host_delays
        self.pushed_delays: Mapping[str, float] = {}
        self._on_counted = on_counted
        self._new: list[RequestRecord] = []
        self._acks: list[Ack] = []
        self._absences: list[PageAbsence] = []
        self._released: list[LeaseToken] = []
        self._seeded = False
        # True if the database may have requests that no process has leased.
        self._may_have_more = True
        self._running: asyncio.Future[None] | None = None
        self._poll_at = self._ready_at = self._count_at = self._expire_at = 0.0
        self._renew_at = monotonic() + worker.lease_seconds / _RENEWALS_PER_LEASE
        self._after_host = ""
        self._stalled_at: float | None = None

    @property
    def is_settled(self) -> bool:
        """True if everything is pushed, no lease is held, and the last sync found nothing to lease."""
        return not (self._has_updates or self._may_have_more or self._running or self.leases)

    @property
    def unpushed(self) -> int:
        """The number of new requests that are not in the database yet."""
        return len(self._new)

    def is_deferred(self, seconds: float) -> bool:
        """Return True if no queued request may be made within this time, and no other process holds a lease."""
        status = self.queue_status
        return status is not None and status.queued > 0 and not status.leased and self._ready_at > monotonic() + seconds

    def push(self, record: RequestRecord) -> None:
        """Add a new request to the next sync."""
        self._new.append(record)
        self._may_have_more = True

    def acknowledge(self, ack: Ack, moved_to: str | None = None) -> None:
        """Add the end of a leased request to the next sync, unless it has ended before.

        `moved_to` is the target of a permanent redirect from its own URL.
        """
        leased = self.leases.pop(ack.lease_token.request_id, None)
        if leased is not None:
            self._acks.append(ack)
            self._may_have_more = True
            if ack.outcome == RequestEnd.REDIRECTED and is_repeatable(leased.record):
                key = target_key(leased.record)
                now = datetime.now(UTC)
                self._absences.append(PageAbsence(key, leased.record.url, now, moved_to))

    def release(self, request_id: int) -> None:
        """Return a leased request to the queue at the next sync, as if it had not been leased."""
        leased = self.leases.pop(request_id, None)
        if leased is not None:
            self._released.append(leased.lease_token)
            self._may_have_more = True

    def forget(self, lease_tokens: Iterable[LeaseToken]) -> None:
        """Drop leases that were acknowledged in the transaction of their visit, which may have added requests."""
        for lease_token in lease_tokens:
            self.leases.pop(lease_token.request_id, None)
        self._may_have_more = True

    async def mark_sent(self, leased: LeasedRequest) -> None:
        """Record in the database that a request is sent now. Raises StoreError."""
        await self._write(lambda connection: requests.mark_sent(connection, leased.lease_token))

    def end_seeding(self) -> None:
        """Record at the next sync that all start requests are stored."""
        self._seeded = True

    def sync(self, capacity: int) -> None:
        """Start a sync if one is needed and none is running; lease up to `capacity` requests."""
        now = monotonic()
        wants_leases = capacity > 0 and (self._may_have_more or now >= self._poll_at)
        needed = self._has_updates or wants_leases or now >= min(self._renew_at, self._count_at)
        if needed and self._running is None and not self._store_thread.failed:
            self._running = asyncio.ensure_future(self._sync(capacity if wants_leases else 0))

    async def wait(self) -> None:
        """Wait for the running sync to end."""
        if self._running is not None:
            await asyncio.wait([self._running])

    async def close(self) -> None:
        """Push the remaining updates and release the leases that have not ended."""
        await self.wait()
        for request_id in list(self.leases):
            self.release(request_id)
        self._count_at = 0.0
        self.sync(0)
        await self.wait()

    @property
    def _has_updates(self) -> bool:
        return bool(self._new or self._acks or self._released or self._seeded)

    async def _sync(self, capacity: int) -> None:
        try:
            await self._push()
            await self._record_absences()
            if capacity:
                # At once: a lease without a request in progress counts as lost after some seconds.
                self._on_leased(await self._lease(capacity))
            await self._count()
        except StoreError as error:
            self._store_thread.fail(error)
        finally:
            self._running = None

    async def _push(self) -> None:
        now = monotonic()
        renew = now >= self._renew_at
        if not (self._has_updates or renew):
            return
        if renew:
            self._renew_at = now + self._worker.lease_seconds / _RENEWALS_PER_LEASE
        delays = self._host_delays()
        update = FrontierUpdate(
            new=tuple(self._new),
            acks=tuple(self._acks),
            released=tuple(self._released),
            seeded=self._seeded,
            renew=renew,
            delays=dict(delays.items() - self.pushed_delays.items()),
        )
        self.pushed_delays = delays
        self._new, self._acks, self._released, self._seeded = [], [], [], False
        self.skipped_not_due += await self._write(lambda connection: _push_update(connection, self._worker, update))
        # The lease of an earlier sync could not include these requests.
        self._may_have_more = self._may_have_more or bool(update.new or update.acks or update.released)

    async def _record_absences(self) -> None:
        absences, self._absences = self._absences, []
        if absences:
            await self._store_thread.record_absences(absences)

    async def _count(self) -> None:
        began = monotonic()
        if began < self._count_at:
            return
        self._on_counted(await self._write(lambda connection: _count_queued(connection, self._worker.crawl_id)))
        ended = monotonic()
        self._count_at = ended + max(_COUNT_SECONDS, (ended - began) / _COUNT_SHARE)

    async def _lease(self, capacity: int) -> LeaseBatch:
        self._may_have_more = False
        now = monotonic()
        expire = now >= self._expire_at
        if expire:
            self._expire_at = now + _EXPIRY_SECONDS
        batch = await self._write(
            lambda connection: _lease_batch(connection, self._worker, capacity, self._after_host, expire=expire)
        )
        # A lease that this process renewed too late may come back to it: that request is in progress here already.
        new = tuple(leased for leased in batch.leased if leased.lease_token.request_id not in self.leases)
        for leased in batch.leased:
            self.leases[leased.lease_token.request_id] = leased
            self._after_host = leased.record.host
        self._plan_next_poll(batch)
        await self._check_progress(batch)
        return replace(batch, leased=new)

    async def _check_progress(self, batch: LeaseBatch) -> None:
        """Raise StoreError if requests are due and cannot be leased, because the database is damaged."""
        status, now = batch.queue_status, monotonic()
        due = status is not None and status.ready_at is not None and status.ready_at <= batch.now
        if batch.leased or not due:
            self._stalled_at = None
        elif self._stalled_at is None:
            self._stalled_at = now
        elif now - self._stalled_at > _STALLED_SECONDS:
            self._stalled_at = None
            await self._store_thread.run(partial(check_damage, self._store_thread.store.engine))

    def _plan_next_poll(self, batch: LeaseBatch) -> None:
        status = self.queue_status = batch.queue_status
        self._may_have_more = self._may_have_more or status is None
        pause = _MAX_POLL_SECONDS
        if status is not None and status.ready_at is not None:
            pause = (status.ready_at - batch.now).total_seconds()
            self._ready_at = monotonic() + pause
        self._poll_at = monotonic() + min(max(pause, _MIN_POLL_SECONDS), _MAX_POLL_SECONDS)

    async def _write(self, work: Callable[[Connection], _WriteResultT]) -> _WriteResultT:
        return await self._store_thread.run(partial(self._store_thread.store.write, work))

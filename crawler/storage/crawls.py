"""Crawls: begun, joined, ended; the state of their queues, and retries of failed requests.

A crawl that is open is joined; after one that has finished, a new one begins. The caller owns the transaction.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, delete, func, insert, literal_column, null, or_, select, update
from xxhash import xxh64_intdigest

from crawler.config.arguments import RECRAWL
from crawler.redact import redact_arguments
from crawler.schedule import RevisitBounds
from crawler.storage.locks import LOCK_KEYS, lock
from crawler.storage.requests import RequestState, database_now, is_given_up, is_leased, is_queued
from crawler.storage.tables import batched, crawl, host, page, request, section
from crawler.visit import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Table
    from sqlalchemy.engine import Connection, Row


_REPLACED = "replaced"
_KILLED = "killed"
QUEUELESS_PROMISE_SECONDS = 3_600
"""How long a crawl without a queue counts as running after its last sign of life."""

_ERROR = "store/error"  # the one total that is a text
_PAGE_OUTCOMES = (Outcome.PAGE.value, Outcome.NOT_MODIFIED.value)


_UNSET = dict.fromkeys(("not_before", "outcome", "error", "ended"))
"""The columns of a request that is queued again as a new one."""


class CrawlState(StrEnum):
    """Whether a crawl still has requests to make."""

    OPEN = "open"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class CrawlPolicy:
    """How a crawl treats requests, hosts and known pages.

    A request is attempted `max_attempts` times. A host that refuses is paused for `pause_seconds`, and longer each
    time up to `max_pause_seconds`. `revisits` bounds the time between two visits to a page. `options_hash` is the hash
    of the cleaning options. Pages are read by `settings`; `command_settings` come from the command line, if there is
    one. A re-crawl (`is_recrawl`) does not follow links to pages that have a next visit of their own. A replay
    (`is_replay`) would get the same answers again: it schedules no visits.
    """

    max_attempts: int = 3
    pause_seconds: float = 60.0
    max_pause_seconds: float = 21_600.0
    revisits: RevisitBounds = RevisitBounds()  # noqa: RUF009 — frozen
    is_replay: bool = False
    options_hash: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    command_settings: Mapping[str, str] | None = None
    is_recrawl: bool = False


@dataclass(frozen=True, slots=True)
class JoinedCrawl:
    """The crawl that a worker takes part in.

    `seeded` is True if all its start requests are stored, `resumed` if the crawl was open already.
    """

    crawl_id: int
    seeded: bool
    resumed: bool


def join_crawl(
    connection: Connection,
    spider: str,
    arguments: Mapping[str, Any],
    *,
    fresh: bool,
    settings: Mapping[str, str] | None = None,
) -> JoinedCrawl:
    """Return the open crawl of a spider with the same arguments (without secrets), or a new one.

    `fresh` ends an open crawl, with the reason `replaced`, and begins a new one. A new crawl deletes the requests of
    all earlier ones with the same spider and arguments, failed ones too; but those that met a wall, here or in the
    re-crawls of these arguments, it makes again. `settings` are the settings of the command
    line, for `scrapy retry`; None keeps the stored ones. Call it first in its transaction: workers that start together
    then join one crawl.
    """
    lock(connection, [_spider_lock_key(spider)])
    _end_killed_crawls(connection)
    public = json.loads(json.dumps(redact_arguments(arguments)))  # as the database returns it
    earlier = _same_crawls(connection, spider, public)
    running = [row for row in earlier if row.state == CrawlState.OPEN]
    if running and not fresh:
        reopened = {"finished": None, "reason": None} | _settings_columns(settings)
        connection.execute(update(crawl).where(crawl.c.id == running[0].id).values(reopened))
        return JoinedCrawl(running[0].id, seeded=running[0].seeded is not None, resumed=True)
    now = database_now(connection)
    _replace_crawls(connection, [row.id for row in running], now)
    crawl_id = _insert_crawl(connection, spider, public, now, _settings_columns(settings))
    _carry_walled(connection, spider, public, crawl_id)
    connection.execute(delete(request).where(request.c.crawl_id.in_([row.id for row in earlier])))
    return JoinedCrawl(crawl_id, seeded=False, resumed=False)


def _settings_columns(settings: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the columns to store; secrets are redacted."""
    return {} if settings is None else {"settings": redact_arguments(settings)}


def _spider_lock_key(spider: str) -> int:
    """Return the lock key of a spider: its crawls begin, and are opened again, in turns."""
    return 2 * LOCK_KEYS + xxh64_intdigest(spider.encode()) % LOCK_KEYS


def mark_seeded(connection: Connection, crawl_id: int, now: datetime) -> None:
    """Record that all start requests of a crawl are stored: later workers do not ask the spider for them."""
    connection.execute(update(crawl).where(crawl.c.id == crawl_id, crawl.c.seeded.is_(None)).values(seeded=now))


def find_open_crawl(connection: Connection, spider: str, arguments: Mapping[str, Any]) -> int | None:
    """Return the id of the open crawl that a crawl of a spider with these arguments would join; None without one."""
    public = json.loads(json.dumps(redact_arguments(arguments)))  # as the database returns it
    running = [row.id for row in _same_crawls(connection, spider, public) if row.state == CrawlState.OPEN]
    return running[0] if running else None


def mark_active(connection: Connection, crawl_id: int, until: datetime) -> None:
    """Record that a process works at a crawl, at least until then."""
    connection.execute(update(crawl).where(crawl.c.id == crawl_id).values(active_until=until))


def is_active(connection: Connection, crawl_id: int, now: datetime) -> bool:
    """Return True if a process has promised to work at a crawl now; a process that was killed since counts too."""
    until = connection.scalar(select(crawl.c.active_until).where(crawl.c.id == crawl_id))
    return until is not None and until > now


def begin_crawl(connection: Connection, spider: str, arguments: Mapping[str, Any]) -> int:
    """Begin a crawl without a queue, whether others are open or not, and return its id.

    Secrets in its arguments are redacted. `promise_work` says that it still runs.
    """
    _end_killed_crawls(connection)
    crawl_id = _insert_crawl(connection, spider, redact_arguments(arguments), database_now(connection))
    promise_work(connection, crawl_id)
    return crawl_id


def promise_work(connection: Connection, crawl_id: int) -> None:
    """Record that a crawl without a queue runs for the next QUEUELESS_PROMISE_SECONDS."""
    mark_active(connection, crawl_id, database_now(connection) + timedelta(seconds=QUEUELESS_PROMISE_SECONDS))


def _end_killed_crawls(connection: Connection) -> None:
    """End the crawls that cannot be continued; a crawl that still runs corrects this at its end."""
    now = database_now(connection)
    values = {"state": CrawlState.FINISHED.value, "finished": now, "reason": _KILLED, "active_until": None}
    connection.execute(update(crawl).where(_is_killed(now)).values(values))


def _is_killed(now: datetime) -> ColumnElement[bool]:
    """Return the condition of open crawls that have no requests to continue with and no process."""
    earliest = now - timedelta(seconds=QUEUELESS_PROMISE_SECONDS)
    return and_(
        crawl.c.state == CrawlState.OPEN.value,
        crawl.c.seeded.is_(None),
        func.coalesce(crawl.c.active_until < now, crawl.c.started < earliest),
        ~select(request.c.id).where(request.c.crawl_id == crawl.c.id).exists(),
    )


@dataclass(frozen=True, slots=True)
class CrawlEnd:
    """What all processes of a crawl have come to: whether they found a page, and the URLs that they gave up."""

    has_pages: bool
    given_up: tuple[str, ...]


def end_crawl(
    connection: Connection, crawl_id: int, reason: str, totals: Mapping[str, Any], *, finished: bool
) -> CrawlEnd:
    """Record that a process leaves a crawl; its totals are added to the totals of the other processes.

    `finished` says that the process found nothing left to do; the crawl still stays open if requests are queued or
    leased. An earlier process's database error is forgotten once the crawl has finished.
    """
    before = connection.scalar(select(crawl.c.totals).where(crawl.c.id == crawl_id).with_for_update()) or {}
    added = {name: _sum(before.get(name), value) for name, value in totals.items()}
    # Another process that works at it renews its promise soon.
    values = {"reason": reason, "finished": database_now(connection), "active_until": None}
    if finished and not _has_open_requests(connection, crawl_id):
        values["state"] = CrawlState.FINISHED.value
        before = {name: value for name, value in before.items() if name != _ERROR}
    values["totals"] = {**before, **added}
    connection.execute(update(crawl).where(crawl.c.id == crawl_id).values(values))
    page_requests = (
        select(request.c.id).where(request.c.crawl_id == crawl_id, request.c.outcome.in_(_PAGE_OUTCOMES)).limit(1)
    )
    given_up = select(request.c.url).where(*is_given_up(crawl_id)).order_by(request.c.id)
    return CrawlEnd(connection.scalar(page_requests) is not None, tuple(connection.scalars(given_up)))


def _has_open_requests(connection: Connection, crawl_id: int) -> bool:
    states = is_queued(crawl_id), is_leased(crawl_id)
    return any(connection.scalar(select(request.c.id).where(*conditions).limit(1)) is not None for conditions in states)


def _sum(before: Any, value: Any) -> Any:
    return before + value if isinstance(before, int) and isinstance(value, int) else value


def _same_crawls(connection: Connection, spider: str, arguments: Mapping[str, Any]) -> list[Row[Any, Any, Any, Any]]:
    """Return the crawls of a spider with these arguments, newest first."""
    columns = (crawl.c.id, crawl.c.state, crawl.c.seeded, crawl.c.arguments)
    rows = connection.execute(select(*columns).where(crawl.c.spider == spider).order_by(crawl.c.id.desc()))
    # Compared in Python: PostgreSQL's `json` has no equality, and SQLite compares JSON as text.
    return [row for row in rows if row.arguments == arguments]


def _carry_walled(connection: Connection, spider: str, arguments: Mapping[str, Any], to_crawl: int) -> None:
    """Queue in a new crawl what a wall hid from the crawls and re-crawls of these arguments that have ended."""

    def own(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if name != RECRAWL}

    # The state as a literal, so that the index of failed requests serves.
    is_hidden = request.c.state == literal_column("'failed'"), request.c.outcome == Outcome.WALL.value
    is_ended = crawl.c.spider == spider, crawl.c.state != CrawlState.OPEN.value
    columns = select(request.c.id, request.c.key, crawl.c.arguments).join(crawl, crawl.c.id == request.c.crawl_id)
    hidden: dict[str, int] = {}  # the newest request of each key
    for row in connection.execute(columns.where(*is_hidden, *is_ended).order_by(request.c.id)):
        if own(row.arguments) == own(arguments):
            hidden[row.key] = row.id
    new = {"crawl_id": to_crawl, "state": RequestState.QUEUED.value, "attempts": 0}
    for part in batched(sorted(hidden.values())):
        connection.execute(update(request).where(request.c.id.in_(part)).values(_UNSET | new))


def _replace_crawls(connection: Connection, crawl_ids: Sequence[int], now: datetime) -> None:
    values = {"state": CrawlState.FINISHED.value, "finished": now, "reason": _REPLACED}
    connection.execute(update(crawl).where(crawl.c.id.in_(crawl_ids)).values(values))


def _insert_crawl(
    connection: Connection,
    spider: str,
    arguments: Mapping[str, Any],
    now: datetime,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> int:
    values = {
        "spider": spider,
        "arguments": arguments,
        "state": CrawlState.OPEN.value,
        "started": now,
        "totals": {},
        **more,
    }
    key = connection.execute(insert(crawl), values).inserted_primary_key
    assert key is not None  # one row, always
    return int(key[0])


_HOSTS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class CrawlQueue:
    """The open and failed requests of one crawl; `failed` has their numbers by outcome.

    `processes` counts the processes with unexpired leases; a killed one is counted until its leases expire. The last
    lease ends at `leased_until`. `settings` are the settings of the crawl's last command line, None without one.
    """

    crawl_id: int
    spider: str
    arguments: dict[str, Any]
    state: str
    settings: dict[str, str] | None = None
    queued: int = 0
    leased: int = 0
    leased_until: datetime | None = None
    processes: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostState:
    """A host with a delay (seconds), or with a pause."""

    host: str
    delay: float
    paused_until: datetime | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class DueCounts:
    """The pages and sections that are due for a re-crawl, and those that are retired."""

    pages: int
    sections: int
    retired_pages: int
    retired_sections: int


@dataclass(frozen=True, slots=True)
class FailedFilter:
    """A selection of failed requests; None means all spiders, hosts or outcomes."""

    spider: str | None = None
    host: str | None = None
    outcome: str | None = None


def crawl_queues(connection: Connection, now: datetime, *, only_open: bool = False) -> list[CrawlQueue]:
    """Return the open crawls and, unless `only_open`, those with failed requests; newest first.

    A crawl without a queue whose process was killed is not open.
    """
    is_open = and_(crawl.c.state == CrawlState.OPEN.value, ~_is_killed(now))
    opened = connection.scalars(select(crawl.c.id).where(is_open)).all()
    failed = _count_failed(connection, FailedFilter(), *([request.c.crawl_id.in_(opened)] if only_open else []))
    columns = (crawl.c.id, crawl.c.spider, crawl.c.arguments, crawl.c.state, crawl.c.settings)
    statement = select(*columns).where(crawl.c.id.in_([*opened, *failed]))
    queued = _count_queued(connection)
    leases = _count_leased(connection, now)
    return [
        CrawlQueue(*row, queued=queued.get(row.id, 0), **leases.get(row.id, {}), failed=failed.get(row.id, {}))
        for row in connection.execute(statement.order_by(crawl.c.id.desc()))
    ]


def slow_hosts(connection: Connection, now: datetime) -> list[HostState]:
    """Return the paused hosts, longest pause first, then those with a delay, longest first; `_HOSTS_MAX` of each."""
    is_paused = host.c.paused_until > now
    paused = select(host.c.host, host.c.delay, host.c.paused_until, host.c.reason).where(is_paused)
    delayed = select(host.c.host, host.c.delay, null(), null()).where(host.c.delay > 0, is_paused.is_not(True))
    statements = (
        paused.order_by(host.c.paused_until.desc(), host.c.host),
        delayed.order_by(host.c.delay.desc(), host.c.host),
    )
    return [HostState(*row) for statement in statements for row in connection.execute(statement.limit(_HOSTS_MAX))]


def is_due(table: Table, now: datetime, bounds: RevisitBounds) -> ColumnElement[bool]:
    """Return the condition of the pages or sections whose next visit has come.

    A next visit later than the longest interval counts as now: it was written while a clock was ahead, or under a
    longer REVISIT_MAX_SECONDS.
    """
    latest = now + timedelta(seconds=bounds.max_seconds)
    return or_(table.c.next_visit <= now, table.c.next_visit > latest)


def count_due(connection: Connection, now: datetime, bounds: RevisitBounds) -> DueCounts:
    """Return the counts of due and retired pages and sections."""
    return DueCounts(
        _count_due_rows(connection, page, is_due(page, now, bounds)),
        _count_due_rows(connection, section, is_due(section, now, bounds)),
        _count_retired(connection, page),
        _count_retired(connection, section),
    )


def failed_queues(connection: Connection, failed_filter: FailedFilter) -> list[CrawlQueue]:
    """Return the newest crawl of each spider and arguments, if it has matching failed requests; newest first."""
    failures = _count_failed(connection, failed_filter)
    columns = (crawl.c.id, crawl.c.spider, crawl.c.arguments, crawl.c.state, crawl.c.settings)
    spiders = select(crawl.c.spider).where(crawl.c.id.in_(failures))
    rows = connection.execute(select(*columns).where(crawl.c.spider.in_(spiders)).order_by(crawl.c.id.desc()))
    latest: list[CrawlQueue] = []
    # Compared in Python: PostgreSQL's `json` has no equality, and SQLite compares JSON as text.
    seen: list[tuple[str, dict[str, Any]]] = []
    for row in rows:
        if (row.spider, row.arguments) not in seen:
            seen.append((row.spider, row.arguments))
            if row.id in failures:
                latest.append(CrawlQueue(*row, failed=failures[row.id]))
    return latest


def retry_failed(connection: Connection, failed_filter: FailedFilter) -> list[CrawlQueue]:
    """Queue failed requests again, as new ones, and return what `failed_queues` returned before.

    Their crawls are open again. A process that works at one of them continues with these requests too, because a crawl
    finishes only when nothing is queued (`end_crawl`). Call it first in its transaction, so that no crawl of these
    spiders begins meanwhile.
    """
    lock(connection, {_spider_lock_key(queue.spider) for queue in failed_queues(connection, failed_filter)})
    queues = failed_queues(connection, failed_filter)  # again, now that nobody can change it
    ids = [queue.crawl_id for queue in queues]
    reopened = {"state": CrawlState.OPEN.value, "finished": None, "reason": None}
    connection.execute(update(crawl).where(crawl.c.id.in_(ids)).values(reopened))
    new = _UNSET | {"state": RequestState.QUEUED.value, "attempts": 0}
    connection.execute(
        update(request).where(*_failed_conditions(failed_filter), request.c.crawl_id.in_(ids)).values(new)
    )
    return queues


def _failed_conditions(failed_filter: FailedFilter) -> list[ColumnElement[bool]]:
    # The state as a literal, so that the index of failed requests serves.
    conditions = [request.c.state == literal_column(f"'{RequestState.FAILED.value}'")]
    if failed_filter.host is not None:
        conditions.append(request.c.host == failed_filter.host)
    if failed_filter.outcome is not None:
        conditions.append(request.c.outcome == failed_filter.outcome)
    if failed_filter.spider is not None:
        conditions.append(request.c.crawl_id.in_(select(crawl.c.id).where(crawl.c.spider == failed_filter.spider)))
    return conditions


def _count_failed(
    connection: Connection, failed_filter: FailedFilter, *conditions: ColumnElement[bool]
) -> dict[int, dict[str, int]]:
    """Return the numbers of failed requests by crawl and outcome, the most frequent outcome first."""
    number = func.count()
    statement = select(request.c.crawl_id, request.c.outcome, number).where(
        *_failed_conditions(failed_filter), *conditions
    )
    grouped = statement.group_by(request.c.crawl_id, request.c.outcome).order_by(number.desc(), request.c.outcome)
    counts: dict[int, dict[str, int]] = {}
    for crawl_id, outcome, count in connection.execute(grouped):
        counts.setdefault(crawl_id, {})[outcome] = count
    return counts


def _count_queued(connection: Connection) -> dict[int, int]:
    statement = select(request.c.crawl_id, func.count()).where(request.c.state == literal_column("'queued'"))
    return {row[0]: row[1] for row in connection.execute(statement.group_by(request.c.crawl_id))}


def _count_leased(connection: Connection, now: datetime) -> dict[int, dict[str, Any]]:
    """Return the fields of `CrawlQueue` about leases, by crawl."""
    statement = select(
        request.c.crawl_id,
        func.count().label("leased"),
        func.max(request.c.lease_until).label("leased_until"),
        func.count(request.c.lease_id.distinct()).filter(request.c.lease_until >= now).label("processes"),
    ).where(request.c.state == literal_column("'leased'"))
    leases_by_crawl = {}
    for row in connection.execute(statement.group_by(request.c.crawl_id)).mappings():
        leases = dict(row)
        leases_by_crawl[leases.pop("crawl_id")] = leases
    return leases_by_crawl


def _count_due_rows(connection: Connection, table: Table, due: ColumnElement[bool]) -> int:
    # Pages without a spider cannot be visited again.
    conditions = (table.c.retired_at.is_(None), due, table.c.spider.is_not(None))
    return connection.execute(select(func.count()).select_from(table).where(*conditions)).scalar_one()


def _count_retired(connection: Connection, table: Table) -> int:
    """Count the retired rows: all rows less the active ones, which an index counts."""
    rows = select(func.count()).select_from(table)
    active = rows.where(table.c.retired_at.is_(None))
    return connection.execute(rows).scalar_one() - connection.execute(active).scalar_one()

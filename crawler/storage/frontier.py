"""The frontier's requests: wanted, handed out under a lease, acknowledged. The caller owns the transaction.

A request waits (`queued`) until a worker leases it (see leases.py), and is that worker's until its lease is
acknowledged, given back or has expired. A `Ticket` proves the lease: who lost it cannot acknowledge. Rows are locked in
the order of their keys and ids, so that no two transactions wait for each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, literal_column, select, update
from sqlalchemy.dialects import postgresql, sqlite

from cleaning.terms import normalise
from crawler.storage.batches import batched
from crawler.storage.models import request

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import ColumnElement
    from sqlalchemy.engine import Connection

MOST_ERROR = 500
NOT_DUE = "not_due"
"""The outcome of a request that was never made: for a page, stored before, whose next visit is another day."""


class RequestState(StrEnum):
    """Where a request is on its way; a closed set."""

    QUEUED = "queued"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request to be stored: one a crawl for each key. Without a callback it is the spider's `parse`.

    `host` is the host name, with the port where that is not the scheme's default. Of a greater `priority` is sooner;
    before `not_before` it is not leased.
    """

    key: str
    url: str
    host: str
    method: str = "GET"
    headers: Mapping[str, list[str]] = field(default_factory=dict)
    body: bytes | None = None
    callback: str | None = None
    errback: str | None = None
    cb_kwargs: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    priority: int = 0
    not_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """How many requests are new in the queue, and the keys of those that are new and not to be made."""

    queued: int
    spared: frozenset[str]


@dataclass(frozen=True, slots=True)
class Ticket:
    """Proof that a request is leased: it is good while the request has this lease."""

    request_id: int
    lease_id: str


@dataclass(frozen=True, slots=True)
class Ending:
    """What became of a leased request; QUEUED lets it be leased again, not before a moment, as a further attempt.

    Of `error` the first `MOST_ERROR` characters are stored. Raises ValueError for LEASED, which is no end.
    """

    ticket: Ticket
    state: RequestState
    outcome: str
    error: str | None = None
    not_before: datetime | None = None

    def __post_init__(self) -> None:
        if self.state is RequestState.LEASED:
            raise ValueError(f"request {self.ticket.request_id} cannot end as {self.state}")


_INSERTS = {
    dialect: new(request).on_conflict_do_nothing(index_elements=["crawl_id", "key"]).returning(request.c.key)
    for dialect, new in (("sqlite", sqlite.insert), ("postgresql", postgresql.insert))
}
_END = (
    update(request)
    .where(request.c.id == bindparam("request_id"))
    .values(
        state=bindparam("new_state"),
        attempts=request.c.attempts + bindparam("tried"),
        not_before=bindparam("new_not_before"),
        lease_id=None,
        lease_until=None,
        outcome=bindparam("new_outcome"),
        error=bindparam("new_error"),
        ended=bindparam("new_ended"),
    )
)
_QUEUED: dict[str, Any] = {"state": RequestState.QUEUED.value, "outcome": None, "ended": None}
_SPARED: dict[str, Any] = {"state": RequestState.DONE.value, "outcome": NOT_DUE}
_BACK = {"state": RequestState.QUEUED.value, "lease_id": None, "lease_until": None}
_HOLD = (
    select(request.c.id, request.c.lease_id)
    .where(
        request.c.id.in_(bindparam("ids", expanding=True)),
        request.c.lease_id.in_(bindparam("leases", expanding=True)),
        request.c.state == RequestState.LEASED.value,
    )
    .order_by(request.c.id)
    .with_for_update()
)


def clock(connection: Connection) -> datetime:
    """Return the time that all workers of a database agree on: the server's, or this machine's on SQLite."""
    if connection.dialect.name == "sqlite":
        return datetime.now(UTC)
    now = connection.scalar(select(func.clock_timestamp()))
    assert isinstance(now, datetime)  # always
    return now.astimezone(UTC)


def add(connection: Connection, crawl_id: int, wanted: Sequence[Wanted], now: datetime) -> int:
    """Store the requests whose keys the crawl does not have yet, and return how many those are.

    Once in a transaction: a second time could wait for another writer that waits for this one.
    """
    return add_some(connection, crawl_id, wanted, frozenset(), now).queued


def add_some(
    connection: Connection, crawl_id: int, wanted: Sequence[Wanted], spared: Collection[str], now: datetime
) -> Added:
    """Store requests as `add` does; those with a key among the spared ones as done, which they are not to be."""
    rows = [
        _row(one, crawl_id, now) | (_SPARED | {"ended": now} if one.key in spared else _QUEUED)
        for one in sorted(wanted, key=lambda one: one.key)
    ]
    new = frozenset(connection.scalars(_INSERTS[connection.dialect.name], rows)) if rows else frozenset()
    return Added(len(new.difference(spared)), new.intersection(spared))


def acknowledge(connection: Connection, endings: Sequence[Ending], now: datetime) -> set[int]:
    """Store what became of leased requests, and return the ids of those whose lease held; the others were lost.

    Nobody takes away the leases that held until the end of the transaction.
    """
    held = _held(connection, [one.ticket for one in endings])
    rows = {one.ticket.request_id: _ended(one, now) for one in endings if one.ticket in held}
    if rows:
        connection.execute(_END, [rows[request_id] for request_id in sorted(rows)])
    return set(rows)


def release(connection: Connection, tickets: Sequence[Ticket]) -> None:
    """Give leased requests back as if they had not been leased; those whose lease is lost stay as they are."""
    ids = sorted(ticket.request_id for ticket in _held(connection, tickets))
    for part in batched(ids):
        connection.execute(update(request).where(request.c.id.in_(part)).values(_BACK))


def renew(connection: Connection, crawl_id: int, lease_id: str, until: datetime) -> int:
    """Let a lease last until a later moment, and return how many requests it still has.

    Requests that another transaction acknowledges at this moment are not among them.
    """
    mine = select(request.c.id).where(*is_leased(crawl_id), request.c.lease_id == lease_id)
    statement = update(request).where(request.c.id.in_(mine.with_for_update(skip_locked=True)))
    return connection.execute(statement.values(lease_until=until)).rowcount


def reset(connection: Connection, crawl_id: int) -> int:
    """Give all leased requests of a crawl back, whoever has them, and return how many there were.

    For SQLite, where a crawl has one process: what is leased when it opens is left from one that died.
    """
    return connection.execute(update(request).where(*is_leased(crawl_id)).values(_BACK)).rowcount


def is_queued(crawl_id: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of a crawl's queued requests, in the form that the index of them serves."""
    return _is_in(crawl_id, RequestState.QUEUED)


def is_leased(crawl_id: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of a crawl's leased requests, in the form that the index of them serves."""
    return _is_in(crawl_id, RequestState.LEASED)


def _is_in(crawl_id: int, state: RequestState) -> tuple[ColumnElement[bool], ...]:
    # The state as a literal: with a bound value the database cannot know that its partial index serves.
    return request.c.crawl_id == crawl_id, request.c.state == literal_column(f"'{state.value}'")


def _held(connection: Connection, tickets: Sequence[Ticket]) -> set[Ticket]:
    """Lock the requests whose leases hold, and return their tickets."""
    ordered = sorted(tickets, key=lambda ticket: ticket.request_id)
    found: set[Ticket] = set()
    for part in batched(ordered):
        values = {"ids": [one.request_id for one in part], "leases": list({one.lease_id for one in part})}
        found.update(Ticket(*row) for row in connection.execute(_HOLD, values))
    return found.intersection(tickets)


def _row(wanted: Wanted, crawl_id: int, now: datetime) -> dict[str, Any]:
    return {
        "crawl_id": crawl_id,
        "key": wanted.key,
        "url": wanted.url,
        "host": wanted.host,
        "method": wanted.method,
        "headers": dict(wanted.headers),
        "body": wanted.body,
        "callback": wanted.callback,
        "errback": wanted.errback,
        "cb_kwargs": dict(wanted.cb_kwargs),
        "meta": dict(wanted.meta),
        "priority": wanted.priority,
        "not_before": wanted.not_before,
        "attempts": 0,
        "added": now,
    }


def _ended(ending: Ending, now: datetime) -> dict[str, Any]:
    again = ending.state is RequestState.QUEUED
    return {
        "request_id": ending.ticket.request_id,
        "new_state": ending.state.value,
        "tried": int(again),
        "new_not_before": ending.not_before,
        "new_outcome": ending.outcome,
        "new_error": None if ending.error is None else normalise(ending.error)[:MOST_ERROR],
        "new_ended": None if again else now,
    }

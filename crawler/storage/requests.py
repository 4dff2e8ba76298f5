"""The queue of requests: added, leased by one worker each, acknowledged; and the hosts that set its pace.

A request waits (`queued`) until a worker leases it, and belongs to that worker until it acknowledges the lease, gives
it back, or lets it expire. A `LeaseToken` proves the lease: a worker that has lost it cannot acknowledge. All workers
and crawls share the hosts, so that together they keep each host's delay.

A lease that nobody ends is lost: its worker has died, and nobody knows whether the request was sent. From then on it is
marked in the database before it is sent (`mark_sent`), and each further loss of a marked lease is an attempt. So a page
that kills its workers is given up in the end, and no other request is.

The caller owns the transaction. Rows are locked in the order of their keys and ids, so that no two transactions wait
for each other. A time implausibly far in the future counts as past: a clock was set back since it was written.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlalchemy import Float, Text, and_, bindparam, case, func, literal_column, select, text, update

from cleaning.terms import normalise
from crawler.storage.locks import LOCK_KEYS, lock
from crawler.storage.tables import UtcDateTime, batched, host, insert_on_conflict, request
from crawler.visit import BUSY_OUTCOMES, LeaseToken, Outcome, RequestRecord

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, TextClause
    from sqlalchemy.engine import Connection, Row
    from sqlalchemy.sql.selectable import TextualSelect

logger = logging.getLogger(__name__)

_ERROR_LENGTH_MAX = 500
_PAUSE_SECONDS_MAX = 3600.0
_LEASE_EXPIRED = "lease_expired"
"""The outcome of a request whose last lease was lost, and of one that is given up because it was sent too often."""
UNACKNOWLEDGED = "unacknowledged"
"""The outcome of a request whose process went on without an end of it."""
_SENT = "sent"
"""The outcome of a leased request that is marked as sent."""
_LOSSES_MIN = 3
"""A process may be killed for reasons of its own: of few attempts none is taken for what killed it."""
_GIVEN_UP = "sent in {attempts} attempts, and each time its process died before the end"
_NOT_DUE = "not_due"
"""The outcome of a request that a re-crawl did not make, because its page has a next visit at another time."""


class RequestState(StrEnum):
    """The states of a request."""

    QUEUED = "queued"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AddedRequests:
    """How many new requests are queued, and the keys of the new requests that are not due, and so not made."""

    queued: int
    not_due: frozenset[str]


@dataclass(frozen=True, slots=True)
class Ack:
    """The acknowledgement of a leased request. With QUEUED it is leased again as another attempt, after `not_before`.

    The first `_ERROR_LENGTH_MAX` characters of `error` are stored. Raises ValueError for LEASED, which ends nothing.
    """

    lease_token: LeaseToken
    state: RequestState
    outcome: str
    error: str | None = None
    not_before: datetime | None = None

    def __post_init__(self) -> None:
        if self.state is RequestState.LEASED:
            raise ValueError(f"request {self.lease_token.request_id} cannot end as {self.state}")


@dataclass(frozen=True, slots=True)
class RefusedRequests:
    """The end of requests that a host refuses before they are made."""

    outcome: str
    error: str
    ended: datetime


_ACKNOWLEDGE = (
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
_QUEUED_VALUES: dict[str, Any] = {"state": RequestState.QUEUED.value, "outcome": None, "ended": None}
_NOT_DUE_VALUES: dict[str, Any] = {"state": RequestState.DONE.value, "outcome": _NOT_DUE}
_RELEASED_VALUES: dict[str, Any] = {
    "state": RequestState.QUEUED.value,
    "lease_id": None,
    "lease_until": None,
    "outcome": case((request.c.outcome == _SENT, _LEASE_EXPIRED), else_=request.c.outcome),
}
_LOCK_LEASED = (
    select(request.c.id, request.c.lease_id)
    .where(
        request.c.id.in_(bindparam("ids", expanding=True)),
        request.c.lease_id.in_(bindparam("leases", expanding=True)),
        request.c.state == RequestState.LEASED.value,
    )
    .order_by(request.c.id)
    .with_for_update()
)


def database_now(connection: Connection) -> datetime:
    """Return the time that all workers agree on: the server's, or this machine's on SQLite."""
    if connection.dialect.name == "sqlite":
        return datetime.now(UTC)
    now = connection.scalar(select(func.clock_timestamp()))
    assert isinstance(now, datetime)  # always
    return now.astimezone(UTC)


def add_requests(connection: Connection, crawl_id: int, records: Sequence[RequestRecord], now: datetime) -> int:
    """Store the requests whose keys the crawl does not have yet, and return their number.

    Call it once in a transaction, or with keys behind the keys of the call before: otherwise it could wait for a writer
    that waits for this one.
    """
    return add_due_requests(connection, crawl_id, records, frozenset(), now).queued


def add_due_requests(
    connection: Connection,
    crawl_id: int,
    records: Sequence[RequestRecord],
    not_due: Collection[str],
    now: datetime,
) -> AddedRequests:
    """Store requests as `add_requests` does; those with a key in `not_due` are stored as done."""
    rows = [
        _request_row(record, crawl_id, now)
        | (_NOT_DUE_VALUES | {"ended": now} if record.key in not_due else _QUEUED_VALUES)
        for record in sorted(records, key=lambda record: record.key)
    ]
    insert = insert_on_conflict(connection, request).on_conflict_do_nothing(index_elements=["crawl_id", "key"])
    new = frozenset(connection.scalars(insert.returning(request.c.key), rows)) if rows else frozenset()
    return AddedRequests(len(new.difference(not_due)), new.intersection(not_due))


def acknowledge_requests(connection: Connection, acks: Sequence[Ack], now: datetime) -> set[int]:
    """Store how leased requests ended, and return the ids of those whose lease held; the other leases were lost.

    Until this transaction ends, no other one can take the leases that held.
    """
    held = _lock_leased(connection, [ack.lease_token for ack in acks])
    rows = {ack.lease_token.request_id: _ack_row(ack, now) for ack in acks if ack.lease_token in held}
    if rows:
        connection.execute(_ACKNOWLEDGE, [rows[request_id] for request_id in sorted(rows)])
    return set(rows)


def fail_walled(connection: Connection, crawl_id: int, urls: Sequence[str]) -> None:
    """Record that requests of a crawl which counted as done have met a wall."""
    ended = request.c.crawl_id == crawl_id, request.c.state == RequestState.DONE.value
    for part in batched(sorted(set(urls))):
        failed = {"state": RequestState.FAILED.value, "outcome": Outcome.WALL.value}
        connection.execute(update(request).where(*ended, request.c.url.in_(part)).values(failed))


def release_leases(connection: Connection, lease_tokens: Sequence[LeaseToken]) -> None:
    """Give leased requests back as if they had not been leased; requests whose lease is lost stay as they are."""
    ids = sorted(lease_token.request_id for lease_token in _lock_leased(connection, lease_tokens))
    for part in batched(ids):
        connection.execute(update(request).where(request.c.id.in_(part)).values(_RELEASED_VALUES))


def renew_lease(connection: Connection, crawl_id: int, lease_id: str, until: datetime) -> int:
    """Extend a lease, and return the number of its requests.

    Requests that another transaction acknowledges at this moment are not counted.
    """
    mine = select(request.c.id).where(*is_leased(crawl_id), request.c.lease_id == lease_id)
    statement = update(request).where(request.c.id.in_(mine.with_for_update(skip_locked=True)))
    return connection.execute(statement.values(lease_until=until)).rowcount


def mark_sent(connection: Connection, lease_token: LeaseToken) -> None:
    """Record that a leased request is sent now, unless the lease is lost: if nobody ends it, that is an attempt."""
    held = request.c.id == lease_token.request_id, request.c.lease_id == lease_token.lease_id
    connection.execute(update(request).where(*held).values(outcome=_SENT))


def max_losses(max_attempts: int) -> int:
    """Return how many processes may die while a request is marked as sent."""
    return max(max_attempts, _LOSSES_MIN)


def end_lost_leases(
    connection: Connection, crawl_id: int, now: datetime, max_attempts: int, *lost: ColumnElement[bool]
) -> None:
    """Queue leased requests of a crawl again whose workers have died: those that meet `lost`, or all of them.

    Those that were marked as sent come behind the others, as Scrapy's retries do, and fail after `max_losses`. At
    most `_EXPIRED_MAX` requests end at once.
    """
    # In the order of the index, so that PostgreSQL reads and tidies just that part of it: until then the index keeps
    # the entries of all leases that ever were. Locked rows are being acknowledged.
    ids = select(request.c.id).where(*is_leased(crawl_id), *lost).order_by(request.c.lease_until)
    was_sent = request.c.outcome == _SENT
    hopeless = and_(was_sent, request.c.attempts + 1 >= max_losses(max_attempts))
    values = {
        "state": case((hopeless, RequestState.FAILED.value), else_=RequestState.QUEUED.value),
        "attempts": request.c.attempts + case((was_sent, 1), else_=0),
        "priority": request.c.priority - case((was_sent, 1), else_=0),
        "lease_id": None,
        "lease_until": None,
        "outcome": _LEASE_EXPIRED,
        "error": case((hopeless, _GIVEN_UP.format(attempts=max_losses(max_attempts))), else_=request.c.error),
        "ended": case((hopeless, now)),
    }
    lost_ids = ids.limit(_EXPIRED_MAX).with_for_update(skip_locked=True)
    connection.execute(update(request).where(request.c.id.in_(lost_ids)).values(values))


def is_queued(crawl_id: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of a crawl's queued requests, in the form that their index serves."""
    return _is_in(crawl_id, RequestState.QUEUED)


def is_given_up(crawl_id: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of a crawl's requests that failed because no attempt came to an end."""
    return *_is_in(crawl_id, RequestState.FAILED), request.c.outcome.in_((_LEASE_EXPIRED, UNACKNOWLEDGED))


def is_leased(crawl_id: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of a crawl's leased requests, in the form that their index serves."""
    return _is_in(crawl_id, RequestState.LEASED)


def _is_in(crawl_id: int, state: RequestState) -> tuple[ColumnElement[bool], ...]:
    # The state as a literal: with a bound value the database cannot know that its partial index serves.
    return request.c.crawl_id == crawl_id, request.c.state == literal_column(f"'{state.value}'")


def _lock_leased(connection: Connection, lease_tokens: Sequence[LeaseToken]) -> set[LeaseToken]:
    """Lock the requests whose leases hold, and return their tokens."""
    ordered = sorted(lease_tokens, key=lambda lease_token: lease_token.request_id)
    locked_tokens: set[LeaseToken] = set()
    for part in batched(ordered):
        values = {
            "ids": [lease_token.request_id for lease_token in part],
            "leases": list({lease_token.lease_id for lease_token in part}),
        }
        locked_tokens.update(LeaseToken(*row) for row in connection.execute(_LOCK_LEASED, values))
    return locked_tokens.intersection(lease_tokens)


def _request_row(record: RequestRecord, crawl_id: int, now: datetime) -> dict[str, Any]:
    return {
        "crawl_id": crawl_id,
        "key": record.key,
        "url": record.url,
        "host": record.host,
        "method": record.method,
        "headers": dict(record.headers),
        "body": record.body,
        "callback": record.callback,
        "errback": record.errback,
        "cb_kwargs": dict(record.cb_kwargs),
        "meta": dict(record.meta),
        "priority": record.priority,
        "not_before": record.not_before,
        "attempts": 0,
        "added": now,
    }


def _ack_row(ack: Ack, now: datetime) -> dict[str, Any]:
    again = ack.state is RequestState.QUEUED
    return {
        "request_id": ack.lease_token.request_id,
        "new_state": ack.state.value,
        "tried": int(again),
        "new_not_before": ack.not_before,
        "new_outcome": ack.outcome,
        "new_error": None if ack.error is None else normalise(ack.error)[:_ERROR_LENGTH_MAX],
        "new_ended": None if again else now,
    }


_HOSTS_PER_QUERY = 200
_WAITING_MAX = 1_000  # of a host, to find the first that will be due
_OF_HOST = "crawl_id = :crawl AND state = 'queued' AND request.host = waiting.host"
_LAST_HOST = "\U0010ffff"  # sorts after every host
_PLAUSIBLE_DELAYS = 10
_PLAUSIBLE_SECONDS_MIN = 60.0
_DOUBLINGS_MAX = 30


@dataclass(frozen=True, slots=True)
class HostAvailability:
    """When a host accepts requests: one each `delay` seconds, from `next_at` on, none during a pause.

    `waits_until` is when the first of its queued requests is due; None if one is due now.
    """

    host: str
    next_at: datetime | None = None
    delay: float = 0.0
    paused_until: datetime | None = None
    waits_until: datetime | None = None

    def available_at(self, now: datetime, pause_seconds_max: float) -> datetime:
        """Return when the next request may be sent to the host: now or later."""
        farthest = _PLAUSIBLE_DELAYS * max(self.delay, _PLAUSIBLE_SECONDS_MIN)
        times = (_plausible(self.next_at, now, farthest), _plausible(self.paused_until, now, pause_seconds_max))
        return max(now, *(time for time in times if time is not None), self.waits_until or now)


def _plausible(time: datetime | None, now: datetime, farthest_seconds: float) -> datetime | None:
    return None if time is None or (time - now).total_seconds() > farthest_seconds else time


def _hosts_statement(first: str) -> TextualSelect:
    """Return the statement that finds the next hosts with queued requests: it seeks the index from host to host.

    A DISTINCT would read all requests, and PostgreSQL might do so for an EXISTS or a min(). It does not for a limited
    number of rows in the order of the index.
    """
    statement: TextClause = text(f"""
    WITH RECURSIVE waiting(host, number) AS (
        SELECT (
            SELECT host FROM request
            WHERE crawl_id = :crawl AND state = 'queued' AND host {first} :after AND host <= :last
            ORDER BY host LIMIT 1
        ), 1
        UNION ALL
        SELECT (
            SELECT request.host FROM request
            WHERE crawl_id = :crawl AND state = 'queued' AND request.host > waiting.host AND request.host <= :last
            ORDER BY request.host LIMIT 1
        ), number + 1
        FROM waiting
        WHERE waiting.host IS NOT NULL AND number < :most
    )
    SELECT waiting.host, host.next_at, coalesce(host.delay, 0) AS delay, host.paused_until, CASE
        WHEN (
            SELECT id FROM request
            WHERE {_OF_HOST} AND (not_before IS NULL OR not_before <= :now)
            ORDER BY priority DESC, id LIMIT 1
        ) IS NULL THEN (
            SELECT min(not_before) FROM (
                SELECT not_before FROM request WHERE {_OF_HOST} ORDER BY priority DESC, id LIMIT {_WAITING_MAX}
            ) AS best
        ) END AS waits_until
    FROM waiting LEFT JOIN host ON host.host = waiting.host
    WHERE waiting.host IS NOT NULL
    ORDER BY waiting.host
    """)  # noqa: S608 — of constants
    kinds = {
        "host": Text,
        "next_at": UtcDateTime,
        "delay": Float,
        "paused_until": UtcDateTime,
        "waits_until": UtcDateTime,
    }
    return statement.bindparams(bindparam("now", type_=UtcDateTime)).columns(**kinds)


_HOSTS_FROM = _hosts_statement(">=")
_HOSTS_AFTER = _hosts_statement(">")
_LOCK_HOSTS = (
    select(host.c.host, host.c.next_at, host.c.delay, host.c.paused_until)
    .where(host.c.host.in_(bindparam("names", expanding=True)))
    .order_by(host.c.host)
    .with_for_update()
)


def _available_hosts(
    connection: Connection, crawl_id: int, now: datetime, after_host: str = ""
) -> Iterator[HostAvailability]:
    """Yield the hosts with queued requests: first those after `after_host`, in order, then the others.

    They are read as the iteration goes on, `_HOSTS_PER_QUERY` at a time.
    """
    values = {"crawl": crawl_id, "now": now, "most": _HOSTS_PER_QUERY}
    if after_host:
        yield from _hosts_between(connection, _HOSTS_AFTER, values | {"after": after_host, "last": _LAST_HOST})
    yield from _hosts_between(connection, _HOSTS_FROM, values | {"after": "", "last": after_host or _LAST_HOST})


def _lock_hosts(connection: Connection, names: Collection[str]) -> dict[str, HostAvailability]:
    """Lock the hosts that have a row, and return when they are available."""
    rows = connection.execute(_LOCK_HOSTS, {"names": list(names)}) if names else ()
    return {row[0]: HostAvailability(*row) for row in rows}


def _set_next_times(connection: Connection, times: Mapping[str, datetime]) -> None:
    """Store when each host, locked by this transaction, may be asked next."""
    statement = update(host).where(host.c.host == bindparam("name")).values(next_at=bindparam("time"))
    if times:
        connection.execute(statement, [{"name": name, "time": times[name]} for name in sorted(times)])


def pause_host(  # noqa: PLR0913 — a row's columns
    connection: Connection,
    name: str,
    now: datetime,
    reason: str,
    *,
    first_seconds: float,
    max_seconds: float,
    evidence: str = "",
    retry_after_seconds: float = 0.0,
) -> datetime:
    """Pause a host that refuses requests, log the evidence, and return until when.

    The pause is `retry_after_seconds` if the host has said so, otherwise `first_seconds`, twice as long after each
    further refusal in a row, and at most `max_seconds`. A refusal during a pause answers an earlier request: it does
    not count, and prolongs the pause only by its `retry_after_seconds`.
    """
    new = insert_on_conflict(connection, host).values(host=name, delay=0.0, refusals=0)
    connection.execute(new.on_conflict_do_nothing(index_elements=["host"]))
    columns = select(host.c.paused_until, host.c.refusals).where(host.c.host == name).with_for_update()
    row = connection.execute(columns).one()
    running = _plausible(row.paused_until, now, max_seconds)
    if running is not None and running > now:
        longer = now + timedelta(seconds=min(retry_after_seconds, max_seconds))
        if longer > running:
            connection.execute(update(host).where(host.c.host == name).values(paused_until=longer))
        return max(running, longer)
    first_seconds = retry_after_seconds or first_seconds
    seconds = min(first_seconds * 2 ** min(row.refusals, _DOUBLINGS_MAX), max_seconds)
    until = now + timedelta(seconds=seconds)
    values = {"paused_until": until, "reason": reason, "refusals": row.refusals + 1}
    connection.execute(update(host).where(host.c.host == name).values(values))
    logger.warning("%s is paused for %.0f seconds: %s (%s)", name, seconds, reason, evidence)
    return until


def requeue_refused(
    connection: Connection, crawl_id: int, name: str, outcomes: Collection[str], max_attempts: int
) -> None:
    """Queue a crawl's failed requests to a host again that ended with these outcomes and have attempts left."""
    refused = select(request.c.id).where(
        *_is_in(crawl_id, RequestState.FAILED),
        request.c.host == name,
        request.c.outcome.in_(outcomes),
        request.c.attempts + 1 < max_attempts,
    )
    ids = connection.scalars(refused.order_by(request.c.id).with_for_update()).all()
    values = {"state": RequestState.QUEUED.value, "attempts": request.c.attempts + 1, "ended": None}
    for part in batched(ids):
        connection.execute(update(request).where(request.c.id.in_(part)).values(values))


@dataclass(frozen=True, slots=True)
class HostPause:
    """The seconds that are left of a host's pause; `outcome` is that of its requests if the crawl has given it up."""

    host: str
    seconds: float
    outcome: str | None = None


def read_pauses(connection: Connection, crawl_id: int, names: Collection[str], max_attempts: int) -> list[HostPause]:
    """Return the pauses of hosts; hosts without a pause are left out."""
    now = database_now(connection)
    paused = select(host.c.host, host.c.paused_until, host.c.refusals).where(
        host.c.host.in_(names), host.c.paused_until > now
    )
    return [
        HostPause(
            row.host,
            (row.paused_until - now).total_seconds(),
            _given_up(connection, crawl_id, row.host) if row.refusals > max_attempts else None,
        )
        for row in connection.execute(paused.order_by(host.c.host))
    ]


def _given_up(connection: Connection, crawl_id: int, name: str) -> str | None:
    """Return the outcome of a crawl's requests that a host has refused for too long; None if there are none."""
    refused = select(request.c.outcome).where(
        *_is_in(crawl_id, RequestState.FAILED), request.c.host == name, request.c.outcome.in_(BUSY_OUTCOMES)
    )
    return connection.scalar(refused.order_by(request.c.id).limit(1))


def give_up_host(connection: Connection, name: str, max_attempts: int) -> None:
    """Store that a host has refused more often than a request is tried, so that all processes give it up."""
    row = update(host).where(host.c.host == name, host.c.refusals <= max_attempts)
    connection.execute(row.values(refusals=max_attempts + 1))


def count_refusals(connection: Connection, name: str) -> int:
    """Return how often in a row a host has been paused without an answer in between."""
    return connection.scalar(select(host.c.refusals).where(host.c.host == name)) or 0


def refuse_queued(connection: Connection, crawl_id: int, name: str, ack: RefusedRequests) -> int:
    """End a crawl's queued requests to a host as failed without making them, and return their number."""
    queued = select(request.c.id).where(*is_queued(crawl_id), request.c.host == name).order_by(request.c.id)
    ids = connection.scalars(queued.with_for_update(skip_locked=True)).all()
    values = {"state": RequestState.FAILED.value, "outcome": ack.outcome, "error": ack.error, "ended": ack.ended}
    for part in batched(ids):
        connection.execute(update(request).where(request.c.id.in_(part)).values(values))
    return len(ids)


_REFUSING = (
    select(host.c.host)
    .where(host.c.host.in_(bindparam("names", expanding=True)), host.c.refusals > 0)
    .order_by(host.c.host)
    .with_for_update()
)


def reset_refusals(connection: Connection, names: Collection[str]) -> None:
    """Store that hosts have answered normally: the next refusal of each is the first in a row."""
    if not names:
        return
    in_order = connection.scalars(_REFUSING, {"names": list(names)}).all()
    if in_order:
        connection.execute(update(host).where(host.c.host.in_(in_order)).values(refusals=0))


def set_host_delays(connection: Connection, delays: Mapping[str, float]) -> None:
    """Store the seconds between two requests to each host; 0 disables the delay."""
    new = insert_on_conflict(connection, host)
    statement = new.on_conflict_do_update(
        index_elements=["host"],
        set_={"delay": new.excluded.delay},
        where=host.c.delay != new.excluded.delay,
    )
    if delays:
        rows = [{"host": name, "delay": delays[name], "refusals": 0} for name in sorted(delays)]
        connection.execute(statement, rows)


def _hosts_between(
    connection: Connection, statement: TextualSelect, bounds: dict[str, object]
) -> Iterator[HostAvailability]:
    while True:
        hosts = [HostAvailability(*row) for row in connection.execute(statement, bounds)]
        yield from hosts
        if len(hosts) < _HOSTS_PER_QUERY:
            return
        statement, bounds = _HOSTS_AFTER, bounds | {"after": hosts[-1].host}


_RECORD_COLUMNS = [request.c[record_field.name] for record_field in fields(RequestRecord)]
_STILL_QUEUED = select(request.c.id).where(
    request.c.id.in_(bindparam("ids", expanding=True)), request.c.state == RequestState.QUEUED.value
)
_LEASE = (
    update(request)
    .where(request.c.id.in_(_STILL_QUEUED.with_for_update(skip_locked=True)))
    .values(state=RequestState.LEASED.value, lease_id=bindparam("lease"), lease_until=bindparam("until"))
    .returning(request.c.id, request.c.lease_id, request.c.attempts, request.c.outcome, *_RECORD_COLUMNS)
)
_EXPIRED_MAX = 1_000  # a call
_HOSTS_MAX = 200  # whose requests are compared
# A lease ends at most this many times its own length from now; one that ends later was written before a clock was set
# back.
_PLAUSIBLE_LEASE_LENGTHS = 2
_IS_READY = "crawl_id = :crawl AND state = 'queued' AND (not_before IS NULL OR not_before <= :now)"
# The best `limit` hosts by their best request, and the best `limit` requests of each: no other can be among the best.
_CANDIDATES_SQL = {
    "sqlite": f"""
    WITH best AS MATERIALIZED (
        SELECT key AS turn, value ->> 0 AS host, value ->> 1 AS most, (
            SELECT priority FROM request WHERE {_IS_READY} AND request.host = json_each.value ->> 0
            ORDER BY priority DESC, id LIMIT 1
        ) AS top
        FROM json_each(:capacities) ORDER BY top DESC, turn LIMIT :limit
    ), ranked AS (
        SELECT request.id, request.host, priority, turn, most,
            row_number() OVER (PARTITION BY turn ORDER BY priority DESC, request.id) AS rank
        FROM best CROSS JOIN request
        WHERE request.id IN (
            SELECT id FROM request WHERE {_IS_READY} AND request.host = best.host
            ORDER BY priority DESC, id LIMIT :limit
        )
    )
    SELECT id, host FROM ranked WHERE rank <= most ORDER BY priority DESC, rank, turn LIMIT :limit
    """,  # noqa: S608 — of constants
    "postgresql": f"""
    WITH capacity AS MATERIALIZED (
        SELECT turn, value ->> 0 AS host, CAST(value ->> 1 AS int) AS most
        FROM json_array_elements(CAST(:capacities AS json)) WITH ORDINALITY AS capacities(value, turn)
    ), best AS MATERIALIZED (
        SELECT capacity.* FROM capacity CROSS JOIN LATERAL (
            SELECT priority FROM request WHERE {_IS_READY} AND request.host = capacity.host
            ORDER BY priority DESC, id LIMIT 1
        ) AS top
        ORDER BY priority DESC, turn LIMIT :limit
    )
    SELECT id, host FROM best CROSS JOIN LATERAL (
        SELECT id, priority, row_number() OVER (ORDER BY priority DESC, id) AS rank FROM (
            SELECT id, priority FROM request WHERE {_IS_READY} AND request.host = best.host
            ORDER BY priority DESC, id LIMIT best.most
        ) AS first
    ) AS ranked
    ORDER BY priority DESC, rank, turn LIMIT :limit
    """,  # noqa: S608 — of constants
}
_CANDIDATES = {
    dialect: text(statement).bindparams(bindparam("now", type_=UtcDateTime))
    for dialect, statement in _CANDIDATES_SQL.items()
}


@dataclass(frozen=True, slots=True)
class LeaseOptions:
    """The terms of a lease: at most `limit` requests, from `now` to `until`.

    A request is leased up to `horizon_seconds` before its host is available. `after_host` is the host of the last
    request of the worker's previous call, "" at its first. A request that was sent `max_attempts` times without an end
    fails; with `expire=False` expired leases are not looked for. `max_pause_seconds` is the longest pause of a host.
    """

    lease_id: str
    now: datetime
    until: datetime
    horizon_seconds: float
    limit: int = 32
    after_host: str = ""
    max_attempts: int = 3
    max_pause_seconds: float = _PAUSE_SECONDS_MAX
    expire: bool = True

    @property
    def horizon(self) -> datetime:
        return self.now + timedelta(seconds=self.horizon_seconds)

    def capacity(self, of_host: HostAvailability) -> int:
        """Return how many requests may be sent to a host within the horizon, up to the limit."""
        left = (self.horizon - of_host.available_at(self.now, self.max_pause_seconds)).total_seconds()
        if left < 0:
            return 0
        return self.limit if of_host.delay <= 0 else min(self.limit, 1 + int(left / of_host.delay))


@dataclass(frozen=True, slots=True)
class LeasedRequest:
    """A request that this worker has leased; it must not be sent before `start_at`, and not unmarked if `was_lost`.

    `is_known` says that its address is that of a stored page, or leads to one.
    """

    lease_token: LeaseToken
    record: RequestRecord
    attempts: int
    start_at: datetime
    was_lost: bool = False
    is_known: bool = False

    def child(self, number: int) -> str:
        """Return a suffix that tells a child of this request from equal ones; it is the same at each attempt."""
        return f"{self.lease_token.request_id}.{number}"


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """The requests still to come: `queued` is 1 if any is queued, `leased` counts the requests that other workers hold.

    `ready_at` is the latest time at which something can be leased: a host is available, or a lease of another worker
    expires. None if nothing is queued and nothing leased by others.
    """

    queued: int
    leased: int
    ready_at: datetime | None


def lease_requests(connection: Connection, crawl_id: int, options: LeaseOptions) -> list[LeasedRequest]:
    """Lease requests of a crawl, and return them in the order to send them; [] if none may be sent soon.

    Requests with expired leases are queued again first. Then the hosts with queued requests are read, from where the
    last call stopped. The hosts that are available within the horizon give their requests with the greatest priority,
    as many as each host's delay allows. At equal priority each host gives one request before any gives two.

    Call it first in its transaction: the leases of one crawl take turns.
    """
    lock(connection, [LOCK_KEYS + crawl_id % LOCK_KEYS])
    if options.expire:
        farthest = options.now + _PLAUSIBLE_LEASE_LENGTHS * (options.until - options.now)
        for expired in (request.c.lease_until < options.now, request.c.lease_until > farthest):
            end_lost_leases(connection, crawl_id, options.now, options.max_attempts, expired)
    hosts = _available_hosts(connection, crawl_id, options.now, options.after_host)
    capacities = (
        (availability.host, capacity) for availability in hosts if (capacity := options.capacity(availability))
    )
    host_capacities = list(islice(capacities, max(_HOSTS_MAX, options.limit)))
    starts = (
        _start_times(connection, options, _select_candidates(connection, crawl_id, options, host_capacities))
        if host_capacities
        else {}
    )
    return _lease_rows(connection, options, starts) if starts else []


def queue_status(
    connection: Connection,
    crawl_id: int,
    now: datetime,
    lease_id: str,
    max_pause_seconds: float = _PAUSE_SECONDS_MAX,
) -> QueueStatus:
    """Return the requests still to come for a worker, besides those that it has leased itself."""
    count, expires = connection.execute(
        # Expired leases count too: their requests are still to be made.
        select(func.count(), func.min(request.c.lease_until)).where(
            *is_leased(crawl_id), request.c.lease_id != lease_id
        )
    ).one()
    available = _first_available(connection, crawl_id, now, max_pause_seconds)
    times = [time for time in (available, expires) if time is not None]
    return QueueStatus(int(available is not None), count, max(now, min(times)) if times else None)


def _first_available(connection: Connection, crawl_id: int, now: datetime, max_pause_seconds: float) -> datetime | None:
    """Return when the first host with queued requests is available; None if no host has any."""
    first = None
    for availability in _available_hosts(connection, crawl_id, now):
        available = availability.available_at(now, max_pause_seconds)
        first = available if first is None else min(first, available)
        if first <= now:
            break
    return first


def _select_candidates(
    connection: Connection, crawl_id: int, options: LeaseOptions, capacities: Sequence[tuple[str, int]]
) -> Sequence[Row[int, str]]:
    """Return the requests to lease and their hosts, in order, within the capacities of the hosts."""
    values = {"crawl": crawl_id, "now": options.now, "limit": options.limit, "capacities": json.dumps(capacities)}
    return connection.execute(_CANDIDATES[connection.dialect.name], values).all()


def _start_times(
    connection: Connection, options: LeaseOptions, candidates: Sequence[Row[int, str]]
) -> dict[int, datetime]:
    """Return, by id, when each request may be sent, and store when their hosts may be asked next.

    Requests are left out if another crawl has used up the capacity of their host in the meantime.
    """
    hosts = _lock_hosts(connection, {row.host for row in candidates})
    available = {
        name: availability.available_at(options.now, options.max_pause_seconds) for name, availability in hosts.items()
    }
    starts = {}
    for row in candidates:
        start = available.get(row.host, options.now)
        if start <= options.horizon:
            starts[row.id] = start
            if row.host in hosts:
                available[row.host] = start + timedelta(seconds=hosts[row.host].delay)
    _set_next_times(connection, {name: time for name, time in available.items() if hosts[name].delay > 0})
    return starts


def _lease_rows(connection: Connection, options: LeaseOptions, starts: Mapping[int, datetime]) -> list[LeasedRequest]:
    values = {"ids": list(starts), "lease": options.lease_id, "until": options.until}
    leased = {row[0]: _leased_request(row, starts[row[0]]) for row in connection.execute(_LEASE, values)}
    return [leased[request_id] for request_id in starts if request_id in leased]


def _leased_request(row: Row[Any], start_at: datetime) -> LeasedRequest:
    record = RequestRecord(*tuple(row)[4:])
    was_lost = row.outcome == _LEASE_EXPIRED
    return LeasedRequest(LeaseToken(row.id, row.lease_id), record, row.attempts, start_at, was_lost)

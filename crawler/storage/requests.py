"""The queue of requests: added, leased to one worker each, acknowledged; and the hosts that set its pace."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlalchemy import Float, Text, bindparam, case, func, literal_column, select, text, update
from sqlalchemy.dialects import postgresql, sqlite

from cleaning.terms import normalise
from crawler.storage.locks import LOCK_KEYS, lock
from crawler.storage.tables import UtcDateTime, batched, host, request
from crawler.visit import LeaseToken, RequestRecord

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, TextClause
    from sqlalchemy.engine import Connection, Row
    from sqlalchemy.sql.selectable import TextualSelect


ERROR_LENGTH_MAX = 500
NOT_DUE = "not_due"
"""The outcome of a request that was never made: for a page, stored before, whose next visit is another day."""


class RequestState(StrEnum):
    """Where a request is on its way; a closed set."""

    QUEUED = "queued"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AddedRequests:
    """How many requests are new in the queue, and the keys of those that are new and not to be made."""

    queued: int
    spared: frozenset[str]


@dataclass(frozen=True, slots=True)
class Ack:
    """What became of a leased request; QUEUED lets it be leased again, not before a moment, as a further attempt.

    Of `error` the first `MOST_ERROR` characters are stored. Raises ValueError for LEASED, which is no end.
    """

    lease_token: LeaseToken
    state: RequestState
    outcome: str
    error: str | None = None
    not_before: datetime | None = None

    def __post_init__(self) -> None:
        if self.state is RequestState.LEASED:
            raise ValueError(f"request {self.lease_token.request_id} cannot end as {self.state}")


_INSERT_REQUEST = {
    dialect: new(request).on_conflict_do_nothing(index_elements=["crawl_id", "key"]).returning(request.c.key)
    for dialect, new in (("sqlite", sqlite.insert), ("postgresql", postgresql.insert))
}
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
_NOT_DUE_VALUES: dict[str, Any] = {"state": RequestState.DONE.value, "outcome": NOT_DUE}
_RELEASED_VALUES = {"state": RequestState.QUEUED.value, "lease_id": None, "lease_until": None}
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
    """Return the time that all workers of a database agree on: the server's, or this machine's on SQLite."""
    if connection.dialect.name == "sqlite":
        return datetime.now(UTC)
    now = connection.scalar(select(func.clock_timestamp()))
    assert isinstance(now, datetime)  # always
    return now.astimezone(UTC)


def add_requests(connection: Connection, crawl_id: int, wanted: Sequence[RequestRecord], now: datetime) -> int:
    """Store the requests whose keys the crawl does not have yet, and return how many those are.

    Once in a transaction: a second time could wait for another writer that waits for this one.
    """
    return add_due_requests(connection, crawl_id, wanted, frozenset(), now).queued


def add_due_requests(
    connection: Connection, crawl_id: int, wanted: Sequence[RequestRecord], spared: Collection[str], now: datetime
) -> AddedRequests:
    """Store requests as `add` does; those with a key among the spared ones as done, which they are not to be."""
    rows = [
        _request_row(one, crawl_id, now) | (_NOT_DUE_VALUES | {"ended": now} if one.key in spared else _QUEUED_VALUES)
        for one in sorted(wanted, key=lambda one: one.key)
    ]
    new = frozenset(connection.scalars(_INSERT_REQUEST[connection.dialect.name], rows)) if rows else frozenset()
    return AddedRequests(len(new.difference(spared)), new.intersection(spared))


def acknowledge_requests(connection: Connection, endings: Sequence[Ack], now: datetime) -> set[int]:
    """Store what became of leased requests, and return the ids of those whose lease held; the others were lost.

    Nobody takes away the leases that held until the end of the transaction.
    """
    held = _lock_leased(connection, [one.lease_token for one in endings])
    rows = {one.lease_token.request_id: _ack_row(one, now) for one in endings if one.lease_token in held}
    if rows:
        connection.execute(_ACKNOWLEDGE, [rows[request_id] for request_id in sorted(rows)])
    return set(rows)


def release_leases(connection: Connection, lease_tokens: Sequence[LeaseToken]) -> None:
    """Give leased requests back as if they had not been leased; those whose lease is lost stay as they are."""
    ids = sorted(lease_token.request_id for lease_token in _lock_leased(connection, lease_tokens))
    for part in batched(ids):
        connection.execute(update(request).where(request.c.id.in_(part)).values(_RELEASED_VALUES))


def renew_lease(connection: Connection, crawl_id: int, lease_id: str, until: datetime) -> int:
    """Let a lease last until a later moment, and return how many requests it still has.

    Requests that another transaction acknowledges at this moment are not among them.
    """
    mine = select(request.c.id).where(*is_leased(crawl_id), request.c.lease_id == lease_id)
    statement = update(request).where(request.c.id.in_(mine.with_for_update(skip_locked=True)))
    return connection.execute(statement.values(lease_until=until)).rowcount


def release_all_leases(connection: Connection, crawl_id: int) -> int:
    """Give all leased requests of a crawl back, whoever has them, and return how many there were.

    For SQLite, where a crawl has one process: what is leased when it opens is left from one that died.
    """
    return connection.execute(update(request).where(*is_leased(crawl_id)).values(_RELEASED_VALUES)).rowcount


def is_queued(crawl_id: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of a crawl's queued requests, in the form that the index of them serves."""
    return _is_in(crawl_id, RequestState.QUEUED)


def is_leased(crawl_id: int) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of a crawl's leased requests, in the form that the index of them serves."""
    return _is_in(crawl_id, RequestState.LEASED)


def _is_in(crawl_id: int, state: RequestState) -> tuple[ColumnElement[bool], ...]:
    # The state as a literal: with a bound value the database cannot know that its partial index serves.
    return request.c.crawl_id == crawl_id, request.c.state == literal_column(f"'{state.value}'")


def _lock_leased(connection: Connection, lease_tokens: Sequence[LeaseToken]) -> set[LeaseToken]:
    """Lock the requests whose leases hold, and return their lease_tokens."""
    ordered = sorted(lease_tokens, key=lambda lease_token: lease_token.request_id)
    found: set[LeaseToken] = set()
    for part in batched(ordered):
        values = {"ids": [one.request_id for one in part], "leases": list({one.lease_id for one in part})}
        found.update(LeaseToken(*row) for row in connection.execute(_LOCK_LEASED, values))
    return found.intersection(lease_tokens)


def _request_row(wanted: RequestRecord, crawl_id: int, now: datetime) -> dict[str, Any]:
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


def _ack_row(ending: Ack, now: datetime) -> dict[str, Any]:
    again = ending.state is RequestState.QUEUED
    return {
        "request_id": ending.lease_token.request_id,
        "new_state": ending.state.value,
        "tried": int(again),
        "new_not_before": ending.not_before,
        "new_outcome": ending.outcome,
        "new_error": None if ending.error is None else normalise(ending.error)[:ERROR_LENGTH_MAX],
        "new_ended": None if again else now,
    }


PAUSE_SECONDS_MAX = 3600.0
_HOSTS_PER_QUERY = 200
_WAITING_MAX = 1_000  # of which the first is looked for
_OF_HOST = "crawl_id = :crawl AND state = 'queued' AND request.host = waiting.host"
_LAST_HOST = "\U0010ffff"  # sorts behind every host
_PLAUSIBLE_DELAYS = 10
_PLAUSIBLE_SECONDS_MIN = 60.0
_DOUBLINGS_MAX = 30


@dataclass(frozen=True, slots=True)
class HostAvailability:
    """When a host may be asked: each `delay` seconds, from `next_at` on, not while it is paused.

    `waits_until` is when a queued request of it is due; None where one is due now.
    """

    host: str
    next_at: datetime | None = None
    delay: float = 0.0
    paused_until: datetime | None = None
    waits_until: datetime | None = None

    def opens(self, now: datetime, most_pause_seconds: float) -> datetime:
        """Return when the next request may be sent to the host: now or later."""
        farthest = _PLAUSIBLE_DELAYS * max(self.delay, _PLAUSIBLE_SECONDS_MIN)
        moments = (_plausible(self.next_at, now, farthest), _plausible(self.paused_until, now, most_pause_seconds))
        return max(now, *(moment for moment in moments if moment is not None), self.waits_until or now)


def _plausible(moment: datetime | None, now: datetime, farthest_seconds: float) -> datetime | None:
    return None if moment is None or (moment - now).total_seconds() > farthest_seconds else moment


def _hosts_statement(first: str) -> TextualSelect:
    """Return the statement that finds the next hosts with queued requests, by seeking the index from each to the next.

    A DISTINCT would read all requests, and so might PostgreSQL for an EXISTS or a min(): it does not where rows are
    wanted in the order of the index, and only so many.
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


def available_hosts(
    connection: Connection, crawl_id: int, now: datetime, after_host: str = ""
) -> Iterator[HostAvailability]:
    """Give the hosts with queued requests: those behind `after_host` first, in order, then the others.

    They are looked for as they are asked for, `_HOSTS_A_LOOK` at a time.
    """
    known = {"crawl": crawl_id, "now": now, "most": _HOSTS_PER_QUERY}
    if after_host:
        yield from _hosts_between(connection, _HOSTS_AFTER, known | {"after": after_host, "last": _LAST_HOST})
    yield from _hosts_between(connection, _HOSTS_FROM, known | {"after": "", "last": after_host or _LAST_HOST})


def lock_hosts(connection: Connection, names: Collection[str]) -> dict[str, HostAvailability]:
    """Return the gates of those hosts that have any, as they are now and will be until the transaction ends."""
    rows = connection.execute(_LOCK_HOSTS, {"names": list(names)}) if names else ()
    return {row[0]: HostAvailability(*row) for row in rows}


def set_next_times(connection: Connection, moments: Mapping[str, datetime]) -> None:
    """Note for hosts, which the transaction has locked, when each may be asked next."""
    statement = update(host).where(host.c.host == bindparam("name")).values(next_at=bindparam("moment"))
    if moments:
        connection.execute(statement, [{"name": name, "moment": moments[name]} for name in sorted(moments)])


def pause_host(
    connection: Connection, name: str, now: datetime, reason: str, *, first_seconds: float, most_seconds: float
) -> datetime:
    """Let a host that has refused us rest, and return until when.

    For `first_seconds` at the first refusal, twice as long at each further one in a row, `most_seconds` at most. What
    it refuses while it rests was sent before, and counts no further.
    """
    new = _insert_host(connection).values(host=name, delay=0.0, refusals=0)
    connection.execute(new.on_conflict_do_nothing(index_elements=["host"]))
    columns = select(host.c.paused_until, host.c.refusals).where(host.c.host == name).with_for_update()
    row = connection.execute(columns).one()
    running = _plausible(row.paused_until, now, most_seconds)
    if running is not None and running > now:
        return running
    seconds = min(first_seconds * 2 ** min(row.refusals, _DOUBLINGS_MAX), most_seconds)
    until = now + timedelta(seconds=seconds)
    values = {"paused_until": until, "reason": reason, "refusals": row.refusals + 1}
    connection.execute(update(host).where(host.c.host == name).values(values))
    return until


def reset_refusals(connection: Connection, names: Collection[str]) -> None:
    """Note that hosts have answered as they should: their next refusal is the first in a row."""
    if not names:
        return
    refusing = select(host.c.host).where(host.c.host.in_(names), host.c.refusals > 0)
    in_order = connection.scalars(refusing.order_by(host.c.host).with_for_update()).all()
    if in_order:
        connection.execute(update(host).where(host.c.host.in_(in_order)).values(refusals=0))


def set_host_delays(connection: Connection, delays: Mapping[str, float]) -> None:
    """Note how many seconds shall be between two requests to each host; 0 lets them follow at once."""
    new = _insert_host(connection)
    statement = new.on_conflict_do_update(
        index_elements=["host"],
        set_={"delay": new.excluded.delay},
        where=host.c.delay != new.excluded.delay,
    )
    if delays:
        rows = [{"host": name, "delay": delays[name], "refusals": 0} for name in sorted(delays)]
        connection.execute(statement, rows)


def _insert_host(connection: Connection) -> postgresql.Insert | sqlite.Insert:
    return sqlite.insert(host) if connection.dialect.name == "sqlite" else postgresql.insert(host)


def _hosts_between(
    connection: Connection, statement: TextualSelect, bounds: dict[str, object]
) -> Iterator[HostAvailability]:
    while True:
        found = [HostAvailability(*row) for row in connection.execute(statement, bounds)]
        yield from found
        if len(found) < _HOSTS_PER_QUERY:
            return
        statement, bounds = _HOSTS_AFTER, bounds | {"after": found[-1].host}


LEASE_EXPIRED = "lease_expired"
_RECORD_COLUMNS = [request.c[each.name] for each in fields(RequestRecord)]
_STILL_QUEUED = select(request.c.id).where(
    request.c.id.in_(bindparam("ids", expanding=True)), request.c.state == RequestState.QUEUED.value
)
_LEASE = (
    update(request)
    .where(request.c.id.in_(_STILL_QUEUED.with_for_update(skip_locked=True)))
    .values(state=RequestState.LEASED.value, lease_id=bindparam("lease"), lease_until=bindparam("until"))
    .returning(request.c.id, request.c.lease_id, request.c.attempts, *_RECORD_COLUMNS)
)
_EXPIRED_MAX = 1_000  # a call
_HOSTS_MAX = 200  # whose requests are compared
# A lease, or what is left of it, can be that many times its own length ahead; more, and a clock was set back.
_PLAUSIBLE_LEASE_LENGTHS = 2


@dataclass(frozen=True, slots=True)
class LeaseOptions:
    """What a worker asks for: at most `limit` requests, leased from `now` until a moment.

    A request is given out up to `horizon_seconds` before its host may be asked. `after_host` is the host of the last
    request of the worker's last call, "" at its first. A request whose lease has expired `most_attempts` times
    fails; without `expire` that is not looked for. `most_pause_seconds` is the longest pause that hosts are given.
    """

    lease_id: str
    now: datetime
    until: datetime
    horizon_seconds: float
    limit: int = 32
    after_host: str = ""
    most_attempts: int = 3
    most_pause_seconds: float = PAUSE_SECONDS_MAX
    expire: bool = True

    @property
    def horizon(self) -> datetime:
        return self.now + timedelta(seconds=self.horizon_seconds)

    def room(self, gate: HostAvailability) -> int:
        """Return how many requests to a host may be sent within the horizon, up to the limit."""
        left = (self.horizon - gate.opens(self.now, self.most_pause_seconds)).total_seconds()
        if left < 0:
            return 0
        return self.limit if gate.delay <= 0 else min(self.limit, 1 + int(left / gate.delay))


@dataclass(frozen=True, slots=True)
class LeasedRequest:
    """A request that is this worker's; it must not be sent before `start_at`."""

    lease_token: LeaseToken
    record: RequestRecord
    attempts: int
    start_at: datetime

    def child(self, number: int) -> str:
        """Return what sets a request that this one leads to apart from equal ones, however often it is begun."""
        return f"{self.lease_token.request_id}.{number}"


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """What there is to come: `queued` is 1 where anything is queued, `leased` counts what others hold or have lost.

    `ready_at` is when something can be leased, at the latest: a host may be asked, or a lease of others expires. None
    where there is nothing queued and nothing leased by others.
    """

    queued: int
    leased: int
    ready_at: datetime | None


_IS_READY = "crawl_id = :crawl AND state = 'queued' AND (not_before IS NULL OR not_before <= :now)"
# The best `limit` of the rooms' hosts, and of those the best `limit` requests: others cannot be among them.
_CANDIDATES_SQL = {
    "sqlite": f"""
    WITH best AS MATERIALIZED (
        SELECT key AS turn, value ->> 0 AS host, value ->> 1 AS most, (
            SELECT priority FROM request WHERE {_IS_READY} AND request.host = json_each.value ->> 0
            ORDER BY priority DESC, id LIMIT 1
        ) AS top
        FROM json_each(:rooms) ORDER BY top DESC, turn LIMIT :limit
    ), ranked AS (
        SELECT request.id, request.host, priority, turn, most,
            row_number() OVER (PARTITION BY turn ORDER BY priority DESC, request.id) AS rank
        FROM best CROSS JOIN request
        WHERE request.id IN (
            SELECT id FROM request WHERE {_IS_READY} AND request.host = best.host ORDER BY priority DESC, id LIMIT
            :limit
        )
    )
    SELECT id, host FROM ranked WHERE rank <= most ORDER BY priority DESC, rank, turn LIMIT :limit
    """,  # noqa: S608 — of constants
    "postgresql": f"""
    WITH room AS MATERIALIZED (
        SELECT turn, value ->> 0 AS host, CAST(value ->> 1 AS int) AS most
        FROM json_array_elements(CAST(:rooms AS json)) WITH ORDINALITY AS rooms(value, turn)
    ), best AS MATERIALIZED (
        SELECT room.* FROM room CROSS JOIN LATERAL (
            SELECT priority FROM request WHERE {_IS_READY} AND request.host = room.host
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


def lease_requests(connection: Connection, crawl_id: int, terms: LeaseOptions) -> list[LeasedRequest]:
    """Lease requests of a crawl, and return them in the order in which to send them; [] where none may be sent soon.

    First in its transaction: the leases of one crawl take turns.
    """
    lock(connection, [LOCK_KEYS + crawl_id % LOCK_KEYS])
    if terms.expire:
        _expire_leases(connection, crawl_id, terms)
    hosts = available_hosts(connection, crawl_id, terms.now, terms.after_host)
    rooms = ((gate.host, room) for gate in hosts if (room := terms.room(gate)))
    found = list(islice(rooms, max(_HOSTS_MAX, terms.limit)))
    starts = _start_times(connection, terms, _select_candidates(connection, crawl_id, terms, found)) if found else {}
    return _lease_rows(connection, terms, starts) if starts else []


def queue_status(
    connection: Connection,
    crawl_id: int,
    now: datetime,
    lease_id: str,
    most_pause_seconds: float = PAUSE_SECONDS_MAX,
) -> QueueStatus:
    """Return what there is to come for a worker, besides what it has leased itself."""
    count, expires = connection.execute(
        # Expired ones too: nobody has looked for them since, and what they were for is still to be done.
        select(func.count(), func.min(request.c.lease_until)).where(
            *is_leased(crawl_id), request.c.lease_id != lease_id
        )
    ).one()
    opens = _first_available(connection, crawl_id, now, most_pause_seconds)
    moments = [moment for moment in (opens, expires) if moment is not None]
    return QueueStatus(int(opens is not None), count, max(now, min(moments)) if moments else None)


def _first_available(
    connection: Connection, crawl_id: int, now: datetime, most_pause_seconds: float
) -> datetime | None:
    """Return when the first of the hosts with queued requests may be asked; None where there are none."""
    first = None
    for gate in available_hosts(connection, crawl_id, now):
        opens = gate.opens(now, most_pause_seconds)
        first = opens if first is None else min(first, opens)
        if first <= now:
            break
    return first


def _select_candidates(
    connection: Connection, crawl_id: int, terms: LeaseOptions, rooms: Sequence[tuple[str, int]]
) -> Sequence[Row[int, str]]:
    """Return the requests to lease, with their hosts, in order: of the hosts, in turn, at most so many each."""
    values = {"crawl": crawl_id, "now": terms.now, "limit": terms.limit, "rooms": json.dumps(rooms)}
    return connection.execute(_CANDIDATES[connection.dialect.name], values).all()


def _start_times(
    connection: Connection, terms: LeaseOptions, candidates: Sequence[Row[int, str]]
) -> dict[int, datetime]:
    """Return, by id, when each request may be sent, and note when their hosts may be asked next.

    Requests for which another crawl's left no room in the meantime are not among them.
    """
    gates = lock_hosts(connection, {row.host for row in candidates})
    opens = {name: gate.opens(terms.now, terms.most_pause_seconds) for name, gate in gates.items()}
    starts = {}
    for row in candidates:
        start = opens.get(row.host, terms.now)
        if start <= terms.horizon:
            starts[row.id] = start
            if row.host in gates:
                opens[row.host] = start + timedelta(seconds=gates[row.host].delay)
    set_next_times(connection, {name: moment for name, moment in opens.items() if gates[name].delay > 0})
    return starts


def _lease_rows(connection: Connection, terms: LeaseOptions, starts: Mapping[int, datetime]) -> list[LeasedRequest]:
    values = {"ids": list(starts), "lease": terms.lease_id, "until": terms.until}
    taken = {row[0]: _leased_request(row, starts[row[0]]) for row in connection.execute(_LEASE, values)}
    return [taken[request_id] for request_id in starts if request_id in taken]


def _leased_request(row: Row[Any], start_at: datetime) -> LeasedRequest:
    return LeasedRequest(LeaseToken(row.id, row.lease_id), RequestRecord(*tuple(row)[3:]), row.attempts, start_at)


def _expire_leases(connection: Connection, crawl_id: int, terms: LeaseOptions) -> None:
    """Queue again what is leased for too long, or let it fail after too many attempts."""
    hopeless = request.c.attempts + 1 >= terms.most_attempts
    values = {
        "state": case((hopeless, RequestState.FAILED.value), else_=RequestState.QUEUED.value),
        "attempts": request.c.attempts + 1,
        "lease_id": None,
        "lease_until": None,
        "outcome": LEASE_EXPIRED,
        "ended": case((hopeless, terms.now)),
    }
    farthest = terms.now + _PLAUSIBLE_LEASE_LENGTHS * (terms.until - terms.now)
    for expired in (request.c.lease_until < terms.now, request.c.lease_until > farthest):
        # In the order of the index, which makes PostgreSQL read and tidy just that: the entries of all leases that
        # ever were stand in it until then. Rows that are locked are being acknowledged.
        ids = select(request.c.id).where(*is_leased(crawl_id), expired).order_by(request.c.lease_until)
        some = ids.limit(_EXPIRED_MAX).with_for_update(skip_locked=True)
        connection.execute(update(request).where(request.c.id.in_(some)).values(values))

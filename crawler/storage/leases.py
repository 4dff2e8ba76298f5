"""Which requests a worker gets next: hosts in turn, each at its own pace, the greatest priority first.

Expired leases are handed on first. Then the hosts with queued requests are looked at, from where the last call
stopped. Of those that may be asked within the horizon the best requests are taken, as many as each host's delay lets
through in that time. With the same priority each host gives one before any gives its second.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, case, func, select, text, update

from crawler.storage.columns import Moment
from crawler.storage.frontier import RequestState, Ticket, Wanted, is_leased
from crawler.storage.hosts import MOST_PAUSE_SECONDS, in_turn, locked, move_on
from crawler.storage.locks import KEYS, lock
from crawler.storage.models import request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy.engine import Connection, Row

    from crawler.storage.hosts import Gate

LEASE_EXPIRED = "lease_expired"
_WANTED = [request.c[each.name] for each in fields(Wanted)]
_FREE = select(request.c.id).where(
    request.c.id.in_(bindparam("ids", expanding=True)), request.c.state == RequestState.QUEUED.value
)
_TAKE = (
    update(request)
    .where(request.c.id.in_(_FREE.with_for_update(skip_locked=True)))
    .values(state=RequestState.LEASED.value, lease_id=bindparam("lease"), lease_until=bindparam("until"))
    .returning(request.c.id, request.c.lease_id, request.c.attempts, *_WANTED)
)
_MOST_EXPIRED = 1_000  # a call
_MOST_HOSTS = 200  # whose requests are compared
# A lease, or what is left of it, can be that many times its own length ahead; more, and a clock was set back.
_FARTHEST_LENGTHS = 2


@dataclass(frozen=True, slots=True)
class Terms:
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
    most_pause_seconds: float = MOST_PAUSE_SECONDS
    expire: bool = True

    @property
    def horizon(self) -> datetime:
        return self.now + timedelta(seconds=self.horizon_seconds)

    def room(self, gate: Gate) -> int:
        """Return how many requests to a host may be sent within the horizon, up to the limit."""
        left = (self.horizon - gate.opens(self.now, self.most_pause_seconds)).total_seconds()
        if left < 0:
            return 0
        return self.limit if gate.delay <= 0 else min(self.limit, 1 + int(left / gate.delay))


@dataclass(frozen=True, slots=True)
class Leased:
    """A request that is this worker's; it must not be sent before `start_at`."""

    ticket: Ticket
    wanted: Wanted
    attempts: int
    start_at: datetime

    def child(self, number: int) -> str:
        """Return what sets a request that this one leads to apart from equal ones, however often it is begun."""
        return f"{self.ticket.request_id}.{number}"


@dataclass(frozen=True, slots=True)
class Outlook:
    """What there is to come: `queued` is 1 where anything is queued, `leased` counts what others hold or have lost.

    `ready_at` is when something can be leased, at the latest: a host may be asked, or a lease of others expires. None
    where there is nothing queued and nothing leased by others.
    """

    queued: int
    leased: int
    ready_at: datetime | None


_DUE = "crawl_id = :crawl AND state = 'queued' AND (not_before IS NULL OR not_before <= :now)"
# The best `limit` of the rooms' hosts, and of those the best `limit` requests: others cannot be among them.
_CANDIDATE_SQL = {
    "sqlite": f"""
    WITH best AS MATERIALIZED (
        SELECT key AS turn, value ->> 0 AS host, value ->> 1 AS most, (
            SELECT priority FROM request WHERE {_DUE} AND request.host = json_each.value ->> 0
            ORDER BY priority DESC, id LIMIT 1
        ) AS top
        FROM json_each(:rooms) ORDER BY top DESC, turn LIMIT :limit
    ), ranked AS (
        SELECT request.id, request.host, priority, turn, most,
            row_number() OVER (PARTITION BY turn ORDER BY priority DESC, request.id) AS rank
        FROM best CROSS JOIN request
        WHERE request.id IN (
            SELECT id FROM request WHERE {_DUE} AND request.host = best.host ORDER BY priority DESC, id LIMIT :limit
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
            SELECT priority FROM request WHERE {_DUE} AND request.host = room.host
            ORDER BY priority DESC, id LIMIT 1
        ) AS top
        ORDER BY priority DESC, turn LIMIT :limit
    )
    SELECT id, host FROM best CROSS JOIN LATERAL (
        SELECT id, priority, row_number() OVER (ORDER BY priority DESC, id) AS rank FROM (
            SELECT id, priority FROM request WHERE {_DUE} AND request.host = best.host
            ORDER BY priority DESC, id LIMIT best.most
        ) AS first
    ) AS ranked
    ORDER BY priority DESC, rank, turn LIMIT :limit
    """,  # noqa: S608 — of constants
}
_CANDIDATES = {
    dialect: text(statement).bindparams(bindparam("now", type_=Moment)) for dialect, statement in _CANDIDATE_SQL.items()
}


def lease(connection: Connection, crawl_id: int, terms: Terms) -> list[Leased]:
    """Lease requests of a crawl, and return them in the order in which to send them; [] where none may be sent soon.

    First in its transaction: the leases of one crawl take turns.
    """
    lock(connection, [KEYS + crawl_id % KEYS])
    if terms.expire:
        _expire(connection, crawl_id, terms)
    hosts = in_turn(connection, crawl_id, terms.now, terms.after_host)
    rooms = ((gate.host, room) for gate in hosts if (room := terms.room(gate)))
    found = list(islice(rooms, max(_MOST_HOSTS, terms.limit)))
    starts = _starts(connection, terms, _candidates(connection, crawl_id, terms, found)) if found else {}
    return _take(connection, terms, starts) if starts else []


def outlook(
    connection: Connection,
    crawl_id: int,
    now: datetime,
    lease_id: str,
    most_pause_seconds: float = MOST_PAUSE_SECONDS,
) -> Outlook:
    """Return what there is to come for a worker, besides what it has leased itself."""
    count, expires = connection.execute(
        # Expired ones too: nobody has looked for them since, and what they were for is still to be done.
        select(func.count(), func.min(request.c.lease_until)).where(
            *is_leased(crawl_id), request.c.lease_id != lease_id
        )
    ).one()
    opens = _opens(connection, crawl_id, now, most_pause_seconds)
    moments = [moment for moment in (opens, expires) if moment is not None]
    return Outlook(int(opens is not None), count, max(now, min(moments)) if moments else None)


def _opens(connection: Connection, crawl_id: int, now: datetime, most_pause_seconds: float) -> datetime | None:
    """Return when the first of the hosts with queued requests may be asked; None where there are none."""
    first = None
    for gate in in_turn(connection, crawl_id, now):
        opens = gate.opens(now, most_pause_seconds)
        first = opens if first is None else min(first, opens)
        if first <= now:
            break
    return first


def _candidates(
    connection: Connection, crawl_id: int, terms: Terms, rooms: Sequence[tuple[str, int]]
) -> Sequence[Row[int, str]]:
    """Return the requests to lease, with their hosts, in order: of the hosts, in turn, at most so many each."""
    values = {"crawl": crawl_id, "now": terms.now, "limit": terms.limit, "rooms": json.dumps(rooms)}
    return connection.execute(_CANDIDATES[connection.dialect.name], values).all()


def _starts(connection: Connection, terms: Terms, candidates: Sequence[Row[int, str]]) -> dict[int, datetime]:
    """Return, by id, when each request may be sent, and note when their hosts may be asked next.

    Requests for which another crawl's left no room in the meantime are not among them.
    """
    gates = locked(connection, {row.host for row in candidates})
    opens = {name: gate.opens(terms.now, terms.most_pause_seconds) for name, gate in gates.items()}
    starts = {}
    for row in candidates:
        start = opens.get(row.host, terms.now)
        if start <= terms.horizon:
            starts[row.id] = start
            if row.host in gates:
                opens[row.host] = start + timedelta(seconds=gates[row.host].delay)
    move_on(connection, {name: moment for name, moment in opens.items() if gates[name].delay > 0})
    return starts


def _take(connection: Connection, terms: Terms, starts: Mapping[int, datetime]) -> list[Leased]:
    values = {"ids": list(starts), "lease": terms.lease_id, "until": terms.until}
    taken = {row[0]: _leased(row, starts[row[0]]) for row in connection.execute(_TAKE, values)}
    return [taken[request_id] for request_id in starts if request_id in taken]


def _leased(row: Row[Any], start_at: datetime) -> Leased:
    return Leased(Ticket(row.id, row.lease_id), Wanted(*tuple(row)[3:]), row.attempts, start_at)


def _expire(connection: Connection, crawl_id: int, terms: Terms) -> None:
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
    farthest = terms.now + _FARTHEST_LENGTHS * (terms.until - terms.now)
    for expired in (request.c.lease_until < terms.now, request.c.lease_until > farthest):
        # In the order of the index, which makes PostgreSQL read and tidy just that: the entries of all leases that
        # ever were stand in it until then. Rows that are locked are being acknowledged.
        ids = select(request.c.id).where(*is_leased(crawl_id), expired).order_by(request.c.lease_until)
        some = ids.limit(_MOST_EXPIRED).with_for_update(skip_locked=True)
        connection.execute(update(request).where(request.c.id.in_(some)).values(values))

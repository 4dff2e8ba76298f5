"""Hosts: which have requests in the queue, when each may be asked again, pauses. The caller owns the transaction.

What is stored of a host is shared by all crawls and workers of the database, so that together they keep its delay.
Moments too far ahead to be meant are taken as passed: whoever wrote them had a clock that was set back since.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import Float, Text, bindparam, select, text, update
from sqlalchemy.dialects import postgresql, sqlite

from crawler.storage.columns import Moment
from crawler.storage.models import host

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from sqlalchemy import TextClause
    from sqlalchemy.engine import Connection
    from sqlalchemy.sql.selectable import TextualSelect

MOST_PAUSE_SECONDS = 3600.0
_HOSTS_A_LOOK = 200
_MOST_WAITING = 1_000  # of which the first is looked for
_OF_HOST = "crawl_id = :crawl AND state = 'queued' AND request.host = waiting.host"
_LAST = "\U0010ffff"  # sorts behind every host
_FARTHEST_DELAYS = 10
_LEAST_SECONDS = 60.0
_MOST_DOUBLINGS = 30


@dataclass(frozen=True, slots=True)
class Gate:
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
        farthest = _FARTHEST_DELAYS * max(self.delay, _LEAST_SECONDS)
        moments = (_meant(self.next_at, now, farthest), _meant(self.paused_until, now, most_pause_seconds))
        return max(now, *(moment for moment in moments if moment is not None), self.waits_until or now)


def _meant(moment: datetime | None, now: datetime, farthest_seconds: float) -> datetime | None:
    return None if moment is None or (moment - now).total_seconds() > farthest_seconds else moment


def _looking(first: str) -> TextualSelect:
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
                SELECT not_before FROM request WHERE {_OF_HOST} ORDER BY priority DESC, id LIMIT {_MOST_WAITING}
            ) AS best
        ) END AS waits_until
    FROM waiting LEFT JOIN host ON host.host = waiting.host
    WHERE waiting.host IS NOT NULL
    ORDER BY waiting.host
    """)  # noqa: S608 — of constants
    kinds = {"host": Text, "next_at": Moment, "delay": Float, "paused_until": Moment, "waits_until": Moment}
    return statement.bindparams(bindparam("now", type_=Moment)).columns(**kinds)


_FROM = _looking(">=")
_BEHIND = _looking(">")
_GATES = (
    select(host.c.host, host.c.next_at, host.c.delay, host.c.paused_until)
    .where(host.c.host.in_(bindparam("names", expanding=True)))
    .order_by(host.c.host)
    .with_for_update()
)


def in_turn(connection: Connection, crawl_id: int, now: datetime, after_host: str = "") -> Iterator[Gate]:
    """Give the hosts with queued requests: those behind `after_host` first, in order, then the others.

    They are looked for as they are asked for, `_HOSTS_A_LOOK` at a time.
    """
    known = {"crawl": crawl_id, "now": now, "most": _HOSTS_A_LOOK}
    if after_host:
        yield from _between(connection, _BEHIND, known | {"after": after_host, "last": _LAST})
    yield from _between(connection, _FROM, known | {"after": "", "last": after_host or _LAST})


def locked(connection: Connection, names: Collection[str]) -> dict[str, Gate]:
    """Return the gates of those hosts that have any, as they are now and will be until the transaction ends."""
    rows = connection.execute(_GATES, {"names": list(names)}) if names else ()
    return {row[0]: Gate(*row) for row in rows}


def move_on(connection: Connection, moments: Mapping[str, datetime]) -> None:
    """Note for hosts, which the transaction has locked, when each may be asked next."""
    statement = update(host).where(host.c.host == bindparam("name")).values(next_at=bindparam("moment"))
    if moments:
        connection.execute(statement, [{"name": name, "moment": moments[name]} for name in sorted(moments)])


def pause(
    connection: Connection, name: str, now: datetime, reason: str, *, first_seconds: float, most_seconds: float
) -> datetime:
    """Let a host that has refused us rest, and return until when.

    For `first_seconds` at the first refusal, twice as long at each further one in a row, `most_seconds` at most. What
    it refuses while it rests was sent before, and counts no further.
    """
    new = _insert(connection).values(host=name, delay=0.0, refusals=0)
    connection.execute(new.on_conflict_do_nothing(index_elements=["host"]))
    columns = select(host.c.paused_until, host.c.refusals).where(host.c.host == name).with_for_update()
    row = connection.execute(columns).one()
    running = _meant(row.paused_until, now, most_seconds)
    if running is not None and running > now:
        return running
    seconds = min(first_seconds * 2 ** min(row.refusals, _MOST_DOUBLINGS), most_seconds)
    until = now + timedelta(seconds=seconds)
    values = {"paused_until": until, "reason": reason, "refusals": row.refusals + 1}
    connection.execute(update(host).where(host.c.host == name).values(values))
    return until


def served(connection: Connection, names: Collection[str]) -> None:
    """Note that hosts have answered as they should: their next refusal is the first in a row."""
    if not names:
        return
    refusing = select(host.c.host).where(host.c.host.in_(names), host.c.refusals > 0)
    in_order = connection.scalars(refusing.order_by(host.c.host).with_for_update()).all()
    if in_order:
        connection.execute(update(host).where(host.c.host.in_(in_order)).values(refusals=0))


def set_delays(connection: Connection, delays: Mapping[str, float]) -> None:
    """Note how many seconds shall be between two requests to each host; 0 lets them follow at once."""
    new = _insert(connection)
    statement = new.on_conflict_do_update(
        index_elements=["host"],
        set_={"delay": new.excluded.delay},
        where=host.c.delay != new.excluded.delay,
    )
    if delays:
        rows = [{"host": name, "delay": delays[name], "refusals": 0} for name in sorted(delays)]
        connection.execute(statement, rows)


def _insert(connection: Connection) -> postgresql.Insert | sqlite.Insert:
    return sqlite.insert(host) if connection.dialect.name == "sqlite" else postgresql.insert(host)


def _between(connection: Connection, statement: TextualSelect, bounds: dict[str, object]) -> Iterator[Gate]:
    while True:
        found = [Gate(*row) for row in connection.execute(statement, bounds)]
        yield from found
        if len(found) < _HOSTS_A_LOOK:
            return
        statement, bounds = _BEHIND, bounds | {"after": found[-1].host}

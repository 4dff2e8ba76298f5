"""What goes between a crawl and the frontier in the database: new requests and ends are told, leases are taken."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from crawler.storage import frontier, hosts, revisits
from crawler.storage.crawls import mark_seeded
from crawler.storage.leases import Terms, lease, outlook
from crawler.storage.models import request

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from crawler.storage.frontier import Ending, Ticket, Wanted
    from crawler.storage.leases import Leased, Outlook
    from crawler.storage.revisits import Known, Reader

_HORIZON_SECONDS = 2.0  # how far ahead of a host's next turn its requests are leased


@dataclass(frozen=True, slots=True)
class Worker:
    """One process at one crawl: under which name it leases, for how long, how often a request may be lost.

    `most_pause_seconds` is the longest time that a host may be left alone: what says more is an error of the clock.
    Without a `reader` all pages are fetched whole.
    """

    crawl_id: int
    lease_id: str
    lease_seconds: float
    most_attempts: int
    most_pause_seconds: float
    reader: Reader | None = None
    is_recrawl: bool = False


@dataclass(frozen=True, slots=True)
class News:
    """What a process has to tell: requests it wants, ends of those it had, those it gives back, that all are seeded.

    `delays` are those of the hosts, in seconds, as they are now; to `renew` is to keep the leases that are held.
    """

    wanted: tuple[Wanted, ...] = ()
    endings: tuple[Ending, ...] = ()
    returned: tuple[Ticket, ...] = ()
    seeded: bool = False
    renew: bool = False
    delays: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Taken:
    """Leases taken, with the database's clock; `outlook` is given where there were fewer than asked for.

    `known` has, by the request's id, what is stored of pages that need not be read again where they have not changed.
    """

    now: datetime
    leased: tuple[Leased, ...]
    outlook: Outlook | None
    known: Mapping[int, Known] = field(default_factory=dict)


def tell(connection: Connection, worker: Worker, news: News) -> int:
    """Store the news, all or nothing; return how many wanted requests a re-crawl does not make, as they are not due."""
    now = frontier.clock(connection)
    if news.endings:
        frontier.acknowledge(connection, news.endings, now)
    frontier.release(connection, news.returned)
    if news.renew:
        until = now + timedelta(seconds=worker.lease_seconds)
        frontier.renew(connection, worker.crawl_id, worker.lease_id, until)
    spared = revisits.not_due(connection, news.wanted, now) if worker.is_recrawl else frozenset()
    added = frontier.add_some(connection, worker.crawl_id, news.wanted, spared, now)
    if news.seeded:
        mark_seeded(connection, worker.crawl_id, now)
    if news.delays:
        hosts.set_delays(connection, news.delays)
    return len(added.spared)


def take(connection: Connection, worker: Worker, room: int, after_host: str, *, expire: bool = True) -> Taken:
    """Lease up to so many requests, of the hosts that come after one before those that come before it.

    With `expire` requests are handed on first whose leases have expired.
    """
    now = frontier.clock(connection)
    terms = Terms(
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
    leased = lease(connection, worker.crawl_id, terms)
    short = len(leased) < room
    seen = (worker.crawl_id, now, worker.lease_id, worker.most_pause_seconds)
    ahead = outlook(connection, *seen) if short else None
    known = revisits.known(connection, worker.reader, leased) if worker.reader else {}
    return Taken(now, tuple(leased), ahead, known)


def count(connection: Connection, crawl_id: int) -> int:
    """Return how many requests of a crawl are queued; it takes the longer the more there are."""
    statement = select(func.count()).select_from(request).where(*frontier.is_queued(crawl_id))
    return connection.execute(statement).scalar_one()

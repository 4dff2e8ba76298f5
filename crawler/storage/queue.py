"""What waits in the frontier, and what failed there: for commands to show, and to ask for once more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, literal_column, null, select, update

from crawler.storage.crawls import spider_key
from crawler.storage.frontier import RequestState
from crawler.storage.locks import lock
from crawler.storage.models import CrawlState, crawl, host, page, request, section

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import ColumnElement, Table
    from sqlalchemy.engine import Connection

_MOST_HOSTS = 1_000


@dataclass(frozen=True, slots=True)
class CrawlQueue:
    """The requests of one crawl that are not done; `failed` has their number by outcome.

    `processes` hold leases that have not expired, the last of them until `leased_until`; one that was killed counts
    among them until then.
    """

    crawl_id: int
    spider: str
    arguments: dict[str, Any]
    state: str
    queued: int = 0
    leased: int = 0
    leased_until: datetime | None = None
    processes: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostState:
    """A host that is not asked as fast as we can: it has a delay (seconds), or is left alone until a moment."""

    host: str
    delay: float
    paused_until: datetime | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Due:
    """What a re-crawl has to do: pages and sections whose next visit has come, and those that are visited no more."""

    pages: int
    sections: int
    retired_pages: int
    retired_sections: int


@dataclass(frozen=True, slots=True)
class Failed:
    """Which failed requests are meant; None stands for all spiders, hosts or outcomes."""

    spider: str | None = None
    host: str | None = None
    outcome: str | None = None


def queues(connection: Connection, now: datetime) -> list[CrawlQueue]:
    """Return the crawls that are open and those with requests that failed, the latest first."""
    failed = _failed_of(connection, Failed())
    columns = (crawl.c.id, crawl.c.spider, crawl.c.arguments, crawl.c.state)
    statement = select(*columns).where((crawl.c.state == CrawlState.OPEN.value) | crawl.c.id.in_(failed))
    queued, leases = _queued(connection), _leases(connection, now)
    return [
        CrawlQueue(*row, queued.get(row.id, 0), **leases.get(row.id, {}), failed=failed.get(row.id, {}))
        for row in connection.execute(statement.order_by(crawl.c.id.desc()))
    ]


def slow_hosts(connection: Connection, now: datetime) -> list[HostState]:
    """Return the hosts that are left alone now, the longest pause first, then those with a delay, the longest first.

    At most `_MOST_HOSTS` of either.
    """
    is_paused = host.c.paused_until > now
    paused = select(host.c.host, host.c.delay, host.c.paused_until, host.c.reason).where(is_paused)
    delayed = select(host.c.host, host.c.delay, null(), null()).where(host.c.delay > 0, is_paused.is_not(True))
    statements = (
        paused.order_by(host.c.paused_until.desc(), host.c.host),
        delayed.order_by(host.c.delay.desc(), host.c.host),
    )
    return [HostState(*row) for each in statements for row in connection.execute(each.limit(_MOST_HOSTS))]


def due(connection: Connection, now: datetime) -> Due:
    """Return what is due for a re-crawl."""
    return Due(
        _due(connection, page, now),
        _due(connection, section, now),
        _retired(connection, page),
        _retired(connection, section),
    )


def failed(connection: Connection, chosen: Failed) -> list[CrawlQueue]:
    """Return the latest crawl of each spider and arguments that has such failed requests, the latest first."""
    found = _failed_of(connection, chosen)
    columns = (crawl.c.id, crawl.c.spider, crawl.c.arguments, crawl.c.state)
    spiders = select(crawl.c.spider).where(crawl.c.id.in_(found))
    rows = connection.execute(select(*columns).where(crawl.c.spider.in_(spiders)).order_by(crawl.c.id.desc()))
    latest: list[CrawlQueue] = []
    # Not by the database: PostgreSQL's `json` has no equality, and SQLite's is that of texts.
    seen: list[tuple[str, dict[str, Any]]] = []
    for row in rows:
        if (row.spider, row.arguments) not in seen:
            seen.append((row.spider, row.arguments))
            if row.id in found:
                latest.append(CrawlQueue(*row, failed=found[row.id]))
    return latest


def retry(connection: Connection, chosen: Failed) -> list[CrawlQueue]:
    """Queue failed requests again, as if they were new, and return what `failed` did before.

    Their crawls are open again. A process that is at one of them goes on with these too: a crawl is finished only when
    nothing is queued (`crawls.end`). First in its transaction, so that no crawl of these spiders begins meanwhile.
    """
    lock(connection, {spider_key(each.spider) for each in failed(connection, chosen)})
    found = failed(connection, chosen)  # as it is now that nobody changes it
    ids = [each.crawl_id for each in found]
    reopened = {"state": CrawlState.OPEN.value, "finished": None, "reason": None}
    connection.execute(update(crawl).where(crawl.c.id.in_(ids)).values(reopened))
    unset = dict.fromkeys(("not_before", "outcome", "error", "ended"))
    new = unset | {"state": RequestState.QUEUED.value, "attempts": 0}
    connection.execute(update(request).where(*_has_failed(chosen), request.c.crawl_id.in_(ids)).values(new))
    return found


def _has_failed(chosen: Failed) -> list[ColumnElement[bool]]:
    # The state as a literal, so that the index of those that failed serves.
    conditions = [request.c.state == literal_column(f"'{RequestState.FAILED.value}'")]
    if chosen.host is not None:
        conditions.append(request.c.host == chosen.host)
    if chosen.outcome is not None:
        conditions.append(request.c.outcome == chosen.outcome)
    if chosen.spider is not None:
        conditions.append(request.c.crawl_id.in_(select(crawl.c.id).where(crawl.c.spider == chosen.spider)))
    return conditions


def _failed_of(connection: Connection, chosen: Failed) -> dict[int, dict[str, int]]:
    """Return how many requests failed, by crawl and outcome; the most frequent outcome first."""
    number = func.count()
    statement = select(request.c.crawl_id, request.c.outcome, number).where(*_has_failed(chosen))
    grouped = statement.group_by(request.c.crawl_id, request.c.outcome).order_by(number.desc(), request.c.outcome)
    found: dict[int, dict[str, int]] = {}
    for crawl_id, outcome, count in connection.execute(grouped):
        found.setdefault(crawl_id, {})[outcome] = count
    return found


def _queued(connection: Connection) -> dict[int, int]:
    statement = select(request.c.crawl_id, func.count()).where(request.c.state == literal_column("'queued'"))
    return {row[0]: row[1] for row in connection.execute(statement.group_by(request.c.crawl_id))}


def _leases(connection: Connection, now: datetime) -> dict[int, dict[str, Any]]:
    """Return what is leased, by crawl, as `CrawlQueue` has it."""
    statement = select(
        request.c.crawl_id,
        func.count().label("leased"),
        func.max(request.c.lease_until).label("leased_until"),
        func.count(request.c.lease_id.distinct()).filter(request.c.lease_until >= now).label("processes"),
    ).where(request.c.state == literal_column("'leased'"))
    found = {}
    for row in connection.execute(statement.group_by(request.c.crawl_id)).mappings():
        leases = dict(row)
        found[leases.pop("crawl_id")] = leases
    return found


def _due(connection: Connection, table: Table, now: datetime) -> int:
    # Pages of crawls before there were re-crawls have no spider, and are not visited again.
    conditions = (table.c.retired_at.is_(None), table.c.next_visit <= now, table.c.spider.is_not(None))
    return connection.execute(select(func.count()).select_from(table).where(*conditions)).scalar_one()


def _retired(connection: Connection, table: Table) -> int:
    """Count what is not in the index of what is visited again, which is read instead of the table."""
    rows = select(func.count()).select_from(table)
    active = rows.where(table.c.retired_at.is_(None))
    return connection.execute(rows).scalar_one() - connection.execute(active).scalar_one()

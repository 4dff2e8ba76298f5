"""The stored health of sites: the counts of each crawl, and the conditions that hold.

The caller owns the transaction.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, func, insert, select, update

from crawler.health.conditions import Condition, SiteCounts, SiteCrawl, kept_share, usual_kept_share
from crawler.storage.tables import alert, batched, insert_on_conflict, page, section, site_crawl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from crawler.health.conditions import Finding

_CRAWLS_MAX = 200
"""The number of crawls of a site whose counts are kept, the latest ones."""

_COUNTS = tuple(SiteCounts.__dataclass_fields__)
_SITES_AT_ONCE = 200
_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Alert:
    """A condition of a site, or of the database: since when it holds, or when it `ended`."""

    site: str
    condition: Condition
    since: datetime
    sentence: str
    ended: datetime | None = None


def add_counts(connection: Connection, crawl_id: int, counts: Mapping[str, SiteCounts], now: datetime) -> None:
    """Add what a process met to the counts of its crawl, and forget the counts of a site's oldest crawls."""
    rows = [{"site": site, "crawl_id": crawl_id, "ended": now} | asdict(counts[site]) for site in sorted(counts)]
    for part in batched(rows, _SITES_AT_ONCE):
        statement = insert_on_conflict(connection, site_crawl)
        sums = {name: site_crawl.c[name] + statement.excluded[name] for name in _COUNTS}
        added = statement.on_conflict_do_update(index_elements=["site", "crawl_id"], set_={**sums, "ended": now})
        connection.execute(added, list(part))
    for sites in batched(sorted(counts), _SITES_AT_ONCE):
        _forget_oldest(connection, sites)


def _forget_oldest(connection: Connection, sites: Sequence[str]) -> None:
    rank = func.row_number().over(partition_by=site_crawl.c.site, order_by=site_crawl.c.crawl_id.desc())
    ranked = select(site_crawl.c.site, site_crawl.c.crawl_id, rank.label("rank")).where(site_crawl.c.site.in_(sites))
    ranks = ranked.subquery()
    for row in connection.execute(select(ranks.c.site, ranks.c.crawl_id).where(ranks.c.rank > _CRAWLS_MAX)).all():
        connection.execute(
            delete(site_crawl).where(site_crawl.c.site == row.site, site_crawl.c.crawl_id == row.crawl_id)
        )


def read_crawls(connection: Connection, sites: Iterable[str] | None = None) -> dict[str, list[SiteCrawl]]:
    """Return the crawls of each site, or of all, the latest first; a site without any is left out."""
    crawls: dict[str, list[SiteCrawl]] = {}
    columns = [site_crawl.c[name] for name in _COUNTS]
    statement = select(site_crawl.c.site, site_crawl.c.crawl_id, site_crawl.c.ended, *columns)
    ordered = statement.order_by(site_crawl.c.site, site_crawl.c.ended.desc())
    parts = [] if sites is None else batched(sorted(sites), _SITES_AT_ONCE)
    statements = [ordered] if sites is None else [ordered.where(site_crawl.c.site.in_(part)) for part in parts]
    for rows in map(connection.execute, statements):
        for row in rows:
            counts = SiteCounts(*row[3:])
            crawls.setdefault(row.site, []).append(SiteCrawl(row.crawl_id, row.ended, counts))
    return crawls


def read_earlier_runs(
    connection: Connection, crawl_id: int, sites: Iterable[str], began: datetime
) -> dict[str, SiteCrawl]:
    """Return the counts of each site from the runs of a crawl that ended before this run began."""
    return {
        site: crawl
        for site, crawls in read_crawls(connection, sites).items()
        for crawl in crawls
        if crawl.crawl_id == crawl_id and crawl.ended < began
    }


def read_alerts(connection: Connection, sites: Iterable[str] | None = None) -> list[Alert]:
    """Return the conditions that hold on the sites, or on all, by site."""
    statement = select(alert).where(alert.c.ended.is_(None)).order_by(alert.c.site, alert.c.condition)
    wanted = None if sites is None else frozenset(sites)
    return [_alert(row) for row in connection.execute(statement) if wanted is None or row.site in wanted]


@dataclass(frozen=True, slots=True)
class SiteHealth:
    """The health of sites: their conditions, their last useful visit, and the results of the last seven days.

    `kept_share` is that of the latest crawl with pages, `usual_share` that of the earlier ones. `unanswered_since` is
    when the first crawl without a usable answer ended, if the latest one was refused or failed too; otherwise None.
    """

    alerts: tuple[Alert, ...] = ()
    last_success: datetime | None = None
    pages_7_days: int = 0
    kept_share: float | None = None
    usual_share: float | None = None
    next_visit: datetime | None = None
    unanswered_since: datetime | None = None


def read_health(connection: Connection, sites: Iterable[str], now: datetime) -> SiteHealth:
    """Return the health of sites that belong together, such as the sites of one entry in the file of sites."""
    names = frozenset(sites)
    crawls = chain.from_iterable(read_crawls(connection, names).values())
    health = health_of(crawls, read_alerts(connection, names), now)
    return replace(health, next_visit=_next_visit(connection, names))


def health_of(crawls: Iterable[SiteCrawl], alerts: Iterable[Alert], now: datetime) -> SiteHealth:
    """Return the health of sites by their crawls and the conditions that hold, without the next visit."""
    by_end = sorted(crawls, key=lambda crawl: crawl.ended)
    last_success = max((crawl.ended for crawl in by_end if crawl.counts.answered), default=None)
    later = [crawl for crawl in by_end if last_success is None or crawl.ended > last_success]
    is_unanswered = bool(later) and later[-1].counts.refused + later[-1].counts.failed > 0
    with_pages = [crawl for crawl in by_end if crawl.counts.pages]
    return SiteHealth(
        alerts=tuple(alerts),
        last_success=last_success,
        pages_7_days=sum(crawl.counts.new + crawl.counts.changed for crawl in by_end if crawl.ended > now - _WEEK),
        kept_share=kept_share(with_pages[-1].counts) if with_pages else None,
        usual_share=usual_kept_share(with_pages[:-1]),
        unanswered_since=later[0].ended if is_unanswered else None,
    )


def _next_visit(connection: Connection, sites: frozenset[str]) -> datetime | None:
    moments = [
        connection.scalar(
            select(func.min(table.c.next_visit)).where(table.c.site.in_(sorted(sites)), table.c.retired_at.is_(None))
        )
        for table in (section, page)
    ]
    return min((moment for moment in moments if moment is not None), default=None)


def record_findings(connection: Connection, findings: Mapping[str, Sequence[Finding]], now: datetime) -> None:
    """Store the conditions that begin to hold on sites, and when others ended; a lasting one keeps its `since`."""
    stored: dict[tuple[str, str], bool] = {}
    for part in batched(sorted(findings), _SITES_AT_ONCE):
        rows = connection.execute(select(alert.c.site, alert.c.condition, alert.c.sent).where(alert.c.site.in_(part)))
        stored |= {(row.site, row.condition): row.sent is not None for row in rows}
    begun: list[dict[str, Any]] = []
    untold: list[dict[str, str]] = []
    over: list[dict[str, str]] = []
    for site, of_site in sorted(findings.items()):
        for finding in of_site:
            key = (site, finding.condition.value)
            if finding.holds:
                begun.append({"site": site, "condition": key[1], "since": now, "sentence": finding.sentence})
            elif key in stored:
                (over if stored[key] else untold).append({"of_site": site, "of_condition": key[1]})
    if begun:
        statement = insert_on_conflict(connection, alert)
        values = {"sentence": statement.excluded.sentence, "ended": None}
        connection.execute(statement.on_conflict_do_update(index_elements=["site", "condition"], set_=values), begun)
    key_is = (alert.c.site == bindparam("of_site"), alert.c.condition == bindparam("of_condition"))
    if untold:
        # No alert was sent for its beginning, so none is sent for its end.
        connection.execute(delete(alert).where(*key_is), untold)
    if over:
        connection.execute(update(alert).where(*key_is, alert.c.ended.is_(None)).values(ended=now), over)


def claim_alerts(connection: Connection, now: datetime) -> list[Alert]:
    """Return the alerts that somebody has to be told, each to one process; `release_alerts` gives them back."""
    ended = [
        _alert(row) for row in connection.execute(select(alert).where(alert.c.ended.is_not(None)).with_for_update())
    ]
    connection.execute(delete(alert).where(alert.c.ended.is_not(None)))
    begun = [_alert(row) for row in connection.execute(select(alert).where(alert.c.sent.is_(None)).with_for_update())]
    connection.execute(update(alert).where(alert.c.sent.is_(None)).values(sent=now))
    return sorted([*begun, *ended], key=lambda claimed: (claimed.site, claimed.condition))


def release_alerts(connection: Connection, alerts: Iterable[Alert], now: datetime) -> None:
    """Leave the alerts that could not be sent to the next crawl."""
    for claimed in alerts:
        key = (alert.c.site == claimed.site, alert.c.condition == claimed.condition.value)
        if claimed.ended is None:
            connection.execute(update(alert).where(*key).values(sent=None))
        elif connection.execute(select(alert.c.site).where(*key)).first() is None:
            row = asdict(claimed) | {"condition": claimed.condition.value, "sent": now}
            connection.execute(insert(alert), row)


def _alert(row: Any) -> Alert:
    return Alert(row.site, Condition(row.condition), row.since, row.sentence, row.ended)

"""The database at a glance: totals, days, crawls that run, crawls that ended, what is due."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import convert
from sqlalchemy import func, select

from crawler.storage import crawls as crawls_
from crawler.storage.database import backend_of, location_of
from crawler.storage.tables import (
    block,
    crawl,
    near_duplicate_page,
    page,
    section,
    sighting,
    site,
)
from crawler.web.records import Day, Overview, SlowHost, Totals
from crawler.web.views.board import read_board
from crawler.web.views.crawls import CRAWLS_MAX, crawl_record, latest_reports, open_crawls

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date, datetime

    from sqlalchemy import Table
    from sqlalchemy.engine import Connection

    from crawler.storage.queries import CrawlReport
    from crawler.web.records import OverviewQuestion
    from crawler.web.snapshot import CachedValue, DatabaseSnapshot
    from crawler.web.views.board import Board

_SHOWN_CRAWLS = _SHOWN_SITES = 10
_SHOWN_HOSTS = 20


def _count_rows(connection: Connection) -> Totals:
    counted = {
        "pages": page,
        "sites": site,
        "blocks": block,
        "sightings": sighting,
        "near_duplicate_pages": near_duplicate_page,
        "crawls": crawl,
    }
    numbers = [select(func.count()).select_from(table).scalar_subquery() for table in counted.values()]
    return Totals(**dict(zip(counted, connection.execute(select(*numbers)).one(), strict=True)))


def read_overview(
    snapshot: DatabaseSnapshot, question: OverviewQuestion, totals: CachedValue[Totals], board: CachedValue[Board]
) -> Overview:
    """Return the overview."""
    connection = snapshot.connection
    engine = connection.engine
    latest = latest_reports(connection, CRAWLS_MAX)
    sites = board.read(lambda: read_board(snapshot)).sites
    return Overview(
        database=location_of(engine),
        bytes=backend_of(engine).size_bytes(engine),
        totals=totals.read(lambda: _count_rows(connection)),
        due_pages=count_due(snapshot, page),
        due_sections=count_due(snapshot, section),
        days=_days(latest, snapshot.now.date(), question.days),
        open_crawls=open_crawls(connection, snapshot.now),
        crawls=[crawl_record(snapshot, report) for report in latest[:_SHOWN_CRAWLS]],
        hosts=slow_hosts(connection, snapshot.now)[:_SHOWN_HOSTS],
        troubled=[site for site in sites if site.needs_look][:_SHOWN_SITES],
    )


def count_due(snapshot: DatabaseSnapshot, table: Table) -> int:
    """Return how many pages or sections are due; only those that can be visited again have a next visit."""
    conditions = (table.c.retired_at.is_(None), crawls_.is_due(table, snapshot.now, snapshot.config.revisits))
    return snapshot.connection.scalar(select(func.count()).select_from(table).where(*conditions)) or 0


def slow_hosts(connection: Connection, now: datetime) -> list[SlowHost]:
    """Return the hosts that are left alone or asked slowly, as `scrapy status` does."""
    return [convert(host, SlowHost, from_attributes=True) for host in crawls_.slow_hosts(connection, now)]


def _days(crawls: Iterable[CrawlReport], today: date, number: int) -> list[Day]:
    """Return the sums of the crawls by the day on which they began, the earliest day first."""
    sums: dict[date, Counter[str]] = {today - timedelta(days=back): Counter() for back in reversed(range(number))}
    for report in crawls:
        if (day := report.started.date()) in sums:
            sums[day].update(dict(_counts(report)))
    names = ("pages", "kept", "duplicates", "failures")
    return [Day(day=day, **{name: counts[name] for name in names}) for day, counts in sums.items()]


def _counts(report: CrawlReport) -> Iterator[tuple[str, int]]:
    yield "pages", report.pages
    yield "kept", report.kept
    yield "duplicates", sum(report.duplicates.values())
    yield "failures", sum(report.refused.values()) + sum(report.failed.values())


def sum_counts(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Return the sums of counts by name, the largest first."""
    total: Counter[str] = Counter()
    for counts in parts:
        total.update(counts)
    return dict(total.most_common())

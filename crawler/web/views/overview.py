"""The database at a glance: totals, days, crawls that run, crawls that ended, what is due."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from msgspec import convert
from sqlalchemy import func, select

from crawler.storage import crawls as crawls_
from crawler.storage.database import backend_of, location_of
from crawler.storage.queries import CrawlReport, crawl_report
from crawler.storage.tables import (
    block,
    crawl,
    near_duplicate_page,
    page,
    request,
    section,
    sighting,
    site,
)
from crawler.web.records import CrawlList, CrawlRecord, Day, OpenCrawl, Overview, SlowHost, Totals
from crawler.web.snapshot import ROWS, number_of, split_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date, datetime

    from sqlalchemy import Table
    from sqlalchemy.engine import Connection

    from crawler.web.records import Nothing, PagedQuestion
    from crawler.web.snapshot import CachedValue, DatabaseSnapshot

DAYS = 30
_CRAWLS_MAX = 2_000
_SHOWN_CRAWLS = 10
_SHOWN_HOSTS = 20
_LAST_ID = 2**62


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


def read_overview(snapshot: DatabaseSnapshot, _question: Nothing, totals: CachedValue[Totals]) -> Overview:
    """Return the overview."""
    connection, engine = snapshot.connection, snapshot.connection.engine
    latest = _latest_crawls(connection, _CRAWLS_MAX)
    return Overview(
        database=location_of(engine),
        bytes=backend_of(engine).size_bytes(engine),
        totals=totals.read(lambda: _count_rows(connection)),
        due_pages=count_due(snapshot, page),
        due_sections=count_due(snapshot, section),
        days=_days(latest, snapshot.now.date()),
        open_crawls=open_crawls(connection, snapshot.now),
        crawls=[convert(report, CrawlRecord, from_attributes=True) for report in latest[:_SHOWN_CRAWLS]],
        hosts=slow_hosts(connection, snapshot.now)[:_SHOWN_HOSTS],
    )


def read_crawls(snapshot: DatabaseSnapshot, question: PagedQuestion) -> CrawlList:
    """Return crawls, the latest first."""
    before = number_of(question.cursor, _LAST_ID)
    reports, following = split_page(_latest_crawls(snapshot.connection, ROWS + 1, before), lambda report: report.id)
    return CrawlList(crawls=[convert(report, CrawlRecord, from_attributes=True) for report in reports], next=following)


def open_crawls(connection: Connection, now: datetime) -> list[OpenCrawl]:
    """Return the open crawls with the numbers of their requests, the latest first."""
    queues = crawls_.crawl_queues(connection, now, only_open=True)
    totals = select(request.c.crawl_id, func.count()).where(
        request.c.crawl_id.in_([queue.crawl_id for queue in queues])
    )
    requests = {row[0]: row[1] for row in connection.execute(totals.group_by(request.c.crawl_id))}
    return [_open_crawl(queue, requests.get(queue.crawl_id, 0)) for queue in queues]


def count_due(snapshot: DatabaseSnapshot, table: Table) -> int:
    """Return how many pages or sections are due; only those that can be visited again have a next visit."""
    conditions = (table.c.retired_at.is_(None), crawls_.is_due(table, snapshot.now, snapshot.config.revisits))
    return snapshot.connection.scalar(select(func.count()).select_from(table).where(*conditions)) or 0


def slow_hosts(connection: Connection, now: datetime) -> list[SlowHost]:
    """Return the hosts that are left alone or asked slowly, as `scrapy status` does."""
    return [convert(host, SlowHost, from_attributes=True) for host in crawls_.slow_hosts(connection, now)]


def _latest_crawls(connection: Connection, limit: int, before: int = _LAST_ID) -> list[CrawlReport]:
    latest = select(crawl).where(crawl.c.id < before).order_by(crawl.c.id.desc()).limit(limit)
    return [crawl_report(row) for row in connection.execute(latest)]


def _open_crawl(queue: crawls_.CrawlQueue, every: int) -> OpenCrawl:
    failed = sum(queue.failed.values())
    return OpenCrawl(
        id=queue.crawl_id,
        spider=queue.spider,
        arguments=queue.arguments,
        queued=queue.queued,
        leased=queue.leased,
        ended=every - queue.queued - queue.leased - failed,
        failed=failed,
        processes=queue.processes,
    )


def _days(crawls: Iterable[CrawlReport], today: date) -> list[Day]:
    """Return the sums of the crawls by the day on which they began, the earliest day first."""
    sums: dict[date, Counter[str]] = {today - timedelta(days=back): Counter() for back in reversed(range(DAYS))}
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


def crawls_by_id(connection: Connection, ids: Iterable[int]) -> list[CrawlReport]:
    """Return the crawls with these ids."""
    rows: Any = connection.execute(select(crawl).where(crawl.c.id.in_(list(ids))))
    return [crawl_report(row) for row in rows]

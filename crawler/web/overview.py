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
    from crawler.web.snapshot import DatabaseSnapshot, Kept

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


def read_overview(at: DatabaseSnapshot, _question: Nothing, totals: Kept[Totals]) -> Overview:
    """Return the overview."""
    connection, engine = at.connection, at.connection.engine
    latest = _latest_crawls(connection, _CRAWLS_MAX)
    return Overview(
        database=location_of(engine),
        bytes=backend_of(engine).size_bytes(engine),
        totals=totals.read(lambda: _count_rows(connection)),
        due_pages=count_due(at, page),
        due_sections=count_due(at, section),
        days=_days(latest, at.now.date()),
        open_crawls=open_crawls(connection, at.now),
        crawls=[convert(one, CrawlRecord, from_attributes=True) for one in latest[:_SHOWN_CRAWLS]],
        hosts=slow_hosts(connection, at.now)[:_SHOWN_HOSTS],
    )


def read_crawls(at: DatabaseSnapshot, question: PagedQuestion) -> CrawlList:
    """Return crawls, the latest first."""
    before = number_of(question.cursor, _LAST_ID)
    shown, following = split_page(_latest_crawls(at.connection, ROWS + 1, before), lambda one: one.id)
    return CrawlList(crawls=[convert(one, CrawlRecord, from_attributes=True) for one in shown], next=following)


def open_crawls(connection: Connection, now: datetime) -> list[OpenCrawl]:
    """Return the open crawls with the numbers of their requests, the latest first."""
    queues = crawls_.crawl_queues(connection, now, only_open=True)
    made = select(request.c.crawl_id, func.count()).where(request.c.crawl_id.in_([one.crawl_id for one in queues]))
    every = {row[0]: row[1] for row in connection.execute(made.group_by(request.c.crawl_id))}
    return [_open_crawl(one, every.get(one.crawl_id, 0)) for one in queues]


def count_due(at: DatabaseSnapshot, table: Table) -> int:
    """Return how many pages or sections are due; only those that can be visited again have a next visit."""
    conditions = (table.c.retired_at.is_(None), crawls_.is_due(table, at.now, at.config.revisits))
    return at.connection.scalar(select(func.count()).select_from(table).where(*conditions)) or 0


def slow_hosts(connection: Connection, now: datetime) -> list[SlowHost]:
    """Return the hosts that are left alone or asked slowly, as `scrapy status` does."""
    return [convert(one, SlowHost, from_attributes=True) for one in crawls_.slow_hosts(connection, now)]


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
    for one in crawls:
        if (day := one.started.date()) in sums:
            sums[day].update(dict(_counts(one)))
    names = ("pages", "kept", "duplicates", "failures")
    return [Day(day=day, **{name: counts[name] for name in names}) for day, counts in sums.items()]


def _counts(one: CrawlReport) -> Iterator[tuple[str, int]]:
    yield "pages", one.pages
    yield "kept", one.kept
    yield "duplicates", sum(one.duplicates.values())
    yield "failures", sum(one.refused.values()) + sum(one.failed.values())


def sum_counts(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Return the sums of counts by name, the largest first."""
    total: Counter[str] = Counter()
    for one in parts:
        total.update(one)
    return dict(total.most_common())


def crawls_by_id(connection: Connection, ids: Iterable[int]) -> list[CrawlReport]:
    """Return the crawls with these ids."""
    rows: Any = connection.execute(select(crawl).where(crawl.c.id.in_(list(ids))))
    return [crawl_report(row) for row in rows]

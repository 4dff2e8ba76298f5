"""One site: its health, its sections, its pages, what repeats on it, and what was dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import convert
from sqlalchemy import func, select

from crawler.errors import NotStoredError
from crawler.health.states import UNKNOWN
from crawler.storage.tables import block, document_frequency, host, near_duplicate_page, page, section, site
from crawler.web.records import BoilerplateText, PageRow, SectionRow, SiteRecord, SlowHost
from crawler.web.snapshot import ROWS, number_of, split_page
from crawler.web.views.board import read_health
from crawler.web.views.crawls import crawls_by_id
from crawler.web.views.overview import sum_counts

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from crawler.storage.queries import CrawlReport
    from crawler.web.records import SiteQuestion
    from crawler.web.snapshot import DatabaseSnapshot

_SAMPLE = 200  # the newest pages; the figures of a site count these
_LAST_ID = 2**62
_LISTED = ("id", "url", "title", "section", "language", "published", "last_seen", "visits", "changes", "next_visit")


def read_site(snapshot: DatabaseSnapshot, question: SiteQuestion) -> SiteRecord:
    """Return the facts about a site; raises NotStoredError if it has no page and no section."""
    connection, name = snapshot.connection, question.site
    sample = _newest(connection, name, _LAST_ID, _SAMPLE)
    sections = _sections(connection, name)
    pages = connection.scalar(select(site.c.pages).where(site.c.site == name)) or 0
    health, days = read_health(snapshot, name, pages, question.days)
    if not sample and not sections and health.state == UNKNOWN:
        raise NotStoredError(f"there is no page of the site {name!r} in the database")
    crawls = crawls_by_id(connection, {row.crawl_id for row in sample})
    before = number_of(question.cursor, _LAST_ID)
    entries, following = split_page(_newest(connection, name, before, ROWS + 1), lambda row: row.id)
    return SiteRecord(
        site=name,
        health=health,
        days=days,
        pages=pages,
        sampled=len(sample),
        retired=sum(row.retired is not None for row in sample),
        later_visits=sum(max(0, row.visits - 1) for row in sample),
        changes=sum(row.changes for row in sample),
        near_duplicates=_near_duplicates(connection, [row.id for row in sample]),
        next_visit=min((row.next_visit for row in sample if row.next_visit), default=None),
        **_outcomes(connection, name, crawls),
        sections=sections,
        boilerplate=_boilerplate(connection, name),
        hosts=_hosts(connection, name),
        newest=[convert(row._mapping, PageRow) for row in entries],  # noqa: SLF001 — SQLAlchemy's public name
        next=following,
        previous=_previous(connection, name, before),
    )


def _previous(connection: Connection, name: str, before: int) -> str | None:
    """Return the cursor of the page of the list before the one of ids below a number; None on the first one."""
    if before >= _LAST_ID:
        return None
    later = select(page.c.id).where(page.c.site == name, page.c.id >= before).order_by(page.c.id).limit(ROWS + 1)
    ids = list(connection.scalars(later))
    return str(ids[ROWS] if len(ids) > ROWS else _LAST_ID)


def _newest(connection: Connection, name: str, before: int, limit: int) -> list[Any]:
    columns = select(*(page.c[column] for column in _LISTED), page.c.retired_at.label("retired"), page.c.crawl_id)
    newest = columns.where(page.c.site == name, page.c.id < before).order_by(page.c.id.desc()).limit(limit)
    return list(connection.execute(newest))


def _near_duplicates(connection: Connection, pages: list[int]) -> int:
    counted = select(func.count()).select_from(near_duplicate_page).where(near_duplicate_page.c.page_id.in_(pages))
    return connection.scalar(counted) or 0


def _outcomes(connection: Connection, name: str, crawls: list[CrawlReport]) -> dict[str, Any]:
    """Return the fields about the crawls that read a site."""
    others = select(page.c.id).where(page.c.crawl_id.in_([report.id for report in crawls]), page.c.site != name)
    # The newest pages of all sites tell; looking at every page would take too long.
    recent = others.where(page.c.id > (connection.scalar(select(func.max(page.c.id))) or 0) - 10 * _SAMPLE)
    return {
        "crawls": len(crawls),
        "shared": connection.scalar(recent.limit(1)) is not None,
        "kept": sum(report.kept for report in crawls),
        "dropped": sum_counts(report.dropped for report in crawls),
        "refused": sum_counts(report.refused for report in crawls),
    }


def _sections(connection: Connection, name: str) -> list[SectionRow]:
    columns = select(
        section.c.url,
        section.c.last_seen,
        section.c.visits,
        section.c.changes,
        section.c.next_visit,
        section.c.retired_at.label("retired"),
    )
    rows = connection.execute(columns.where(section.c.site == name).order_by(section.c.id).limit(ROWS))
    return [convert(row._mapping, SectionRow) for row in rows]  # noqa: SLF001 — as above


def _boilerplate(connection: Connection, name: str) -> list[BoilerplateText]:
    frequent = (
        select(document_frequency.c.digest, document_frequency.c.pages, document_frequency.c.boilerplate_since)
        .where(document_frequency.c.site == name, document_frequency.c.boilerplate_since.is_not(None))
        .order_by(document_frequency.c.pages.desc())
        .limit(ROWS)
    )
    rows = connection.execute(frequent).all()
    columns = select(block.c.digest, func.min(block.c.text).label("text"))
    stored = columns.where(block.c.digest.in_([row.digest for row in rows]), block.c.site == name)
    texts = {row.digest: row.text for row in connection.execute(stored.group_by(block.c.digest))}
    return [BoilerplateText(text=texts.get(row.digest), pages=row.pages, since=row.boilerplate_since) for row in rows]


def _hosts(connection: Connection, name: str) -> list[SlowHost]:
    # A site's hosts are its registered domain and the names below it. The number of hosts is that of crawled sites.
    domain = name.partition(":")[0]
    of_site = (host.c.host == domain) | host.c.host.endswith(f".{domain}", autoescape=True)
    columns = select(host.c.host, host.c.delay, host.c.paused_until, host.c.reason)
    rows = connection.execute(columns.where(of_site).order_by(host.c.host).limit(ROWS))
    return [convert(row._mapping, SlowHost) for row in rows]  # noqa: SLF001 — as above

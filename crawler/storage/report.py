"""What a database holds and what its last crawls did, for commands to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from crawler.storage.models import block, crawl, mirror, page, recurrence, sighting
from crawler.visit import REFUSALS, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from sqlalchemy import Table
    from sqlalchemy.engine import Connection, Row

# A visit that ended so is no failure.
_SUCCESSES = frozenset({Outcome.PAGE, Outcome.SECTION, Outcome.NOT_MODIFIED})
# Counters `blocks/...` that are no reason for a drop.
_NOT_DROPPED = frozenset({"seen", "kept"})


@dataclass(frozen=True, slots=True)
class Totals:
    """Rows in the database.

    `mirrors` are those of `pages` that mirror another, `gone_blocks` those of `blocks` that their page does not show
    any more, `templates` texts that are template on a site.
    """

    pages: int
    mirrors: int
    blocks: int
    gone_blocks: int
    sightings: int
    templates: int
    sites: int
    crawls: int


@dataclass(frozen=True, slots=True)
class SiteTotals:
    """What is stored of one site."""

    site: str
    pages: int
    blocks: int
    sightings: int
    last_seen: datetime


@dataclass(frozen=True, slots=True)
class CrawlReport:
    """One crawl with its counters ("visit/page", "blocks/kept", ...)."""

    id: int
    spider: str
    arguments: dict[str, Any]
    state: str
    started: datetime
    finished: datetime | None
    reason: str | None
    counters: dict[str, int]

    @property
    def seconds(self) -> float | None:
        """How long it took; None for one that has not ended."""
        return None if self.finished is None else (self.finished - self.started).total_seconds()

    @property
    def pages(self) -> int:
        return self.counters.get("visit/page", 0)

    @property
    def kept(self) -> int:
        return self.counters.get("blocks/kept", 0)

    @property
    def dropped(self) -> dict[str, int]:
        """Blocks dropped, by reason."""
        return _without(with_prefix(self.counters, "blocks/"), _NOT_DROPPED)

    @property
    def duplicates(self) -> dict[str, int]:
        """Blocks stored as sightings, by how they were found."""
        return with_prefix(self.counters, "dedup/")

    @property
    def refused(self) -> dict[str, int]:
        """Visits that the site refused, by how."""
        return {name: n for name, n in with_prefix(self.counters, "visit/").items() if name in REFUSALS}

    @property
    def failed(self) -> dict[str, int]:
        """Visits that brought neither a page nor a section and were not refused, by reason."""
        return _without(with_prefix(self.counters, "visit/"), _SUCCESSES | REFUSALS)


def with_prefix(counters: Mapping[str, int], prefix: str) -> dict[str, int]:
    """Return the counters whose name starts with the prefix, without it, largest first; those of 0 left out."""
    found = {name.removeprefix(prefix): n for name, n in counters.items() if name.startswith(prefix) and n}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def totals(connection: Connection) -> Totals:
    """Return how much the database holds in all."""
    gone = select(func.count()).select_from(block).where(block.c.gone_at.is_not(None))
    sites = select(func.count(page.c.site.distinct()))
    templates = _count(recurrence).where(recurrence.c.template_at.is_not(None))
    counts = [_count(page), _count(mirror), _count(block), gone, _count(sighting), templates, sites, _count(crawl)]
    return Totals(*connection.execute(select(*(each.scalar_subquery() for each in counts))).one())


def sites(connection: Connection) -> list[SiteTotals]:
    """Return what is stored of each site, the one with the most pages first."""
    pages = select(page.c.site, func.count(), func.max(page.c.last_seen)).group_by(page.c.site)
    blocks = _by_site(connection, block)
    sightings = _by_site(connection, sighting)
    rows = [
        SiteTotals(site, number, blocks.get(site, 0), sightings.get(site, 0), last_seen)
        for site, number, last_seen in connection.execute(pages)
    ]
    return sorted(rows, key=lambda row: (-row.pages, row.site))


def last_crawls(connection: Connection, limit: int = 10) -> list[CrawlReport]:
    """Return the latest crawls, the last one first."""
    rows = connection.execute(select(crawl).order_by(crawl.c.id.desc()).limit(limit))
    return [_crawl_report(row) for row in rows]


def _crawl_report(row: Row[Any]) -> CrawlReport:
    counters = {name: n for name, n in row.totals.items() if isinstance(n, int)}
    return CrawlReport(row.id, row.spider, row.arguments, row.state, row.started, row.finished, row.reason, counters)


def _count(table: Table) -> Any:
    return select(func.count()).select_from(table)


def _by_site(connection: Connection, table: Table) -> dict[str, int]:
    statement = select(page.c.site, func.count()).join(table, table.c.page_id == page.c.id).group_by(page.c.site)
    return {row[0]: row[1] for row in connection.execute(statement)}


def _without(counters: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
    excluded = frozenset(names)
    return {name: n for name, n in counters.items() if name not in excluded}

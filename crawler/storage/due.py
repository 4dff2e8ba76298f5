"""The pages and sections that are due for another visit, and the re-crawls that visit them.

The caller owns the transaction.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import Text, cast, delete, false, func, or_, select, union, update

from crawler import urls
from crawler.config.arguments import RECRAWL
from crawler.errors import QueryError
from crawler.schedule import PageKind
from crawler.storage import crawls, pages, requests
from crawler.storage.crawls import CrawlState
from crawler.storage.tables import batched, crawl, empty_address, insert_on_conflict, page, section, sitemap
from crawler.visit import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Table
    from sqlalchemy.engine import Connection, Row

    from crawler.discovery.feeds import FeedEntry
    from crawler.schedule import RevisitBounds, VisitHistory
    from crawler.visit import RequestRecord

REVISITS_MAX = 100_000
"""The largest number of pages, and of sections, that one run reads: those that have waited longest or, without a time,
those with the oldest visit."""
REQUESTS_PER_PART = 1_000
"""The number of pages whose requests are read or queued at once: of a crawl of 300 sections each takes 10 to 30 kB."""

REDIRECTED = "redirected"
"""The outcome of an address that redirects to another one."""
_FORGOTTEN_DAYS = 400
"""Days after the last visit of an address without a page, or of a sitemap, until its row is deleted."""

_DAY = timedelta(days=1)
_JSON_NAMES = ("arguments", "cb_kwargs", "headers", "meta", "settings")
_ROWS_PER_READ = 5_000


@dataclass(frozen=True, slots=True)
class Revisit:
    """A page or section to visit again; if its `next_visit` changes, it has been visited meanwhile."""

    row_id: int
    url: str
    history: VisitHistory
    next_visit: datetime | None
    announced: bool = False  # a trusted sitemap says that it has changed

    @property
    def is_section(self) -> bool:
        return self.history.kind is PageKind.SECTION


@dataclass(frozen=True, slots=True)
class KnownPage:
    """A stored page, or an address without one, that a listing or sitemap leads to."""

    last_seen: datetime
    is_due: bool


@dataclass(frozen=True, slots=True)
class EmptyVisit:
    """A visit that found no page at the address."""

    key: str
    outcome: str
    ended: datetime


@dataclass(frozen=True, slots=True)
class RevisitRequest:
    """The spider, its arguments (without secrets) and the request that visit a page or section again.

    `settings` are the values of `crawler.config.PAGE_SETTINGS` by which it was read.
    """

    revisit: Revisit
    spider: str
    arguments: Mapping[str, str]
    callback: str | None
    cb_kwargs: Mapping[str, Any]
    headers: Mapping[str, list[str]]
    meta: Mapping[str, Any]
    settings: Mapping[str, Any]


def due_revisits(
    connection: Connection, now: datetime, bounds: RevisitBounds, site: str | None = None
) -> list[Revisit]:
    """Return the pages and sections, of one site or all, whose next visit is due."""
    return list(
        _unique(_read_revisits(connection, table, crawls.is_due(table, now, bounds), site) for table in (section, page))
    )


def count_due_revisits(connection: Connection, now: datetime, bounds: RevisitBounds, site: str | None = None) -> int:
    """Return how many pages and sections `due_revisits` would return without its bound."""
    return _count_revisits(connection, {table: crawls.is_due(table, now, bounds) for table in (section, page)}, site)


@dataclass(frozen=True, slots=True)
class SectionOrigin:
    """The site of a section, and the spider and the arguments (without secrets) that found it."""

    site: str
    spider: str
    arguments: Mapping[str, str]


def section_origins(connection: Connection) -> list[SectionOrigin]:
    """Return the origin of each section, gone ones included."""
    columns = select(section.c.site, section.c.spider, section.c.arguments).order_by(section.c.id)
    return [SectionOrigin(*row) for row in connection.execute(columns)]


def all_sections(connection: Connection) -> list[Revisit]:
    """Return all sections that can be visited again, the longest waiting first."""
    return list(_read_revisits(connection, section, section.c.next_visit.is_not(None), None))


def revisits_at(connection: Connection, table: Table, url: str) -> list[Revisit]:
    """Return the page, or the section, at an address as fetched or canonical, as a list of at most one.

    Raises QueryError if none is stored there, or if it is not visited again.
    """
    key = urls.url_key(url)
    plain = urls.without_credentials(url)
    stored = select(table.c.id, table.c.retired_at, table.c.spider, table.c.next_visit)
    matches = stored.where(or_(table.c.url_key == key, table.c.url == plain)).order_by(table.c.url_key != key)
    row = connection.execute(matches).first()
    if row is None:
        raise QueryError(f"no {table.name} is stored at {plain}; `scrapy recrawl --dry-run` lists the addresses")
    if row.retired_at is not None:
        raise QueryError(
            f"the {table.name} at {plain} has been gone from its site, or set aside, since {row.retired_at:%Y-%m-%d}, "
            "so it is not visited again; `scrapy crawl` finds it if it is back"
        )
    if row.spider is None or row.next_visit is None:
        raise QueryError(f"the {table.name} at {plain} was not fetched by a crawl, so no spider can visit it again")
    return list(_read_revisits(connection, table, table.c.id == row.id, None))


def set_aside(connection: Connection, url: str, now: datetime) -> None:
    """Visit the section at an address no more, until a crawl fetches it. Raises QueryError as `revisits_at` does."""
    (revisit,) = revisits_at(connection, section, url)
    connection.execute(update(section).where(section.c.id == revisit.row_id).values(retired_at=now))


def known_pages(
    connection: Connection, keys: Sequence[str], now: datetime, bounds: RevisitBounds
) -> dict[str, KnownPage]:
    """Return the keys that are known: a page is stored there, or a visit found no page there.

    A page may be stored under another spelling of its key, after a redirect from http to https for instance, or under
    the address that it states as its own. Retired pages are included.
    """
    known = _read_empty_addresses(connection, keys, now)
    stored = _read_known_pages(connection, keys, now, bounds)
    left = [key for key in keys if key not in stored]
    targets = {key: leads_to for part in batched(left) for key, leads_to in _read_targets(connection, part)}
    pages_there = _read_known_pages(connection, list(set(targets.values())), now, bounds)
    moved = {key: pages_there[target] for key, target in targets.items() if target in pages_there}
    return known | moved | stored


def _read_targets(connection: Connection, keys: Sequence[str]) -> Iterable[tuple[str, str]]:
    return pages.read_addresses(connection, keys).items()


def _read_known_pages(
    connection: Connection, keys: Sequence[str], now: datetime, bounds: RevisitBounds
) -> dict[str, KnownPage]:
    columns = select(page.c.url_key, page.c.last_seen, func.coalesce(crawls.is_due(page, now, bounds), false()))
    key_by_spelling = {spelling: key for key in keys for spelling in urls.spellings(key)}
    parts = batched(list(key_by_spelling))
    rows = (row for part in parts for row in connection.execute(columns.where(page.c.url_key.in_(part))))
    return {key_by_spelling[key]: KnownPage(last_seen, bool(is_due)) for key, last_seen, is_due in rows}


def _read_empty_addresses(connection: Connection, keys: Sequence[str], now: datetime) -> dict[str, KnownPage]:
    rows = (
        row
        for part in batched(keys)
        for row in connection.execute(select(empty_address).where(empty_address.c.url_key.in_(part)))
    )
    return {row.url_key: KnownPage(row.last_visit, pages.is_empty_due(row.last_visit, row.visits, now)) for row in rows}


def record_empty_visits(connection: Connection, visits: Iterable[EmptyVisit]) -> None:
    """Record the addresses that gave no page. Call it once in a transaction: it locks rows in the order of keys."""
    rows = {
        visit.key: {
            "url_key": visit.key,
            "site": urls.site_of(visit.key),
            "outcome": visit.outcome,
            "visits": 1,
            "last_visit": visit.ended,
        }
        for visit in visits
    }
    if not rows:
        return
    new = insert_on_conflict(connection, empty_address)
    values = {
        "outcome": new.excluded.outcome,
        "visits": empty_address.c.visits + 1,
        "last_visit": new.excluded.last_visit,
    }
    statement = new.on_conflict_do_update(index_elements=["url_key"], set_=values)
    connection.execute(statement, [rows[key] for key in sorted(rows)])


def forget_hidden(connection: Connection, sites: Iterable[str]) -> None:
    """Delete the addresses of sites that gave no page since their last page came: a wall may have hidden theirs."""
    for site in sorted(sites):
        last_page = select(func.max(page.c.last_seen)).where(page.c.site == site, page.c.retired_at.is_(None))
        is_later = empty_address.c.last_visit > last_page.scalar_subquery()
        hidden = empty_address.c.outcome.in_([Outcome.SECTION.value, REDIRECTED])
        connection.execute(
            delete(empty_address).where(
                empty_address.c.site == site, hidden, or_(is_later, last_page.scalar_subquery().is_(None))
            )
        )


def forget_addresses(connection: Connection, now: datetime) -> None:
    """Delete the addresses without a page, and the sitemaps, that nothing has led to for long."""
    oldest = now - _FORGOTTEN_DAYS * _DAY
    connection.execute(delete(empty_address).where(empty_address.c.last_visit < oldest))
    connection.execute(delete(sitemap).where(sitemap.c.last_read < oldest))


def take_sitemaps(connection: Connection, listed: Sequence[FeedEntry], most: int, now: datetime) -> list[FeedEntry]:
    """Return the sitemaps of an index to read now, and record that they are read.

    First those that were never read or may have changed since, in the order of the index; then those with entries that
    were not all known; then the others. In the last two groups the ones read longest ago come first.
    """
    by_key: dict[str, FeedEntry] = {}
    for entry in listed:
        by_key.setdefault(urls.url_key(entry.url), entry)
    rows = {
        row.url_key: row
        for part in batched(list(by_key))
        for row in connection.execute(select(sitemap).where(sitemap.c.url_key.in_(part)))
    }
    ranked = sorted(by_key, key=lambda key: _rank_sitemap(by_key[key], rows.get(key)))[:most]
    # Marked here, not when they have been read: sitemaps that cannot be read would keep all others waiting.
    values = [
        {
            "url_key": key,
            "site": urls.site_of(key),
            "last_read": now,
            "lastmod": None if (changed := by_key[key].changed) is None else changed.isoformat(),
            "known": False,
        }
        for key in sorted(ranked)
    ]
    if values:
        new = insert_on_conflict(connection, sitemap)
        columns = {name: new.excluded[name] for name in ("last_read", "lastmod", "known")}
        connection.execute(new.on_conflict_do_update(index_elements=["url_key"], set_=columns), values)
    return [by_key[key] for key in ranked]


def _rank_sitemap(entry: FeedEntry, row: Row[Any] | None) -> tuple[int, datetime | None]:
    if row is None or _may_have_changed(entry, row):
        return (0, None)
    return (2 if row.known else 1, row.last_read)


def _may_have_changed(entry: FeedEntry, row: Row[Any]) -> bool:
    """Return True if an index says that a sitemap has changed since it was read, or on that day."""
    if entry.changed is None:
        return False
    # The day of a sitemap is that of a time zone which is not known.
    return entry.changed.isoformat() > (row.lastmod or "") or entry.changed >= (row.last_read - _DAY).date()


def record_known_sitemap(connection: Connection, url: str) -> None:
    """Record that all entries of a sitemap are known."""
    connection.execute(update(sitemap).where(sitemap.c.url_key == urls.url_key(url)).values(known=True))


def all_revisits(connection: Connection, site: str | None = None) -> list[Revisit]:
    """Return all pages and sections, of one site or all, that can be visited again; the oldest visit first."""
    revisits = _unique(
        _read_revisits(connection, table, table.c.next_visit.is_not(None), site, table.c.last_seen)
        for table in (section, page)
    )
    return sorted(revisits, key=lambda revisit: (revisit.history.last_seen, revisit.url))


def count_all_revisits(connection: Connection, site: str | None = None) -> int:
    """Return how many pages and sections `all_revisits` would return without its bound."""
    return _count_revisits(connection, {table: table.c.next_visit.is_not(None) for table in (section, page)}, site)


def revisit_requests(connection: Connection, revisits: Sequence[Revisit]) -> list[RevisitRequest]:
    """Return the requests that visit pages and sections, in their order; rows deleted in the meantime are left out."""
    request_by_id: dict[tuple[bool, int], RevisitRequest] = {}
    shared = _SharedValues()
    for table, chosen in (
        (section, {revisit.row_id: revisit for revisit in revisits if revisit.is_section}),
        (page, {revisit.row_id: revisit for revisit in revisits if not revisit.is_section}),
    ):
        columns = [table.c.spider, table.c.callback, *(cast(table.c[name], Text).label(name) for name in _JSON_NAMES)]
        for part in batched(list(chosen), REQUESTS_PER_PART):
            for row in connection.execute(select(table.c.id, *columns).where(table.c.id.in_(part))):
                request_by_id[table is section, row.id] = _revisit_request(chosen[row.id], row, shared)
    return [request_by_id[_revisit_id(revisit)] for revisit in revisits if _revisit_id(revisit) in request_by_id]


class _SharedValues:
    """The values of JSON texts; rows with the same text share one value.

    Most pages of a crawl have the same arguments and settings, which can be long.
    """

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def read(self, text: str | None) -> Any:
        if text is None:
            return None
        if text not in self._values:
            self._values[text] = json.loads(text)
        return self._values[text]


def count_recent_visits(connection: Connection, now: datetime) -> int:
    """Return the number of visits of the re-crawls that ended, or were interrupted, in the last 24 hours."""
    # The upper bound leaves out a crawl that ended while a clock was ahead.
    recent = crawl.c.finished.between(now - _DAY, now + _DAY)
    columns = select(crawl.c.arguments, crawl.c.totals).where(recent)
    totals = [row.totals for row in connection.execute(columns) if RECRAWL in row.arguments]
    return sum(number for counters in totals for name, number in counters.items() if name.startswith("visit/"))


def open_recrawls(connection: Connection) -> list[Row[str, dict[str, str]]]:
    """Return the spider and arguments of the open re-crawls."""
    rows = connection.execute(select(crawl.c.spider, crawl.c.arguments).where(crawl.c.state == CrawlState.OPEN.value))
    return [row for row in rows if RECRAWL in row.arguments]


@dataclass(frozen=True, slots=True)
class BegunRecrawl:
    """A re-crawl and the number of pages and sections that were added to it.

    `is_active` is True if another process had promised to work at it.
    """

    crawl_id: int
    added: int
    is_active: bool


def begin_recrawl(
    connection: Connection,
    spider: str,
    arguments: Mapping[str, str],
    records: Sequence[tuple[Revisit, RequestRecord]],
    lease_seconds: float,
) -> BegunRecrawl | None:
    """Begin a re-crawl, or join the open one, with requests for what was not visited since it was read.

    `arguments` are the spider's and RECRAWL. None if nothing is left to visit and no re-crawl is open. Without another
    active process, this one promises to work at it for `lease_seconds`. Call it first in its transaction: of two
    processes that start together one begins, and both join. Give it at most REQUESTS_PER_PART records, in the order of
    their keys: other processes wait for the transaction.
    """
    with connection.begin_nested() as attempt:
        joined = crawls.join_crawl(connection, spider, arguments, fresh=False)
        now = requests.database_now(connection)
        # Only here, not earlier, are the visits seen of a crawl that has ended meanwhile.
        waiting = _unvisited_since(connection, [revisit for revisit, _ in records])
        unvisited = [record for revisit, record in records if _revisit_id(revisit) in waiting]
        if not unvisited and not joined.resumed:
            attempt.rollback()
            return None
        added = requests.add_requests(connection, joined.crawl_id, unvisited, now)
        crawls.mark_seeded(connection, joined.crawl_id, now)
        is_active = crawls.is_active(connection, joined.crawl_id, now)
        if not is_active:
            crawls.mark_active(connection, joined.crawl_id, now + timedelta(seconds=lease_seconds))
        return BegunRecrawl(joined.crawl_id, added, is_active)


def _read_revisits(
    connection: Connection,
    table: Table,
    condition: ColumnElement[bool],
    site: str | None,
    order: ColumnElement[datetime] | None = None,
) -> Iterator[Revisit]:
    """Yield the pages or sections with a condition, at most REVISITS_MAX; by default the longest waiting first."""
    history, columns = (
        (pages.section_history, pages.SECTION_HISTORY) if table is section else (pages.page_history, pages.PAGE_HISTORY)
    )
    read = [column for column in columns if column.name not in {"id", "retired_at", "links_hash"}]
    read += [page.c.lastmod] if table is page else []
    statement = (
        select(table.c.id, table.c.url, table.c.next_visit, *read)
        .where(*_revisitable(table, condition, site))
        .order_by(table.c.next_visit if order is None else order)
        .limit(REVISITS_MAX)
    )
    rows = connection.execute(statement, execution_options={"yield_per": _ROWS_PER_READ})
    for part in rows.partitions():
        changed = set() if table is section else pages.announced_changes(connection, part)
        for row in part:
            yield Revisit(row.id, row.url, history(row), row.next_visit, row.id in changed)


def _revisitable(table: Table, condition: ColumnElement[bool], site: str | None) -> list[ColumnElement[bool]]:
    in_site = [] if site is None else [table.c.site == site]
    return [condition, table.c.retired_at.is_(None), table.c.spider.is_not(None), *in_site]


def _count_revisits(connection: Connection, conditions: Mapping[Table, ColumnElement[bool]], site: str | None) -> int:
    """Return the number of addresses of the pages and sections with the condition of their table."""
    keys = [
        select(table.c.url_key).where(*_revisitable(table, condition, site)) for table, condition in conditions.items()
    ]
    return connection.scalar(select(func.count()).select_from(union(*keys).subquery())) or 0


def _unique(parts: Iterator[Iterator[Revisit]]) -> Iterator[Revisit]:
    """Yield each address once: a page that is also a section is visited as a section, which serves for both."""
    seen = set()
    for part in parts:
        for revisit in part:
            if revisit.history.key not in seen:
                seen.add(revisit.history.key)
                yield revisit


def _unvisited_since(connection: Connection, revisits: Sequence[Revisit]) -> set[tuple[bool, int]]:
    """Return the ids of the pages and sections not visited since they were read: a visit sets `next_visit` again."""
    read = {_revisit_id(revisit): revisit.next_visit for revisit in revisits}
    left = set()
    for table in (section, page):
        ids = [row_id for is_section, row_id in read if is_section == (table is section)]
        for part in batched(ids):
            columns = select(table.c.id, table.c.next_visit)
            for row in connection.execute(columns.where(table.c.id.in_(part), table.c.retired_at.is_(None))):
                key = (table is section, row.id)
                if row.next_visit == read[key]:
                    left.add(key)
    return left


def _revisit_id(revisit: Revisit) -> tuple[bool, int]:
    return revisit.is_section, revisit.row_id


def _revisit_request(revisit: Revisit, row: Any, shared: _SharedValues) -> RevisitRequest:
    values = {name: shared.read(getattr(row, name)) for name in _JSON_NAMES}
    return RevisitRequest(revisit=revisit, spider=row.spider, callback=row.callback, **values)

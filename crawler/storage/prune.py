"""Delete pages for good: by site, by URL, by age."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from sqlalchemy import and_, bindparam, delete, func, insert, not_, or_, select, true, update

from crawler import urls
from crawler.errors import StoreError
from crawler.storage import blocks, database, schema
from crawler.storage.blocks import SHARED_COLUMNS, OriginalBlock, SearchableBlock, move_sightings
from crawler.storage.boilerplate import count_pages
from crawler.storage.database import erase_transaction, read_transaction
from crawler.storage.locks import lock_all
from crawler.storage.near_duplicates import (
    FINGERPRINT_INDEXES,
    MAX_DISTANCE,
    DuplicateRules,
    IndexEntry,
    NearDuplicatePages,
)
from crawler.storage.tables import batched, block, host, page, request, section, sighting, sitemap_trust

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import ColumnElement, ScalarSelect, Select
    from sqlalchemy.engine import Connection, Engine, RowMapping

    from crawler.storage.change_log import ChangeLog
    from crawler.storage.near_duplicates import FingerprintIndex


_ROWS_AT_ONCE = 10_000
_SET_HEADERS = update(request).where(request.c.id == bindparam("row")).values(headers=bindparam("without"))


@dataclass(frozen=True, slots=True)
class NamedPages:
    """The addresses that a selection stands for: of single pages, or of one whole site."""

    keys: frozenset[str]
    paths: frozenset[str]
    site: str | None = None

    def covers(self, url: str) -> bool:
        """Tell whether a URL is one of them, however it is written."""
        if self.site is not None:
            return urls.site_of(url) == self.site
        # Comparing paths spares nearly all requests the canonical form, which takes ten times as long.
        return _url_path(url) in self.paths and urls.url_key(url) in self.keys


def named_pages(connection: Connection, selection: PruneSelection, doomed: Select[int]) -> NamedPages:
    """Return what a selection of pages, the doomed ones, names."""
    if selection.site is not None and selection.url is None and selection.last_seen_before is None:
        return NamedPages(frozenset(), frozenset(), selection.site)
    found = connection.execute(select(page.c.url, page.c.url_key).where(page.c.id.in_(doomed)))
    known = {url for row in found for url in row}
    if selection.url is not None and selection.last_seen_before is None:
        known |= {selection.url} if selection.site in {None, urls.site_of(selection.url)} else set()
    return NamedPages(frozenset(map(urls.url_key, known)), frozenset(map(_url_path, known)))


def select_sections(selection: PruneSelection) -> Select[int]:
    """Select the ids of the sections that a selection takes in."""
    criteria: list[ColumnElement[bool]] = [true()]
    if selection.site is not None:
        criteria.append(section.c.site == selection.site)
    if selection.url is not None:
        criteria.append(section.c.url_key == urls.url_key(selection.url))
    if selection.last_seen_before is not None:
        criteria.append(section.c.last_seen < selection.last_seen_before)
    return select(section.c.id).where(*criteria)


def find_requests(connection: Connection, names: NamedPages) -> list[int]:
    """Return the ids of the requests for what is named, in all crawls."""
    rows = connection.execute(select(request.c.id, request.c.url), execution_options={"yield_per": _ROWS_AT_ONCE})
    return [row.id for row in rows if names.covers(row.url)]


def delete_frontier_rows(connection: Connection, selection: PruneSelection, names: NamedPages) -> None:
    """Delete the requests and sections, a whole site's hosts, and the addresses as those that others came from."""
    doomed, forgetting = find_requests(connection, names), list(_without_referers(connection, names))
    _lock_requests(connection, sorted({*doomed, *(one["row"] for one in forgetting)}))
    if forgetting:
        connection.execute(_SET_HEADERS, forgetting)
    for part in batched(doomed):
        connection.execute(delete(request).where(request.c.id.in_(part)))
    connection.execute(delete(section).where(section.c.id.in_(select_sections(selection))))
    if names.site is not None:
        _delete_hosts(connection, names.site)


def _lock_requests(connection: Connection, ids: Sequence[int]) -> None:
    """Wait for crawls that end these requests just now; in the order in which they lock them themselves."""
    for part in batched(ids):
        connection.execute(select(request.c.id).where(request.c.id.in_(part)).order_by(request.c.id).with_for_update())


def _delete_hosts(connection: Connection, site: str) -> None:
    own = urls.host_of(f"http://{site}")  # of a site that is an address with a port
    for table in (host, sitemap_trust):
        known = connection.scalars(select(table.c.host)).all()
        for part in batched([name for name in known if name == own or urls.site_of(f"http://{name}") == site]):
            connection.execute(delete(table).where(table.c.host.in_(part)))


def _without_referers(connection: Connection, names: NamedPages) -> Iterator[dict[str, Any]]:
    """Give the requests that somebody named referred to, with their headers without that."""
    rows = connection.execute(select(request.c.id, request.c.headers), execution_options={"yield_per": _ROWS_AT_ONCE})
    for row in rows:
        without = {name: values for name, values in row.headers.items() if not _is_referer(name, values, names)}
        if len(without) < len(row.headers):
            yield {"row": row.id, "without": without}


def _is_referer(name: str, values: Sequence[str], names: NamedPages) -> bool:
    return name.lower() == "referer" and any(names.covers(value) for value in values)


def _url_path(url: str) -> str:
    """Return the path of a URL, as it is the same in all ways of writing it."""
    return unquote(url.partition("#")[0].partition("?")[0].partition("://")[2].partition("/")[2])


@dataclass(frozen=True, slots=True)
class PruneSelection:
    """Which pages: all that match each of the criteria given; at least one must be."""

    site: str | None = None
    url: str | None = None
    last_seen_before: datetime | None = None

    @classmethod
    def of(cls, site: str | None = None, url: str | None = None, older_than_days: int | None = None) -> PruneSelection:
        """Return a selection from what a user types: a domain or a URL of a site, a page's URL, an age in days."""
        domain = None if site is None else urls.parse_site(site)
        before = None if older_than_days is None else datetime.now(UTC) - timedelta(days=older_than_days)
        return cls(domain, url, before)


@dataclass(frozen=True, slots=True)
class PruneCounts:
    """What a selection removes; `promoted` counts removed blocks whose text lives on as another page's block.

    `requests` are those of all crawls for the pages, `sections` what is visited again for its links.
    """

    pages: int
    blocks: int
    sightings: int
    promoted: int
    sections: int = 0
    requests: int = 0


def count_prunable(engine: Engine, selection: PruneSelection) -> PruneCounts:
    """Return what `prune` would remove now."""
    with read_transaction(engine) as connection:
        return _count_selected(connection, selection, named_pages(connection, selection, _selected_pages(selection)))


def prune_pages(engine: Engine, selection: PruneSelection) -> PruneCounts:
    """Delete the selected pages with their blocks, sightings, HTML and requests, in one transaction; return what went.

    A block with sightings on other pages hands its text on: the oldest live sighting becomes a block of its own
    page, with the text as that page has it, and the others become sightings of that. The mirrors of a page hand on its
    place in the same way. A text that is template no more is seen at the site's next visit. Sections are selected as
    pages are, and a whole site's hosts go with it. A crawl that is at one of the pages just then does not store it.
    """
    index = FINGERPRINT_INDEXES[engine.dialect.name](MAX_DISTANCE)
    with erase_transaction(engine) as connection:
        lock_all(connection)
        changes = database.begin_changes(connection)
        names = named_pages(connection, selection, _selected_pages(selection))
        pruned = _count_selected(connection, selection, names)
        delete_frontier_rows(connection, selection, names)
        count_pages(connection, _selected_pages(selection), -1)
        NearDuplicatePages(engine.dialect.name, DuplicateRules()).remove(connection, _selected_pages(selection))
        for block_id in connection.scalars(_blocks_to_promote(selection)).all():
            _promote_sighting(connection, index, block_id, selection, changes)
        changes.remove(_selected_pages(selection))
        _delete_pages(connection, index, selection)
        changes.settle()
        schema.optimize_search_index(connection)
    return pruned


def _is_selected(selection: PruneSelection) -> ColumnElement[bool]:
    criteria = []
    if selection.site is not None:
        criteria.append(page.c.site == selection.site)
    if selection.url is not None:
        plain = urls.without_credentials(selection.url)
        criteria.append(or_(page.c.url == plain, page.c.url_key == urls.url_key(selection.url)))
    if selection.last_seen_before is not None:
        criteria.append(page.c.last_seen < selection.last_seen_before)
    if not criteria:
        raise StoreError("prune needs a site, a URL or an age; it never removes everything")
    return and_(*criteria)


def _selected_pages(selection: PruneSelection) -> Select[int]:
    return select(page.c.id).where(_is_selected(selection))


def _blocks_to_promote(selection: PruneSelection) -> Select[int]:
    """Select the doomed blocks that have sightings on pages that stay."""
    return (
        select(block.c.id)
        .distinct()
        .join(sighting, sighting.c.block_id == block.c.id)
        .where(
            block.c.page_id.in_(_selected_pages(selection)), not_(sighting.c.page_id.in_(_selected_pages(selection)))
        )
        .order_by(block.c.id)
    )


def _count_selected(connection: Connection, selection: PruneSelection, names: NamedPages) -> PruneCounts:
    def number(column: Any) -> ScalarSelect[int]:
        of_doomed = column.in_(_selected_pages(selection))
        return select(func.count()).select_from(column.table).where(of_doomed).scalar_subquery()

    promoted = select(func.count()).select_from(_blocks_to_promote(selection).subquery()).scalar_subquery()
    sections = select(func.count()).select_from(select_sections(selection).subquery()).scalar_subquery()
    counts = select(number(page.c.id), number(block.c.page_id), number(sighting.c.page_id), promoted, sections)
    return replace(PruneCounts(*connection.execute(counts).one()), requests=len(find_requests(connection, names)))


def _promote_sighting(
    connection: Connection, index: FingerprintIndex, block_id: int, selection: PruneSelection, changes: ChangeLog
) -> None:
    heir, *others = _surviving_sightings(connection, block_id, selection)
    values = {name: heir[name] for name in SHARED_COLUMNS}
    own = {"site": heir["site"], "text": heir["full_text"], "added": changes.mark, "changed": changes.mark}
    key = connection.execute(insert(block), values | own).inserted_primary_key
    assert key is not None  # one row, always
    blocks.add_tokens(connection, [SearchableBlock(key[0], heir["full_text"], heir["words"], heir["priority"])])
    connection.execute(delete(sighting).where(sighting.c.id == heir["id"]))
    changes.touch(heir["page_id"])
    if heir["fingerprint"] is not None:
        index.add(connection, [IndexEntry(heir["fingerprint"], key[0])])
    move_sightings(connection, others, OriginalBlock(key[0], heir["full_text"], heir["digest"], heir["fingerprint"]))


def _surviving_sightings(connection: Connection, block_id: int, selection: PruneSelection) -> list[RowMapping]:
    """Return the sightings that stay, live ones first, then the oldest, each with its page's site and its text."""
    full_text = func.coalesce(sighting.c.text, block.c.text).label("full_text")
    statement = (
        select(sighting, page.c.site, full_text)
        .join(page, page.c.id == sighting.c.page_id)
        .join(block, block.c.id == sighting.c.block_id)
        .where(sighting.c.block_id == block_id, not_(sighting.c.page_id.in_(_selected_pages(selection))))
        .order_by(sighting.c.gone_at.is_not(None), sighting.c.first_seen, sighting.c.id)
    )
    return list(connection.execute(statement).mappings())


def _delete_pages(connection: Connection, index: FingerprintIndex, selection: PruneSelection) -> None:
    doomed = _selected_pages(selection)
    fingerprints = select(block.c.fingerprint, block.c.id).where(
        block.c.page_id.in_(doomed), block.c.fingerprint.is_not(None)
    )
    index.remove(connection, [IndexEntry(row.fingerprint, row.id) for row in connection.execute(fingerprints).all()])
    connection.execute(delete(sighting).where(sighting.c.page_id.in_(doomed)))
    connection.execute(delete(block).where(block.c.page_id.in_(doomed)))
    connection.execute(delete(page).where(_is_selected(selection)))

"""Delete pages for good: by site, by URL, by age. Texts that other pages share live on there.

Everything that names the pages goes too: their requests, sections and hosts, the Referer headers of other requests, and
the health of sites that have nothing left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from sqlalchemy import and_, bindparam, delete, func, insert, literal, not_, or_, select, true, union, update

from cleaning.fingerprint import distance
from crawler import urls
from crawler.errors import StoreError
from crawler.page_comparison import OriginalBlock, same_terms
from crawler.storage.blocks import (
    SAME_DIGEST_MAX,
    SHARED_COLUMNS,
    move_sightings,
)
from crawler.storage.boilerplate import count_pages, delete_template
from crawler.storage.change_log import ChangeLog, delete_events
from crawler.storage.database import erase_transaction, read_transaction
from crawler.storage.headlines import delete_names
from crawler.storage.locks import lock_all
from crawler.storage.near_duplicates import (
    FINGERPRINT_INDEXES,
    DuplicateRules,
    FingerprintedPage,
    IndexEntry,
    NearPages,
)
from crawler.storage.pages import target_of
from crawler.storage.search_index import SearchableBlock, add_tokens, optimize_search_index
from crawler.storage.structure import delete_structures
from crawler.storage.tables import (
    address,
    alert,
    batched,
    block,
    correction,
    empty_address,
    host,
    page,
    request,
    section,
    sighting,
    site_crawl,
    site_model,
    sitemap,
    sitemap_trust,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import ColumnElement, CompoundSelect, ScalarSelect, Select, Table
    from sqlalchemy.engine import Connection, Engine, RowMapping

    from crawler.storage.near_duplicates import FingerprintIndex

_ROWS_PER_READ = 10_000
_SET_HEADERS = update(request).where(request.c.id == bindparam("row")).values(headers=bindparam("new_headers"))


@dataclass(frozen=True, slots=True)
class PruneSelection:
    """The pages to delete: they match all criteria that are not None; at least one is required."""

    site: str | None = None
    url: str | None = None
    last_seen_before: datetime | None = None

    @classmethod
    def of(cls, site: str | None = None, url: str | None = None, older_than_days: int | None = None) -> PruneSelection:
        """Return a selection from a user's input: a domain or a URL of a site, the URL of a page, an age in days."""
        domain = None if site is None else urls.parse_site(site)
        before = None if older_than_days is None else datetime.now(UTC) - timedelta(days=older_than_days)
        return cls(domain, url, before)


@dataclass(frozen=True, slots=True)
class PruneCounts:
    """The rows that a selection deletes; `promoted` counts deleted blocks whose text lives on with other pages.

    `requests` are the pages' requests of all crawls. `records` are the records of addresses without a page and, for
    a whole site, of its hosts, sitemaps, visits and conditions.
    """

    pages: int
    blocks: int
    sightings: int
    promoted: int
    sections: int = 0
    requests: int = 0
    records: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.pages or self.sections or self.requests or self.records)


def count_prunable(engine: Engine, selection: PruneSelection) -> PruneCounts:
    """Return what `prune_pages` would delete now."""
    with read_transaction(engine) as connection:
        return _count_selected(connection, selection, _addresses(connection, selection))


def prune_pages(
    engine: Engine,
    selection: PruneSelection,
    rules: DuplicateRules = DuplicateRules(),  # noqa: B008 — frozen
) -> PruneCounts:
    """Delete the selected pages with their blocks, sightings, HTML and requests, in one transaction; return the counts.

    The text of a block with sightings on other pages lives on: the oldest live sighting becomes a block of its page,
    with the text as that page has it, and the other sightings move to that block. If the sighting duplicates, by the
    rules, a block that stays, the sightings move there instead. Sightings too far from the new block get another one in
    the same way. A near-duplicate page takes the place of its deleted original. Whether a text is still boilerplate is
    decided at the site's next visit. The criteria select sections too; a whole site's hosts are deleted with it. A site
    without a page or section left loses its counts and conditions. A crawl that is visiting one of the pages does not
    store it.
    """
    index = FINGERPRINT_INDEXES[engine.dialect.name](rules.max_distance)
    with erase_transaction(engine) as connection:
        lock_all(connection)
        change_log = ChangeLog(connection)
        addresses = _addresses(connection, selection)
        counts = _count_selected(connection, selection, addresses)
        sites = _selected_sites(connection, selection, addresses)
        _delete_frontier_rows(connection, selection, addresses)
        count_pages(connection, _selected_pages(selection), -1)
        change_log.pages.restructured.update(_remove_near_duplicates(connection, selection))
        inheritance = _Inheritance(connection, index, selection, rules, change_log)
        for block_id in connection.scalars(_blocks_to_promote(selection)).all():
            inheritance.settle(block_id)
        change_log.remove_pages(_selected_pages(selection))
        _delete_pages(connection, index, selection)
        _delete_addresses(connection)
        _delete_empty_addresses(connection, addresses)
        _delete_health(connection, sites)
        change_log.write()
        optimize_search_index(connection)
    return counts


def _is_selected(selection: PruneSelection) -> ColumnElement[bool]:
    criteria = []
    if selection.site is not None:
        criteria.append(page.c.site == selection.site)
    if selection.url is not None:
        plain = urls.without_credentials(selection.url)
        criteria.append(or_(page.c.url == plain, page.c.url_key.in_(_keys_of(selection.url))))
    if selection.last_seen_before is not None:
        criteria.append(page.c.last_seen < selection.last_seen_before)
    if not criteria:
        raise StoreError("prune needs a site, a URL or an age; it never removes everything")
    return and_(*criteria)


def _keys_of(url: str) -> CompoundSelect[str]:
    """Select the keys of the page or section at an address, and of the ones that it has moved to."""
    key = urls.url_key(url)
    return select(literal(key)).union_all(target_of(key))


def _selected_pages(selection: PruneSelection) -> Select[int]:
    return select(page.c.id).where(_is_selected(selection))


def _selected_sections(selection: PruneSelection) -> Select[int]:
    criteria: list[ColumnElement[bool]] = [true()]
    if selection.site is not None:
        criteria.append(section.c.site == selection.site)
    if selection.url is not None:
        criteria.append(section.c.url_key.in_(_keys_of(selection.url)))
    if selection.last_seen_before is not None:
        criteria.append(section.c.last_seen < selection.last_seen_before)
    return select(section.c.id).where(*criteria)


def _blocks_to_promote(selection: PruneSelection) -> Select[int]:
    """Select the blocks of selected pages that have sightings on pages that stay."""
    return (
        select(block.c.id)
        .distinct()
        .join(sighting, sighting.c.block_id == block.c.id)
        .where(block.c.page_id.in_(_selected_pages(selection)))
        .where(not_(sighting.c.page_id.in_(_selected_pages(selection))))
        .order_by(block.c.id)
    )


def _count_selected(connection: Connection, selection: PruneSelection, addresses: _Addresses) -> PruneCounts:
    def number(column: Any) -> ScalarSelect[int]:
        is_selected = column.in_(_selected_pages(selection))
        return select(func.count()).select_from(column.table).where(is_selected).scalar_subquery()

    promoted = select(func.count()).select_from(_blocks_to_promote(selection).subquery()).scalar_subquery()
    sections = select(func.count()).select_from(_selected_sections(selection).subquery()).scalar_subquery()
    counts = select(number(page.c.id), number(block.c.page_id), number(sighting.c.page_id), promoted, sections)
    requests = len(_find_requests(connection, addresses))
    records = _count_records(connection, addresses)
    return replace(PruneCounts(*connection.execute(counts).one()), requests=requests, records=records)


def _count_records(connection: Connection, addresses: _Addresses) -> int:
    counts = [
        select(func.count()).select_from(empty_address).where(empty_address.c.url_key.in_(part))
        for part in batched(sorted(addresses.keys))
    ]
    hosts = 0
    if addresses.site is not None:
        counts += [
            select(func.count()).select_from(table).where(table.c.site == addresses.site)
            for table in (empty_address, sitemap, site_crawl, alert)
        ]
        hosts = sum(len(_hosts_of(connection, table, addresses.site)) for table in (host, sitemap_trust))
    return hosts + sum(connection.scalar(count) or 0 for count in counts)


@dataclass(frozen=True, slots=True)
class _Inheritance:
    """The transfer of the sightings of deleted blocks, on pages that stay, to other blocks."""

    connection: Connection
    index: FingerprintIndex
    selection: PruneSelection
    rules: DuplicateRules
    change_log: ChangeLog

    def settle(self, block_id: int) -> None:
        """Give each sighting of a block a stored block that it duplicates, or make it a block."""
        left = _staying_sightings(self.connection, block_id, self.selection)
        while left:
            original = self._find_stored(left[0])
            if original is None:
                original = self._promote(left.pop(0))
            moved = [row for row in left if self._duplicates(row, original)]
            move_sightings(self.connection, moved, original, self.change_log)
            moved_ids = {row["id"] for row in moved}
            left = [row for row in left if row["id"] not in moved_ids]

    def _find_stored(self, row: RowMapping) -> OriginalBlock | None:
        """Return the nearest block on a page that stays, as a visit would find it for this sighting.

        Blocks of the sighting's own page count only while both are on it: a page does not repeat its former texts.
        """
        blocks = self._read_blocks(row) if self.rules.beyond_page else []
        options = [
            (
                0 if candidate["digest"] == row["digest"] else distance(candidate["fingerprint"], row["fingerprint"]),
                original,
            )
            for candidate in blocks
            if candidate["page_id"] != row["page_id"] or (candidate["gone_at"] is None and row["gone_at"] is None)
            for original in (
                OriginalBlock(candidate["id"], candidate["text"], candidate["digest"], candidate["fingerprint"]),
            )
            if self._duplicates(row, original)
        ]
        return min(options, key=lambda option: (option[0], option[1].block_id), default=(0, None))[1]

    def _read_blocks(self, row: RowMapping) -> list[RowMapping]:
        """Return the staying blocks with a near fingerprint, and the first ones with the same digest."""
        bits = [] if row["fingerprint"] is None else [row["fingerprint"]]
        near = [match.owner_id for match in self.index.lookup(self.connection, bits).matches]
        staying = select(block).where(not_(block.c.page_id.in_(_selected_pages(self.selection))))
        if self.rules.scope == "site":
            staying = staying.where(block.c.site == row["site"])
        statements = [staying.where(block.c.id.in_(ids)) for ids in batched(near)]
        statements.append(staying.where(block.c.digest == row["digest"]).order_by(block.c.id).limit(SAME_DIGEST_MAX))
        return [candidate for statement in statements for candidate in self.connection.execute(statement).mappings()]

    def _duplicates(self, row: RowMapping, original: OriginalBlock) -> bool:
        if row["digest"] == original.digest and same_terms(row["full_text"], original.text):
            return True
        if row["fingerprint"] is None or original.fingerprint is None:
            return False
        return distance(row["fingerprint"], original.fingerprint) <= self.rules.max_distance

    def _promote(self, row: RowMapping) -> OriginalBlock:
        """Make a sighting a block of its page."""
        sequence, text = self.change_log.sequence, row["full_text"]
        own = {"site": row["site"], "text": text, "added": sequence, "changed": sequence}
        values = {name: row[name] for name in SHARED_COLUMNS} | own
        key = self.connection.execute(insert(block), values).inserted_primary_key
        assert key is not None  # one row, always
        add_tokens(self.connection, [SearchableBlock(key[0], text, row["priority"])])
        self.connection.execute(delete(sighting).where(sighting.c.id == row["id"]))
        self.change_log.pages.touched.add(row["page_id"])
        if row["fingerprint"] is not None:
            self.index.add(self.connection, [IndexEntry(row["fingerprint"], key[0])])
        return OriginalBlock(key[0], text, row["digest"], row["fingerprint"])


def _staying_sightings(connection: Connection, block_id: int, selection: PruneSelection) -> list[RowMapping]:
    """Return the sightings on pages that stay, live ones first, then the oldest, with their pages' sites and texts."""
    full_text = func.coalesce(sighting.c.text, block.c.text).label("full_text")
    statement = (
        select(sighting, page.c.site, full_text)
        .join(page, page.c.id == sighting.c.page_id)
        .join(block, block.c.id == sighting.c.block_id)
        .where(sighting.c.block_id == block_id, not_(sighting.c.page_id.in_(_selected_pages(selection))))
        .order_by(sighting.c.gone_at.is_not(None), sighting.c.first_seen, sighting.c.id)
    )
    return list(connection.execute(statement).mappings())


def _remove_near_duplicates(connection: Connection, selection: PruneSelection) -> list[int]:
    """Forget what the selected pages nearly duplicate; return the ids of the pages that lose their original."""
    columns = select(page.c.id, page.c.site, page.c.page_fingerprint)
    selected = [FingerprintedPage(*row) for row in connection.execute(columns.where(_is_selected(selection)))]
    near = NearPages.read(connection, DuplicateRules(), selected, removable={known.page_id for known in selected})
    lost = near.remove(selected)
    near.write(connection)
    return lost


def _delete_pages(connection: Connection, index: FingerprintIndex, selection: PruneSelection) -> None:
    selected = _selected_pages(selection)
    fingerprints = select(block.c.fingerprint, block.c.id).where(
        block.c.page_id.in_(selected), block.c.fingerprint.is_not(None)
    )
    index.remove(connection, [IndexEntry(row.fingerprint, row.id) for row in connection.execute(fingerprints).all()])
    delete_structures(connection, selected)
    delete_names(connection, selected)
    delete_events(connection, selected)
    connection.execute(delete(sighting).where(sighting.c.page_id.in_(selected)))
    connection.execute(delete(block).where(block.c.page_id.in_(selected)))
    connection.execute(delete(page).where(_is_selected(selection)))


def _delete_addresses(connection: Connection) -> None:
    """Delete the other addresses of the pages and sections that are deleted."""
    stays = (select(table.c.url_key).where(table.c.url_key == address.c.leads_to).exists() for table in (page, section))
    connection.execute(delete(address).where(*(~kept for kept in stays)))


def _delete_empty_addresses(connection: Connection, addresses: _Addresses) -> None:
    """Delete the records of addresses without a page, and the records of a site's sitemaps."""
    if addresses.site is not None:
        connection.execute(delete(empty_address).where(empty_address.c.site == addresses.site))
        connection.execute(delete(sitemap).where(sitemap.c.site == addresses.site))
    for part in batched(sorted(addresses.keys)):
        connection.execute(delete(empty_address).where(empty_address.c.url_key.in_(part)))


@dataclass(frozen=True, slots=True)
class _Addresses:
    """The addresses that a selection names: those of single pages, or of one whole site."""

    keys: frozenset[str]
    paths: frozenset[str]
    site: str | None = None

    def include(self, url: str) -> bool:
        """Return True if a URL is one of them, in any spelling."""
        if self.site is not None:
            return urls.site_of(url) == self.site
        # The canonical form takes ten times as long; comparing paths first avoids it for nearly all requests.
        return _url_path(url) in self.paths and urls.url_key(url) in self.keys


def _addresses(connection: Connection, selection: PruneSelection) -> _Addresses:
    pages = select(page.c.url, page.c.url_key).where(page.c.id.in_(_selected_pages(selection)))
    if selection.site is not None and selection.url is None and selection.last_seen_before is None:
        return _Addresses(frozenset(), frozenset(), selection.site)
    known = {url for row in connection.execute(pages) for url in row}
    former = select(address.c.url_key).join(page, page.c.url_key == address.c.leads_to).where(_is_selected(selection))
    known.update(connection.scalars(former))
    if selection.url is not None and selection.last_seen_before is None:
        known |= {selection.url} if selection.site in {None, urls.site_of(selection.url)} else set()
    return _Addresses(frozenset(map(urls.url_key, known)), frozenset(map(_url_path, known)))


def _url_path(url: str) -> str:
    """Return the path of a URL, which is the same in all its spellings."""
    return unquote(url.partition("#")[0].partition("?")[0].partition("://")[2].partition("/")[2])


def _find_requests(connection: Connection, addresses: _Addresses) -> list[int]:
    """Return the ids of the requests for the addresses, in all crawls."""
    rows = connection.execute(select(request.c.id, request.c.url), execution_options={"yield_per": _ROWS_PER_READ})
    return [row.id for row in rows if addresses.include(row.url)]


def _delete_frontier_rows(connection: Connection, selection: PruneSelection, addresses: _Addresses) -> None:
    """Delete requests and sections, the hosts of a whole site, and Referer headers with the addresses."""
    deleted = _find_requests(connection, addresses)
    header_updates = list(_without_referers(connection, addresses))
    _lock_requests(connection, sorted({*deleted, *(header_update["row"] for header_update in header_updates)}))
    if header_updates:
        connection.execute(_SET_HEADERS, header_updates)
    for part in batched(deleted):
        connection.execute(delete(request).where(request.c.id.in_(part)))
    connection.execute(delete(section).where(section.c.id.in_(_selected_sections(selection))))
    if addresses.site is not None:
        _delete_hosts(connection, addresses.site)
        delete_template(connection, addresses.site)
    _delete_corrections(connection, addresses)


def _delete_corrections(connection: Connection, addresses: _Addresses) -> None:
    """Delete the corrections of the addresses, and with a whole site its model."""
    if addresses.site is not None:
        for table in (correction, site_model):
            connection.execute(delete(table).where(table.c.site == addresses.site))
    for part in batched(sorted(addresses.keys)):
        connection.execute(delete(correction).where(correction.c.url_key.in_(part)))


def _lock_requests(connection: Connection, ids: Sequence[int]) -> None:
    """Wait for crawls that are ending these requests; the rows are locked in the same order as by crawls."""
    for part in batched(ids):
        connection.execute(select(request.c.id).where(request.c.id.in_(part)).order_by(request.c.id).with_for_update())


def _selected_sites(connection: Connection, selection: PruneSelection, addresses: _Addresses) -> set[str]:
    """Return the sites of the selected pages and sections."""
    pages = select(page.c.site).where(_is_selected(selection))
    sections = select(section.c.site).where(section.c.id.in_(_selected_sections(selection)))
    sites = set(connection.scalars(pages.union(sections)))
    return sites if addresses.site is None else sites | {addresses.site}


def _delete_health(connection: Connection, sites: Iterable[str]) -> None:
    """Delete the counts and conditions of the sites that have no page and no section left."""
    stored = union(*(select(table.c.site) for table in (page, section)))
    for part in batched(sorted(sites)):
        for table in (site_crawl, alert):
            connection.execute(delete(table).where(table.c.site.in_(part), table.c.site.not_in(stored)))


def _delete_hosts(connection: Connection, site: str) -> None:
    for table in (host, sitemap_trust):
        for part in batched(_hosts_of(connection, table, site)):
            connection.execute(delete(table).where(table.c.host.in_(part)))


def _hosts_of(connection: Connection, table: Table, site: str) -> list[str]:
    """Return the hosts of a site that a table has."""
    own = urls.host_of(f"http://{site}")  # for a site that is an address with a port
    known = connection.scalars(select(table.c.host)).all()
    return [name for name in known if name == own or urls.site_of(f"http://{name}") == site]


def _without_referers(connection: Connection, addresses: _Addresses) -> Iterator[dict[str, Any]]:
    """Yield the requests with a Referer header that has one of the addresses, and their headers without it."""
    rows = connection.execute(select(request.c.id, request.c.headers), execution_options={"yield_per": _ROWS_PER_READ})
    for row in rows:
        headers = {name: values for name, values in row.headers.items() if not _is_referer(name, values, addresses)}
        if len(headers) < len(row.headers):
            yield {"row": row.id, "new_headers": headers}


def _is_referer(name: str, values: Sequence[str], addresses: _Addresses) -> bool:
    return name.lower() == "referer" and any(addresses.include(value) for value in values)

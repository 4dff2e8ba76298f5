"""The blocks and sightings of the pages of a batch: read at once, compared in memory, and written at once.

A block is a kept text. A sighting is a repeat: a stored block's text on another page, or again on the same page.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, case, func, or_, select, update

from cleaning.fingerprint import distance
from crawler.page_comparison import EarlierRow, OriginalBlock, compare_blocks, same_terms
from crawler.storage.locks import NotReadError
from crawler.storage.near_duplicates import IndexEntry, NearIndex
from crawler.storage.search_index import SearchableBlock
from crawler.storage.tables import Rows, batched, block, insert_rows, sighting, signed, to_json, unsigned

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
    from datetime import datetime

    from sqlalchemy import BindParameter, Table, Update
    from sqlalchemy.engine import Connection, RowMapping

    from cleaning.page_fingerprint import FingerprintedBlock
    from crawler.page_comparison import KeptBlock, PageComparison
    from crawler.storage.change_log import ChangeLog
    from crawler.storage.near_duplicates import DuplicateRules, FingerprintIndex
    from crawler.storage.search_index import TokenChanges


class VisitedPage(NamedTuple):
    """The page that a visit shows, its site, and the time of the visit."""

    page_id: int
    site: str
    visit_time: datetime


@dataclass(frozen=True, slots=True)
class NewSighting:
    """A candidate that duplicates a stored block: with the same terms (`exact`), or nearly."""

    candidate: FingerprintedBlock
    original: OriginalBlock
    distance: int
    exact: bool


@dataclass(frozen=True, slots=True)
class FoundOriginals:
    """The candidates of a page that duplicate stored blocks.

    `not_compared` counts the candidates that were not compared with all blocks that they may duplicate.
    """

    sightings: tuple[NewSighting, ...] = ()
    not_compared: int = 0


# What each visit writes of a block or sighting that it finds again, beside the text and the time.
_SHOWN_COLUMNS = ("position", "kind", "path", "words", "score", "priority")
_OF_PAGES: BindParameter[Any] = bindparam("pages", expanding=True)
_BLOCKS_OF_PAGES = (
    select(
        block.c.id,
        block.c.page_id,
        block.c.digest,
        block.c.fingerprint,
        block.c.text,
        block.c.gone_at,
        *(block.c[name] for name in _SHOWN_COLUMNS),
    )
    .where(block.c.page_id.in_(_OF_PAGES))
    .order_by(block.c.id)
)
_SIGHTINGS_OF_PAGES = (
    select(
        sighting.c.id,
        sighting.c.page_id,
        sighting.c.digest,
        sighting.c.text,
        sighting.c.gone_at,
        sighting.c.block_id,
        block.c.text.label("original_text"),
        block.c.digest.label("original_digest"),
        block.c.fingerprint.label("original_fingerprint"),
        *(sighting.c[name] for name in _SHOWN_COLUMNS),
    )
    .join(block, block.c.id == sighting.c.block_id)
    .where(sighting.c.page_id.in_(_OF_PAGES))
    .order_by(sighting.c.id)
)


def read_earlier(connection: Connection, pages: Collection[int]) -> dict[int, list[EarlierRow]]:
    """Return, by page, all blocks and sightings that pages ever had; they may be gone."""
    earlier: dict[int, list[EarlierRow]] = {page_id: [] for page_id in pages}
    if not earlier:
        return earlier
    for row in connection.execute(_BLOCKS_OF_PAGES, {"pages": list(earlier)}):
        original = OriginalBlock(row.id, row.text, row.digest, row.fingerprint)
        is_gone = row.gone_at is not None
        earlier[row.page_id].append(
            EarlierRow(row.id, False, original, row.position, row.digest, row.text, is_gone, tuple(row[-_SHOWN:]))
        )
    for seen in connection.execute(_SIGHTINGS_OF_PAGES, {"pages": list(earlier)}):
        original = OriginalBlock(seen.block_id, seen.original_text, seen.original_digest, seen.original_fingerprint)
        text = seen.original_text if seen.text is None else seen.text
        is_gone = seen.gone_at is not None
        earlier[seen.page_id].append(
            EarlierRow(seen.id, True, original, seen.position, seen.digest, text, is_gone, tuple(seen[-_SHOWN:]))
        )
    return earlier


_SHOWN = len(_SHOWN_COLUMNS)
SAME_DIGEST_MAX = 8
"""The number of stored blocks with its digest that a text is compared with. A crawled database has one, unless texts
were crafted to have another text's digest."""

# In a database that was filled with a narrower DEDUP_SCOPE, thousands of blocks may have the same digest.
_PLACES_MAX = 256
_OF_DIGESTS = {
    "sqlite": """
    SELECT block.id, block.page_id, block.site, block.digest FROM json_each(?) AS query CROSS JOIN block
    ON block.id IN (
        SELECT id FROM block WHERE digest = CAST(query.value ->> 0 AS INTEGER){of_site} LIMIT {limit}
    )
    """,
    "postgresql": """
    SELECT same.* FROM json_array_elements(%s::json) AS query(value) CROSS JOIN LATERAL (
        SELECT id, page_id, site, digest FROM block WHERE digest = (query.value ->> 0)::bigint{of_site} LIMIT {limit}
    ) AS same
    """,
}
_OF_SITE = " AND site = query.value ->> 1"
_HAS_ID = block.c.id.in_(bindparam("ids", expanding=True))
_PLACES_BY_ID = select(block.c.id, block.c.page_id, block.c.site).where(_HAS_ID)
_ORIGINALS_BY_ID = select(
    block.c.id, block.c.page_id, block.c.site, block.c.digest, block.c.fingerprint, block.c.text
).where(_HAS_ID)


class Place(NamedTuple):
    """The page and site of a stored block."""

    page_id: int
    site: str


class Candidate(NamedTuple):
    """A text of a visit that is looked up: its site, and the page that it is probably stored on, if there is one."""

    site: str
    page_id: int | None
    block: FingerprintedBlock


@dataclass(slots=True)
class StoredDuplicates:
    """The stored blocks that the texts of a batch may duplicate.

    `same` has their ids by digest and, if the rules say so, site; only the `originals` that may be chosen are read.
    """

    index: NearIndex
    within_site: bool
    same: dict[tuple[int, str | None], list[int]] = field(default_factory=dict)
    places: dict[int, Place] = field(default_factory=dict)
    originals: dict[int, OriginalBlock] = field(default_factory=dict)

    def nearest(self, fingerprint: int, site: str, page_id: int | None) -> tuple[int, int] | None:
        """Return the distance and id of the nearest block of another page; of several, the one stored first."""
        matches = self.index.near(fingerprint)
        return min((match for match in matches if self._includes(match[1], site, page_id)), default=None)

    def equal(self, digest: int, site: str, page_id: int | None) -> list[int]:
        """Return the ids of the blocks of other pages that have a digest, in order."""
        block_ids = self.same[digest, site if self.within_site else None]
        return [block_id for block_id in block_ids if self._includes(block_id, site, page_id)]

    def _includes(self, block_id: int, site: str, page_id: int | None) -> bool:
        place = self.places.get(block_id)  # None: deleted, its fingerprint is left
        return place is not None and place.page_id != page_id and not (self.within_site and place.site != site)


def read_duplicates(
    connection: Connection,
    index: FingerprintIndex,
    candidates: Sequence[Candidate],
    more: Collection[int],
    rules: DuplicateRules,
) -> StoredDuplicates:
    """Read what these texts may duplicate, and the blocks with the ids `more`."""
    looked_up = [candidate.block.fingerprint for candidate in candidates if candidate.block.fingerprint is not None]
    near = NearIndex.read(connection, index, looked_up)
    stored = StoredDuplicates(near, rules.scope == "site")
    for part in batched(sorted(near.owners)):
        for block_id, *place in connection.execute(_PLACES_BY_ID, {"ids": part}):
            stored.places[block_id] = Place(*place)
    _read_same(connection, stored, candidates)
    chosen = set(more)
    for site, page_id, candidate in candidates:
        chosen.update(stored.equal(candidate.digest, site, page_id)[:SAME_DIGEST_MAX])
        if candidate.fingerprint is not None:
            nearest = stored.nearest(candidate.fingerprint, site, page_id)
            chosen.update(() if nearest is None else nearest[1:])
    for part in batched(sorted(chosen)):
        for row in connection.execute(_ORIGINALS_BY_ID, {"ids": part}):
            stored.originals[row.id] = OriginalBlock(row.id, row.text, row.digest, row.fingerprint)
            stored.places[row.id] = Place(row.page_id, row.site)
    return stored


def _read_same(connection: Connection, stored: StoredDuplicates, candidates: Sequence[Candidate]) -> None:
    for candidate in candidates:
        stored.same[candidate.block.digest, candidate.site if stored.within_site else None] = []
    if not stored.same:
        return
    dialect = connection.dialect.name
    statement = _OF_DIGESTS[dialect].format(of_site=_OF_SITE if stored.within_site else "", limit=_PLACES_MAX)
    queries = to_json([(signed(digest), site) for digest, site in stored.same])
    for block_id, page_id, site, digest in connection.exec_driver_sql(statement, (queries,)):
        stored.same[unsigned(digest), site if stored.within_site else None].append(block_id)
        stored.places[block_id] = Place(page_id, site)
    for block_ids in stored.same.values():
        block_ids.sort()


class _NewBlock(NamedTuple):
    candidate: FingerprintedBlock
    visited: VisitedPage


class _AddedSighting(NamedTuple):
    new: NewSighting
    visited: VisitedPage


class _Refreshed(NamedTuple):
    kept: KeptBlock
    visit_time: datetime


_RowKey = tuple[bool, int]  # whether it is a sighting, and its id


class BlockState:
    """The blocks and sightings that a batch has read, with all that it has changed since.

    `ids` and `sighting_ids` give the ids of new rows.
    """

    def __init__(
        self,
        earlier: dict[int, list[EarlierRow]],
        duplicates: StoredDuplicates,
        ids: Iterator[int],
        sighting_ids: Iterator[int],
        rules: DuplicateRules,
    ) -> None:
        self._rows = {page_id: {_key(row): row for row in rows} for page_id, rows in earlier.items()}
        self._duplicates = duplicates
        self._ids = ids
        self._sighting_ids = sighting_ids
        self._rules = rules
        self._new: dict[int, _NewBlock] = {}
        self._added: dict[int, _AddedSighting] = {}
        self._refreshed: dict[_RowKey, _Refreshed] = {}
        self._gone: dict[_RowKey, datetime] = {}
        self._seen_again: dict[int, datetime] = {}
        self._reworded: dict[int, tuple[str, str]] = {}  # the text before the batch, and now
        self._sites: dict[int, str] = {}

    def of_page(self, page_id: int) -> list[EarlierRow]:
        """Return all blocks and sightings that a page ever had; they may be gone."""
        if page_id not in self._rows:
            raise NotReadError("contents", page_id)
        return list(self._rows[page_id].values())

    def live(self, page_id: int) -> list[EarlierRow]:
        """Return the blocks and sightings that a page shows."""
        return [row for row in self.of_page(page_id) if not row.gone]

    def add_page(self, page_id: int) -> None:
        """Begin a page that has no rows yet."""
        self._rows[page_id] = {}

    def compare(
        self,
        candidates: Sequence[FingerprintedBlock],
        earlier: Sequence[EarlierRow],
        page_texts: Callable[[], Container[str]] = frozenset,
    ) -> PageComparison:
        """Compare a visit with the page's earlier rows by the rules: with scope `off` no candidate repeats another."""
        if self._rules.scope == "off":
            candidates = [replace(candidate, repeats=None, distance=0) for candidate in candidates]
        return compare_blocks(candidates, earlier, self._rules.max_distance, page_texts)

    def store(self, visited: VisitedPage, comparison: PageComparison, tokens: TokenChanges) -> FoundOriginals:
        """Add new candidates as blocks or sightings, refresh the kept rows; return all new sightings."""
        self._seen_again.pop(visited.page_id, None)
        candidates = [candidate for candidate in comparison.new if candidate.repeats is None]
        found = self._find_originals(visited, candidates) if self._rules.beyond_page else FoundOriginals()
        returned = sum(kept.earlier.gone for kept in comparison.kept)
        found_live = len(comparison.kept) - returned + len(comparison.missing)
        # If no other row stays, one statement says of all that they are seen again; few need one of their own.
        is_whole = sum(not row.gone for row in self._rows[visited.page_id].values()) == found_live
        for kept in comparison.kept:
            if not (is_whole and self._is_shown_as_before(visited, kept)):
                self._refresh(visited, kept, tokens)
        if is_whole and comparison.kept:
            self._seen_again[visited.page_id] = visited.visit_time
        originals = {new_sighting.candidate.position: new_sighting.original for new_sighting in found.sightings}
        for candidate in candidates:
            if candidate.position not in originals:
                originals[candidate.position] = self._add_block(visited, candidate, tokens)
        rows = self._rows[visited.page_id]
        for kept in comparison.kept:
            originals[kept.position] = rows[_key(kept.earlier)].original
        sightings = [*found.sightings, *_sightings_of_repeats(comparison.new, originals)]
        for new_sighting in sightings:
            self._add_sighting(visited, new_sighting)
        self._hide(visited.page_id, comparison.missing, visited.visit_time)
        return replace(found, sightings=tuple(sightings))

    def see_again(self, page_id: int, visit_time: datetime) -> None:
        """Record that a page still shows all its blocks and sightings."""
        self._seen_again[page_id] = visit_time

    def hide(self, page_id: int, visit_time: datetime) -> list[EarlierRow]:
        """Mark all that a page shows as gone; return it."""
        live = self.live(page_id)
        self._hide(page_id, live, visit_time)
        return live

    def absorb(self, page_id: int, into: VisitedPage) -> None:
        """Give a page the rows of another one."""
        self.of_page(into.page_id)
        self._rows[into.page_id] |= self._rows.pop(page_id)
        self._move_places(page_id, Place(into.page_id, into.site))

    def change_site(self, page_id: int, site: str) -> None:
        """Move the blocks of a page to another site."""
        self._sites[page_id] = site
        self._move_places(page_id, Place(page_id, site))

    def _move_places(self, page_id: int, now: Place) -> None:
        places = self._duplicates.places
        for block_id in [block_id for block_id, place in places.items() if place.page_id == page_id]:
            places[block_id] = now

    def _find_originals(self, visited: VisitedPage, candidates: Sequence[FingerprintedBlock]) -> FoundOriginals:
        """Find the candidates that duplicate stored blocks of other pages, each with the nearest block.

        Of several blocks at the same distance, the one stored first counts. The digest finds the blocks with the same
        terms, the fingerprint finds near-duplicates.
        """
        sightings = []
        not_compared = 0
        for candidate in candidates:
            key = (candidate.digest, visited.site if self._duplicates.within_site else None)
            if key not in self._duplicates.same:
                raise NotReadError("candidates", candidate.digest)
            same = self._duplicates.equal(candidate.digest, visited.site, visited.page_id)
            is_compared = candidate.fingerprint not in self._duplicates.index.not_compared
            nearest = None
            if candidate.fingerprint is not None:
                nearest = self._duplicates.nearest(candidate.fingerprint, visited.site, visited.page_id)
            options = [] if nearest is None else [nearest]
            for block_id in same[:SAME_DIGEST_MAX]:
                if _is_exact(candidate, self._original(block_id)):
                    options.append((0, block_id))
                    break
            if options:
                bits, block_id = min(options)
                original = self._original(block_id)
                sightings.append(NewSighting(candidate, original, bits, exact=_is_exact(candidate, original)))
            elif len(same) > SAME_DIGEST_MAX:
                is_compared = False
            not_compared += not is_compared
        return FoundOriginals(tuple(sightings), not_compared)

    def _original(self, block_id: int) -> OriginalBlock:
        if block_id not in self._duplicates.originals:
            raise NotReadError("blocks", block_id)
        return self._duplicates.originals[block_id]

    def _add_block(self, visited: VisitedPage, candidate: FingerprintedBlock, tokens: TokenChanges) -> OriginalBlock:
        block_id = next(self._ids)
        original = OriginalBlock(block_id, candidate.text, candidate.digest, candidate.fingerprint)
        self._new[block_id] = _NewBlock(candidate, visited)
        self._rows[visited.page_id][False, block_id] = _row_of(block_id, candidate, original, is_sighting=False)
        tokens.put(SearchableBlock.of(block_id, candidate.block))
        found = self._duplicates
        found.places[block_id] = Place(visited.page_id, visited.site)
        found.originals[block_id] = original
        found.same.setdefault((candidate.digest, visited.site if found.within_site else None), []).append(block_id)
        if candidate.fingerprint is not None:
            found.index.add(IndexEntry(candidate.fingerprint, block_id))
        return original

    def _add_sighting(self, visited: VisitedPage, new: NewSighting) -> None:
        row_id = next(self._sighting_ids)
        self._added[row_id] = _AddedSighting(new, visited)
        self._rows[visited.page_id][True, row_id] = _row_of(row_id, new.candidate, new.original, is_sighting=True)

    def _is_shown_as_before(self, visited: VisitedPage, kept: KeptBlock) -> bool:
        key = _key(kept.earlier)
        row = self._rows[visited.page_id][key]
        if row.gone or row.text != kept.text or key in self._refreshed:
            return False
        return row.shown == _shown_values(kept.candidate)

    def _refresh(self, visited: VisitedPage, kept: KeptBlock, tokens: TokenChanges) -> None:
        key = _key(kept.earlier)
        before = self._rows[visited.page_id][key]
        row = replace(before, position=kept.position, text=kept.text, gone=False)
        if not row.is_sighting:
            if before.text != kept.text:
                row = replace(row, original=replace(before.original, text=kept.text))
                self._reword(before.original, kept.text)
                tokens.replace(SearchableBlock.of(row.row_id, kept.candidate.block))
            else:
                tokens.renew(SearchableBlock.of(row.row_id, kept.candidate.block))
        self._rows[visited.page_id][key] = row
        self._refreshed[key] = _Refreshed(kept, visited.visit_time)
        self._gone.pop(key, None)

    def _reword(self, original: OriginalBlock, text: str) -> None:
        """Let a block have another text with the same terms; its sightings keep theirs."""
        block_id = original.block_id
        self._reworded[block_id] = (self._reworded.get(block_id, (original.text,))[0], text)
        now = replace(original, text=text)
        if block_id in self._duplicates.originals:
            self._duplicates.originals[block_id] = now
        for rows in self._rows.values():
            for key, row in rows.items():
                if row.original.block_id == block_id:
                    rows[key] = replace(row, original=now)

    def _hide(self, page_id: int, missing: Iterable[EarlierRow], visit_time: datetime) -> None:
        for row in missing:
            self._rows[page_id][_key(row)] = replace(row, gone=True)
            self._gone[_key(row)] = visit_time

    def write(self, connection: Connection, index: FingerprintIndex, log: ChangeLog) -> None:
        """Write all changes but those of whole pages; a text is written only if it differs from its block's.

        If a block's text changes but its terms do not, its stored sightings keep the old text.
        """
        reworded = [
            {"of_block": block_id, "old_text": old, "new_text": new}
            for block_id, (old, new) in self._reworded.items()
            if old != new and block_id not in self._new
        ]
        if reworded:
            connection.execute(_KEEP_OLD_TEXT, reworded)
        blocks = [
            (block_id, *_content_values(candidate, visited, log.sequence), visited.site, log.sequence, candidate.text)
            for block_id, (candidate, visited) in self._new.items()
        ]
        insert_rows(connection, block, Rows(_NEW_BLOCK, blocks))
        self._duplicates.index.write(connection, index)
        added = [
            (
                row_id,
                *_content_values(new.candidate, visited, log.sequence),
                new.original.block_id,
                new.distance,
                self._own_text(new.candidate.text, new.original),
            )
            for row_id, (new, visited) in self._added.items()
        ]
        insert_rows(connection, sighting, Rows(_NEW_SIGHTING, added))
        for is_sighting, refresh, mark in _UPDATES_OF_ROWS:
            kept = [
                self._refreshed_values(refreshed, log)
                for key, refreshed in self._refreshed.items()
                if key[0] is is_sighting
            ]
            if kept:
                connection.execute(refresh, kept)
            gone = [
                {"row": row_id, "at": visit_time, "sequence": log.sequence}
                for (of_sighting, row_id), visit_time in self._gone.items()
                if of_sighting is is_sighting
            ]
            if gone:
                connection.execute(mark, gone)
        seen = [{"page": page_id, "at": visit_time} for page_id, visit_time in self._seen_again.items()]
        for statement in _REFRESH_LAST_SEEN if seen else ():
            connection.execute(statement, seen)
        if self._sites:
            rows = [{"page": page_id, "of_site": site} for page_id, site in self._sites.items()]
            connection.execute(_SET_SITE, rows)

    def _refreshed_values(self, refreshed: _Refreshed, log: ChangeLog) -> dict[str, Any]:
        kept, visit_time = refreshed
        is_sighting = kept.earlier.is_sighting
        shown = zip(_SHOWN_COLUMNS, _shown_values(kept.candidate), strict=True)
        return {f"new_{name}": value for name, value in shown} | {
            "row": kept.earlier.row_id,
            "new_text": self._own_text(kept.text, kept.earlier.original) if is_sighting else kept.text,
            "new_last_seen": visit_time,
            "sequence": log.sequence,
        }

    def _own_text(self, text: str, original: OriginalBlock) -> str | None:
        _, now = self._reworded.get(original.block_id, (None, original.text))
        return None if text == now else text


def _key(row: EarlierRow) -> _RowKey:
    return row.is_sighting, row.row_id


def _row_of(row_id: int, candidate: FingerprintedBlock, original: OriginalBlock, *, is_sighting: bool) -> EarlierRow:
    return EarlierRow(row_id, is_sighting, original, candidate.position, candidate.digest, candidate.text, gone=False)


def _sightings_of_repeats(new: Iterable[FingerprintedBlock], originals: dict[int, OriginalBlock]) -> list[NewSighting]:
    """Return the candidates that repeat another candidate of their page, as sightings of its original."""
    sightings = []
    for candidate in new:
        if candidate.repeats is not None:
            original = originals[candidate.position] = originals[candidate.repeats]
            is_exact = candidate.digest == original.digest
            sightings.append(NewSighting(candidate, original, _bits(candidate, original), exact=is_exact))
    return sightings


def _bits(candidate: FingerprintedBlock, original: OriginalBlock) -> int:
    """Return the distance of a repeat from its original."""
    if candidate.fingerprint is None or original.fingerprint is None:
        return candidate.distance
    return distance(candidate.fingerprint, original.fingerprint)


def _is_exact(candidate: FingerprintedBlock, original: OriginalBlock) -> bool:
    return candidate.digest == original.digest and same_terms(candidate.text, original.text)


_REFRESHED_VALUES: dict[str, Any] = {name: bindparam(f"new_{name}") for name in (*_SHOWN_COLUMNS, "text", "last_seen")}


def _refresh_statement(table: Table) -> Update:
    """Return the statement that refreshes a row; it sets the change sequence only if an exported column changes."""
    exported = [name for name in _REFRESHED_VALUES if name not in {"path", "last_seen"}]
    differs = [table.c[name].is_distinct_from(bindparam(f"new_{name}", type_=table.c[name].type)) for name in exported]
    changed = case((or_(table.c.gone_at.is_not(None), *differs), bindparam("sequence")), else_=table.c.changed)
    values = _REFRESHED_VALUES | {"gone_at": None, "changed": changed}
    return update(table).where(table.c.id == bindparam("row")).values(values)


# Sightings whose text is null, because it was the block's, keep the block's old text.
_KEEP_OLD_TEXT = (
    update(sighting)
    .where(sighting.c.block_id == bindparam("of_block"))
    .values(text=func.nullif(func.coalesce(sighting.c.text, bindparam("old_text")), bindparam("new_text")))
)
_GONE_VALUES: dict[str, Any] = {"gone_at": bindparam("at"), "changed": bindparam("sequence")}
_UPDATES_OF_ROWS = (
    (False, _refresh_statement(block), update(block).where(block.c.id == bindparam("row")).values(_GONE_VALUES)),
    (
        True,
        _refresh_statement(sighting),
        update(sighting).where(sighting.c.id == bindparam("row")).values(_GONE_VALUES),
    ),
)
_REFRESH_LAST_SEEN = [
    update(table)
    .where(table.c.page_id == bindparam("page"), table.c.gone_at.is_(None))
    .values(last_seen=bindparam("at"))
    for table in (block, sighting)
]
_SET_SITE = update(block).where(block.c.page_id == bindparam("page")).values(site=bindparam("of_site"))

# As `_content_values` returns them.
_CONTENT_COLUMNS = (
    "page_id",
    *_SHOWN_COLUMNS,
    "digest",
    "fingerprint",
    "first_seen",
    "last_seen",
    "changed",
)
_NEW_BLOCK = ("id", *_CONTENT_COLUMNS, "site", "added", "text")
_NEW_SIGHTING = ("id", *_CONTENT_COLUMNS, "block_id", "distance", "text")


def _shown_values(candidate: FingerprintedBlock) -> tuple[Any, ...]:
    content = candidate.block
    score = candidate.decision.score
    return content.position, str(content.kind), content.path, content.words, score, content.priority


def _content_values(candidate: FingerprintedBlock, visited: VisitedPage, sequence: int) -> tuple[Any, ...]:
    return (
        visited.page_id,
        *_shown_values(candidate),
        candidate.digest,
        candidate.fingerprint,
        visited.visit_time,
        visited.visit_time,
        sequence,
    )


# The columns that a block keeps when it becomes a sighting, and a sighting when it becomes a block.
SHARED_COLUMNS = tuple(
    column.name for column in sighting.c if column.name in block.c and column.name not in {"id", "text"}
)
_MOVE_SIGHTING = (
    update(sighting)
    .where(sighting.c.id == bindparam("row"))
    .values(
        block_id=bindparam("of_block"),
        distance=bindparam("bits"),
        text=bindparam("own_text"),
        changed=bindparam("sequence"),
    )
)


def move_sightings(
    connection: Connection, sightings: Sequence[RowMapping], original: OriginalBlock, change_log: ChangeLog
) -> None:
    """Make the rows sightings of `original`; each row has its text as `full_text`, so that no text is lost."""
    if not sightings:
        return
    rows = [_moved_values(row, original) | {"sequence": change_log.sequence} for row in sightings]
    connection.execute(_MOVE_SIGHTING, rows)
    for row in sightings:
        change_log.pages.touched.add(row["page_id"])


def _moved_values(row: RowMapping, original: OriginalBlock) -> dict[str, Any]:
    bits = row["distance"]
    if row["fingerprint"] is not None and original.fingerprint is not None:
        bits = distance(row["fingerprint"], original.fingerprint)
    return {
        "row": row["id"],
        "of_block": original.block_id,
        "bits": bits,
        "own_text": None if row["full_text"] == original.text else row["full_text"],
    }

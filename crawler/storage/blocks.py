"""The blocks and sightings of a page: those of its earlier visits are read, duplicates found, and the new ones written.

A block is a kept text. A sighting is a repeat: a stored block's text on another page, or again on the same page.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, case, func, or_, select, update

from cleaning.fingerprint import distance
from crawler.page_comparison import EarlierRow, KeptBlock, OriginalBlock, compare_blocks, same_terms
from crawler.storage.near_duplicates import MAX_DISTANCE, IndexEntry
from crawler.storage.search_index import SearchableBlock
from crawler.storage.tables import (
    Rows,
    batched,
    block,
    insert_numbered,
    insert_rows,
    sighting,
    signed,
    to_json,
    unsigned,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Table, Update
    from sqlalchemy.engine import Connection, RowMapping

    from cleaning.page_fingerprint import FingerprintedBlock
    from crawler.page_comparison import PageComparison
    from crawler.storage.change_log import ChangeLog
    from crawler.storage.near_duplicates import DuplicateRules, FingerprintIndex, FingerprintMatch
    from crawler.storage.search_index import TokenWriter


@dataclass(frozen=True, slots=True)
class VisitedPage:
    """The page whose blocks are written, the time of the visit, and the transaction's change sequence."""

    page_id: int
    site: str
    visit_time: datetime
    sequence: int


@dataclass(frozen=True, slots=True)
class NewSighting:
    """A candidate that duplicates a stored block: with the same terms (`exact`), or nearly."""

    candidate: FingerprintedBlock
    original: OriginalBlock
    distance: int
    exact: bool


_BLOCKS_OF_PAGE = select(
    block.c.id, block.c.position, block.c.digest, block.c.fingerprint, block.c.text, block.c.gone_at
).where(block.c.page_id == bindparam("page"))
_SIGHTINGS_OF_PAGE = (
    select(
        sighting.c.id,
        sighting.c.position,
        sighting.c.digest,
        sighting.c.text,
        sighting.c.gone_at,
        sighting.c.block_id,
        block.c.text.label("original_text"),
        block.c.digest.label("original_digest"),
        block.c.fingerprint.label("original_fingerprint"),
    )
    .join(block, block.c.id == sighting.c.block_id)
    .where(sighting.c.page_id == bindparam("page"))
)


def read_earlier(connection: Connection, page_id: int) -> list[EarlierRow]:
    """Return all blocks and sightings that a page ever had; they may be gone."""
    page = {"page": page_id}
    blocks = [
        EarlierRow(
            row_id=row.id,
            is_sighting=False,
            original=OriginalBlock(row.id, row.text, row.digest, row.fingerprint),
            position=row.position,
            digest=row.digest,
            text=row.text,
            gone=row.gone_at is not None,
        )
        for row in connection.execute(_BLOCKS_OF_PAGE, page)
    ]
    sightings = [
        EarlierRow(
            row_id=row.id,
            is_sighting=True,
            original=OriginalBlock(row.block_id, row.original_text, row.original_digest, row.original_fingerprint),
            position=row.position,
            digest=row.digest,
            text=row.original_text if row.text is None else row.text,
            gone=row.gone_at is not None,
        )
        for row in connection.execute(_SIGHTINGS_OF_PAGE, page)
    ]
    return blocks + sightings


class BlockWriter:
    """Writes the blocks of pages, and the duplicates among them, by the rules, as sightings."""

    def __init__(self, index: FingerprintIndex, rules: DuplicateRules) -> None:
        self._index = index
        self._rules = rules

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

    def write(
        self, connection: Connection, visited: VisitedPage, comparison: PageComparison, tokens: TokenWriter
    ) -> FoundOriginals:
        """Store new candidates as blocks or sightings, refresh the kept rows; return all new sightings."""
        duplicates = self._find_originals(
            connection, visited, [candidate for candidate in comparison.new if candidate.repeats is None]
        )
        known = {duplicate.candidate.position for duplicate in duplicates.sightings}
        fresh = [
            candidate for candidate in comparison.new if candidate.repeats is None and candidate.position not in known
        ]
        blocks = _add_blocks(connection, visited, fresh, tokens)
        self._index.add(
            connection,
            [
                IndexEntry(original.fingerprint, original.block_id)
                for original in blocks.values()
                if original.fingerprint is not None
            ],
        )
        kept = _kept_blocks(comparison)
        originals = blocks | _kept_originals(comparison, kept)
        originals |= {duplicate.candidate.position: duplicate.original for duplicate in duplicates.sightings}
        sightings = (*duplicates.sightings, *_sightings_of_repeats(comparison.new, originals))
        _refresh_rows(connection, visited, comparison.kept, kept)
        tokens.refresh(kept_block for kept_block in comparison.kept if not kept_block.earlier.is_sighting)
        _add_sightings(connection, visited, sightings)
        mark_gone(connection, visited, comparison.missing)
        return replace(duplicates, sightings=sightings)

    def _find_originals(
        self, connection: Connection, visited: VisitedPage, new: list[FingerprintedBlock]
    ) -> FoundOriginals:
        if not self._rules.beyond_page:
            return FoundOriginals()
        return find_originals(connection, self._index, visited, new, within_site=self._rules.scope == "site")


def _kept_blocks(comparison: PageComparison) -> dict[int, OriginalBlock]:
    """Return the page's own kept blocks, with their present texts, by id."""
    return {
        kept_block.earlier.row_id: replace(kept_block.earlier.original, text=kept_block.text)
        for kept_block in comparison.kept
        if not kept_block.earlier.is_sighting
    }


def _kept_originals(comparison: PageComparison, kept: Mapping[int, OriginalBlock]) -> dict[int, OriginalBlock]:
    """Return, by position, the block of each kept row: the row itself, or the original of a sighting."""
    return {
        kept_block.position: kept.get(kept_block.earlier.original.block_id, kept_block.earlier.original)
        for kept_block in comparison.kept
    }


def _sightings_of_repeats(new: Iterable[FingerprintedBlock], originals: dict[int, OriginalBlock]) -> list[NewSighting]:
    """Return the candidates that repeat another candidate of their page, as sightings of its original."""
    sightings = []
    for candidate in new:
        if candidate.repeats is not None:
            original = originals[candidate.repeats]
            originals[candidate.position] = original
            sightings.append(_sighting_of_repeat(candidate, original))
    return sightings


def _sighting_of_repeat(candidate: FingerprintedBlock, original: OriginalBlock) -> NewSighting:
    bits = candidate.distance
    if candidate.fingerprint is not None and original.fingerprint is not None:
        bits = distance(candidate.fingerprint, original.fingerprint)
    return NewSighting(candidate, original, bits, exact=candidate.digest == original.digest)


SAME_DIGEST_MAX = 8
"""The number of stored blocks with its digest that a text is compared with. A crawled database has one, unless texts
were crafted to have another text's digest."""

# In a database that was filled with a narrower DEDUP_SCOPE, thousands of blocks may have the same digest.
_PLACES_MAX = 256
_PLACES_OF_DIGESTS = {
    "sqlite": """
    SELECT block.id, block.page_id, block.site, block.digest FROM json_each(?) AS query CROSS JOIN block
    ON block.id IN (SELECT id FROM block WHERE digest = query.value{of_site} LIMIT {limit})
    """,
    "postgresql": """
    SELECT same.* FROM unnest(%s::bigint[]) AS query(digest) CROSS JOIN LATERAL (
        SELECT id, page_id, site, digest FROM block WHERE digest = query.digest{of_site} LIMIT {limit}
    ) AS same
    """,
}
_OF_SITE = {"sqlite": " AND site = ?", "postgresql": " AND site = %s"}
_HAS_ID = block.c.id.in_(bindparam("ids", expanding=True))
_PLACES_BY_ID = select(block.c.id, block.c.page_id, block.c.site).where(_HAS_ID)
_ORIGINALS_BY_ID = select(block.c.id, block.c.digest, block.c.fingerprint, block.c.text).where(_HAS_ID)


@dataclass(frozen=True, slots=True)
class FoundOriginals:
    """The candidates of a page that duplicate stored blocks.

    `not_compared` counts the candidates that were not compared with all blocks that they may duplicate.
    """

    sightings: tuple[NewSighting, ...] = ()
    not_compared: int = 0


@dataclass(frozen=True, slots=True)
class _Duplicated:
    """The blocks that a candidate may duplicate: the nearest by fingerprint, and the first ones with its digest."""

    candidate: FingerprintedBlock
    near: tuple[int, int] | None
    """Its distance and id."""
    same: Sequence[int]


def find_originals(
    connection: Connection,
    index: FingerprintIndex,
    visited: VisitedPage,
    candidates: Sequence[FingerprintedBlock],
    *,
    within_site: bool,
) -> FoundOriginals:
    """Find the candidates that duplicate a stored block of another page, each with the nearest block.

    Of several blocks at the same distance, the one stored first counts. The digest finds the blocks with the same
    terms, the fingerprint finds near-duplicates. Only the texts of blocks that may be chosen are read.
    """
    scope = _DuplicateScope(connection, visited, within_site=within_site)
    queries = [candidate.fingerprint for candidate in candidates if candidate.fingerprint is not None]
    matches = index.lookup(connection, queries)
    nearest = scope.nearest(matches.matches)
    same = scope.same_digest([candidate.digest for candidate in candidates])
    options = [
        _Duplicated(
            candidate,
            None if candidate.fingerprint is None else nearest.get(candidate.fingerprint),
            same.get(candidate.digest, ()),
        )
        for candidate in candidates
    ]
    ids = {block_id for option in options for block_id in option.same[:SAME_DIGEST_MAX]}
    originals = _read_originals(connection, sorted(ids | {option.near[1] for option in options if option.near}))
    sightings = {
        option.candidate.position: new_sighting
        for option in options
        if (new_sighting := _nearest_original(option, originals)) is not None
    }
    not_compared = sum(
        option.candidate.fingerprint in matches.not_compared
        or (len(option.same) > SAME_DIGEST_MAX and option.candidate.position not in sightings)
        for option in options
    )
    return FoundOriginals(tuple(sightings.values()), not_compared)


class _DuplicateScope:
    """The stored blocks that a page's blocks may duplicate: on other pages, only of its site if the rules say so."""

    def __init__(self, connection: Connection, visited: VisitedPage, *, within_site: bool) -> None:
        self._connection = connection
        self._visited = visited
        self._site = visited.site if within_site else None

    def nearest(self, matches: Sequence[FingerprintMatch]) -> dict[int, tuple[int, int]]:
        """Return, by query, the distance and id of the nearest block."""
        ids = list({match.owner_id for match in matches})
        rows = (row for part in batched(ids) for row in self._connection.execute(_PLACES_BY_ID, {"ids": list(part)}))
        included = {row.id for row in rows if self._includes(row.page_id, row.site)}
        nearest: dict[int, tuple[int, int]] = {}
        for match in matches:
            option = (match.distance, match.owner_id)
            if match.owner_id in included and option < nearest.get(match.query, (MAX_DISTANCE + 1, 0)):
                nearest[match.query] = option
        return nearest

    def same_digest(self, digests: Iterable[int]) -> dict[int, list[int]]:
        """Return, by digest, the ids of the blocks that have it, in order."""
        queries = [signed(digest) for digest in dict.fromkeys(digests)]
        dialect = self._connection.dialect.name
        if not queries:
            return {}
        of_site = "" if self._site is None else _OF_SITE[dialect]
        statement = _PLACES_OF_DIGESTS[dialect].format(of_site=of_site, limit=_PLACES_MAX)
        digest_array = to_json(queries) if dialect == "sqlite" else queries
        parameters = (digest_array, *([] if self._site is None else [self._site]))
        ids: dict[int, list[int]] = defaultdict(list)
        for block_id, page_id, site, digest in self._connection.exec_driver_sql(statement, parameters):
            if self._includes(page_id, site):
                ids[unsigned(digest)].append(block_id)
        return {digest: sorted(of_digest) for digest, of_digest in ids.items()}

    def _includes(self, page_id: int, site: str) -> bool:
        return page_id != self._visited.page_id and self._site in {None, site}


def _nearest_original(option: _Duplicated, originals: Mapping[int, OriginalBlock]) -> NewSighting | None:
    same = (block_id for block_id in option.same[:SAME_DIGEST_MAX] if block_id in originals)
    equal = next((block_id for block_id in same if _is_exact(option.candidate, originals[block_id])), None)
    options = [*([] if equal is None else [(0, equal)]), *([] if option.near is None else [option.near])]
    if not options:
        return None
    bits, block_id = min(options)
    original = originals[block_id]
    return NewSighting(option.candidate, original, bits, exact=_is_exact(option.candidate, original))


def _is_exact(candidate: FingerprintedBlock, original: OriginalBlock) -> bool:
    return candidate.digest == original.digest and same_terms(candidate.text, original.text)


def _read_originals(connection: Connection, ids: Sequence[int]) -> dict[int, OriginalBlock]:
    rows = (row for part in batched(ids) for row in connection.execute(_ORIGINALS_BY_ID, {"ids": list(part)}))
    return {row.id: OriginalBlock(row.id, row.text, row.digest, row.fingerprint) for row in rows}


_REFRESHED_VALUES: dict[str, Any] = {
    name: bindparam(f"new_{name}")
    for name in ("position", "kind", "path", "words", "score", "priority", "text", "last_seen")
}


def _refresh_statement(table: Table) -> Update:
    """Return the statement that refreshes a row; it sets the change sequence only if an exported column changes."""
    exported = [name for name in _REFRESHED_VALUES if name not in {"path", "last_seen"}]
    differs = [table.c[name].is_distinct_from(bindparam(f"new_{name}", type_=table.c[name].type)) for name in exported]
    changed = case((or_(table.c.gone_at.is_not(None), *differs), bindparam("sequence")), else_=table.c.changed)
    values = _REFRESHED_VALUES | {"gone_at": None, "changed": changed}
    return update(table).where(table.c.id == bindparam("row")).values(values)


_REFRESH_BLOCK = _refresh_statement(block)
_REFRESH_SIGHTING = _refresh_statement(sighting)
# Sightings whose text is null, because it was the block's, keep the block's old text.
_KEEP_OLD_TEXT = (
    update(sighting)
    .where(sighting.c.block_id == bindparam("of_block"))
    .values(text=func.nullif(func.coalesce(sighting.c.text, bindparam("old_text")), bindparam("new_text")))
)
_GONE_VALUES: dict[str, Any] = {"gone_at": bindparam("at"), "changed": bindparam("sequence")}
_MARK_BLOCK_GONE = update(block).where(block.c.id == bindparam("row")).values(_GONE_VALUES)
_MARK_SIGHTING_GONE = update(sighting).where(sighting.c.id == bindparam("row")).values(_GONE_VALUES)


# As `_content_values` returns them.
_CONTENT_COLUMNS = (
    "page_id",
    "position",
    "kind",
    "path",
    "words",
    "score",
    "priority",
    "digest",
    "fingerprint",
    "first_seen",
    "last_seen",
    "changed",
)
_NEW_BLOCK = (*_CONTENT_COLUMNS, "site", "added", "text")
_NEW_SIGHTING = (*_CONTENT_COLUMNS, "block_id", "distance", "text")


def _add_blocks(
    connection: Connection, visited: VisitedPage, candidates: Sequence[FingerprintedBlock], tokens: TokenWriter
) -> dict[int, OriginalBlock]:
    """Insert blocks; return them with their ids, by position."""
    if not candidates:
        return {}
    site, sequence = visited.site, visited.sequence
    rows = [(*_content_values(candidate, visited), site, sequence, candidate.text) for candidate in candidates]
    ids = insert_numbered(connection, block, Rows(_NEW_BLOCK, rows), by="position")
    tokens.add(SearchableBlock.of(ids[candidate.position], candidate.block) for candidate in candidates)
    return {
        candidate.position: OriginalBlock(
            ids[candidate.position], candidate.text, candidate.digest, candidate.fingerprint
        )
        for candidate in candidates
    }


def _add_sightings(connection: Connection, visited: VisitedPage, sightings: Sequence[NewSighting]) -> None:
    """Insert sightings, each with its own text if that differs from the block's."""
    rows = [
        (
            *_content_values(new_sighting.candidate, visited),
            new_sighting.original.block_id,
            new_sighting.distance,
            _own_text(new_sighting.candidate, new_sighting.original),
        )
        for new_sighting in sightings
    ]
    insert_rows(connection, sighting, Rows(_NEW_SIGHTING, rows))


def _refresh_rows(
    connection: Connection, visited: VisitedPage, kept: Iterable[KeptBlock], originals: Mapping[int, OriginalBlock]
) -> None:
    """Update kept rows, also those that come back; `originals` are the kept blocks with their present texts, by id.

    If a block's text changes but its terms do not, its sightings keep the old text.
    """
    blocks = [kept_block for kept_block in kept if not kept_block.earlier.is_sighting]
    sightings = [kept_block for kept_block in kept if kept_block.earlier.is_sighting]
    if reworded := [
        _reworded_values(kept_block) for kept_block in blocks if kept_block.earlier.text != kept_block.text
    ]:
        connection.execute(_KEEP_OLD_TEXT, reworded)
    if blocks:
        connection.execute(
            _REFRESH_BLOCK, [_refreshed_values(kept_block, visited, kept_block.text) for kept_block in blocks]
        )
    if sightings:
        now = [
            originals.get(kept_block.earlier.original.block_id, kept_block.earlier.original) for kept_block in sightings
        ]
        rows = [
            _refreshed_values(kept_block, visited, _own_text(kept_block.candidate, original))
            for kept_block, original in zip(sightings, now, strict=True)
        ]
        connection.execute(_REFRESH_SIGHTING, rows)


def mark_gone(connection: Connection, visited: VisitedPage, rows: Iterable[EarlierRow]) -> None:
    """Set `gone_at` of blocks and sightings that the page no longer shows; nothing is deleted."""
    values = {"at": visited.visit_time, "sequence": visited.sequence}
    blocks = [{"row": row.row_id} | values for row in rows if not row.is_sighting]
    sightings = [{"row": row.row_id} | values for row in rows if row.is_sighting]
    if blocks:
        connection.execute(_MARK_BLOCK_GONE, blocks)
    if sightings:
        connection.execute(_MARK_SIGHTING_GONE, sightings)


def _content_values(candidate: FingerprintedBlock, visited: VisitedPage) -> tuple[Any, ...]:
    content = candidate.block
    return (
        visited.page_id,
        content.position,
        str(content.kind),
        content.path,
        content.words,
        candidate.decision.score,
        content.priority,
        candidate.digest,
        candidate.fingerprint,
        visited.visit_time,
        visited.visit_time,
        visited.sequence,
    )


def _refreshed_values(kept: KeptBlock, visited: VisitedPage, text: str | None) -> dict[str, Any]:
    content = kept.candidate.block
    return {
        "row": kept.earlier.row_id,
        "new_position": content.position,
        "new_kind": str(content.kind),
        "new_path": content.path,
        "new_words": content.words,
        "new_score": kept.candidate.decision.score,
        "new_priority": content.priority,
        "new_text": text,
        "new_last_seen": visited.visit_time,
        "sequence": visited.sequence,
    }


def _reworded_values(kept: KeptBlock) -> dict[str, Any]:
    return {"of_block": kept.earlier.row_id, "old_text": kept.earlier.text, "new_text": kept.text}


def _own_text(candidate: FingerprintedBlock, original: OriginalBlock) -> str | None:
    text = candidate.text
    return None if text == original.text else text


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
        change_log.touch_page(row["page_id"])


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

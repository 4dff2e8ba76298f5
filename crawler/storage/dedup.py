"""Find the duplicates among all stored blocks and make them sightings; give all pages new fingerprints.

Crawls keep a database free of duplicates. It can have some after crawls with a narrower DEDUP_SCOPE, a smaller
DEDUP_DISTANCE or other fingerprints. Both jobs commit part by part. The database is their only state, so a run
continues where a killed one ended.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import bindparam, delete, func, insert, select, update

from cleaning.blocks import Kind
from cleaning.fingerprint import distance
from crawler.page_comparison import OriginalBlock
from crawler.storage.blocks import SHARED_COLUMNS, move_sightings
from crawler.storage.boilerplate import count_texts
from crawler.storage.change_log import ChangeLog
from crawler.storage.database import read_transaction, write_transaction
from crawler.storage.locks import lock_all
from crawler.storage.near_duplicates import (
    FINGERPRINT_INDEXES,
    MAX_DISTANCE,
    DuplicateRules,
    FingerprintedPage,
    IndexEntry,
    NearPages,
)
from crawler.storage.queries import shown_texts
from crawler.storage.tables import batched, block, fingerprint, page, sighting, update_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import BindParameter
    from sqlalchemy.engine import Connection, Engine, RowMapping

    from cleaning.page_fingerprint import BlockKeys, Fingerprinter
    from crawler.storage.near_duplicates import FingerprintIndex

    Fingerprints = NDArray[np.uint64]
    Indices = NDArray[np.int64]

_ALL_BITS = (1 << 64) - 1
# A larger group is split by its other bits; the members of a smaller one are compared pair by pair.
_GROUP_SIZE_MAX = 1_000
_ROWS_PER_READ = 50_000
_MERGES_PER_TRANSACTION = 200
_PAGES_PER_TRANSACTION = 50

_COMPARED_BLOCKS = select(block.c.id, block.c.page_id, block.c.site, block.c.gone_at).where(
    block.c.id.in_(bindparam("ids", expanding=True))
)
_WHOLE_BLOCKS = select(block).where(block.c.id.in_(bindparam("ids", expanding=True)))
_SIGHTINGS_OF_BLOCK = select(sighting, func.coalesce(sighting.c.text, bindparam("old_text")).label("full_text")).where(
    sighting.c.block_id == bindparam("of_block")
)


@dataclass(frozen=True, slots=True)
class DedupCounts:
    """The blocks that were compared by fingerprint, and those that became, or would become, sightings."""

    compared: int
    repeats: int
    repointed: int
    """The sightings of those blocks, which moved to the first blocks; 0 in a dry run."""


def deduplicate(
    engine: Engine, rules: DuplicateRules, report: Callable[[str], None], *, dry_run: bool = False
) -> DedupCounts:
    """Make every stored block that duplicates an earlier one a sighting of it; `report` gets messages about progress.

    Blocks without a fingerprint (headings, blocks of few terms) stay as they are; with scope `off` all blocks do.
    """
    if rules.scope == "off":
        return DedupCounts(0, 0, 0)
    fingerprints, block_ids = _read_fingerprints(engine, report)
    report(f"{len(block_ids):,} fingerprints read; joining")
    neighbours = FingerprintNeighbours(fingerprints, block_ids, rules.max_distance)
    del fingerprints
    report(f"{len(neighbours.block_ids):,} blocks have a neighbour within {rules.max_distance} bits")
    repeats = list(neighbours.repeats(_read_compared_blocks(engine, neighbours.block_ids), rules.scope))
    if dry_run:
        return DedupCounts(len(block_ids), len(repeats), 0)
    done = repointed = 0
    for part in batched(repeats, _MERGES_PER_TRANSACTION):
        with write_transaction(engine) as connection:
            lock_all(connection)
            merged = _merge(connection, part)
        done, repointed = done + merged.blocks, repointed + merged.repointed
        report(f"{done:,} of {len(repeats):,} duplicates made sightings")
    return DedupCounts(len(block_ids), done, repointed)


def _read_fingerprints(engine: Engine, report: Callable[[str], None]) -> tuple[np.ndarray, np.ndarray]:
    """Return all fingerprints and the ids of their blocks."""
    prints, ids = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    with read_transaction(engine) as connection:
        count = 0
        rows = connection.execution_options(yield_per=_ROWS_PER_READ).execute(
            select(fingerprint.c.fingerprint, fingerprint.c.block_id)
        )
        for part in rows.partitions():
            prints.append(np.array([row[0] for row in part], np.uint64))
            ids.append(np.array([row[1] for row in part], np.int64))
            count += len(part)
            report(f"{count:,} fingerprints read")
    return np.concatenate(prints), np.concatenate(ids)


def _read_compared_blocks(engine: Engine, block_ids: Sequence[int]) -> Iterator[ComparedBlock]:
    """Yield the blocks with these ids, in their order; blocks deleted meanwhile are left out."""
    for part in batched(block_ids):
        with read_transaction(engine) as connection:
            rows = sorted(connection.execute(_COMPARED_BLOCKS, {"ids": list(part)}).all())
        for row in rows:
            yield ComparedBlock(row.id, row.page_id, row.site, row.gone_at is not None)


@dataclass(frozen=True, slots=True)
class _Merged:
    blocks: int
    repointed: int


def _merge(connection: Connection, repeats: Sequence[RepeatedBlock]) -> _Merged:
    """Make the repeats sightings, if both blocks still exist."""
    index = FINGERPRINT_INDEXES[connection.dialect.name](MAX_DISTANCE)
    change_log = ChangeLog(connection)
    ids = {block_id for repeat in repeats for block_id in (repeat.block_id, repeat.original_id)}
    rows = {row["id"]: row for row in connection.execute(_WHOLE_BLOCKS, {"ids": sorted(ids)}).mappings()}
    blocks = repointed = 0
    for repeat in repeats:
        if repeat.block_id in rows and repeat.original_id in rows:
            repointed += _make_sighting(connection, index, rows[repeat.block_id], rows[repeat.original_id], change_log)
            blocks += 1
    change_log.write()
    return _Merged(blocks, repointed)


def _make_sighting(
    connection: Connection, index: FingerprintIndex, repeat: RowMapping, first: RowMapping, change_log: ChangeLog
) -> int:
    """Turn one block's row into a sighting of another; return how many sightings moved with it."""
    original = OriginalBlock(first["id"], first["text"], first["digest"], first["fingerprint"])
    own = {"of_block": repeat["id"], "old_text": repeat["text"]}
    sightings = connection.execute(_SIGHTINGS_OF_BLOCK, own).mappings().all()
    move_sightings(connection, sightings, original, change_log)
    values = {name: repeat[name] for name in SHARED_COLUMNS} | {
        "block_id": original.block_id,
        "distance": distance(repeat["fingerprint"], first["fingerprint"]),
        "text": None if repeat["text"] == original.text else repeat["text"],
        "changed": change_log.sequence,
    }
    connection.execute(insert(sighting), values)
    index.remove(connection, [IndexEntry(repeat["fingerprint"], repeat["id"])])
    change_log.pages.touched.add(repeat["page_id"])
    change_log.remove_block(repeat["id"])
    connection.execute(delete(block).where(block.c.id == repeat["id"]))
    return len(sightings)


@dataclass(frozen=True, slots=True)
class ComparedBlock:
    """A stored block, with the columns that decide what it may repeat."""

    block_id: int
    page_id: int
    site: str
    gone: bool


@dataclass(frozen=True, slots=True)
class RepeatedBlock:
    """A block that duplicates one stored before it."""

    block_id: int
    original_id: int


# Two blocks are compared if this is equal, by DEDUP_SCOPE.
_SCOPE_KEYS: dict[str, Callable[[ComparedBlock], object]] = {
    "all": lambda _: None,
    "site": lambda candidate: candidate.site,
    "page": lambda candidate: candidate.page_id,
}


class FingerprintNeighbours:
    """The blocks that have a neighbour: a block with a fingerprint within `max_distance`; and the distances."""

    def __init__(self, fingerprints: NDArray[np.uint64], block_ids: NDArray[np.int64], max_distance: int) -> None:
        distinct, numbers, counts = np.unique(fingerprints, return_inverse=True, return_counts=True)
        pairs = list(near_pairs(distinct, max_distance))
        joined = np.concatenate(pairs) if pairs else np.empty((0, 2), np.int64)
        concerned = counts > 1
        concerned[joined.ravel()] = True
        chosen = concerned[numbers]
        order = np.argsort(block_ids[chosen])
        self.block_ids: list[int] = block_ids[chosen][order].tolist()
        self._number_of = dict(zip(self.block_ids, numbers[chosen][order].tolist(), strict=True))
        self._near = _near_by_number(joined, np.bitwise_count(distinct[joined[:, 0]] ^ distinct[joined[:, 1]]))

    def repeats(self, blocks: Iterable[ComparedBlock], scope: str) -> Iterator[RepeatedBlock]:
        """Yield the blocks that repeat an earlier one; `blocks` must be in the order of their ids.

        The first block stays. A later one repeats the nearest block that stays; of several at the same distance, the
        first. Two blocks of one page count only while both are on it: a page does not repeat its former texts.
        """
        staying: dict[tuple[int, object], list[ComparedBlock]] = defaultdict(list)
        key_of = _SCOPE_KEYS[scope]
        for candidate in blocks:
            number = self._number_of[candidate.block_id]
            key = key_of(candidate)
            options = [
                (bits, other.block_id)
                for near, bits in [(number, 0), *self._near.get(number, ())]
                for other in staying.get((near, key), ())
                if other.page_id != candidate.page_id or not (other.gone or candidate.gone)
            ]
            if options:
                yield RepeatedBlock(candidate.block_id, min(options)[1])
            else:
                staying[number, key].append(candidate)


def _near_by_number(pairs: NDArray[np.int64], bits: NDArray[np.uint8]) -> dict[int, list[tuple[int, int]]]:
    near: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (number, neighbour), bit_count in zip(pairs.tolist(), bits.tolist(), strict=True):
        near[number].append((neighbour, bit_count))
        near[neighbour].append((number, bit_count))
    return near


@dataclass(frozen=True, slots=True)
class _Groups:
    """Groups of fingerprints; those of a group are equal in all bits but the `free` ones.

    `members` are the indices of the fingerprints, and `groups` the number of the group of each. A pair counts only if
    it differs in each of the `unequal` masks: other groups find the pairs that are equal there.
    """

    members: Indices
    groups: Indices
    free: int
    unequal: tuple[int, ...]


def near_pairs(fingerprints: Fingerprints, max_distance: int) -> Iterator[Indices]:
    """Yield the pairs of indices (smaller, larger) of fingerprints within `max_distance`, once each, as two columns.

    The fingerprints must be distinct. Two within 3 bits are equal in at least one of four bands. So each band in turn
    sorts them into groups, and those within a group are compared. The groups that are too large, because many texts
    have the same band, are split in the same way by the remaining bits, all of them together. Memory grows with the
    number of fingerprints, and with the number of pairs of one array.
    """
    members = np.arange(len(fingerprints))
    waiting = [_Groups(members, np.zeros_like(members), _ALL_BITS, ())]
    while waiting:
        whole = waiting.pop()
        bands = _split_bits(whole.free, max_distance + 1)
        for number, band in enumerate(bands):
            parts = _split_groups(fingerprints, whole, band, (*whole.unequal, *bands[:number]))
            starts = _group_starts(parts.groups)
            sizes = np.diff(starts, append=len(parts.members))
            is_large = sizes > _GROUP_SIZE_MAX if parts.free != whole.free else np.zeros(len(sizes), dtype=bool)
            if is_large.any():
                large = _choose_groups(parts, np.repeat(is_large, sizes))
                waiting.append(_choose_groups(large, _can_differ(fingerprints, large)))
            small = _choose_groups(parts, np.repeat(~is_large, sizes))
            yield from _compare_groups(fingerprints, small, _PairTest(max_distance, small.unequal))


def _split_groups(fingerprints: Fingerprints, whole: _Groups, band: int, unequal: tuple[int, ...]) -> _Groups:
    """Split the groups further by an equal band; return the smaller groups, one after another."""
    values = fingerprints[whole.members] & np.uint64(band)
    order = np.lexsort((values, whole.groups))
    groups, values = whole.groups[order], values[order]
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (groups[1:] != groups[:-1]) | (values[1:] != values[:-1])
    return _Groups(whole.members[order], np.cumsum(begins), whole.free & ~band, unequal)


def _choose_groups(groups: _Groups, chosen: NDArray[np.bool_]) -> _Groups:
    return replace(groups, members=groups.members[chosen], groups=groups.groups[chosen])


@dataclass(frozen=True, slots=True)
class _PairTest:
    max_distance: int
    unequal: tuple[int, ...]

    def passed(self, left: Fingerprints, right: Fingerprints) -> NDArray[np.bool_]:
        differing = left ^ right
        near: NDArray[np.bool_] = np.bitwise_count(differing) <= self.max_distance
        for mask in self.unequal:
            near &= differing & np.uint64(mask) != 0
        return near


def _compare_groups(fingerprints: Fingerprints, groups: _Groups, test: _PairTest) -> Iterator[Indices]:
    """Yield the pairs within each group."""
    members, values = groups.members, fingerprints[groups.members]
    starts = _group_starts(groups.groups)
    sizes = np.diff(starts, append=len(members))
    ends = np.repeat(starts + sizes, sizes)
    first = np.arange(len(members))
    step = 1
    while len(first := first[first + step < ends[first]]):
        near = first[test.passed(values[first], values[first + step])]
        if len(near):
            yield np.sort(np.column_stack((members[near], members[near + step])), axis=1)
        step += 1


def _can_differ(fingerprints: Fingerprints, groups: _Groups) -> NDArray[np.bool_]:
    """Return, for each member, True if some of its group differ under each mask; otherwise no pair does under all."""
    values = fingerprints[groups.members]
    starts = _group_starts(groups.groups)
    sizes = np.diff(starts, append=len(values))
    differing = np.bitwise_or.reduceat(values ^ np.repeat(values[starts], sizes), starts)
    can_differ = np.ones(len(starts), dtype=bool)
    for mask in groups.unequal:
        can_differ &= differing & np.uint64(mask) != 0
    return np.repeat(can_differ, sizes)


def _split_bits(free: int, number: int) -> list[int]:
    """Return masks that divide the free bits as evenly as possible; some are 0 if there are too few bits."""
    bits = [1 << bit for bit in range(64) if free >> bit & 1]
    cuts = [len(bits) * part // number for part in range(number + 1)]
    return [sum(bits[start:end]) for start, end in pairwise(cuts)]


def _group_starts(keys: Indices) -> Indices:
    """Return the first index of each run of equal keys."""
    if not len(keys):
        return np.empty(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(keys[1:] != keys[:-1]) + 1))


_OF_PAGES: BindParameter[int] = bindparam("pages", expanding=True)
_BLOCKS_OF_PAGES = select(block.c.id, block.c.text, block.c.kind, block.c.fingerprint).where(
    block.c.page_id.in_(_OF_PAGES)
)
_SIGHTINGS_OF_PAGES = (
    select(
        sighting.c.id,
        sighting.c.kind,
        sighting.c.distance,
        func.coalesce(sighting.c.text, block.c.text).label("text"),
        block.c.text.label("original_text"),
        block.c.kind.label("original_kind"),
    )
    .join(block, block.c.id == sighting.c.block_id)
    .where(sighting.c.page_id.in_(_OF_PAGES))
)
_TEXTS_OF_PAGES = shown_texts("page_id", "position", "kind", "text", pages=_OF_PAGES).order_by("page_id", "position")
_NEW_VALUES: dict[str, Any] = {
    "digest": bindparam("new_digest"),
    "fingerprint": bindparam("new_fingerprint"),
    "changed": bindparam("sequence"),  # with other digests, other texts are boilerplate
}
_UPDATE_BLOCK = update(block).where(block.c.id == bindparam("row")).values(_NEW_VALUES)
_UPDATE_SIGHTING = (
    update(sighting).where(sighting.c.id == bindparam("row")).values(_NEW_VALUES | {"distance": bindparam("bits")})
)


def refingerprint(engine: Engine, fingerprinter: Fingerprinter, report: Callable[[str], None]) -> int:
    """Give all pages of another scheme new digests and fingerprints; return their number.

    A page's rows and its scheme are written in one transaction. Until all pages are done, no crawl accepts the
    database.
    """
    others = page.c.scheme != fingerprinter.scheme
    with read_transaction(engine) as connection:
        total = connection.scalar(select(func.count()).select_from(page).where(others)) or 0
    done = 0
    while True:
        with write_transaction(engine) as connection:
            lock_all(connection)
            page_ids = connection.scalars(select(page.c.id).where(others).limit(_PAGES_PER_TRANSACTION)).all()
            if not page_ids:
                return done
            _refingerprint_pages(connection, fingerprinter, page_ids)
        done += len(page_ids)
        report(f"{done:,} of {max(total, done):,} pages have new fingerprints")


def _refingerprint_pages(connection: Connection, fingerprinter: Fingerprinter, page_ids: Sequence[int]) -> None:
    selected = select(page.c.id).where(page.c.id.in_(page_ids))
    change_log = ChangeLog(connection)
    count_texts(connection, selected, -1)
    _refingerprint_blocks(connection, fingerprinter, page_ids, change_log.sequence)
    _refingerprint_sightings(connection, fingerprinter, page_ids, change_log.sequence)
    count_texts(connection, selected, +1)
    _refingerprint_page_rows(connection, fingerprinter, page_ids)
    change_log.pages.restructured.update(page_ids)
    change_log.write()


def _refingerprint_page_rows(connection: Connection, fingerprinter: Fingerprinter, page_ids: Sequence[int]) -> None:
    texts: dict[int, list[BlockKeys]] = defaultdict(list)
    for text_row in connection.execute(_TEXTS_OF_PAGES, {"pages": page_ids}):
        texts[text_row.page_id].append(fingerprinter.block_keys(text_row.text, Kind(text_row.kind)))
    stored = select(page.c.id, page.c.site, page.c.page_fingerprint).where(page.c.id.in_(page_ids))
    pages = [FingerprintedPage(*row) for row in connection.execute(stored)]
    near = NearPages.read(connection, DuplicateRules(), pages)
    rows = {}
    for known in pages:
        new = fingerprinter.page_fingerprint(texts[known.page_id])
        near.refingerprint(known, new)
        rows[known.page_id] = {"scheme": fingerprinter.scheme, "page_fingerprint": new}
    near.write(connection)
    update_rows(connection, page, rows)


def _refingerprint_blocks(
    connection: Connection, fingerprinter: Fingerprinter, page_ids: Sequence[int], sequence: int
) -> None:
    index = FINGERPRINT_INDEXES[connection.dialect.name](MAX_DISTANCE)
    blocks = connection.execute(_BLOCKS_OF_PAGES, {"pages": page_ids}).all()
    keys = [fingerprinter.block_keys(row.text, Kind(row.kind)) for row in blocks]
    index.remove(connection, [IndexEntry(row.fingerprint, row.id) for row in blocks if row.fingerprint is not None])
    rows = [
        {"row": row.id, "new_digest": new.digest, "new_fingerprint": new.fingerprint, "sequence": sequence}
        for row, new in zip(blocks, keys, strict=True)
    ]
    if rows:
        connection.execute(_UPDATE_BLOCK, rows)
    new_entries = [IndexEntry(bits, row["row"]) for row in rows if (bits := row["new_fingerprint"]) is not None]
    index.add(connection, new_entries)


def _refingerprint_sightings(
    connection: Connection, fingerprinter: Fingerprinter, page_ids: Sequence[int], sequence: int
) -> None:
    sightings = connection.execute(_SIGHTINGS_OF_PAGES, {"pages": page_ids})
    rows = [_refingerprinted_sighting(fingerprinter, row) | {"sequence": sequence} for row in sightings]
    if rows:
        connection.execute(_UPDATE_SIGHTING, rows)


def _refingerprinted_sighting(fingerprinter: Fingerprinter, row: Any) -> dict[str, Any]:
    """Return a sighting's new values; both texts are read, since its original may be on a page that is not done yet."""
    own = fingerprinter.block_keys(row.text, Kind(row.kind))
    original = fingerprinter.block_keys(row.original_text, Kind(row.original_kind))
    bits = row.distance
    if own.fingerprint is not None and original.fingerprint is not None:
        bits = distance(own.fingerprint, original.fingerprint)
    return {"row": row.id, "new_digest": own.digest, "new_fingerprint": own.fingerprint, "bits": bits}

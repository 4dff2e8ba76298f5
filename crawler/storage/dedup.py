"""Find the duplicates among all stored blocks, and give all pages new fingerprints."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import bindparam, delete, func, insert, select, update

from cleaning.blocks import Kind
from cleaning.fingerprint import distance
from crawler.storage import database
from crawler.storage.blocks import SHARED_COLUMNS, OriginalBlock, move_sightings
from crawler.storage.boilerplate import count_texts
from crawler.storage.database import read_transaction, write_transaction
from crawler.storage.locks import lock_all
from crawler.storage.near_duplicates import (
    FINGERPRINT_INDEXES,
    MAX_DISTANCE,
    DuplicateRules,
    IndexEntry,
    NearDuplicatePages,
)
from crawler.storage.tables import batched, block, fingerprint, page, sighting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from sqlalchemy import BindParameter
    from sqlalchemy.engine import Connection, Engine, RowMapping

    from crawler.fingerprinting import BlockKeys, Fingerprinter
    from crawler.storage.change_log import ChangeLog
    from crawler.storage.near_duplicates import FingerprintIndex


if TYPE_CHECKING:
    Fingerprints = NDArray[np.uint64]
if TYPE_CHECKING:
    Indices = NDArray[np.int64]

_ALL_BITS = (1 << 64) - 1
# A larger group of equal bands is split by its other bits; smaller ones are compared pair by pair. A million
# fingerprints in groups of just this size take under a minute.
_GROUP_SIZE_MAX = 1_000


@dataclass(frozen=True, slots=True)
class _Group:
    """Fingerprints, by their indices, that are equal in all but the `free` bits.

    Pairs of them count only if they differ in each of the `unequal` masks: those equal there are found elsewhere.
    """

    members: Indices
    free: int
    unequal: tuple[int, ...]


def near_pairs(fingerprints: Fingerprints, max_distance: int) -> Iterator[Indices]:
    """Give the pairs of indices (smaller, larger) of fingerprints within `max_distance`, once each, in two columns.

    The fingerprints must be distinct. Two within 3 bits are equal in one of any four bands: so each band in turn sorts
    them into groups, and those within a group are compared. Groups that are too large, where many texts share a band,
    are split in the same way by the bits that are left. Memory grows with the number of fingerprints and, an array
    at a time, pairs.
    """
    waiting = [_Group(np.arange(len(fingerprints)), _ALL_BITS, ())]
    while waiting:
        group = waiting.pop()
        bands = _split_bits(group.free, max_distance + 1)
        for number, band in enumerate(bands):
            unequal = (*group.unequal, *bands[:number])
            members = group.members[np.argsort(fingerprints[group.members] & np.uint64(band), kind="stable")]
            starts = _group_starts(fingerprints[members] & np.uint64(band))
            sizes = np.diff(starts, append=len(members))
            splits = sizes > _GROUP_SIZE_MAX if group.free ^ band else np.zeros(len(sizes), dtype=bool)
            for start, size in zip(starts[splits], sizes[splits], strict=True):
                part = members[start : start + size]
                if _can_differ(fingerprints[part], unequal):
                    waiting.append(_Group(part, group.free ^ band, unequal))
            left = np.repeat(~splits, sizes)
            ends = np.repeat(starts + sizes, sizes)[left] - np.flatnonzero(left) + np.arange(left.sum())
            yield from _compare_groups(fingerprints, members[left], ends, _PairTest(max_distance, unequal))


@dataclass(frozen=True, slots=True)
class _PairTest:
    max_distance: int
    unequal: tuple[int, ...]

    def passed(self, one: Fingerprints, other: Fingerprints) -> NDArray[np.bool_]:
        differing = one ^ other
        near: NDArray[np.bool_] = np.bitwise_count(differing) <= self.max_distance
        for mask in self.unequal:
            near &= differing & np.uint64(mask) != 0
        return near


def _compare_groups(fingerprints: Fingerprints, members: Indices, ends: Indices, test: _PairTest) -> Iterator[Indices]:
    """Give the pairs within groups that stand one after the other; `ends` says for each member where its group ends."""
    values = fingerprints[members]
    first = np.arange(len(members))
    step = 1
    while len(first := first[first + step < ends[first]]):
        near = first[test.passed(values[first], values[first + step])]
        if len(near):
            yield np.sort(np.column_stack((members[near], members[near + step])), axis=1)
        step += 1


def _can_differ(values: Fingerprints, masks: tuple[int, ...]) -> bool:
    """Tell whether there is a difference between the values under each mask: without, no pair can have them all."""
    differing = int(np.bitwise_or.reduce(values ^ values[0]))
    return all(differing & mask for mask in masks)


def _split_bits(free: int, number: int) -> list[int]:
    """Return masks that share the free bits out, as evenly as they can be; some are 0 where there are too few."""
    bits = [1 << bit for bit in range(64) if free >> bit & 1]
    cuts = [len(bits) * part // number for part in range(number + 1)]
    return [sum(bits[start:end]) for start, end in pairwise(cuts)]


def _group_starts(keys: Fingerprints) -> Indices:
    """Return where runs of equal keys begin."""
    if not len(keys):
        return np.empty(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(keys[1:] != keys[:-1]) + 1))


# What blocks must have in common to be compared, by DEDUP_SCOPE.
_SCOPE_KEYS: dict[str, Callable[[ComparedBlock], object]] = {
    "all": lambda _: None,
    "site": lambda one: one.site,
    "page": lambda one: one.page_id,
}


@dataclass(frozen=True, slots=True)
class ComparedBlock:
    """A stored block, as far as it matters for what it may repeat."""

    block_id: int
    page_id: int
    site: str
    gone: bool


@dataclass(frozen=True, slots=True)
class RepeatedBlock:
    """A block that duplicates one stored before it."""

    block_id: int
    original_id: int


class FingerprintNeighbours:
    """The blocks that share a fingerprint with others or have one within `max_distance`, and how near they are."""

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
        """Give the blocks that repeat one before them, of blocks in the order of their ids.

        The first one stored stays; a later one repeats the nearest of those that stay, and of several as near the
        first. A page does not repeat what it said before: two blocks of one page count only while both are on it.
        """
        staying: dict[tuple[int, object], list[ComparedBlock]] = defaultdict(list)
        common = _SCOPE_KEYS[scope]
        for one in blocks:
            number, shared = self._number_of[one.block_id], common(one)
            options = [
                (bits, other.block_id)
                for near, bits in [(number, 0), *self._near.get(number, ())]
                for other in staying.get((near, shared), ())
                if other.page_id != one.page_id or not (other.gone or one.gone)
            ]
            if options:
                yield RepeatedBlock(one.block_id, min(options)[1])
            else:
                staying[number, shared].append(one)


def _near_by_number(pairs: NDArray[np.int64], bits: NDArray[np.uint8]) -> dict[int, list[tuple[int, int]]]:
    near: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (one, other), between in zip(pairs.tolist(), bits.tolist(), strict=True):
        near[one].append((other, between))
        near[other].append((one, between))
    return near


_ROWS_PER_READ = 50_000
_MERGES_PER_TRANSACTION = 200

_COMPARED_BLOCKS = select(block.c.id, block.c.page_id, block.c.site, block.c.gone_at).where(
    block.c.id.in_(bindparam("ids", expanding=True))
)
_WHOLE_BLOCKS = select(block).where(block.c.id.in_(bindparam("ids", expanding=True)))
_SIGHTINGS_OF_BLOCK = select(sighting, func.coalesce(sighting.c.text, bindparam("old_text")).label("full_text")).where(
    sighting.c.block_id == bindparam("of_block")
)


@dataclass(frozen=True, slots=True)
class DedupCounts:
    """What a run found: blocks compared by fingerprint, and those that became, or would become, sightings."""

    compared: int
    repeats: int
    repointed: int
    """Sightings of those blocks, which are sightings of the first ones now; 0 in a dry run."""


def deduplicate(
    engine: Engine, rules: DuplicateRules, report: Callable[[str], None], *, dry_run: bool = False
) -> DedupCounts:
    """Make every stored block that duplicates an earlier one a sighting of that; tell `report` how far it is.

    Blocks without a fingerprint (headings, those of few terms) are left as they are; so are all with scope `off`.
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
    for some in batched(repeats, _MERGES_PER_TRANSACTION):
        with write_transaction(engine) as connection:
            lock_all(connection)
            merged = _merge(connection, some)
        done, repointed = done + merged.blocks, repointed + merged.repointed
        report(f"{done:,} of {len(repeats):,} duplicates made sightings")
    return DedupCounts(len(block_ids), done, repointed)


def _read_fingerprints(engine: Engine, report: Callable[[str], None]) -> tuple[np.ndarray, np.ndarray]:
    """Return all fingerprints and their blocks' ids."""
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
    """Give the blocks of these ids, which are in order, as they stand; those deleted meanwhile are left out."""
    for some in batched(block_ids):
        with read_transaction(engine) as connection:
            rows = sorted(connection.execute(_COMPARED_BLOCKS, {"ids": list(some)}).all())
        for row in rows:
            yield ComparedBlock(row.id, row.page_id, row.site, row.gone_at is not None)


@dataclass(frozen=True, slots=True)
class _Merged:
    blocks: int
    repointed: int


def _merge(connection: Connection, repeats: Sequence[RepeatedBlock]) -> _Merged:
    """Make the repeats sightings, where both blocks are still there."""
    index, changes = FINGERPRINT_INDEXES[connection.dialect.name](MAX_DISTANCE), database.begin_changes(connection)
    ids = {each for repeat in repeats for each in (repeat.block_id, repeat.original_id)}
    rows = {row["id"]: row for row in connection.execute(_WHOLE_BLOCKS, {"ids": sorted(ids)}).mappings()}
    blocks = repointed = 0
    for repeat in repeats:
        if repeat.block_id in rows and repeat.original_id in rows:
            repointed += _make_sighting(connection, index, rows[repeat.block_id], rows[repeat.original_id], changes)
            blocks += 1
    changes.settle()
    return _Merged(blocks, repointed)


def _make_sighting(
    connection: Connection, index: FingerprintIndex, repeat: RowMapping, first: RowMapping, changes: ChangeLog
) -> int:
    """Turn one block's row into a sighting of another; return how many sightings it had."""
    original = OriginalBlock(first["id"], first["text"], first["digest"], first["fingerprint"])
    own = {"of_block": repeat["id"], "old_text": repeat["text"]}
    sightings = connection.execute(_SIGHTINGS_OF_BLOCK, own).mappings().all()
    move_sightings(connection, sightings, original)
    values = {name: repeat[name] for name in SHARED_COLUMNS} | {
        "block_id": original.block_id,
        "distance": distance(repeat["fingerprint"], first["fingerprint"]),
        "text": None if repeat["text"] == original.text else repeat["text"],
        "changed": changes.mark,
    }
    connection.execute(insert(sighting), values)
    index.remove(connection, [IndexEntry(repeat["fingerprint"], repeat["id"])])
    changes.touch(repeat["page_id"])
    changes.remove_block(repeat["id"])
    connection.execute(delete(block).where(block.c.id == repeat["id"]))
    return len(sightings)


_PAGES_PER_TRANSACTION = 50  # in one transaction

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
_TEXTS_OF_PAGES = (
    select(block.c.page_id, block.c.position, block.c.kind, block.c.text)
    .where(block.c.page_id.in_(_OF_PAGES), block.c.gone_at.is_(None))
    .union_all(
        select(sighting.c.page_id, sighting.c.position, sighting.c.kind, func.coalesce(sighting.c.text, block.c.text))
        .join(block, block.c.id == sighting.c.block_id)
        .where(sighting.c.page_id.in_(_OF_PAGES), sighting.c.gone_at.is_(None))
    )
    .order_by("page_id", "position")
)
_NEW_FINGERPRINT: dict[str, Any] = {
    "digest": bindparam("new_digest"),
    "fingerprint": bindparam("new_fingerprint"),
    "changed": bindparam("mark"),  # other digests, other templates
}
_UPDATE_BLOCK = update(block).where(block.c.id == bindparam("row")).values(_NEW_FINGERPRINT)
_UPDATE_SIGHTING = (
    update(sighting).where(sighting.c.id == bindparam("row")).values(_NEW_FINGERPRINT | {"distance": bindparam("bits")})
)


def refingerprint(engine: Engine, fingerprinter: Fingerprinter, report: Callable[[str], None]) -> int:
    """Give all pages of another scheme new fingerprints and return their number; `report` gets the progress."""
    others = page.c.scheme != fingerprinter.scheme
    with read_transaction(engine) as connection:
        total = connection.scalar(select(func.count()).select_from(page).where(others)) or 0
    done = 0
    while True:
        with write_transaction(engine) as connection:
            lock_all(connection)
            pages = connection.scalars(select(page.c.id).where(others).limit(_PAGES_PER_TRANSACTION)).all()
            if not pages:
                return done
            _refingerprint_pages(connection, fingerprinter, pages)
        done += len(pages)
        report(f"{done:,} of {max(total, done):,} pages have new fingerprints")


def _refingerprint_pages(connection: Connection, fingerprinter: Fingerprinter, pages: Sequence[int]) -> None:
    """Bring pages, with all that is theirs, to the fingerprinter's scheme."""
    concerned, changes = select(page.c.id).where(page.c.id.in_(pages)), database.begin_changes(connection)
    count_texts(connection, concerned, -1)
    _refingerprint_blocks(connection, fingerprinter, pages, changes.mark)
    _refingerprint_sightings(connection, fingerprinter, pages, changes.mark)
    count_texts(connection, concerned, +1)
    _refingerprint_page_rows(connection, fingerprinter, pages)
    for one in pages:
        changes.touch(one)
    changes.settle()


def _refingerprint_page_rows(connection: Connection, fingerprinter: Fingerprinter, pages: Sequence[int]) -> None:
    mirrors = NearDuplicatePages(connection.dialect.name, DuplicateRules())
    texts: dict[int, list[BlockKeys]] = defaultdict(list)
    for shown in connection.execute(_TEXTS_OF_PAGES, {"pages": pages}):
        texts[shown.page_id].append(fingerprinter.block_keys(shown.text, Kind(shown.kind)))
    stored = select(page.c.id, page.c.page_fingerprint).where(page.c.id.in_(pages))
    for one in connection.execute(stored).all():
        new = fingerprinter.page_fingerprint(texts[one.id])
        mirrors.renew(connection, one.id, one.page_fingerprint, new)
        values = {"scheme": fingerprinter.scheme, "page_fingerprint": new}
        connection.execute(update(page).where(page.c.id == one.id).values(values))


def _refingerprint_blocks(
    connection: Connection, fingerprinter: Fingerprinter, pages: Sequence[int], mark: int
) -> None:
    index = FINGERPRINT_INDEXES[connection.dialect.name](MAX_DISTANCE)
    blocks = connection.execute(_BLOCKS_OF_PAGES, {"pages": pages}).all()
    marks = [fingerprinter.block_keys(one.text, Kind(one.kind)) for one in blocks]
    index.remove(connection, [IndexEntry(one.fingerprint, one.id) for one in blocks if one.fingerprint is not None])
    rows = [
        {"row": one.id, "new_digest": new.digest, "new_fingerprint": new.fingerprint, "mark": mark}
        for one, new in zip(blocks, marks, strict=True)
    ]
    if rows:
        connection.execute(_UPDATE_BLOCK, rows)
    index.add(
        connection, [IndexEntry(bits, row["row"]) for row in rows if (bits := row["new_fingerprint"]) is not None]
    )


def _refingerprint_sightings(
    connection: Connection, fingerprinter: Fingerprinter, pages: Sequence[int], mark: int
) -> None:
    rows = [
        _refingerprinted_sighting(fingerprinter, one) | {"mark": mark}
        for one in connection.execute(_SIGHTINGS_OF_PAGES, {"pages": pages})
    ]
    if rows:
        connection.execute(_UPDATE_SIGHTING, rows)


def _refingerprinted_sighting(fingerprinter: Fingerprinter, row: Any) -> dict[str, Any]:
    """Return a sighting's new values; its original may be on a page still to be done, so both texts are read."""
    marks = fingerprinter.block_keys(row.text, Kind(row.kind))
    original = fingerprinter.block_keys(row.original_text, Kind(row.original_kind))
    bits = row.distance
    if marks.fingerprint is not None and original.fingerprint is not None:
        bits = distance(marks.fingerprint, original.fingerprint)
    return {"row": row.id, "new_digest": marks.digest, "new_fingerprint": marks.fingerprint, "bits": bits}

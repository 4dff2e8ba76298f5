"""Find the duplicates among all stored blocks, and make them sightings of the first ones.

Crawls keep a database free of them. They come from crawls with a narrower DEDUP_SCOPE or a smaller DEDUP_DISTANCE,
or with other fingerprints. What is done is committed part by part, in the order of the blocks' ids, and a later part
depends on no earlier one: so the database is all the state there is, and a run after one that was killed goes on
where that ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import bindparam, delete, func, insert, select

from cleaning.fingerprint import distance
from crawler.storage import lineage
from crawler.storage.batches import batched
from crawler.storage.compare import Original
from crawler.storage.engine import reading, writing
from crawler.storage.index import INDEXES, MAX_DISTANCE, Entry
from crawler.storage.locks import lock_all
from crawler.storage.models import block, fingerprint, sighting
from crawler.storage.repeats import Neighbours, Standing
from crawler.storage.repoint import SHARED, repoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy.engine import Connection, Engine, RowMapping

    from crawler.storage.index import FingerprintIndex
    from crawler.storage.journal import Journal
    from crawler.storage.repeats import Repeat
    from crawler.storage.rules import Rules

_READ_AT_ONCE = 50_000
_IN_ONE_TRANSACTION = 200

_BLOCKS = select(block.c.id, block.c.page_id, block.c.site, block.c.gone_at).where(
    block.c.id.in_(bindparam("ids", expanding=True))
)
_WHOLE = select(block).where(block.c.id.in_(bindparam("ids", expanding=True)))
_SIGHTINGS = select(sighting, func.coalesce(sighting.c.text, bindparam("old_text")).label("full_text")).where(
    sighting.c.block_id == bindparam("of_block")
)


@dataclass(frozen=True, slots=True)
class Deduplicated:
    """What a run found: blocks compared by fingerprint, and those that became, or would become, sightings."""

    compared: int
    repeats: int
    repointed: int
    """Sightings of those blocks, which are sightings of the first ones now; 0 in a dry run."""


def deduplicate(engine: Engine, rules: Rules, report: Callable[[str], None], *, dry_run: bool = False) -> Deduplicated:
    """Make every stored block that duplicates an earlier one a sighting of that; tell `report` how far it is.

    Blocks without a fingerprint (headings, those of few terms) are left as they are; so are all with scope `off`.
    """
    if rules.scope == "off":
        return Deduplicated(0, 0, 0)
    fingerprints, block_ids = _read(engine, report)
    report(f"{len(block_ids):,} fingerprints read; joining")
    neighbours = Neighbours(fingerprints, block_ids, rules.most_bits)
    del fingerprints
    report(f"{len(neighbours.block_ids):,} blocks have a neighbour within {rules.most_bits} bits")
    repeats = list(neighbours.repeats(_standings(engine, neighbours.block_ids), rules.scope))
    if dry_run:
        return Deduplicated(len(block_ids), len(repeats), 0)
    done = repointed = 0
    for some in batched(repeats, _IN_ONE_TRANSACTION):
        with writing(engine) as connection:
            lock_all(connection)
            merged = _merge(connection, some)
        done, repointed = done + merged.blocks, repointed + merged.repointed
        report(f"{done:,} of {len(repeats):,} duplicates made sightings")
    return Deduplicated(len(block_ids), done, repointed)


def _read(engine: Engine, report: Callable[[str], None]) -> tuple[np.ndarray, np.ndarray]:
    """Return all fingerprints and their blocks' ids."""
    prints, ids = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    with reading(engine) as connection:
        count = 0
        rows = connection.execution_options(yield_per=_READ_AT_ONCE).execute(
            select(fingerprint.c.fingerprint, fingerprint.c.block_id)
        )
        for part in rows.partitions():
            prints.append(np.array([row[0] for row in part], np.uint64))
            ids.append(np.array([row[1] for row in part], np.int64))
            count += len(part)
            report(f"{count:,} fingerprints read")
    return np.concatenate(prints), np.concatenate(ids)


def _standings(engine: Engine, block_ids: Sequence[int]) -> Iterator[Standing]:
    """Give the blocks of these ids, which are in order, as they stand; those deleted meanwhile are left out."""
    for some in batched(block_ids):
        with reading(engine) as connection:
            rows = sorted(connection.execute(_BLOCKS, {"ids": list(some)}).all())
        for row in rows:
            yield Standing(row.id, row.page_id, row.site, row.gone_at is not None)


@dataclass(frozen=True, slots=True)
class _Merged:
    blocks: int
    repointed: int


def _merge(connection: Connection, repeats: Sequence[Repeat]) -> _Merged:
    """Make the repeats sightings, where both blocks are still there."""
    index, changes = INDEXES[connection.dialect.name](MAX_DISTANCE), lineage.begin(connection)
    ids = {each for repeat in repeats for each in (repeat.block_id, repeat.original_id)}
    rows = {row["id"]: row for row in connection.execute(_WHOLE, {"ids": sorted(ids)}).mappings()}
    blocks = repointed = 0
    for repeat in repeats:
        if repeat.block_id in rows and repeat.original_id in rows:
            repointed += _make_sighting(connection, index, rows[repeat.block_id], rows[repeat.original_id], changes)
            blocks += 1
    changes.settle()
    return _Merged(blocks, repointed)


def _make_sighting(
    connection: Connection, index: FingerprintIndex, repeat: RowMapping, first: RowMapping, changes: Journal
) -> int:
    """Turn one block's row into a sighting of another; return how many sightings it had."""
    original = Original(first["id"], first["text"], first["digest"], first["fingerprint"])
    own = {"of_block": repeat["id"], "old_text": repeat["text"]}
    sightings = connection.execute(_SIGHTINGS, own).mappings().all()
    repoint(connection, sightings, original)
    values = {name: repeat[name] for name in SHARED} | {
        "block_id": original.block_id,
        "distance": distance(repeat["fingerprint"], first["fingerprint"]),
        "text": None if repeat["text"] == original.text else repeat["text"],
        "changed": changes.mark,
    }
    connection.execute(insert(sighting), values)
    index.remove(connection, [Entry(repeat["fingerprint"], repeat["id"])])
    changes.touch(repeat["page_id"])
    changes.remove_block(repeat["id"])
    connection.execute(delete(block).where(block.c.id == repeat["id"]))
    return len(sightings)

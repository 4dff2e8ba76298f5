"""Make sightings of one block sightings of another, without losing a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, update

from cleaning.fingerprint import distance
from crawler.storage.models import block, sighting

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy.engine import Connection, RowMapping

    from crawler.storage.compare import Original

# What a block keeps where it becomes a sighting, and a sighting where it becomes a block.
SHARED = tuple(column.name for column in sighting.c if column.name in block.c and column.name not in {"id", "text"})
_REPOINT = (
    update(sighting)
    .where(sighting.c.id == bindparam("row"))
    .values(block_id=bindparam("of_block"), distance=bindparam("bits"), text=bindparam("own_text"))
)


def repoint(connection: Connection, sightings: Iterable[RowMapping], original: Original) -> None:
    """Make the rows sightings of `original`; each has, as `full_text`, the text that it stands for."""
    rows = [_repointed(row, original) for row in sightings]
    if rows:
        connection.execute(_REPOINT, rows)


def _repointed(row: RowMapping, original: Original) -> dict[str, Any]:
    bits = row["distance"]
    if row["fingerprint"] is not None and original.fingerprint is not None:
        bits = distance(row["fingerprint"], original.fingerprint)
    return {
        "row": row["id"],
        "of_block": original.block_id,
        "bits": bits,
        "own_text": None if row["full_text"] == original.text else row["full_text"],
    }

"""Find every stored fingerprint within a few bits of the given ones: exactly, in one statement."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import and_, bindparam, delete, insert

from cleaning.fingerprint import distance
from crawler.storage.models import fingerprint as table
from crawler.storage.models import signed, unsigned

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy.engine import Connection

MAX_DISTANCE = 3


@dataclass(frozen=True, slots=True)
class Match:
    """A stored block whose fingerprint is `distance` bits from the one asked for."""

    query: int
    stored: int
    block_id: int
    distance: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A fingerprint of a stored block."""

    fingerprint: int
    block_id: int


class FingerprintIndex(Protocol):
    """The stored fingerprints, all unsigned; the caller's transaction is used."""

    def lookup(self, connection: Connection, fingerprints: Iterable[int]) -> list[Match]:
        """Return every stored fingerprint within the distance of one asked for; [] for none asked."""

    def add(self, connection: Connection, entries: Sequence[Entry]) -> None:
        """Store fingerprints; the same one may stand for several blocks."""

    def remove(self, connection: Connection, entries: Sequence[Entry]) -> None:
        """Forget fingerprints; those not there are passed over."""


_HALF = 32
_LOW = (1 << _HALF) - 1
_FLIPS = (0, *(1 << bit for bit in range(_HALF)))
_MOST_QUERIES = 1_000  # in one statement; bounds the memory a page of many thousand blocks takes
# CROSS JOIN is an order to SQLite: walk the probes, seek the index. Values are signed, as stored: an unsigned
# one above 2**63 would reach it as a floating-point number.
_LOOKUP = f"""
SELECT probe.key, f.fingerprint, f.block_id FROM json_each(?) AS probe
CROSS JOIN fingerprint AS f ON f.fingerprint BETWEEN probe.value AND probe.value + {_LOW}
UNION ALL
SELECT probe.key, f.fingerprint, f.block_id FROM json_each(?) AS probe
CROSS JOIN fingerprint AS f ON f.low = probe.value
"""  # noqa: S608 — of constants


class HalvesIndex:
    """SQLite's: fingerprints within 3 bits share one 32-bit half up to 1 bit.

    So 33 probes of the primary key (the high half) and 33 of the index on the low half find them all, whatever
    the number stored.
    """

    def __init__(self, max_distance: int = MAX_DISTANCE) -> None:
        if not 0 <= max_distance <= MAX_DISTANCE:
            raise ValueError(f"max_distance is {max_distance}; it must lie between 0 and {MAX_DISTANCE}")
        self._max_distance = max_distance
        # Up to 1 bit apart, one half is the same: no neighbours to probe.
        self._flips = _FLIPS if max_distance > 1 else _FLIPS[:1]

    def lookup(self, connection: Connection, fingerprints: Iterable[int]) -> list[Match]:
        queries = list(dict.fromkeys(fingerprints))
        slices = (queries[start : start + _MOST_QUERIES] for start in range(0, len(queries), _MOST_QUERIES))
        return [match for some in slices for match in self._lookup(connection, some)]

    def _lookup(self, connection: Connection, queries: list[int]) -> set[Match]:
        highs = [signed(((query >> _HALF) ^ flip) << _HALF) for query in queries for flip in self._flips]
        lows = [(query & _LOW) ^ flip for query in queries for flip in self._flips]
        rows = connection.exec_driver_sql(_LOOKUP, (json.dumps(highs), json.dumps(lows)))
        candidates = (
            _match(queries[probe // len(self._flips)], unsigned(stored), block_id) for probe, stored, block_id in rows
        )
        return {match for match in candidates if match.distance <= self._max_distance}

    def add(self, connection: Connection, entries: Sequence[Entry]) -> None:
        if entries:
            rows = [
                {"fingerprint": entry.fingerprint, "block_id": entry.block_id, "low": entry.fingerprint & _LOW}
                for entry in entries
            ]
            connection.execute(_ADD, rows)

    def remove(self, connection: Connection, entries: Sequence[Entry]) -> None:
        if entries:
            rows = [{"removed": entry.fingerprint, "of_block": entry.block_id} for entry in entries]
            connection.execute(_REMOVE, rows)


def _match(query: int, stored: int, block_id: int) -> Match:
    return Match(query, stored, block_id, distance(query, stored))


_ADD = insert(table)
_REMOVE = delete(table).where(
    and_(table.c.fingerprint == bindparam("removed"), table.c.block_id == bindparam("of_block"))
)
INDEXES: dict[str, type[HalvesIndex]] = {"sqlite": HalvesIndex}

"""Find every stored fingerprint within a few bits of the given ones: exactly, in one statement.

Blocks have such an index (table `fingerprint`), and so have whole pages (table `page_fingerprint`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from cleaning.fingerprint import distance
from crawler.storage.batches import batched
from crawler.storage.columns import signed, unsigned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sqlalchemy.engine import Connection

MAX_DISTANCE = 3


@dataclass(frozen=True, slots=True)
class Match:
    """A stored fingerprint that is `distance` bits from the one asked for, and the block or page that has it."""

    query: int
    stored: int
    owner_id: int
    distance: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A fingerprint of a stored block or page."""

    fingerprint: int
    owner_id: int


@dataclass(frozen=True, slots=True)
class Place:
    """The table of an index, and its column that says whose a fingerprint is."""

    table: str
    owner: str


OF_BLOCKS = Place("fingerprint", "block_id")
OF_PAGES = Place("page_fingerprint", "page_id")


class FingerprintIndex(Protocol):
    """The stored fingerprints, all unsigned; the caller's transaction is used."""

    def lookup(self, connection: Connection, fingerprints: Iterable[int]) -> list[Match]:
        """Return every stored fingerprint within the distance of one asked for; [] for none asked."""

    def add(self, connection: Connection, entries: Sequence[Entry]) -> None:
        """Store fingerprints; the same one may stand for several owners."""

    def remove(self, connection: Connection, entries: Sequence[Entry]) -> None:
        """Forget fingerprints; those not there are passed over."""


_HALF = 32
_LOW = (1 << _HALF) - 1
_MOST_QUERIES = 1_000  # in one statement; bounds what a page of many thousand blocks takes


def _lookup_statement(place: Place, *, neighbours: bool) -> str:
    """Return the statement that finds, for each query, the fingerprints that share a half, up to 1 bit.

    Its parameter is a JSON array of signed queries: an unsigned one above 2**63 would reach SQLite as a
    floating-point number. SQLite has no XOR: a ^ b is (a | b) - (a & b). CROSS JOIN is an order to it: walk
    queries and flips, seek the index.
    """
    flips = [0, *(1 << bit for bit in range(_HALF))] if neighbours else [0]
    high_flips = ", ".join(f"({signed(flip << _HALF)})" for flip in flips)
    low_flips = ", ".join(f"({flip})" for flip in flips)
    return f"""
    WITH query AS MATERIALIZED (
        SELECT key, value & {~_LOW} AS high, value & {_LOW} AS low FROM json_each(?)
    ), high_flip(bits) AS MATERIALIZED (VALUES {high_flips}), low_flip(bits) AS MATERIALIZED (VALUES {low_flips})
    SELECT query.key, f.fingerprint, f.{place.owner}
    FROM query CROSS JOIN high_flip CROSS JOIN {place.table} AS f
    ON f.fingerprint BETWEEN (high | bits) - (high & bits) AND (high | bits) - (high & bits) + {_LOW}
    UNION ALL
    SELECT query.key, f.fingerprint, f.{place.owner}
    FROM query CROSS JOIN low_flip CROSS JOIN {place.table} AS f
    ON f.low = (query.low | bits) - (query.low & bits)
    """  # noqa: S608 — of constants


class HalvesIndex:
    """SQLite's: fingerprints within 3 bits share one 32-bit half up to 1 bit.

    So 33 probes of the primary key (the high half) and 33 of the index on the low half find them all, whatever
    the number stored.
    """

    def __init__(self, max_distance: int = MAX_DISTANCE, place: Place = OF_BLOCKS) -> None:
        self._max_distance = _checked(max_distance)
        # Up to 1 bit apart, one half is the same: no neighbours to probe.
        self._statement = _lookup_statement(place, neighbours=max_distance > 1)
        self._add = f"INSERT INTO {place.table} (fingerprint, {place.owner}, low) VALUES (?, ?, ?)"  # noqa: S608 — of constants
        self._remove = f"DELETE FROM {place.table} WHERE fingerprint = ? AND {place.owner} = ?"  # noqa: S608 — as above

    def lookup(self, connection: Connection, fingerprints: Iterable[int]) -> list[Match]:
        queries = list(dict.fromkeys(fingerprints))
        return [match for some in batched(queries, _MOST_QUERIES) for match in self._lookup(connection, some)]

    def add(self, connection: Connection, entries: Sequence[Entry]) -> None:
        if entries:
            rows = [(signed(one.fingerprint), one.owner_id, one.fingerprint & _LOW) for one in entries]
            connection.exec_driver_sql(self._add, rows)

    def remove(self, connection: Connection, entries: Sequence[Entry]) -> None:
        if entries:
            connection.exec_driver_sql(self._remove, [(signed(one.fingerprint), one.owner_id) for one in entries])

    def _lookup(self, connection: Connection, queries: Sequence[int]) -> set[Match]:
        rows = connection.exec_driver_sql(self._statement, (json.dumps([signed(query) for query in queries]),))
        candidates = (_match(queries[number], unsigned(stored), owner_id) for number, stored, owner_id in rows)
        return {match for match in candidates if match.distance <= self._max_distance}


_BAND = 16
_BAND_MASK = (1 << _BAND) - 1


def _bands_statement(place: Place, max_distance: int) -> str:
    """Return the statement that finds, for each query, the fingerprints that share a band and are near enough.

    Its parameters are an array of signed queries and the distance. So many bits apart, one of that many bands and
    one more is the same. LATERAL is an order to the server: walk the queries, seek each band's index.
    """
    low = (1 << 3 * _BAND) - 1
    conditions = [f"fingerprint BETWEEN (query.bits & {~low}) AND (query.bits | {low})"] + [
        f"((fingerprint >> {_BAND * band}) & {_BAND_MASK}) = ((query.bits >> {_BAND * band}) & {_BAND_MASK})"
        for band in range(max_distance)
    ]
    select = f"SELECT fingerprint, {place.owner} FROM {place.table}"  # noqa: S608 — of constants
    arms = " UNION ALL ".join(f"{select} WHERE {one}" for one in conditions)
    return f"""
    SELECT query.bits, f.fingerprint, f.{place.owner}
    FROM unnest(%s::bigint[]) AS query(bits) CROSS JOIN LATERAL ({arms}) AS f
    WHERE bit_count((f.fingerprint # query.bits)::bit(64)) <= %s
    """  # noqa: S608 — of constants


class BandsIndex:
    """PostgreSQL's: fingerprints within 3 bits share one of their four 16-bit bands.

    The primary key serves the topmost; the others have an index each that holds the whole fingerprint too, so that
    the server counts the differing bits without reading the table.
    """

    def __init__(self, max_distance: int = MAX_DISTANCE, place: Place = OF_BLOCKS) -> None:
        self._max_distance = _checked(max_distance)
        self._statement = _bands_statement(place, max_distance)
        columns, arrays = f"fingerprint, {place.owner}", "unnest(%s::bigint[], %s::bigint[])"
        self._add = f"INSERT INTO {place.table} ({columns}) SELECT * FROM {arrays}"  # noqa: S608 — of constants
        self._remove = (
            f"DELETE FROM {place.table} USING {arrays} AS old(bits, owner) "  # noqa: S608 — of constants
            f"WHERE fingerprint = old.bits AND {place.owner} = old.owner"
        )

    def lookup(self, connection: Connection, fingerprints: Iterable[int]) -> list[Match]:
        queries = list(dict.fromkeys(fingerprints))
        return [match for some in batched(queries, _MOST_QUERIES) for match in self._lookup(connection, some)]

    def add(self, connection: Connection, entries: Sequence[Entry]) -> None:
        if entries:
            connection.exec_driver_sql(self._add, _arrays(entries))

    def remove(self, connection: Connection, entries: Sequence[Entry]) -> None:
        if entries:
            connection.exec_driver_sql(self._remove, _arrays(entries))

    def _lookup(self, connection: Connection, queries: Sequence[int]) -> set[Match]:
        parameters = ([signed(query) for query in queries], self._max_distance)
        rows = connection.exec_driver_sql(self._statement, parameters)
        return {_match(unsigned(query), unsigned(stored), owner_id) for query, stored, owner_id in rows}


def _arrays(entries: Sequence[Entry]) -> tuple[list[int], list[int]]:
    return [signed(one.fingerprint) for one in entries], [one.owner_id for one in entries]


def _checked(max_distance: int) -> int:
    if not 0 <= max_distance <= MAX_DISTANCE:
        raise ValueError(f"max_distance is {max_distance}; it must lie between 0 and {MAX_DISTANCE}")
    return max_distance


def _match(query: int, stored: int, owner_id: int) -> Match:
    return Match(query, stored, owner_id, distance(query, stored))


# By SQLAlchemy's name of the database.
INDEXES: Mapping[str, Callable[..., FingerprintIndex]] = MappingProxyType(
    {"sqlite": HalvesIndex, "postgresql": BandsIndex}
)

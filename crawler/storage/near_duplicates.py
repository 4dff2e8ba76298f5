"""Find the stored blocks and pages that are near-duplicates of new ones, exactly, by fingerprint.

Both have an index of fingerprints: blocks in table `fingerprint`, pages in `page_fingerprint`. A look-up finds every
stored fingerprint within a few bits of the given ones, in one statement.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import bindparam, delete, exists, insert, select, update

from cleaning.fingerprint import distance
from crawler.storage.tables import batched, near_duplicate_page, page, signed, to_json, unsigned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Select
    from sqlalchemy.engine import Connection, RowMapping

MAX_DISTANCE = 3


@dataclass(frozen=True, slots=True)
class DuplicateRules:
    """What a block or page may be a duplicate of, and by how many bits their fingerprints may differ.

    `scope` is DEDUP_SCOPE: `all` stored blocks, those of the same `site` or `page`, or none (`off`).
    """

    scope: str = "all"
    max_distance: int = MAX_DISTANCE

    @property
    def beyond_page(self) -> bool:
        """Whether blocks of other pages are looked up."""
        return self.scope in {"all", "site"}


@dataclass(frozen=True, slots=True)
class FingerprintMatch:
    """A stored fingerprint that is `distance` bits from the query, and the block or page that has it."""

    query: int
    stored: int
    owner_id: int
    distance: int


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """The fingerprint of a stored block or page."""

    fingerprint: int
    owner_id: int


@dataclass(frozen=True, slots=True)
class IndexTable:
    """The table of an index, and its column with the id of the block or page."""

    table: str
    owner: str


BLOCK_INDEX = IndexTable("fingerprint", "block_id")
PAGE_INDEX = IndexTable("page_fingerprint", "page_id")


class FingerprintIndex(Protocol):
    """The stored fingerprints, all unsigned. It works in the caller's transaction."""

    def lookup(self, connection: Connection, fingerprints: Iterable[int]) -> list[FingerprintMatch]:
        """Return every stored fingerprint within the distance of a query; [] for no queries."""

    def add(self, connection: Connection, entries: Sequence[IndexEntry]) -> None:
        """Store fingerprints; several owners may have the same one."""

    def remove(self, connection: Connection, entries: Sequence[IndexEntry]) -> None:
        """Delete fingerprints; those that are not stored are ignored."""


_HALF = 32
_LOW = (1 << _HALF) - 1
_QUERIES_MAX = 1_000  # a statement; bounds the memory that a page of many thousand blocks takes


def _halves_statement(place: IndexTable, *, neighbours: bool) -> str:
    """Return the statement that finds, for each query, the fingerprints with the same half, up to 1 bit.

    Its parameter is a JSON array of signed queries: an unsigned one above 2**63 would reach SQLite as a
    floating-point number. SQLite has no XOR: a ^ b is (a | b) - (a & b). CROSS JOIN fixes SQLite's join order:
    iterate over queries and flips, seek in the index.
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
    """The index on SQLite: fingerprints within 3 bits have the same 32-bit half, up to 1 bit.

    So 33 probes of the primary key (the high half) and 33 of the index on the low half find all of them, however many
    are stored.
    """

    def __init__(self, max_distance: int = MAX_DISTANCE, place: IndexTable = BLOCK_INDEX) -> None:
        self._max_distance = _checked_distance(max_distance)
        # Of two fingerprints within 1 bit one half is equal: there are no neighbours to probe.
        self._statement = _halves_statement(place, neighbours=max_distance > 1)
        self._add = f"INSERT INTO {place.table} (fingerprint, {place.owner}, low) VALUES (?, ?, ?)"  # noqa: S608 — of constants
        self._remove = f"DELETE FROM {place.table} WHERE fingerprint = ? AND {place.owner} = ?"  # noqa: S608 — as above

    def lookup(self, connection: Connection, fingerprints: Iterable[int]) -> list[FingerprintMatch]:
        queries = list(dict.fromkeys(fingerprints))
        return [match for some in batched(queries, _QUERIES_MAX) for match in self._lookup(connection, some)]

    def add(self, connection: Connection, entries: Sequence[IndexEntry]) -> None:
        if entries:
            rows = [(signed(one.fingerprint), one.owner_id, one.fingerprint & _LOW) for one in entries]
            connection.exec_driver_sql(self._add, rows)

    def remove(self, connection: Connection, entries: Sequence[IndexEntry]) -> None:
        if entries:
            connection.exec_driver_sql(self._remove, [(signed(one.fingerprint), one.owner_id) for one in entries])

    def _lookup(self, connection: Connection, queries: Sequence[int]) -> set[FingerprintMatch]:
        rows = connection.exec_driver_sql(self._statement, (to_json([signed(query) for query in queries]),))
        candidates = (_match(queries[number], unsigned(stored), owner_id) for number, stored, owner_id in rows)
        return {match for match in candidates if match.distance <= self._max_distance}


_BAND = 16
_BAND_MASK = (1 << _BAND) - 1


def _bands_statement(place: IndexTable, max_distance: int) -> str:
    """Return the statement that finds, for each query, the fingerprints with an equal band that are near enough.

    Its parameters are an array of signed queries and the distance. Two fingerprints within n bits are equal in at least
    one of n + 1 bands. LATERAL fixes the server's join order: iterate over the queries, seek in each band's index.
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
    """The index on PostgreSQL: fingerprints within 3 bits are equal in one of their four 16-bit bands.

    The primary key serves the topmost band. Each other band has an index, which also holds the whole fingerprint, so
    that the server counts the differing bits without reading the table.
    """

    def __init__(self, max_distance: int = MAX_DISTANCE, place: IndexTable = BLOCK_INDEX) -> None:
        self._max_distance = _checked_distance(max_distance)
        self._statement = _bands_statement(place, max_distance)
        columns, arrays = f"fingerprint, {place.owner}", "unnest(%s::bigint[], %s::bigint[])"
        self._add = f"INSERT INTO {place.table} ({columns}) SELECT * FROM {arrays}"  # noqa: S608 — of constants
        self._remove = (
            f"DELETE FROM {place.table} USING {arrays} AS old(bits, owner) "  # noqa: S608 — of constants
            f"WHERE fingerprint = old.bits AND {place.owner} = old.owner"
        )

    def lookup(self, connection: Connection, fingerprints: Iterable[int]) -> list[FingerprintMatch]:
        queries = list(dict.fromkeys(fingerprints))
        return [match for some in batched(queries, _QUERIES_MAX) for match in self._lookup(connection, some)]

    def add(self, connection: Connection, entries: Sequence[IndexEntry]) -> None:
        if entries:
            connection.exec_driver_sql(self._add, _arrays(entries))

    def remove(self, connection: Connection, entries: Sequence[IndexEntry]) -> None:
        if entries:
            connection.exec_driver_sql(self._remove, _arrays(entries))

    def _lookup(self, connection: Connection, queries: Sequence[int]) -> set[FingerprintMatch]:
        parameters = ([signed(query) for query in queries], self._max_distance)
        rows = connection.exec_driver_sql(self._statement, parameters)
        return {_match(unsigned(query), unsigned(stored), owner_id) for query, stored, owner_id in rows}


def _arrays(entries: Sequence[IndexEntry]) -> tuple[list[int], list[int]]:
    return [signed(one.fingerprint) for one in entries], [one.owner_id for one in entries]


def _checked_distance(max_distance: int) -> int:
    if not 0 <= max_distance <= MAX_DISTANCE:
        raise ValueError(f"max_distance is {max_distance}; it must lie between 0 and {MAX_DISTANCE}")
    return max_distance


def _match(query: int, stored: int, owner_id: int) -> FingerprintMatch:
    return FingerprintMatch(query, stored, owner_id, distance(query, stored))


# By SQLAlchemy's name of the database.
FINGERPRINT_INDEXES: Mapping[str, Callable[..., FingerprintIndex]] = MappingProxyType(
    {"sqlite": HalvesIndex, "postgresql": BandsIndex}
)


_STATE = select(
    select(near_duplicate_page.c.original_id)
    .where(near_duplicate_page.c.page_id == bindparam("page"))
    .scalar_subquery()
    .label("original_id"),
    exists().where(near_duplicate_page.c.original_id == bindparam("page")).label("has_near_duplicates"),
)
_PAGES_OF_SITE = select(page.c.id).where(
    page.c.id.in_(bindparam("ids", expanding=True)), page.c.site == bindparam("of_site")
)
_SET_DISTANCE = (
    update(near_duplicate_page)
    .where(near_duplicate_page.c.page_id == bindparam("page"))
    .values(distance=bindparam("bits"))
)
_DELETE_OF_PAGE = delete(near_duplicate_page).where(near_duplicate_page.c.page_id == bindparam("page"))


@dataclass(frozen=True, slots=True)
class NearDuplicateState:
    """A page before this visit: its fingerprint, the page that it nearly duplicates, whether others duplicate it."""

    page_id: int
    site: str
    fingerprint: int | None = None
    original_id: int | None = None
    has_near_duplicates: bool = False

    @property
    def indexed(self) -> int | None:
        """The page's fingerprint in the index: only originals are there."""
        return self.fingerprint if self.original_id is None else None


class NearDuplicatePages:
    """The pages that are nearly the same, as a whole, as a page stored before under another address.

    Each has a row in `near_duplicate_page`, which names its original. Its blocks are stored like those of any page:
    duplicates as sightings, other texts as blocks, so that nothing is lost. Only originals are in the index of page
    fingerprints, so an original is never a near-duplicate, and a page with near-duplicates stays an original.
    """

    def __init__(self, dialect: str, rules: DuplicateRules) -> None:
        self._index: FingerprintIndex = FINGERPRINT_INDEXES[dialect](rules.max_distance, PAGE_INDEX)
        self._rules = rules

    def state(self, connection: Connection, page_id: int, site: str, fingerprint: int | None) -> NearDuplicateState:
        """Return the state of a stored page that has this fingerprint."""
        row = connection.execute(_STATE, {"page": page_id}).one()
        return NearDuplicateState(page_id, site, fingerprint, row.original_id, bool(row.has_near_duplicates))

    def update(self, connection: Connection, before: NearDuplicateState, fingerprint: int | None, at: datetime) -> bool:
        """Store the page's new fingerprint and original; return True if it became a near-duplicate now.

        Its original is the page with the nearest fingerprint; of several at the same distance, the one stored first. An
        original whose fingerprint is unchanged stays an original.
        """
        if before.original_id is None and fingerprint is not None and fingerprint == before.fingerprint:
            return False
        nearest = None if before.has_near_duplicates else self._find_nearest(connection, before, fingerprint)
        self._reindex(connection, before.page_id, before.indexed, fingerprint if nearest is None else None)
        _write_original(connection, before, nearest, at)
        return nearest is not None and before.original_id is None

    def remove(self, connection: Connection, pages: Select[int]) -> None:
        """Forget the selected pages, which are about to be deleted.

        Of the near-duplicates that lose their original, the one stored first becomes an original, and those near it
        become its near-duplicates.
        """
        successors = connection.execute(_successors(pages)).mappings().all()
        gone = select(page.c.id, page.c.page_fingerprint).where(page.c.id.in_(pages))
        entries = [IndexEntry(row[1], row[0]) for row in connection.execute(gone) if row[1] is not None]
        self._index.remove(connection, entries)
        of_pages = near_duplicate_page.c.page_id.in_(pages) | near_duplicate_page.c.original_id.in_(pages)
        connection.execute(delete(near_duplicate_page).where(of_pages))
        self._group_again(connection, successors)

    def refingerprint(self, connection: Connection, state: NearDuplicateState, new: int | None) -> None:
        """Give a page a fingerprint of another scheme; its next visit decides what it is a near-duplicate of."""
        if state.original_id is None:
            self._reindex(connection, state.page_id, state.fingerprint, new)
        elif new is None:
            connection.execute(_DELETE_OF_PAGE, {"page": state.page_id})

    def _find_nearest(
        self, connection: Connection, before: NearDuplicateState, fingerprint: int | None
    ) -> FingerprintMatch | None:
        if fingerprint is None or not self._rules.beyond_page:
            return None
        found = [one for one in self._index.lookup(connection, [fingerprint]) if one.owner_id != before.page_id]
        if found and self._rules.scope == "site":
            ids = [one.owner_id for one in found]
            of_site = set(connection.scalars(_PAGES_OF_SITE, {"ids": ids, "of_site": before.site}))
            found = [one for one in found if one.owner_id in of_site]
        return min(found, key=lambda one: (one.distance, one.owner_id), default=None)

    def _reindex(self, connection: Connection, page_id: int, old: int | None, new: int | None) -> None:
        if old != new:
            self._index.remove(connection, _page_entries(page_id, old))
            self._index.add(connection, _page_entries(page_id, new))

    def _group_again(self, connection: Connection, successors: Iterable[RowMapping]) -> None:
        """Make each page a near-duplicate of one before it, if one is near, or an original."""
        originals: list[RowMapping] = []
        for one in successors:
            near = [
                (bits, other["id"])
                for other in originals
                if (bits := distance(other["page_fingerprint"], one["page_fingerprint"])) <= MAX_DISTANCE
            ]
            if near:
                bits, original_id = min(near)
                values = {"page_id": one["id"], "original_id": original_id, "distance": bits}
                connection.execute(insert(near_duplicate_page), values | {"first_seen": one["first_seen"]})
            else:
                originals.append(one)
                self._index.add(connection, _page_entries(one["id"], one["page_fingerprint"]))


def _successors(pages: Select[int]) -> Select[tuple[int, int, object]]:
    """Select the near-duplicates, of pages about to be deleted, that stay themselves."""
    return (
        select(page.c.id, page.c.page_fingerprint, near_duplicate_page.c.first_seen)
        .join(near_duplicate_page, near_duplicate_page.c.page_id == page.c.id)
        .where(near_duplicate_page.c.original_id.in_(pages), near_duplicate_page.c.page_id.not_in(pages))
        .order_by(page.c.id)
    )


def _page_entries(page_id: int, fingerprint: int | None) -> Sequence[IndexEntry]:
    return [] if fingerprint is None else [IndexEntry(fingerprint, page_id)]


def _write_original(
    connection: Connection, before: NearDuplicateState, nearest: FingerprintMatch | None, at: datetime
) -> None:
    if nearest is not None and nearest.owner_id == before.original_id:
        connection.execute(_SET_DISTANCE, {"page": before.page_id, "bits": nearest.distance})
        return
    if before.original_id is not None:
        connection.execute(_DELETE_OF_PAGE, {"page": before.page_id})
    if nearest is not None:
        values = {"page_id": before.page_id, "original_id": nearest.owner_id, "distance": nearest.distance}
        connection.execute(insert(near_duplicate_page), values | {"first_seen": at})

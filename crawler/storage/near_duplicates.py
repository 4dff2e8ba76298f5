"""Find the stored blocks and pages that are near-duplicates of new ones, exactly, by fingerprint."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import bindparam, delete, exists, insert, select, update

from cleaning.fingerprint import distance
from crawler.storage.tables import batched, near_duplicate_page, page, signed, unsigned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sqlalchemy import Select
    from sqlalchemy.engine import Connection, RowMapping

    from crawler.storage.blocks import VisitedPage


MAX_DISTANCE = 3


@dataclass(frozen=True, slots=True)
class FingerprintMatch:
    """A stored fingerprint that is `distance` bits from the one asked for, and the block or page that has it."""

    query: int
    stored: int
    owner_id: int
    distance: int


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A fingerprint of a stored block or page."""

    fingerprint: int
    owner_id: int


@dataclass(frozen=True, slots=True)
class IndexTable:
    """The table of an index, and its column that says whose a fingerprint is."""

    table: str
    owner: str


BLOCK_INDEX = IndexTable("fingerprint", "block_id")
PAGE_INDEX = IndexTable("page_fingerprint", "page_id")


class FingerprintIndex(Protocol):
    """The stored fingerprints, all unsigned; the caller's transaction is used."""

    def lookup(self, connection: Connection, fingerprints: Iterable[int]) -> list[FingerprintMatch]:
        """Return every stored fingerprint within the distance of one asked for; [] for none asked."""

    def add(self, connection: Connection, entries: Sequence[IndexEntry]) -> None:
        """Store fingerprints; the same one may stand for several owners."""

    def remove(self, connection: Connection, entries: Sequence[IndexEntry]) -> None:
        """Forget fingerprints; those not there are passed over."""


_HALF = 32
_LOW = (1 << _HALF) - 1
_QUERIES_MAX = 1_000  # in one statement; bounds what a page of many thousand blocks takes


def _halves_statement(place: IndexTable, *, neighbours: bool) -> str:
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

    def __init__(self, max_distance: int = MAX_DISTANCE, place: IndexTable = BLOCK_INDEX) -> None:
        self._max_distance = _checked_distance(max_distance)
        # Up to 1 bit apart, one half is the same: no neighbours to probe.
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
        rows = connection.exec_driver_sql(self._statement, (json.dumps([signed(query) for query in queries]),))
        candidates = (_match(queries[number], unsigned(stored), owner_id) for number, stored, owner_id in rows)
        return {match for match in candidates if match.distance <= self._max_distance}


_BAND = 16
_BAND_MASK = (1 << _BAND) - 1


def _bands_statement(place: IndexTable, max_distance: int) -> str:
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


@dataclass(frozen=True, slots=True)
class DuplicateRules:
    """What a block or page may be a duplicate of, and how many bits of fingerprints may differ.

    `scope` is `all` that is stored, its own `site`'s, its own `page`'s or nothing (`off`), as DEDUP_SCOPE says.
    """

    scope: str = "all"
    max_distance: int = MAX_DISTANCE

    @property
    def beyond_page(self) -> bool:
        """Whether anything but the page itself is looked up."""
        return self.scope in {"all", "site"}


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
_REMOVE = delete(near_duplicate_page).where(near_duplicate_page.c.page_id == bindparam("page"))


@dataclass(frozen=True, slots=True)
class NearDuplicateState:
    """What a page was before this visit: its fingerprint, the page that it mirrors, whether others mirror it."""

    fingerprint: int | None = None
    original_id: int | None = None
    has_near_duplicates: bool = False

    @property
    def indexed(self) -> int | None:
        """The fingerprint that the index has of it."""
        return self.fingerprint if self.original_id is None else None


class NearDuplicatePages:
    """Finds mirrors among the pages of a database."""

    def __init__(self, dialect: str, rules: DuplicateRules) -> None:
        self._index: FingerprintIndex = FINGERPRINT_INDEXES[dialect](rules.max_distance, PAGE_INDEX)
        self._rules = rules

    def standing(self, connection: Connection, page_id: int, fingerprint: int | None) -> NearDuplicateState:
        """Return what a stored page with this fingerprint is."""
        row = connection.execute(_STATE, {"page": page_id}).one()
        return NearDuplicateState(fingerprint, row.original_id, bool(row.has_near_duplicates))

    def place(
        self, connection: Connection, home: VisitedPage, fingerprint: int | None, before: NearDuplicateState
    ) -> bool:
        """Note what a page is from this visit on, and tell whether it became a mirror by it.

        It mirrors the page with the nearest fingerprint, of several as near the one stored first. One that mirrors
        none and reads as before stays what it is.
        """
        if before.original_id is None and fingerprint is not None and fingerprint == before.fingerprint:
            return False
        nearest = None if before.has_near_duplicates else self._nearest(connection, home, fingerprint)
        self._reindex(connection, home.page_id, before.indexed, fingerprint if nearest is None else None)
        _write_near_duplicate(connection, home, nearest, before.original_id)
        return nearest is not None and before.original_id is None

    def remove(self, connection: Connection, pages: Select[int]) -> None:
        """Forget the selected pages, which are about to be deleted.

        Of the mirrors that they leave, the one stored first is an original from then on, and those near it mirror it.
        """
        heirs = connection.execute(_successors(pages)).mappings().all()
        gone = select(page.c.id, page.c.page_fingerprint).where(page.c.id.in_(pages))
        entries = [IndexEntry(row[1], row[0]) for row in connection.execute(gone) if row[1] is not None]
        self._index.remove(connection, entries)
        connection.execute(
            delete(near_duplicate_page).where(
                near_duplicate_page.c.page_id.in_(pages) | near_duplicate_page.c.original_id.in_(pages)
            )
        )
        self._settle(connection, heirs)

    def renew(self, connection: Connection, page_id: int, old: int | None, new: int | None) -> None:
        """Give a page a fingerprint of another scheme; what it mirrors then is seen at its next visit."""
        if self.standing(connection, page_id, old).original_id is None:
            self._reindex(connection, page_id, old, new)
        elif new is None:
            connection.execute(_REMOVE, {"page": page_id})

    def _nearest(self, connection: Connection, home: VisitedPage, fingerprint: int | None) -> FingerprintMatch | None:
        if fingerprint is None or not self._rules.beyond_page:
            return None
        found = [one for one in self._index.lookup(connection, [fingerprint]) if one.owner_id != home.page_id]
        if found and self._rules.scope == "site":
            ids = [one.owner_id for one in found]
            here = set(connection.scalars(_PAGES_OF_SITE, {"ids": ids, "of_site": home.site}))
            found = [one for one in found if one.owner_id in here]
        return min(found, key=lambda one: (one.distance, one.owner_id), default=None)

    def _reindex(self, connection: Connection, page_id: int, old: int | None, new: int | None) -> None:
        if old != new:
            self._index.remove(connection, _page_entries(page_id, old))
            self._index.add(connection, _page_entries(page_id, new))

    def _settle(self, connection: Connection, heirs: Iterable[RowMapping]) -> None:
        """Make each page a mirror of one before it, where one is near, or an original."""
        originals: list[RowMapping] = []
        for heir in heirs:
            near = [
                (bits, one["id"])
                for one in originals
                if (bits := distance(one["page_fingerprint"], heir["page_fingerprint"])) <= MAX_DISTANCE
            ]
            if near:
                bits, original_id = min(near)
                values = {"page_id": heir["id"], "original_id": original_id, "distance": bits}
                connection.execute(insert(near_duplicate_page), values | {"first_seen": heir["first_seen"]})
            else:
                originals.append(heir)
                self._index.add(connection, _page_entries(heir["id"], heir["page_fingerprint"]))


def _successors(pages: Select[int]) -> Select[tuple[int, int, object]]:
    """Select the mirrors, of pages about to be deleted, that stay themselves."""
    return (
        select(page.c.id, page.c.page_fingerprint, near_duplicate_page.c.first_seen)
        .join(near_duplicate_page, near_duplicate_page.c.page_id == page.c.id)
        .where(near_duplicate_page.c.original_id.in_(pages), near_duplicate_page.c.page_id.not_in(pages))
        .order_by(page.c.id)
    )


def _page_entries(page_id: int, fingerprint: int | None) -> Sequence[IndexEntry]:
    return [] if fingerprint is None else [IndexEntry(fingerprint, page_id)]


def _write_near_duplicate(
    connection: Connection, home: VisitedPage, nearest: FingerprintMatch | None, former: int | None
) -> None:
    """Write what a page mirrors now, where it mirrored the page `former` before."""
    if nearest is not None and nearest.owner_id == former:
        connection.execute(_SET_DISTANCE, {"page": home.page_id, "bits": nearest.distance})
        return
    if former is not None:
        connection.execute(_REMOVE, {"page": home.page_id})
    if nearest is not None:
        values = {"page_id": home.page_id, "original_id": nearest.owner_id, "distance": nearest.distance}
        connection.execute(insert(near_duplicate_page), values | {"first_seen": home.at})

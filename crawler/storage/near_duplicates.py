"""Find the stored blocks and pages that are near-duplicates of new ones, exactly, by fingerprint.

Both have an index of fingerprints: blocks in table `fingerprint`, pages in `page_fingerprint`. A look-up finds every
stored fingerprint within a few bits of its queries. Its cost is bounded, whatever is stored: a query that has too many
candidates is compared with CANDIDATES_MAX of them, and counted.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sqlalchemy import bindparam, delete, func, insert, select, update

from cleaning.fingerprint import NearFingerprints, distance
from crawler.storage.locks import NotReadError
from crawler.storage.tables import batched, near_duplicate_page, page, signed, to_json, unsigned

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy.engine import Connection

MAX_DISTANCE = 3


@dataclass(frozen=True, slots=True)
class DuplicateRules:
    """The stored blocks and pages that a new one may duplicate, and the largest distance of their fingerprints in bits.

    `scope` is DEDUP_SCOPE: `all` stored blocks, the blocks of the same `site` or `page`, or no blocks (`off`).
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


_BLOCK_INDEX = IndexTable("fingerprint", "block_id")
_PAGE_INDEX = IndexTable("page_fingerprint", "page_id")


@dataclass(frozen=True, slots=True)
class FingerprintMatches:
    """The matches of a look-up: all there are, except that the queries in `not_compared` may have more.

    A query is not compared with every candidate if it has more than CANDIDATES_MAX. Of 33,816 blocks of saved pages,
    none has more than 6. Many texts of one template have more, and texts that are made for it do
    (docs/database.md).
    """

    matches: tuple[FingerprintMatch, ...] = ()
    not_compared: frozenset[int] = frozenset()

    @classmethod
    def joined(cls, parts: Iterable[FingerprintMatches]) -> FingerprintMatches:
        """Return the matches of several look-ups, each match once."""
        matches: dict[FingerprintMatch, None] = {}
        not_compared: set[int] = set()
        for part in parts:
            matches.update(dict.fromkeys(part.matches))
            not_compared |= part.not_compared
        return cls(tuple(matches), frozenset(not_compared))


class FingerprintIndex(Protocol):
    """The stored fingerprints, all unsigned. It works in the caller's transaction."""

    max_distance: int

    def lookup(self, connection: Connection, fingerprints: Iterable[int]) -> FingerprintMatches:
        """Return the stored fingerprints within the distance of each query; nothing for no queries."""

    def add(self, connection: Connection, entries: Sequence[IndexEntry]) -> None:
        """Store fingerprints; several owners may have the same one."""

    def remove(self, connection: Connection, entries: Sequence[IndexEntry]) -> None:
        """Delete fingerprints; those that are not stored are ignored."""


CANDIDATES_MAX = 500
"""The largest number of stored fingerprints that a query is compared with.

Candidates have a half in common with the query, up to 1 bit. By arithmetic, 500 of 3 * 10^10 random fingerprints do:
each does with probability 66 / 2^32. On two busy cores, the look-up of a page of 200 blocks that all fall into a full
half took 0.1 s on either database.
"""

_HALF = 32
_LOW = (1 << _HALF) - 1
_QUERIES_MAX = 1_000  # a statement; bounds the memory that a page of many thousand blocks takes
# The candidates of a statement for many queries, for each of them on average: SQLite has no limit for each.
_CANDIDATES_OF_PAGE = 16
# Of two fingerprints within 1 bit one half is equal: there are no neighbours to probe.
_FLIPS = (0, *(1 << bit for bit in range(_HALF)))


def _flips(max_distance: int) -> Sequence[int]:
    """Return the differences between the equal halves of two fingerprints within a distance."""
    return _FLIPS if max_distance > 1 else _FLIPS[:1]


def _halves_statement(place: IndexTable, max_distance: int) -> str:
    """Return the statement that finds, for each query, the fingerprints with the same half, up to 1 bit.

    Its parameters are a JSON array of signed queries and the largest number of rows: an unsigned query above 2**63
    would reach SQLite as a floating-point number. SQLite has no XOR: a ^ b is (a | b) - (a & b). CROSS JOIN fixes
    SQLite's join order: iterate over queries and flips, seek in the index.
    """
    high_flips = ", ".join(f"({signed(flip << _HALF)})" for flip in _flips(max_distance))
    low_flips = ", ".join(f"({flip})" for flip in _flips(max_distance))
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
    LIMIT ?
    """  # noqa: S608 — of constants


def _crowded_statement(place: IndexTable, max_distance: int) -> str:
    """Return the statement that compares one query with its candidates, up to one more than CANDIDATES_MAX.

    Its parameters are the two halves of the signed query. It gives the number of candidates, and the fingerprints and
    owners, as JSON, of those whose other half differs in at most 3 bits, or 2 if the probed half differs in one. For
    SQLAlchemy, a row of each candidate costs three times as much as the comparison here. x & (x - 1) clears a bit.
    """
    high_flips = ", ".join(f"({signed(flip << _HALF)}, {int(flip > 0)})" for flip in _flips(max_distance))
    low_flips = ", ".join(f"({flip}, {int(flip > 0)})" for flip in _flips(max_distance))
    high_of_stored, high_of_query = (f"({bits} >> {_HALF} & {_LOW})" for bits in ("f.fingerprint", "?1"))
    near = "FILTER (WHERE without_two & (without_two - 1) = 0)"
    return f"""
    WITH high_flip(bits, used) AS MATERIALIZED (VALUES {high_flips}),
    low_flip(bits, used) AS MATERIALIZED (VALUES {low_flips}), candidate(fingerprint, owner, used, differing) AS (
        SELECT f.fingerprint, f.{place.owner}, used, (f.low | ?2) - (f.low & ?2)
        FROM high_flip CROSS JOIN {place.table} AS f
        ON f.fingerprint BETWEEN (?1 | bits) - (?1 & bits) AND (?1 | bits) - (?1 & bits) + {_LOW}
        UNION ALL
        SELECT f.fingerprint, f.{place.owner}, used,
            ({high_of_stored} | {high_of_query}) - ({high_of_stored} & {high_of_query})
        FROM low_flip CROSS JOIN {place.table} AS f ON f.low = (?2 | bits) - (?2 & bits)
        LIMIT {CANDIDATES_MAX + 1}
    ), without_one AS (
        SELECT fingerprint, owner, CASE WHEN used THEN differing ELSE differing & (differing - 1) END AS bits
        FROM candidate
    ), without_two AS (SELECT fingerprint, owner, bits & (bits - 1) AS without_two FROM without_one)
    SELECT count(*), json_group_array(fingerprint) {near}, json_group_array(owner) {near} FROM without_two
    """  # noqa: S608 — of constants


class HalvesIndex:
    """The index on SQLite: fingerprints within 3 bits have the same 32-bit half, up to 1 bit.

    So 33 probes of the primary key (the high half) and 33 of the index on the low half find all of them, however many
    are stored. One statement serves all queries, with a limit for all together. If it is reached, each query gets a
    statement and a limit of its own.
    """

    def __init__(self, max_distance: int = MAX_DISTANCE, place: IndexTable = _BLOCK_INDEX) -> None:
        self.max_distance = _checked_distance(max_distance)
        self._statement = _halves_statement(place, max_distance)
        self._crowded_statement = _crowded_statement(place, max_distance)
        self._add = f"INSERT INTO {place.table} (fingerprint, {place.owner}, low) VALUES (?, ?, ?)"  # noqa: S608 — of constants
        self._remove = f"DELETE FROM {place.table} WHERE fingerprint = ? AND {place.owner} = ?"  # noqa: S608 — as above

    def lookup(self, connection: Connection, fingerprints: Iterable[int]) -> FingerprintMatches:
        queries = list(dict.fromkeys(fingerprints))
        return FingerprintMatches.joined(
            part for query_batch in batched(queries, _QUERIES_MAX) for part in self._lookup(connection, query_batch)
        )

    def add(self, connection: Connection, entries: Sequence[IndexEntry]) -> None:
        if entries:
            rows = [(signed(entry.fingerprint), entry.owner_id, entry.fingerprint & _LOW) for entry in entries]
            connection.exec_driver_sql(self._add, rows)

    def remove(self, connection: Connection, entries: Sequence[IndexEntry]) -> None:
        if entries:
            connection.exec_driver_sql(self._remove, [(signed(entry.fingerprint), entry.owner_id) for entry in entries])

    def _lookup(self, connection: Connection, queries: Sequence[int]) -> Iterator[FingerprintMatches]:
        limit = CANDIDATES_MAX + _CANDIDATES_OF_PAGE * len(queries)
        parameters = (to_json([signed(query) for query in queries]), limit + 1)
        candidates = connection.exec_driver_sql(self._statement, parameters).all()
        if len(candidates) <= limit:
            yield FingerprintMatches(tuple(self._matches(queries, candidates)))
            return
        for query in queries:
            halves = (signed(query & ~_LOW), query & _LOW)
            count, fingerprints, owner_ids = connection.exec_driver_sql(self._crowded_statement, halves).one()
            near = [(0, *row) for row in zip(json.loads(fingerprints), json.loads(owner_ids), strict=True)]
            not_compared = frozenset({query} if count > CANDIDATES_MAX else ())
            yield FingerprintMatches(tuple(self._matches([query], near)), not_compared)

    def _matches(self, queries: Sequence[int], candidates: Iterable[Any]) -> Iterator[FingerprintMatch]:
        for number, stored, owner_id in candidates:
            if distance(queries[number], stored & _ALL_BITS) <= self.max_distance:
                yield _match(queries[number], unsigned(stored), owner_id)


_ALL_BITS = (1 << 64) - 1
_BAND = 16
_BAND_MASK = (1 << _BAND) - 1


def _bands_candidates(place: IndexTable, max_distance: int) -> str:
    """Return the query for the fingerprints that have a 16-bit band in common with `query.bits`.

    Two fingerprints within n bits are equal in at least one of n + 1 bands. The ranges of the two upper bands of a half
    use the indexes on the halves.
    """
    high, low = (1 << 3 * _BAND) - 1, f"(query.bits & {_LOW - _BAND_MASK})"
    conditions = (
        f"fingerprint BETWEEN (query.bits & {~high}) AND (query.bits | {high})",
        f"(fingerprint & {_LOW}) BETWEEN {low} AND {low} + {_BAND_MASK}",
        f"((fingerprint >> 0) & {_BAND_MASK}) = (query.bits & {_BAND_MASK})",
        f"((fingerprint >> {2 * _BAND}) & {_BAND_MASK}) = ((query.bits >> {2 * _BAND}) & {_BAND_MASK})",
    )
    select = f"SELECT fingerprint, {place.owner} FROM {place.table}"  # noqa: S608 — of constants
    return " UNION ALL ".join(f"{select} WHERE {condition}" for condition in conditions[: max_distance + 1])


def _halves_candidates(place: IndexTable, max_distance: int) -> str:
    """Return the query for the fingerprints that have a half in common with `query.bits`, up to 1 bit.

    OFFSET 0 keeps the server from joining in another order: iterate over the flips, seek in the index.
    """
    high_flips = ", ".join(f"(({signed(flip << _HALF)})::bigint)" for flip in _flips(max_distance))
    low_flips = ", ".join(f"({flip}::bigint)" for flip in _flips(max_distance))
    flipped = "(query.bits # flip.bits)"
    select = f"SELECT fingerprint, {place.owner} FROM {place.table}"  # noqa: S608 — of constants
    return f"""
    SELECT fingerprint, {place.owner} FROM (VALUES {high_flips}) AS flip(bits) CROSS JOIN LATERAL (
        {select} WHERE fingerprint BETWEEN ({flipped} & {~_LOW}) AND ({flipped} | {_LOW}) OFFSET 0
    ) AS of_high
    UNION ALL
    SELECT fingerprint, {place.owner} FROM (VALUES {low_flips}) AS flip(bits) CROSS JOIN LATERAL (
        {select} WHERE (fingerprint & {_LOW}) = ({flipped} & {_LOW}) OFFSET 0
    ) AS of_low
    """  # noqa: S608 — of constants


def _candidates_statement(place: IndexTable, candidates: str) -> str:
    """Return the statement that compares each query with its candidates, up to one more than CANDIDATES_MAX.

    Its parameters are an array of signed queries and the distance. It gives, for each query that has any, the number of
    candidates, and the fingerprints and owners of those within the distance. LATERAL fixes the server's join order.
    """
    return f"""
    SELECT query.bits, count(*),
        array_agg(f.fingerprint) FILTER (WHERE f.is_near), array_agg(f.{place.owner}) FILTER (WHERE f.is_near)
    FROM unnest(%s::bigint[]) AS query(bits) CROSS JOIN LATERAL (
        SELECT fingerprint, {place.owner}, bit_count((fingerprint # query.bits)::bit(64)) <= %s AS is_near
        FROM ({candidates}) AS candidate LIMIT {CANDIDATES_MAX + 1}
    ) AS f
    GROUP BY query.bits
    """  # noqa: S608 — of constants


class BandsIndex:
    """The index on PostgreSQL: fingerprints within 3 bits are equal in one of their four 16-bit bands.

    The primary key serves the topmost band and the upper half, the index on the low half the second band from below.
    The other two bands have an index each. All of them hold the whole fingerprint, so that the server counts the
    differing bits without reading the table. If the bands of a query hold too many, its halves are probed, as on
    SQLite: four times as expensive, but a half has few candidates where a band has thousands.
    """

    def __init__(self, max_distance: int = MAX_DISTANCE, place: IndexTable = _BLOCK_INDEX) -> None:
        self.max_distance = _checked_distance(max_distance)
        self._statements = tuple(
            _candidates_statement(place, candidates(place, max_distance))
            for candidates in (_bands_candidates, _halves_candidates)
        )
        columns, arrays = f"fingerprint, {place.owner}", "unnest(%s::bigint[], %s::bigint[])"
        self._add = f"INSERT INTO {place.table} ({columns}) SELECT * FROM {arrays}"  # noqa: S608 — of constants
        self._remove = (
            f"DELETE FROM {place.table} USING {arrays} AS old(bits, owner) "  # noqa: S608 — of constants
            f"WHERE fingerprint = old.bits AND {place.owner} = old.owner"
        )

    def lookup(self, connection: Connection, fingerprints: Iterable[int]) -> FingerprintMatches:
        queries = list(dict.fromkeys(fingerprints))
        return FingerprintMatches.joined(
            self._lookup(connection, query_batch) for query_batch in batched(queries, _QUERIES_MAX)
        )

    def add(self, connection: Connection, entries: Sequence[IndexEntry]) -> None:
        if entries:
            connection.exec_driver_sql(self._add, _arrays(entries))

    def remove(self, connection: Connection, entries: Sequence[IndexEntry]) -> None:
        if entries:
            connection.exec_driver_sql(self._remove, _arrays(entries))

    def _lookup(self, connection: Connection, queries: Sequence[int]) -> FingerprintMatches:
        with _index_scans(connection):
            return self._compare(connection, queries)

    def _compare(self, connection: Connection, queries: Sequence[int]) -> FingerprintMatches:
        matches: list[FingerprintMatch] = []
        waiting = [signed(query) for query in queries]
        for statement in self._statements:
            if not waiting:
                break
            rows = connection.exec_driver_sql(statement, (waiting, self.max_distance)).all()
            waiting = [bits for bits, count, _, _ in rows if count > CANDIDATES_MAX]
            for bits, _, stored, owner_ids in rows:
                owners = zip(stored or (), owner_ids or (), strict=True)
                matches += [_match(unsigned(bits), unsigned(near), owner_id) for near, owner_id in owners]
        return FingerprintMatches(tuple(matches), frozenset(map(unsigned, waiting)))


_OTHER_SCANS = "enable_seqscan", "enable_bitmapscan"
_PLAIN_INDEX_SCANS = "SELECT " + ", ".join(
    f"current_setting('{name}'), set_config('{name}', 'off', true)" for name in _OTHER_SCANS
)
_FORMER_SCANS = "SELECT " + ", ".join(f"set_config('{name}', %s, true)" for name in _OTHER_SCANS)


@contextmanager
def _index_scans(connection: Connection) -> Iterator[None]:
    """Let the server walk through its indexes for a while, so that it stops at a LIMIT.

    It cannot know how many entries a bucket has. A bitmap scan reads all of them before the first one is compared, and
    a sequential scan reads those of all buckets.
    """
    settings = connection.exec_driver_sql(_PLAIN_INDEX_SCANS).one()
    yield
    connection.exec_driver_sql(_FORMER_SCANS, tuple(settings[::2]))  # after an error, the transaction ends anyway


def _arrays(entries: Sequence[IndexEntry]) -> tuple[list[int], list[int]]:
    return [signed(entry.fingerprint) for entry in entries], [entry.owner_id for entry in entries]


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


@dataclass(slots=True)
class NearIndex:
    """The stored fingerprints near those of a batch, with the ones that the batch has added and removed since."""

    stored: Mapping[int, Sequence[FingerprintMatch]]
    """The matches of each fingerprint that was looked up."""
    not_compared: frozenset[int]
    added: dict[IndexEntry, None]
    removed: dict[IndexEntry, None]
    _new: NearFingerprints[IndexEntry]

    @classmethod
    def read(cls, connection: Connection, index: FingerprintIndex, fingerprints: Iterable[int]) -> NearIndex:
        """Look up fingerprints."""
        stored: dict[int, list[FingerprintMatch]] = {query: [] for query in fingerprints}
        found = index.lookup(connection, stored) if stored else FingerprintMatches()
        for match in found.matches:
            stored[match.query].append(match)
        return cls(stored, found.not_compared, {}, {}, NearFingerprints(index.max_distance))

    @property
    def owners(self) -> set[int]:
        """The owners of all stored fingerprints that were found."""
        return {match.owner_id for matches in self.stored.values() for match in matches}

    def near(self, fingerprint: int) -> list[tuple[int, int]]:
        """Return the distance and owner of each fingerprint within the distance."""
        if fingerprint not in self.stored:
            raise NotReadError("fingerprints", fingerprint)
        stored = [
            (match.distance, match.owner_id)
            for match in self.stored[fingerprint]
            if IndexEntry(match.stored, match.owner_id) not in self.removed
        ]
        new = [(near.bits, near.item.owner_id) for near in self._new.matches(fingerprint) if near.item in self.added]
        return stored + new

    def add(self, entry: IndexEntry) -> None:
        if entry in self.removed:
            del self.removed[entry]
        else:
            self.added[entry] = None
            self._new.add(entry.fingerprint, entry)

    def remove(self, entry: IndexEntry) -> None:
        if entry in self.added:
            del self.added[entry]
        else:
            self.removed[entry] = None

    def write(self, connection: Connection, index: FingerprintIndex) -> None:
        index.remove(connection, list(self.removed))
        index.add(connection, list(self.added))


_LINKS = select(near_duplicate_page).where(near_duplicate_page.c.page_id.in_(bindparam("ids", expanding=True)))
_NEAR_COUNTS = (
    select(near_duplicate_page.c.original_id, func.count())
    .where(near_duplicate_page.c.original_id.in_(bindparam("ids", expanding=True)))
    .group_by(near_duplicate_page.c.original_id)
)
_SUCCESSORS = (
    select(near_duplicate_page, page.c.page_fingerprint)
    .join(page, page.c.id == near_duplicate_page.c.page_id)
    .where(near_duplicate_page.c.original_id.in_(bindparam("ids", expanding=True)))
)
_SITES = select(page.c.id, page.c.site).where(page.c.id.in_(bindparam("ids", expanding=True)))
_SET_DISTANCE = (
    update(near_duplicate_page)
    .where(near_duplicate_page.c.page_id == bindparam("page"))
    .values(distance=bindparam("bits"))
)
_DELETE_LINKS = delete(near_duplicate_page).where(near_duplicate_page.c.page_id.in_(bindparam("ids", expanding=True)))


class FingerprintedPage(NamedTuple):
    """A page, and the fingerprint that it has in the database: None for a short page, or one that is not stored."""

    page_id: int
    site: str
    fingerprint: int | None


class Link(NamedTuple):
    """What a near-duplicate page nearly duplicates, at what distance and since when; and its own fingerprint."""

    original_id: int
    distance: int
    first_seen: datetime
    fingerprint: int | None


class NearChange(NamedTuple):
    """The effect of a visit: whether the page became a near-duplicate, and 1 if it was not compared with every page.

    If it `moved`, it has another original than before, or has one no more.
    """

    became: bool = False
    moved: bool = False
    not_compared: int = 0


class NearPages:
    """The pages that are nearly the same, as a whole, as a page stored before under another address.

    Each has a row in `near_duplicate_page`, which names its original. Its blocks are stored as for any page:
    duplicates as sightings, other texts as blocks, so that nothing is lost. Only originals are in the index of page
    fingerprints, so an original is never a near-duplicate, and a page with near-duplicates stays an original.

    Read for the pages of a batch, changed in memory, and written at once.
    """

    def __init__(self, index: NearIndex, rules: DuplicateRules) -> None:
        self._index = index
        self._rules = rules
        self._stored: dict[int, Link] = {}
        self._links: dict[int, Link] = {}
        self._counts = Counter[int]()
        self._successors: dict[int, list[int]] = {}
        self._sites: dict[int, str] = {}

    @classmethod
    def read(
        cls,
        connection: Connection,
        rules: DuplicateRules,
        pages: Sequence[FingerprintedPage],
        fingerprints: Iterable[int] = (),
        removable: Collection[int] = (),
    ) -> NearPages:
        """Read what is known of pages, of those with near `fingerprints`, and of what duplicates the `removable`."""
        index = page_index(connection, rules)
        near = cls(NearIndex.read(connection, index, fingerprints if rules.beyond_page else ()), rules)
        by_id = {known.page_id: known for known in pages}
        near._sites = {known.page_id: known.site for known in pages}
        for part in batched(sorted(by_id)):
            for row in connection.execute(_LINKS, {"ids": part}):
                link = Link(row.original_id, row.distance, row.first_seen, by_id[row.page_id].fingerprint)
                near._stored[row.page_id] = link
            near._counts.update({row[0]: row[1] for row in connection.execute(_NEAR_COUNTS, {"ids": part})})
        near._successors = {page_id: [] for page_id in removable}
        for part in batched(sorted(page_id for page_id in removable if near._counts[page_id])):
            for row in connection.execute(_SUCCESSORS, {"ids": part}):
                near._stored[row.page_id] = Link(row.original_id, row.distance, row.first_seen, row.page_fingerprint)
                near._successors[row.original_id].append(row.page_id)
        near._links = dict(near._stored)
        if rules.scope == "site":
            for part in batched(sorted(near._index.owners - by_id.keys())):
                near._sites.update({row.id: row.site for row in connection.execute(_SITES, {"ids": part})})
        return near

    def update(self, before: FingerprintedPage, fingerprint: int | None, visit_time: datetime) -> NearChange:
        """Give a page its new fingerprint and original; return the changes.

        Its original is the page with the nearest fingerprint; of several at the same distance, the one stored first. An
        original whose fingerprint is unchanged stays an original.
        """
        page_id = before.page_id
        self._sites[page_id] = before.site
        link = self._links.get(page_id)
        if link is None and fingerprint is not None and fingerprint == before.fingerprint:
            return NearChange()
        compares = fingerprint is not None and self._rules.beyond_page and not self._counts[page_id]
        nearest = self._nearest(before, fingerprint) if compares and fingerprint is not None else None
        self._reindex(page_id, before.fingerprint if link is None else None, fingerprint if nearest is None else None)
        original_id = None if nearest is None else nearest[1]
        moved = original_id != (None if link is None else link.original_id)
        if nearest is None:
            self._set_link(page_id, None)
        else:
            first_seen = visit_time if link is None or moved else link.first_seen
            self._set_link(page_id, Link(nearest[1], nearest[0], first_seen, fingerprint))
        return NearChange(
            became=nearest is not None and link is None,
            moved=moved,
            not_compared=int(compares and fingerprint in self._index.not_compared),
        )

    def remove(self, pages: Iterable[FingerprintedPage]) -> list[int]:
        """Forget pages that are deleted or retired; return the ids of those that lose their original.

        Of the near-duplicates that lose their original, the one stored first becomes an original, and those near it
        become its near-duplicates.
        """
        removed = {known.page_id: known for known in pages}
        successors: set[int] = set()
        for page_id, known in removed.items():
            if known.fingerprint is not None and page_id not in self._links:
                self._index.remove(IndexEntry(known.fingerprint, page_id))
            if self._counts[page_id]:
                successors |= self._near_duplicates_of(page_id)
            self._set_link(page_id, None)
        originals: list[tuple[int, int]] = []
        lost = sorted(successors - removed.keys())
        for page_id in lost:
            link = self._links[page_id]
            assert link.fingerprint is not None  # a page without one is no near-duplicate
            near = [(distance(bits, link.fingerprint), other_id) for bits, other_id in originals]
            bits, original_id = min(near, default=(MAX_DISTANCE + 1, 0))
            if bits <= MAX_DISTANCE:
                self._set_link(page_id, link._replace(original_id=original_id, distance=bits))
            else:
                originals.append((link.fingerprint, page_id))
                self._set_link(page_id, None)
                self._index.add(IndexEntry(link.fingerprint, page_id))
        return lost

    def refingerprint(self, before: FingerprintedPage, new: int | None) -> None:
        """Give a page a fingerprint of another scheme; its next visit decides what it is a near-duplicate of."""
        if before.page_id not in self._links:
            self._reindex(before.page_id, before.fingerprint, new)
        elif new is None:
            self._set_link(before.page_id, None)

    def _near_duplicates_of(self, page_id: int) -> set[int]:
        if page_id not in self._successors:
            raise NotReadError("removable", page_id)
        return {near_id for near_id, link in self._links.items() if link.original_id == page_id}

    def _nearest(self, before: FingerprintedPage, fingerprint: int) -> tuple[int, int] | None:
        """Return the distance and id of the nearest other page, of the same site if the rules say so."""
        within_site = self._rules.scope == "site"
        return min(
            (
                match
                for match in self._index.near(fingerprint)
                if match[1] != before.page_id and not (within_site and self._sites.get(match[1]) != before.site)
            ),
            default=None,
        )

    def _reindex(self, page_id: int, old: int | None, new: int | None) -> None:
        if old != new:
            if old is not None:
                self._index.remove(IndexEntry(old, page_id))
            if new is not None:
                self._index.add(IndexEntry(new, page_id))

    def _set_link(self, page_id: int, link: Link | None) -> None:
        before = self._links.pop(page_id, None)
        if before is not None:
            self._counts[before.original_id] -= 1
        if link is not None:
            self._links[page_id] = link
            self._counts[link.original_id] += 1

    def write(self, connection: Connection) -> None:
        """Write the index and the rows of near-duplicates that differ from the stored ones."""
        self._index.write(connection, page_index(connection, self._rules))
        pairs = [
            (page_id, self._stored.get(page_id), self._links.get(page_id)) for page_id in self._stored | self._links
        ]
        replaced = [
            page_id for page_id, old, new in pairs if old and (new is None or new.original_id != old.original_id)
        ]
        for part in batched(sorted(replaced)):
            connection.execute(_DELETE_LINKS, {"ids": part})
        added = [
            {"page_id": page_id, "original_id": new.original_id, "distance": new.distance, "first_seen": new.first_seen}
            for page_id, old, new in pairs
            if new and (old is None or new.original_id != old.original_id)
        ]
        if added:
            connection.execute(insert(near_duplicate_page), added)
        nearer = [
            {"page": page_id, "bits": new.distance}
            for page_id, old, new in pairs
            if old and new and new.original_id == old.original_id and new.distance != old.distance
        ]
        if nearer:
            connection.execute(_SET_DISTANCE, nearer)


def block_index(connection: Connection, rules: DuplicateRules) -> FingerprintIndex:
    """Return the index of the fingerprints of blocks."""
    return _index(connection.dialect.name, rules.max_distance, _BLOCK_INDEX)


def page_index(connection: Connection, rules: DuplicateRules) -> FingerprintIndex:
    """Return the index of the fingerprints of whole pages."""
    return _index(connection.dialect.name, rules.max_distance, _PAGE_INDEX)


@cache
def _index(dialect: str, max_distance: int, place: IndexTable) -> FingerprintIndex:
    return FINGERPRINT_INDEXES[dialect](max_distance, place)

"""Who may write at the same moment: locks on all that a batch looks up or inserts.

Two crawls that store the same text at the same moment would both look it up, both find nothing and both insert it.
So each batch first locks everything that its look-ups can find. On SQLite BEGIN IMMEDIATE has done that: nobody
else writes. On PostgreSQL it takes advisory locks, all in one statement and in order, so that no two batches can
wait for each other, and the look-up is a statement of its own after that: in READ COMMITTED it sees what the last
holder of the locks has committed.

What is locked is hashed to `KEYS` keys. However many writers there are, the server so holds at most that many
locks at a time and one more for each that waits, out of the 6,400 that its default settings have room for
(max_locks_per_transaction x max_connections); a lock for each band of each fingerprint would exhaust them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xxhash import xxh64_intdigest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy.engine import Connection

    from crawler.visit import FingerprintedBlock

LOCK_KEYS = 1_024
_LOCK_SPACE = 0x626C6F63  # apart from the advisory locks of other programs in the database
_LOCK = "SELECT count(*) FROM (SELECT pg_advisory_xact_lock(%s, key) FROM unnest(%s::int[]) AS key OFFSET 0) AS taken"
_BAND_BITS = 16
_GOLDEN = 0x9E3779B97F4A7C15  # 2**64 / golden ratio: spreads what it multiplies over the upper bits
_UPPER_BITS = 54


def lock(connection: Connection, keys: Iterable[int]) -> None:
    """Wait until no other transaction has any of the keys, and have them until the end of this one.

    At its start, once: a second time could wait for one that waits for this.
    """
    if connection.dialect.name == "sqlite":
        return
    connection.exec_driver_sql(_LOCK, (_LOCK_SPACE, sorted(set(keys))))


def lock_all(connection: Connection) -> None:
    """Wait until nobody stores anything, and keep everybody from it until the end of the transaction."""
    lock(connection, range(LOCK_KEYS))


def page_key(url_key: str) -> int:
    """Return the key of a page: two visits to it take turns."""
    return xxh64_intdigest(url_key.encode()) % LOCK_KEYS


def block_keys(candidates: Iterable[FingerprintedBlock], site: str) -> Iterator[int]:
    """Give the keys of everything that blocks of a site can be duplicates of.

    Fingerprints within three bits have one of their four 16-bit bands in common; the same digest counts within a
    site. What repeats a block of its own page is not looked up.
    """
    of_site = xxh64_intdigest(site.encode())
    for one in candidates:
        if one.repeats is None and one.unique_terms:
            yield (one.digest ^ of_site) % LOCK_KEYS
            if one.fingerprint is not None:
                yield from _bands(one.fingerprint)


def page_fingerprint_keys(fingerprint: int | None) -> Iterator[int]:
    """Give the keys of everything that a page of this fingerprint can mirror."""
    if fingerprint is not None:
        yield from _bands(fingerprint, first=4)


def _bands(fingerprint: int, first: int = 0) -> Iterator[int]:
    """Give the keys of the four bands, which are numbered from `first`."""
    for band in range(4):
        value = first + band << _BAND_BITS | (fingerprint >> _BAND_BITS * band) & 0xFFFF
        yield (value * _GOLDEN & 0xFFFFFFFFFFFFFFFF) >> _UPPER_BITS

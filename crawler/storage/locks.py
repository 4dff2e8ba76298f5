"""Locks on everything that a transaction looks up or inserts.

Two crawls that store the same text at the same time would both look it up, both find nothing and both insert it. So
each batch first locks everything that its look-ups can find. On SQLite, BEGIN IMMEDIATE has done that: one
transaction writes at a time. On PostgreSQL the batch takes advisory locks, all in one statement and in order, so that
no two batches wait for each other. The look-up is a later statement: in READ COMMITTED it sees what the last holder of
the locks has committed.

The locked things are hashed to `LOCK_KEYS` keys. So the server never holds more than that many locks, plus one for
each waiting transaction, whatever the number of writers. By default it has room for 6,400 (max_locks_per_transaction ×
max_connections); a lock for each band of each fingerprint would not fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xxhash import xxh64_intdigest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy.engine import Connection

    from cleaning.page_fingerprint import FingerprintedBlock

LOCK_KEYS = 1_024
_LOCK_SPACE = 0x626C6F63  # apart from the advisory locks of other programs in the database
_LOCK = "SELECT count(*) FROM (SELECT pg_advisory_xact_lock(%s, key) FROM unnest(%s::int[]) AS key OFFSET 0) AS taken"
_BAND_BITS = 16
_GOLDEN = 0x9E3779B97F4A7C15  # 2**64 / golden ratio: a multiplication by it spreads a value over the upper bits
_UPPER_BITS = 54


class UnlockedPageError(Exception):
    """A transaction would change a page that it has not locked: run it again with everything locked."""


class NotReadError(Exception):
    """A decision needs what the batch has not read: read it again with that. `kind` is a field of `state.Wants`."""

    def __init__(self, kind: str, value: Any) -> None:
        super().__init__(f"{kind}: {value} was not read")
        self.kind = kind
        self.value = value


def lock(connection: Connection, keys: Iterable[int]) -> None:
    """Wait until no other transaction holds any of the keys, and hold them until the end of this one.

    Call it once, at the start of the transaction: a second call could wait for a transaction that waits for this one.
    """
    if connection.dialect.name == "sqlite":
        return
    connection.exec_driver_sql(_LOCK, (_LOCK_SPACE, sorted(set(keys))))


def lock_all(connection: Connection) -> None:
    """Wait until no other transaction stores anything, and keep it so until the end of this one."""
    lock(connection, range(LOCK_KEYS))


def page_key(url_key: str) -> int:
    """Return the key of a page: two visits to it take turns."""
    return xxh64_intdigest(url_key.encode()) % LOCK_KEYS


def block_keys(candidates: Iterable[FingerprintedBlock]) -> Iterator[int]:
    """Yield the keys of everything that blocks can be duplicates of.

    Fingerprints within three bits have one of their four 16-bit bands in common. A repeat of a block of the same page
    is not looked up.
    """
    for candidate in candidates:
        if candidate.repeats is None:
            yield candidate.digest % LOCK_KEYS
            if candidate.fingerprint is not None:
                yield from _band_keys(candidate.fingerprint)


def page_fingerprint_keys(fingerprint: int | None) -> Iterator[int]:
    """Yield the keys of all pages that a page with this fingerprint can be a near-duplicate of."""
    if fingerprint is not None:
        yield from _band_keys(fingerprint, first=4)


def _band_keys(fingerprint: int, first: int = 0) -> Iterator[int]:
    """Yield the keys of the four bands, which are numbered from `first`."""
    for band in range(4):
        value = first + band << _BAND_BITS | (fingerprint >> _BAND_BITS * band) & 0xFFFF
        yield (value * _GOLDEN & 0xFFFFFFFFFFFFFFFF) >> _UPPER_BITS

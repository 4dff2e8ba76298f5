"""The indexes that fingerprints.py compares, each behind the same few calls.

Ids are given out in the order of arrival, from 0. A look-up answers with pairs of query and id.
"""

from __future__ import annotations

import importlib

import numpy as np
import psutil

from crawler.storage import schema
from crawler.storage.database import backend_of, open_engine, read_transaction, write_transaction
from crawler.storage.near_duplicates import FINGERPRINT_INDEXES, MAX_DISTANCE, IndexEntry
from crawler.storage.tables import exists_on, fingerprint

BATCH = 10_000  # fingerprints in a transaction of a build


class Database:
    """The project's own index, through its engine and schema: on the database at a URL, which must be empty."""

    def __init__(self, url, bulk_above):
        self._engine = open_engine(url)
        self._bulk_above = bulk_above
        schema.prepare_schema(self._engine)
        self._index = FINGERPRINT_INDEXES[self._engine.dialect.name](MAX_DISTANCE)
        self._size_before = self.size_bytes()

    def build(self, stored):
        """Store them in the order of arrival; from `bulk_above` on sorted, the further indexes made at the end.

        What a server or a checkpoint would do in the background afterwards is part of it.
        """
        if len(stored) > self._bulk_above:
            self._load(stored)
        else:
            self._add_all(stored, np.arange(len(stored)))
        backend_of(self._engine).erase_deleted(self._engine)

    def lookup(self, queries):
        with read_transaction(self._engine) as connection:
            return {(match.query, match.owner_id) for match in self._index.lookup(connection, queries).matches}

    def add(self, fingerprints, first_id):
        with write_transaction(self._engine) as connection:
            self._index.add(
                connection, [IndexEntry(bits, number) for number, bits in enumerate(fingerprints, first_id)]
            )

    def grown_bytes(self):
        return self.size_bytes() - self._size_before

    def size_bytes(self):
        return backend_of(self._engine).size_bytes(self._engine)

    def close(self):
        self._engine.dispose()

    def _load(self, stored):
        further = [index for index in fingerprint.indexes if exists_on(index, self._engine.dialect.name)]
        with write_transaction(self._engine) as connection:
            for index in further:
                index.drop(connection)
        order = np.argsort(stored.view(np.int64))  # as the database compares them
        self._add_all(stored[order], order)
        with write_transaction(self._engine) as connection:
            for index in further:
                index.create(connection)

    def _add_all(self, fingerprints, ids):
        for start in range(0, len(fingerprints), BATCH):
            part = slice(start, start + BATCH)
            entries = map(IndexEntry, fingerprints[part].tolist(), ids[part].tolist())
            with write_transaction(self._engine) as connection:
                self._index.add(connection, list(entries))


class _InMemory:
    """An index that lives in this process, filled by its `add`: its size is what the process grew by."""

    def __init__(self):
        self._size_before = _resident_bytes()

    def build(self, stored):
        for start in range(0, len(stored), BATCH):
            self.add(stored[start : start + BATCH].tolist(), start)

    def grown_bytes(self):
        return _resident_bytes() - self._size_before

    def close(self):
        """There is nothing to close."""


class Faiss(_InMemory):
    """IndexBinaryMultiHash: four hash tables of 16 bits each, so that 3 bits are exact; on one thread."""

    def __init__(self):
        faiss = importlib.import_module("faiss")
        faiss.omp_set_num_threads(1)
        self._index = faiss.IndexBinaryMultiHash(64, 4, 16)
        super().__init__()

    def lookup(self, queries):
        # It finds what is nearer than the radius.
        limits, _distances, ids = self._index.range_search(_codes(queries), MAX_DISTANCE + 1)
        repeated = np.repeat(np.array(queries, np.uint64), np.diff(limits).astype(np.int64))
        return set(zip(repeated.tolist(), ids.tolist(), strict=True))

    def add(self, fingerprints, first_id):
        assert self._index.ntotal == first_id  # it numbers by itself
        self._index.add(_codes(fingerprints))


class Datasketch(_InMemory):
    """MinHashLSH with the four 16-bit bands of a fingerprint in place of four minima: candidates share one band.

    It is made for Jaccard similarity of sets; so it leads to the candidates, and their bits are counted here.
    """

    def __init__(self):
        datasketch = importlib.import_module("datasketch")
        self._lsh = datasketch.MinHashLSH(num_perm=4, params=(4, 1))
        self._sketch = datasketch.LeanMinHash
        self._stored = []
        super().__init__()

    def lookup(self, queries):
        return {
            (query, number)
            for query, bands in self._sketches(queries)
            for number in self._lsh.query(bands)
            if (query ^ self._stored[number]).bit_count() <= MAX_DISTANCE
        }

    def add(self, fingerprints, first_id):
        self._stored += fingerprints
        for number, (_, bands) in enumerate(self._sketches(fingerprints), first_id):
            self._lsh.insert(number, bands)

    def _sketches(self, fingerprints):
        for bits, bands in zip(fingerprints, _codes(fingerprints).view(np.uint16), strict=True):
            yield bits, self._sketch(seed=1, hashvalues=bands, scheme="legacy")


def _codes(fingerprints):
    """Return them as rows of 8 bytes."""
    return np.array(fingerprints, np.uint64).view(np.uint8).reshape(-1, 8)


def _resident_bytes():
    return psutil.Process().memory_info().rss

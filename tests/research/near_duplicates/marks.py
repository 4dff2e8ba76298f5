"""What the methods compare of a text, and which pairs they take for duplicates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xxhash import xxh64_intdigest

from cleaning.fingerprint import WEIGHTINGS, digest_terms, fingerprint_terms
from cleaning.terms import terms

MOST_BITS = 3
SIMILAR = 0.8  # of Jaccard and MinHash
METHODS = (*WEIGHTINGS, "Jaccard", "MinHash", "digest")
_PERMUTATIONS = 128


@dataclass(frozen=True)
class Marks:
    """All that the methods compare of a text."""

    fingerprints: dict
    stems: frozenset
    minima: np.ndarray
    digest: int

    @classmethod
    def of(cls, text):
        sequence = terms(text)
        stems = frozenset(sequence)
        prints = {one: fingerprint_terms(sequence, weighting=one) for one in WEIGHTINGS}
        return cls(prints, stems, minima(stems), digest_terms(sequence))


def _factors():
    """Return the multipliers and summands of MinHash's permutations (multiply and shift)."""
    made = np.random.default_rng(20).integers(0, 1 << 63, (2, _PERMUTATIONS, 1), dtype=np.uint64)
    return made[0] * np.uint64(2) + np.uint64(1), made[1]


_FACTORS, _SUMMANDS = _factors()


def minima(stems):
    if not stems:
        return np.zeros(_PERMUTATIONS, np.uint64)
    hashes = np.array([xxh64_intdigest(stem.encode()) for stem in stems], np.uint64)
    return ((hashes * _FACTORS + _SUMMANDS) >> np.uint64(32)).min(axis=1)


def bits(one, other, weighting):
    return (one.fingerprints[weighting] ^ other.fingerprints[weighting]).bit_count()


def jaccard(one, other):
    return len(one.stems & other.stems) / max(1, len(one.stems | other.stems))


def verdicts(one, other):
    """Return by method whether it takes two texts for duplicates."""
    found = {weighting: bits(one, other, weighting) <= MOST_BITS for weighting in WEIGHTINGS}
    found["Jaccard"] = jaccard(one, other) >= SIMILAR
    found["MinHash"] = bool((one.minima == other.minima).mean() >= SIMILAR)
    found["digest"] = one.digest == other.digest
    return found

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
        prints = {weighting: fingerprint_terms(sequence, weighting=weighting) for weighting in WEIGHTINGS}
        return cls(prints, stems, minima(stems), digest_terms(sequence))


def _factors():
    """Return the multipliers and summands of MinHash's permutations (multiply and shift)."""
    factors = np.random.default_rng(20).integers(0, 1 << 63, (2, _PERMUTATIONS, 1), dtype=np.uint64)
    return factors[0] * np.uint64(2) + np.uint64(1), factors[1]


_FACTORS, _SUMMANDS = _factors()


def minima(stems):
    if not stems:
        return np.zeros(_PERMUTATIONS, np.uint64)
    hashes = np.array([xxh64_intdigest(stem.encode()) for stem in stems], np.uint64)
    return ((hashes * _FACTORS + _SUMMANDS) >> np.uint64(32)).min(axis=1)


def bits(first, second, weighting):
    return (first.fingerprints[weighting] ^ second.fingerprints[weighting]).bit_count()


def jaccard(first, second):
    return len(first.stems & second.stems) / max(1, len(first.stems | second.stems))


def verdicts(first, second):
    """Return by method whether it takes two texts for duplicates."""
    verdict_by_method = {weighting: bits(first, second, weighting) <= MOST_BITS for weighting in WEIGHTINGS}
    verdict_by_method["Jaccard"] = jaccard(first, second) >= SIMILAR
    verdict_by_method["MinHash"] = bool((first.minima == second.minima).mean() >= SIMILAR)
    verdict_by_method["digest"] = first.digest == second.digest
    return verdict_by_method

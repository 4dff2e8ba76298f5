"""Modified simhash, Hamming distance and digest of a block's text (Saravanan & Sathya Bama 2020)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from xxhash import xxh64_intdigest

from cleaning.terms import terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

BITS = 64
# Fingerprints are comparable within one scheme only; it names all that a fingerprint depends on.
SCHEME = "modified-simhash;xxh64-0;porter-original;stop-english;bigrams;1"
_CHUNK = 256  # rows of the pair table that are held at once
Weighting = Literal["modified", "plain"]

# A bit whose exact sum is 0 is 0 (a tie). Floats in any order of summation miss an exact 0 by far less than
# this share of the total weight, so the tolerance makes the result independent of that order.
_TIE = 1e-12


def fingerprint(text: str, *, weighting: Weighting = "modified") -> int:
    """Return the unsigned 64-bit fingerprint of a text; 0 for a text without terms, which is never compared.

    `modified` weighs a term by its proximity to the terms after it (weighted.txt, TWC-PFM, equations 1 to 3),
    `plain` by its frequency.
    """
    return fingerprint_terms(terms(text), weighting=weighting)


def fingerprint_terms(sequence: Sequence[str], *, weighting: Weighting = "modified") -> int:
    """Return the fingerprint of a sequence of terms, as `fingerprint` does of its text; 0 if it is empty."""
    if not sequence:
        return 0
    unique = {term: index for index, term in enumerate(dict.fromkeys(sequence))}
    ids = np.fromiter((unique[term] for term in sequence), dtype=np.int64, count=len(sequence))
    weights = _proximity_sums(ids, len(unique)) if weighting == "modified" else np.zeros(len(unique))
    weights += np.bincount(ids, minlength=len(unique))
    hashes = np.array([xxh64_intdigest(term.encode(errors="replace")) for term in unique], dtype="<u8")
    bits = np.unpackbits(hashes.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    sums = weights @ (bits.astype(np.float64) * 2 - 1)
    return int(np.packbits(sums > _TIE * weights.sum(), bitorder="little").view("<u8")[0])


def term_weights(sequence: Sequence[str]) -> dict[str, float]:
    """Return each unique term's weight w(t) = (f(t) + sum of 1/distance) / number of unique terms; {} if empty.

    weighted.txt, TWC-PFM. A fingerprint leaves the division out: it changes no sign.
    """
    unique = {term: index for index, term in enumerate(dict.fromkeys(sequence))}
    if not unique:
        return {}
    ids = np.fromiter((unique[term] for term in sequence), dtype=np.int64, count=len(sequence))
    weights = _proximity_sums(ids, len(unique)) + np.bincount(ids)
    return dict(zip(unique, (weights / len(unique)).tolist(), strict=True))


def _proximity_sums(ids: NDArray[np.int64], unique: int) -> NDArray[np.float64]:
    """Return for each term the sum of 1/(y - x) over the counted pairs of its positions x with others' y.

    A pair counts iff x < y and neither term occurs again between x and y: y lies before the next occurrence of x's
    term, and the previous one of y's lies before x. A chunk of rows x needs as columns y only itself and the first
    occurrence of each term after it, so time grows with length × unique terms; the paper's loop visits unique².
    """
    following, preceding = _neighbours(ids)
    sums = np.zeros(unique)
    first_after = np.full(unique, len(ids))
    for start in range((len(ids) - 1) // _CHUNK * _CHUNK, -1, -_CHUNK):
        x = np.arange(start, min(start + _CHUNK, len(ids)))
        y = np.concatenate([x, first_after[first_after < len(ids)]])
        gap = y - x[:, None]
        counted = (gap > 0) & (y < following[x, None]) & (preceding[y] < x[:, None])
        near = np.divide(1.0, gap, out=np.zeros(gap.shape), where=counted)
        sums += np.bincount(ids[x], weights=near.sum(axis=1), minlength=unique)
        first_after[ids[x[::-1]]] = x[::-1]
    return sums


def _neighbours(ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each position the next and the previous one of the same term; the length and -1 where none is."""
    following, preceding = np.full(len(ids), len(ids)), np.full(len(ids), -1)
    order = np.argsort(ids, kind="stable")
    same = ids[order[1:]] == ids[order[:-1]]
    following[order[:-1][same]] = order[1:][same]
    preceding[order[1:][same]] = order[:-1][same]
    return following, preceding


def distance(a: int, b: int) -> int:
    """Return how many of the 64 bits differ (0 to 64)."""
    return (a ^ b).bit_count()


def digest(text: str) -> int:
    """Return the unsigned 64-bit digest of a text's terms: equal for texts that differ in case, spaces or stop words.

    A text without terms has the digest of nothing; compare texts on a hit.
    """
    return digest_terms(terms(text))


def digest_terms(sequence: Sequence[str]) -> int:
    """Return the digest of a sequence of terms, as `digest` does of its text."""
    return xxh64_intdigest(" ".join(sequence).encode(errors="replace"))

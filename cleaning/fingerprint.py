"""Modified simhash, Hamming distance, digest, and exact search for near fingerprints (Saravanan & Sathya Bama 2020)."""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeVar, get_args

import numpy as np
from xxhash import xxh64_intdigest

from cleaning.terms import terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


if TYPE_CHECKING:
    Floats = NDArray[np.float64]
if TYPE_CHECKING:
    Positions = NDArray[np.int32]

BITS = 64
Weighting = Literal["modified", "plain", "symmetric"]
WEIGHTINGS: tuple[Weighting, ...] = get_args(Weighting)
# Fingerprints are comparable within one scheme only; it names all that a fingerprint depends on.
SCHEMES: dict[Weighting, str] = {
    weighting: f"{weighting}-simhash;xxh64-0;porter-original;stop-english;bigrams;1" for weighting in WEIGHTINGS
}

# A bit whose exact sum is 0 is 0 (a tie). Floats in any order of summation miss an exact 0 by far less than
# this share of the total weight, so the tolerance makes the result independent of that order.
_TIE = 1e-12

# Pairs are summed one by one up to this many positions apart from their chunk of first ones, beyond that by a power
# series. Its ratio is at most half a chunk over half a chunk and the reach, 1/8: 18 powers leave less than 1e-16.
_CHUNK = 256
_REACH = 896
_POWERS = 18


def fingerprint(text: str, *, weighting: Weighting = "modified") -> int:
    """Return the unsigned 64-bit fingerprint of a text; 0 for a text without terms, which is never compared.

    `modified` weighs a term by its proximity to the terms after it (weighted.txt, TWC-PFM, equations 1 to 3),
    `symmetric` to those before it as well, `plain` by its frequency.
    """
    return fingerprint_terms(terms(text), weighting=weighting)


def fingerprint_terms(sequence: Sequence[str], *, weighting: Weighting = "modified") -> int:
    """Return the fingerprint of a sequence of terms, as `fingerprint` does of its text; 0 if it is empty."""
    if not sequence:
        return 0
    unique = _numbered(sequence)
    weights = _weights(sequence, unique, weighting)
    hashes = np.array([_hash(term) for term in unique], dtype="<u8")
    bits = np.unpackbits(hashes.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    # Bit 1 adds the weight, bit 0 subtracts it: the sum is over 0 iff the terms with bit 1 have over half of it.
    half = weights.sum() * (0.5 + _TIE)
    return int(np.packbits(weights @ bits > half, bitorder="little").view("<u8")[0])


def term_weights(sequence: Sequence[str], *, weighting: Weighting = "modified") -> dict[str, float]:
    """Return each unique term's weight w(t) = (f(t) + sum of 1/distance) / number of unique terms; {} if empty.

    weighted.txt, TWC-PFM. A fingerprint leaves the division out: it changes no sign.
    """
    unique = _numbered(sequence)
    if not unique:
        return {}
    return dict(zip(unique, (_weights(sequence, unique, weighting) / len(unique)).tolist(), strict=True))


def _numbered(sequence: Sequence[str]) -> dict[str, int]:
    return {term: number for number, term in enumerate(dict.fromkeys(sequence))}


@lru_cache(maxsize=1 << 16)
def _hash(term: str) -> int:
    return xxh64_intdigest(term.encode(errors="replace"))


def _weights(sequence: Sequence[str], unique: Mapping[str, int], weighting: Weighting) -> Floats:
    """Return f(t) and, but for `plain`, the pair sum of each unique term, in the order of `unique`."""
    shares = np.ones(len(sequence))
    if weighting != "plain":
        following, preceding = _occurrences(sequence)
        shares += _pair_sums(following, preceding)
        if weighting == "symmetric":
            # Read backwards, the same pairs count, each for its other term.
            last = len(sequence) - 1
            shares += _pair_sums(last - preceding[::-1], last - following[::-1])[::-1]
    return np.bincount([unique[term] for term in sequence], weights=shares).astype(np.float64, copy=False)


def _occurrences(sequence: Sequence[str]) -> tuple[Positions, Positions]:
    """Return for each position the next and the previous one of the same term; the length and -1 where none is."""
    following, preceding = [len(sequence)] * len(sequence), [-1] * len(sequence)
    latest: dict[str, int] = {}
    for position, term in enumerate(sequence):
        before = latest.get(term)
        if before is not None:
            following[before], preceding[position] = position, before
        latest[term] = position
    return np.array(following, dtype=np.int32), np.array(preceding, dtype=np.int32)


def _pair_sums(following: Positions, preceding: Positions) -> Floats:
    """Return for each position x the sum of 1/(y - x) over the positions y that are counted with it.

    A pair counts iff x < y and neither term occurs again between x and y: y lies before the next occurrence of x's
    term, and the previous one of y's lies before x. The paper's loop over two position lists counts the same pairs.
    """
    sums = np.empty(len(following))
    for start in range(0, len(following), _CHUNK):
        sums[start : start + _CHUNK] = _near_sums(following, preceding, start)
        if start + _CHUNK + _REACH < len(following):
            sums[start : start + _CHUNK] += _far_sums(following, preceding, start)
    return sums


def _near_sums(following: Positions, preceding: Positions, start: int) -> Floats:
    """Return the sums of a chunk of positions over those y that lie within its reach."""
    y = np.arange(start, min(start + _CHUNK + _REACH, len(following)), dtype=np.int32)
    x = y[:_CHUNK, None]
    counted = (y < following[start : start + _CHUNK, None]) & (preceding[start : start + len(y)] < x)
    sums: Floats = np.einsum("xy,xy->x", _inverse_gaps()[: len(x), : len(y)], counted)
    return sums


@cache
def _inverse_gaps() -> Floats:
    """Return 1/(y - x) for x in a chunk (rows) and y within its reach (columns), 0 for y <= x."""
    gaps = np.arange(_CHUNK + _REACH) - np.arange(_CHUNK)[:, None]
    inverse: Floats = np.divide(1.0, gaps, out=np.zeros(gaps.shape), where=gaps > 0)
    inverse.setflags(write=False)
    return inverse


def _far_sums(following: Positions, preceding: Positions, start: int) -> Floats:
    """Return the sums of a chunk of positions over those y that lie beyond its reach.

    Where y's term stands in the chunk too, pairs are summed one by one. With all other y, the first of their terms
    after the chunk, a position x counts up to the next occurrence of its own term: a prefix of them. With the chunk's
    middle c, 1/(y - x) = sum of (x - c)^k / (y - c)^(k + 1), and prefix sums over y serve all x.
    """
    x, horizon = np.arange(start, start + _CHUNK), start + _CHUNK + _REACH
    before = following[start : start + _CHUNK]
    again = before[(before >= horizon) & (before < len(following))]
    counted = (again < before[:, None]) & (preceding[again] < x[:, None])
    sums: Floats = (counted / (again - x[:, None])).sum(axis=1)
    y = np.flatnonzero(preceding[horizon:] < start) + horizon
    middle = start + (_CHUNK - 1) / 2
    inverse, ends = 1 / (y - middle), np.searchsorted(y, before)
    power, offsets, prefixes = inverse.copy(), np.ones(_CHUNK), np.zeros(len(y) + 1)
    for _ in range(_POWERS):
        np.cumsum(power, out=prefixes[1:])
        sums += offsets * prefixes[ends]
        power *= inverse
        offsets *= x - middle
    return sums


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


Item = TypeVar("Item")


class NearMatch(NamedTuple, Generic[Item]):
    """What was added under a fingerprint near the one asked for, and how many bits lie between them."""

    item: Item
    bits: int


class NearFingerprints(Generic[Item]):
    """Items by fingerprint; exact: none within `max_distance` is missed, none beyond is found.

    A fingerprint is cut into one band more than the bits that may differ, so at least one band of two neighbours is
    the same; only what shares a band is compared.
    """

    def __init__(self, max_distance: int) -> None:
        self._most_bits = max_distance
        bands = max_distance + 1
        edges = [BITS * band // bands for band in range(bands + 1)]
        self._bands = [(low, (1 << high - low) - 1) for low, high in pairwise(edges)]
        self._by_band: dict[tuple[int, int], list[tuple[int, Item]]] = {}

    def nearest(self, fingerprint: int) -> NearMatch[Item] | None:
        """Return the nearest item added so far, None where none is near enough."""
        others = (other for key in self._keys(fingerprint) for other in self._by_band.get(key, ()))
        found = min(((distance(fingerprint, value), item) for value, item in others), key=_bits_of, default=None)
        return None if found is None or found[0] > self._most_bits else NearMatch(found[1], found[0])

    def add(self, fingerprint: int, item: Item) -> None:
        for key in self._keys(fingerprint):
            self._by_band.setdefault(key, []).append((fingerprint, item))

    def _keys(self, fingerprint: int) -> list[tuple[int, int]]:
        return [(low, fingerprint >> low & mask) for low, mask in self._bands]


def _bits_of(found: tuple[int, object]) -> int:
    return found[0]

"""Modified simhash, Hamming distance, digest, and exact search for near fingerprints (Saravanan & Sathya Bama 2020)."""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeVar, get_args

import numpy as np
from xxhash import xxh64_intdigest

from cleaning._native import load_compiled
from cleaning.terms import terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Positions = NDArray[np.int32]

BITS = 64
Weighting = Literal["modified", "plain", "symmetric"]
WEIGHTINGS: tuple[Weighting, ...] = get_args(Weighting)
# Only fingerprints of the same scheme are comparable. Its name lists everything that a fingerprint depends on.
SCHEMES: dict[Weighting, str] = {
    weighting: f"{weighting}-simhash;xxh64-0;porter-original;stop-english;bigrams;1" for weighting in WEIGHTINGS
}
# A bit with an exact sum of 0 is 0 (a tie). In any order of summation, floats miss an exact 0 by far less than this
# share of the total weight, so the tolerance makes the result independent of the order.
_TIE = 1e-12
# Pairs are summed exactly while the second position is within _REACH of the first one's chunk, and by a power series
# beyond it. The ratio of the series is at most (_CHUNK / 2) / (_CHUNK / 2 + _REACH) = 1/8: 18 powers leave under 1e-16.
_CHUNK = 256
_REACH = 896
_POWERS = 18
_LOWER_HALF = (1 << 32) - 1
_RECENT_MIN = 32
Item = TypeVar("Item")


def fingerprint(text: str, *, weighting: Weighting = "modified") -> int:
    """Return the unsigned 64-bit fingerprint of a text; 0 for a text without terms.

    >>> distance(fingerprint("Ferries stayed in port"), fingerprint("The ferries stay in the port!"))
    0

    `modified` weights a term by its proximity to the terms after it (weighted.txt, TWC-PFM, equations 1 to 3),
    `symmetric` also by its proximity to the terms before it, `plain` by its frequency.
    """
    return fingerprint_terms(terms(text), weighting=weighting)


def fingerprint_terms(sequence: Sequence[str], *, weighting: Weighting = "modified") -> int:
    """Return the fingerprint of a sequence of terms; 0 if it is empty."""
    module = load_compiled("words")
    if module is None or len(sequence) > module.MAX_SEQUENCE:
        return pure_fingerprint_terms(sequence, weighting=weighting)
    return module.fingerprint_terms(sequence, weighting)  # type: ignore[no-any-return]  # words.pyi says int


def pure_fingerprint_terms(sequence: Sequence[str], *, weighting: Weighting) -> int:
    """Return the fingerprint of a sequence of any length without the compiled core. It defines the fingerprint."""
    if not sequence:
        return 0
    unique = _numbered(sequence)
    weights = _weights(sequence, unique, weighting)
    hashes = np.array([_hash(term) for term in unique], dtype="<u8")
    bits = np.unpackbits(hashes.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    # Bit 1 adds the weight, bit 0 subtracts it: the sum is above 0 iff the terms with bit 1 have over half the weight.
    half = weights.sum() * (0.5 + _TIE)
    return int(np.packbits(weights @ bits > half, bitorder="little").view("<u8")[0])


def digest(text: str) -> int:
    """Return the unsigned 64-bit digest of a text's terms; case, spaces and stop words make no difference.

    >>> digest("The  ferry") == digest("a FERRY")
    True

    A text without terms has the digest of its characters. Compare the terms, or the texts, if digests are equal.
    """
    return text_digest(text, terms(text))


def text_digest(text: str, sequence: Sequence[str]) -> int:
    """Return the digest of a text that has this sequence of terms.

    A text without terms has a digest of its characters: the lower half hashes them, the upper half is that of no terms.
    """
    if sequence:
        return digest_terms(sequence)
    return _NO_TERMS & ~_LOWER_HALF | xxh64_intdigest(text.encode(errors="replace")) & _LOWER_HALF


def has_terms(digest: int) -> bool:
    """Return False for the digest of a text without terms, such as "* * *" or "It wasn't."."""
    return (digest ^ _NO_TERMS) > _LOWER_HALF


def digest_terms(sequence: Sequence[str]) -> int:
    """Return the unsigned 64-bit digest of a sequence of terms."""
    return xxh64_intdigest(" ".join(sequence).encode(errors="replace"))


_NO_TERMS = digest_terms(())


def distance(a: int, b: int) -> int:
    """Return the number of differing bits (0 to 64)."""
    return (a ^ b).bit_count()


class NearMatch(NamedTuple, Generic[Item]):
    """An item with a near fingerprint, and the number of differing bits."""

    item: Item
    bits: int


class NearFingerprints(Generic[Item]):
    """An in-memory index of items by fingerprint that finds exactly the items within `max_distance`.

    A fingerprint is split into `max_distance` + 1 bands, so two near fingerprints share at least one band. Only
    fingerprints that share a band are compared.
    """

    def __init__(self, max_distance: int) -> None:
        self._max_distance = max_distance
        bands = max_distance + 1
        edges = [BITS * band // bands for band in range(bands + 1)]
        self._bands = [(low, (1 << high - low) - 1) for low, high in pairwise(edges)]
        self._by_band: dict[tuple[int, int], _Bucket[Item]] = {}

    def nearest(self, fingerprint: int) -> NearMatch[Item] | None:
        """Return the nearest item added so far; None if no item is within `max_distance`."""
        buckets = (self._by_band[key] for key in self._keys(fingerprint) if key in self._by_band)
        nearest = min((bucket.nearest(fingerprint) for bucket in buckets), key=_bits_of, default=None)
        return None if nearest is None or nearest.bits > self._max_distance else nearest

    def matches(self, fingerprint: int) -> list[NearMatch[Item]]:
        """Return all items within `max_distance`, each once."""
        buckets = (self._by_band[key] for key in self._keys(fingerprint) if key in self._by_band)
        return list(
            {
                id(near.item): near for bucket in buckets for near in bucket.within(fingerprint, self._max_distance)
            }.values()
        )

    def add(self, fingerprint: int, item: Item) -> None:
        for key in self._keys(fingerprint):
            if key not in self._by_band:
                self._by_band[key] = _Bucket()
            self._by_band[key].add(fingerprint, item)

    def _keys(self, fingerprint: int) -> list[tuple[int, int]]:
        return [(low, fingerprint >> low & mask) for low, mask in self._bands]


class _Bucket(Generic[Item]):
    """The items whose fingerprints are equal in a band.

    A page of 10 MB can have 80,000 blocks in one bucket. All but the last few are compared by numpy, at a nanosecond
    each, which takes seconds for such a page, not half an hour.
    """

    def __init__(self) -> None:
        self._packed = np.empty(0, np.uint64)
        self._recent: list[int] = []
        self._items: list[Item] = []

    def add(self, fingerprint: int, item: Item) -> None:
        self._items.append(item)
        self._recent.append(fingerprint)
        # Packed anew at each growth by an eighth: each fingerprint is copied a few times in all.
        if len(self._recent) > _RECENT_MIN + len(self._packed) // 8:
            self._packed = np.concatenate((self._packed, np.array(self._recent, np.uint64)))
            self._recent.clear()

    def nearest(self, fingerprint: int) -> NearMatch[Item]:
        """Return the first of the nearest items."""
        numbers = [(distance(fingerprint, value), len(self._packed) + n) for n, value in enumerate(self._recent)]
        if len(self._packed):
            bits = np.bitwise_count(self._packed ^ np.uint64(fingerprint))
            number = int(bits.argmin())
            numbers.append((int(bits[number]), number))
        least, number = min(numbers)
        return NearMatch(self._items[number], least)

    def within(self, fingerprint: int, max_distance: int) -> Iterator[NearMatch[Item]]:
        """Yield the items within a distance."""
        bits = np.bitwise_count(self._packed ^ np.uint64(fingerprint))
        for number in np.flatnonzero(bits <= max_distance).tolist():
            yield NearMatch(self._items[number], int(bits[number]))
        for number, value in enumerate(self._recent, len(self._packed)):
            if (differing := distance(fingerprint, value)) <= max_distance:
                yield NearMatch(self._items[number], differing)


def _bits_of(match: NearMatch[Item]) -> int:
    return match.bits


def _numbered(sequence: Sequence[str]) -> dict[str, int]:
    return {term: number for number, term in enumerate(dict.fromkeys(sequence))}


@lru_cache(maxsize=1 << 16)
def _hash(term: str) -> int:
    return xxh64_intdigest(term.encode(errors="replace"))


def _weights(sequence: Sequence[str], unique: Mapping[str, int], weighting: Weighting) -> Floats:
    """Return f(t) of each unique term, plus its pair sum unless the weighting is `plain`, in the order of `unique`."""
    shares = np.ones(len(sequence))
    if weighting != "plain":
        following, preceding = _occurrences(sequence)
        shares += _pair_sums(following, preceding)
        if weighting == "symmetric":
            # Backwards, the same pairs count for their other term.
            last = len(sequence) - 1
            shares += _pair_sums(last - preceding[::-1], last - following[::-1])[::-1]
    return np.bincount([unique[term] for term in sequence], weights=shares).astype(np.float64, copy=False)


def _occurrences(sequence: Sequence[str]) -> tuple[Positions, Positions]:
    """Return for each position the next and the previous position of its term; the length and -1 if there is none."""
    following, preceding = [len(sequence)] * len(sequence), [-1] * len(sequence)
    latest: dict[str, int] = {}
    for position, term in enumerate(sequence):
        before = latest.get(term)
        if before is not None:
            following[before], preceding[position] = position, before
        latest[term] = position
    return np.array(following, dtype=np.int32), np.array(preceding, dtype=np.int32)


def _pair_sums(following: Positions, preceding: Positions) -> Floats:
    """Return for each position x the sum of 1/(y - x) over the positions y that it is paired with.

    A pair counts iff x < y and neither term occurs again between x and y: y is before the next occurrence of x's term,
    and the previous occurrence of y's term is before x. The paper's loop over two position lists counts the same pairs.
    """
    sums = np.empty(len(following))
    for start in range(0, len(following), _CHUNK):
        sums[start : start + _CHUNK] = _near_sums(following, preceding, start)
        if start + _CHUNK + _REACH < len(following):
            sums[start : start + _CHUNK] += _far_sums(following, preceding, start)
    return sums


def _near_sums(following: Positions, preceding: Positions, start: int) -> Floats:
    """Return the sums for a chunk of positions over the y within its reach."""
    y = np.arange(start, min(start + _CHUNK + _REACH, len(following)), dtype=np.int32)
    x = y[:_CHUNK, None]
    counted = (y < following[start : start + _CHUNK, None]) & (preceding[start : start + len(y)] < x)
    sums: Floats = np.einsum("xy,xy->x", _inverse_gaps()[: len(x), : len(y)], counted)
    return sums


@cache
def _inverse_gaps() -> Floats:
    """Return 1/(y - x) for x in a chunk (rows) and y within its reach (columns); 0 for y <= x."""
    gaps = np.arange(_CHUNK + _REACH) - np.arange(_CHUNK)[:, None]
    inverse: Floats = np.divide(1.0, gaps, out=np.zeros(gaps.shape), where=gaps > 0)
    inverse.setflags(write=False)
    return inverse


def _far_sums(following: Positions, preceding: Positions, start: int) -> Floats:
    """Return the sums for a chunk of positions over the y beyond its reach.

    If y's term also occurs in the chunk, its pairs are summed one by one. The other y are the first occurrences of
    their terms after the chunk; a position x is paired with those before the next occurrence of its own term, a prefix
    of them. With the chunk's middle c, 1/(y - x) = sum of (x - c)^k / (y - c)^(k + 1): prefix sums over y serve all x.
    """
    x, horizon = np.arange(start, start + _CHUNK), start + _CHUNK + _REACH
    before = following[start : start + _CHUNK]
    again = before[(before >= horizon) & (before < len(following))]
    counted = (again < before[:, None]) & (preceding[again] < x[:, None])
    sums: Floats = (counted / (again - x[:, None])).sum(axis=1)
    y = np.flatnonzero(preceding[horizon:] < start) + horizon
    middle = start + (_CHUNK - 1) / 2
    inverse, ends = 1 / (y - middle), np.searchsorted(y, before)
    power = inverse.copy()
    offsets = np.ones(_CHUNK)
    prefixes = np.zeros(len(y) + 1)
    for _ in range(_POWERS):
        np.cumsum(power, out=prefixes[1:])
        sums += offsets * prefixes[ends]
        power *= inverse
        offsets *= x - middle
    return sums

"""All pairs of 64-bit fingerprints that differ in at most a few bits, exactly, by bands of bits.

Two fingerprints that differ in at most three bits are equal in at least one of four bands. So only fingerprints with an
equal band are compared. Where many have the same band, their other bits are cut into bands again: that makes the work
small however the fingerprints are distributed, without a choice of the band's width.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

Fingerprints = Any
"""An array of unsigned 64-bit numbers."""

BANDS = 4
"""Number of bands: one more than the largest number of differing bits."""

BAND_BITS = 16
# Fingerprints with the same band are compared directly up to this number. Measured on 10^6 random and skewed ones.
_DIRECT_MAX = 256
# The number of pairs that are compared at a time.
_PAIRS_AT_ONCE = 1 << 21


class NearPairs(NamedTuple):
    """Pairs of places in an array of fingerprints, with the number of bits in which the two differ.

    `compared` is the number of pairs that were compared to find them.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    bits: NDArray[np.int8]
    compared: int


def band_of(fingerprints: Fingerprints, band: int) -> Any:
    """Return a band of each fingerprint; band 0 has the lowest bits."""
    return (fingerprints >> np.uint64(BAND_BITS * band)) & np.uint64((1 << BAND_BITS) - 1)


def near_pairs(fingerprints: Fingerprints, max_distance: int) -> NearPairs:
    """Return all pairs among different fingerprints that differ in at most `max_distance` bits (0 to 3), each once."""
    return _joined(_pairs(fingerprints, np.arange(len(fingerprints)), max_distance))


def near_pairs_of_band(fingerprints: Fingerprints, band: int, max_distance: int) -> NearPairs:
    """Return the near pairs whose lowest equal band is this one: over all bands, each pair once."""
    masks = [np.uint64(((1 << BAND_BITS) - 1) << (BAND_BITS * number)) for number in range(band + 1)]
    return _joined(_pairs_of_band(fingerprints, np.arange(len(fingerprints)), masks, max_distance))


def _pairs(fingerprints: Fingerprints, places: NDArray[np.int64], max_distance: int) -> Iterator[NearPairs]:
    """Yield the near pairs among some places."""
    if len(places) <= _DIRECT_MAX:
        yield from _compare_all(fingerprints, places, max_distance)
        return
    masks = _cut(fingerprints[places])
    for number in range(BANDS):
        yield from _pairs_of_band(fingerprints, places, masks[: number + 1], max_distance)


def _cut(fingerprints: Fingerprints) -> list[np.uint64]:
    """Return four bands of nearly as many bits, as masks. Bits in which all are equal say nothing and are left out."""
    varying = int(np.bitwise_or.reduce(fingerprints ^ fingerprints[0]))
    bits = [bit for bit in range(BANDS * BAND_BITS) if varying >> bit & 1]
    ends = [len(bits) * number // BANDS for number in range(BANDS + 1)]
    return [np.uint64(sum(1 << bit for bit in bits[start:end])) for start, end in pairwise(ends)]


def _pairs_of_band(
    fingerprints: Fingerprints, places: NDArray[np.int64], masks: list[np.uint64], max_distance: int
) -> Iterator[NearPairs]:
    """Yield the near pairs among some places that are equal in the last of the bands, and in none before it."""
    *lower, mask = masks
    values = fingerprints[places] & mask
    order = np.argsort(values, kind="stable")
    ordered, values = places[order], values[order]
    begins = np.ones(len(values), bool)
    begins[1:] = values[1:] != values[:-1]
    starts = np.flatnonzero(begins)
    sizes = np.diff(np.append(starts, len(values)))
    small = sizes <= _DIRECT_MAX
    for pairs in _compare_neighbours(fingerprints, ordered, sizes, max_distance):
        yield _without_equal(fingerprints, pairs, lower)
    for start, size in zip(starts[~small].tolist(), sizes[~small].tolist(), strict=True):
        for pairs in _pairs(fingerprints, ordered[start : start + size], max_distance):
            yield _without_equal(fingerprints, pairs, lower)


def _compare_neighbours(
    fingerprints: Fingerprints, places: NDArray[np.int64], sizes: NDArray[np.int64], max_distance: int
) -> Iterator[NearPairs]:
    """Yield the near pairs within groups of neighbouring places; large groups are left out."""
    following = np.repeat(np.cumsum(sizes), sizes) - np.arange(len(places))  # in the group, with the place itself
    following = np.where(np.repeat(sizes, sizes) <= _DIRECT_MAX, following, 1)
    active = np.flatnonzero(following > 1)
    gap = 1
    while len(active):
        for start in range(0, len(active), _PAIRS_AT_ONCE):
            batch = active[start : start + _PAIRS_AT_ONCE]
            yield _near(fingerprints, places[batch], places[batch + gap], max_distance)
        gap += 1
        active = active[following[active] > gap]


def _compare_all(fingerprints: Fingerprints, places: NDArray[np.int64], max_distance: int) -> Iterator[NearPairs]:
    rows = max(1, _PAIRS_AT_ONCE // max(1, len(places)))
    for start in range(0, len(places), rows):
        first, second = np.triu_indices(min(rows, len(places) - start), 1, len(places) - start)
        if len(first):
            yield _near(fingerprints, places[start + first], places[start + second], max_distance)


def _near(
    fingerprints: Fingerprints, first: NDArray[np.int64], second: NDArray[np.int64], max_distance: int
) -> NearPairs:
    bits = np.bitwise_count(fingerprints[first] ^ fingerprints[second])
    near = bits <= max_distance
    return NearPairs(first[near], second[near], bits[near].astype(np.int8), len(first))


def _without_equal(fingerprints: Fingerprints, pairs: NearPairs, masks: list[np.uint64]) -> NearPairs:
    """Return the pairs that differ in all of these bands: the other pairs were found by an equal band."""
    differing = fingerprints[pairs.first] ^ fingerprints[pairs.second]
    kept = np.ones(len(differing), bool)
    for mask in masks:
        kept &= differing & mask != 0
    return NearPairs(pairs.first[kept], pairs.second[kept], pairs.bits[kept], pairs.compared)


def _joined(parts: Iterator[NearPairs]) -> NearPairs:
    columns = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int8))]
    compared = 0
    for pairs in parts:
        compared += pairs.compared
        if len(pairs.first):
            columns.append((pairs.first, pairs.second, pairs.bits))
    first, second, bits = (np.concatenate(column) for column in zip(*columns, strict=True))
    return NearPairs(first, second, bits, compared)

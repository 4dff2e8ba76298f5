"""All pairs of fingerprints within a few bits: exactly, without a database."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Fingerprints = NDArray[np.uint64]
    Indices = NDArray[np.int64]

_ALL = (1 << 64) - 1
# A larger group of equal bands is split by its other bits; smaller ones are compared pair by pair. A million
# fingerprints in groups of just this size take under a minute.
_LARGEST_GROUP = 1_000


@dataclass(frozen=True, slots=True)
class _Group:
    """Fingerprints, by their indices, that are equal in all but the `free` bits.

    Pairs of them count only if they differ in each of the `unequal` masks: those equal there are found elsewhere.
    """

    members: Indices
    free: int
    unequal: tuple[int, ...]


def near_pairs(fingerprints: Fingerprints, most_bits: int) -> Iterator[Indices]:
    """Give the pairs of indices (smaller, larger) of fingerprints within `most_bits`, once each, in two columns.

    The fingerprints must be distinct. Two within 3 bits are equal in one of any four bands: so each band in turn sorts
    them into groups, and those within a group are compared. Groups that are too large, where many texts share a band,
    are split in the same way by the bits that are left. Memory grows with the number of fingerprints and, an array
    at a time, pairs.
    """
    waiting = [_Group(np.arange(len(fingerprints)), _ALL, ())]
    while waiting:
        group = waiting.pop()
        bands = _bands(group.free, most_bits + 1)
        for number, band in enumerate(bands):
            unequal = (*group.unequal, *bands[:number])
            members = group.members[np.argsort(fingerprints[group.members] & np.uint64(band), kind="stable")]
            starts = _starts(fingerprints[members] & np.uint64(band))
            sizes = np.diff(starts, append=len(members))
            splits = sizes > _LARGEST_GROUP if group.free ^ band else np.zeros(len(sizes), dtype=bool)
            for start, size in zip(starts[splits], sizes[splits], strict=True):
                part = members[start : start + size]
                if _can_differ(fingerprints[part], unequal):
                    waiting.append(_Group(part, group.free ^ band, unequal))
            left = np.repeat(~splits, sizes)
            ends = np.repeat(starts + sizes, sizes)[left] - np.flatnonzero(left) + np.arange(left.sum())
            yield from _compared(fingerprints, members[left], ends, _Test(most_bits, unequal))


@dataclass(frozen=True, slots=True)
class _Test:
    most_bits: int
    unequal: tuple[int, ...]

    def passed(self, one: Fingerprints, other: Fingerprints) -> NDArray[np.bool_]:
        differing = one ^ other
        near: NDArray[np.bool_] = np.bitwise_count(differing) <= self.most_bits
        for mask in self.unequal:
            near &= differing & np.uint64(mask) != 0
        return near


def _compared(fingerprints: Fingerprints, members: Indices, ends: Indices, test: _Test) -> Iterator[Indices]:
    """Give the pairs within groups that stand one after the other; `ends` says for each member where its group ends."""
    values = fingerprints[members]
    first = np.arange(len(members))
    step = 1
    while len(first := first[first + step < ends[first]]):
        near = first[test.passed(values[first], values[first + step])]
        if len(near):
            yield np.sort(np.column_stack((members[near], members[near + step])), axis=1)
        step += 1


def _can_differ(values: Fingerprints, masks: tuple[int, ...]) -> bool:
    """Tell whether there is a difference between the values under each mask: without, no pair can have them all."""
    differing = int(np.bitwise_or.reduce(values ^ values[0]))
    return all(differing & mask for mask in masks)


def _bands(free: int, number: int) -> list[int]:
    """Return masks that share the free bits out, as evenly as they can be; some are 0 where there are too few."""
    bits = [1 << bit for bit in range(64) if free >> bit & 1]
    cuts = [len(bits) * part // number for part in range(number + 1)]
    return [sum(bits[start:end]) for start, end in pairwise(cuts)]


def _starts(keys: Fingerprints) -> Indices:
    """Return where runs of equal keys begin."""
    if not len(keys):
        return np.empty(0, np.int64)
    return np.concatenate(([0], np.flatnonzero(keys[1:] != keys[:-1]) + 1))

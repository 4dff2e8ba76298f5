"""Fingerprints found again within some bits, without comparing each with all."""

from __future__ import annotations

from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

from cleaning.fingerprint import BITS, distance

Item = TypeVar("Item")


class Near(NamedTuple, Generic[Item]):
    """What was added under a fingerprint near the one asked for, and how many bits lie between them."""

    item: Item
    bits: int


class Neighbours(Generic[Item]):
    """Items by fingerprint; exact: none within `most_bits` is missed, none beyond is found.

    A fingerprint is cut into one band more than the bits that may differ, so at least one band of two neighbours is
    the same; only what shares a band is compared.
    """

    def __init__(self, most_bits: int) -> None:
        self._most_bits = most_bits
        bands = most_bits + 1
        edges = [BITS * band // bands for band in range(bands + 1)]
        self._bands = [(low, (1 << high - low) - 1) for low, high in pairwise(edges)]
        self._by_band: dict[tuple[int, int], list[tuple[int, Item]]] = {}

    def nearest(self, fingerprint: int) -> Near[Item] | None:
        """Return the nearest item added so far, None where none is near enough."""
        others = (other for key in self._keys(fingerprint) for other in self._by_band.get(key, ()))
        found = min(((distance(fingerprint, value), item) for value, item in others), key=_bits, default=None)
        return None if found is None or found[0] > self._most_bits else Near(found[1], found[0])

    def add(self, fingerprint: int, item: Item) -> None:
        for key in self._keys(fingerprint):
            self._by_band.setdefault(key, []).append((fingerprint, item))

    def _keys(self, fingerprint: int) -> list[tuple[int, int]]:
        return [(low, fingerprint >> low & mask) for low, mask in self._bands]


def _bits(found: tuple[int, object]) -> int:
    return found[0]

"""Which stored blocks repeat which: the store's rules over all blocks at once, without a database."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crawler.storage.join import near_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

# What blocks must have in common to be compared, by DEDUP_SCOPE.
_COMMON: dict[str, Callable[[Standing], object]] = {
    "all": lambda _: None,
    "site": lambda one: one.site,
    "page": lambda one: one.page_id,
}


@dataclass(frozen=True, slots=True)
class Standing:
    """A stored block, as far as it matters for what it may repeat."""

    block_id: int
    page_id: int
    site: str
    gone: bool


@dataclass(frozen=True, slots=True)
class Repeat:
    """A block that duplicates one stored before it."""

    block_id: int
    original_id: int


class Neighbours:
    """The blocks that share a fingerprint with others or have one within `most_bits`, and how near they are."""

    def __init__(self, fingerprints: NDArray[np.uint64], block_ids: NDArray[np.int64], most_bits: int) -> None:
        distinct, numbers, counts = np.unique(fingerprints, return_inverse=True, return_counts=True)
        pairs = list(near_pairs(distinct, most_bits))
        joined = np.concatenate(pairs) if pairs else np.empty((0, 2), np.int64)
        concerned = counts > 1
        concerned[joined.ravel()] = True
        chosen = concerned[numbers]
        order = np.argsort(block_ids[chosen])
        self.block_ids: list[int] = block_ids[chosen][order].tolist()
        self._number_of = dict(zip(self.block_ids, numbers[chosen][order].tolist(), strict=True))
        self._near = _near(joined, np.bitwise_count(distinct[joined[:, 0]] ^ distinct[joined[:, 1]]))

    def repeats(self, blocks: Iterable[Standing], scope: str) -> Iterator[Repeat]:
        """Give the blocks that repeat one before them, of blocks in the order of their ids.

        The first one stored stays; a later one repeats the nearest of those that stay, and of several as near the
        first. A page does not repeat what it said before: two blocks of one page count only while both are on it.
        """
        staying: dict[tuple[int, object], list[Standing]] = defaultdict(list)
        common = _COMMON[scope]
        for one in blocks:
            number, shared = self._number_of[one.block_id], common(one)
            options = [
                (bits, other.block_id)
                for near, bits in [(number, 0), *self._near.get(number, ())]
                for other in staying.get((near, shared), ())
                if other.page_id != one.page_id or not (other.gone or one.gone)
            ]
            if options:
                yield Repeat(one.block_id, min(options)[1])
            else:
                staying[number, shared].append(one)


def _near(pairs: NDArray[np.int64], bits: NDArray[np.uint8]) -> dict[int, list[tuple[int, int]]]:
    near: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (one, other), between in zip(pairs.tolist(), bits.tolist(), strict=True):
        near[one].append((other, between))
        near[other].append((one, between))
    return near

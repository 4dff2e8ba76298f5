"""A scan's columns summed up: what lies inside each element, which elements are around each block, which look alike."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cleaning.blocks import Kind
from cleaning.learned.looks import read_looks
from cleaning.scan import Count

if TYPE_CHECKING:
    from cleaning.learned.looks import Looks
    from cleaning.scan import Scan

LEVELS = 7  # elements around a block whose contents are looked at, the innermost first
CHAIN = 14  # those whose tags and words are
_PROSE_CHARS = 80  # outside links: a text of more is prose


class Counted:
    """The sums over a scan that has blocks, of its n blocks or m elements; the dearer ones are made at first use."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.size = len(scan.blocks)
        counts = scan.counts.T.astype(np.float64)
        self.words, self.chars, self.links = counts[Count.WORDS], counts[Count.CHARS], counts[Count.LINK_CHARS]
        self.ends = counts[Count.ENDS]
        self.counts = counts
        self.unlinked = self.chars - self.links
        self.prose = self.unlinked > _PROSE_CHARS
        self.prose_chars = np.where(self.prose, self.unlinked, 0.0)
        self.all_chars = self.chars.sum()
        self.all_prose = max(1.0, self.prose_chars.sum())
        self.places = np.arange(self.size)
        self.parent = np.maximum(scan.parent, 0)
        self.texts = [block.text for block in scan.blocks]

    def inside(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the blocks' values inside each element."""
        sums = running(values)
        found: np.ndarray = sums[self.scan.last] - sums[self.scan.first]
        return found

    @cached_property
    def chain(self) -> np.ndarray:
        """The numbers of the elements around each block (CHAIN x n), innermost first; the outermost repeats."""
        levels = [self.scan.node]
        for _ in range(CHAIN - 1):
            levels.append(self.parent[levels[-1]])
        return np.stack(levels)

    @cached_property
    def looks(self) -> Looks:
        """Which elements and blocks look alike, and how deep they are."""
        return read_looks(self.scan)

    @cached_property
    def real(self) -> np.ndarray:
        """Which entries of `chain` are no repetitions of the outermost element."""
        real: np.ndarray = np.arange(CHAIN)[:, None] <= self.looks.depth[self.scan.node]
        return real

    @cached_property
    def kinds(self) -> list[Kind]:
        return [block.kind for block in self.scan.blocks]

    @cached_property
    def headings(self) -> np.ndarray:
        return np.array([kind is Kind.HEADING for kind in self.kinds])

    @cached_property
    def first_h1(self) -> int:
        """The first block directly in an h1; -1 where there is none."""
        h1s = {number for number, tag in enumerate(self.scan.tags) if tag == "h1"}
        return next((place for place, number in enumerate(self.scan.node.tolist()) if number in h1s), -1) if h1s else -1

    @cached_property
    def repeated(self) -> np.ndarray:
        """How often each block's text stands on the page."""
        times = Counter(self.texts)
        return np.array([times[text] for text in self.texts], np.float64)


def running(values: np.ndarray) -> np.ndarray:
    """Return the sums of the values before each place and after the last: one entry more than there are values."""
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums

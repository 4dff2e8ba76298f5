"""The block tree of VCE: elements that look like their parent share its block (vce.txt, 2.1)."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from operator import ne
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from cleaning.features import BLOCK_TAGS
from cleaning.layout import Box
from cleaning.segments import texts
from cleaning.strip import NEVER_CONTENT
from cleaning.terms import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lxml.html import HtmlElement

    from cleaning.features import Leaf

# What shows through a page that has no background of its own, as browsers write the colour.
_CANVAS = "rgb(255, 255, 255)"
# The root is a block whatever the browser says of it; one that it does not have is compared as this.
_NOWHERE = Box(0, 0, 0, 0, 0.0)


class Look(NamedTuple):
    """The six visual properties that are compared; `background` is the colour that is seen."""

    width: int
    height: int
    font_size: float
    background: str
    top: int
    left: int


@dataclass(frozen=True, slots=True)
class Area:
    """A block before any text is counted: where it stands in the tree and on the page.

    `root` is the element that begins it, `parent` the place of its parent's block in reading order (None for the
    first), `distance` how many of the six visual properties differ from those of `root`'s parent. `font_size` is the
    mean over the block's elements, `repetitions` counts child blocks whose pattern a sibling before them has.
    """

    root: HtmlElement
    parent: int | None
    distance: int
    look: Look
    font_size: float
    repetitions: int


@dataclass(frozen=True, slots=True)
class Outline:
    """The blocks of a page in reading order, parents before their children, and the block of each visible element."""

    areas: tuple[Area, ...]
    block_of: dict[HtmlElement, int]


@dataclass(frozen=True, slots=True)
class VisualBlock:
    """A block with its text and link text in characters, those that child blocks added among them.

    `added` tells whether it adds its own to its parent's.
    """

    area: Area
    text_length: int
    link_length: int
    added: bool

    @property
    def link_density(self) -> float:
        return self.link_length / self.text_length if self.text_length else 0.0

    @property
    def bottom(self) -> int:
        return self.area.look.top + self.area.look.height

    @property
    def numerator(self) -> float:
        """What speaks for the block: characters, pixels and pixels of font size, as the paper adds them."""
        return self.text_length + self.area.look.width + self.area.font_size + self.bottom

    @property
    def denominator(self) -> float:
        return self.link_density + self.area.repetitions * self.area.look.top

    @property
    def factor(self) -> float:
        """The factor value (vce.txt, FindMainBlock; METHODS restores its brackets); infinite where nothing divides."""
        return self.numerator / self.denominator if self.denominator else math.inf


def outline(start: HtmlElement, boxes: Mapping[HtmlElement, Box], threshold: int) -> Outline:
    """Return the blocks of the tree below `start`, which roots the first: elements of distance > threshold root one.

    Inline elements never do (2.1.1 of the paper wants links to stay with the text around them). An element without
    a box or not shown, one that never holds content, and all inside them are in no block.
    """
    drawing = _Drawing(start, boxes)
    for element in start.iter(etree.Element):
        outer = element.getparent()
        if element is not start and outer in drawing.block_of and _is_valid(element, boxes):
            drawing.add(element, outer, boxes[element], threshold)
    return drawing.finish()


def measure(outlined: Outline, leaves: Iterable[Leaf], most_links: float) -> list[VisualBlock]:
    """Return the blocks with their text; one whose link density is at most `most_links` adds its own to its parent."""
    lengths, linked = _immediate(outlined, leaves)
    found: list[VisualBlock] = []
    # Children come after their parents: backwards, a block is complete when it is reached.
    for place in range(len(outlined.areas) - 1, -1, -1):
        block = VisualBlock(outlined.areas[place], lengths[place], linked[place], added=False)
        parent = block.area.parent
        if parent is not None and block.link_density <= most_links:
            block = VisualBlock(block.area, block.text_length, block.link_length, added=True)
            lengths[parent] += block.text_length
            linked[parent] += block.link_length
        found.append(block)
    found.reverse()
    return found


class _Drawing:
    """An outline in the making: DetectBlock and PatternVerifier, one element after the other."""

    def __init__(self, start: HtmlElement, boxes: Mapping[HtmlElement, Box]) -> None:
        look = _look(boxes.get(start, _NOWHERE), _background_behind(start, boxes))
        self.block_of = {start: 0}
        self._looks = {start: look}
        self._roots = [start]
        self._distances = [0]
        self._fonts = [look.font_size]
        self._elements = [1]

    def add(self, element: HtmlElement, outer: HtmlElement, box: Box, threshold: int) -> None:
        behind = self._looks[outer]
        look = self._looks[element] = _look(box, behind.background)
        distance = sum(map(ne, look, behind))
        if distance > threshold and element.tag in BLOCK_TAGS:
            self.block_of[element] = len(self._roots)
            self._roots.append(element)
            self._distances.append(distance)
            self._fonts.append(0.0)
            self._elements.append(0)
        else:
            self.block_of[element] = self.block_of[outer]
        block = self.block_of[element]
        self._fonts[block] += look.font_size
        self._elements[block] += 1

    def finish(self) -> Outline:
        parents = [None, *(self.block_of[root.getparent()] for root in self._roots[1:])]
        repetitions = self._count_repetitions(parents)
        areas = (
            Area(root, parent, distance, self._looks[root], fonts / elements, repeated)
            for root, parent, distance, fonts, elements, repeated in zip(
                self._roots, parents, self._distances, self._fonts, self._elements, repetitions, strict=True
            )
        )
        return Outline(tuple(areas), self.block_of)

    def _count_repetitions(self, parents: Sequence[int | None]) -> list[int]:
        """Return for each block how often the pattern of a child block repeats that of a sibling before it.

        The pattern of a block is the tags of its child blocks; one without them has none, else every row of
        paragraphs would be repetitive. Siblings are children of one element: the paper's cache is new for each.
        """
        patterns: defaultdict[int | None, list[str]] = defaultdict(list)
        for root, parent in zip(self._roots, parents, strict=True):
            patterns[parent].append(root.tag)
        cache: set[tuple[HtmlElement, tuple[str, ...]]] = set()
        counts = [0] * len(parents)
        for place, (root, parent) in enumerate(zip(self._roots, parents, strict=True)):
            if parent is not None and place in patterns:
                pattern = (root.getparent(), tuple(patterns[place]))
                counts[parent] += pattern in cache
                cache.add(pattern)
        return counts


def _immediate(outlined: Outline, leaves: Iterable[Leaf]) -> tuple[list[int], list[int]]:
    """Return the characters of each block's own text, and those of them inside links; white space runs count one."""
    lengths, linked = [0] * len(outlined.areas), [0] * len(outlined.areas)
    for piece, _ in texts(leaves):
        place = outlined.block_of.get(piece.element)
        if place is not None:
            characters = len(normalise(piece.text))
            lengths[place] += characters
            linked[place] += characters if piece.link is not None else 0
    return lengths, linked


def _is_valid(element: HtmlElement, boxes: Mapping[HtmlElement, Box]) -> bool:
    box = boxes.get(element)
    return box is not None and box.shown and element.tag not in NEVER_CONTENT


def _look(box: Box, behind: str) -> Look:
    return Look(box.width, box.height, box.font_size, box.background or behind, box.top, box.left)


def _background_behind(start: HtmlElement, boxes: Mapping[HtmlElement, Box]) -> str:
    around = (boxes[outer].background for outer in start.iterancestors() if outer in boxes)
    return next(filter(None, around), _CANVAS)

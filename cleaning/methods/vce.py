"""VCE: of the blocks that a reader sees, the one with the highest factor value (Sivakumar & Parvathi, vce.txt)."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from math import fsum, isclose, isfinite
from operator import ne
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from cleaning.blocks import Decision, Reason
from cleaning.errors import LayoutError
from cleaning.layout import Box
from cleaning.leaves import BLOCK_TAGS, NEVER_CONTENT, body_of, walk
from cleaning.segments import leaf_pieces, split_leaves
from cleaning.terms import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Page
    from cleaning.leaves import Leaf
    from cleaning.options import Options


# What shows through a page that has no background of its own, as browsers write the colour.
_CANVAS_COLOUR = "rgb(255, 255, 255)"
# The root is a block whatever the browser says of it; one that it does not have is compared as this.
_NO_BOX = Box(0, 0, 0, 0, 0.0)


class VisualProperties(NamedTuple):
    """The six visual properties that are compared; `background` is the colour that is seen."""

    width: int
    height: int
    font_size: float
    background: str
    top: int
    left: int


@dataclass(frozen=True, slots=True)
class BlockArea:
    """A block before any text is counted: where it stands in the tree and on the page.

    `root` is the element that begins it, `parent` the place of its parent's block in reading order (None for the
    first), `distance` how many of the six visual properties differ from those of `root`'s parent. `font_size` is the
    mean over the block's elements, `repetitions` counts child blocks whose pattern a sibling before them has.
    """

    root: HtmlElement
    parent: int | None
    distance: int
    look: VisualProperties
    font_size: float
    repetitions: int


@dataclass(frozen=True, slots=True)
class BlockTree:
    """The blocks of a page in reading order, parents before their children, and the block of each visible element."""

    areas: tuple[BlockArea, ...]
    block_of: dict[HtmlElement, int]


@dataclass(frozen=True, slots=True)
class VisualBlock:
    """A block with its text and link text in characters, those that child blocks added among them.

    `added` tells whether it adds its own to its parent's.
    """

    area: BlockArea
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


def build_block_tree(start: HtmlElement, boxes: Mapping[HtmlElement, Box], threshold: int) -> BlockTree:
    """Return the blocks of the tree below `start`, which roots the first: elements of distance > threshold root one.

    Inline elements never do (2.1.1 of the paper wants links to stay with the text around them). An element without
    a box or not shown, one that never holds content, and all inside them are in no block.
    """
    drawing = _BlockTreeBuilder(start, boxes)
    for element in start.iter(etree.Element):
        outer = element.getparent()
        if element is not start and outer in drawing.block_of and _is_visible(element, boxes):
            drawing.add(element, outer, boxes[element], threshold)
    return drawing.finish()


def measure_blocks(outlined: BlockTree, leaves: Iterable[Leaf], most_links: float) -> list[VisualBlock]:
    """Return the blocks with their text; one whose link density is at most `most_links` adds its own to its parent."""
    lengths, linked = _own_lengths(outlined, leaves)
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


class _BlockTreeBuilder:
    """An outline in the making: DetectBlock and PatternVerifier, one element after the other."""

    def __init__(self, start: HtmlElement, boxes: Mapping[HtmlElement, Box]) -> None:
        look = _visual_properties(boxes.get(start, _NO_BOX), _background_behind(start, boxes))
        self.block_of = {start: 0}
        self._looks = {start: look}
        self._roots = [start]
        self._distances = [0]
        self._fonts = [look.font_size]
        self._elements = [1]

    def add(self, element: HtmlElement, outer: HtmlElement, box: Box, threshold: int) -> None:
        behind = self._looks[outer]
        look = self._looks[element] = _visual_properties(box, behind.background)
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

    def finish(self) -> BlockTree:
        parents = [None, *(self.block_of[root.getparent()] for root in self._roots[1:])]
        repetitions = self._count_repetitions(parents)
        areas = (
            BlockArea(root, parent, distance, self._looks[root], fonts / elements, repeated)
            for root, parent, distance, fonts, elements, repeated in zip(
                self._roots, parents, self._distances, self._fonts, self._elements, repetitions, strict=True
            )
        )
        return BlockTree(tuple(areas), self.block_of)

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


def _own_lengths(outlined: BlockTree, leaves: Iterable[Leaf]) -> tuple[list[int], list[int]]:
    """Return the characters of each block's own text, and those of them inside links; white space runs count one."""
    lengths, linked = [0] * len(outlined.areas), [0] * len(outlined.areas)
    for piece, _ in leaf_pieces(leaves):
        place = outlined.block_of.get(piece.element)
        if place is not None:
            characters = len(normalise(piece.text))
            lengths[place] += characters
            linked[place] += characters if piece.link is not None else 0
    return lengths, linked


def _is_visible(element: HtmlElement, boxes: Mapping[HtmlElement, Box]) -> bool:
    box = boxes.get(element)
    return box is not None and box.shown and element.tag not in NEVER_CONTENT


def _visual_properties(box: Box, behind: str) -> VisualProperties:
    return VisualProperties(box.width, box.height, box.font_size, box.background or behind, box.top, box.left)


def _background_behind(start: HtmlElement, boxes: Mapping[HtmlElement, Box]) -> str:
    around = (boxes[outer].background for outer in start.iterancestors() if outer in boxes)
    return next(filter(None, around), _CANVAS_COLOUR)


def segment(page: Page, options: Options) -> list[Leaf]:
    """Return the walk's leaves, cut where the visual block changes; what is not shown is dropped as HIDDEN.

    Raises LayoutError for a layout of another page.
    """
    block_of = _block_tree_of(page, options).block_of
    parts = split_leaves(walk(page.root), lambda piece: block_of.get(piece.element))
    return [replace(leaf, dropped=Reason.HIDDEN) if mark is None else leaf for leaf, mark in parts]


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:
    """Return the factor value of each leaf's visual block, its numerator where that is infinite; 0 for a hidden leaf.

    Texts beyond `max_blocks` are in no block's length.
    """
    outlined = _block_tree_of(page, options)
    blocks = measure_blocks(outlined, leaves, options.vce_link_density)
    return [0.0 if leaf.dropped else _finite_factor(blocks[_block_number(leaf, outlined)]) for leaf in leaves]


def decide(
    page: Page,
    leaves: Sequence[Leaf],
    scores: Sequence[float],
    options: Options,
) -> list[Decision]:
    """Keep the text of the main block: that of its own elements and of the child blocks that added theirs to it."""
    outlined = _block_tree_of(page, options)
    blocks = measure_blocks(outlined, leaves, options.vce_link_density)
    reasons = _block_reasons(blocks, find_main_block(blocks, find_means(blocks).allow))
    return [
        Decision(leaf.block, found, leaf.dropped or reasons[_block_number(leaf, outlined)])
        for leaf, found in zip(leaves, scores, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class BlockMeans:
    """The paper's general parameters: means over all blocks but the root; 0 where there is no other."""

    text_length: float
    link_density: float
    width: float
    height: float

    def allow(self, block: VisualBlock) -> bool:
        """Tell whether a block's general properties are "ok": as much text and area as the mean, no more links."""
        look, density = block.area.look, block.link_density
        few_links = density <= self.link_density or isclose(density, self.link_density)  # the mean is rounded
        enough = block.text_length >= self.text_length and look.width >= self.width and look.height >= self.height
        return enough and few_links


def find_means(blocks: Sequence[VisualBlock]) -> BlockMeans:
    """Return the general parameters of the blocks, of which the first is the root."""
    others, count = blocks[1:], max(1, len(blocks) - 1)
    return BlockMeans(
        sum(block.text_length for block in others) / count,
        fsum(block.link_density for block in others) / count,
        sum(block.area.look.width for block in others) / count,
        sum(block.area.look.height for block in others) / count,
    )


def find_main_block(blocks: Sequence[VisualBlock], allow: Callable[[VisualBlock], bool]) -> int | None:
    """Return the place of the candidate with the highest factor value, the first in a tie; None without candidates.

    Depth first, children before their parents; the root is never a candidate. Of infinite values the one with the
    larger numerator is higher.
    """
    main: int | None = None
    for place in _depth_first(blocks):
        if allow(blocks[place]) and (main is None or _block_rank(blocks[place]) > _block_rank(blocks[main])):
            main = place
    return main


def _depth_first(blocks: Sequence[VisualBlock]) -> list[int]:
    """Return the places of all blocks but the root, children before their parents."""
    open_places: list[int] = []
    found: list[int] = []
    for place, block in enumerate(blocks[1:], 1):
        while open_places and open_places[-1] != block.area.parent:
            found.append(open_places.pop())
        open_places.append(place)
    return found + open_places[::-1]


def _block_rank(block: VisualBlock) -> tuple[float, float]:
    return block.factor, 0.0 if isfinite(block.factor) else block.numerator


def _block_reasons(blocks: Sequence[VisualBlock], main: int | None) -> list[Reason]:
    """Return each block's reason; parents come before their children."""
    if main is None:
        return [Reason.NO_MAIN] * len(blocks)
    reasons: list[Reason] = []
    for place, block in enumerate(blocks):
        parent = block.area.parent
        reason = Reason.OUTSIDE if parent is None else reasons[parent]
        if place == main:
            reason = Reason.KEPT
        elif reason is Reason.KEPT and not block.added:
            reason = Reason.LINKS
        reasons.append(reason)
    return reasons


def _block_tree_of(page: Page, options: Options) -> BlockTree:
    if page.layout is None:
        raise LayoutError("the page has no layout")
    return build_block_tree(body_of(page.root), page.layout.match(page.root), options.vce_threshold)


def _block_number(leaf: Leaf, outlined: BlockTree) -> int:
    return outlined.block_of[leaf.pieces[0].element]


def _finite_factor(block: VisualBlock) -> float:
    """Return the factor value, or a number in its place that JSON and databases can hold."""
    return block.factor if isfinite(block.factor) else block.numerator

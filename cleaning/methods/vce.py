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

# The colour behind a page without a background of its own, as browsers write it.
_CANVAS_COLOUR = "rgb(255, 255, 255)"
# The root is always a block; this is its box if the browser has none for it.
_NO_BOX = Box(0, 0, 0, 0, 0.0)


def segment(page: Page, options: Options) -> list[Leaf]:
    """Return the walk's leaves, cut where the visual block changes; invisible text is dropped as HIDDEN.

    Raises LayoutError for a layout of another page.
    """
    block_of = _block_tree_of(page, options).block_of
    parts = split_leaves(walk(page.root), lambda piece: block_of.get(piece.element))
    return [replace(leaf, dropped=Reason.HIDDEN) if mark is None else leaf for leaf, mark in parts]


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:
    """Return the factor value of each leaf's visual block, or its numerator if that is infinite; 0 for a hidden leaf.

    Texts beyond `max_blocks` do not count in any block's length.
    """
    tree = _block_tree_of(page, options)
    blocks = _measure_blocks(tree, leaves, options.vce_link_density)
    return [0.0 if leaf.dropped else _finite_factor(blocks[_block_number(leaf, tree)]) for leaf in leaves]


def decide(
    page: Page,
    leaves: Sequence[Leaf],
    scores: Sequence[float],
    options: Options,
) -> list[Decision]:
    """Keep the text of the main block: of its own elements, and of the child blocks that add theirs to it."""
    tree = _block_tree_of(page, options)
    blocks = _measure_blocks(tree, leaves, options.vce_link_density)
    reasons = _block_reasons(blocks, _find_main_block(blocks, _find_means(blocks).allow))
    return [
        Decision(leaf.block, score, leaf.dropped or reasons[_block_number(leaf, tree)])
        for leaf, score in zip(leaves, scores, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class BlockMeans:
    """The paper's general parameters: means over all blocks but the root; 0 without other blocks."""

    text_length: float
    link_density: float
    width: float
    height: float

    def allow(self, block: VisualBlock) -> bool:
        """Return True for a block with at least the mean text and area, and at most the mean link density ("ok")."""
        visual, density = block.area.visual, block.link_density
        few_links = density <= self.link_density or isclose(density, self.link_density)  # the mean is a rounded float
        enough = block.text_length >= self.text_length and visual.width >= self.width and visual.height >= self.height
        return enough and few_links


def _find_means(blocks: Sequence[VisualBlock]) -> BlockMeans:
    """Return the general parameters of the blocks; the first block is the root."""
    others, count = blocks[1:], max(1, len(blocks) - 1)
    return BlockMeans(
        sum(block.text_length for block in others) / count,
        fsum(block.link_density for block in others) / count,
        sum(block.area.visual.width for block in others) / count,
        sum(block.area.visual.height for block in others) / count,
    )


def _find_main_block(blocks: Sequence[VisualBlock], allow: Callable[[VisualBlock], bool]) -> int | None:
    """Return the index of the candidate with the highest factor value, the first of equal ones; None if there is none.

    The order is depth first, children before their parents. The root is never a candidate. Of infinite values the one
    with the larger numerator is higher.
    """
    main: int | None = None
    for index in _depth_first(blocks):
        if allow(blocks[index]) and (main is None or _block_rank(blocks[index]) > _block_rank(blocks[main])):
            main = index
    return main


def _depth_first(blocks: Sequence[VisualBlock]) -> list[int]:
    """Return the indexes of all blocks but the root, children before their parents."""
    open_blocks: list[int] = []
    indexes: list[int] = []
    for index, block in enumerate(blocks[1:], 1):
        while open_blocks and open_blocks[-1] != block.area.parent:
            indexes.append(open_blocks.pop())
        open_blocks.append(index)
    return indexes + open_blocks[::-1]


def _block_rank(block: VisualBlock) -> tuple[float, float]:
    return block.factor, 0.0 if isfinite(block.factor) else block.numerator


def _block_reasons(blocks: Sequence[VisualBlock], main: int | None) -> list[Reason]:
    """Return each block's reason; parents must come before their children."""
    if main is None:
        return [Reason.NO_MAIN] * len(blocks)
    reasons: list[Reason] = []
    for index, block in enumerate(blocks):
        parent = block.area.parent
        reason = Reason.OUTSIDE if parent is None else reasons[parent]
        if index == main:
            reason = Reason.KEPT
        elif reason is Reason.KEPT and not block.added:
            reason = Reason.LINKS
        reasons.append(reason)
    return reasons


def _block_tree_of(page: Page, options: Options) -> BlockTree:
    if page.layout is None:
        raise LayoutError("the page has no layout")
    return _build_block_tree(body_of(page.root), page.layout.match(page.root), options.vce_threshold)


def _block_number(leaf: Leaf, tree: BlockTree) -> int:
    return tree.block_of[leaf.pieces[0].element]


def _finite_factor(block: VisualBlock) -> float:
    """Return the factor value, or for an infinite one the numerator: JSON and databases need a finite number."""
    return block.factor if isfinite(block.factor) else block.numerator


class VisualProperties(NamedTuple):
    """The six visual properties that are compared; `background` is the visible colour."""

    width: int
    height: int
    font_size: float
    background: str
    top: int
    left: int


@dataclass(frozen=True, slots=True)
class BlockArea:
    """A block's place in the tree and on the page, before its text is counted.

    `root` is the element that begins it. `parent` is the index of the parent block in reading order, None for the
    first block. `distance` counts the visual properties (of six) that differ from those of `root`'s parent. `font_size`
    is the mean over the block's elements. `repetitions` counts child blocks with the pattern of an earlier sibling.
    """

    root: HtmlElement
    parent: int | None
    distance: int
    visual: VisualProperties
    font_size: float
    repetitions: int


@dataclass(frozen=True, slots=True)
class BlockTree:
    """The blocks of a page in reading order, parents before children, and the index of each visible element's block."""

    areas: tuple[BlockArea, ...]
    block_of: dict[HtmlElement, int]


@dataclass(frozen=True, slots=True)
class VisualBlock:
    """A block with its text and link text in characters, including the text that child blocks add.

    `added` is True if the block adds its text to its parent.
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
        return self.area.visual.top + self.area.visual.height

    @property
    def numerator(self) -> float:
        """The sum of characters, pixels and pixels of font size, as the paper adds them."""
        return self.text_length + self.area.visual.width + self.area.font_size + self.bottom

    @property
    def denominator(self) -> float:
        return self.link_density + self.area.repetitions * self.area.visual.top

    @property
    def factor(self) -> float:
        """The factor value (vce.txt, FindMainBlock, its brackets restored); infinite for a denominator of 0."""
        return self.numerator / self.denominator if self.denominator else math.inf


def _build_block_tree(start: HtmlElement, boxes: Mapping[HtmlElement, Box], threshold: int) -> BlockTree:
    """Return the blocks of the tree below `start`: elements with a distance above the threshold begin a block.

    `start` begins the first block. Inline elements begin none: links stay with the text around them (2.1.1). An element
    without a visible box, one that never holds content, and all elements inside them are in no block.
    """
    drawing = _BlockTreeBuilder(start, boxes)
    for element in start.iter(etree.Element):
        outer = element.getparent()
        if element is not start and outer in drawing.block_of and _is_visible(element, boxes):
            drawing.add(element, outer, boxes[element], threshold)
    return drawing.finish()


def _measure_blocks(tree: BlockTree, leaves: Iterable[Leaf], max_links: float) -> list[VisualBlock]:
    """Return the blocks with their text; a block with a link density up to `max_links` adds its text to its parent."""
    lengths, linked = _own_lengths(tree, leaves)
    measured: list[VisualBlock] = []
    # Children come after their parents, so in reverse order each block is complete when it is reached.
    for index in range(len(tree.areas) - 1, -1, -1):
        block = VisualBlock(tree.areas[index], lengths[index], linked[index], added=False)
        parent = block.area.parent
        if parent is not None and block.link_density <= max_links:
            block = VisualBlock(block.area, block.text_length, block.link_length, added=True)
            lengths[parent] += block.text_length
            linked[parent] += block.link_length
        measured.append(block)
    measured.reverse()
    return measured


class _BlockTreeBuilder:
    """Builds a block tree element by element: the paper's DetectBlock and PatternVerifier."""

    def __init__(self, start: HtmlElement, boxes: Mapping[HtmlElement, Box]) -> None:
        visual = _visual_properties(boxes.get(start, _NO_BOX), _background_behind(start, boxes))
        self.block_of = {start: 0}
        self._visuals = {start: visual}
        self._roots = [start]
        self._distances = [0]
        self._fonts = [visual.font_size]
        self._elements = [1]

    def add(self, element: HtmlElement, outer: HtmlElement, box: Box, threshold: int) -> None:
        behind = self._visuals[outer]
        visual = self._visuals[element] = _visual_properties(box, behind.background)
        distance = sum(map(ne, visual, behind))
        if distance > threshold and element.tag in BLOCK_TAGS:
            self.block_of[element] = len(self._roots)
            self._roots.append(element)
            self._distances.append(distance)
            self._fonts.append(0.0)
            self._elements.append(0)
        else:
            self.block_of[element] = self.block_of[outer]
        block = self.block_of[element]
        self._fonts[block] += visual.font_size
        self._elements[block] += 1

    def finish(self) -> BlockTree:
        parents = [None, *(self.block_of[root.getparent()] for root in self._roots[1:])]
        repetitions = self._count_repetitions(parents)
        areas = (
            BlockArea(root, parent, distance, self._visuals[root], fonts / elements, repeated)
            for root, parent, distance, fonts, elements, repeated in zip(
                self._roots, parents, self._distances, self._fonts, self._elements, repetitions, strict=True
            )
        )
        return BlockTree(tuple(areas), self.block_of)

    def _count_repetitions(self, parents: Sequence[int | None]) -> list[int]:
        """Return for each block how many of its child blocks repeat the pattern of an earlier sibling.

        A block's pattern is the tags of its child blocks. A block without child blocks has no pattern: otherwise every
        list of paragraphs would be repetitive. Siblings are children of one element: the paper clears its cache for
        each element.
        """
        patterns: defaultdict[int | None, list[str]] = defaultdict(list)
        for root, parent in zip(self._roots, parents, strict=True):
            patterns[parent].append(root.tag)
        cache: set[tuple[HtmlElement, tuple[str, ...]]] = set()
        counts = [0] * len(parents)
        for index, (root, parent) in enumerate(zip(self._roots, parents, strict=True)):
            if parent is not None and index in patterns:
                pattern = (root.getparent(), tuple(patterns[index]))
                counts[parent] += pattern in cache
                cache.add(pattern)
        return counts


def _own_lengths(tree: BlockTree, leaves: Iterable[Leaf]) -> tuple[list[int], list[int]]:
    """Return the lengths of each block's own text and link text in characters; a run of white space counts as one."""
    lengths, linked = [0] * len(tree.areas), [0] * len(tree.areas)
    for piece, _ in leaf_pieces(leaves):
        index = tree.block_of.get(piece.element)
        if index is not None:
            characters = len(normalise(piece.text))
            lengths[index] += characters
            linked[index] += characters if piece.link is not None else 0
    return lengths, linked


def _is_visible(element: HtmlElement, boxes: Mapping[HtmlElement, Box]) -> bool:
    box = boxes.get(element)
    return box is not None and box.visible and element.tag not in NEVER_CONTENT


def _visual_properties(box: Box, behind: str) -> VisualProperties:
    return VisualProperties(box.width, box.height, box.font_size, box.background or behind, box.top, box.left)


def _background_behind(start: HtmlElement, boxes: Mapping[HtmlElement, Box]) -> str:
    around = (boxes[outer].background for outer in start.iterancestors() if outer in boxes)
    return next(filter(None, around), _CANVAS_COLOUR)

"""VCE: of the blocks that a reader sees, the one with the highest factor value (Sivakumar & Parvathi, vce.txt)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum, isclose, isfinite
from typing import TYPE_CHECKING

from cleaning.blocks import Decision, Reason
from cleaning.blocktree import measure, outline
from cleaning.errors import LayoutError
from cleaning.features import body_of, walk
from cleaning.segments import split

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cleaning.blocks import Page
    from cleaning.blocktree import Outline, VisualBlock
    from cleaning.features import Leaf
    from cleaning.options import Options


def segment(page: Page, options: Options) -> list[Leaf]:
    """Return the walk's leaves, cut where the visual block changes; what is not shown is dropped as HIDDEN.

    Raises LayoutError for a layout of another page.
    """
    block_of = _outline(page, options).block_of
    parts = split(walk(page.root), lambda piece: block_of.get(piece.element))
    return [replace(leaf, dropped=Reason.HIDDEN) if mark is None else leaf for leaf, mark in parts]


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:
    """Return the factor value of each leaf's visual block, its numerator where that is infinite; 0 for a hidden leaf.

    Texts beyond `max_blocks` are in no block's length.
    """
    outlined = _outline(page, options)
    blocks = measure(outlined, leaves, options.vce_link_density)
    return [0.0 if leaf.dropped else _finite(blocks[_place(leaf, outlined)]) for leaf in leaves]


def decide(
    page: Page,
    leaves: Sequence[Leaf],
    scores: Sequence[float],
    options: Options,
) -> list[Decision]:
    """Keep the text of the main block: that of its own elements and of the child blocks that added theirs to it."""
    outlined = _outline(page, options)
    blocks = measure(outlined, leaves, options.vce_link_density)
    reasons = _reasons(blocks, find_main(blocks, find_means(blocks).allow))
    return [
        Decision(leaf.block, found, leaf.dropped or reasons[_place(leaf, outlined)])
        for leaf, found in zip(leaves, scores, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Means:
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


def find_means(blocks: Sequence[VisualBlock]) -> Means:
    """Return the general parameters of the blocks, of which the first is the root."""
    others, count = blocks[1:], max(1, len(blocks) - 1)
    return Means(
        sum(block.text_length for block in others) / count,
        fsum(block.link_density for block in others) / count,
        sum(block.area.look.width for block in others) / count,
        sum(block.area.look.height for block in others) / count,
    )


def find_main(blocks: Sequence[VisualBlock], allow: Callable[[VisualBlock], bool]) -> int | None:
    """Return the place of the candidate with the highest factor value, the first in a tie; None without candidates.

    Depth first, children before their parents; the root is never a candidate. Of infinite values the one with the
    larger numerator is higher.
    """
    main: int | None = None
    for place in _depth_first(blocks):
        if allow(blocks[place]) and (main is None or _rank(blocks[place]) > _rank(blocks[main])):
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


def _rank(block: VisualBlock) -> tuple[float, float]:
    return block.factor, 0.0 if isfinite(block.factor) else block.numerator


def _reasons(blocks: Sequence[VisualBlock], main: int | None) -> list[Reason]:
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


def _outline(page: Page, options: Options) -> Outline:
    if page.layout is None:
        raise LayoutError("the page has no layout")
    return outline(body_of(page.root), page.layout.match(page.root), options.vce_threshold)


def _place(leaf: Leaf, outlined: Outline) -> int:
    return outlined.block_of[leaf.pieces[0].element]


def _finite(block: VisualBlock) -> float:
    """Return the factor value, or a number in its place that JSON and databases can hold."""
    return block.factor if isfinite(block.factor) else block.numerator

"""FE: the block most probably having text (Debnath, Mitra, Pal & Giles 2005, as vce.txt describes it)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

from cleaning.blocks import Decision, Reason
from cleaning.features import body_of, walk
from cleaning.segments import regroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Page
    from cleaning.features import Leaf
    from cleaning.options import Options

_BLOCKS = frozenset({"table", "tr", "p", "hr", "ul"})
# What a block has beside text, each element counted once: links, images, controls, embedded objects, programs.
_FEATURES = frozenset(
    "a applet audio button canvas embed iframe img input map object script select style svg textarea video".split()
)


def segment(page: Page, options: Options) -> list[Leaf]:  # noqa: ARG001 — as every method
    """Return the page's tables, rows, paragraphs, rules and lists; the text of an inner block is not its outer's."""
    return regroup(walk(page.root), page.root, _begins, nested=True)


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — as every method
    """Return each block's probability of having text: words outside links / (these + other features), 0 to 1."""
    others = _count_features(page.root)
    return [_probability(leaf, others.get(leaf.node.element, 0)) for leaf in leaves]


def decide(
    page: Page,  # noqa: ARG001 — as every method
    leaves: Sequence[Leaf],
    scores: Sequence[float],
    options: Options,  # noqa: ARG001 — as every method
) -> list[Decision]:
    """Keep the block of the highest probability: of equal ones the longest, of equally long ones the first.

    No block is kept where none has text outside links.
    """
    best = max(range(len(leaves)), key=lambda place: (scores[place], len(leaves[place].block.text)))
    kept = best if scores[best] > 0 else None
    return [
        Decision(leaf.block, found, leaf.dropped or (Reason.KEPT if place == kept else Reason.LOW_SCORE))
        for place, (leaf, found) in enumerate(zip(leaves, scores, strict=True))
    ]


def _begins(element: HtmlElement) -> bool:
    return element.tag in _BLOCKS


def _count_features(root: HtmlElement) -> dict[HtmlElement, int]:
    """Return how many features other than text each block has of its own, by the block's element."""
    counts: dict[HtmlElement, int] = {}
    block_of: dict[HtmlElement, HtmlElement | None] = {}
    start = body_of(root)
    for element in start.iter(etree.Element):
        inside = None if element is start else block_of.get(element.getparent())
        block = block_of[element] = element if _begins(element) else inside
        if block is not None and element.tag in _FEATURES:
            counts[block] = counts.get(block, 0) + 1
    return counts


def _probability(leaf: Leaf, others: int) -> float:
    if leaf.dropped:
        return 0.0
    words = leaf.block.words - leaf.block.link_words
    return words / (words + others) if words else 0.0

"""ECON: the main text has more punctuation than what is around it.

Y. Guo, H. Tang, L. Song, Y. Wang, G. Ding, *ECON: An Approach to Extract Content from Web News Page*, APWeb 2010. Built
from a recalled outline; the paper is not among our sources (see cleaning/README.md).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from cleaning.blocks import Decision, Reason
from cleaning.leaves import enclosing_nodes, walk
from cleaning.terms import count_marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cleaning.blocks import Page
    from cleaning.leaves import Leaf, Node
    from cleaning.options import Options


def segment(page: Page, options: Options) -> list[Leaf]:  # noqa: ARG001 — as every method
    return walk(page.root)


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — as every method
    """Return how many punctuation marks each leaf has."""
    return [float(count_marks(leaf.block.text)) for leaf in leaves]


def decide(
    page: Page,  # noqa: ARG001 — as every method
    leaves: Sequence[Leaf],
    scores: Sequence[float],
    options: Options,
) -> list[Decision]:
    """Keep the parts of the summary node that have punctuation; a page without any has no summary node."""
    tree = _Tree(leaves, scores)
    return [
        Decision(leaf.block, marks, tree.judge(leaf, marks, options.econ_min_marks))
        for leaf, marks in zip(leaves, scores, strict=True)
    ]


class _Tree:
    """The punctuation marks of each element, and the summary node.

    `_part_of` gives for an element inside the summary node the part that it belongs to: the outermost element around
    it that is not on the way from the snippet node up to the summary node; None for those on that way.
    """

    def __init__(self, leaves: Sequence[Leaf], scores: Sequence[float]) -> None:
        nodes = enclosing_nodes(leaves)
        self._marks = dict.fromkeys(nodes, 0.0)
        for leaf, marks in zip(leaves, scores, strict=True):
            self._marks[leaf.node] += marks
        for node in reversed(nodes):
            if node.parent is not None:
                self._marks[node.parent] += self._marks[node]
        self._part_of: dict[Node, Node | None] = dict.fromkeys(self._climb(leaves, scores))
        for node in nodes:
            if node.parent in self._part_of and node not in self._part_of:
                self._part_of[node] = self._part_of[node.parent] or node

    def _climb(self, leaves: Sequence[Leaf], scores: Sequence[float]) -> list[Node]:
        """Return the elements from the snippet node, where the text with most marks stands, to the summary node."""
        best = max(range(len(leaves)), key=lambda place: scores[place])
        if not scores[best]:
            return []
        way = [leaves[best].node]
        for node, parent in pairwise(way[0].chain()):
            if self._marks[parent] <= self._marks[node]:
                break
            way.append(parent)
        return way

    def judge(self, leaf: Leaf, marks: float, least: int) -> Reason:
        if leaf.node not in self._part_of:
            return Reason.OUTSIDE
        part = self._part_of[leaf.node]
        found = marks if part is None else self._marks[part]
        return Reason.KEPT if found >= least else Reason.PUNCTUATION

"""ECON: the main text has more punctuation than its surroundings.

Y. Guo, H. Tang, L. Song, Y. Wang, G. Ding, *ECON: An Approach to Extract Content from Web News Page*, APWeb 2010. Built
from a recalled outline: the paper is not among our sources (see cleaning/README.md).
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


def segment(page: Page, options: Options) -> list[Leaf]:  # noqa: ARG001 — all methods share this signature
    return walk(page.root)


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — all methods share this signature
    """Return the number of punctuation marks of each leaf."""
    return [float(count_marks(leaf.block.text)) for leaf in leaves]


def decide(
    page: Page,  # noqa: ARG001 — all methods share this signature
    leaves: Sequence[Leaf],
    scores: Sequence[float],
    options: Options,
) -> list[Decision]:
    """Keep the parts of the summary node that have punctuation; a page without punctuation has no summary node."""
    tree = _Tree(leaves, scores)
    return [
        Decision(leaf.block, marks, tree.reason_of(leaf, marks, options.econ_min_marks))
        for leaf, marks in zip(leaves, scores, strict=True)
    ]


class _Tree:
    """The punctuation marks of each element, and the summary node.

    `_part_of` maps each element inside the summary node to its part: the outermost element around it that is not on
    the path from the snippet node up to the summary node. Elements on that path map to None.
    """

    def __init__(self, leaves: Sequence[Leaf], scores: Sequence[float]) -> None:
        nodes = enclosing_nodes(leaves)
        self._marks = dict.fromkeys(nodes, 0.0)
        for leaf, marks in zip(leaves, scores, strict=True):
            self._marks[leaf.node] += marks
        for node in reversed(nodes):
            if node.parent is not None:
                self._marks[node.parent] += self._marks[node]
        self._part_of: dict[Node, Node | None] = dict.fromkeys(self._path_to_summary(leaves, scores))
        for node in nodes:
            if node.parent in self._part_of and node not in self._part_of:
                self._part_of[node] = self._part_of[node.parent] or node

    def _path_to_summary(self, leaves: Sequence[Leaf], scores: Sequence[float]) -> list[Node]:
        """Return the elements from the snippet node, which holds the text with most marks, up to the summary node."""
        best = max(range(len(leaves)), key=lambda index: scores[index])
        if not scores[best]:
            return []
        path = [leaves[best].node]
        for node, parent in pairwise(path[0].chain()):
            if self._marks[parent] <= self._marks[node]:
                break
            path.append(parent)
        return path

    def reason_of(self, leaf: Leaf, marks: float, least: int) -> Reason:
        if leaf.node not in self._part_of:
            return Reason.OUTSIDE
        part = self._part_of[leaf.node]
        part_marks = marks if part is None else self._marks[part]
        return Reason.KEPT if part_marks >= least else Reason.PUNCTUATION

"""CoreEx: the node whose children have much text and few links.

J. Prasad, A. Paepcke, *CoreEx: Content Extraction from Online News Articles*, CIKM 2008. Its formulas are
recalled from memory: the paper is not among our sources (see cleaning/README.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lxml import etree

from cleaning.blocks import Reason
from cleaning.leaves import NEVER_CONTENT, Leaf, body_of, walk
from cleaning.segments import leaf_pieces, split_leaves
from cleaning.terms import count_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Page
    from cleaning.leaves import Piece
    from cleaning.options import Options


def segment(page: Page, options: Options) -> list[Leaf]:
    """Return the walk's leaves, cut where the output of the best node begins and ends; the rest is dropped."""
    leaves = walk(page.root)
    tree = _Tree(page, leaves, options)
    reasons = tree.reasons()
    parts = split_leaves(leaves, lambda piece: reasons[tree.nodes[piece.element]])
    return [leaf if mark is Reason.KEPT else replace(leaf, dropped=Reason(str(mark))) for leaf, mark in parts]


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:
    """Return the best node's score (0 to 1) for each leaf of its output, 0 for the others."""
    best = _Tree(page, leaves, options).score
    return [0.0 if leaf.dropped else best for leaf in leaves]


@dataclass(slots=True, eq=False)
class _Node:
    """An element with the counts of text and links of itself and of its set S; complete once the tree is summed."""

    parent: _Node | None
    is_link: bool
    in_set: bool = False
    text: int = 0
    links: int = 0
    set_text: int = 0
    set_links: int = 0


class _Tree:
    """The nodes of a page by element, and the best node with its score; an element inside a link maps to the link.

    `best` is None and the score 0 if every set S is empty.
    """

    def __init__(self, page: Page, leaves: Iterable[Leaf], options: Options) -> None:
        pieces = [text.piece for text in leaf_pieces(leaves)]
        self.nodes = _nodes(body_of(page.root), pieces)
        self._ordered = list(dict.fromkeys(self.nodes.values()))
        self._sum(pieces, options.coreex_link_ratio)
        self.best: _Node | None = None
        self.score = 0.0
        for node in self._ordered:
            score = self._score(node, options.coreex_weight)
            if score > self.score:
                self.best, self.score = node, score

    def _sum(self, pieces: Iterable[Piece], ratio: float) -> None:
        for piece in pieces:
            node = self.nodes[piece.element]
            if not node.is_link:
                words = count_words(piece.text)
                node.text += words
                node.set_text += words if ratio < 1 else 0  # its own text counts as a child with ratio 1
        for node in reversed(self._ordered):
            if node.is_link:
                node.text = node.links = 1
            if node.parent is not None:
                node.in_set = node.text > 0 and (node.text - node.links) / node.text > ratio
                _add(node, node.parent)

    def _score(self, node: _Node, weight: float) -> float:
        if not node.set_text:
            return 0.0
        unlinked = (node.set_text - node.set_links) / node.set_text
        return weight * unlinked + (1 - weight) * node.set_text / self._ordered[0].text

    def reasons(self) -> dict[_Node, Reason]:
        """Return for each node the reason of a text that is in it and in no node inside it."""
        reasons: dict[_Node | None, Reason] = {None: Reason.OUTSIDE}
        for node in self._ordered:
            if node is self.best:
                reasons[node] = Reason.KEPT
            elif node.parent is self.best and self.best is not None:
                reasons[node] = Reason.KEPT if node.in_set else Reason.LINKS
            else:
                reasons[node] = reasons[node.parent]
        return {node: reason for node, reason in reasons.items() if node is not None}


def _nodes(start: HtmlElement, pieces: Iterable[Piece]) -> dict[HtmlElement, _Node]:
    """Return the nodes in document order, without the elements that the walk skips."""
    nodes = {start: _Node(None, is_link=_is_link(start))}
    walked = _around(pieces)
    for element in start.iterdescendants(etree.Element):
        parent = nodes.get(element.getparent())
        if parent is not None and (element.tag not in NEVER_CONTENT or element in walked):
            nodes[element] = parent if parent.is_link else _Node(parent, is_link=_is_link(element))
    return nodes


def _around(pieces: Iterable[Piece]) -> set[HtmlElement]:
    """Return the elements around the texts; on some pages the walk enters `noscript`."""
    around: set[HtmlElement] = set()
    for piece in pieces:
        element = piece.element
        while element is not None and element not in around:
            around.add(element)
            element = element.getparent()
    return around


def _is_link(element: HtmlElement) -> bool:
    return element.tag == "a" and element.get("href") is not None


def _add(node: _Node, parent: _Node) -> None:
    parent.text += node.text
    parent.links += node.links
    if node.in_set:
        parent.set_text += node.text
        parent.set_links += node.links

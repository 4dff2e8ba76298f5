"""Satisfiable sub-trees: a long text with few links around it marks the main block (Qi & Sun, subtree.txt)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from cleaning.blocks import Reason
from cleaning.leaves import body_of, walk
from cleaning.segments import leaf_pieces, split_leaves

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Page
    from cleaning.leaves import Leaf, Piece
    from cleaning.options import Options


class TextLengths(NamedTuple):
    """Characters in a sub-tree (section 3.2): in all its text nodes, and in its text nodes inside links."""

    text: int  # SL_text
    anchor: int  # SL_anchor


def segment(page: Page, options: Options) -> list[Leaf]:
    """Return the walk's leaves, cut where a maximal satisfiable sub-tree begins or ends; the rest is OUTSIDE."""
    leaves = walk(page.root)
    start = body_of(page.root)
    inside = _find_maximal(start, _find_satisfiable(start, [text.piece for text in leaf_pieces(leaves)], options))
    parts = split_leaves(leaves, lambda piece: inside.get(piece.element))
    return [replace(leaf, dropped=Reason.OUTSIDE) if root is None else leaf for leaf, root in parts]


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — all methods share this signature
    """Return the share (0 to 1) of each kept block's characters outside links, 0.0 for the others.

    A low score within a kept sub-tree is noise that the method cannot tell from the text around it (section 4).
    """
    return [0.0 if leaf.dropped else _unlinked_share(leaf) for leaf in leaves]


def _measure_lengths(start: HtmlElement, pieces: Iterable[Piece]) -> dict[HtmlElement, TextLengths]:
    """Return SL_text and SL_anchor of the sub-tree of `start` and of every element inside it."""
    text: dict[HtmlElement, int] = {}
    anchor: dict[HtmlElement, int] = {}
    for piece in pieces:
        length = _length(piece)
        text[piece.element] = text.get(piece.element, 0) + length
        if piece.link is not None:
            anchor[piece.element] = anchor.get(piece.element, 0) + length
    # In reverse document order each element is complete before its parent: one pass, however deep the page.
    elements = list(start.iter(etree.Element))
    for element in reversed(elements[1:]):
        parent = element.getparent()
        text[parent] = text.get(parent, 0) + text.get(element, 0)
        anchor[parent] = anchor.get(parent, 0) + anchor.get(element, 0)
    return {element: TextLengths(text.get(element, 0), anchor.get(element, 0)) for element in elements}


def _find_satisfiable(start: HtmlElement, pieces: Sequence[Piece], options: Options) -> list[HtmlElement]:
    """Return the roots of the satisfiable sub-trees (SST), in the order of the texts that lead to them.

    A root is G levels above a text of at least alpha characters. Its sub-tree has at least beta characters, and at most
    the share gamma of them is inside links. Empty if no text is long enough.
    """
    lengths = _measure_lengths(start, pieces)
    parents = dict.fromkeys(piece.element for piece in pieces if _length(piece) >= max(1, options.subtree_alpha))
    roots = dict.fromkeys(_climb(parent, start, options.subtree_generations) for parent in parents)
    return [root for root in roots if _is_satisfiable(lengths[root], options)]


def _find_maximal(start: HtmlElement, roots: Iterable[HtmlElement]) -> dict[HtmlElement, HtmlElement]:
    """Return the maximal sub-trees (SST_max), as a mapping from each element inside one of them to its root.

    A sub-tree is maximal if no other one contains it. The roots are in the order of the page.
    """
    wanted = set(roots)
    inside: dict[HtmlElement, HtmlElement] = {}
    for element in start.iter(etree.Element):
        outer = None if element is start else inside.get(element.getparent())
        if outer is not None:
            inside[element] = outer
        elif element in wanted:
            inside[element] = element
    return inside


def _climb(parent: HtmlElement, start: HtmlElement, generations: int) -> HtmlElement:
    """Return the root that many generations above a text (its parent is the first), at most the body."""
    root = parent
    for _ in range(generations - 1):
        if root is start:
            break
        root = root.getparent()
    return root


def _is_satisfiable(lengths: TextLengths, options: Options) -> bool:
    # Divide: a product with gamma would reject equal shares, since .29 × 100 is less than 29 in floats.
    return lengths.text >= options.subtree_beta and lengths.anchor / lengths.text <= options.subtree_gamma


def _length(piece: Piece) -> int:
    return len(piece.text.strip())


def _unlinked_share(leaf: Leaf) -> float:
    lengths = [(_length(piece), piece.link is None) for piece in leaf.pieces]
    return sum(length for length, unlinked in lengths if unlinked) / (sum(length for length, _ in lengths) or 1)

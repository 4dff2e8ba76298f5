"""A page's leaf texts and the elements around them as columns of counts: the input of the method `default`.

This pure Python version is the reference. The compiled core reads the same columns straight from the parser's tree,
and a test holds both equal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from cleaning._native import load_compiled
from cleaning.leaves import enclosing_nodes, walk
from cleaning.terms import normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Block
    from cleaning.leaves import Leaf

# Attributes whose words say what an element is for.
_TOKEN_ATTRIBUTES = (
    "class",
    "id",
    "role",
    "itemprop",
    "aria-label",
    "data-testid",
    "data-component",
    "data-type",
    "name",
)
_MAX_TOKEN_CHARS = 1_000
_MAX_INLINE_LEVELS = 20
_UNSEEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_BOLD = frozenset({"b", "strong"})

_PAUSE = re.compile("[,;:\u3001\uff0c\uff1b\uff1a\u060c\u061b]")
_SENTENCE_END = re.compile("[.!?\u3002\uff01\uff1f\u2026\u0964\u061f]")
_QUOTE = re.compile('["\u00ab\u00bb\u2018-\u201f\u300c-\u300f]')
_SYMBOL = re.compile("[|/<>\u00a9\u00ae\u2022\u00b7\u203a\u2039\u2192\u25ba$\u20ac\u00a3%@#*+=_\\\\-]")


class Column(IntEnum):
    """The columns of `Scan.counts`: characters, unless the name says words or links."""

    WORDS = 0
    LINK_WORDS = 1
    CHARS = 2
    LINK_CHARS = 3
    LINKS = 4
    PAUSES = 5
    ENDS = 6
    QUOTES = 7
    SIGNS = 8
    UPPER = 9
    DIGITS = 10
    BOLD_CHARS = 11
    PIECES = 12
    FIRST = 13
    """What the text starts with: a code of `_class_of`."""
    LAST = 14
    """What it ends with."""


@dataclass(frozen=True, slots=True, eq=False)
class LeafTable:
    """The leaves of a page in reading order, and the block-level elements around them, outer ones first.

    Of `n` leaves: `blocks`; `counts` (n x len(Count), int32); `node` (n, int32) the number of the innermost element;
    `signs` of the inline elements around the beginning of the text. Of `m` elements: `tags`; `parent` (m, int32), -1
    for the outermost; `node_signs`; `first` and `last` (m, int32), the leaves inside: first <= leaf < last.
    """

    blocks: list[Block]
    counts: np.ndarray
    node: np.ndarray
    signs: list[str]
    tags: list[str]
    parent: np.ndarray
    node_signs: list[str]
    first: np.ndarray
    last: np.ndarray

    def first_blocks(self, most: int) -> LeafTable:
        """Return the scan of the first blocks, at most so many, and of the elements around these."""
        if len(self.blocks) <= most:
            return self
        size = int(self.node[:most].max(initial=-1)) + 1
        around = (self.tags[:size], self.parent[:size], self.node_signs[:size], self.first[:size])
        within = self.blocks[:most], self.counts[:most], self.node[:most], self.signs[:most]
        return LeafTable(*within, *around, np.minimum(self.last[:size], most))


def read_leaf_table(root: HtmlElement) -> LeafTable:
    """Return the columns of a page's leaves, as `build_leaf_table(walk(root))` does; no rows for an empty page."""
    module = load_compiled("leaf_table")
    if module is None:
        return build_leaf_table(walk(root))
    found: LeafTable = module.read_leaf_table(root)
    return found


def build_leaf_table(leaves: Sequence[Leaf]) -> LeafTable:
    """Return the columns of a walk's leaves; of none for a page without text."""
    nodes = enclosing_nodes(leaves)
    numbers = {node: number for number, node in enumerate(nodes)}
    inside = [numbers[leaf.node] for leaf in leaves]
    parent = [numbers[node.parent] if node.parent else -1 for node in nodes]
    first, last = [len(leaves)] * len(nodes), [0] * len(nodes)
    for place, number in enumerate(inside):
        first[number], last[number] = min(first[number], place), place + 1
    for number in reversed(range(1, len(nodes))):
        outer = parent[number]
        first[outer], last[outer] = min(first[outer], first[number]), max(last[outer], last[number])
    return LeafTable(
        [leaf.block for leaf in leaves],
        np.array([_count_leaf(leaf) for leaf in leaves], np.int32).reshape(len(leaves), len(Column)),
        np.array(inside, np.int32),
        [_inline_tokens(leaf) for leaf in leaves],
        [node.tag for node in nodes],
        np.array(parent, np.int32),
        [attribute_tokens(node.element) for node in nodes],
        np.array(first, np.int32),
        np.array(last, np.int32),
    )


def attribute_tokens(element: HtmlElement) -> str:
    """Return the words of an element's attributes that say what it is for, as written; "" where it has none."""
    attributes = element.attrib
    if not attributes:
        return ""
    found = [attributes[name] for name in _TOKEN_ATTRIBUTES if name in attributes]
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        found.append("-hidden")
    if "style" in attributes and _UNSEEN_STYLE.search(attributes["style"][:_MAX_TOKEN_CHARS]):
        found.append("-unseen")
    return " ".join(found)[:_MAX_TOKEN_CHARS]


def _inline_tokens(leaf: Leaf) -> str:
    """Return the signs of the inline elements around the first text node that is not white space, inner ones first."""
    piece = next((piece for piece in leaf.pieces if not piece.text.isspace()), None)
    found = []
    element = piece.element if piece else leaf.node.element
    for _ in range(_MAX_INLINE_LEVELS):
        if element is leaf.node.element or element is None:
            break
        found.append(f"{element.tag} {attribute_tokens(element)}")
        element = element.getparent()
    return " ".join(found)[:_MAX_TOKEN_CHARS]


def _count_leaf(leaf: Leaf) -> list[int]:
    text = leaf.block.text
    linked = normalise("".join([piece.text for piece in leaf.pieces if piece.link is not None]))
    bold = normalise("".join([piece.text for piece in leaf.pieces if piece.element.tag in _BOLD]))
    links = {piece.link for piece in leaf.pieces if piece.link is not None}
    return [
        leaf.block.words,
        leaf.block.link_words,
        len(text),
        min(len(text), len(linked)),
        len(links),
        len(_PAUSE.findall(text)),
        len(_SENTENCE_END.findall(text)),
        len(_QUOTE.findall(text)),
        len(_SYMBOL.findall(text)),
        sum(map(str.isupper, text)),
        sum(map(str.isdigit, text)),
        len(bold),
        len(leaf.pieces),
        _character_class(text[0]),
        _character_class(text[-1]),
    ]


def _character_class(character: str) -> int:
    """Return what a character is: 0 anything else, 1 a small letter or one without case, 2 a capital, 3 a digit, ..."""
    if character.isalpha():
        return 2 if character.isupper() else 1
    if character.isdigit():
        return 3
    kinds = (_SENTENCE_END, 4), (_PAUSE, 5), (_QUOTE, 6), (_SYMBOL, 7)
    return next((code for pattern, code in kinds if pattern.match(character)), 8 if character in ")]}(" else 0)

"""A page's leaf texts and the elements around them as columns of counts: the input of the method `default`.

This pure Python version is the reference. The compiled core (`cleaning/_native/leaf_table.pyx`) reads the same columns
straight from the parser's tree, and a test holds both equal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from cleaning._native import load_compiled
from cleaning.input.visibility import HIDING_ATTRIBUTES, UNSEEN_STYLE
from cleaning.leaves import enclosing_nodes, walk
from cleaning.terms import on_one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Block
    from cleaning.leaves import Leaf

# Attributes whose words say what an element is for.
_TOKEN_ATTRIBUTES = tuple("class id role itemprop aria-label data-testid data-component data-type name".split())
_READ_ATTRIBUTES = HIDING_ATTRIBUTES.union(_TOKEN_ATTRIBUTES)
_MAX_TOKEN_CHARS = 1_000
_MAX_INLINE_LEVELS = 20
_BOLD = frozenset({"b", "strong"})

_PAUSE = re.compile("[,;:\u3001\uff0c\uff1b\uff1a\u060c\u061b]")
_SENTENCE_END = re.compile("[.!?\u3002\uff01\uff1f\u2026\u0964\u061f]")
_QUOTE = re.compile('["\u00ab\u00bb\u2018-\u201f\u300c-\u300f]')
_SYMBOL = re.compile("[|/<>\u00a9\u00ae\u2022\u00b7\u203a\u2039\u2192\u25ba$\u20ac\u00a3%@#*+=_\\\\-]")


# A Chinese character says as much as some letters of an alphabet.
_LETTERS_OF_IDEOGRAPH = 2.5
_MIN_IDEOGRAPH_SHARE = 0.3  # of a page's characters
_MIN_WORD_SHARE = 0.3  # words of a character; fewer on pages with an alphabet
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


class Column(IntEnum):
    """The columns of `LeafTable.counts`: characters, unless the name says words or links.

    On a page in Chinese or Japanese, numbers of characters are multiplied by 2.5, so that a text of some length counts
    as much as a text of this content in an alphabet.
    """

    WORDS = 0
    LINK_WORDS = 1
    CHARS = 2
    LINK_CHARS = 3
    LINKS = 4
    PAUSES = 5
    ENDS = 6
    QUOTES = 7
    SYMBOLS = 8
    UPPER = 9
    DIGITS = 10
    BOLD_CHARS = 11
    PIECES = 12
    FIRST = 13
    """The class of the first character: a code of `_character_class`."""
    LAST = 14
    """The class of the last character."""


_CHARACTER_COLUMNS = [Column.CHARS, Column.LINK_CHARS, Column.SYMBOLS, Column.UPPER, Column.DIGITS, Column.BOLD_CHARS]


@dataclass(frozen=True, slots=True, eq=False)
class LeafTable:
    """The leaves of a page in reading order, and the block-level elements around them, outer ones first.

    For `n` leaves: `blocks`; `counts` (n x len(Column), int32); `node` (n, int32), the number of the innermost element;
    `inline_tokens`, the attribute tokens of the inline elements around the beginning of the text. For `m` elements:
    `tags`; `parent` (m, int32), -1 for the outermost; `node_tokens`; `first` and `last` (m, int32), the leaves inside:
    first <= leaf < last.
    """

    blocks: list[Block]
    counts: np.ndarray
    node: np.ndarray
    inline_tokens: list[str]
    tags: list[str]
    parent: np.ndarray
    node_tokens: list[str]
    first: np.ndarray
    last: np.ndarray

    def head(self, limit: int) -> LeafTable:
        """Return the table of the first leaves, at limit `limit`, and of the elements around them."""
        if len(self.blocks) <= limit:
            return self
        size = int(self.node[:limit].max(initial=-1)) + 1
        around = (self.tags[:size], self.parent[:size], self.node_tokens[:size], self.first[:size])
        within = self.blocks[:limit], self.counts[:limit], self.node[:limit], self.inline_tokens[:limit]
        return LeafTable(*within, *around, np.minimum(self.last[:size], limit))


def read_leaf_table(root: HtmlElement) -> LeafTable:
    """Return the table of a page's leaves; an empty table for a page without text."""
    module = load_compiled("leaf_table")
    if module is None:
        return build_leaf_table(walk(root))
    table: LeafTable = module.read_leaf_table(root)
    return table


def widen_ideographs(counts: np.ndarray, blocks: Sequence[Block]) -> np.ndarray:
    """Return the counts of a page's blocks with the characters widened if the page is in Chinese or Japanese."""
    chars = int(counts[:, Column.CHARS].sum())
    if counts[:, Column.WORDS].sum() < _MIN_WORD_SHARE * chars or not chars:
        return counts
    if sum(len(_IDEOGRAPH.findall(block.text)) for block in blocks) < _MIN_IDEOGRAPH_SHARE * chars:
        return counts
    widened = counts.copy()
    widened[:, _CHARACTER_COLUMNS] = np.round(widened[:, _CHARACTER_COLUMNS] * _LETTERS_OF_IDEOGRAPH)
    return widened


def build_leaf_table(leaves: Sequence[Leaf]) -> LeafTable:
    """Return the table of a walk's leaves; an empty table for a page without text."""
    nodes = enclosing_nodes(leaves)
    numbers = {node: number for number, node in enumerate(nodes)}
    inside = [numbers[leaf.node] for leaf in leaves]
    parent = [numbers[node.parent] if node.parent else -1 for node in nodes]
    first, last = [len(leaves)] * len(nodes), [0] * len(nodes)
    for index, number in enumerate(inside):
        first[number], last[number] = min(first[number], index), index + 1
    for number in reversed(range(1, len(nodes))):
        outer = parent[number]
        first[outer] = min(first[outer], first[number])
        last[outer] = max(last[outer], last[number])
    blocks = [leaf.block for leaf in leaves]
    counts = _count_leaves(leaves)
    return LeafTable(
        blocks,
        widen_ideographs(counts, blocks),
        np.array(inside, np.int32),
        [_inline_tokens(leaf) for leaf in leaves],
        [node.tag for node in nodes],
        np.array(parent, np.int32),
        [_attribute_tokens(node.element) for node in nodes],
        np.array(first, np.int32),
        np.array(last, np.int32),
    )


def _attribute_tokens(element: HtmlElement) -> str:
    """Return the values of the attributes that say what an element is for, as written; "" if it has none."""
    attributes: dict[str, str] = {name: value for name, value in element.items() if name in _READ_ATTRIBUTES}
    if not attributes:
        return ""
    tokens = [attributes[name] for name in _TOKEN_ATTRIBUTES if name in attributes]
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        tokens.append("-hidden")
    if "style" in attributes and UNSEEN_STYLE.search(attributes["style"][:_MAX_TOKEN_CHARS]):
        tokens.append("-unseen")
    return " ".join(tokens)[:_MAX_TOKEN_CHARS]


def _inline_tokens(leaf: Leaf) -> str:
    """Return the tokens of the inline elements around the first text node that is not white space, inner ones first."""
    node_element = leaf.node.element
    element = next((piece.element for piece in leaf.pieces if piece.text.strip()), node_element)
    tokens = []
    for _ in range(_MAX_INLINE_LEVELS):
        if element is node_element or element is None:
            break
        tokens.append(f"{element.tag} {_attribute_tokens(element)}")
        element = element.getparent()
    return " ".join(tokens)[:_MAX_TOKEN_CHARS]


def _count_leaves(leaves: Sequence[Leaf]) -> np.ndarray:
    """Return the counts of leaves (n x len(Column), int32)."""
    counts = np.zeros((len(leaves), len(Column)), np.int32)
    if not leaves:
        return counts
    counts[:, _PIECE_COLUMNS] = [_count_pieces(leaf) for leaf in leaves]
    lengths = counts[:, Column.CHARS]
    codes = np.frombuffer("".join([leaf.block.text for leaf in leaves]).encode("utf-32-le", "surrogatepass"), "<u4")
    flags = _character_flags(codes)
    ends = np.cumsum(lengths)
    for bit, column in enumerate(_CHARACTER_TESTS):
        counts[:, column] = np.add.reduceat(flags >> bit & 1, ends - lengths, dtype=np.int32)
    classes = flags >> len(_CHARACTER_TESTS)
    counts[:, Column.FIRST], counts[:, Column.LAST] = classes[ends - lengths] & _CLASSES, classes[ends - 1] & _CLASSES
    return counts


_PIECE_COLUMNS = [
    Column.WORDS,
    Column.LINK_WORDS,
    Column.CHARS,
    Column.LINK_CHARS,
    Column.LINKS,
    Column.BOLD_CHARS,
    Column.PIECES,
]


def _count_pieces(leaf: Leaf) -> tuple[int, ...]:
    block, pieces = leaf.block, leaf.pieces
    linked = [piece for piece in pieces if piece.link is not None]
    bold = [piece.text for piece in pieces if piece.element.tag in _BOLD]
    chars = len(block.text)
    return (
        block.words,
        block.link_words,
        chars,
        min(chars, len(on_one_line("".join([piece.text for piece in linked])))) if linked else 0,
        len({piece.link for piece in linked}),
        len(on_one_line("".join(bold))) if bold else 0,
        len(pieces),
    )


# The columns that count characters, each with its test. A character's flags are these bits, then its class.
_CHARACTER_TESTS: dict[Column, Callable[[str], object]] = {
    Column.PAUSES: _PAUSE.match,
    Column.ENDS: _SENTENCE_END.match,
    Column.QUOTES: _QUOTE.match,
    Column.SYMBOLS: _SYMBOL.match,
    Column.UPPER: str.isupper,
    Column.DIGITS: str.isdigit,
}
_CLASSES = 0xF
_KNOWN = 1 << 15
_CHARACTERS = 0x110000


def _character_flags(codes: np.ndarray) -> np.ndarray:
    """Return the flags of characters (n, uint16), given by their numbers."""
    known = _known_flags()
    flags: np.ndarray = known[codes]
    new = codes[flags == 0]
    if len(new):
        for code in np.unique(new).tolist():
            known[code] = _flags_of(chr(code))
        flags = known[codes]
    return flags


@cache
def _known_flags() -> np.ndarray:
    """Return the flags of all characters; 0 for one that has not been met. The system provides only the used parts."""
    return np.zeros(_CHARACTERS, np.uint16)


def _flags_of(character: str) -> int:
    tests = sum(bool(test(character)) << bit for bit, test in enumerate(_CHARACTER_TESTS.values()))
    return _KNOWN | _character_class(character) << len(_CHARACTER_TESTS) | tests


def _character_class(character: str) -> int:
    """Return the code of a character's class.

    1 a small letter or one without case, 2 a capital, 3 a digit, 4 to 7 the marks of the patterns above, 8 a closing
    bracket, 0 anything else.
    """
    if character.isalpha():
        return 2 if character.isupper() else 1
    if character.isdigit():
        return 3
    marks = (_SENTENCE_END, 4), (_PAUSE, 5), (_QUOTE, 6), (_SYMBOL, 7)
    return next((code for pattern, code in marks if pattern.match(character)), 8 if character in ")]}(" else 0)

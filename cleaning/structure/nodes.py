"""The vocabulary of structure: the nodes of a document, which Markdown, HTML, chunks and places are made of."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_NESTING = 16
"""Lists, items and quotes inside one another; the text of deeper ones stands at this level. Few real pages have ten."""


class NodeType(StrEnum):
    """The type of a node. The types after BREAK hold no text blocks of their own."""

    DOCUMENT = "document"
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    ITEM = "item"
    DEFINITIONS = "definitions"
    TERM = "term"
    DESCRIPTION = "description"
    QUOTE = "quote"
    CODE = "code"
    TABLE = "table"
    CAPTION = "caption"
    ROW = "row"
    CELL = "cell"
    FIGURE = "figure"
    FORMULA = "formula"
    FOOTNOTE = "footnote"
    RULE = "rule"
    STRONG = "strong"
    EMPHASIS = "emphasis"
    DELETED = "deleted"
    SUBSCRIPT = "subscript"
    SUPERSCRIPT = "superscript"
    CODE_SPAN = "code_span"
    LINK = "link"
    IMAGE = "image"
    FORMULA_SPAN = "formula_span"
    FOOTNOTE_MARK = "footnote_mark"
    BREAK = "break"


# The members by name: before Python 3.12, a look-up in the class takes as long as a call.
(
    DOCUMENT,
    HEADING,
    PARAGRAPH,
    LIST,
    ITEM,
    DEFINITIONS,
    TERM,
    DESCRIPTION,
    QUOTE,
    CODE,
    TABLE,
    CAPTION,
    ROW,
    CELL,
    FIGURE,
    FORMULA,
    FOOTNOTE,
    RULE,
    STRONG,
    EMPHASIS,
    DELETED,
    SUBSCRIPT,
    SUPERSCRIPT,
    CODE_SPAN,
    LINK,
    IMAGE,
    FORMULA_SPAN,
    FOOTNOTE_MARK,
    BREAK,
) = NodeType

_INLINE = frozenset(
    (STRONG, EMPHASIS, DELETED, SUBSCRIPT, SUPERSCRIPT, CODE_SPAN, LINK, IMAGE, FORMULA_SPAN, FOOTNOTE_MARK, BREAK)
)


# array_like: a page's structure crosses process borders, and most nodes have few of the fields. gc=False: nodes form no
# cycles.
class StructureNode(Struct, frozen=True, array_like=True, gc=False):
    """A part of a document. `content` has its parts in reading order; a `str` is plain text, with single spaces.

    `positions` are those of the page's blocks whose text the node holds directly. The other fields belong to some
    types: `level` is a heading's level (1 to 6), an item's number in a numbered list (0 in other lists) and the columns
    that a cell takes; `rows` the rows that a cell takes; `header` marks cells that name a row or a column, a quote of
    nothing but its speaker, and a term that is a function's signature; `url` is the address of a link or image,
    absolute, and the name of the place of a heading or term on its page; `text` the alternative text of an
    image, a code block's text, a formula's TeX, and the label of a footnote; `language` the programming language of a
    code block.
    """

    type: NodeType
    content: list[StructureNode | str] = []
    positions: list[int] = []
    level: int = 0
    rows: int = 1
    header: bool = False
    url: str = ""
    text: str = ""
    language: str = ""

    def walk(self) -> Iterator[StructureNode]:
        """Yield the node and the nodes inside it in reading order."""
        stack: list[StructureNode] = [self]
        while stack:
            node = stack.pop()
            yield node
            if node.content:
                stack += [part for part in reversed(node.content) if not isinstance(part, str)]


def plain_text(content: list[StructureNode | str], *, labels: bool = False) -> str:
    """Return the text of inline nodes without their format; formulas as TeX, images as nothing.

    With `labels`, the mark of a footnote is the label of its note in brackets.
    """
    parts = []
    for part in content:
        if isinstance(part, str):
            parts.append(part)
        elif part.type is BREAK:
            parts.append("\n")
        elif labels and part.type is FOOTNOTE_MARK:
            parts.append(f"[{part.text}]")
        elif part.type is FORMULA_SPAN or (part.type is FOOTNOTE_MARK and not part.content):
            parts.append(part.text)
        else:
            parts.append(plain_text(part.content, labels=labels))
    return "".join(parts)


def block_text(node: StructureNode) -> str:
    """Return the text of a node and all nodes in it on one line, with a space between blocks."""
    texts: list[str] = []
    for part in node.content:
        if isinstance(part, str) or part.type in _INLINE:
            texts.append(plain_text([part]))
        else:
            texts.append(f" {block_text(part) if part.content else part.text} ")
    return " ".join("".join(texts).split())

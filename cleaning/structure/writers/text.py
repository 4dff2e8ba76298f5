"""A document as plain text that keeps its layout: the headline, the signs of list items, the rows of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from cleaning.errors import OptionError
from cleaning.structure.grid import table_grid
from cleaning.structure.nodes import (
    CODE,
    DEFINITIONS,
    DESCRIPTION,
    DOCUMENT,
    FIGURE,
    FOOTNOTE,
    FORMULA,
    ITEM,
    LIST,
    QUOTE,
    TABLE,
    StructureNode,
    block_text,
    plain_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

TextStyle = Literal["blocks", "layout"]
TEXT_STYLES: tuple[TextStyle, ...] = get_args(TextStyle)

_HOLDERS = frozenset((DOCUMENT, LIST, DEFINITIONS, QUOTE, FIGURE))
_INDENT = "  "
_CELL_BREAK = " | "


def check_text_style(style: object) -> None:
    """Raise OptionError for an unknown style of text."""
    if style not in TEXT_STYLES:
        raise OptionError(f"the text style is {style!r}; it takes {' or '.join(TEXT_STYLES)}")


def to_layout_text(document: StructureNode) -> str:
    """Return the document as plain text without a line end; "" for an empty document.

    A list item begins with "- " or its number, and stands two spaces deeper for each list around it. A row of a table
    is a line, its cells parted by " | "; a cell that takes several rows or columns is in each of them. Code keeps its
    lines, a formula is TeX. There is no mark of emphasis, no address and no image.
    """
    return "\n".join(_lines_of(document.content))


def _lines_of(content: Sequence[StructureNode | str]) -> list[str]:
    lines: list[str] = []
    for node in content:
        if not isinstance(node, str):
            lines += _lines_of_node(node)
    return lines


def _lines_of_node(node: StructureNode) -> list[str]:  # noqa: PLR0911 — one line for each type
    kind = node.type
    if kind in _HOLDERS:
        return _lines_of(node.content)
    if kind is TABLE:
        return _rows(node)
    if kind is CODE:
        return node.text.split("\n")
    if kind is FORMULA:
        return [node.text]
    if kind is ITEM:
        return _marked(f"{node.level}. " if node.level else "- ", _lines_of(node.content))
    if kind is DESCRIPTION:
        return _marked(_INDENT, _lines_of(node.content))
    if kind is FOOTNOTE:
        return _marked(f"[{node.text}] ", _lines_of(node.content))
    return [text for line in plain_text(node.content, labels=True).split("\n") if (text := " ".join(line.split()))]


def _marked(marker: str, lines: Sequence[str]) -> list[str]:
    """Return lines with the marker before the first one, and the others below it."""
    return [(_INDENT if number else marker) + line for number, line in enumerate(lines)]


def _rows(table: StructureNode) -> list[str]:
    grid = table_grid(table)
    texts = [["" if cell is None else block_text(cell) for cell in row] for row in grid.rows]
    captions = [text for caption in grid.captions if (text := block_text(caption))]
    return captions + [_CELL_BREAK.join(row).rstrip() for row in texts if any(row)]

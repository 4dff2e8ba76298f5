"""The parts of a page: headings, list items, tables, code, quotes, links and formulas.

They are taken from a reader's marks on a page (`reference_parts`), and from Markdown by a parser (`markdown_parts`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from outline_marks import MarkedPage, normal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from page_outline import Outline

_KEY_CHARS = 40  # of the text by which items and quotes are known
_MAX_SPANNED = 1_000
_FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<!\$)\$([^$\n]+?)\$(?!\$)|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_BREAK = re.compile(r"<br\s*/?>")
_TAG = re.compile(r"</?[a-zA-Z][^>]*>")
_MARKDOWN = MarkdownIt("commonmark", {"maxNesting": 200}).enable(["table", "strikethrough"])


@dataclass
class Parts:
    """The parts of a page in reading order.

    A heading is its level and text; an item its depth, whether it is numbered, and the beginning of its own text; a
    table has rows of cell texts; a quote is the beginning of its text; a link its address and text. All texts but those
    of code and formulas are bare letters and digits.
    """

    headings: list = field(default_factory=list)
    items: list = field(default_factory=list)
    tables: list = field(default_factory=list)
    code: list = field(default_factory=list)
    quotes: list = field(default_factory=list)
    links: list = field(default_factory=list)
    formulas: list = field(default_factory=list)


# The reference ------------------------------------------------------------------------------------------------------


def reference_parts(page: MarkedPage) -> Parts:
    """Return the parts of a page's main content."""
    return _parts_of(page, page.main, lambda unit: unit.quote not in page.marks["unquoted"])


def open_parts(page: MarkedPage) -> Parts:
    """Return the parts of a page that may be left out or kept."""
    parts = _parts_of(page, page.open, lambda _: True)
    parts.quotes += _parts_of(page, page.main, lambda unit: unit.quote in page.marks["unquoted"]).quotes
    return parts


def _parts_of(page, chosen, is_quoted) -> Parts:
    marks, outline = page.marks, page.outline
    units = list(chosen.values())
    data = {unit.table for unit in units} - marks["layout"] - {0}
    codes = {unit.code for unit in units} - marks["code"] - {0}
    parts = Parts()
    parts.headings = [(unit.level, text) for unit, text in _joined(units, lambda unit: unit.heading)]
    plain = [unit for unit in units if unit.table not in data and unit.code not in codes]
    for unit, text in _joined(plain, lambda unit: unit.item):
        depth = len([list_number for list_number in unit.lists if list_number not in marks["unlisted"]])
        if depth and unit.lists[-1] not in marks["unlisted"] and text:
            parts.items.append((depth, unit.lists[-1] in outline.ordered, text[:_KEY_CHARS]))
    parts.tables = [_spanned(outline, number) for number in sorted(data)]
    parts.code = [text for text in (outline.codes[number] for number in sorted(codes)) if text.strip()]
    quoted = [unit for unit in plain if is_quoted(unit)]
    parts.quotes = [text[:_KEY_CHARS] for unit, text in _joined(quoted, lambda unit: unit.quote) if text]
    parts.links = [_link(*link) for unit in units if unit.code not in codes for link in unit.links]
    parts.formulas = [_tex(tex) for unit in units for tex in unit.formulas]
    return parts


def _joined(units, number_of) -> Iterator:
    """Yield the first unit of each element with a number, and the joined texts of all of them."""
    units_by_number = {}
    for unit in units:
        if number := number_of(unit):
            units_by_number.setdefault(number, []).append(unit)
    for inside in units_by_number.values():
        yield inside[0], normal("".join(unit.text for unit in inside))


def _spanned(outline: Outline, number: int) -> list[list[str]]:
    """Return the rows of a table; a cell that takes several places is in each of them."""
    rows, reaching = [], {}
    for cells in outline.tables[number]:
        row, below = [], {}
        waiting = list(cells)
        while waiting or len(row) in reaching:
            if len(row) in reaching:
                text, left = reaching[len(row)]
                if left > 1:
                    below[len(row)] = (text, left - 1)
                row.append(text)
                continue
            cell = waiting.pop(0)
            for _ in range(min(cell.columns, _MAX_SPANNED)):
                if cell.rows > 1:
                    below[len(row)] = (normal(cell.text), cell.rows - 1)
                row.append(normal(cell.text))
        rows.append(row)
        reaching = below
    return [row for row in rows if any(row)]


# Markdown -----------------------------------------------------------------------------------------------------------


def markdown_parts(markdown: str) -> Parts:
    """Return the parts of a Markdown text, as a parser of CommonMark with GitHub's tables reads it."""
    return _Reading(_MARKDOWN.parse(markdown)).parts


class _Reading:
    def __init__(self, tokens):
        self.parts = Parts()
        self._lists, self._items = [], []
        self._quotes = []
        self._heading = 0
        self._table = None
        for token in tokens:
            self._read(token)

    def _read(self, token):
        kind = token.type
        if kind.endswith(("list_open", "list_close", "item_open", "item_close")):
            self._read_list(kind)
        elif kind == "blockquote_open":
            self._quotes.append([])
        elif kind == "blockquote_close":
            self._end_quote()
        elif kind == "heading_open":
            self._heading = int(token.tag[1])
        elif kind in ("fence", "code_block"):
            self.parts.code.append("\n".join(line.rstrip() for line in token.content.split("\n")).strip("\n"))
        elif kind.partition("_")[0] in ("table", "tr", "th", "td"):
            self._read_table(kind)
        elif kind == "inline":
            self._inline(token)

    def _read_list(self, kind):
        if kind == "list_item_open":
            self._items.append([])
            self.parts.items.append((len(self._lists), self._lists[-1], self._items[-1]))
        elif kind == "list_item_close":
            self._items.pop()
        elif kind.endswith("_open"):
            self._lists.append(kind == "ordered_list_open")
        else:
            self._lists.pop()
            self._settle()

    def _settle(self):
        """Make keys of the items' texts once a list is complete."""
        if not self._lists:
            self.parts.items = [
                (depth, ordered, text if isinstance(text, str) else normal("".join(text))[:_KEY_CHARS])
                for depth, ordered, text in self.parts.items
            ]
            self.parts.items = [item for item in self.parts.items if item[2]]

    def _end_quote(self):
        texts = self._quotes.pop()
        text = normal("".join(texts))
        if self._quotes:
            self._quotes[-1] += texts
        elif text:
            self.parts.quotes.append(text[:_KEY_CHARS])

    def _read_table(self, kind):
        if kind == "table_open":
            self._table = []
        elif kind == "tr_open":
            self._table.append([])
        elif kind in ("th_open", "td_open"):
            self._table[-1].append("")
        elif kind == "table_close":
            rows = [row for row in self._table if any(row)]
            if rows:
                self.parts.tables.append(rows)
            self._table = None

    def _inline(self, token):
        text = self._text_of(token.children or [])
        if self._table is not None:
            self._table[-1][-1] = normal(text)
        elif self._heading:
            self.parts.headings.append((self._heading, normal(text)))
            self._heading = 0
        if self._items and self._table is None:
            self._items[-1].append(text)
        if self._quotes and self._table is None:
            self._quotes[-1].append(text)
        for match in _FORMULA.finditer(_plain(token.children or [])):
            self.parts.formulas.append(_tex(next(filter(None, match.groups()))))

    def _text_of(self, children):
        parts, link = [], None
        for child in children:
            if child.type == "link_open":
                link = (child.attrs["href"], len(parts))
            elif child.type == "link_close" and link:
                text = "".join(parts[link[1] :])
                if urlsplit(link[0]).scheme in ("http", "https") and normal(text):
                    self.parts.links.append(_link(link[0], text))
                link = None
            elif child.type in ("softbreak", "hardbreak"):
                parts.append(" ")
            elif child.type == "html_inline":
                parts.append(" " if _BREAK.match(child.content) else "")
            elif child.type != "image":
                parts.append(child.content)
        return "".join(parts)


def _plain(children) -> str:
    """Return the text of inline tokens, with the signs that the parser has taken for markup; nothing of code."""
    return "".join(
        child.markup if child.type.endswith(("_open", "_close")) else child.content
        for child in children
        if child.type not in ("code_inline", "image")
    )


def _link(url: str, text: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return (unquote(f"{parts.netloc}{parts.path.rstrip('/')}?{parts.query}").casefold(), normal(text))


def _tex(tex: str) -> str:
    return "".join(tex.split()).strip("$")

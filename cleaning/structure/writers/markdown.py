"""A document as Markdown: CommonMark with the tables, deletions and footnotes of GitHub, and formulas between dollars.

The text of a page never turns into markup: every sign that a parser could take for markup is escaped. The compiled core
has this module too, compiled as it is.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from cleaning.errors import OptionError
from cleaning.structure.grid import table_grid
from cleaning.structure.nodes import (
    BREAK,
    CAPTION,
    CELL,
    CODE,
    CODE_SPAN,
    DEFINITIONS,
    DELETED,
    EMPHASIS,
    FOOTNOTE,
    FOOTNOTE_MARK,
    FORMULA,
    FORMULA_SPAN,
    HEADING,
    IMAGE,
    ITEM,
    LINK,
    LIST,
    PARAGRAPH,
    QUOTE,
    RULE,
    STRONG,
    SUBSCRIPT,
    SUPERSCRIPT,
    TABLE,
    TERM,
    NodeType,
    StructureNode,
    plain_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

Links = Literal["references"] | bool

# Signs that mean something wherever they stand. `_` inside a word and brackets without an address mean nothing.
_SIGNS = r"""[`*~]                                   # code, emphasis, deletion
    |\\(?=[!-/:-@\[-`{-~]|$)                    # an escape, or a line break at the end
    |(?<![^\W_])_|_(?![^\W_])                   # emphasis
    |<(?=[A-Za-z/!?]|$)|&(?=\#?\w{1,40};)       # HTML
    """
# A bracket begins or ends a link, a definition or a footnote.
_ESCAPED = re.compile(_SIGNS + r"|\](?=[(\[:]|$)|\[(?=\^)", re.VERBOSE)
_ESCAPED_IN_LINKS = re.compile(_SIGNS + r"|[\[\]]", re.VERBOSE)
_ESCAPED_SIGNS = tuple("`*~\\_[]<&")
# Signs that mean something at the beginning of a line: headings, lists, quotes, rules, tables.
_LINE_START = re.compile(
    r"(?P<sign>#(?=#{0,5}(?:\s|$))|[+-](?=\s|$)|>|-(?=[-|:])|=(?==*\s*$)|:(?=-)|\||\[(?=[ xX]\](?:\s|$)))"
    r"|(?P<number>\d{1,9})(?=[.)](?:\s|$))"
)
_LINE_START_SIGNS = frozenset("#+->=:|[0123456789")
_BACKTICKS = re.compile("`+")
_ENTITY = re.compile(r"&(?=#?\w{1,40};)")
_MARKERS = {STRONG: ("**", "__"), EMPHASIS: ("*", "_"), DELETED: ("~~",), SUBSCRIPT: (), SUPERSCRIPT: ()}
_UNDERSCORES_FIRST = ("_", "*")  # around what begins or ends with stars
# Raised letters that say the same on the line: marks of trade, and behind a figure those of an ordinal.
_RAISED_MARKS = frozenset("tm sm \u2122 \u00ae \u00a9".split())
_ORDINALS = frozenset("st nd rd th er re e \u00e8me eme o a os as \u00ba \u00aa".split())
_RAISED_SIGNS = (
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207a\u207b\u207c\u207d\u207e\u207f\u2071\u207b"
)
_RAISED = dict(zip(map(ord, "0123456789+-=()ni\u2212"), _RAISED_SIGNS, strict=True))
_LOWERED = {ord(sign): chr(0x2080 + number) for number, sign in enumerate("0123456789+-=()")}
_TAGS = {
    STRONG: "strong",
    EMPHASIS: "em",
    DELETED: "del",
    SUBSCRIPT: "sub",
    SUPERSCRIPT: "sup",
}
_FORMULAS = (FORMULA, FORMULA_SPAN)


def _check_links(links: object) -> None:
    """Raises OptionError for an unknown value of `links`."""
    if links not in (True, False, "references") or (isinstance(links, int) and not isinstance(links, bool)):
        raise OptionError(f"links is {links!r}; it takes True, False or 'references'")


def to_markdown(document: StructureNode, *, links: Links = True, images: bool = False, html: bool = True) -> str:
    """Return the document as Markdown that ends with a line end; "" for an empty document.

    `links` False leaves out the addresses of links; "references" puts them at the end. Raises OptionError for another
    value of it. `images` includes images, with their addresses. `html` False writes no HTML for what Markdown cannot
    say: a line break in a table cell becomes a space, raised and lowered figures become characters of their own, if
    there are any, and emphasis that Markdown cannot mark is left out.
    """
    _check_links(links)
    return MarkdownWriter(document, links=links, images=images, html=html).write(document.content)


class MarkdownWriter:
    """Writes parts of one document: each part with the signs escaped that mean something in the document."""

    def __init__(self, document: StructureNode, *, links: Links, images: bool, html: bool = True) -> None:
        self._links = links
        self._images = images
        self._html = html
        self._cell_break = "<br>" if html else " "
        self._references: dict[str, int] = {}
        self._document = document

    def write(self, content: Sequence[StructureNode | str]) -> str:
        """Return blocks of the document, and the addresses of their links if they are references."""
        self._references = {}
        parts = self._blocks(content)
        text = "\n\n".join(parts)
        if self._references:
            text += "\n\n" + "\n".join(f"[{number}]: {_destination(url)}" for url, number in self._references.items())
        return f"{text}\n" if text else ""

    # Blocks -------------------------------------------------------------------------------------------------------

    def _blocks(self, content: Sequence[StructureNode | str]) -> list[str]:
        parts: list[str] = []
        before: StructureNode | None = None
        changed = False
        for node in content:
            if isinstance(node, str):
                continue
            if node.type is LIST or node.type is DEFINITIONS:
                # Two lists in a row would be read as one if their signs were the same.
                changed = before is not None and before.type in (LIST, DEFINITIONS) and not changed
                text = self._list(node, changed=changed)
            else:
                text = self._block(node)
            if text:
                parts.append(text)
                before = node
        return parts

    def _block(self, node: StructureNode) -> str:  # noqa: PLR0911 — one line for each type
        kind = node.type
        if kind is PARAGRAPH or kind is CAPTION or kind is TERM:
            return self._lines(node.content)
        if kind is HEADING:
            return self._heading(node)
        if kind is CODE:
            return _fenced(node.text, node.language)
        if kind is QUOTE:
            return _indented("\n\n".join(self._blocks(node.content)), "> ", "> ", blank=">")
        if kind is TABLE:
            return self._table(node)
        if kind is FORMULA:
            return f"$$\n{_tex(node.text)}\n$$"
        if kind is RULE:
            return "___"  # neither sign of a list
        if kind is FOOTNOTE:
            return _indented("\n\n".join(self._blocks(node.content)), f"[^{node.text}]: ", "    ")
        return "\n\n".join(self._blocks(node.content))

    def _heading(self, node: StructureNode) -> str:
        text = self._inline(_on_one_line(_without_bold(node.content))).strip()
        if text.endswith("#"):
            text = f"{text[:-1]}\\#"
        return f"{'#' * node.level} {text}" if text else ""

    def _list(self, node: StructureNode, *, changed: bool) -> str:
        if node.type is DEFINITIONS:
            items, number = [self._definition(group) for group in _definitions(node)], 0
        else:
            items = [self._blocks(item.content) for item in node.content if not isinstance(item, str)]
            number = next((item.level for item in node.content if not isinstance(item, str)), 0)
        loose = any(_is_loose(item) for item in items)
        lines = []
        for parts in items:
            marker = f"{number}{')' if changed else '.'} " if number else ("* " if changed else "- ")
            if number and number < 999_999_999:  # noqa: PLR2004 — CommonMark allows nine digits
                number += 1
            if parts:
                lines.append(_indented(("\n\n" if loose else "\n").join(parts), marker, " " * len(marker)))
        return ("\n\n" if loose else "\n").join(lines)

    def _definition(self, group: Sequence[StructureNode]) -> list[str]:
        """Return a term in bold and its description below it; Markdown has no definition lists."""
        terms = [node for node in group if node.type is TERM]
        parts: list[str] = []
        if terms:
            content: list[StructureNode | str] = []
            for term in terms:
                bold = StructureNode(STRONG, _without_bold(term.content))
                content += [StructureNode(BREAK), bold] if content else [bold]
            parts.append(self._lines(content))
        for node in group:
            if node.type is not TERM:
                parts += self._blocks(node.content)
        return [part for part in parts if part]

    def _table(self, node: StructureNode) -> str:
        grid = table_grid(node)
        texts: dict[int, str] = {}
        lines = []
        for row in grid.rows:
            cells = []
            for cell in row:
                if cell is None:
                    cells.append("")
                    continue
                if id(cell) not in texts:
                    texts[id(cell)] = self._cell(cell)
                cells.append(texts[id(cell)])
            lines.append(f"| {' | '.join(cells)} |")
        if not lines:
            return ""
        lines.insert(1, f"|{' --- |' * grid.width}")
        captions = [self._lines(part.content) for part in grid.captions]
        return "\n\n".join([*filter(None, captions), "\n".join(lines)])

    def _cell(self, cell: StructureNode) -> str:
        text = self._cell_break.join(filter(None, self._cell_lines(cell, "")))
        if text or self._images:
            return text
        # In a table of features, the pictures of hooks and crosses are its text.
        pictures = [node.text for node in cell.walk() if node.type is IMAGE and node.text]
        return " ".join(self._text(picture, in_link=False) for picture in pictures).replace("|", "\\|")

    def _cell_lines(self, node: StructureNode, marker: str) -> list[str]:
        """Return the lines of a cell's content: a cell has no blocks, so items become lines with their signs."""
        lines: list[str] = []
        for part in node.content:
            if isinstance(part, str):
                continue
            if part.type is CODE:
                lines += [_code_span(line) for line in part.text.split("\n") if line.strip()]
            elif part.type is FORMULA:
                lines.append(f"$${_tex(part.text)}$$")
            elif part.type is ITEM:
                sign = f"{part.level}. " if part.level else "- "
                lines += self._cell_lines(part, sign)
            elif part.type in (PARAGRAPH, TERM, CAPTION, HEADING):
                content = (
                    _without_bold(part.content) if isinstance(node, StructureNode) and node.header else part.content
                )
                lines.append(marker + self._inline(content, line_end=self._cell_break).strip())
                marker = ""
            else:
                lines += self._cell_lines(part, marker)
        return [line.replace("|", "\\|") for line in lines] if node.type is CELL else lines

    # Inline content -----------------------------------------------------------------------------------------------

    def _lines(self, content: Sequence[StructureNode | str]) -> str:
        """Return the lines of a paragraph."""
        text = self._inline(content).strip()
        if "\n" not in text:
            return _escaped_start(text)
        return "\n".join(_escaped_start(line.lstrip()) for line in text.split("\n"))

    def _inline(
        self,
        content: Sequence[StructureNode | str],
        *,
        before: str = "",
        after: str = "",
        in_link: bool = False,
        line_end: str = "  \n",
    ) -> str:
        """Return inline nodes. `before` and `after` are the signs around them, which decide how emphasis is written."""
        if len(content) == 1 and isinstance(content[0], str):
            return self._text(content[0], in_link=in_link)
        parts: list[str] = []
        last = before
        for index, node in enumerate(content):
            if isinstance(node, str):
                text = self._text(node, in_link=in_link)
                if text.endswith("!") and _first_sign(content, index + 1, after) == "[":
                    text = f"{text[:-1]}\\!"
            elif node.type is BREAK:
                text = line_end if last != "\n" and (parts or before) else ""
            else:
                follows = _first_sign(content, index + 1, after)
                text = self._span(node, last, follows, in_link=in_link, line_end=line_end)
            if text:
                parts.append(text)
                last = text[-1]
        return "".join(parts)

    def _span(self, node: StructureNode, before: str, after: str, *, in_link: bool, line_end: str) -> str:  # noqa: PLR0911 — one line for each type; what surrounds it
        kind = node.type
        if kind is CODE_SPAN:
            code = plain_text(node.content).replace("\n", " ")
            if before != "`":
                return _code_span(code)
            # Behind another code span, its marker would be read as a part of the other's.
            return f"<code>{self._text(code, in_link=in_link)}</code>" if self._html else f" {_code_span(code)}"
        if kind in _FORMULAS:
            return f"${_tex(node.text)}$" if kind is FORMULA_SPAN else f"$${_tex(node.text)}$$"
        if kind is FOOTNOTE_MARK:
            return f"[^{node.text}]"
        if kind is IMAGE:
            if not self._images or not node.url:
                return ""
            return f"![{self._text(node.text, in_link=True)}]({_destination(node.url)})"
        if kind is LINK:
            if in_link or not self._links:
                return self._inline(node.content, before=before, after=after, in_link=in_link, line_end=line_end)
            text = self._inline(node.content, before="[", after="]", in_link=True, line_end=line_end)
            return self._link(text, node.url) if text.strip() else text
        return self._emphasis(node, before, after, in_link=in_link, line_end=line_end)

    def _link(self, text: str, url: str) -> str:
        if self._links == "references":
            number = self._references.setdefault(url, len(self._references) + 1)
            return f"[{text}][{number}]"
        return f"[{text}]({_destination(url)})"

    def _emphasis(self, node: StructureNode, before: str, after: str, *, in_link: bool, line_end: str) -> str:  # noqa: PLR0911 — one line for each way to write it
        kind = node.type
        node = _flattened(node)
        markers = _MARKERS[kind]
        if kind is EMPHASIS and ("*" in (before, after) or _has_stars(node)):
            markers = _UNDERSCORES_FIRST
        for marker in markers:
            text = self._inline(node.content, before=marker[-1], after=marker[0], in_link=in_link, line_end=line_end)
            if not text.strip():
                return text
            if _is_delimited(marker[0], before, text, after):
                return f"{marker}{text}{marker}"
            # Punctuation beside a letter keeps `**` from being emphasis. Outside the markers it says the same.
            inner = _without_outer_signs(text)
            if inner is not None:
                start = text.index(inner)
                first, rest = text[:start], text[start + len(inner) :]
                if _is_delimited(marker[0], first[-1:] or before, inner, rest[:1] or after):
                    return f"{first}{marker}{inner}{marker}{rest}"
        text = self._inline(node.content, before=">", after="<", in_link=in_link, line_end=line_end)
        if not text.strip():
            return text
        if kind is SUPERSCRIPT or kind is SUBSCRIPT:
            return self._raised(text, kind, before)
        if not self._html:
            return self._inline(node.content, before=before, after=after, in_link=in_link, line_end=line_end)
        return f"<{_TAGS[kind]}>{text}</{_TAGS[kind]}>"

    def _raised(self, text: str, kind: NodeType, before: str) -> str:
        """Return a raised or lowered text: ordinals and marks of trade as they are, others as HTML or as characters."""
        letters = text.casefold()
        if kind is SUPERSCRIPT and (letters in _RAISED_MARKS or (letters in _ORDINALS and before.isdigit())):
            return text
        if self._html:
            return f"<{_TAGS[kind]}>{text}</{_TAGS[kind]}>"
        characters = _RAISED if kind is SUPERSCRIPT else _LOWERED
        return text.translate(characters) if all(ord(sign) in characters for sign in text) else text

    def _text(self, text: str, *, in_link: bool) -> str:
        for sign in _ESCAPED_SIGNS:  # most texts have none, and a look for one is faster than a pattern
            if sign in text:
                signs = _ESCAPED_IN_LINKS if in_link or self._links == "references" else _ESCAPED
                text = signs.sub(_escaped, text)
                break
        return text.replace("$", "\\$") if "$" in text and self._has_formulas else text

    @cached_property
    def _has_formulas(self) -> bool:
        """True for a document with formulas. A dollar only means something beside them."""
        stack: list[StructureNode | str] = [self._document]
        while stack:
            node = stack.pop()
            if not isinstance(node, str):
                if node.type is FORMULA or node.type is FORMULA_SPAN:
                    return True
                stack += node.content
        return False


_PUNCTUATION = ":,.;!?\u3001\u3002\uff0c\uff1a\uff1b\uff01\uff1f\u201d\u300d\uff09"


_OUTER_SIGNS = f"{_PUNCTUATION}\u201c\u201e\u00ab\u00bb\u2019\u2018\u300c\uff08()\"'\u2026"


def _without_outer_signs(text: str) -> str | None:
    """Return a text without the punctuation at its ends; None if nothing else is left, or the signs mean something."""
    inner = text.strip(_OUTER_SIGNS)
    if not inner or inner == text or inner[-1] == "\\" or "](" in text:
        return None
    start = text.index(inner)
    rest = text[start + len(inner) :]
    # A reference to a character ends with a semicolon.
    return None if rest[:1] == ";" or text[:start].endswith("!") else inner


def _has_stars(node: StructureNode) -> bool:
    """Return True for a node whose content begins or ends with a format that is written with stars."""
    edges = (node.content[0], node.content[-1]) if node.content else ()
    return any(not isinstance(edge, str) and edge.type in (STRONG, EMPHASIS) for edge in edges)


def _first_sign(content: Sequence[StructureNode | str], index: int, otherwise: str) -> str:
    """Return the sign that begins the nodes from a place on."""
    while index < len(content):
        node = content[index]
        if not isinstance(node, str):
            return _FIRST_SIGNS.get(node.type, "<")
        if node:
            return node[0]
        index += 1
    return otherwise


_FIRST_SIGNS = {
    BREAK: "\n",
    LINK: "[",
    FOOTNOTE_MARK: "[",
    IMAGE: "!",
    CODE_SPAN: "`",
    FORMULA: "$",
    FORMULA_SPAN: "$",
    STRONG: "*",
    EMPHASIS: "*",
    DELETED: "~",
}


def _is_delimited(sign: str, before: str, text: str, after: str) -> bool:
    """Return True if a parser takes markers around the text for emphasis: CommonMark's rules of flanking."""
    first, last = text[0], text[-1]
    if first.isspace() or last.isspace() or sign in (before, after, first, last):
        return False
    opens = not _is_punctuation(first) or not before or before.isspace() or _is_punctuation(before)
    closes = (not _is_punctuation(last) and last != "\\") or not after or after.isspace() or _is_punctuation(after)
    if sign == "_":
        opens = opens and (not before or not before.isalnum())
        closes = closes and (not after or not after.isalnum())
    return opens and closes


def _is_punctuation(sign: str) -> bool:
    return not sign.isalnum() and not sign.isspace()


def _escaped_start(line: str) -> str:
    if not line or line[0] not in _LINE_START_SIGNS:
        return line
    match = _LINE_START.match(line)
    if match is None:
        return line
    return f"{match[0]}\\{line[match.end() :]}" if match["number"] else f"\\{line}"


def _escaped(sign: re.Match[str]) -> str:
    return f"\\{sign[0]}"


def _destination(url: str) -> str:
    if "&" in url:
        url = _ENTITY.sub(r"\\&", url)
    if "(" not in url and ")" not in url:
        return url
    level = 0
    for sign in url:
        level += (sign == "(") - (sign == ")")
        if level < 0:
            break
    return url if level == 0 else url.replace("(", "%28").replace(")", "%29")


# In TeX, a space says nothing, and nothing can be escaped: a program without formulas must not take this for markup.
_MARKUP_IN_TEX = re.compile(
    r"<(?=[A-Za-z/!?])|\](?=\()"
    # "_" and "*" that can begin emphasis: not in "x_i" and "align*}".
    r"|(?<!\\)(?:(?<![^\W_])[*_](?=\S)|\*(?=[^\W_]))"
)


def _tex(tex: str) -> str:
    return _MARKUP_IN_TEX.sub(r"\g<0> ", re.sub(r"(?<!\\)\$", r"\\$", tex))


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def _code_span(text: str) -> str:
    text = text.strip()
    if not text:
        return ""
    runs = {len(run) for run in _BACKTICKS.findall(text)}
    fence = "`" * next(length for length in range(1, len(runs) + 2) if length not in runs)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _fenced(text: str, language: str) -> str:
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _indented(text: str, first: str, other: str, *, blank: str = "") -> str:
    """Return the text with `first` before its first line and `other` before the others."""
    if not text:
        return ""
    lines = text.split("\n")
    return "\n".join([first + lines[0], *(other + line if line else blank for line in lines[1:])])


def _is_loose(item: Sequence[str]) -> bool:
    """Return True for an item with more than a text and the list below it.

    In CommonMark, a list that begins with another number than 1 does not end the paragraph above it.
    """
    if len(item) < 2:  # noqa: PLR2004 — one block
        return False
    return len(item) > 2 or not re.match(r"[-*] |1[.)] ", item[1])  # noqa: PLR2004 — text and list


def _definitions(node: StructureNode) -> list[list[StructureNode]]:
    """Return the terms and descriptions in groups: terms that follow one another, and their descriptions."""
    groups: list[list[StructureNode]] = []
    for part in node.content:
        if isinstance(part, str):
            continue
        begins = part.type is TERM and (not groups or groups[-1][-1].type is not TERM)
        if begins or not groups:
            groups.append([part])
        else:
            groups[-1].append(part)
    return groups


def _without_bold(content: Sequence[StructureNode | str]) -> list[StructureNode | str]:
    """Return the content of a heading, term or header cell, which is bold as it is."""
    parts: list[StructureNode | str] = []
    for part in content:
        if not isinstance(part, str) and part.type is STRONG:
            parts += _without_bold(part.content)
        else:
            parts.append(part)
    return parts


def _flattened(node: StructureNode) -> StructureNode:
    """Return a formatted node without nodes of the same format inside it: bold inside bold is bold."""
    if all(isinstance(part, str) for part in node.content):
        return node
    return replace(node, content=_without_format(node.content, node.type))


def _without_format(content: Sequence[StructureNode | str], kind: NodeType) -> list[StructureNode | str]:
    parts: list[StructureNode | str] = []
    for part in content:
        if isinstance(part, str) or not part.content:
            parts.append(part)
        elif part.type is kind:
            parts += _without_format(part.content, kind)
        else:
            parts.append(replace(part, content=_without_format(part.content, kind)))
    return parts


def _on_one_line(content: Sequence[StructureNode | str]) -> list[StructureNode | str]:
    return [" " if not isinstance(part, str) and part.type is BREAK else part for part in content]

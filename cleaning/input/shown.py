"""What a browser makes of a page's elements, written into its tree: the texts that it shows, where it shows them.

It moves the parts that a stream of React sends later to their places, sets quotation marks around `q`, shows an emoji
where its image cannot be, and sets ruby and the lines of a listing without the white space of their source.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from lxml import etree

if TYPE_CHECKING:
    from lxml.html import HtmlElement

# $RC("B:0","S:0") moves the part S:0 to the place of the template B:0, and $RS does so inside a part.
_MOVE = re.compile(r"\$R[CSXR]\w*\(\"([^\"]{1,60})\",\s*\"([^\"]{1,60})\"")
_PARTS = etree.XPath("descendant::div[@hidden and contains(@id, 'S:')]")
_ANCHORS = etree.XPath("descendant::a[@name and not(@href) and not(@role) and not(@onclick)]")
_PART = re.compile(r"(.*)S:([0-9a-f]+)")
_QUOTES = "\"'\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a\u2018\u2019\u300c\u300e"
_QUOTED = re.compile(rf"^\s*[{_QUOTES}]|[{_QUOTES}]$")
_EMOJI = re.compile(
    "[\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff\U000e0020-\U000e007f\u200d\ufe0e\ufe0f\u20e3#*0-9]{1,20}"
)
_ONLY_ASCII = re.compile(r"[\x00-\x7f\u20e3\ufe0f]*")
_SMILEY_CLASS = re.compile(r"smil|emoji|emoticon", re.IGNORECASE)
_MAX_SMILEY_CHARS = 12
_WIDE = "\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_BREAK_AFTER_WIDE = re.compile(rf"(?<=[{_WIDE}])[ \t]*\n\s*$")
_BREAK_BEFORE_WIDE = re.compile(rf"^[ \t]*\n\s*(?=[{_WIDE}])")
_NUMBERS = re.compile(r"[\s\d]+")
_LISTING_CLASS = re.compile(r"code|crayon|syntax|highlight|listing|\bline", re.IGNORECASE)
_MAX_LINES = 20_000


def show_as_browser(root: HtmlElement, *, has_templates: bool, has_anchors: bool) -> None:
    """Change a page's tree to what a browser shows; `has_…` is False for a page without templates or named anchors.

    A named anchor without an address leads nowhere, so the texts in it are not in a link.
    """
    if has_templates:
        _place_streamed(root)
    if has_anchors:
        for anchor in _ANCHORS(root):
            anchor.tag = "span"
    for element in list(root.iter("q", "ruby", "img", "amp-img", "table")):
        if element.tag == "q":
            _set_quotation_marks(element)
        elif element.tag == "ruby":
            _close_up(element)
        elif element.tag == "table":
            _show_listing(element)
        elif alternative := element.get("alt"):
            _show_emoji(element, alternative.strip())


def _place_streamed(root: HtmlElement) -> None:
    """Move the parts of a stream to the templates that hold their places; a part without one is shown where it is."""
    parts = {part.get("id"): part for part in _PARTS(root) if _PART.fullmatch(part.get("id"))}
    if not parts:
        return
    templates = {template.get("id"): template for template in root.iter("template") if template.get("id")}
    moves = [move for script in root.iter("script") for move in _MOVE.findall(script.text or "")]
    moved = {part for _, part in moves}
    moves += [(_PART.sub(r"\1B:\2", part), part) for part in parts if part not in moved]
    for place, name in moves:
        part = parts.pop(name, None)
        if part is None:
            continue
        del part.attrib["hidden"]
        template = templates.get(place)
        if template is not None and part not in template.iterancestors():
            template.addnext(part)  # with its tail, which is white space between parts
    for part in parts.values():
        part.attrib.pop("hidden", None)


def _set_quotation_marks(quote: HtmlElement) -> None:
    """Set marks around the text of a `q`, unless its author has."""
    before = quote.getprevious()
    ahead = (quote.getparent().text if before is None else before.tail) or ""
    if _QUOTED.search("".join(islice(quote.itertext(), 3))[:20]) or (ahead and _QUOTED.search(ahead[-1])):
        return
    is_inner = next(quote.iterancestors("q"), None) is not None
    opening, closing = "\u2018\u2019" if is_inner else "\u201c\u201d"
    quote.text = opening + (quote.text or "").lstrip()
    if len(quote):
        quote[-1].tail = (quote[-1].tail or "").rstrip() + closing
    else:
        quote.text = quote.text.rstrip() + closing


def _close_up(ruby: HtmlElement) -> None:
    """Remove the white space of the source between the parts of a ruby, and line breaks between it and wide letters."""
    for part in ruby:
        part.text, part.tail = (part.text or "").strip(), (part.tail or "").strip()
    ruby.text = (ruby.text or "").strip()
    before, parent = ruby.getprevious(), ruby.getparent()
    if before is not None and before.tail:
        before.tail = _BREAK_AFTER_WIDE.sub("", before.tail)
    elif before is None and parent.text:
        parent.text = _BREAK_AFTER_WIDE.sub("", parent.text)
    if ruby.tail:
        ruby.tail = _BREAK_BEFORE_WIDE.sub("", ruby.tail)


def _show_emoji(image: HtmlElement, alternative: str) -> None:
    """Make a text of an image whose alternative text is the sign that it draws."""
    is_sign = _EMOJI.fullmatch(alternative) is not None and not _ONLY_ASCII.fullmatch(alternative)
    if is_sign or (len(alternative) <= _MAX_SMILEY_CHARS and _SMILEY_CLASS.search(image.get("class") or "")):
        image.tag, image.text = "span", alternative
        image.attrib.clear()
        del image[:]


def _show_listing(table: HtmlElement) -> None:
    """Make a `pre` of a table that sets line numbers beside code."""
    lines = _lines_of_listing(table)
    if lines:
        listing = table.makeelement("pre")
        listing.text, listing.tail = "\n".join(lines), table.tail
        table.getparent().replace(table, listing)


def _lines_of_listing(table: HtmlElement) -> list[str]:
    """Return the lines of code in a table that sets line numbers beside them; none for another table."""
    first = next(table.iter("td"), None)
    if first is None or next(table.iterdescendants("pre", "table", "th"), None) is not None:
        return []
    numbers = "".join(islice(first.itertext(), _MAX_LINES))
    if first.get("data-line-number") is None and not _NUMBERS.fullmatch(numbers):
        return []
    rows = [list(row.iterchildren("td")) for row in islice(table.iter("tr"), _MAX_LINES)]
    if not all(len(row) == 2 for row in rows) or not _names_listing(table, rows[0][1]):  # noqa: PLR2004 — number, code
        return []
    if len(rows) == 1:
        return _lines_beside(first, rows[0][1])
    stated = [row[0].get("data-line-number") or _text_of(row[0]).strip() for row in rows]
    return [_text_of(row[1]) for row in rows] if _are_consecutive(stated) else []


def _names_listing(table: HtmlElement, cell: HtmlElement) -> bool:
    return any(_LISTING_CLASS.search(element.get("class") or "") for element in (table, cell))


def _lines_beside(numbers: HtmlElement, code: HtmlElement) -> list[str]:
    """Return the lines of a cell if it has as many as there are numbers in the cell before it."""
    stated = " ".join(numbers.itertext()).split()
    if not _are_consecutive(stated):
        return []
    inner = code
    while len(inner) == 1 and not (inner.text or "").strip() and len(stated) > 1:
        inner = inner[0]
    return [_text_of(line) for line in inner] if len(inner) == len(stated) else []


def _are_consecutive(numbers: list[str]) -> bool:
    if not numbers or not all(number.isdecimal() and len(number) < 7 for number in numbers):  # noqa: PLR2004 — a line
        return False
    first = int(numbers[0])
    return [int(number) for number in numbers] == list(range(first, first + len(numbers)))


def _text_of(element: HtmlElement) -> str:
    return "".join(element.itertext()).replace("\xa0", " ").strip("\r\n")

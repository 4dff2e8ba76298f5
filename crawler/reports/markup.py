"""A page rebuilt from our own elements, as rows of texts with the decisions of each method on them.

Only `div`, `span` and `br` are written, whatever the page has: a browser never rearranges them, and the style sheet
shows them as headings, lists and tables. No attribute of the page is copied, and no text of it becomes markup here.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from lxml import etree
from markupsafe import Markup

from cleaning.blocks import Reason
from cleaning.leaves import BLOCK_TAGS, NEVER_CONTENT, Leaf, Piece, body_of
from cleaning.terms import bare

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Decision

_SPACE = re.compile(r"\s+")
_INLINE_STYLES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("b", "strong"), "x-b")
    | dict.fromkeys(("i", "em", "cite", "dfn", "var"), "x-i")
    | dict.fromkeys(("code", "kbd", "samp", "tt"), "x-mono")
    | dict.fromkeys(("s", "del", "strike"), "x-s")
    | dict.fromkeys(("u", "ins"), "x-u")
    | {"a": "x-a", "sub": "x-sub", "sup": "x-sup", "small": "x-small"}
)
_BLOCK_STYLES = frozenset(
    "h1 h2 h3 h4 h5 h6 p ul ol li dl dt dd table thead tbody tfoot tr td th caption blockquote pre figure figcaption "
    "hr button".split()
)
_SHOWN_EMPTY = frozenset({"td", "th", "hr"})
# A grey word stands for each: a page without any trace of its pictures is hard to recognise.
_PLACEHOLDERS: Mapping[str, str] = MappingProxyType(
    {"img": "image", "iframe": "frame", "frame": "frame", "video": "video", "audio": "audio", "embed": "plug-in"}
    | {"object": "plug-in", "textarea": "field", "select": "field", "input": "field"}
)
_END = "</div>\n"
_MAX_ALT = 80
_TINY_PIXELS = 2
# Deeper elements are left out, their texts are not; browsers stop at 512.
_MAX_LEVELS = 120
# The rest of the page is not shown beyond either limit: browsers are slow with more.
_MAX_TEXTS = 20_000
_MAX_CHARS = 2_000_000

_T = TypeVar("_T")


class TextValues(Generic[_T]):
    """A value for each text node of some leaves; each is returned once, in reading order.

    With `by_text` a text node is found by its text, in another tree of the same page too.
    """

    def __init__(self, values: Iterable[tuple[Leaf, _T]], *, by_text: bool = False) -> None:
        self._by_text = by_text
        self._waiting: dict[Hashable, deque[_T]] = {}
        for leaf, value in values:
            for piece in leaf.pieces:
                if bare(piece.text):
                    self._waiting.setdefault(self._key(piece), deque()).append(value)

    def next(self, piece: Piece) -> _T | None:
        """Return the value of this text node; None if it has none."""
        waiting = self._waiting.get(self._key(piece))
        return waiting.popleft() if waiting else None

    def _key(self, piece: Piece) -> Hashable:
        # A method may reorder blocks, but not the texts of one element.
        text = bare(piece.text)  # a leaf has no invisible characters, the page has
        return text if self._by_text else (piece.element, text)


class MarkedText(NamedTuple):
    """A text of the page with the decision of each method, None where a method does not have the text.

    `style` names the looks of the inline elements around it. A word in place of a picture has no decisions at all.
    """

    text: str
    style: str = ""
    decisions: tuple[Decision | None, ...] = ()

    @property
    def reasons(self) -> list[Reason | None]:
        return [None if decision is None else decision.reason for decision in self.decisions]

    @property
    def kept(self) -> list[int]:
        """The places of the methods that keep the text."""
        return [place for place, reason in enumerate(self.reasons) if reason is Reason.KEPT]


class MarkedRow(NamedTuple):
    """The texts between two block boundaries, and our own tags that lead to them."""

    tags: Markup
    texts: list[MarkedText]

    @property
    def marked(self) -> list[MarkedText]:
        """The texts with decisions: all but the words in place of pictures."""
        return [text for text in self.texts if text.decisions]

    @property
    def kept(self) -> list[int]:
        """The places of the methods that keep a text of the row."""
        return sorted({place for text in self.marked for place in text.kept})

    @property
    def dropped(self) -> dict[int, str]:
        """Why methods drop a text of the row, by their places."""
        words_of_method: dict[int, dict[str, None]] = {}
        for text in self.marked:
            for place, reason in enumerate(text.reasons):
                if reason is not Reason.KEPT:
                    words_of_method.setdefault(place, {})[reason_words(reason)] = None
        return {place: ", ".join(words) for place, words in words_of_method.items()}


def reason_words(reason: Reason | None) -> str:
    """Return a reason in words; None stands for a text that a rendered page does not have."""
    return "not on the rendered page" if reason is None else reason.replace("_", " ")


class RebuiltPage:
    """One walk over a page: `rows` yields its rows once, and `cut` is True afterwards if a limit ended it.

    The texts of `leaves` are shown. `methods` has the decisions of each method.
    """

    def __init__(self, root: HtmlElement, leaves: Iterable[Leaf], methods: Sequence[TextValues[Decision]]) -> None:
        self.cut = False
        self._start = body_of(root)
        self._shown = TextValues((leaf, leaf) for leaf in leaves)
        self._methods = methods
        self._inside: Counter[str] = Counter()  # the open elements, by tag
        self._blocks: list[str] = []  # the tags of the open block-level elements
        self._written = 0  # the number of written ones; an element is written once it has content
        self._tags: list[str] = []
        self._texts: list[MarkedText] = []
        self._blanks: list[str] = []
        self._texts_left, self._chars_left = _MAX_TEXTS, _MAX_CHARS

    def rows(self) -> Iterator[MarkedRow]:
        """Yield the page's rows in reading order; the last one has the tags that close the page, and no text."""
        walked = etree.iterwalk(self._start, events=("start", "end", "comment", "pi"))
        for event, element in walked:
            left_out = element.tag in NEVER_CONTENT and element.tag != "noscript"
            if event == "start":
                yield from self._open(element)
                if left_out:
                    walked.skip_subtree()
                else:
                    self._text(element.text, element)
            else:
                yield from self._close(element) if event == "end" else ()
                if element is not self._start:
                    self._text(element.tail, element.getparent())
            if self.cut:
                break
        yield from self._end_row()
        self._tags += [_END] * self._written
        yield self._row()

    def _open(self, element: HtmlElement) -> Iterator[MarkedRow]:
        tag = element.tag
        self._inside[tag] += 1
        if tag in BLOCK_TAGS:
            yield from self._end_row()
            self._blocks.append(tag)
        if tag in _SHOWN_EMPTY:
            self._write_blocks()
        elif tag == "br":
            yield from self._end_row()
            self._tags.append("<br>")
        elif (word := _placeholder(element)) and not self._inside["noscript"]:  # which mostly repeats pictures
            self._add(MarkedText(word))

    def _close(self, element: HtmlElement) -> Iterator[MarkedRow]:
        self._inside[element.tag] -= 1
        if element.tag not in BLOCK_TAGS:
            return
        yield from self._end_row()
        self._blocks.pop()
        if self._written > len(self._blocks):
            self._written -= 1
            self._tags.append(_END)

    def _text(self, text: str | None, element: HtmlElement) -> None:
        if not text:
            return
        visible = text if self._inside["pre"] else _SPACE.sub(" ", text)
        if text.isspace():
            # It is shown with the next text, if the row has one.
            if self._texts and (self._inside["pre"] or not self._blanks):
                self._blanks.append(visible)
            return
        piece = Piece(text, element, None)
        if self._shown.next(piece) is not None:
            style = " ".join(dict.fromkeys(style for tag, style in _INLINE_STYLES.items() if self._inside[tag]))
            decisions = tuple(method.next(piece) for method in self._methods)
            self._add(MarkedText(visible, style, decisions))

    def _add(self, text: MarkedText) -> None:
        if self.cut:
            return
        self._write_blocks()
        visible = "".join(self._blanks) + text.text
        self._blanks.clear()
        self._texts.append(text._replace(text=visible[: self._chars_left]))
        self._texts_left -= 1
        self._chars_left -= len(visible)
        self.cut = self._texts_left <= 0 or self._chars_left <= 0

    def _write_blocks(self) -> None:
        for tag in self._blocks[self._written : _MAX_LEVELS]:
            style = f' class="x-{tag}"' if tag in _BLOCK_STYLES else ""
            self._tags.append(f'<div{style} dir="auto">')
            self._written += 1

    def _end_row(self) -> Iterator[MarkedRow]:
        if self._texts:
            yield self._row()
            self._tags, self._texts, self._blanks = [], [], []

    def _row(self) -> MarkedRow:
        return MarkedRow(Markup("".join(self._tags)), self._texts)  # noqa: S704 — our own tags


def head_texts(root: HtmlElement, decided: Iterable[tuple[Leaf, Decision]]) -> list[MarkedText]:
    """Return the texts of the head, which some methods make blocks of."""
    return [
        MarkedText(decision.block.text, "", (decision,))
        for leaf, decision in decided
        if body_of(root).tag == "body"
        and leaf.pieces
        and any(element.tag == "head" for element in leaf.pieces[0].element.iterancestors())
    ]


def _placeholder(element: HtmlElement) -> str | None:
    """Return the word that stands for an element without text; None if nothing does."""
    tag = element.tag
    hidden = tag == "input" and (element.get("type") or "").lower() == "hidden"
    if hidden or tag not in _PLACEHOLDERS or (tag == "img" and _is_tiny(element)):
        return None
    alt = " ".join((element.get("alt") or "").split()) if tag == "img" else ""
    return f"{_PLACEHOLDERS[tag]}: {alt[:_MAX_ALT]}" if alt else _PLACEHOLDERS[tag]


def _is_tiny(image: HtmlElement) -> bool:
    sizes = [image.get(side) or "" for side in ("width", "height")]
    return any(size.isdecimal() and int(size[:9]) <= _TINY_PIXELS for size in sizes)

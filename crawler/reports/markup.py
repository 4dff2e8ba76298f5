"""The structure of a page rebuilt from our own elements, and the decision on each of its text nodes.

Only `div`, `span` and `br` are written, whatever the page has: a browser never rearranges them, and the style sheet
shows them as headings, lists and tables. No attribute of the page is copied, and no text of it becomes markup here.
"""

from __future__ import annotations

import re
from collections import deque
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from cleaning.leaves import BLOCK_TAGS, NEVER_CONTENT, Piece, body_of
from cleaning.terms import normalise
from crawler.reports.inert_page import inert

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Decision
    from cleaning.clean import DecidedLeaf

SPACE = re.compile(r"\s+")
_INLINE_STYLES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("b", "strong"), "b")
    | dict.fromkeys(("i", "em", "cite", "dfn", "var"), "i")
    | dict.fromkeys(("code", "kbd", "samp", "tt"), "mono")
    | dict.fromkeys(("s", "del", "strike"), "s")
    | {"a": "a", "u": "u", "ins": "u", "sub": "sub", "sup": "sup", "small": "small"}
)
_BLOCK_STYLES = frozenset(
    "h1 h2 h3 h4 h5 h6 p ul ol li dl dt dd table thead tbody tfoot tr td th caption blockquote pre figure figcaption "
    "hr button".split()
)
_SHOWN_EMPTY = frozenset({"td", "th", "hr"})
# A grey word stands for each: a page without any trace of its pictures is hard to recognise.
_PLACEHOLDERS: Mapping[str, str] = MappingProxyType(
    {"img": "image", "iframe": "frame", "frame": "frame", "video": "video", "audio": "audio", "embed": "plug-in"}
    | {"object": "plug-in", "textarea": "field", "select": "field"}
)
_MAX_ALT = 80
_TINY_PIXELS = 2
# Deeper elements are left out, their texts are not; browsers stop at 512.
_MAX_LEVELS = 120
# The rest of the page is not shown beyond either limit: browsers are slow with more.
_MAX_TEXTS = 20_000
_MAX_CHARS = 2_000_000
_NOTHING = Markup("")
_BLANK = Markup(" ")


class TextDecisions:
    """A method's decisions by text node; each is returned once, in reading order.

    With `by_text` a text node is found by its text, in another tree of the same page too.
    """

    def __init__(self, judged: Iterable[DecidedLeaf], *, by_text: bool = False) -> None:
        self._key: Callable[[Piece], Hashable] = _by_text if by_text else _by_place
        self._waiting: dict[Hashable, deque[Decision]] = {}
        for leaf, decision in judged:
            for piece in leaf.pieces:
                if not piece.text.isspace():
                    self._waiting.setdefault(self._key(piece), deque()).append(decision)

    def next(self, piece: Piece) -> Decision | None:
        """Return the decision on this text node; None if the method has none."""
        waiting = self._waiting.get(self._key(piece))
        return waiting.popleft() if waiting else None


def _by_place(piece: Piece) -> Hashable:
    # A method may reorder blocks, but not the texts of one element.
    return piece.element, piece.text


def _by_text(piece: Piece) -> Hashable:
    return normalise(piece.text)


class PagePart(NamedTuple):
    """Our own tags, then a text of the page: with the decision on it, or None for a word in place of a picture."""

    tags: Markup
    text: str = ""
    decision: Decision | None = None


class _Open(NamedTuple):
    """An element that the walk is inside, its remaining children, and the tag that closes it on our page."""

    element: HtmlElement
    children: Iterator[HtmlElement]
    end: Markup = _NOTHING
    preformatted: bool = False
    fallback: bool = False
    """In `noscript`, which mostly repeats pictures."""


class RebuiltPage:
    """One walk over a page; `parts` yields our page, and `cut` is True afterwards if it was cut at a limit."""

    def __init__(self, root: HtmlElement, judged: Sequence[DecidedLeaf]) -> None:
        self.cut = False
        self._start = body_of(root)
        self._decisions = TextDecisions(judged)
        self._keeping = _elements_with_kept_text(judged)
        self._waiting: list[Markup] = []  # tags that are written once there is something inside
        self._levels = 0
        self._texts = 0
        self._chars = 0

    def parts(self) -> Iterator[PagePart]:
        """Yield the page's texts in reading order, each after the tags that lead to it."""
        stack = [_Open(self._start, iter(self._start))]
        yield from self._text(self._start.text, self._start, stack[-1])
        while stack and not self.cut:
            outer = stack[-1]
            child = next(outer.children, None)
            if child is None:
                stack.pop()
                yield self._close(outer)
                if stack:
                    yield from self._text(outer.element.tail, stack[-1].element, stack[-1])
            elif isinstance(child.tag, str) and (child.tag not in NEVER_CONTENT or child.tag == "noscript"):
                stack.append(self._open(child, outer))
                yield from self._placeholder(child, stack[-1])
                yield from self._text(child.text, child, stack[-1])
            else:
                yield from self._placeholder(child, outer)
                yield from self._text(child.tail, outer.element, outer)
        while stack:
            yield self._close(stack.pop())

    def _open(self, element: HtmlElement, outer: _Open) -> _Open:
        tag = element.tag
        preformatted = outer.preformatted or tag == "pre"
        fallback = outer.fallback or tag == "noscript"
        name = "div" if tag in BLOCK_TAGS else "span" if tag in _INLINE_STYLES else None
        if name is None or self._levels >= _MAX_LEVELS:
            return _Open(element, iter(element), _NOTHING, preformatted, fallback)
        self._waiting.append(_start_tag(name, tag, bare=element not in self._keeping))
        self._levels += 1
        end = Markup("</div>\n") if name == "div" else Markup("</span>")
        return _Open(element, iter(element), end, preformatted, fallback)

    def _close(self, left: _Open) -> PagePart:
        if not left.end:
            return PagePart(_NOTHING)
        self._levels -= 1
        if self._waiting:
            self._waiting.pop()
            return PagePart(_NOTHING)
        return PagePart(left.end)

    def _flush(self) -> Markup:
        tags = _NOTHING.join(self._waiting)
        self._waiting.clear()
        return tags

    def _text(self, text: str | None, element: HtmlElement, inside: _Open) -> Iterator[PagePart]:
        if not text:
            return
        if text.isspace():
            if not self._waiting:
                yield PagePart(inert(text) if inside.preformatted else _BLANK)
            return
        decision = self._decisions.next(Piece(text, element, None))
        if decision is not None and not self.cut:
            text = text[: _MAX_CHARS - self._chars]
            self._count(text)
            yield PagePart(self._flush(), text if inside.preformatted else SPACE.sub(" ", text), decision)

    def _placeholder(self, element: HtmlElement, inside: _Open) -> Iterator[PagePart]:
        """Yield what an element leaves on our page beside its texts: a line break, a cell, a word for a picture."""
        if element.tag == "br" and not self._waiting:
            yield PagePart(Markup("<br>"))
        elif element.tag in _SHOWN_EMPTY:
            yield PagePart(self._flush())
        elif not inside.fallback and (word := _placeholder_word(element)) is not None:
            self._count(word)
            yield PagePart(self._flush(), word)

    def _count(self, text: str) -> None:
        self._texts += 1
        self._chars += len(text)
        self.cut = self._texts >= _MAX_TEXTS or self._chars >= _MAX_CHARS


def head_parts(root: HtmlElement, judged: Iterable[DecidedLeaf]) -> Iterator[PagePart]:
    """Yield the texts of the head, which some methods make blocks of."""
    if body_of(root).tag == "body":
        for leaf, decision in judged:
            if leaf.pieces and any(each.tag == "head" for each in leaf.pieces[0].element.iterancestors()):
                yield PagePart(_NOTHING, decision.block.text, decision)


def _elements_with_kept_text(judged: Iterable[DecidedLeaf]) -> set[HtmlElement]:
    found: set[HtmlElement] = set()
    for leaf, decision in judged:
        for piece in leaf.pieces if decision.kept else ():
            element = piece.element
            while element is not None and element not in found:
                found.add(element)
                element = element.getparent()
    return found


def _start_tag(name: str, tag: str, *, bare: bool) -> Markup:
    """Return the start tag for an element of the page; a `bare` element holds nothing that is kept."""
    style = _INLINE_STYLES.get(tag, tag if tag in _BLOCK_STYLES else None)
    classes = " ".join([f"x-{style}"] * (style is not None) + ["bare"] * bare)
    direction = Markup(' dir="auto"') if name == "div" else _NOTHING
    return Markup('<{} class="{}"{}>').format(name, classes, direction)


def _placeholder_word(element: HtmlElement) -> str | None:
    """Return the word that stands for an element without text; None if nothing does."""
    tag = element.tag
    if tag == "input":
        return None if (element.get("type") or "").lower() == "hidden" else "field"
    word = _PLACEHOLDERS.get(tag) if isinstance(tag, str) else None
    if word is None or tag != "img":
        return word
    if any(_is_tiny(element.get(side)) for side in ("width", "height")):
        return None
    alt = " ".join((element.get("alt") or "").split())
    return f"{word}: {alt[:_MAX_ALT]}" if alt else word


def _is_tiny(size: str | None) -> bool:
    return size is not None and size.isdecimal() and int(size[:9]) <= _TINY_PIXELS

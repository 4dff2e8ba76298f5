"""The page as it stands, built again of our own elements: its structure and its texts, and nothing that acts.

Only `div`, `span` and `br` are written, whatever the page has: a parser never rearranges them, and the style sheet
makes headings, lists and tables of them. No attribute of the page is taken over.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from cleaning.clean import DecidedLeaf
from cleaning.leaves import BLOCK_TAGS, NEVER_CONTENT, Piece, body_of
from crawler.compare.marks import Decisions
from crawler.compare.markup import inert

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from lxml.html import HtmlElement

    from cleaning.blocks import Decision
    from crawler.explain.explained import Explained

_SPACE = re.compile(r"\s+")
_INLINE_LOOKS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("b", "strong"), "b")
    | dict.fromkeys(("i", "em", "cite", "dfn", "var"), "i")
    | dict.fromkeys(("code", "kbd", "samp", "tt"), "mono")
    | dict.fromkeys(("s", "del", "strike"), "s")
    | {"a": "a", "u": "u", "ins": "u", "sub": "sub", "sup": "sup", "small": "small"}
)
_BLOCK_LOOKS = frozenset(
    "h1 h2 h3 h4 h5 h6 p ul ol li dl dt dd table thead tbody tfoot tr td th caption blockquote pre figure figcaption "
    "hr button".split()
)
_ALWAYS = frozenset({"td", "th", "hr"})  # shown without a text, too
# What is shown as a grey word in its place: a page without any trace of its pictures is hard to recognise.
_STAND_INS: Mapping[str, str] = MappingProxyType(
    {"img": "image", "iframe": "frame", "frame": "frame", "video": "video", "audio": "audio", "embed": "plug-in"}
    | {"object": "plug-in", "textarea": "field", "select": "field"}
)
_DIRECTED = ' dir="auto"'
_LONGEST_ALT = 80
_TINY_PIXELS = 2
# Further elements inside are left out, not their texts; browsers stop at 512.
_MOST_LEVELS = 120
# Beyond either, the rest of the page is not shown: a browser is slow with more.
_MOST_TEXTS = 20_000
_MOST_CHARS = 2_000_000


class _Open(NamedTuple):
    """An element that the walk is inside, those of its children that are to come, and what closes it on our page."""

    element: HtmlElement
    children: Iterator[HtmlElement]
    end: str
    preformatted: bool
    fallback: bool = False
    """In `noscript`, which mostly repeats pictures."""


class Rebuilt:
    """One walk over the page; `parts` yields our page, `cut` tells afterwards whether it was cut at a bound."""

    def __init__(self, explained: Explained, show: Callable[[Decision, str], str]) -> None:
        """Take what writes a text node: a function of the decision on it and of its text, made inert."""
        self.cut = False
        judged = [DecidedLeaf(row.leaf, row.decision) for row in explained.rows]
        self._start = body_of(explained.page.root)
        self._decisions = Decisions(judged)
        self._keeping = _keeping(judged)
        self._show = show
        self._waiting: list[str] = []  # tags that are opened where something is in them
        self._levels = 0
        self._texts = 0
        self._chars = 0

    def parts(self) -> Iterator[str]:
        start = self._start
        stack = [_Open(start, iter(start), "", preformatted=False)]
        yield from self._text(start.text, start, stack[-1])
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
                yield from self._instead(child, stack[-1])
                yield from self._text(child.text, child, stack[-1])
            else:
                yield from self._instead(child, outer)
                yield from self._text(child.tail, outer.element, outer)
        while stack:
            yield self._close(stack.pop())

    def _open(self, element: HtmlElement, outer: _Open) -> _Open:
        name = _name(element.tag)
        preformatted = outer.preformatted or element.tag == "pre"
        fallback = outer.fallback or element.tag == "noscript"
        if name is None or self._levels >= _MOST_LEVELS:
            return _Open(element, iter(element), "", preformatted, fallback)
        self._waiting.append(_tag(name, element.tag, bare=element not in self._keeping))
        self._levels += 1
        return _Open(element, iter(element), f"</{name}>", preformatted, fallback)

    def _close(self, left: _Open) -> str:
        if not left.end:
            return ""
        self._levels -= 1
        if self._waiting:
            self._waiting.pop()
            return ""
        return left.end + ("\n" if left.end == "</div>" else "")

    def _flush(self) -> str:
        tags = "".join(self._waiting)
        self._waiting.clear()
        return tags

    def _text(self, text: str | None, element: HtmlElement, inside: _Open) -> Iterator[str]:
        if not text:
            return
        if text.isspace():
            if not self._waiting:
                yield text if inside.preformatted else " "
            return
        decision = self._decisions.next(Piece(text, element, None))
        if decision is not None and not self.cut:
            text = text[: _MOST_CHARS - self._chars]
            self._count(text)
            shown = text if inside.preformatted else _SPACE.sub(" ", text)
            yield self._flush() + self._show(decision, inert(shown))

    def _instead(self, element: HtmlElement, inside: _Open) -> Iterator[str]:
        """Yield what an element leaves on our page beside its texts: a line's end, a cell, a word for a picture."""
        if element.tag == "br" and not self._waiting:
            yield "<br>"
        elif element.tag in _ALWAYS:
            yield self._flush()
        elif not inside.fallback and (word := _stand_in(element)) is not None:
            self._count(word)
            yield f'{self._flush()}<span class="gone">{inert(word)}</span> '

    def _count(self, text: str) -> None:
        self._texts += 1
        self._chars += len(text)
        self.cut = self._texts >= _MOST_TEXTS or self._chars >= _MOST_CHARS


def outside(explained: Explained) -> list[Decision]:
    """Return the decisions on texts of the head, which some methods make blocks of."""
    start = body_of(explained.page.root)
    return [
        row.decision
        for row in explained.rows
        if row.leaf.pieces and start.tag == "body" and _is_in_head(row.leaf.pieces[0].element)
    ]


def _is_in_head(element: HtmlElement) -> bool:
    return any(each.tag == "head" for each in element.iterancestors())


def _keeping(judged: Iterable[DecidedLeaf]) -> set[HtmlElement]:
    """Return the elements with a kept text anywhere inside them."""
    found: set[HtmlElement] = set()
    for leaf, decision in judged:
        for piece in leaf.pieces if decision.kept else ():
            element = piece.element
            while element is not None and element not in found:
                found.add(element)
                element = element.getparent()
    return found


def _name(tag: str) -> str | None:
    """Return the element that stands for one of the page; None for one that makes no difference."""
    if tag in BLOCK_TAGS:
        return "div"
    return "span" if tag in _INLINE_LOOKS else None


def _tag(name: str, tag: str, *, bare: bool) -> str:
    """Return the opening tag that stands for one of the page's; a `bare` element holds nothing that is kept."""
    look = _INLINE_LOOKS.get(tag, tag if tag in _BLOCK_LOOKS else None)
    classes = " ".join([f"x-{look}"] * (look is not None) + ["bare"] * bare)
    return f'<{name} class="{classes}"{_DIRECTED if name == "div" else ""}>'


def _stand_in(element: HtmlElement) -> str | None:
    """Return the word that stands for an element of the page that is no text; None where nothing does."""
    tag = element.tag
    if tag == "input":
        return None if (element.get("type") or "").lower() == "hidden" else "field"
    word = _STAND_INS.get(tag) if isinstance(tag, str) else None
    if word is None or tag != "img":
        return word
    if any(_is_tiny(element.get(side)) for side in ("width", "height")):
        return None
    alt = " ".join((element.get("alt") or "").split())
    return f"{word}: {alt[:_LONGEST_ALT]}" if alt else word


def _is_tiny(size: str | None) -> bool:
    return size is not None and size.isdecimal() and int(size[:9]) <= _TINY_PIXELS

"""One walk over the tree: leaf texts in reading order, with all that methods count."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING

from cleaning.blocks import Block, Kind
from cleaning.strip import NEVER_CONTENT
from cleaning.terms import count_words, normalise, stop_words, tidy_code, tokenise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.html import HtmlElement

BLOCK_TAGS = frozenset(
    "address article aside blockquote body button caption center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hr html label legend li main menu nav ol option p pre section "
    "summary table tbody td tfoot th thead tr ul".split()
)
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_KINDS = dict.fromkeys(HEADINGS, Kind.HEADING) | {
    "li": Kind.LIST_ITEM,
    "dt": Kind.LIST_ITEM,
    "dd": Kind.LIST_ITEM,
    "td": Kind.TABLE_CELL,
    "th": Kind.TABLE_CELL,
    "pre": Kind.CODE,
    "blockquote": Kind.QUOTE,
}
# A paragraph in a table cell is a paragraph (layout tables), one in a list item is that item's text.
_OWN_KIND_ONLY = frozenset({"td", "th"})
_KIND_ENDS = frozenset({"article", "section", "main", "body", "table", "form"})

# Tag priorities in tenths (pab.txt, table 3.1); any other tag counts 0.
PRIORITY_TENTHS = {
    "title": 10,
    "h1": 10,
    "h2": 9,
    "h3": 8,
    "h4": 7,
    "h5": 6,
    "h6": 5,
    "b": 4,
    "strong": 4,
    "a": 2,
    "i": 2,
    "p": 1,
}
_IMAGE_TENTHS = 3  # only with alternative text

# A text with so many words outside links, more than inside them, reads as prose. 6 to 10 words give the same F1
# (within .001, both development sets).
_PROSE_WORDS = 8
# Deeper elements get the path of their ancestor at this level: paths of a hostile page would fill the memory.
_MOST_LEVELS = 100

_MOST_HINT_CHARS = 1_000

# A line with no more words outside links, and no larger a share of stop words, that ends no sentence is a label.
_LABEL_WORDS, _LABEL_STOP_SHARE = 12, 0.25
_SENTENCE_END = re.compile(r"(?<!\d)[.!?](?!\w)|[\u3002\uff01\uff1f\u2026\u0964\u061f]")

# A page with fewer words than this is an empty shell that a script fills; some (all Discourse forums) hold
# their whole text in `noscript`, which on any other page repeats images and asks for JavaScript.
_SHELL_WORDS = 100


@dataclass(slots=True, eq=False)
class Node:
    """A block-level element on the way to some text, complete once the walk has left it.

    `path` is its XPath, up to a bound on depth; `hints` are its class, id and role, lower-cased; `kind` is what a
    text directly in it is. `leaves` are those directly in it; the words of each sort are those of all inside it.
    """

    element: HtmlElement
    tag: str
    parent: Node | None
    path: str
    hints: str
    kind: Kind
    leaves: int = 0
    words: int = 0
    link_words: int = 0
    prose: int = 0

    def chain(self) -> Iterator[Node]:
        """Yield the node and its ancestors, innermost first."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A text between two block boundaries: the block that it makes and the element that holds it.

    `prose` counts its words outside links where it reads as running text, and is 0 where it does not.
    """

    block: Block
    node: Node
    prose: int = 0


@dataclass(slots=True)
class _Gathered:
    """The text seen since the last block boundary."""

    parts: list[str] = field(default_factory=list)
    link_parts: list[str] = field(default_factory=list)
    tenths: int = 0


@dataclass(slots=True, eq=False)
class _Open:
    """An element that the walk is inside: how many children of each tag it has met, and those to come."""

    element: HtmlElement
    node: Node
    path: str
    level: int
    children: Iterator[HtmlElement]
    places: dict[str, int] = field(default_factory=dict)


class _Walk:
    """The state of one walk; `leaves` is its result."""

    def __init__(self, skipped: frozenset[str]) -> None:
        self.leaves: list[Leaf] = []
        self._skipped = skipped
        self._gathered = _Gathered()
        self._links = 0

    def run(self, start: HtmlElement) -> None:
        """Visit the tree in reading order, without recursion: pages nest thousands of levels deep."""
        path = start.getroottree().getpath(start)
        root = Node(start, start.tag, None, path, hints(start), Kind.PARAGRAPH)
        self._text(start.text)
        stack = [_Open(start, root, path, 0, iter(start))]
        while stack:
            outer = stack[-1]
            child = next(outer.children, None)
            if child is None:
                self._close(stack.pop())
            elif isinstance(child.tag, str) and child.tag not in self._skipped:
                stack.append(self._open(child, outer))
            else:
                self._text(child.tail)

    def _open(self, element: HtmlElement, outer: _Open) -> _Open:
        tag: str = element.tag
        level = outer.level + 1
        path = outer.path if level > _MOST_LEVELS else _path(outer, tag)
        node = outer.node
        if tag in BLOCK_TAGS:
            self._cut(node)
            node = Node(element, tag, node, path, hints(element), _kind(tag, node))
        elif tag == "br":
            self._cut(node)
        else:
            self._inline(element)
        self._text(element.text)
        return _Open(element, node, path, level, iter(element))

    def _inline(self, element: HtmlElement) -> None:
        tag = element.tag
        self._gathered.tenths += PRIORITY_TENTHS.get(tag, 0)
        if tag == "a":
            self._links += 1
        elif tag == "img" and (element.get("alt") or "").strip():
            self._gathered.tenths += _IMAGE_TENTHS

    def _close(self, left: _Open) -> None:
        node = left.node
        if node.element is left.element:
            self._cut(node)
            above = node.parent
            if above is not None:
                above.words += node.words
                above.link_words += node.link_words
                above.prose += node.prose
        elif left.element.tag == "a":
            self._links -= 1
        self._text(left.element.tail)

    def _text(self, text: str | None) -> None:
        if text and (self._gathered.parts or not text.isspace()):
            self._gathered.parts.append(text)
            if self._links:
                self._gathered.link_parts.append(text)

    def _cut(self, node: Node) -> None:
        if not self._gathered.parts:
            self._gathered.tenths = 0
            return
        gathered, self._gathered = self._gathered, _Gathered()
        joined = "".join(gathered.parts)
        text = tidy_code(joined) if node.kind is Kind.CODE else normalise(joined)
        if text:
            tenths = gathered.tenths + PRIORITY_TENTHS.get(node.tag, 0)
            words = count_words(text)
            link_words = min(words, count_words(" ".join(gathered.link_parts))) if gathered.link_parts else 0
            block = Block(len(self.leaves), node.path, node.kind, text, words, link_words, tenths / 10)
            self._add(Leaf(block, node, _prose(words, link_words)))

    def _add(self, leaf: Leaf) -> None:
        leaf.node.leaves += 1
        leaf.node.words += leaf.block.words
        leaf.node.link_words += leaf.block.link_words
        leaf.node.prose += leaf.prose
        self.leaves.append(leaf)


def walk(root: HtmlElement) -> list[Leaf]:
    """Return the leaf texts of a page in reading order; empty for a page without text.

    A leaf ends where a block-level element (or `br`) begins or ends; inline elements do not part words.
    """
    body = root if root.tag == "body" else root.find("body")
    start = root if body is None else body
    leaves = _walk_without(start, NEVER_CONTENT)
    words = _count(leaves)
    if words >= _SHELL_WORDS:
        return leaves
    unscripted = _walk_without(start, NEVER_CONTENT - {"noscript"})
    return unscripted if _count(unscripted) >= max(_SHELL_WORDS, 2 * words) else leaves


def _walk_without(start: HtmlElement, skipped: frozenset[str]) -> list[Leaf]:
    walked = _Walk(skipped)
    walked.run(start)
    return walked.leaves


def _count(leaves: list[Leaf]) -> int:
    return sum(leaf.block.words for leaf in leaves)


def is_label(leaf: Leaf) -> bool:
    """Tell whether a leaf is a short line that stands and says nothing by itself: a name, a date, a button's text."""
    block, node = leaf.block, leaf.node
    among_others = node.leaves > 1  # a line of verse, an address
    long = block.words - block.link_words > _LABEL_WORDS
    if long or among_others or block.kind is not Kind.PARAGRAPH or "title" in node.hints:
        return False
    tokens, stop = tokenise(block.text), stop_words("any")
    stops = sum(token in stop for token in tokens)
    return stops <= _LABEL_STOP_SHARE * len(tokens) and not _SENTENCE_END.search(block.text)


def hints(element: HtmlElement) -> str:
    """Return the beginning of an element's class, id and role, lower-cased; "" where it has none.

    The role `banner` (the page's header) gives way to `masthead`: as a class the word means an advertisement.
    """
    if not element.attrib:
        return ""
    role = element.get("role")
    words = (element.get("class"), element.get("id"), "masthead" if role == "banner" else role)
    return " ".join(filter(None, words))[:_MOST_HINT_CHARS].lower()


def enclosing(leaves: Iterable[Leaf]) -> list[Node]:
    """Return the elements around the leaves, each once, outer ones before those inside them."""
    found: dict[Node, None] = {}
    for leaf in leaves:
        new = list(takewhile(lambda node: node not in found, leaf.node.chain()))
        found.update(dict.fromkeys(reversed(new)))
    return list(found)


def _path(outer: _Open, tag: str) -> str:
    place = outer.places[tag] = outer.places.get(tag, 0) + 1
    step = tag if tag.isalnum() else f"*[name()={tag!r}]"
    return f"{outer.path}/{step}[{place}]"


def _prose(words: int, link_words: int) -> int:
    unlinked = words - link_words
    return unlinked if unlinked >= max(_PROSE_WORDS, link_words) else 0


def _kind(tag: str, parent: Node) -> Kind:
    own = _KINDS.get(tag)
    if own is not None:
        return own
    ended = tag in _KIND_ENDS or parent.tag in _OWN_KIND_ONLY
    return Kind.PARAGRAPH if ended else parent.kind

"""One walk over the tree: leaf texts in reading order, with all that methods count."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cleaning.blocks import Block, Kind
from cleaning.strip import NEVER_CONTENT
from cleaning.terms import count_words, normalise, tidy_code

if TYPE_CHECKING:
    from collections.abc import Iterator

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

# A page with fewer words than this is an empty shell that a script fills; some (all Discourse forums) hold
# their whole text in `noscript`, which on any other page repeats images and asks for JavaScript.
_SHELL_WORDS = 100


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A block-level element on the way to some text.

    `hints` are its class, id and role, lower-cased; `kind` is what a text directly in it is.
    """

    element: HtmlElement
    tag: str
    parent: Node | None
    path: str
    depth: int
    hints: str
    kind: Kind
    places: dict[str, int] = field(default_factory=dict)

    def chain(self) -> Iterator[Node]:
        """Yield the node and its ancestors, innermost first."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A text between two block boundaries: the block that it makes and the element that holds it."""

    block: Block
    node: Node


@dataclass(slots=True)
class _Gathered:
    """The text seen since the last block boundary."""

    parts: list[str] = field(default_factory=list)
    link_parts: list[str] = field(default_factory=list)
    tenths: int = 0


class _Walk:
    """The state of one walk; `leaves` is its result."""

    def __init__(self, skipped: frozenset[str]) -> None:
        self.leaves: list[Leaf] = []
        self._skipped = skipped
        self._gathered = _Gathered()
        self._links = 0

    def run(self, start: HtmlElement) -> None:
        """Visit the tree in reading order, without recursion: pages nest thousands of levels deep."""
        root = Node(start, "body", None, "/html/body", 0, hints(start), Kind.PARAGRAPH)
        self._text(start.text)
        stack: list[tuple[Iterator[HtmlElement], Node, HtmlElement]] = [(iter(start), root, start)]
        while stack:
            children, node, parent = stack[-1]
            child = next(children, None)
            if child is not None:
                if isinstance(child.tag, str) and child.tag not in self._skipped:
                    stack.append((iter(child), self._open(child, node), child))
                else:
                    self._text(child.tail)
                continue
            stack.pop()
            if stack:
                self._close(parent, node)
        self._cut(root)

    def _open(self, element: HtmlElement, node: Node) -> Node:
        tag = element.tag
        if tag in BLOCK_TAGS or tag == "br":
            self._cut(node)
        if tag in BLOCK_TAGS:
            place = node.places[tag] = node.places.get(tag, 0) + 1
            path = f"{node.path}/{tag}[{place}]"
            node = Node(element, tag, node, path, node.depth + 1, hints(element), _kind(tag, node))
        else:
            self._gathered.tenths += PRIORITY_TENTHS.get(tag, 0)
            if tag == "a":
                self._links += 1
            elif tag == "img" and (element.get("alt") or "").strip():
                self._gathered.tenths += _IMAGE_TENTHS
        self._text(element.text)
        return node

    def _close(self, element: HtmlElement, node: Node) -> None:
        if element.tag in BLOCK_TAGS:
            self._cut(node)
        elif element.tag == "a":
            self._links -= 1
        self._text(element.tail)

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
            self.leaves.append(Leaf(block, node))


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


def hints(element: HtmlElement) -> str:
    """Return an element's class, id and role, lower-cased; "" where it has none."""
    if not element.attrib:
        return ""
    return " ".join(filter(None, map(element.get, ("class", "id", "role")))).lower()


def _kind(tag: str, parent: Node) -> Kind:
    own = _KINDS.get(tag)
    if own is not None:
        return own
    ended = tag in _KIND_ENDS or parent.tag in _OWN_KIND_ONLY
    return Kind.PARAGRAPH if ended else parent.kind

"""The one walk over a page's tree: its leaf texts in reading order, with what every method counts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from cleaning.blocks import Block, Kind
from cleaning.input.class_names import class_test
from cleaning.input.visibility import SHOWN, may_be_unseen, shown_texts, unseen_level
from cleaning.terms import MAYBE_INVISIBLE, count_words, normalise, on_one_line, tidy_code, visible_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Reason
# Never content, on any page and for any method: their text is for programs, or replaces something that is not text.
# `head` holds metadata, which cleaning.metadata reads; `rt` and `rp` hold how a word of East Asia is read aloud.
NEVER_CONTENT = frozenset(
    "applet area audio canvas datalist embed frame frameset head iframe input map math noframes noscript object rp rt "
    "rtc script select style svg template textarea video".split()
)
BLOCK_TAGS = frozenset(
    "address article aside blockquote body button caption center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hr html label legend li main menu nav ol option p pre section "
    "summary table tbody td tfoot th thead tr ul".split()
)
HEADING_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})

# Ornaments. `cleaning/_native/nodes.pxd` knows the parts of classes that ORNAMENT_CLASS finds.
ORNAMENT_CLASS = re.compile(
    "anchor|permalink|headerlink|hash-link|editsection|material-|mat-icon|md-icon|google-symbols|gutter|lineno|linenum"
    "|line-num|ln-num"
)
_names_ornament = class_test(ORNAMENT_CLASS)
HEADING_LEVELS = 3  # from a link to the heading that it is in
_ANCHOR_CLASS = re.compile("anchor|permalink|headerlink|hash-link")
_names_anchor = class_test(_ANCHOR_CLASS)
_ANCHOR_SIGNS = frozenset(["", *"#\u00b6\u00a7\u2693\u221e\U0001f517", "\u2693\ufe0f", "[#]", "[\u00b6]", "(#)"])
_ANCHOR_WORDS = frozenset("permalink anchor link edit [edit] [link] [permalink]".split())
_EDIT_CLASS = re.compile(r"(?:^|\s)mw-editsection(?:$|\s)")
_LANGUAGE_CLASS = "lang"  # VitePress shows the language above a listing
_LISTINGS_CLASS = re.compile(r"(?:^|\s)(?:vp-)?code-group(?:$|\s)")
_ICON_CLASS = re.compile(
    r"(?:^|\s)(?:(?:google-)?material-(?:icons|symbols)|google-symbols|mat-icon|md-icon)(?:$|[\s-])"
)
_ICON_NAME = re.compile(r"\s*[a-z0-9_]{1,40}\s*")
GUTTER_NAMES = "gutter|linenos?|line-?numbers?(?:-rows)?|lineno-container|hljs-ln-numbers|rouge-gutter"
_names_numbers = class_test(re.compile(rf"(?:^|[\s_-])(?:{GUTTER_NAMES})(?=$|[\s_-])"))
_LINE_NUMBERS = re.compile(r"[\d\s]*")
_MAX_LINES = 20_000
_MAX_ANCHOR_TEXTS = 20  # in a link or heading
_MAX_CODE_LEVELS = 6  # from a line number to the `pre`
_KINDS = dict.fromkeys(HEADING_TAGS, Kind.HEADING) | {
    "li": Kind.LIST_ITEM,
    "dt": Kind.LIST_ITEM,
    "dd": Kind.LIST_ITEM,
    "td": Kind.TABLE_CELL,
    "th": Kind.TABLE_CELL,
    "pre": Kind.CODE,
    "blockquote": Kind.QUOTE,
}
# A paragraph in a table cell is a paragraph (layout tables); one in a list item is the item's text.
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
IMAGE_TENTHS = 3  # only with alternative text

# A page with fewer words is an empty shell that a script fills. Some such pages (all Discourse forums) hold their whole
# text in `noscript`; on any other page `noscript` repeats images and asks for JavaScript.
_SHELL_WORDS = 100

# Deeper elements get the path of their ancestor at this level: the paths of a hostile page would fill the memory.
MAX_PATH_LEVELS = 100
# A tag that XPath accepts as a name; hostile pages have others.
_PATH_NAME = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(slots=True, eq=False)  # a frozen one takes four times as long to make
class Node:
    """A block-level element around some text; `kind` is the kind of the texts directly in it."""

    element: HtmlElement
    tag: str
    parent: Node | None
    kind: Kind

    def chain(self) -> Iterator[Node]:
        """Yield the node and its ancestors, innermost first."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent


class Piece(NamedTuple):
    """A text node of the page, without invisible characters.

    `element` is its parent, `link` the `a` element around it, if any.
    """

    text: str
    element: HtmlElement
    link: HtmlElement | None


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A text between two block boundaries: its block, the element that holds it, and its text nodes.

    `dropped` is the reason why a method drops the leaf while it cuts the page into blocks; None for the others.
    """

    block: Block
    node: Node
    pieces: tuple[Piece, ...] = ()
    dropped: Reason | None = None


def walk(root: HtmlElement) -> list[Leaf]:
    """Return the leaf texts of a page in reading order; empty for a page without text.

    A leaf ends where a block-level element (or `br`) begins or ends. Inline elements do not separate words. Pieces of a
    text that no browser shows are white space in it (cleaning/input/visibility.py).
    """
    start = body_of(root)
    leaves = _walk_without(start, NEVER_CONTENT)
    words = _count_leaf_words(leaves)
    if words >= _SHELL_WORDS:
        return leaves
    unscripted = _walk_without(start, NEVER_CONTENT - {"noscript"})
    return unscripted if _count_leaf_words(unscripted) >= max(_SHELL_WORDS, 2 * words) else leaves


def body_of(root: HtmlElement) -> HtmlElement:
    """Return the element that holds a page's text: the body, or the root of a tree without one."""
    body = root if root.tag == "body" else next(root.iterchildren("body"), None)
    return root if body is None else body


def enclosing_nodes(leaves: Iterable[Leaf]) -> list[Node]:
    """Return the block-level elements around the leaves, each once, outer elements before those inside them."""
    nodes: dict[Node, None] = {}
    for leaf in leaves:
        new = list(takewhile(lambda node: node not in nodes, leaf.node.chain()))
        nodes.update(dict.fromkeys(reversed(new)))
    return list(nodes)


def make_block(position: int, path: str, kind: Kind, parts: Sequence[Sequence[Piece]], tenths: int) -> Block:
    """Return the block of these text nodes: the nodes of a part are joined as they are, the parts by a space."""
    joined = " ".join(["".join([piece.text for piece in part]) for part in parts])
    text = tidy_code(joined) if kind is Kind.CODE else on_one_line(joined)
    words = count_words(text)
    linked = [piece.text for part in parts for piece in part if piece.link is not None]
    link_words = min(words, count_words(" ".join(linked))) if linked else 0
    return Block(position, path, kind, text, words, link_words, tenths / 10)


def _walk_without(start: HtmlElement, skipped: frozenset[str]) -> list[Leaf]:
    walked = _Walk(start, skipped)
    walked.run()
    return walked.leaves


def _count_leaf_words(leaves: list[Leaf]) -> int:
    return sum(leaf.block.words for leaf in leaves)


class _Walk:
    """The state of one walk; `leaves` is its result.

    The text nodes since the last block boundary are gathered, with the levels of their inline elements, and with the
    priority of these elements in tenths. The stack holds the elements that the walk is inside. With each stand the
    innermost block-level element around its texts, and the level of the outermost inline element that hides them.
    """

    def __init__(self, start: HtmlElement, skipped: frozenset[str]) -> None:
        self.leaves: list[Leaf] = []
        self._start = start
        self._skipped = skipped
        self._paths = ElementPaths(start)
        self._stack: list[tuple[HtmlElement, Node, int]] = []
        self._pieces: list[Piece] = []
        self._levels: list[int] = []
        self._tenths = 0
        self._link: HtmlElement | None = None
        self._links: list[HtmlElement | None] = []  # the links around the one that is open

    def run(self) -> None:
        """Visit the tree in reading order, without recursion: pages nest thousands of levels deep."""
        start, stack, skipped = self._start, self._stack, self._skipped
        stack.append((start, Node(start, start.tag, None, Kind.PARAGRAPH), SHOWN))
        if text := start.text:
            self._text(text, start, SHOWN)
        left_out: set[HtmlElement] = set()
        for element in islice(start.iter(), 1, None):
            outer = element.getparent()
            if outer in left_out:
                left_out.add(element)
                continue
            while stack[-1][0] is not outer:
                self._close()
            tag = element.tag
            if isinstance(tag, str) and tag not in skipped and not is_ornament(element):
                self._open(element, tag)
            else:
                left_out = {element}
                self._tail(element)
        while stack:
            self._close()

    def _open(self, element: HtmlElement, tag: str) -> None:
        _, node, outer_level = self._stack[-1]
        level = SHOWN
        if tag in BLOCK_TAGS:
            self._cut(node)
            node = Node(element, tag, node, _kind_of(tag, node))
        elif tag == "br":
            self._cut(node)
        else:
            self._inline(element, tag)
            level = outer_level or (unseen_level(tag, element.attrib) if may_be_unseen(element) else SHOWN)
        self._stack.append((element, node, level))
        if text := element.text:
            self._text(text, element, level)

    def _inline(self, element: HtmlElement, tag: str) -> None:
        self._tenths += PRIORITY_TENTHS.get(tag, 0)
        if tag == "a":
            self._links.append(self._link)
            self._link = element
        elif tag == "img" and (element.get("alt") or "").strip():
            self._tenths += IMAGE_TENTHS

    def _close(self) -> None:
        element, node, _ = self._stack.pop()
        if node.element is element:
            self._cut(node)
        elif element is self._link:
            self._link = self._links.pop()
        if self._stack:
            self._tail(element)

    def _tail(self, element: HtmlElement) -> None:
        if tail := element.tail:
            outer, _, level = self._stack[-1]
            self._text(tail, outer, level)

    def _text(self, text: str, element: HtmlElement, level: int) -> None:
        if self._pieces or not text.isspace():
            self._pieces.append(Piece(text, element, self._link))
            self._levels.append(level)

    def _cut(self, node: Node) -> None:
        """End the leaf of a block-level element."""
        pieces, levels, tenths = self._pieces, self._levels, self._tenths
        self._tenths = 0
        if not pieces:
            return
        self._pieces, self._levels = [], []
        if any(levels) and node.kind is not Kind.CODE:
            pieces = _shown_pieces(pieces, levels)
        pieces = _visible_pieces(pieces)
        tenths += PRIORITY_TENTHS.get(node.tag, 0)
        block = make_block(len(self.leaves), self._paths.of(node.element), node.kind, [pieces], tenths)
        if block.text:
            self.leaves.append(Leaf(block, node, tuple(pieces)))


def _visible_pieces(pieces: list[Piece]) -> list[Piece]:
    """Return the text nodes of a leaf without invisible characters; one may become empty."""
    texts = [piece.text for piece in pieces]
    if not any(not text.isascii() and MAYBE_INVISIBLE.search(text) for text in texts):
        return pieces
    return [piece._replace(text=text) for piece, text in zip(pieces, visible_parts(texts), strict=True)]


def _shown_pieces(pieces: list[Piece], levels: list[int]) -> list[Piece]:
    """Return the text nodes of a leaf as a reader sees them; one may become empty."""
    texts = shown_texts([piece.text for piece in pieces], levels)
    return [piece._replace(text=text) for piece, text in zip(pieces, texts, strict=True)]


def _kind_of(tag: str, parent: Node) -> Kind:
    own = _KINDS.get(tag)
    if own is not None:
        return own
    ended = tag in _KIND_ENDS or parent.tag in _OWN_KIND_ONLY
    return Kind.PARAGRAPH if ended else parent.kind


def is_ornament(element: HtmlElement) -> bool:
    """Return True for an element whose text is not part of the text around it.

    The link of a heading to itself or to its editor, the name of an icon that a font shows in its place, the line
    numbers of a listing, and the labels of its languages.
    """
    test = _ORNAMENT_TESTS.get(element.tag)
    return test is not None and test(element, element.get("class") or "")


def _is_ornamental_link(link: HtmlElement, names: str) -> bool:
    return _is_anchor(link, names) or _is_inline_ornament(link, names)


def _is_ornamental_span(span: HtmlElement, names: str) -> bool:
    if names == _LANGUAGE_CLASS:
        outer = span.getparent()
        return outer is not None and (outer.get("class") or "").startswith("language-")
    if _names_anchor(names) and _heading_around(span) is not None:
        return _shown_text(span) in _ANCHOR_SIGNS
    return _is_inline_ornament(span, names)


def _is_inline_ornament(element: HtmlElement, names: str) -> bool:
    if not _names_ornament(names):
        return False
    if _ICON_CLASS.search(names):
        return _is_icon(element, names)
    return _EDIT_CLASS.search(names) is not None or (_names_numbers(names) and _is_in_code(element))


def _is_icon(element: HtmlElement, names: str) -> bool:  # noqa: ARG001 — as the other tests
    return not len(element) and _ICON_NAME.fullmatch(element.text or "") is not None


def _is_gutter(element: HtmlElement, names: str) -> bool:
    if not _names_numbers(names):
        return False
    numbered = False
    for text in islice(element.itertext(), _MAX_LINES):
        if _LINE_NUMBERS.fullmatch(text) is None:
            return False
        numbered = numbered or not text.isspace()
    return numbered


def _names_listing(label: HtmlElement, names: str) -> bool:  # noqa: ARG001 — as the other tests
    """Return True for the label by which a reader chooses among the listings of a group."""
    tabs = label.getparent()
    group = None if tabs is None else tabs.getparent()
    return group is not None and _LISTINGS_CLASS.search(group.get("class") or "") is not None


def _is_anchor(link: HtmlElement, names: str) -> bool:
    """Return True for a link that leads to the heading around it, or to its editor."""
    address = link.get("href") or ""
    named = _names_anchor(names)
    if "#" not in address and not named:
        return False
    heading = _heading_around(link)
    if heading is None:
        return False
    text = _shown_text(link)
    if text in _ANCHOR_SIGNS:
        return not (link.tail or "").lstrip()[:1].isdigit()  # the link of "§ 5" is its sign
    if not address.startswith("#") or not (named or text.casefold() in _ANCHOR_WORDS):
        return False
    return len(text) < len(_shown_text(heading))  # some headings are links to themselves


def _shown_text(element: HtmlElement) -> str:
    return normalise("".join(islice(element.itertext(), _MAX_ANCHOR_TEXTS)))


def _heading_around(element: HtmlElement) -> HtmlElement | None:
    """Return the heading that an element is in, up to a few levels above it; None otherwise."""
    outer = element.getparent()
    for _ in range(HEADING_LEVELS):
        if outer is None or outer.tag in HEADING_TAGS:
            return outer
        outer = outer.getparent()
    return None


def _is_in_code(element: HtmlElement) -> bool:
    return any(outer.tag == "pre" for outer in islice(element.iterancestors(), _MAX_CODE_LEVELS))


_ORNAMENT_TESTS: Mapping[str, Callable[[HtmlElement, str], bool]] = {
    "a": _is_ornamental_link,
    "span": _is_ornamental_span,
    **dict.fromkeys(("i", "em", "b"), _is_inline_ornament),
    **dict.fromkeys(("mat-icon", "md-icon", "v-icon"), _is_icon),
    **dict.fromkeys(("td", "div", "pre"), _is_gutter),
    "label": _names_listing,
}


class ElementPaths:
    """The XPaths of the elements inside `start` (`/html/body/div[2]/p[1]`); each element's children are counted once.

    lxml counts an element's siblings each time it is asked for a path: quadratic time on a page of one long list.
    """

    def __init__(self, start: HtmlElement) -> None:
        self._known: dict[HtmlElement, tuple[str, int]] = {start: (start.getroottree().getpath(start), 0)}
        self._steps: dict[HtmlElement, tuple[str, int, int]] = {}

    def of(self, element: HtmlElement) -> str:
        """Return the path of an element, up to a bound on depth; for an element outside `start`, lxml's path."""
        ahead = []
        outer = element
        while outer not in self._known:
            ahead.append(outer)
            outer = outer.getparent()
            if outer is None:
                path: str = element.getroottree().getpath(element)
                return path
        path, level = self._known[outer]
        for inner in reversed(ahead):
            if inner not in self._steps:
                self._number_children(outer)
            if level < MAX_PATH_LEVELS:
                path = f"{path}/{path_step(*self._steps[inner])}"
            level += 1
            self._known[inner] = path, level
            outer = inner
        return path

    def _number_children(self, parent: HtmlElement) -> None:
        counts: dict[str, int] = {}
        for index, child in enumerate(parent.iterchildren(etree.Element), 1):
            tag = child.tag
            number = counts[tag] = counts.get(tag, 0) + 1
            self._steps[child] = tag, number, index


def path_step(tag: str, number: int, index: int) -> str:
    """Return the step of a path to the child with this number among the children of its tag, and index among all."""
    return f"{tag}[{number}]" if tag.isalnum() or _PATH_NAME.fullmatch(tag) else f"*[{index}]"

"""The outline of a page: its texts with the headings, lists, tables, quotes and code around them.

It is read from the page's HTML by a parser that cleaning does not use (Lexbor, in resiliparse), so that what a reader
marks on it, and what is taken from it as the truth, owes nothing to cleaning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

import xxhash
from resiliparse.parse.html import HTMLTree, NodeType

BLOCKS = frozenset(
    "address article aside blockquote body button center dd details dialog dir div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hr label legend li main menu nav ol option p pre section summary table tbody "
    "td tfoot th thead tr ul caption".split()
)
UNSEEN = frozenset(
    "applet audio canvas datalist embed frameset head iframe map noframes noscript object script select style svg "
    "template textarea video title link meta".split()
)
_GUTTER = re.compile(
    r"(?:^|[\s_-])(?:gutter|lineno|linenos|line-?numbers?(?:-rows)?|hljs-ln-numbers|copy(?:btn|-btn|-button)?|test-arrow)(?=$|[\s_-])"
)
_UNSEEN_STYLE = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_LINES = frozenset(["div", "li", "p", "tr"])
_FORMULA_CLASSES = frozenset(["katex", "katex-display", "MathJax", "mwe-math-element"])
_WRAPPED = re.compile(r"^\{\\(?:displaystyle|textstyle)\s*(.*)\}$", re.DOTALL)


@dataclass
class Unit:
    """A text between two block boundaries, and the numbers of the elements around it; 0 stands for none.

    `lists` are the numbers of the lists around it, `item` that of the innermost item.
    """

    text: str
    heading: int = 0
    level: int = 0
    lists: tuple[int, ...] = ()
    item: int = 0
    term: bool = False
    table: int = 0
    row: int = 0
    code: int = 0
    quote: int = 0
    links: list[tuple[str, str]] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Cell:
    text: str
    columns: int
    rows: int


@dataclass
class Outline:
    """The units of a page from 1 on, and by number its tables (rows of cells), code texts and numbered lists."""

    units: dict[int, Unit]
    tables: dict[int, list[list[Cell]]]
    codes: dict[int, str]
    ordered: set[int]

    @property
    def digest(self):
        """Return a hash that changes if the units or the elements around them do."""
        state = xxhash.xxh64()
        for unit in self.units.values():
            around = (unit.level, unit.lists, unit.item, unit.table, unit.row, unit.code, unit.quote)
            state.update(f"{unit.text}\0{around}\n".encode())
        return state.hexdigest()


def read_outline(body, url):
    """Return the outline of a page's bytes in UTF-8."""
    tree = HTMLTree.parse(body.decode("utf-8", "replace"))
    base = (
        next((element.getattr("href") for element in tree.head.get_elements_by_tag_name("base")), None)
        if tree.head
        else None
    )
    reading = _Reading(urljoin(url or "", base or ""), url or "")
    reading.read(tree.body)
    return Outline(reading.units, reading.tables, reading.codes, reading.ordered)


class _Reading:
    def __init__(self, base, url):
        self.units, self.tables, self.codes, self.ordered = {}, {}, {}, set()
        self._base, self._page = base, url.partition("#")[0]
        self._parts, self._links, self._formulas = [], [], []
        self._counts = {}

    def read(self, body):
        """Visit the tree in reading order, without recursion: pages nest thousands of levels deep."""
        around = Unit("")
        stack = [(body, _children(body), around)]
        while stack:
            element, children, around = stack[-1]
            child = next(children, None)
            if child is None:
                stack.pop()
                if element.tag in BLOCKS and (not around.code or element.tag == "pre"):
                    self._cut(around)
            elif child.type == NodeType.TEXT:
                self._parts.append(child.text)
            elif child.type == NodeType.ELEMENT and (inner := self._open(child, around)) is not None:
                stack.append((child, _children(child), inner))

    def _open(self, element, around):
        """Return what is around the texts of an element; None for one that is read whole or not at all."""
        tag = element.tag
        tex = formula_of(element)
        if tex is not None:
            self._parts.append(" \u27e6\u27e7 ")
            self._formulas += [tex] if tex else []
            return None
        if tag in UNSEEN or _is_unseen(element):
            return None
        if tag == "br":
            self._parts.append(" ")
        elif tag == "a":
            self._link(element)
        if tag not in BLOCKS or around.code:
            return around
        self._cut(around)
        return self._inside(element, around)

    def _link(self, element):
        text = " ".join(element.text.split())
        address = (element.getattr("href") or "").strip()
        if not text or not address or address.startswith("#"):
            return
        try:
            url = urljoin(self._base, address)
        except ValueError:
            return
        if url.partition("#")[0] != self._page and urlsplit(url).scheme in ("http", "https"):
            self._links.append((url, text))

    def _next(self, kind):
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return self._counts[kind]

    def _inside(self, element, around):
        inner = Unit(**{**vars(around), "text": "", "links": [], "formulas": []})
        tag = element.tag
        if re.fullmatch("h[1-6]", tag):
            inner.heading = self._next("heading")
            inner.level = int(tag[1])
        elif tag in ("ul", "ol", "menu", "dir"):
            number = self._next("list")
            self.ordered |= {number} if tag == "ol" else set()
            inner.lists, inner.item = (*around.lists, number), 0
        elif tag == "li":
            inner.item = self._next("item")
        elif tag in ("dt", "dd"):
            inner.term, inner.item = True, 0
        elif tag == "table":
            inner.table, inner.row, inner.lists, inner.item = self._next("table"), 0, (), 0
            self.tables[inner.table] = _grid(element)
        elif tag == "tr":
            inner.row = self._next("row")
        elif tag == "pre":
            inner.code = self._next("code")
            self.codes[inner.code] = code_text(element)
        elif tag == "blockquote" and not around.quote:
            inner.quote = self._next("quote")
        return inner

    def _cut(self, around):
        text = " ".join("".join(self._parts).split())
        if text:
            around = Unit(**{**vars(around), "text": text, "links": self._links, "formulas": self._formulas})
            self.units[len(self.units) + 1] = around
            self._links, self._formulas = [], []
        self._parts = []


def _children(element):
    """Yield the children of an element; `child_nodes` counts from the first one for each of them."""
    child = element.first_child
    while child is not None:
        yield child
        child = child.next


def _is_unseen(element):
    """Return True for an element that readers do not see, or that edits what they see."""
    names = (element.getattr("class") or "").split()
    return bool(_UNSEEN_STYLE.search(element.getattr("style") or "")) or "mw-editsection" in names


def formula_of(element):
    """Return the TeX of an element that shows a formula, "" if it states none; None for any other element."""
    tag = element.tag
    if tag == "script":
        return (element.text or "").strip() if (element.getattr("type") or "").startswith("math/tex") else None
    names = set((element.getattr("class") or "").split())
    if tag == "img":
        tex = (element.getattr("alt") or "").strip()
        is_tex = names & {"latex", "tex"} or "latex" in (element.getattr("src") or "")
        return tex.strip("$ ") if tex and is_tex else None
    if tag != "math" and not names & _FORMULA_CLASSES:
        return None
    for annotation in element.get_elements_by_tag_name("annotation"):
        if "tex" in (annotation.getattr("encoding") or ""):
            return _unwrapped(annotation.text.strip())
    math = element if tag == "math" else next(iter(element.get_elements_by_tag_name("math")), None)
    return _unwrapped((math.getattr("alttext") or "").strip()) if math is not None else ""


def _unwrapped(tex):
    match = _WRAPPED.match(tex)
    return match[1].strip() if match else tex


def _span(cell, name):
    value = re.match(r"\d{1,4}", (cell.getattr(name) or "").strip())
    return max(1, int(value[0])) if value else 1


def _grid(table):
    """Return the rows of a table; those of tables inside it are not its own."""
    rows = []
    stack = [table]
    while stack:
        element = stack.pop()
        if element.tag == "tr":
            cells = [cell for cell in _children(element) if cell.type == NodeType.ELEMENT and cell.tag in ("td", "th")]
            if cells:
                rows.append([Cell(_seen_text(cell), _span(cell, "colspan"), _span(cell, "rowspan")) for cell in cells])
        elif element is table or element.tag in ("tbody", "thead", "tfoot"):
            stack += [child for child in _children(element) if child.type == NodeType.ELEMENT][::-1]
    return rows


def _seen_text(element):
    return " ".join("".join(_texts(element, lines=False)).split())


def code_text(element):
    """Return the lines of a `pre` without line numbers and buttons."""
    text = "".join(_texts(element, lines=True)).replace("\r\n", "\n").replace("\r", "\n")
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def _texts(root, *, lines):
    """Return the text nodes inside an element, and breaks between them."""
    parts = []
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            parts.append("\n" if node == "edge" and parts and not parts[-1].endswith("\n") else "")
        elif node.type == NodeType.TEXT:
            parts.append(node.text)
        elif node.type != NodeType.ELEMENT or node.tag in UNSEEN or _is_unseen(node):
            continue
        elif node.tag == "br":
            parts.append("\n")
        elif not (lines and (_GUTTER.search(node.getattr("class") or "") or node.tag == "button")):
            edges = node is not root and node.tag in (_LINES if lines else BLOCKS)
            inside = list(_children(node))[::-1]
            stack += ["edge", *inside, "edge"] if edges else inside
    return parts

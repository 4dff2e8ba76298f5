"""From a page's tree and the decisions on its texts to a document: the kept texts, and the elements that hold them."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from cleaning.input.visibility import SHOWN, may_be_unseen, shown_texts, unseen_level
from cleaning.leaves import BLOCK_TAGS, HEADING_TAGS, MAX_PATH_LEVELS, NEVER_CONTENT, body_of, is_ornament, path_step
from cleaning.notes import find_notes
from cleaning.structure.build import Builder
from cleaning.structure.elements import (
    PageUrls,
    base_address,
    code_language,
    code_of,
    is_data_table,
    is_gutter,
    span_of,
)
from cleaning.structure.footnotes import resolve_footnotes
from cleaning.structure.formulas import (
    formula_node,
    formula_of,
    formula_of_image,
    formulas_in,
    holds_formula,
    is_preview,
    may_hold_formula,
    may_hold_tex,
    typesets_text,
)
from cleaning.structure.inline import Format, Segment, is_blank, visible_segments, without_controls
from cleaning.structure.nodes import CODE_SPAN, FOOTNOTE_MARK, IMAGE, LINK, RULE, NodeType, StructureNode
from cleaning.terms import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lxml.html import HtmlElement

    from cleaning.blocks import Page
    from cleaning.structure.build import Container
    from cleaning.structure.elements import Attributes
    from cleaning.structure.inline import Formats
    from cleaning.structure.marks import TextMarks


MAX_FORMATS = 5
FORMATS = {
    "b": Format(NodeType.STRONG),
    "strong": Format(NodeType.STRONG),
    "i": Format(NodeType.EMPHASIS),
    "em": Format(NodeType.EMPHASIS),
    "dfn": Format(NodeType.EMPHASIS),
    "var": Format(NodeType.EMPHASIS),
    "del": Format(NodeType.DELETED),
    "s": Format(NodeType.DELETED),
    "strike": Format(NodeType.DELETED),
    "sub": Format(NodeType.SUBSCRIPT),
    "sup": Format(NodeType.SUPERSCRIPT),
    "code": Format(NodeType.CODE_SPAN),
    "kbd": Format(NodeType.CODE_SPAN),
    "samp": Format(NodeType.CODE_SPAN),
    "tt": Format(NodeType.CODE_SPAN),
}
# Elements whose attributes say if they have a format.
STATED = ("cite", "span")
_BOLD = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)", re.IGNORECASE)
_ITALIC = re.compile(r"font-style\s*:\s*italic", re.IGNORECASE)
CONTAINERS = {
    "ul": NodeType.LIST,
    "ol": NodeType.LIST,
    "menu": NodeType.LIST,
    "dir": NodeType.LIST,
    "li": NodeType.ITEM,
    "dl": NodeType.DEFINITIONS,
    "dt": NodeType.TERM,
    "dd": NodeType.DESCRIPTION,
    "blockquote": NodeType.QUOTE,
    "figure": NodeType.FIGURE,
    "figcaption": NodeType.CAPTION,
} | dict.fromkeys(HEADING_TAGS, NodeType.HEADING)
TABLE_PARTS = {"caption": NodeType.CAPTION, "tr": NodeType.ROW, "td": NodeType.CELL, "th": NodeType.CELL}
# A table stays whole if this share of its texts is kept. With less, its kept texts are paragraphs.
MIN_KEPT_CELLS = 0.25
# Elements without text that a kept text before and one after them can hold between them.
TEXTLESS = ("img", "math", "mjx-container", "script", "hr")
MAX_FORMULA_LEVELS = 4  # from an image or a `math` element to the one that shows the formula


class _Owner(NamedTuple):
    """The block-level element that holds texts directly. `kept`: some of them are kept; `whole`: all of them are."""

    element: HtmlElement
    path: str
    kept: bool
    whole: bool


class _Frame:
    """An element that the reader is inside. `path` is "" if no text inside its block-level children is kept.

    `unseen` is the level of the outermost inline element around its texts that is not shown.
    """

    __slots__ = ("children", "container", "counts", "element", "formats", "index", "level", "owner", "path", "unseen")

    def __init__(
        self,
        element: HtmlElement,
        path: str,
        level: int,
        owner: _Owner,
        formats: Formats,
        container: Container | None = None,
    ) -> None:
        self.unseen = SHOWN
        self.element = element
        self.children: Iterator[HtmlElement] = iter(element)
        self.path = path
        self.level = level
        self.owner = owner
        self.formats = formats
        self.container = container
        self.counts: dict[str, int] = {}
        self.index = 0


def read_structure(page: Page, marks: TextMarks) -> StructureNode:
    """Return the document of a page's kept texts; an empty one if nothing was kept."""
    return _Reader(page, marks).run() if 1 in marks.kept else StructureNode(NodeType.DOCUMENT)


class ElementReader:
    """Reads single elements of a page: links, images, formulas, footnotes."""

    def __init__(self, page: Page, base: str | None) -> None:
        self._root = page.root
        self._addresses = PageUrls(page.url, base)
        self.footnotes = find_notes(page.root)

    def finished(self, document: StructureNode) -> StructureNode:
        """Return the document with its footnotes."""
        return resolve_footnotes(document) if self.footnotes.marks else document

    def link(self, anchor: HtmlElement) -> Format | None:
        """Return the format of an `a` element; None if its address is of no use."""
        if (name := self.footnotes.marks.get(anchor)) is not None:
            return Format(FOOTNOTE_MARK, name)
        href = anchor.get("href")
        return self.link_to(href) if href and not self._addresses.is_on_page(href) else None

    def link_to(self, href: str) -> Format | None:
        """Return the format of a link to an address that names no place on the page; None if it is of no use."""
        url = self._addresses.absolute(href)
        return Format(LINK, url) if url else None

    def image(self, element: Attributes, *, in_table: bool = False) -> StructureNode | None:
        """Return the node of an image, or of the formula that it shows; None for an image that is left out.

        In a table, an image without an address of use has a node too if it has an alternative text.
        """
        formula = formula_of_image(element)
        if formula is not None:
            return formula_node(formula)
        url = self._addresses.of_image(element)
        alternative = normalise(element.get("alt") or "")
        return StructureNode(IMAGE, url=url, text=alternative) if url or (in_table and alternative) else None

    def textless(self, element: HtmlElement) -> list[StructureNode]:
        """Return the images, formulas and rules of an element."""
        nodes: list[StructureNode] = []
        seen: set[HtmlElement] = set()
        for inner in element.iter(*TEXTLESS):
            if inner.tag == "script" and not holds_formula(inner):
                continue
            if (whole := _formula_around(inner, element)) is not None:
                # A wiki's formula is a `math` and an image of it.
                if whole not in seen and (formula := formula_of(whole)) is not None:
                    nodes.append(formula_node(formula))
                seen.add(whole)
                continue
            if inner.tag == "hr":
                nodes.append(StructureNode(RULE))
            elif inner.tag == "img":
                node = self.image(inner)
                nodes += [node] if node else []
            elif holds_formula(inner) and (formula := formula_of(inner)) is not None:
                nodes.append(formula_node(formula))
        return nodes

    def with_formulas(self, segments: list[Segment]) -> list[Segment]:
        """Return the segments with the TeX in their text as formulas, if the page has a script that typesets it."""
        if not any(isinstance(part, str) and may_hold_tex(part) for _, part in segments) or not self._typesets:
            return segments
        parts: list[Segment] = []
        for formats, part in segments:
            index = 0
            if isinstance(part, str) and not in_code(formats):
                for start, end, formula in formulas_in(part):
                    parts += [Segment(formats, part[index:start])] if start > index else []
                    parts.append(Segment(formats, formula_node(formula)))
                    index = end
                part = part[index:]  # noqa: PLW2901 — what follows the last formula
            if part:
                parts.append(Segment(formats, part))
        return parts

    @cached_property
    def _typesets(self) -> bool:
        return typesets_text(self._root)


class _Reader:
    """The state of one reading. It goes only into elements that hold kept texts, and cuts texts as the walk does."""

    def __init__(self, page: Page, marks: TextMarks) -> None:
        self._marks = marks
        self._elements = ElementReader(page, base_address(page.root))
        self._build = Builder(marks.blocks, self._elements.textless, marks.quote_heads)
        self._start = body_of(page.root)
        shell = any("/noscript" in path for path in marks.by_path)
        self._skipped = NEVER_CONTENT - {"noscript"} if shell else NEVER_CONTENT
        self._waiting: dict[str, Iterator[int]] = {}
        self._segments: list[Segment] = []
        self._unseen: dict[int, int] = {}  # the levels of the segments that are not shown, by their number
        self._solid = False

    def run(self) -> StructureNode:
        start = self._start
        path = start.getroottree().getpath(start)
        owner = self._owner(start, path, whole=False)
        stack = [_Frame(start, path, 0, owner, ())]
        self._text(start.text, stack[0])
        while stack:
            frame = stack[-1]
            child = next(frame.children, None)
            if child is None:
                stack.pop()
                self._close(frame, stack[-1] if stack else None)
            elif isinstance(child.tag, str):
                opened = self._child(child, frame)
                if opened is None:
                    self._text(child.tail, frame)
                else:
                    stack.append(opened)
                    self._text(child.text, opened)
            else:
                self._text(child.tail, frame)
        return self._elements.finished(self._build.finish())

    # Opening and closing ------------------------------------------------------------------------------------------

    def _child(self, child: HtmlElement, frame: _Frame) -> _Frame | None:  # noqa: PLR0911 — one for each kind
        """Read an element whole and return None, or return the frame in which its children are read."""
        tag: str = child.tag
        frame.index += 1
        path = ""
        if frame.path:
            number = frame.counts[tag] = frame.counts.get(tag, 0) + 1
            deep = frame.level >= MAX_PATH_LEVELS
            path = frame.path if deep else f"{frame.path}/{path_step(tag, number, frame.index)}"
        inside = frame.owner.whole or path in self._marks.around
        if tag == "br":
            self._cut(frame.owner)
            self._build.line_break()
            return None
        if tag == "img":
            self._image(child, frame)
            return None
        if may_hold_formula(child) and self._formula(child, frame, path, inside=inside):
            return None
        if tag in self._skipped or is_ornament(child):
            return None
        if tag not in BLOCK_TAGS:
            return self._inline(child, frame, path if inside else "", inside=inside)
        self._cut(frame.owner)
        if not inside:
            self._build.hold_textless(child)
            return None
        return self._block(child, frame, path)

    def _inline(self, child: HtmlElement, frame: _Frame, path: str, *, inside: bool) -> _Frame | None:
        if not inside and not frame.owner.kept:
            self._build.hold_textless(child)
            return None
        formats = frame.formats
        if len(formats) < MAX_FORMATS:
            if child.tag == "a":
                format_ = self._elements.link(child)
            elif child.tag in STATED:
                in_heading = frame.owner.element.tag in HEADING_TAGS
                format_ = stated_format(child.tag, child.get("class"), child.get("style"), in_heading=in_heading)
            else:
                format_ = FORMATS.get(child.tag)
            if format_ is not None and format_ not in formats and not in_code(formats):
                formats = with_format(formats, format_)
        unseen = frame.unseen or (unseen_level(child.tag, child.attrib) if may_be_unseen(child) else SHOWN)
        opened = _Frame(child, path, frame.level + 1, frame.owner, formats)
        opened.unseen = unseen
        return opened

    def _block(self, child: HtmlElement, frame: _Frame, path: str) -> _Frame | None:
        tag = child.tag
        self._build.edge()
        if tag == "pre":
            self._code(child, path)
            return None
        owner = self._owner(child, path, whole=frame.owner.whole)
        container = None
        if (name := self._elements.footnotes.notes.get(child)) is not None:
            container = self._build.open(NodeType.FOOTNOTE, text=name)
        elif (is_quote := self._marks.quotes.elements.get(child)) is not None and not self._build.in_table():
            container = self._build.open(NodeType.QUOTE) if is_quote else None
        elif tag == "table":
            owner, container = self._table(child, owner)
        elif tag in TABLE_PARTS:
            container = self._table_part(child)
        elif tag in CONTAINERS:
            container = self._container(child, frame)
        return _Frame(child, path, frame.level + 1, owner, frame.formats, container)

    def _container(self, child: HtmlElement, frame: _Frame) -> Container | None:
        tag = child.tag
        kind = CONTAINERS[tag]
        if kind is NodeType.HEADING:
            return self._build.open(kind, level=int(tag[1]))
        if kind is NodeType.ITEM:
            return self._build.open(kind, level=item_number(child, frame.element, frame.counts["li"]))
        return self._build.open(kind)

    def _table(self, child: HtmlElement, owner: _Owner) -> tuple[_Owner, Container | None]:
        if self._build.in_table() or not is_data_table(child):
            return owner, None
        if not owner.whole and self._kept_share(owner.path) < MIN_KEPT_CELLS:
            return owner, None
        return owner._replace(whole=True), self._build.open(NodeType.TABLE)

    def _table_part(self, child: HtmlElement) -> Container | None:
        if not self._build.in_table():
            return None
        kind = TABLE_PARTS[child.tag]
        if kind is not NodeType.CELL:
            return self._build.open(kind)
        header = child.tag == "th" or (child.getparent().getparent() is not None and _in_head(child))
        return self._build.open(kind, level=span_of(child, "colspan"), rows=span_of(child, "rowspan"), header=header)

    def _kept_share(self, path: str) -> float:
        numbers = self._numbers_inside(path)
        kept = sum(self._marks.kept[numbers.start : numbers.stop])
        return kept / len(numbers) if numbers else 0.0

    def _numbers_inside(self, path: str) -> range:
        """Return the numbers of the marks inside an element; none if it holds no kept text."""
        blocks, inner = self._marks.blocks, f"{path}/"
        start = self._marks.around.get(path, -1)
        if start < 0:
            return range(0)
        end = start + 1
        while start > 0 and (blocks[start - 1].path == path or blocks[start - 1].path.startswith(inner)):
            start -= 1
        while end < len(blocks) and (blocks[end].path == path or blocks[end].path.startswith(inner)):
            end += 1
        return range(start, end)

    def _close(self, left: _Frame, outer: _Frame | None) -> None:
        if left.owner.element is left.element:
            self._cut(left.owner)
            self._build.edge()
            if left.container is not None:
                self._build.close(left.container)
        if outer is not None:
            self._text(left.element.tail, outer)

    # Texts --------------------------------------------------------------------------------------------------------

    def _owner(self, element: HtmlElement, path: str, *, whole: bool) -> _Owner:
        return _Owner(element, path, whole or path in self._marks.kept_paths, whole)

    def _text(self, text: str | None, frame: _Frame) -> None:
        if text and frame.owner.kept:
            text = without_controls(text)
            if text and (self._segments or not text.isspace()):
                if frame.unseen:
                    self._unseen[len(self._segments)] = frame.unseen
                self._segments.append(Segment(frame.formats, text))
                self._solid = self._solid or not is_blank(text)

    def _cut(self, owner: _Owner) -> None:
        """End a text. It is added to the document if it is kept."""
        if not self._segments:
            return
        segments, solid = self._segments, self._solid
        self._segments, self._solid = [], False
        if self._unseen:
            segments = shown_segments(segments, self._unseen)
            self._unseen = {}
        if not solid:
            self._build.hold([segment.part for segment in segments if not isinstance(segment.part, str)])
            return
        number = self._next_number(owner.path)
        if owner.whole or (number >= 0 and self._marks.kept[number]):
            self._build.add_text(self._elements.with_formulas(visible_segments(segments)), number)
        else:
            self._build.edge()

    def _next_number(self, path: str) -> int:
        waiting = self._waiting.get(path)
        if waiting is None:
            waiting = self._waiting[path] = iter(self._marks.by_path.get(path, ()))
        return next(waiting, -1)

    # Elements that are read whole ---------------------------------------------------------------------------------

    def _code(self, element: HtmlElement, path: str) -> None:
        numbers = self._numbers_inside(path)
        if is_gutter(element):
            return
        code = code_of(element)
        if code:
            kept = [number for number in numbers if self._marks.kept[number]]
            self._build.add_code(StructureNode(NodeType.CODE, text=code, language=code_language(element)), kept)

    def _image(self, element: HtmlElement, frame: _Frame) -> None:
        if not frame.owner.kept:
            self._build.hold_image(element)
        elif (node := self._elements.image(element, in_table=self._build.in_table())) is not None:
            self._segments.append(Segment(frame.formats, node))

    def _formula(self, child: HtmlElement, frame: _Frame, path: str, *, inside: bool) -> bool:
        """Read an element that shows a formula; return False for any other element."""
        if is_preview(child):
            self._solid = self._solid or (frame.owner.kept and shows_text(child))
            return True
        if not holds_formula(child):
            return False
        formula = formula_of(child)
        if formula is None:
            return child.tag in self._skipped
        node = formula_node(formula)
        if child.tag in BLOCK_TAGS:
            self._cut(frame.owner)
            self._build.edge()
            numbers = self._numbers_inside(path) if inside and path else range(0)
            self._build.add_formula(node, [number for number in numbers if self._marks.kept[number]])
        elif frame.owner.kept:
            self._segments.append(Segment(frame.formats, node))
            self._solid = self._solid or shows_text(child)
        else:
            self._build.hold([node])
        return True


def shown_segments(segments: list[Segment], unseen: Mapping[int, int]) -> list[Segment]:
    """Return the segments of a text without those that a reader does not see; `unseen` has their levels."""
    texts = [part if isinstance(part, str) else "" for _, part in segments]
    visible = shown_texts(texts, [unseen.get(number, SHOWN) for number in range(len(texts))])
    both = zip(segments, visible, strict=True)
    return [
        Segment(formats, text if isinstance(part, str) else part)
        for (formats, part), text in both
        if text or not isinstance(part, str)
    ]


def _formula_around(element: HtmlElement, outermost: HtmlElement) -> HtmlElement | None:
    """Return the element of the formula that holds an element; None if it is outside the outermost element."""
    outer = element
    for _ in range(MAX_FORMULA_LEVELS):
        if outer is outermost:
            return None
        outer = outer.getparent()
        if may_hold_formula(outer) and holds_formula(outer):
            return outer
    return None


def stated_format(tag: str, names: str | None, style: str | None, *, in_heading: bool) -> Format | None:
    """Return the format of a `span` with a style, or of a `cite`, which is in italics unless it has a class."""
    if style and not in_heading and _BOLD.search(style):
        return FORMATS["b"]
    if (style and _ITALIC.search(style)) or (tag == "cite" and not names):
        return FORMATS["i"]
    return None


def in_code(formats: Formats) -> bool:
    """Return True for formats of code, in which nothing else means anything."""
    return bool(formats) and any(format_.type is CODE_SPAN for format_ in formats)


def with_format(formats: Formats, new: Format) -> Formats:
    """Return the formats with another one; a link goes to the outside, and there is one link at most."""
    if new.type is not LINK and new.type is not FOOTNOTE_MARK:
        return (*formats, new)
    if formats and any(format_.type is LINK or format_.type is FOOTNOTE_MARK for format_ in formats):
        return formats
    return (new, *formats)


def _in_head(cell: HtmlElement) -> bool:
    return bool(cell.getparent().getparent().tag == "thead")


def item_number(item: HtmlElement, outer: HtmlElement, count: int) -> int:
    """Return the number of an item, the `count`th of its list; 0 in a list without numbers."""
    if outer.tag != "ol":
        return 0
    first = outer.get("start") or "1"
    own = item.get("value") or ""
    if own.isdecimal() and own.isascii() and len(own) < 9:  # noqa: PLR2004 — CommonMark allows nine digits
        return int(own)
    start = int(first) if first.isdecimal() and first.isascii() and len(first) < 9 else 1  # noqa: PLR2004 — as above
    return start + count - 1


def shows_text(element: HtmlElement) -> bool:
    """Return True if the walk finds text in an element. Without recursion: pages nest thousands of levels deep."""
    stack = [element]
    while stack:
        node = stack.pop()
        if isinstance(node.tag, str) and node.tag not in NEVER_CONTENT:
            if node.text and not is_blank(node.text):
                return True
            stack += node
        if node is not element and node.tail and not is_blank(node.tail):
            return True
    return False

"""Builds a document from texts and elements in reading order: what stands in what, and what joins what."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cleaning.structure.inline import nest
from cleaning.structure.nodes import (
    BREAK,
    CAPTION,
    CELL,
    CODE,
    CODE_SPAN,
    DEFINITIONS,
    DELETED,
    DESCRIPTION,
    DOCUMENT,
    EMPHASIS,
    FIGURE,
    FOOTNOTE,
    FOOTNOTE_MARK,
    FORMULA,
    FORMULA_SPAN,
    HEADING,
    IMAGE,
    ITEM,
    LINK,
    LIST,
    MAX_NESTING,
    PARAGRAPH,
    QUOTE,
    ROW,
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
    from collections.abc import Callable, Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Block
    from cleaning.structure.inline import Segment

    Textless = Callable[[HtmlElement], list[StructureNode]]

_INLINE_CONTAINERS = frozenset([HEADING, TERM, CAPTION])
_INLINE = frozenset(
    [
        STRONG,
        EMPHASIS,
        DELETED,
        SUBSCRIPT,
        SUPERSCRIPT,
        CODE_SPAN,
        LINK,
        IMAGE,
        FORMULA_SPAN,
        FOOTNOTE_MARK,
        BREAK,
    ]
)
_TABLE_NODES = frozenset([TABLE, ROW, CELL])
_PARTS = {
    ITEM: LIST,
    TERM: DEFINITIONS,
    DESCRIPTION: DEFINITIONS,
}
_DEFINITION_PARTS = frozenset([TERM, DESCRIPTION])
# An item with one of these is a part of the page that its author marked up as a list: a post, a card.
_NOT_IN_ITEMS = frozenset([HEADING, TABLE])
# An image or formula stands between two kept texts if what was dropped between them is at most a caption or a byline.
_MAX_GAP_TEXTS = 4
_MAX_GAP_WORDS = 15
_PERMALINKS = frozenset("¶ # § 🔗 ⚓ \ue157".split())
_FORMULA = (FORMULA, FORMULA_SPAN)
# Only parts of their own stand directly in these.
_PARTED = frozenset([LIST, DEFINITIONS, TABLE, ROW])
# An image at the end of one of these stays there when the text after it follows.
_ENDED = frozenset([ITEM, QUOTE])


class Container:
    """A node that is still being filled."""

    def __init__(self, kind: NodeType, *, level: int = 0, rows: int = 1, header: bool = False, text: str = "") -> None:
        self.type = kind
        self.level = level
        self.rows = rows
        self.header = header
        self.text = text
        self.content: list[StructureNode | str] = []
        self.positions: list[int] = []
        self.after: list[StructureNode | str] = []  # what the parser has left inside, and follows it


class _Spot(NamedTuple):
    """Where held nodes stand, from the number `first` on: in `inner`, the last open node, and `outer` around it."""

    first: int
    depth: int
    inner: Container
    outer: Container


class Builder:
    """Takes the texts and elements of a page in reading order. Numbers count the page's texts."""

    def __init__(self, blocks: Sequence[Block], textless: Textless, heads: frozenset[int]) -> None:
        """`textless` returns the images, formulas and rules of an element.

        `heads` are the numbers of texts that name the speaker of the quote below them.
        """
        self._blocks = blocks
        self._textless = textless
        self._heads = heads
        self._root = Container(DOCUMENT)
        self._stack = [self._root]
        self._tables = 0
        self._held: list[StructureNode | HtmlElement] = []
        self._spots: list[_Spot] = []
        self._lowest = 0  # the fewest open nodes since the first one was held
        self._last = -1  # the number of the last text that was added
        self._paragraph: StructureNode | None = None
        self._breaks = 0

    def open(self, kind: NodeType, *, level: int = 0, rows: int = 1, header: bool = False, text: str = "") -> Container:
        """Begin a node in the last open one; one that nests too deep or adds nothing continues the open one instead."""
        outer = self._stack[-1]
        if self._goes_on(kind, outer):
            self._stack.append(outer)
            return outer
        container = Container(kind, level=level, rows=rows, header=header, text=text)
        self._tables += kind is TABLE
        self._stack.append(container)
        return container

    def _goes_on(self, kind: NodeType, outer: Container) -> bool:
        if kind in _INLINE_CONTAINERS:
            return outer.type in _INLINE_CONTAINERS and kind is not TERM
        return len(self._stack) > MAX_NESTING and kind not in _TABLE_NODES

    def close(self, container: Container) -> None:
        """End the node that was opened last."""
        self._stack.pop()
        outer = self._stack[-1]
        self._lowest = min(self._lowest, len(self._stack))
        if container is outer:
            return
        self._tables -= container.type is TABLE
        nodes = self._finished(container)
        if container.type in _DEFINITION_PARTS and outer.type in _DEFINITION_PARTS:
            # libxml2 does not end a `dd` at the next one.
            container.after[:0] = nodes
            outer.after = [*outer.after, *container.after] if outer.after else container.after
            return
        for node in [*nodes, *container.after]:
            self._append(outer, node)

    def in_table(self) -> bool:
        """Return True inside a table of data."""
        return self._tables > 0

    def edge(self) -> None:
        """End a paragraph: a block-level element begins or ends."""
        self._paragraph = None
        self._breaks = 0

    def line_break(self) -> None:
        """Begin a new line in the paragraph, or a new paragraph if there was no text since the last line break."""
        self._breaks += 1

    def add_text(self, segments: Sequence[Segment], number: int) -> None:
        """Add a text; -1 is the number of a text that is not a block of its own."""
        self._release(number)
        content = nest(segments)
        position = [self._blocks[number].position] if number >= 0 else []
        if number >= 0:
            self._last = number
        outer = self._stack[-1]
        if outer.type in _INLINE_CONTAINERS:
            if outer.content:
                _add_line(outer.content, " " if outer.type is HEADING else StructureNode(BREAK), content)
            else:
                outer.content += content
            outer.positions += position
        elif number in self._heads:
            self.edge()
            self._append(outer, StructureNode(QUOTE, [StructureNode(PARAGRAPH, content, position)], header=True))
        elif self._paragraph is not None and self._breaks == 1:
            _add_line(self._paragraph.content, StructureNode(BREAK), content)
            self._paragraph.positions.extend(position)
        else:
            self._add_paragraphs(outer, content, position)
        self._breaks = 0

    def add_code(self, node: StructureNode, numbers: Sequence[int]) -> None:
        """Add a code block with the texts of these numbers."""
        self._release(numbers[0] if numbers else -1)
        node.positions.extend(self._blocks[number].position for number in numbers)
        self._last = max(self._last, max(numbers, default=-1))
        self.edge()
        self._append(self._stack[-1], node)

    def add_formula(self, node: StructureNode, numbers: Sequence[int]) -> None:
        """Add a formula in an element of its own; it is held if none of its texts is kept."""
        if numbers or self.in_table():
            self.add_code(node, numbers)
        else:
            self.hold([node])

    def holds(self) -> bool:
        """Return True if `hold` would take a node: nothing stands in the main text before its first text."""
        return self._last >= 0

    def hold(self, nodes: Sequence[StructureNode]) -> None:
        """Hold nodes without text until the next text shows whether they stand in the main text."""
        inner = self._stack[-1]
        if inner.type is CELL or inner.type is FIGURE:
            for node in nodes:
                self._append(inner, node)
        elif self.holds():
            for node in nodes:
                self._hold(node)

    def hold_image(self, element: HtmlElement) -> None:
        """Hold an image in an element without kept texts."""
        inner = self._stack[-1]
        if inner.type is CELL or inner.type is FIGURE:
            self.hold(self._textless(element))
        elif self.holds():
            self._hold(element)

    def hold_textless(self, element: HtmlElement) -> None:
        """Hold the images, formulas and rules of an element whose texts are dropped, or that has none."""
        inner = self._stack[-1]
        if inner.type is CELL or inner.type is FIGURE:
            if self.holds():
                self.hold(self._textless(element))
        elif self.holds():
            # It is searched only if a text follows closely enough.
            self._hold(element)

    def finish(self) -> StructureNode:
        """Return the document."""
        return StructureNode(DOCUMENT, self._root.content)

    def _hold(self, node: StructureNode | HtmlElement) -> None:
        stack = self._stack
        inner = stack[-1]
        if not self._held:
            self._lowest = len(stack)
        if not self._spots or self._spots[-1].inner is not inner:
            self._spots.append(_Spot(len(self._held), len(stack) - 1, inner, stack[max(len(stack) - 2, 0)]))
        self._held.append(node)

    def _release(self, number: int) -> None:
        """Add the held nodes where they stand, if the text with this number follows the last one closely enough."""
        if not self._held:
            return
        held, self._held = self._held, []
        spots, self._spots = self._spots, []
        between = self._blocks[self._last + 1 : number] if number >= 0 else ()
        if len(between) > _MAX_GAP_TEXTS or sum(block.words for block in between) > _MAX_GAP_WORDS:
            return
        ends = [spot.first for spot in spots[1:]]
        for spot, end in zip(spots, [*ends, len(held)], strict=True):
            outer = self._container_of(spot)
            if outer is None:
                continue
            for node in self._found_in(held[spot.first : end]):
                if node.type is not RULE:
                    self.edge()
                    self._append(outer, _as_block(node))
                elif not between:
                    self.edge()
                    self._append(outer, node)

    def _container_of(self, spot: _Spot) -> Container | None:
        """Return the node that held ones stand in, or the one around them if it has ended; None if they fit nowhere."""
        stack, depth = self._stack, spot.depth
        if depth >= len(stack) or stack[depth] is not spot.inner:
            is_last = 0 < depth <= len(stack) and stack[depth - 1] is spot.outer
            if is_last and spot.inner.type in _ENDED and spot.inner.content:
                return spot.inner
            depth = self._lowest - 1
        while stack[depth].type in _INLINE_CONTAINERS:
            depth -= 1
        if stack[depth].type not in _PARTED:
            return stack[depth]
        outer = next(container for container in reversed(stack) if container.type not in _INLINE_CONTAINERS)
        return None if outer.type in _PARTED else outer

    def _found_in(self, held: Sequence[StructureNode | HtmlElement]) -> list[StructureNode]:
        nodes: list[StructureNode] = []
        for entry in held:
            if isinstance(entry, StructureNode):
                nodes.append(entry)
            else:
                nodes += self._textless(entry)
        return nodes

    def _add_paragraphs(self, outer: Container, content: list[StructureNode | str], position: list[int]) -> None:
        """Add a text as a paragraph; a displayed formula in it stands on its own, between two of them."""
        part: list[StructureNode | str] = []
        for child in content:
            if isinstance(child, str) or child.type is not FORMULA:
                part.append(child)
                continue
            self._add_paragraph(outer, part, position)
            child.positions.extend(position)
            self._append(outer, child)
            part = []
        self._add_paragraph(outer, part, position)

    def _add_paragraph(self, outer: Container, content: list[StructureNode | str], position: list[int]) -> None:
        if not content or (len(content) == 1 and content[0] == " "):
            return
        self._paragraph = StructureNode(PARAGRAPH, content, list(position))
        self._append(outer, self._paragraph)

    def _append(self, outer: Container, node: StructureNode | str) -> None:
        if isinstance(node, str) or (node.type in _INLINE and outer.type not in _INLINE_CONTAINERS):
            node = StructureNode(PARAGRAPH, [node])
        if outer.type in _INLINE_CONTAINERS:
            self._append_inline(outer, node)
        elif outer.type is LIST and node.type not in (ITEM, FOOTNOTE):
            # A list directly in a list belongs to the item before it.
            last = outer.content[-1] if outer.content else None
            if isinstance(last, StructureNode) and last.type is ITEM and node.type is LIST:
                last.content.append(node)
            else:
                outer.content.append(StructureNode(ITEM, [node]))
        elif (whole := _PARTS.get(node.type)) is not None and outer.type is not whole:
            last = outer.content[-1] if outer.content else None
            if isinstance(last, StructureNode) and last.type is whole:
                last.content.append(node)
            else:
                outer.content.append(StructureNode(whole, [node]))
        elif outer.type is DEFINITIONS and node.type not in (TERM, DESCRIPTION):
            outer.content.append(StructureNode(DESCRIPTION, [node]))
        elif outer.type not in (TABLE, ROW) or node.type in _TABLE_CONTENT[outer.type]:
            _add_node(outer.content, node)

    def _append_inline(self, outer: Container, node: StructureNode) -> None:
        content = _inline_content(node)
        if content:
            if outer.content:
                outer.content.append(" ")
            outer.content += content
            outer.positions += [position for inner in node.walk() for position in inner.positions]

    def _finished(self, container: Container) -> list[StructureNode | str]:  # noqa: PLR0911 — one line for each type
        """Return what a node gives when it ends: itself, nothing if it is empty, or its content."""
        kind, content = container.type, container.content
        if kind is CELL:
            return [self._node(container)]
        if kind is HEADING:
            _drop_permalinks(content)
        if not content or (kind is ROW and not any(_has_content(cell) for cell in content)):
            return []
        if kind is LIST and any(_is_part_of_page(item) for item in content):
            return _unwrapped(content)
        if kind is LIST and any(_is(item, FOOTNOTE) for item in content):
            return content if all(_is(item, FOOTNOTE) for item in content) else _as_items(container)
        if kind is FIGURE and not any(_is(part, IMAGE) or _holds_image(part) for part in content):
            return _unwrapped(content)
        if kind is CAPTION and self._stack[-1].type not in (FIGURE, TABLE):
            return [StructureNode(PARAGRAPH, content, container.positions)]
        return [self._node(container)]

    def _node(self, container: Container) -> StructureNode:
        return StructureNode(
            container.type,
            container.content,
            container.positions,
            level=container.level,
            rows=container.rows,
            header=container.header,
            text=container.text,
        )


def _add_node(nodes: list[StructureNode | str], node: StructureNode) -> None:
    """Add a node to those before it; a quote begins with the head above it."""
    last = nodes[-1] if node.type is QUOTE and not node.header and nodes else ""
    if isinstance(last, str) or not (last.type is QUOTE and last.header):
        nodes.append(node)
    else:
        nodes[-1] = StructureNode(QUOTE, [*last.content, *node.content])


def _add_line(lines: list[StructureNode | str], edge: StructureNode | str, line: list[StructureNode | str]) -> None:
    """Add a line to those before it; a link that reaches over the edge is one link."""
    last, first = lines[-1], line[0] if line else ""
    if (
        isinstance(last, str)
        or isinstance(first, str)
        or not (last.type is first.type is LINK and last.url == first.url)
    ):
        lines.append(edge)
        lines.extend(line)
        return
    last.content.append(edge)
    last.content.extend(first.content)
    lines.extend(line[1:])


_TABLE_CONTENT = {
    TABLE: (ROW, CAPTION),
    ROW: (CELL,),
}


def _is(part: StructureNode | str, kind: NodeType) -> bool:
    return not isinstance(part, str) and part.type is kind


def _has_content(part: StructureNode | str) -> bool:
    return isinstance(part, str) or bool(part.content)


def _holds_image(part: StructureNode | str) -> bool:
    return not isinstance(part, str) and any(node.type is IMAGE for node in part.walk())


def _is_part_of_page(item: StructureNode | str) -> bool:
    return not isinstance(item, str) and any(
        not isinstance(part, str) and part.type in _NOT_IN_ITEMS for part in item.content
    )


_UNWRAPPED = frozenset([ITEM, CAPTION, TERM, DESCRIPTION])


def _unwrapped(content: list[StructureNode | str]) -> list[StructureNode | str]:
    """Return the content of items or captions in the place of each."""
    parts: list[StructureNode | str] = []
    for part in content:
        if isinstance(part, str) or part.type not in _UNWRAPPED:
            parts.append(part)
        elif part.type in _INLINE_CONTAINERS:
            parts.append(StructureNode(PARAGRAPH, part.content, part.positions))
        else:
            parts += part.content
    return parts


def _as_items(container: Container) -> list[StructureNode | str]:
    items: list[StructureNode | str] = [
        StructureNode(ITEM, part.content, part.positions) if _is(part, FOOTNOTE) else part  # type: ignore[union-attr]  # a node
        for part in container.content
    ]
    return [StructureNode(LIST, items, level=container.level)]


def _as_block(node: StructureNode) -> StructureNode:
    if node.type is IMAGE:
        return StructureNode(FIGURE, [StructureNode(PARAGRAPH, [node])])
    return StructureNode(PARAGRAPH, [node]) if node.type is FORMULA_SPAN else node


def _inline_content(node: StructureNode) -> list[StructureNode | str]:
    """Return the inline content of a node that stands in a heading, term or caption."""
    if node.type in _INLINE or node.type in _FORMULA:
        return [node]
    if node.type is CODE:
        return [StructureNode(CODE_SPAN, [" ".join(node.text.split())])]
    parts: list[StructureNode | str] = []
    inner = node.type in (PARAGRAPH, TERM, CAPTION, HEADING)
    for part in node.content:
        if inner and (isinstance(part, str) or part.type in _INLINE):
            parts.append(part)
        elif not isinstance(part, str) and (content := _inline_content(part)):
            parts += [" ", *content] if parts else content
    return parts


def _drop_permalinks(content: list[StructureNode | str]) -> None:
    """Remove the sign at a heading's end or beginning that links to the heading itself, and links to its editor."""
    _drop_edit_links(content)
    for index in (-1, 0):
        if not content:
            return
        end = content[index]
        if isinstance(end, str):
            end = end.removesuffix("¶")
            content[index] = end.rstrip() if index else end.lstrip()
        if not end or (_is(end, FOOTNOTE_MARK) and plain_text([end]).strip() in _PERMALINKS):
            content.pop(index)
            if content and isinstance(rest := content[index], str):
                content[index] = rest.rstrip() if index else rest.lstrip()


def _drop_edit_links(content: list[StructureNode | str]) -> None:
    """Remove links in brackets from a heading's end: by them, wikis lead to their editors."""
    end = content[-1] if len(content) > 2 else None  # noqa: PLR2004 — a text, a link and a bracket
    if not isinstance(end, str) or end.strip() != "]":
        return
    index = len(content) - 2
    while index > 0 and (_is(part := content[index], LINK) or (isinstance(part, str) and part.strip() in ("|", ""))):
        index -= 1
    before = content[index]
    if index < len(content) - 2 and isinstance(before, str) and before.endswith("["):
        rest = before[:-1].rstrip()
        if rest or index:
            content[index:] = [rest] if rest else []

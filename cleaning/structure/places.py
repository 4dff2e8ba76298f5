"""The place of each kept block in the document, flat: for tables of a database and for queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cleaning.structure.grid import table_grid
from cleaning.structure.nodes import NodeType, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cleaning.structure.nodes import StructureNode


@dataclass(frozen=True, slots=True)
class BlockLink:
    """A link in a kept block: its absolute address and its text."""

    url: str
    text: str


@dataclass(frozen=True, slots=True)
class BlockImage:
    """An image in the main text: its absolute address and its alternative text, "" if it has none."""

    url: str
    text: str


@dataclass(frozen=True, slots=True)
class BlockPlace:
    """Where a kept block stands in the page's document; a field is None if it does not apply.

    `position` is the block's. `section` is the position of the heading above the block; for a heading, that of the next
    higher heading. `heading_level` is 1 to 6. `list_depth` is 1 in an outermost list. `table` numbers the tables of the
    page from 1, `row` and `column` the places in the table from 1, a header row included; `header` says that the cell
    names a row or a column.
    """

    position: int
    section: int | None = None
    heading_level: int | None = None
    list_depth: int | None = None
    item_number: int | None = None
    table: int | None = None
    row: int | None = None
    column: int | None = None
    header: bool | None = None
    code_language: str | None = None
    links: tuple[BlockLink, ...] = ()


@dataclass(frozen=True, slots=True)
class _Around:
    """The node that holds a node."""

    list_depth: int = 0
    item_number: int = 0
    table: int | None = None
    row: int | None = None
    column: int | None = None
    header: bool | None = None


def block_places(document: StructureNode) -> tuple[BlockPlace, ...]:
    """Return the places of the blocks of a document by position, each position once; empty for an empty document."""
    reading = _Reading()
    reading.read(document, _Around())
    return tuple(sorted(reading.places.values(), key=lambda place: place.position))


class _Reading:
    def __init__(self) -> None:
        self.places: dict[int, BlockPlace] = {}
        self._sections: list[tuple[int, int]] = []  # level and position of the headings above
        self._tables = 0

    def read(self, node: StructureNode, around: _Around) -> None:
        kind = node.type
        if kind is NodeType.TABLE:
            self._read_table(node, around)
            return
        if kind is NodeType.LIST:
            around = _Around(around.list_depth + 1, 0, around.table, around.row, around.column, around.header)
        elif kind is NodeType.ITEM:
            around = _Around(around.list_depth, node.level, around.table, around.row, around.column, around.header)
        if node.positions:
            self._add(node, around)
        for part in node.content:
            if not isinstance(part, str):
                self.read(part, around)

    def _read_table(self, node: StructureNode, around: _Around) -> None:
        self._tables += 1
        grid = table_grid(node)
        seen: set[int] = set()
        for caption in grid.captions:
            self.read(caption, _Around(around.list_depth, around.item_number, self._tables))
        for number, row in enumerate(grid.rows, 1):
            for column, cell in enumerate(row, 1):
                if cell is None or id(cell) in seen:
                    continue
                seen.add(id(cell))
                self.read(
                    cell,
                    _Around(around.list_depth, around.item_number, self._tables, number, column, cell.header),
                )

    def _add(self, node: StructureNode, around: _Around) -> None:
        level = node.level if node.type is NodeType.HEADING else None
        if level is not None:
            while self._sections and self._sections[-1][0] >= level:
                self._sections.pop()
        section = self._sections[-1][1] if self._sections else None
        links = tuple(_links(node.content))
        for number, position in enumerate(node.positions):
            self.places[position] = BlockPlace(
                position,
                section,
                level,
                around.list_depth or None,
                around.item_number or None,
                around.table,
                around.row,
                around.column,
                around.header,
                node.language or None,
                # The lines of a paragraph are blocks of their own, and share its links: they stand with the first one.
                links if number == 0 else (),
            )
        if level is not None:
            self._sections.append((level, node.positions[0]))


def _links(content: Sequence[StructureNode | str]) -> Iterator[BlockLink]:
    for part in content:
        if isinstance(part, str):
            continue
        if part.type is NodeType.LINK:
            yield BlockLink(part.url, " ".join(plain_text(part.content).split()))
        elif not part.positions:
            yield from _links(part.content)

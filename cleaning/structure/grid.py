"""The rows and columns of a table: cells that take several of them are resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from cleaning.structure.nodes import CAPTION, CELL, ROW, block_text

if TYPE_CHECKING:
    import pandas as pd

    from cleaning.structure.nodes import StructureNode

# The grid of a table may have this many places for each cell. A hostile page could ask for billions.
_MAX_PLACES_PER_CELL = 20
_FREE_PLACES = 2_000


class TableGrid(NamedTuple):
    """The cells of a table by row and column.

    A cell that takes several places is in each of them, so that each row can be read alone; one that takes a whole row
    is in its first place only. None is a place without a cell.
    """

    captions: list[StructureNode]
    rows: list[list[StructureNode | None]]
    width: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the main text: its caption, "" if it has none, and the texts of its cells by row and column.

    All rows have the same width. A cell that takes several places has its text in each of them; a place without a cell
    is "". `header_rows` is the number of the first rows that only name columns.
    """

    caption: str
    rows: tuple[tuple[str, ...], ...]
    header_rows: int = 0

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a DataFrame of texts; the header rows name the columns, without one numbers do.

        The names of several header rows are joined by " / ".
        """
        import pandas as pd  # noqa: PLC0415 — the caller has it

        header = self.rows[: self.header_rows]
        names = [" / ".join(dict.fromkeys(filter(None, column))) for column in zip(*header, strict=True)]
        body = self.rows[self.header_rows :]
        return pd.DataFrame(body, columns=names or range(len(self.rows[0]) if self.rows else 0))


def read_table(table: StructureNode) -> Table:
    """Return a table of nodes as texts."""
    grid = table_grid(table)
    header_rows = 0
    while header_rows < len(grid.rows) - 1 and all(cell is None or cell.header for cell in grid.rows[header_rows]):
        header_rows += 1
    return Table(
        " ".join(map(block_text, grid.captions)),
        tuple(tuple("" if cell is None else block_text(cell) for cell in row) for row in grid.rows),
        header_rows,
    )


def table_grid(table: StructureNode) -> TableGrid:
    """Return the grid of a table; rows without a cell are left out, and all rows have the same width."""
    captions = [part for part in table.content if not isinstance(part, str) and part.type is CAPTION]
    source = [
        [cell for cell in part.content if not isinstance(cell, str) and cell.type is CELL]
        for part in table.content
        if not isinstance(part, str) and part.type is ROW
    ]
    budget = _FREE_PLACES + _MAX_PLACES_PER_CELL * sum(map(len, source))
    rows = _placed(source, budget)
    width = max(map(len, rows), default=0)
    if width * len(rows) > budget:  # one very long row among many
        width = max(budget // max(1, len(rows)), 1)
        rows = [row[:width] for row in rows]
    for row in rows:
        row.extend([None] * (width - len(row)))
        if len(row) > 1 and row[0] is not None and all(cell is row[0] for cell in row):
            row[1:] = [None] * (len(row) - 1)
    return TableGrid(captions, rows, width)


def _placed(source: list[list[StructureNode]], budget: int) -> list[list[StructureNode | None]]:
    """Return the rows with each cell in all its places. Spans are ignored once the budget is used up."""
    rows: list[list[StructureNode | None]] = []
    # Cells that reach down into the next rows: column -> cell and the rows that are left.
    reaching: dict[int, tuple[StructureNode, int]] = {}
    for number, cells in enumerate(source):
        row: list[StructureNode | None] = []
        below: dict[int, tuple[StructureNode, int]] = {}
        for cell in cells:
            _take_reaching(row, reaching, below)
            columns = max(cell.level, 1) if budget > 0 else 1
            left = min(cell.rows, len(source) - number) - 1 if budget > 0 else 0
            budget -= columns - 1
            for _ in range(columns):
                if left > 0:
                    below[len(row)] = (cell, left)
                    budget -= 1
                row.append(cell)
        _take_reaching(row, reaching, below)
        rows.append(row)
        reaching = below
    return rows


def _take_reaching(
    row: list[StructureNode | None],
    reaching: dict[int, tuple[StructureNode, int]],
    below: dict[int, tuple[StructureNode, int]],
) -> None:
    """Add the cells of earlier rows that are in the next places of this row."""
    while (cell_and_rest := reaching.get(len(row))) is not None:
        cell, left = cell_and_rest
        if left > 1:
            below[len(row)] = (cell, left - 1)
        row.append(cell)

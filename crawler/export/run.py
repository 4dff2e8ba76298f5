"""Write an export: rows of one state of the database into a file that is whole or not there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from crawler.export.columns import Change, Content
from crawler.export.cursor import Cursor
from crawler.export.file import whole_file
from crawler.export.formats import check, writing
from crawler.export.source import Filter, changes, everything, source
from crawler.storage import lineage
from crawler.storage.engine import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy.engine import Connection, Engine

    from crawler.export.source import Row

_WRITTEN_AT_ONCE = 1_000
_CHANGE = 1  # the place of the column


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be exported: of which rows, into a file of which format, since which cursor (None: all)."""

    path: Path
    ending: str
    content: Content = Content.BLOCKS
    rows: Filter = Filter()  # noqa: RUF009 — frozen
    since: str | None = None


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export holds, and the cursor that the next one begins at."""

    path: str
    content: str
    rows: int
    new: int
    changed: int
    gone: int
    cursor: str


def export(engine: Engine, order: Order, report: Callable[[int], None]) -> Exported:
    """Write an export and return what it holds; tell `report` now and then how many rows there are.

    Raises ExportError where the file cannot be written, or the cursor is not one of this database and these rows.
    """
    check(order.ending)
    with reading(engine) as connection:
        cursor = Cursor(order.content, order.rows, lineage.position(connection))
        rows, counts = _rows(connection, order, cursor), Counter[str]()
        with whole_file(order.path) as file, writing(order.ending, file, cursor) as writer:
            while some := list(islice(rows, _WRITTEN_AT_ONCE)):
                writer.write(some)
                counts.update(row[_CHANGE] for row in some)
                report(counts.total())
    numbers = {change.value: counts[change.value] for change in Change}
    return Exported(str(order.path), order.content.value, counts.total(), **numbers, cursor=str(cursor))


def _rows(connection: Connection, order: Order, cursor: Cursor) -> Iterator[Row]:
    found = source(connection, order.content, order.rows)
    if order.since is None:
        return everything(found)
    return changes(connection, found, order.content, cursor.since(order.since))

"""The rows of an export, read in one state of the database, a few at a time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import select

from crawler.export.columns import COLUMNS, VERSION, Change, Content
from crawler.storage.changes import changed_blocks, changed_pages
from crawler.storage.models import block, journal, page
from crawler.storage.views import informative_block, page_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import CompoundSelect, FromClause, Select
    from sqlalchemy.engine import Connection

    from crawler.storage.journal import Horizon

Row = tuple[Any, ...]
"""The values of an export's columns."""

_READ_AT_ONCE = 2_000
_BLOCKS_AT_ONCE = 500
_PAGES_AT_ONCE = 50
_FIRST = 3  # schema, change and id


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows: those of one site, of one language, or all."""

    site: str | None = None
    language: str | None = None

    def of(self, statement: Select[Any], table: FromClause) -> Select[Any]:
        """Return the statement with the filter's conditions on a table that has these columns."""
        wanted = {"site": self.site, "language": self.language}
        return statement.where(*(table.c[name] == value for name, value in wanted.items() if value is not None))


class Source(Protocol):
    """What is exported. Values are those of the columns from `id` on."""

    at_once: int

    def everything(self) -> Iterator[Row]:
        """Give the values of all rows, in order of their ids."""

    def standing(self, ids: Sequence[int]) -> Iterator[Row]:
        """Give the values of those of the ids that are to be exported."""

    def changed(self, since: Horizon) -> CompoundSelect[int]:
        """Return the statement for the ids of rows that may have changed."""

    def added(self, ids: Sequence[int]) -> dict[int, int]:
        """Return the mark of the transaction that added each of the ids, as far as they are still known."""


class _Blocks:
    at_once = _BLOCKS_AT_ONCE

    def __init__(self, connection: Connection, rows: Filter) -> None:
        self._connection = connection
        names = [column.name for column in COLUMNS[Content.BLOCKS][_FIRST - 1 :]]
        self._select = rows.of(select(*(informative_block.c[name] for name in names)), informative_block)

    def everything(self) -> Iterator[Row]:
        return _stream(self._connection, self._select.order_by(informative_block.c.id))

    def standing(self, ids: Sequence[int]) -> Iterator[Row]:
        return _stream(self._connection, self._select.where(informative_block.c.id.in_(ids)))

    def changed(self, since: Horizon) -> CompoundSelect[int]:
        return changed_blocks(since)

    def added(self, ids: Sequence[int]) -> dict[int, int]:
        found = self._connection.execute(select(block.c.id, block.c.added).where(block.c.id.in_(ids)))
        return {row.id: row.added for row in found}


class _Pages:
    """Pages that have a text; those that are all template, or retired, have none."""

    at_once = _PAGES_AT_ONCE

    def __init__(self, connection: Connection, rows: Filter) -> None:
        self._connection = connection
        names = [column.name for column in COLUMNS[Content.PAGES][_FIRST - 1 :] if column.name in page.c]
        self._select = rows.of(select(*(page.c[name] for name in names)), page).order_by(page.c.id)

    def everything(self) -> Iterator[Row]:
        rows = _stream(self._connection, self._select)
        while some := list(islice(rows, self.at_once)):
            yield from self._with_texts(some)

    def standing(self, ids: Sequence[int]) -> Iterator[Row]:
        return self._with_texts(list(_stream(self._connection, self._select.where(page.c.id.in_(ids)))))

    def changed(self, since: Horizon) -> CompoundSelect[int]:
        return changed_pages(since)

    def added(self, ids: Sequence[int]) -> dict[int, int]:
        found = select(page.c.id, journal.c.added).join(journal, journal.c.page_id == page.c.id, isouter=True)
        return {row.id: row.added or 0 for row in self._connection.execute(found.where(page.c.id.in_(ids)))}

    def _with_texts(self, pages: Sequence[Row]) -> Iterator[Row]:
        described = {row[0]: row for row in pages}
        texts = (
            select(page_text.c.page_id, page_text.c.words, page_text.c.text)
            .where(page_text.c.page_id.in_(list(described)))
            .order_by(page_text.c.page_id, page_text.c.position)
        )
        for page_id, found in groupby(_stream(self._connection, texts), key=lambda row: row[0]):
            blocks = list(found)
            words = sum(each[1] for each in blocks)
            yield (*described[page_id], len(blocks), words, "\n".join(each[2] for each in blocks))


def source(connection: Connection, content: Content, rows: Filter) -> Source:
    """Return what is to be exported, of the state that the connection sees."""
    return _Blocks(connection, rows) if content is Content.BLOCKS else _Pages(connection, rows)


def everything(found: Source) -> Iterator[Row]:
    """Give all rows, in order of their ids."""
    for values in found.everything():
        yield (VERSION, Change.NEW.value, *values)


def changes(connection: Connection, found: Source, content: Content, since: Horizon) -> Iterator[Row]:
    """Give the rows that are others than at a horizon, in order of their ids; what is gone has an id only."""
    nothing = (None,) * (len(COLUMNS[content]) - _FIRST)
    ids = (row[0] for row in _stream(connection, found.changed(since)))
    while some := list(islice(ids, found.at_once)):
        standing = {values[0]: values for values in found.standing(some)}
        added = found.added(some)
        for each in some:
            is_new = each in added and since.hides(added[each])
            if each in standing:
                yield (VERSION, (Change.NEW if is_new else Change.CHANGED).value, *standing[each])
            elif not is_new:
                yield (VERSION, Change.GONE.value, each, *nothing)


def _stream(connection: Connection, statement: Select[Any] | CompoundSelect[Any]) -> Iterator[Row]:
    """Give the rows as they arrive, so that there are never more than a few in memory."""
    result: Iterable[Any] = connection.execute(statement.execution_options(yield_per=_READ_AT_ONCE))
    for row in result:
        yield tuple(row)

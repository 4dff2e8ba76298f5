"""Which database this is, and where it stands: its name and server, the marks of its transactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from sqlalchemy import delete, func, insert, select

from crawler.errors import StoreError
from crawler.storage.engine import backend, place
from crawler.storage.journal import Journal
from crawler.storage.models import journal, lineage, recurrence, removed_block

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from crawler.storage.journal import Horizon


@dataclass(frozen=True, slots=True)
class Position:
    """A state of a database: the name of its lineage, and which of its transactions are in that state."""

    lineage: str
    horizon: Horizon


def begin(connection: Connection) -> Journal:
    """Return the journal of a transaction that writes."""
    return Journal(connection, lambda: _mark(connection))


def position(connection: Connection) -> Position:
    """Return the state that a reader sees.

    Raises StoreError where the database was restored on another server, whose transactions have other numbers.
    """
    row = connection.execute(select(lineage)).first()
    if row is None:
        raise _lost(connection)
    kind = backend(connection.engine)
    if row.server != kind.server(connection):
        raise StoreError(
            f"the database {place(connection.engine)} was made on another server, and its changes are not told apart "
            "here yet; run `scrapy upgrade` once, and export it anew"
        )
    return Position(row.name, kind.horizon(connection, row.number))


def settle(connection: Connection) -> None:
    """Give the database a lineage where it has none, or was restored on another server; nobody else may write.

    New marks are greater than any that it holds.
    """
    server = backend(connection.engine).server(connection)
    stored = connection.execute(select(lineage.c.server)).scalar()
    if stored == server:
        return
    number = backend(connection.engine).number_after(connection, _last_mark(connection))
    connection.execute(delete(lineage))
    connection.execute(insert(lineage), {"name": uuid4().hex, "server": server, "number": number})


def _mark(connection: Connection) -> int:
    mark = backend(connection.engine).mark(connection)
    if mark is None:
        raise _lost(connection)
    return mark


def _last_mark(connection: Connection) -> int:
    marks = (connection.scalar(select(func.max(table.c.changed))) for table in (journal, removed_block, recurrence))
    return max((mark for mark in marks if mark is not None), default=0)


def _lost(connection: Connection) -> StoreError:
    return StoreError(f"the database {place(connection.engine)} has lost its table lineage; run `scrapy upgrade`")

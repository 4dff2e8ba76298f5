"""Export blocks or pages: rows of one database state in a file that appears complete or not at all."""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import IO, TYPE_CHECKING
from uuid import uuid4

from crawler.errors import ExportError
from crawler.reading.export_formats import open_row_writer, require_format
from crawler.reading.export_rows import (
    ExportContent,
    ExportCursor,
    RowChange,
    RowFilter,
    all_rows,
    changed_rows,
    row_source,
)
from crawler.storage import database
from crawler.storage.database import read_transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy.engine import Connection, Engine

    from crawler.reading.export_rows import Row


_TEMPORARY_PREFIX, _TEMPORARY_SUFFIX = ".blocksieve-export-", ".part"


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Give a file to write to; at the end it takes the place of what is at the path, on an error it is gone.

    What a process that was killed left in the folder is removed. Raises ExportError where it cannot be written.
    """
    _remove_abandoned(path.parent)
    temporary = path.with_name(f"{_TEMPORARY_PREFIX}{uuid4().hex}{_TEMPORARY_SUFFIX}")
    try:
        with _create_locked(temporary) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise ExportError(
            f"the export {str(path)!r} cannot be written: {error.strerror or error}; nothing is left of it, choose "
            "another OUT or make room there"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _create_locked(path: Path) -> IO[bytes]:
    """Create a file, and lock it as long as it is open: so others see that it is being written."""
    while True:
        file = path.open("xb")
        with suppress(OSError):  # some network file systems have no locks; there nobody sweeps either
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # another export came before the lock, and swept it away


def _remove_abandoned(folder: Path) -> None:
    """Remove files of this kind that nobody writes any more."""
    for left in folder.glob(f"{_TEMPORARY_PREFIX}*{_TEMPORARY_SUFFIX}"):
        with suppress(OSError), left.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_ROWS_PER_WRITE = 1_000
_CHANGE_INDEX = 1  # the place of the column


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What is to be exported: of which rows, into a file of which format, since which cursor (None: all)."""

    path: Path
    ending: str
    content: ExportContent = ExportContent.BLOCKS
    rows: RowFilter = RowFilter()  # noqa: RUF009 — frozen
    since: str | None = None


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What an export holds, and the cursor that the next one begins at."""

    path: str
    content: str
    rows: int
    new: int
    changed: int
    gone: int
    cursor: str


def write_export(engine: Engine, order: ExportRequest, report: Callable[[int], None]) -> ExportResult:
    """Write an export and return what it holds; tell `report` now and then how many rows there are.

    Raises ExportError where the file cannot be written, or the cursor is not one of this database and these rows.
    """
    require_format(order.ending)
    with read_transaction(engine) as connection:
        cursor = ExportCursor(order.content, order.rows, database.read_position(connection))
        rows, counts = _export_rows(connection, order, cursor), Counter[str]()
        with atomic_file(order.path) as file, open_row_writer(order.ending, file, cursor) as writer:
            while some := list(islice(rows, _ROWS_PER_WRITE)):
                writer.write(some)
                counts.update(row[_CHANGE_INDEX] for row in some)
                report(counts.total())
    numbers = {change.value: counts[change.value] for change in RowChange}
    return ExportResult(str(order.path), order.content.value, counts.total(), **numbers, cursor=str(cursor))


def _export_rows(connection: Connection, order: ExportRequest, cursor: ExportCursor) -> Iterator[Row]:
    found = row_source(connection, order.content, order.rows)
    if order.since is None:
        return all_rows(found)
    return changed_rows(connection, found, order.content, cursor.since(order.since))

"""Export blocks or pages: rows of one database state in a file that appears complete or not at all."""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import IO, TYPE_CHECKING
from uuid import uuid4

from crawler.errors import ExportError
from crawler.reading.conditions import read_conditions
from crawler.reading.exports.dataset import write_dataset
from crawler.reading.exports.formats import ExportHead, require_format
from crawler.reading.exports.forms import ExportForm, open_row_writer
from crawler.reading.exports.job_tables import JobTable
from crawler.reading.exports.rows import (
    EXPORT_COLUMNS,
    ChunkLimits,
    ExportContent,
    ExportCursor,
    RowChange,
    RowFilter,
    read_rows,
)
from crawler.storage import database
from crawler.storage.database import read_transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy.engine import Engine

    from crawler.reading.conditions import RowConditions
    from crawler.reading.exports.rows import Row
    from crawler.visit import TextForm

_ROWS_PER_WRITE = 1_000

_CHANGE_INDEX = 1  # of the column `change`

_TEMPORARY_PREFIX, _TEMPORARY_SUFFIX = ".blocksieve-export-", ".part"


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """An export: the file and its format, the content, the rows, and the cursor to start from (None for all rows).

    The content CHUNKS has `limits`, the others None. `text_form` is how texts are written; with None, Markdown of
    pages is as it is stored, and chunks have no addresses of links. `where` are conditions on the columns, and `folder`
    is a finished batch job that is read in place of the database; from neither can another export go on.
    """

    path: Path
    suffix: str
    content: ExportContent = ExportContent.BLOCKS
    rows: RowFilter = RowFilter()  # noqa: RUF009 — frozen
    since: str | None = None
    limits: ChunkLimits | None = None
    text_form: TextForm | None = None
    form: ExportForm = ExportForm.PROGRAMS
    where: tuple[str, ...] = ()
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The number of rows that an export wrote, and the cursor at which the next one starts; None if none can.

    `left_out` is the number of rows that did not meet a condition.
    """

    path: str
    content: str
    rows: int
    new: int
    changed: int
    gone: int
    cursor: str | None
    left_out: int = 0


def write_export(engine: Engine, request: ExportRequest, report: Callable[[int], None]) -> ExportResult:
    """Write an export of the database and return its figures; call `report` regularly with the number of rows so far.

    Raises ExportError if the file cannot be written, or if the cursor is from another database or selection, and
    QueryError for a condition that does not fit a column.
    """
    require_format(request.suffix)
    head = ExportHead(request.content.value, EXPORT_COLUMNS[request.content])
    conditions = read_conditions(request.where, head.kinds)
    with read_transaction(engine) as connection:
        position = database.read_position(connection)
        cursor = ExportCursor(request.content, request.rows, position, request.limits, request.text_form)
        # A cursor of commits that a power failure undoes would hide those that get their numbers afterwards.
        database.make_durable(engine)
        since = None if request.since is None else cursor.since(request.since)
        rows = read_rows(connection, request.content, request.rows, since, request.limits, request.text_form)
        head = replace(head, cursor=None if request.where else str(cursor))
        return _write(request, head, _Chosen(rows, head, conditions), report)


def write_job_export(request: ExportRequest, report: Callable[[int], None]) -> ExportResult:
    """Write an export of a finished batch job, `request.folder`; as `write_export` otherwise."""
    assert request.folder is not None
    require_format(request.suffix)
    table = JobTable(request.folder, request.content)
    wanted = {"site": request.rows.site, "language": request.rows.language}
    selected = tuple(f"{name}={value}" for name, value in wanted.items() if value is not None)
    conditions = read_conditions((*selected, *request.where), table.head.kinds)
    return _write(request, table.head, _Chosen(table.read(), table.head, conditions), report)


class _Chosen:
    """The rows that meet the conditions, and how many do not."""

    def __init__(self, rows: Iterator[Row], head: ExportHead, conditions: RowConditions) -> None:
        self.left_out = 0
        self._rows = rows
        self._names = head.names
        self._conditions = conditions

    def read(self) -> Iterator[Row]:
        if not self._conditions.conditions:
            yield from self._rows
            return
        for row in self._rows:
            if self._conditions.first_broken(dict(zip(self._names, row, strict=True))) is None:
                yield row
            else:
                self.left_out += 1


def _write(request: ExportRequest, head: ExportHead, chosen: _Chosen, report: Callable[[int], None]) -> ExportResult:
    counts = Counter[str]()

    def counted() -> Iterator[Row]:
        for row in chosen.read():
            counts[row[_CHANGE_INDEX]] += 1
            if counts.total() % _ROWS_PER_WRITE == 0:
                report(counts.total())
            yield row
        report(counts.total())

    rows = counted()
    if request.form is ExportForm.HUGGINGFACE:
        write_dataset(request.path, head, rows)
    else:
        with (
            _atomic_file(request.path) as file,
            open_row_writer(request.form, request.suffix, file, head) as writer,
        ):
            while batch := list(islice(rows, _ROWS_PER_WRITE)):
                writer.write(batch)
    numbers = {change.value: counts[change.value] for change in RowChange}
    return ExportResult(
        str(request.path), head.content, counts.total(), **numbers, cursor=head.cursor, left_out=chosen.left_out
    )


@contextmanager
def _atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file to write to. On success it replaces the file at the path; on an error it is deleted.

    Files that killed processes left in the folder are removed. Raises ExportError if the file cannot be written.
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
            f"the export {str(path)!r} cannot be written: {error.strerror or error}; nothing of it is left; choose "
            "another OUT or free some space"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _create_locked(path: Path) -> IO[bytes]:
    """Create a file and lock it while it is open, so that other exports do not remove it."""
    while True:
        file = path.open("xb")
        with suppress(OSError):  # on a network file system without locks, no export can remove it either
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # another export removed it before it was locked


def _remove_abandoned(folder: Path) -> None:
    """Remove temporary files that no process is writing."""
    for left in folder.glob(f"{_TEMPORARY_PREFIX}*{_TEMPORARY_SUFFIX}"):
        with suppress(OSError), left.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()


def _sync_folder(folder: Path) -> None:
    """Flush the folder, so that the new name survives a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

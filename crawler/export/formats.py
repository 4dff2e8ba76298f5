"""The formats of exports: Parquet, JSON lines (also gzipped), CSV."""

from __future__ import annotations

import csv
import gzip
import json
import re
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Protocol

from crawler.errors import ExportError
from crawler.export.columns import COLUMNS, VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from crawler.export.cursor import Cursor
    from crawler.export.source import Row

# On exported blocks level 6 takes half as long again, for a fiftieth fewer bytes.
_GZIP_LEVEL = 4
# A row group of Parquet is built in memory; it ends with so many rows or characters.
_GROUP_ROWS = 20_000
_GROUP_CHARS = 16_000_000
# What a spreadsheet takes for the start of a formula. A quotation mark goes before it, and before one that stands there
# already, so that the first one can always be taken away again.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
_QUOTE = "'"
# They end lines for some readers of text, though not for readers of JSON.
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")


class Writer(Protocol):
    """Writes rows to a file."""

    def write(self, rows: Sequence[Row]) -> None:
        """Write some rows."""

    def close(self) -> None:
        """Write what is left; the file stays open."""

    def abandon(self) -> None:
        """Write no more: the file is to be thrown away."""


class _JsonLines:
    def __init__(self, file: IO[bytes], cursor: Cursor) -> None:
        self._file = file
        self._names = [column.name for column in COLUMNS[cursor.content]]
        self._encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_moment).encode

    def write(self, rows: Sequence[Row]) -> None:
        lines = "".join(f"{self._encode(dict(zip(self._names, row, strict=True)))}\n" for row in rows)
        if not lines.isascii():
            lines = _LINE_ENDS.sub(lambda end: f"\\u{ord(end[0]):04x}", lines)
        self._file.write(lines.encode())

    def close(self) -> None:
        pass

    def abandon(self) -> None:
        pass


class _GzippedJsonLines:
    def __init__(self, file: IO[bytes], cursor: Cursor) -> None:
        # Without name and time: the same rows give the same bytes.
        self._file = gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0)
        self._lines = _JsonLines(self._file, cursor)  # type: ignore[arg-type] # it has what is asked of a file

    def write(self, rows: Sequence[Row]) -> None:
        self._lines.write(rows)

    def close(self) -> None:
        self._file.close()

    def abandon(self) -> None:
        pass


class _Csv:
    def __init__(self, file: IO[bytes], cursor: Cursor) -> None:
        self._text = TextIOWrapper(file, "utf-8", newline="", write_through=True)
        self._writer = csv.writer(self._text, lineterminator="\n")
        self._writer.writerow([column.name for column in COLUMNS[cursor.content]])

    def write(self, rows: Sequence[Row]) -> None:
        self._writer.writerows([[_cell(value) for value in row] for row in rows])

    def close(self) -> None:
        self._text.flush()
        self._text.detach()

    def abandon(self) -> None:
        pass


class _Parquet:
    def __init__(self, file: IO[bytes], cursor: Cursor) -> None:
        pa, parquet = _pyarrow()
        self._pa = pa
        about = {"schema": VERSION, "content": cursor.content.value, "cursor": str(cursor)}
        kinds = {"timestamp": pa.timestamp("us", "UTC")}
        columns = [
            (column.name, kinds.get(column.kind) or getattr(pa, _ARROW.get(column.kind, column.kind))())
            for column in COLUMNS[cursor.content]
        ]
        self._schema = pa.schema(columns, {"blocksieve": json.dumps(about)})
        self._writer = parquet.ParquetWriter(file, self._schema, compression="zstd")
        self._text = [column.name for column in COLUMNS[cursor.content]].index("text")
        self._rows: list[Row] = []
        self._chars = 0

    def write(self, rows: Sequence[Row]) -> None:
        self._rows += rows
        self._chars += sum(len(row[self._text] or "") for row in rows)
        if len(self._rows) >= _GROUP_ROWS or self._chars >= _GROUP_CHARS:
            self._end_group()

    def close(self) -> None:
        if self._rows:
            self._end_group()
        self._writer.close()

    def abandon(self) -> None:
        # Otherwise it closes itself when it is forgotten, after its file, and complains on stderr.
        with suppress(OSError, ValueError):
            self._writer.close()
        self._writer.is_open = False

    def _end_group(self) -> None:
        columns = zip(zip(*self._rows, strict=True), self._schema.types, strict=True)
        arrays = [self._pa.array(values, kind) for values, kind in columns]
        self._rows, self._chars = [], 0
        self._writer.write_table(self._pa.table(arrays, schema=self._schema))


_ARROW = {"double": "float64"}
FORMATS: Mapping[str, Callable[[IO[bytes], Cursor], Writer]] = MappingProxyType(
    {".parquet": _Parquet, ".jsonl": _JsonLines, ".jsonl.gz": _GzippedJsonLines, ".csv": _Csv}
)
"""By the ending of the file's name."""


@contextmanager
def writing(ending: str, file: IO[bytes], cursor: Cursor) -> Iterator[Writer]:
    """Give a writer of a format; at the end all is written, but the file stays open."""
    writer = FORMATS[ending](file, cursor)
    try:
        yield writer
        writer.close()
    except BaseException:
        writer.abandon()
        raise


def form(name: str) -> str | None:
    """Return which of the endings a file's name has; None for another."""
    return next((ending for ending in FORMATS if name.lower().endswith(ending)), None)


def check(ending: str) -> None:
    """Raise ExportError where a library that the format needs is not installed."""
    if ending == ".parquet":
        _pyarrow()


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # noqa: PLC0415 — an extra, and it takes 0.2 s
        from pyarrow import parquet  # noqa: PLC0415 — as above
    except ImportError as error:
        raise ExportError(f"Parquet needs pyarrow: pip install 'blocksieve[parquet]' ({error})") from error
    return pa, parquet


def _moment(value: Any) -> str:
    return str(value.isoformat())


def _cell(value: Any) -> Any:
    """Return a value as a spreadsheet may have it: never a formula."""
    if isinstance(value, str):
        return f"{_QUOTE}{value}" if value.startswith(_FORMULA) else value
    return value.isoformat() if hasattr(value, "isoformat") else value

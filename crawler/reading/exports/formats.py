"""The file formats of exports: Parquet, JSON lines (also gzipped) and CSV."""

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
from crawler.reading.exports.rows import EXPORT_COLUMNS, EXPORT_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from crawler.reading.exports.rows import ExportColumn, ExportCursor, Row


# On exported blocks, level 6 takes 1.5 times as long and saves 2 % of the bytes.
_GZIP_LEVEL = 4
# A row group of Parquet is built in memory and written at either limit.
_GROUP_ROWS = 20_000
_GROUP_CHARS = 16_000_000
# A spreadsheet takes a text that starts with one of these for a formula, so a quote is put before it. A text that
# starts with a quote gets another one, so that removing the first quote always restores the text.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")
_FORMULA_QUOTE = "'"
# Some readers of text, though not of JSON, end a line at these.
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")


class RowWriter(Protocol):
    """Writes rows to an open file."""

    def write(self, rows: Sequence[Row]) -> None:
        """Write more rows."""

    def close(self) -> None:
        """Write the rest. The file stays open."""

    def abandon(self) -> None:
        """Stop writing, because the file will be deleted."""


class _JsonLinesWriter:
    def __init__(self, file: IO[bytes], cursor: ExportCursor) -> None:
        self._file = file
        self._names = [column.name for column in EXPORT_COLUMNS[cursor.content]]
        self._encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_iso_time).encode

    def write(self, rows: Sequence[Row]) -> None:
        lines = "".join(f"{self._encode(dict(zip(self._names, row, strict=True)))}\n" for row in rows)
        if not lines.isascii():
            lines = _LINE_ENDS.sub(lambda end: f"\\u{ord(end[0]):04x}", lines)
        self._file.write(lines.encode())

    def close(self) -> None:
        pass

    def abandon(self) -> None:
        pass


class _GzippedJsonLinesWriter:
    def __init__(self, file: IO[bytes], cursor: ExportCursor) -> None:
        # Without a name and a time, the same rows give the same bytes.
        self._file = gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0)
        self._lines = _JsonLinesWriter(self._file, cursor)  # type: ignore[arg-type] # it has `write`, which is all that is used

    def write(self, rows: Sequence[Row]) -> None:
        self._lines.write(rows)

    def close(self) -> None:
        self._file.close()

    def abandon(self) -> None:
        pass


class _CsvWriter:
    def __init__(self, file: IO[bytes], cursor: ExportCursor) -> None:
        self._text = TextIOWrapper(file, "utf-8", newline="", write_through=True)
        self._writer = csv.writer(self._text, lineterminator="\n")
        self._writer.writerow([column.name for column in EXPORT_COLUMNS[cursor.content]])

    def write(self, rows: Sequence[Row]) -> None:
        self._writer.writerows([[csv_cell(value) for value in row] for row in rows])

    def close(self) -> None:
        self._text.flush()
        self._text.detach()

    def abandon(self) -> None:
        pass


class _ParquetWriter:
    def __init__(self, file: IO[bytes], cursor: ExportCursor) -> None:
        about = {"schema": EXPORT_VERSION, "content": cursor.content.value, "cursor": str(cursor)}
        self._pa, schema = arrow_schema(EXPORT_COLUMNS[cursor.content])
        self._schema = with_metadata(schema, about)
        _, parquet = _pyarrow()
        self._writer = parquet.ParquetWriter(file, self._schema, compression="zstd")
        names = enumerate(column.name for column in EXPORT_COLUMNS[cursor.content])
        self._texts = [number for number, name in names if name in {"text", "markdown"}]
        self._rows: list[Row] = []
        self._chars = 0

    def write(self, rows: Sequence[Row]) -> None:
        self._rows += rows
        self._chars += sum(len(row[number] or "") for row in rows for number in self._texts)
        if len(self._rows) >= _GROUP_ROWS or self._chars >= _GROUP_CHARS:
            self._end_group()

    def close(self) -> None:
        if self._rows:
            self._end_group()
        self._writer.close()

    def abandon(self) -> None:
        # Otherwise its finalizer closes it after the file is closed, and prints an error on stderr.
        with suppress(OSError, ValueError):
            self._writer.close()
        self._writer.is_open = False

    def _end_group(self) -> None:
        columns = zip(zip(*self._rows, strict=True), self._schema.types, strict=True)
        arrays = [self._pa.array(values, kind) for values, kind in columns]
        self._rows, self._chars = [], 0
        self._writer.write_table(self._pa.table(arrays, schema=self._schema))


def arrow_schema(columns: Iterable[ExportColumn]) -> tuple[Any, Any]:
    """Return pyarrow, and its schema for some columns. Raises ExportError without pyarrow."""
    pa, _ = _pyarrow()
    kinds = {"timestamp": pa.timestamp("us", "UTC"), "double": pa.float64(), "bool": pa.bool_()}
    kinds |= {f"list<element: {kind}>": pa.list_(pa.field("element", kind)) for kind in ("string", "int64")}
    return pa, pa.schema([(column.name, kinds.get(column.kind) or getattr(pa, column.kind)()) for column in columns])


def with_metadata(schema: Any, about: Mapping[str, Any]) -> Any:
    """Return an Arrow schema that says what a table is, and to pandas that its whole numbers may be missing.

    Otherwise pandas makes floats of such a column, and a float has room for 53 bits of a fingerprint.
    """
    columns = [
        {
            "name": column.name,
            "field_name": column.name,
            "pandas_type": str(column.type),
            "numpy_type": str(column.type).capitalize(),
            "metadata": None,
        }
        for column in schema
        if str(column.type).startswith("int")
    ]
    for_pandas = {"index_columns": [], "column_indexes": [], "columns": columns, "pandas_version": "2.0.0"}
    return schema.with_metadata({"blocksieve": json.dumps(about), "pandas": json.dumps(for_pandas)})


FORMATS: Mapping[str, Callable[[IO[bytes], ExportCursor], RowWriter]] = MappingProxyType(
    {".parquet": _ParquetWriter, ".jsonl": _JsonLinesWriter, ".jsonl.gz": _GzippedJsonLinesWriter, ".csv": _CsvWriter}
)
"""The writer of each format, by the suffix of the file's name."""


@contextmanager
def open_row_writer(ending: str, file: IO[bytes], cursor: ExportCursor) -> Iterator[RowWriter]:
    """Yield a writer of a format. On leaving, all rows are written and the file is still open."""
    writer = FORMATS[ending](file, cursor)
    try:
        yield writer
        writer.close()
    except BaseException:
        writer.abandon()
        raise


def format_of(name: str) -> str | None:
    """Return the format of a file's name, by its suffix; None for an unknown suffix."""
    return next((ending for ending in FORMATS if name.lower().endswith(ending)), None)


def require_format(ending: str) -> None:
    """Raise ExportError if the library that a format needs is not installed."""
    if ending == ".parquet":
        _pyarrow()


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # noqa: PLC0415 — an extra, and it takes 0.2 s
        from pyarrow import parquet  # noqa: PLC0415 — as above
    except ImportError as error:
        raise ExportError(f"Parquet and tables need pyarrow: pip install 'blocksieve[parquet]' ({error})") from error
    return pa, parquet


def _iso_time(value: Any) -> str:
    return str(value.isoformat())


def csv_cell(value: Any) -> Any:
    """Return a value that no spreadsheet takes for a formula."""
    if isinstance(value, str):
        return f"{_FORMULA_QUOTE}{value}" if value.startswith(_FORMULA_STARTS) else value
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    return value.isoformat() if hasattr(value, "isoformat") else value

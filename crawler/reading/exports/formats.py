"""The file formats of exports as tables: Parquet, JSON lines (also gzipped), CSV and workbooks."""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import TextIOWrapper
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Protocol

from crawler.errors import ExportError
from crawler.reading.exports.rows import EXPORT_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from crawler.reading.exports.rows import ExportColumn, Row


# On exported blocks, level 6 takes 1.5 times as long and saves 2 % of the bytes.
_GZIP_LEVEL = 4
# A row group of Parquet is built in memory and written at either limit.
_GROUP_ROWS = 20_000
_GROUP_CHARS = 16_000_000
# A spreadsheet takes a text that starts with one of these for a formula, so a quote is put before it. A text that
# starts with a quote gets another one, so that removing the first quote always restores the text.
_FORMULA_STARTS = (*"=+-@＝＋－＠\t\r\n", "'")  # noqa: RUF001 — Excel in East Asia takes the wide signs too
_FORMULA_QUOTE = "'"
# The limits of Excel: characters of a cell, rows of a sheet, and the whole numbers that its floats can hold.
_CELL_CHARS = 32_767
_SHEET_ROWS = 1_048_576
_EXACT_NUMBER = 1 << 53
# Some readers of text, though not of JSON, end a line at these.
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class ExportHead:
    """The content of an export, its columns, and its cursor; None if no other export can go on from it."""

    content: str
    columns: tuple[ExportColumn, ...]
    cursor: str | None = None

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def kinds(self) -> dict[str, str]:
        """The types of the columns by their names."""
        return {column.name: column.kind for column in self.columns}


class RowWriter(Protocol):
    """Writes rows to an open file."""

    def write(self, rows: Sequence[Row]) -> None:
        """Write more rows."""

    def close(self) -> None:
        """Write the rest. The file stays open."""

    def abandon(self) -> None:
        """Stop writing, because the file will be deleted."""


class JsonLinesWriter:
    """Writes an object for each row, gzipped if it is `packed`; `describe` makes the object of a row's columns."""

    def __init__(
        self,
        file: IO[bytes],
        head: ExportHead,
        *,
        packed: bool = False,
        describe: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        # Without a name and a time, the same rows give the same bytes.
        self._packed = gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) if packed else None
        self._file = file if self._packed is None else self._packed
        self._names = head.names
        self._describe = describe
        self._encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_iso_time).encode

    def write(self, rows: Sequence[Row]) -> None:
        objects = (dict(zip(self._names, row, strict=True)) for row in rows)
        described = objects if self._describe is None else map(self._describe, objects)
        lines = "".join(f"{self._encode(entry)}\n" for entry in described)
        if not lines.isascii():
            lines = _LINE_ENDS.sub(lambda end: f"\\u{ord(end[0]):04x}", lines)
        self._file.write(lines.encode())

    def close(self) -> None:
        if self._packed is not None:
            self._packed.close()

    def abandon(self) -> None:
        pass


class _CsvWriter:
    def __init__(self, file: IO[bytes], head: ExportHead) -> None:
        self._text = TextIOWrapper(file, "utf-8", newline="", write_through=True)
        self._writer = csv.writer(self._text, lineterminator="\n")
        self._writer.writerow(head.names)

    def write(self, rows: Sequence[Row]) -> None:
        self._writer.writerows([[csv_cell(value) for value in row] for row in rows])

    def close(self) -> None:
        self._text.flush()
        self._text.detach()

    def abandon(self) -> None:
        pass


class _ParquetWriter:
    def __init__(self, file: IO[bytes], head: ExportHead) -> None:
        about = {"schema": EXPORT_VERSION, "content": head.content, "cursor": head.cursor}
        self._pa, schema = arrow_schema(head.columns)
        self._schema = with_metadata(schema, about)
        _, parquet = _pyarrow()
        self._writer = parquet.ParquetWriter(file, self._schema, compression="zstd")
        names = enumerate(head.names)
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


class ExcelCsvWriter(_CsvWriter):
    """Writes CSV as Excel opens it: a byte order mark, and cells of at most 32,767 characters."""

    def __init__(self, file: IO[bytes], head: ExportHead) -> None:
        file.write(codecs.BOM_UTF8)
        super().__init__(file, head)

    def write(self, rows: Sequence[Row]) -> None:
        self._writer.writerows([[excel_cell(csv_cell(value)) for value in row] for row in rows])


class _WorkbookWriter:
    """Writes a workbook. Raises ExportError for more rows than a sheet holds."""

    def __init__(self, file: IO[bytes], head: ExportHead) -> None:
        self._folder = TemporaryDirectory(prefix="blocksieve-workbook-")
        options = {
            "constant_memory": True,
            "strings_to_urls": False,
            "strings_to_formulas": False,
            "tmpdir": self._folder.name,
        }
        self._book = _xlsxwriter().Workbook(file, options)
        self._sheet = self._book.add_worksheet(head.content)
        self._sheet.freeze_panes(1, 0)
        self._sheet.write_row(0, 0, head.names, self._book.add_format({"bold": True}))
        self._count = 1

    def write(self, rows: Sequence[Row]) -> None:
        if self._count + len(rows) > _SHEET_ROWS:
            raise ExportError(
                f"the export has more than the {_SHEET_ROWS - 1:,} rows that a sheet holds; choose fewer with --site, "
                "--language or --where, or write CSV"
            )
        for row in rows:
            self._sheet.write_row(self._count, 0, [excel_cell(_plain_cell(value)) for value in row])
            self._count += 1

    def close(self) -> None:
        self._book.close()
        self._folder.cleanup()

    def abandon(self) -> None:
        # Closing the book would write it into a file that is deleted.
        self._book.fileclosed = True
        self._sheet.row_data_fh.close()
        self._folder.cleanup()


TABLE_FORMATS: Mapping[str, Callable[[IO[bytes], ExportHead], RowWriter]] = MappingProxyType(
    {
        ".parquet": _ParquetWriter,
        ".jsonl": JsonLinesWriter,
        ".jsonl.gz": partial(JsonLinesWriter, packed=True),
        ".csv": _CsvWriter,
        ".xlsx": _WorkbookWriter,
    }
)
"""The writer of each format, by the suffix of the file's name."""


def require_format(ending: str) -> None:
    """Raise ExportError if the library that a format needs is not installed."""
    if ending == ".parquet":
        _pyarrow()
    if ending == ".xlsx":
        _xlsxwriter()


def _xlsxwriter() -> Any:
    try:
        import xlsxwriter  # noqa: PLC0415 — an extra
    except ImportError as error:
        raise ExportError(f"a workbook needs XlsxWriter: pip install 'blocksieve[excel]' ({error})") from error
    return xlsxwriter


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # noqa: PLC0415 — an extra, and it takes 0.2 s
        from pyarrow import parquet  # noqa: PLC0415 — as above
    except ImportError as error:
        raise ExportError(f"Parquet and tables need pyarrow: pip install 'blocksieve[parquet]' ({error})") from error
    return pa, parquet


def _iso_time(value: Any) -> str:
    return str(value.isoformat())


def excel_cell(value: Any) -> Any:
    """Return a value that fits into a cell; a longer text ends with an ellipsis."""
    if isinstance(value, str) and len(value) > _CELL_CHARS:
        return f"{value[: _CELL_CHARS - 1]}…"
    return value


def _plain_cell(value: Any) -> Any:
    """Return a value as workbooks have it: numbers, truth values and texts."""
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int) and abs(value) > _EXACT_NUMBER:
        return str(value)
    return value.isoformat() if hasattr(value, "isoformat") else value


def csv_cell(value: Any) -> Any:
    """Return a value as CSV has it: lists as JSON, times in ISO form, no text that is a formula."""
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    return value.isoformat() if hasattr(value, "isoformat") else quote_formula(value)


def quote_formula(value: Any) -> Any:
    """Return a value that no spreadsheet takes for a formula: a text that begins like one gets a quote."""
    is_formula = isinstance(value, str) and value.startswith(_FORMULA_STARTS)
    return f"{_FORMULA_QUOTE}{value}" if is_formula else value

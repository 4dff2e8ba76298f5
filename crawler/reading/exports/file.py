"""The rows of a file that `scrapy export` wrote, one at a time: JSON lines, also gzipped, Parquet or CSV."""

from __future__ import annotations

import csv
import gzip
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from crawler.errors import ExportError
from crawler.reading.exports.formats import require_format
from crawler.reading.exports.forms import format_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ROWS_PER_READ = 1_000
_READABLE = (".parquet", ".jsonl", ".jsonl.gz", ".csv")
_NEEDED = ("id", "url", "text")
_QUOTE = "'"  # which `scrapy export` puts before a text that a spreadsheet would take for a formula
_QUOTED = ("title", "text", "author", "section", "description", "keywords")


def read_export_rows(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of an export of blocks, pages or chunks as dictionaries; rows that are gone are left out.

    In a row of a CSV file all values but None are texts. Raises ExportError for a file that is no export, or that
    cannot be read to its end.
    """
    file = Path(path)
    ending = format_of(file.name)
    if ending not in _READABLE:
        raise ExportError(f"{str(path)!r} is no export; its name must end in {', '.join(_READABLE)}")
    require_format(ending)
    readers = {".parquet": _parquet_rows, ".csv": _csv_rows}
    with _reported(file):
        for row in readers.get(ending, _json_rows)(file):
            if missing := [name for name in _NEEDED if name not in row]:
                raise ExportError(f"{str(path)!r} has no column {missing[0]!r}; `scrapy export` writes it")
            if row.get("change") != "gone":
                yield row


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, ValueError, zlib.error, csv.Error, msgspec.MsgspecError) as error:
        if isinstance(error, ExportError):
            raise
        raise ExportError(f"{str(path)!r} cannot be read to its end: {error}") from error


def _json_rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        lines = gzip.GzipFile(fileobj=file) if path.name.lower().endswith(".gz") else file
        for line in lines:
            yield msgspec.json.decode(line, type=dict[str, Any])


def _parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    from pyarrow import parquet  # noqa: PLC0415 — an extra

    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(_ROWS_PER_READ):
            yield from batch.to_pylist()


def _csv_rows(path: Path) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(sys.maxsize)
    with path.open(encoding="utf-8-sig", newline="") as lines:
        for row in csv.DictReader(lines):
            yield dict(_plain_cells(row.items()))


def _plain_cells(cells: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str | None]]:
    for name, value in cells:
        yield name, (value.removeprefix(_QUOTE) if name in _QUOTED else value) or None

"""The columns of a batch job's tables: those of `scrapy export`, followed by those that an import needs."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from crawler.errors import BatchError
from crawler.reading.exports.formats import arrow_schema, with_metadata
from crawler.reading.exports.rows import EXPORT_COLUMNS, EXPORT_VERSION, STORED_COLUMNS, ExportContent
from crawler.redact import redact_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawler.batch.output import OutputFolder

# A row group is built in memory and written at either limit.
_GROUP_ROWS = 10_000
_GROUP_CHARS = 16_000_000


def _exported(content: ExportContent) -> list[tuple[str, pa.DataType]]:
    _, schema = arrow_schema(EXPORT_COLUMNS[content])
    return [(field.name, field.type) for field in schema if field.name not in STORED_COLUMNS]


_KEYS = [
    ("path", pa.string()),
    ("unique_terms", pa.int32()),
    ("digest", pa.int64()),
    ("fingerprint", pa.int64()),
]
_PAGES = [
    *_exported(ExportContent.PAGES),
    ("modified", pa.string()),
    ("type", pa.string()),
    ("url_key", pa.string()),
    ("method", pa.string()),
    ("encoding", pa.string()),
    ("etag", pa.string()),
    ("last_modified", pa.string()),
    ("body_hash", pa.int64()),
    ("page_fingerprint", pa.int64()),
    ("source", pa.string()),
    ("place", pa.int64()),
    ("text_digest", pa.string()),
    ("duplicate", pa.string()),
    ("duplicate_of", pa.int64()),
    ("duplicate_bits", pa.int8()),
    ("opt_outs", pa.string()),
    ("kept_share", pa.float64()),
]
_BLOCKS = [*_exported(ExportContent.BLOCKS), *_KEYS]
_SIGHTINGS = [
    ("schema", pa.int16()),
    ("id", pa.int64()),
    ("block_id", pa.int64()),
    ("page_id", pa.int64()),
    ("url", pa.string()),
    ("site", pa.string()),
    ("position", pa.int32()),
    ("kind", pa.string()),
    ("text", pa.string()),
    ("words", pa.int32()),
    ("score", pa.float64()),
    ("priority", pa.float64()),
    ("first_seen", pa.timestamp("us", "UTC")),
    ("distance", pa.int8()),
    ("exact", pa.bool_()),
    *_KEYS,
]
_REJECTED = [
    ("source", pa.string()),
    ("place", pa.int64()),
    ("url", pa.string()),
    ("reason", pa.string()),
    ("detail", pa.string()),
    ("record_id", pa.string()),
]


def _schema(content: str, columns: Sequence[tuple[str, pa.DataType]]) -> pa.Schema:
    return with_metadata(pa.schema(columns), {"schema": EXPORT_VERSION, "content": content})


PAGES = _schema("pages", _PAGES)
"""A row for each page. `place` is the byte or row of its record in the input file `source`."""

ADDRESSES = _schema(
    "addresses",
    [
        ("high", pa.int64()),
        ("low", pa.int64()),
        ("at", pa.int64()),
        ("order", pa.int64()),
        ("page_id", pa.int64()),
        ("transient", pa.bool_()),
        ("stated_high", pa.int64()),
        ("stated_low", pa.int64()),
    ],
)
"""A row for each answer of an input file: the hash of its own URL key, its date in microseconds, its place in the
order, its page, or -1, and the hash of the key of another address, if the page states one.
"""

BLOCKS = _schema("blocks", _BLOCKS)
"""A row for each block; digest and fingerprint are signed."""

SIGHTINGS = _schema("sightings", _SIGHTINGS)
"""A row for each place where the text of the block `block_id` was found again, with its own text."""

REJECTED = _schema("rejected", _REJECTED)
"""A row for each record that was read and has no page, with the reason."""

CLEANED_BLOCKS = _schema(
    "cleaned",
    [
        ("id", pa.int64()),
        ("page_id", pa.int64()),
        ("site", pa.string()),
        ("repeats", pa.int64()),
        ("check", pa.int64()),
        ("distance", pa.int8()),
        *(
            (field.name, field.type)
            for field in BLOCKS
            if field.name in "position kind text words score priority".split()
        ),
        *_KEYS,
    ],
)
"""The kept blocks of one input file, before they are compared. `repeats` is the id of a block of the page, or -1."""


class TableWriter:
    """Writes rows to a Parquet file in groups; a row has a value for each of the schema's columns, in their order."""

    def __init__(self, writer: parquet.ParquetWriter, schema: pa.Schema) -> None:
        self._writer = writer
        self._schema = schema
        self._columns: list[list[Any]] = [[] for _ in schema]
        self._rows = self._chars = 0
        self._text = schema.get_field_index("text")

    def add(self, row: Sequence[Any]) -> None:
        self.add_columns([(value,) for value in row])

    def add_columns(self, columns: Sequence[Sequence[Any]]) -> None:
        """Add several rows, given the values of each column."""
        for known, values in zip(self._columns, columns, strict=True):
            known.extend(values)
        self._rows += len(columns[0])
        self._chars += sum(len(text or "") for text in columns[self._text]) if self._text >= 0 else 0
        if self._rows >= _GROUP_ROWS or self._chars >= _GROUP_CHARS:
            self.flush()

    def add_table(self, table: pa.Table) -> None:
        """Write an Arrow table with these columns as a row group of its own; an empty one writes nothing."""
        self.flush()
        if len(table):
            self._writer.write_table(table)

    def flush(self) -> None:
        """Write the rows that wait."""
        if self._rows:
            arrays = [pa.array(values, kind) for values, kind in zip(self._columns, self._schema.types, strict=True)]
            self._writer.write_table(pa.table(arrays, schema=self._schema))
            self._columns = [[] for _ in self._schema]
            self._rows = self._chars = 0


@contextmanager
def create_table(output: OutputFolder, name: str, schema: pa.Schema) -> Iterator[TableWriter]:
    """Yield the writer of a Parquet file, which appears when the block ends."""
    with output.create(name) as file:
        inner = parquet.ParquetWriter(file, schema, compression="zstd")
        try:
            writer = TableWriter(inner, schema)
            yield writer
            writer.flush()
            inner.close()
        except BaseException:
            # Otherwise its finalizer closes it after the file is closed, and prints an error on stderr.
            with suppress(OSError, ValueError):
                inner.close()
            inner.is_open = False
            raise


@contextmanager
def _naming(output: OutputFolder, name: str) -> Iterator[None]:
    try:
        yield
    except pa.ArrowInvalid as error:
        raise BatchError(f"{name} in {redact_text(output.path)!r} is damaged: {error}") from error


def read_table(output: OutputFolder, name: str, columns: Sequence[str]) -> pa.Table:
    """Return some columns of a Parquet file. Raises BatchError for a damaged one."""
    with output.open(name) as file, _naming(output, name):
        return parquet.read_table(file, columns=list(columns))


def read_rows(
    output: OutputFolder, name: str, rows: int = 1_000, columns: Sequence[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file, at most `rows` in memory at once. Raises BatchError for a damaged file."""
    with output.open(name) as file, _naming(output, name):
        for batch in parquet.ParquetFile(file).iter_batches(rows, columns=columns):
            yield from batch.to_pylist()


def read_chosen(output: OutputFolder, name: str, column: str, values: Sequence[int]) -> list[dict[str, Any]]:
    """Return the rows of a Parquet file with one of the values. Only groups that may have some are read."""
    with output.open(name) as file, _naming(output, name):
        rows: list[dict[str, Any]] = parquet.read_table(file, filters=[(column, "in", values)]).to_pylist()
    return rows

"""The records of an input file that pass the filters, as answers of servers."""

from __future__ import annotations

import sys
import zlib
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple, cast
from zipfile import BadZipFile, ZipFile

import msgspec
from w3lib.url import safe_url_string

from crawler.batch.inputs import (
    InputFile,
    InputKind,
    archive_kind,
    open_input,
    packed_path,
    packed_warcs,
    unpacked_lines,
)
from crawler.errors import InputError, ReplayError
from crawler.fetching.answers import (
    HEAD_ROOM,
    Answer,
    LostAnswer,
    OtherRequests,
    Passed,
    PassedRecord,
    answers_of,
    read_answers,
    read_moment,
)
from crawler.fetching.arc import read_arc
from crawler.fetching.replay import ReplayMiss
from crawler.fetching.saved_pages import READ_ERRORS, SkippedFile, find_saved_pages, read_saved_page
from crawler.fetching.warc import RecordPlace
from crawler.urls import saved_url

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    import pyarrow as pa

    from crawler.batch.filters import RecordFilter

_ROWS_PER_READ = 200
# JSON may write six bytes for one of a page, such as \u0001.
_JSON_BYTES_PER_BYTE = 6
_HTML = (("Content-Type", "text/html; charset=utf-8"),)
_HTML_BYTES = (("Content-Type", "text/html"),)
# The columns of a Parquet file that are read, with the types that they may have.
_COLUMNS = {"url": ("string", "binary"), "html": ("string", "binary"), "date": ("timestamp", "date", "string")}
_TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Row(NamedTuple):
    """A row of a table of pages: a Parquet file or JSON lines."""

    place: RecordPlace
    url: bytes | None
    html: bytes | None
    date: datetime | None


class _JsonRow(msgspec.Struct):
    url: str | None = None
    html: str | None = None
    date: str | None = None


def read_records(
    file: InputFile, records: RecordFilter, max_bytes: int, others: OtherRequests
) -> Iterator[Answer | PassedRecord]:
    """Yield each record of an input file: the answers that the filter lets pass, and why the others are not read.

    `others` collects the ids of answers to other requests than GET; such a request may follow its answer. Raises
    InputError for a file that cannot be read at all.
    """
    if file.kind is InputKind.FOLDER:
        yield from _read_folder(Path(file.path), records, max_bytes)
    elif file.kind is InputKind.OTHER:
        yield PassedRecord(RecordPlace(0), SkippedFile.OTHER_TYPE)
    elif file.kind is InputKind.WACZ:
        yield from _read_packed(file.path, records, max_bytes, others)
    else:
        with open_input(file.path) as opened, _to_its_end(file.path):
            yield from _read_file(opened, file, records, max_bytes, others)


@contextmanager
def _to_its_end(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, zlib.error, zstd.ZstdError, BadZipFile, NotImplementedError) as error:
        raise InputError(f"the input {path!r} cannot be read to its end: {error}") from error


def _read_packed(
    path: str, records: RecordFilter, max_bytes: int, others: OtherRequests
) -> Iterator[Answer | PassedRecord]:
    """Yield the records of the WARC files in a WACZ file. One that cannot be read to its end hides no other."""
    warcs = packed_warcs(path)
    if not warcs:
        raise InputError(f"the input {path!r} is no ZIP file with WARC files in its folder archive/")
    unreadable: InputError | None = None
    with open_input(path) as opened, ZipFile(opened) as archive:
        for name in warcs:
            url = packed_path(name, path)
            try:
                with _to_its_end(url), archive.open(name) as warc:
                    for record in read_answers(cast("BinaryIO", warc), max_bytes, others, answer_filter=records):
                        yield replace(record, place=replace(record.place, packed_file=url))
            except InputError as error:
                unreadable = unreadable or error
    if unreadable is not None:
        raise unreadable


def _whole_url(path: str) -> str:
    """Return the URL of a saved page by its whole path, so that pages of one name in two folders have two addresses."""
    parts = PurePath(path.partition("://")[2] or path).parts
    return saved_url(("", *(part for part in parts if part not in {"/", ".", ".."})))


def _read_file(
    opened: BinaryIO, file: InputFile, records: RecordFilter, max_bytes: int, others: OtherRequests
) -> Iterator[Answer | PassedRecord]:
    if file.kind is InputKind.PARQUET:
        yield from _read_rows(opened, file.path, records, max_bytes)
    elif file.kind is InputKind.JSONL:
        yield from _read_lines(unpacked_lines(opened, file.path), records, max_bytes)
    elif file.kind is InputKind.PAGE:
        url = _whole_url(file.path)
        yield _filtered(RecordPlace(0), url, records) or _answer(RecordPlace(0), url, opened.read(max_bytes + 1))
    elif file.kind is InputKind.ARC:
        yield from answers_of(read_arc(opened, max_bytes + HEAD_ROOM), max_bytes, others, records)
    else:
        yield from read_answers(opened, max_bytes, others, answer_filter=records)


def _read_folder(folder: Path, records: RecordFilter, max_bytes: int) -> Iterator[Answer | PassedRecord]:
    """Yield the pages of a folder as REPLAY finds them, and for each other file the reason why it is not a page.

    Files of many pages are inputs of their own.
    """
    try:
        saved = find_saved_pages(folder, lambda name: archive_kind(name) is not None)
    except ReplayError as error:
        raise InputError(str(error)) from error
    for number, (url, path) in enumerate(saved.pages):
        place = RecordPlace(number)
        if passed := _filtered(place, url, records):
            yield passed
            continue
        try:
            yield _answer(place, url, read_saved_page(path, max_bytes))
        except READ_ERRORS as error:
            miss = ReplayMiss.MISSING_FILE if isinstance(error, FileNotFoundError) else ReplayMiss.DAMAGED_FILE
            yield PassedRecord(place, miss, url, is_lost=True)
    for skipped, count in saved.skipped.items():
        yield from (PassedRecord(RecordPlace(0), SkippedFile(skipped)) for _ in range(count))


def _filtered(place: RecordPlace, url: str, records: RecordFilter) -> PassedRecord | None:
    reason = records.reject_address(url, None) or records.reject_answer(200, "text/html")
    return PassedRecord(place, reason, url) if reason else None


def _answer(place: RecordPlace, url: str, body: bytes) -> Answer:
    return Answer(place, url, 200, _HTML_BYTES, body, None)


def _read_lines(file: BinaryIO, records: RecordFilter, max_bytes: int) -> Iterator[Answer | PassedRecord]:
    """Yield the objects of a JSON lines file: `url`, `html` and optionally `date`, both as texts.

    A line that is none is lost. A page is cut one byte after the limit; so is a line that has many times its bytes.
    """
    line_bytes_max = _JSON_BYTES_PER_BYTE * max_bytes + HEAD_ROOM
    number = 0
    while line := file.readline(line_bytes_max):
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(line_bytes_max)
        if not line.strip():
            continue
        place = RecordPlace(number)
        number += 1
        try:
            row = msgspec.json.decode(line, type=_JsonRow)
        except msgspec.MsgspecError:
            yield PassedRecord(place, LostAnswer.UNREADABLE, is_lost=True)
            continue
        url, html = (None if value is None else value.encode("utf-8", "replace") for value in (row.url, row.html))
        date = None if row.date is None else read_moment(row.date)
        yield _read_row(_Row(place, url, html, date), _HTML, records, max_bytes)


def _read_rows(file: BinaryIO, path: str, records: RecordFilter, max_bytes: int) -> Iterator[Answer | PassedRecord]:
    """Yield the rows of a Parquet file with the columns `url` and `html`, and optionally `date`."""
    import pyarrow as pa  # noqa: PLC0415 — an extra
    from pyarrow import parquet  # noqa: PLC0415 — as above

    try:
        source = parquet.ParquetFile(file)
        kinds = {field.name: field.type for field in source.schema_arrow}
        _check_columns(kinds, path)
        headers = _HTML if _holds(kinds["html"], "string") else _HTML_BYTES
        number = 0
        for batch in source.iter_batches(_ROWS_PER_READ, columns=[name for name in _COLUMNS if name in kinds]):
            # As bytes: a text that is not UTF-8 would end the whole file.
            urls, pages = (batch.column(name).cast(pa.large_binary()).to_pylist() for name in ("url", "html"))
            dates = _read_dates(batch.column("date")) if "date" in kinds else [None] * len(urls)
            for url, html, date in zip(urls, pages, dates, strict=True):
                yield _read_row(_Row(RecordPlace(number), url, html, date), headers, records, max_bytes)
                number += 1
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(f"the input {path!r} cannot be read as a Parquet file to its end: {error}") from error


def _check_columns(kinds: dict[str, pa.DataType], path: str) -> None:
    """Raise InputError for a Parquet file whose columns have other names or types."""
    if missing := {"url", "html"}.difference(kinds):
        raise InputError(f"the input {path!r} has no column {min(missing)!r}; its columns are {', '.join(kinds)}")
    for name, wanted in _COLUMNS.items():
        if name in kinds and not _holds(kinds[name], *wanted, "null"):
            raise InputError(
                f"the column {name!r} of the input {path!r} has the type {kinds[name]}; it must have the type "
                f"{' or '.join(wanted)}"
            )


def _holds(kind: pa.DataType, *names: str) -> bool:
    """Return True if a column's values, or the values of its dictionary, have one of the types."""
    type_name = str(getattr(kind, "value_type", kind)) if str(kind).startswith("dictionary") else str(kind)
    return type_name.removeprefix("large_").removesuffix("_view").startswith(names)


def _read_row(
    row: _Row, headers: tuple[tuple[str, str], ...], records: RecordFilter, max_bytes: int
) -> Answer | PassedRecord:
    """Return the page of a row, or why the row is not read."""
    if row.url is None or row.html is None or not row.url.startswith((b"http://", b"https://")):
        return PassedRecord(row.place, Passed.OTHER)
    address = row.url.decode("utf-8", "replace")
    if reason := records.reject_address(address, row.date) or records.reject_answer(200, "text/html"):
        return PassedRecord(row.place, reason, address)
    try:
        url = safe_url_string(address)
    except ValueError:
        return PassedRecord(row.place, LostAnswer.NO_ADDRESS, address, is_lost=True)
    return Answer(row.place, url, 200, headers, row.html[: max_bytes + 1], row.date)


def _read_dates(column: pa.Array) -> list[datetime | None]:
    """Return the moments of a column of texts, days or times; None for what no calendar of Python's has."""
    import pyarrow as pa  # noqa: PLC0415 — an extra

    if _holds(column.type, "string", "null"):
        texts = column.cast(pa.large_binary()).to_pylist()
        return [None if text is None else read_moment(text.decode("utf-8", "replace")) for text in texts]
    times = column.cast(pa.timestamp("s")) if _holds(column.type, "date") else column
    ticks = _TICKS[times.type.unit]
    return [
        None if count is None else _moment(count * 1_000_000 // ticks) for count in times.cast(pa.int64()).to_pylist()
    ]


def _moment(microseconds: int) -> datetime | None:
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return None

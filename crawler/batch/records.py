"""The records of an input file that pass the filters, as answers of servers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING

from w3lib.url import safe_url_string
from warcio.archiveiterator import ArchiveIterator

from crawler.batch.filters import Filtered, RecordFilter, read_moment
from crawler.batch.inputs import InputFile, InputKind, open_input
from crawler.batch.warc import LostRecord, WarcRecord, read_warc
from crawler.errors import InputError
from crawler.fetching.replay import DAMAGE_ERRORS, read_answer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    import pyarrow as pa

_HTTP_START = re.compile(rb"HTTP/[0-9.]+ +([0-9]{3})")
_CONTENT_TYPE = re.compile(rb"^content-type:[ \t]*([^\r\n]*)", re.IGNORECASE | re.MULTILINE)
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_HEAD_BYTES_MAX = 1 << 16
# An answer's head, and what its transfer coding adds to the body.
_HEAD_ROOM = 1 << 17
_ROWS_PER_READ = 200
_HTML = (("Content-Type", "text/html; charset=utf-8"),)
_HTML_BYTES = (("Content-Type", "text/html"),)
# The columns of a Parquet file that are read, with the types that they may have.
_COLUMNS = {"url": ("string", "binary"), "html": ("string", "binary"), "date": ("timestamp", "date", "string")}
_TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Passed(StrEnum):
    """Records that hold no answer to a GET request. They are counted as `record/<word>`."""

    OTHER = "other"
    """No answer of a server: requests, metadata, revisits, DNS."""
    POSTED = "posted"
    """The answer to a request that is not GET."""
    UNREADABLE = "unreadable"
    """An answer whose head or coding cannot be read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's answer in an input file. `place` is the record's byte or row; a longer body is cut after the limit."""

    place: int
    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    at: datetime | None
    record_id: str | None = None


@dataclass(slots=True)
class PassedRecord:
    """A record that is not cleaned: where it is, and why."""

    place: int
    reason: Filtered | Passed | str
    url: str | None = None
    is_lost: bool = False


@dataclass(slots=True)
class OtherRequests:
    """The answers of a file that belong to other requests than GET, by the ids of their records."""

    answer_ids: set[str] = field(default_factory=set)


def read_records(
    file: InputFile, records: RecordFilter, max_bytes: int, others: OtherRequests
) -> Iterator[Answer | PassedRecord]:
    """Yield each record of an input file: the answers that the filter lets pass, and why the others are not read.

    `others` collects the ids of answers to other requests than GET; such a request may follow its answer. Raises
    InputError for a file that cannot be read at all.
    """
    with open_input(file.path) as opened:
        try:
            if file.kind is InputKind.PARQUET:
                yield from _read_rows(opened, file.path, records, max_bytes)
                return
            for record in read_warc(opened, max_bytes + _HEAD_ROOM):
                if isinstance(record, LostRecord):
                    yield PassedRecord(record.offset, record.damage, is_lost=True)
                else:
                    yield _read_record(record, records, max_bytes, others)
        except OSError as error:
            raise InputError(f"the input {file.path!r} cannot be read to its end: {error}") from error


def _read_record(
    record: WarcRecord, records: RecordFilter, max_bytes: int, others: OtherRequests
) -> Answer | PassedRecord:
    kind, header = record.header.get("warc-type", ""), record.header
    url = header.get("warc-target-uri", "").strip("<>")
    if kind == "request" and not record.block.startswith(b"GET "):
        others.answer_ids.add(header.get("warc-concurrent-to", ""))
    if kind not in {"response", "conversion", "resource"} or not url.startswith(("http://", "https://")):
        return PassedRecord(record.offset, Passed.OTHER)
    date = read_moment(header.get("warc-date", ""))
    if reason := records.reject_address(url, date):
        return PassedRecord(record.offset, reason, url)
    try:
        url = safe_url_string(url)
    except ValueError:
        return PassedRecord(record.offset, Passed.UNREADABLE, url, is_lost=True)
    if kind != "response":
        return _read_document(record, records, url, date)
    return _read_response(record, records, max_bytes, url, date)


def _read_response(
    record: WarcRecord, records: RecordFilter, max_bytes: int, url: str, date: datetime | None
) -> Answer | PassedRecord:
    end = _HEAD_END.search(record.block, 0, _HEAD_BYTES_MAX)
    head = record.block[: end.start()] if end else record.block[:_HEAD_BYTES_MAX]
    start = _HTTP_START.match(head)
    if start is None:
        return PassedRecord(record.offset, Passed.UNREADABLE, url, is_lost=True)
    stated = _CONTENT_TYPE.search(head)
    if reason := records.reject_answer(int(start[1]), stated[1].decode("latin-1") if stated else ""):
        return PassedRecord(record.offset, reason, url)
    try:
        answer = read_answer(next(iter(ArchiveIterator(BytesIO(_rebuilt(record))))), max_bytes)
    except (*DAMAGE_ERRORS, StopIteration):
        return PassedRecord(record.offset, Passed.UNREADABLE, url, is_lost=True)
    record_id = record.header.get("warc-record-id")
    return Answer(record.offset, url, answer.status, answer.headers, answer.body, date, record_id)


def _rebuilt(record: WarcRecord) -> bytes:
    """Return a record as warcio reads it, so that an answer is decoded as `REPLAY` decodes it."""
    header = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://record.invalid/\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(record.block)}\r\n\r\n"
    )
    return header.encode() + record.block + b"\r\n\r\n"


def _read_document(record: WarcRecord, records: RecordFilter, url: str, date: datetime | None) -> Answer | PassedRecord:
    """Return a document without an HTTP head; of plain text, such as a WET file's, each line becomes a paragraph."""
    media_type = record.header.get("content-type", "text/html")
    if reason := records.reject_answer(200, media_type):
        return PassedRecord(record.offset, reason, url)
    if media_type.partition(";")[0].strip().lower() != "text/plain":
        return Answer(record.offset, url, 200, (("Content-Type", media_type),), record.block, date)
    lines = record.block.decode("utf-8", "replace").splitlines()
    body = "".join(f"<p>{escape(line)}</p>\n" for line in lines if line.strip())
    language = escape(record.header.get("warc-identified-content-language", "").partition(",")[0])
    page = f'<!DOCTYPE html>\n<html lang="{language}"><body>\n{body}</body></html>\n'
    return Answer(record.offset, url, 200, _HTML, page.encode() if body else b"", date)


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
                found = _check_row(number, url, html, date, records)
                if isinstance(found, str):
                    yield Answer(number, found, 200, headers, html[: max_bytes + 1], date)
                else:
                    yield found
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
    """Return True if a column's values, or those of its dictionary, have one of the types."""
    shown = str(getattr(kind, "value_type", kind)) if str(kind).startswith("dictionary") else str(kind)
    return shown.removeprefix("large_").removesuffix("_view").startswith(names)


def _check_row(
    number: int, url: bytes | None, html: bytes | None, date: datetime | None, records: RecordFilter
) -> PassedRecord | str:
    """Return the URL of a row, or why the row is not read."""
    if url is None or html is None or not url.startswith((b"http://", b"https://")):
        return PassedRecord(number, Passed.OTHER)
    shown = url.decode("utf-8", "replace")
    if reason := records.reject_address(shown, date) or records.reject_answer(200, "text/html"):
        return PassedRecord(number, reason, shown)
    try:
        return safe_url_string(shown)
    except ValueError:
        return PassedRecord(number, Passed.UNREADABLE, shown, is_lost=True)


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

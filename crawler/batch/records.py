"""The records of an input file that pass the filters, as answers of servers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any

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

_HTTP_START = re.compile(rb"HTTP/[0-9.]+ +([0-9]{3})")
_CONTENT_TYPE = re.compile(rb"^content-type:[ \t]*([^\r\n]*)", re.IGNORECASE | re.MULTILINE)
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_HEAD_BYTES_MAX = 1 << 16
# An answer's head, and what its transfer coding adds to the body.
_HEAD_ROOM = 1 << 17
_ROWS_PER_READ = 200
_HTML = (("Content-Type", "text/html; charset=utf-8"),)
_HTML_BYTES = (("Content-Type", "text/html"),)


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
        names = source.schema_arrow.names
        if missing := {"url", "html"}.difference(names):
            raise InputError(f"the input {path!r} has no column {min(missing)!r}; its columns are {', '.join(names)}")
        wanted = [name for name in ("url", "html", "date") if name in names]
        number = 0
        for batch in source.iter_batches(_ROWS_PER_READ, columns=wanted):
            for row in batch.to_pylist():
                yield _read_row(number, row, records, max_bytes)
                number += 1
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(f"the input {path!r} is not a Parquet file that can be read: {error}") from error


def _read_row(number: int, row: dict[str, Any], records: RecordFilter, max_bytes: int) -> Answer | PassedRecord:
    url, html, date = row["url"], row["html"], _row_date(row.get("date"))
    if not isinstance(url, str) or not url.startswith(("http://", "https://")) or html is None:
        return PassedRecord(number, Passed.OTHER)
    if reason := records.reject_address(url, date) or records.reject_answer(200, "text/html"):
        return PassedRecord(number, reason, url)
    try:
        url = safe_url_string(url)
    except ValueError:
        return PassedRecord(number, Passed.UNREADABLE, url, is_lost=True)
    if isinstance(html, str):
        return Answer(number, url, 200, _HTML, html.encode("utf-8", "replace")[: max_bytes + 1], date)
    return Answer(number, url, 200, _HTML_BYTES, bytes(html[: max_bytes + 1]), date)


def _row_date(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return read_moment(value) if isinstance(value, str) else None

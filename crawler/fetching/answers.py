"""The answers of servers in the records of a WARC file, and the reason if a record has no answer.

Every command that reads archives gets its answers from `read_answers`, so that they agree on what a page is and on what
is lost. The body of an answer is returned without its transfer coding, and still packed if the server packed it: it is
unpacked like one from the network.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from html import escape
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

from w3lib.url import safe_url_string

from crawler.fetching.compression import DamagedBodyError, unpack_body
from crawler.fetching.warc import LostRecord, read_warc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from crawler.fetching.warc import MemberMarks, RecordPlace, WarcRecord

HEAD_ROOM = 1 << 17
"""Bytes that an answer's head, and its transfer coding, may add to the body."""

_HTTP_START = re.compile(rb"HTTP/[0-9.]+[ \t]+([0-9]{3})(?![0-9])")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_HEAD_BYTES_MAX = 1 << 16
_LINE_END = re.compile(rb"\r?\n")
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_CHUNK_END = re.compile(rb"\r?\n")
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<[!?A-Za-z]")
_HTML = (("Content-Type", "text/html; charset=utf-8"),)
# The body is returned without its transfer coding.
_TRANSFER_HEADERS = frozenset({"transfer-encoding", "content-length"})
_CONTENT_ENCODING = "content-encoding"
_BODILESS_STATUSES = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
# A record whose length was corrected may have lost line ends at its end, which no page misses.
_MISSING_BYTES_MAX = 4
_ANSWER_KINDS = frozenset({"response", "conversion", "resource"})
_ADDRESS_STARTS = ("http://", "https://")


class Passed(StrEnum):
    """Records that hold no answer to a GET request. They are skipped."""

    OTHER = "other"
    """No answer of a server: requests, metadata, DNS."""
    REVISIT = "revisit"
    """The statement that an answer is the same as an earlier one, without its body."""
    POSTED = "posted"
    """The answer to a request that is not GET."""


class LostAnswer(StrEnum):
    """Why a record that can be read gives no answer."""

    NO_ADDRESS = "no_address"
    """It states no URL, or a text that cannot be a URL."""
    UNREADABLE = "unreadable"
    """It does not begin like an answer of a web server."""
    CUT_BODY = "cut_body"
    """The body ends before the length or the last chunk that the server announced."""


class AnswerFilter(Protocol):
    """Which answers are read; each method returns why one is not."""

    def reject_address(self, url: str, date: datetime | None) -> StrEnum | None: ...

    def reject_answer(self, status: int, media_type: str) -> StrEnum | None: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's answer in an archive. A longer body is cut one byte after the limit.

    `is_shortened` says that the archive has only the beginning of the body, by its own statement (WARC-Truncated).
    """

    place: RecordPlace
    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    at: datetime | None
    record_id: str | None = None
    is_shortened: bool = False


@dataclass(frozen=True, slots=True)
class PassedRecord:
    """A record without an answer: where it is, and why."""

    place: RecordPlace
    reason: StrEnum
    url: str | None = None
    is_lost: bool = False


@dataclass(slots=True)
class OtherRequests:
    """The answers of a file that belong to other requests than GET, by the ids of their records."""

    answer_ids: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Head:
    """The status and headers of an answer, and where its body begins."""

    status: int
    headers: tuple[tuple[str, str], ...]
    end: int

    def get(self, name: str) -> str:
        """Return the first value of a header, "" if there is none; the name in lower case."""
        return next((value for key, value in self.headers if key.lower() == name), "")


def read_answers(
    file: BinaryIO,
    max_bytes: int,
    others: OtherRequests,
    *,
    answer_filter: AnswerFilter | None = None,
    marks: MemberMarks | None = None,
) -> Iterator[Answer | PassedRecord]:
    """Yield each record of a WARC file: the answers that the filter lets pass, and why the others are not read.

    `others` collects the ids of answers to other requests than GET; such a request may follow its answer.
    """
    records = read_warc(file, max_bytes + HEAD_ROOM, marks)
    return answers_of(records, max_bytes, others, answer_filter)


def answers_of(
    records: Iterator[WarcRecord | LostRecord],
    max_bytes: int,
    others: OtherRequests,
    answer_filter: AnswerFilter | None = None,
) -> Iterator[Answer | PassedRecord]:
    """Yield the answers in records as `read_answers` does; their blocks have HEAD_ROOM more than `max_bytes`."""
    for record in records:
        if isinstance(record, LostRecord):
            yield PassedRecord(record.place, record.damage, is_lost=True)
        else:
            yield read_answer(record, max_bytes, others, answer_filter)


def read_answer(
    record: WarcRecord, max_bytes: int, others: OtherRequests, answer_filter: AnswerFilter | None = None
) -> Answer | PassedRecord:
    """Return the answer that a record holds, or why it holds none."""
    kind = record.header.get("warc-type", "").lower()
    url = record.header.get("warc-target-uri", "").strip("<> \t")
    if kind == "request" and not record.block.startswith(b"GET "):
        others.answer_ids.add(record.header.get("warc-concurrent-to", ""))
    if kind == "revisit":
        return PassedRecord(record.place, Passed.REVISIT, url)
    if kind not in _ANSWER_KINDS or (url and not url.lower().startswith(_ADDRESS_STARTS)):
        return PassedRecord(record.place, Passed.OTHER, url or None)
    date = read_moment(record.header.get("warc-date", ""))
    if url and answer_filter is not None and (reason := answer_filter.reject_address(url, date)):
        return PassedRecord(record.place, reason, url)
    try:
        address = safe_url_string(url)  # the form of a Request's URL
    except ValueError:
        address = ""
    if not address:
        return PassedRecord(record.place, LostAnswer.NO_ADDRESS, url or None, is_lost=True)
    read = _read_response if kind == "response" else _read_document
    answer = read(record, address, date, max_bytes, answer_filter)
    return answer if isinstance(answer, Answer) else PassedRecord(record.place, answer, address, _is_loss(answer))


def read_moment(text: str) -> datetime | None:
    """Return a date or time in ISO form, in UTC if it names no zone; None for any other text."""
    try:
        moment = datetime.fromisoformat(text.strip())
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):  # the latter: in UTC it is before the year 1
        return None


def _is_loss(reason: StrEnum) -> bool:
    return isinstance(reason, LostAnswer)


def _read_response(
    record: WarcRecord, url: str, date: datetime | None, max_bytes: int, answer_filter: AnswerFilter | None
) -> Answer | StrEnum:
    head = _read_head(record.block)
    if head is None:
        return LostAnswer.UNREADABLE
    if answer_filter is not None and (reason := answer_filter.reject_answer(head.status, head.get("content-type"))):
        return reason
    body = _read_body(record, head, max_bytes)
    if body is None:
        return LostAnswer.CUT_BODY
    dropped = _TRANSFER_HEADERS
    if _is_unpacked(body, head.get(_CONTENT_ENCODING), max_bytes):
        dropped |= {_CONTENT_ENCODING}
    headers = tuple((name, value) for name, value in head.headers if name.lower() not in dropped)
    record_id = record.header.get("warc-record-id")
    return Answer(record.place, url, head.status, headers, body, date, record_id, _is_shortened(record))


def _read_document(
    record: WarcRecord, url: str, date: datetime | None, max_bytes: int, answer_filter: AnswerFilter | None
) -> Answer | StrEnum:
    """Return a document without an HTTP head; of plain text, such as a WET file's, each line becomes a paragraph."""
    media_type = record.header.get("content-type", "text/html")
    if answer_filter is not None and (reason := answer_filter.reject_answer(HTTPStatus.OK, media_type)):
        return reason
    headers: tuple[tuple[str, str], ...] = (("Content-Type", media_type),)
    body = record.block[: max_bytes + 1]
    if media_type.partition(";")[0].strip().lower() == "text/plain":
        headers = _HTML
        body = _make_page(record.block, record.header.get("warc-identified-content-language", ""))
    return Answer(record.place, url, HTTPStatus.OK, headers, body, date, is_shortened=_is_shortened(record))


def _make_page(text: bytes, languages: str) -> bytes:
    lines = text.decode("utf-8", "replace").splitlines()
    body = "".join(f"<p>{escape(line)}</p>\n" for line in lines if line.strip())
    language = escape(languages.partition(",")[0])
    page = f'<!DOCTYPE html>\n<html lang="{language}"><body>\n{body}</body></html>\n'
    return page.encode() if body else b""


def _is_shortened(record: WarcRecord) -> bool:
    return bool(record.header.get("warc-truncated"))


def _read_head(block: bytes) -> _Head | None:
    """Return the head of an answer, past the heads of provisional answers (1xx); None if the block has no head.

    Lines that are not headers are left out, and one that begins with a space continues the header before it.
    """
    begin = 0
    while (start := _HTTP_START.match(block, begin)) is not None:
        end = _HEAD_END.search(block, begin, begin + _HEAD_BYTES_MAX)
        until = end.start() if end else min(len(block), begin + _HEAD_BYTES_MAX)
        after = end.end() if end else until
        status = int(start[1])
        if status >= HTTPStatus.OK or not _HTTP_START.match(block, after):
            return _Head(status, tuple(_read_headers(block[begin:until])), after)
        begin = after
    return None


def _read_headers(head: bytes) -> list[tuple[str, str]]:
    headers: list[tuple[str, str]] = []
    for line in _LINE_END.split(head)[1:]:
        text = _decode(line)
        name, colon, value = text.partition(":")
        if text[:1] in {" ", "\t"} and headers:
            headers[-1] = (headers[-1][0], f"{headers[-1][1]} {text.strip()}")
        elif colon and name.strip():
            headers.append((name.strip(), value.strip()))
    return headers


def _decode(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _read_body(record: WarcRecord, head: _Head, max_bytes: int) -> bytes | None:
    """Return the body without its transfer coding; None if it ends too early and the archive does not say so."""
    body = record.block[head.end :]
    is_whole = True
    if "chunked" in head.get("transfer-encoding").lower() and _CHUNK_SIZE.match(body):
        body, is_whole = _join_chunks(body, max_bytes)
    elif (stated := head.get("content-length")).isdecimal() and head.status not in _BODILESS_STATUSES:
        is_whole = record.length - head.end + _MISSING_BYTES_MAX >= int(stated[:18])
    return body[: max_bytes + 1] if is_whole or _is_shortened(record) else None


def _join_chunks(data: bytes, max_bytes: int) -> tuple[bytes, bool]:
    """Return the content of chunks up to one byte more than the limit, and whether it is all of it."""
    chunks: list[bytes] = []
    position = total = 0
    while total <= max_bytes:
        size = _CHUNK_SIZE.match(data, position)
        if size is None:
            return b"".join(chunks), False
        length = int(size[1], 16)
        if length == 0:
            break
        chunk = data[size.end() : size.end() + length]
        chunks.append(chunk)
        total += len(chunk)
        if len(chunk) < length:
            return b"".join(chunks), total > max_bytes
        position = size.end() + length
        if end := _CHUNK_END.match(data, position):
            position = end.end()
    return b"".join(chunks), True


def _is_unpacked(body: bytes, encodings: str, max_bytes: int) -> bool:
    """Return True if a body is markup although its header says that it is packed: some archives unpack bodies."""
    if not encodings or not _MARKUP.match(body):
        return False
    try:
        unpack_body(body, encodings, max_bytes)
    except DamagedBodyError:
        return True
    return False

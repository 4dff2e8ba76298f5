"""A WARC file of recorded responses."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import BufferedReader
from warcio.exceptions import ArchiveLoadFailed

from crawler.errors import ReplayError
from crawler.replay.source import Absence, ReplaySource, Saved

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# warcio raises AttributeError on records whose header is cut off.
_DAMAGE = (ArchiveLoadFailed, AttributeError, EOFError, OSError, ValueError, zlib.error)
_CHUNK_BYTES = 1 << 16
# Blank lines after the last record of an uncompressed file.
_MOST_TRAILING_BYTES = 4
# The body is handed on without its transfer coding and, where warcio knows it, its compression.
_SPENT_HEADERS = frozenset({"transfer-encoding", "content-length"})
_CODING = "content-encoding"
# What a server answers for the moment, or of what it sent before: it takes the place of no other answer.
_PASSING = frozenset({HTTPStatus.NOT_MODIFIED, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})


@dataclass(frozen=True, slots=True)
class _Answer:
    """A recorded response: where it begins, the record's id, the status; 0 where it has none."""

    url: str
    offset: int
    record_id: str | None
    status: int

    @property
    def is_passing(self) -> bool:
        return self.status in _PASSING or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR


class WarcSource(ReplaySource):
    """The HTTP responses of a WARC file: offsets are read on opening, records when they are asked for.

    Of several under one URL the last one counts that is no passing answer (304, 408, 429, 5xx), if there is one.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        answers = sorted(_index(path), key=lambda answer: not answer.is_passing)
        super().__init__((answer.url, answer.offset) for answer in answers)
        if not self._places:
            raise ReplayError(f"the WARC file {path} holds no HTTP response")

    def _read(self, place: int) -> Saved | Absence:
        try:
            with self._path.open("rb") as file:
                file.seek(place)
                record = next(iter(ArchiveIterator(file)))
                body = record.content_stream().read(self._max_bytes + 1)
        except (*_DAMAGE, StopIteration):
            return Absence.DAMAGED_FILE
        spent = _SPENT_HEADERS | ({_CODING} if _is_unpacked(record) else set())
        headers = tuple((name, value) for name, value in record.http_headers.headers if name.lower() not in spent)
        return Saved(_status(record) or HTTPStatus.OK, headers, body)


def _index(path: Path) -> list[_Answer]:
    """Return the responses of a file, but those to other requests than GET. Raises ReplayError for a damaged one."""
    answers: list[_Answer] = []
    others: set[str] = set()
    for offset, record in _records(path):
        headers = record.rec_headers
        url = headers.get_header("WARC-Target-URI") or ""
        if not record.http_headers or not url.startswith(("http://", "https://")):
            continue
        if record.rec_type == "response":
            answers.append(_Answer(url, offset, headers.get_header("WARC-Record-ID"), _status(record)))
        elif record.rec_type == "request" and record.http_headers.protocol != "GET":
            others.add(headers.get_header("WARC-Concurrent-To"))
    return [answer for answer in answers if answer.record_id is None or answer.record_id not in others]


def _records(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield each record, read over, with its offset. Raises ReplayError for a damaged file."""
    end, whole = 0, True
    try:
        with path.open("rb") as file:
            records = ArchiveIterator(file)
            for record in records:
                whole = _skip(record)
                end = records.get_record_offset() + records.get_record_length()
                if not whole:
                    break
                yield records.get_record_offset(), record
    except _DAMAGE as error:
        raise _damaged(path, end) from error
    if path.stat().st_size - end > _MOST_TRAILING_BYTES or not whole:
        raise _damaged(path, end)


def _skip(record: Any) -> bool:
    """Read over a record; tell whether it says how long it is, and was."""
    while record.raw_stream.read(_CHUNK_BYTES):
        pass
    return record.rec_headers.get_header("Content-Length") is not None and not record.raw_stream.limit


def _status(record: Any) -> int:
    status = record.http_headers.get_statuscode()
    return int(status) if status.isdecimal() else 0


def _is_unpacked(record: Any) -> bool:
    coding = record.http_headers.get_header(_CODING)
    return coding is not None and coding.lower() in BufferedReader.get_supported_decompressors()


def _damaged(path: Path, end: int) -> ReplayError:
    return ReplayError(
        f"the WARC file {path} is damaged after byte {end}, or was not compressed record by record; "
        f"`warcio recompress` may repair it"
    )

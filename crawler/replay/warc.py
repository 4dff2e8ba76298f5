"""A WARC file of recorded responses."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from warcio.archiveiterator import ArchiveIterator
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
# The body is handed on without its transfer coding and compression.
_SPENT_HEADERS = frozenset({"content-encoding", "transfer-encoding", "content-length"})


class WarcSource(ReplaySource):
    """The HTTP responses of a WARC file: offsets are read on opening, records when they are asked for."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        super().__init__(_index(path))
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
        status = record.http_headers.get_statuscode()
        headers = tuple(
            (name, value) for name, value in record.http_headers.headers if name.lower() not in _SPENT_HEADERS
        )
        return Saved(int(status) if status.isdecimal() else 200, headers, body)


def _index(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the URL and the offset of each response. Raises ReplayError for a damaged file."""
    end, whole = 0, True
    try:
        with path.open("rb") as file:
            records = ArchiveIterator(file)
            for record in records:
                whole = _skip(record)
                end = records.get_record_offset() + records.get_record_length()
                if not whole:
                    break
                url = record.rec_headers.get_header("WARC-Target-URI") or ""
                if record.rec_type == "response" and record.http_headers and url.startswith(("http://", "https://")):
                    yield url, records.get_record_offset()
    except _DAMAGE as error:
        raise _damaged(path, end) from error
    if path.stat().st_size - end > _MOST_TRAILING_BYTES or not whole:
        raise _damaged(path, end)


def _skip(record: Any) -> bool:
    """Read over a record; tell whether it says how long it is, and was."""
    while record.raw_stream.read(_CHUNK_BYTES):
        pass
    return record.rec_headers.get_header("Content-Length") is not None and not record.raw_stream.limit


def _damaged(path: Path, end: int) -> ReplayError:
    return ReplayError(
        f"the WARC file {path} is damaged after byte {end}, or was not compressed record by record; "
        f"`warcio recompress` may repair it"
    )

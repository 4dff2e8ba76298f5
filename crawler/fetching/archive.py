"""The archive of a crawl (setting ARCHIVE): every response as it was received, in a WARC file.

`ArchiveRecorder` is the crawl's extension, `ArchiveFile` appends to the file, and `ArchiveRecords` turns a request and
its response into two WARC records without secrets. A crawl that was killed may leave a partial record at the end of the
file; the next crawl that opens the file cuts it off.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import mmap
import os
import zlib
from dataclasses import dataclass
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.httpobj import urlparse_cached
from w3lib.url import safe_url_string
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crawler.config import config_of
from crawler.context import context_of
from crawler.errors import ArchiveError, ConfigError
from crawler.monitoring.exit_status import FinishReason
from crawler.monitoring.files import append_whole, writable_path
from crawler.redact import looks_secret, redact_text
from crawler.urls import without_credentials

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from io import FileIO
    from pathlib import Path
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.http.headers import Headers
    from scrapy.settings import BaseSettings
    from warcio.recordloader import ArcWarcRecord

logger = logging.getLogger(__name__)

_ARCHIVE_SUFFIX = ".warc.gz"

_WARC_VERSION = "WARC/1.1"
# These headers describe the transfer, or bytes other than those recorded.
_TRANSFER_HEADERS = frozenset({"transfer-encoding", "content-length"})
_BODILESS_STATUSES = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
# Scrapy's flags for an incomplete body, and the WARC standard's words for them.
_TRUNCATED = {"partial": "disconnect", "download_stopped": "unspecified"}
_PLAIN_LEVEL = 3
# The level for a body that was sent compressed: a higher level does not make it smaller.
_COMPRESSED_LEVEL = 1
# Each record is a gzip member. A member starts with this magic number and method, and its content with this text.
_GZIP_START = b"\x1f\x8b\x08"
_RECORD_START = b"WARC/1."
_CHUNK_BYTES = 1 << 20


class ArchiveRecorder:
    """Extension that writes each response to ARCHIVE; if writing fails, the crawl ends as `archive_failed`."""

    def __init__(self, crawler: Crawler, file: ArchiveFile) -> None:
        assert crawler.stats
        self._crawler = crawler
        self._stats = crawler.stats
        self._file = file
        self._records = ArchiveRecords(file.path.name, _crawl_info(crawler.settings))
        self._failure: ArchiveError | None = None
        self._closing: asyncio.Future[None] | None = None
        if file.torn_bytes:
            self._stats.inc_value("archive/torn_bytes", file.torn_bytes)
            logger.warning(
                "The last record of the archive %s was incomplete: %d bytes were cut off", file.path, file.torn_bytes
            )
        file.append(self._records.warcinfo)
        crawler.signals.connect(self._stopped, signal=signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Raises ConfigError and ArchiveError for a file that cannot be written."""
        name = config_of(crawler).archive
        if not name:
            raise NotConfigured
        path = writable_path("ARCHIVE", name)
        if not path.name.endswith(_ARCHIVE_SUFFIX):
            raise ConfigError(f"ARCHIVE is {name!r}; it takes a file whose name ends in {_ARCHIVE_SUFFIX}")
        recorder = cls(crawler, ArchiveFile.open(path))
        context_of(crawler).archive = recorder
        return recorder

    def record(self, request: Request, response: Response) -> None:
        """Write a request and its response. Raises ArchiveError if this write fails or an earlier one has failed."""
        if self._failure is not None:
            raise self._failure
        data = self._records.pack(request, response)
        try:
            self._file.append(data)
        except ArchiveError as error:
            self._fail(error)
            raise
        self._stats.inc_value("archive/responses")
        self._stats.inc_value("archive/bytes", len(data))

    def _fail(self, error: ArchiveError) -> None:
        self._failure = error
        self._stats.set_value("archive/error", str(error))
        logger.error("%s: the crawl ends; run the same command to continue it", error)
        assert self._crawler.engine is not None
        # Not awaited: closing waits for the requests in progress, and this is one of them.
        closing = self._crawler.engine.close_spider_async(reason=FinishReason.ARCHIVE_FAILED)
        self._closing = asyncio.ensure_future(closing)

    def _stopped(self) -> None:
        self._file.close()
        count = self._stats.get_value("archive/responses", 0)
        logger.info("%d responses were added to the archive %s", count, self._file.path)


def _crawl_info(settings: BaseSettings) -> dict[str, str]:
    """Return the description of the crawl that the WARC standard asks for."""
    return {
        "software": "Blocksieve, with Scrapy and warcio",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "http-header-user-agent": redact_text(settings["USER_AGENT"]),
        "robots": "classic" if settings.getbool("ROBOTSTXT_OBEY") else "ignore",
    }


class ArchiveFile:
    """A WARC file with one writer, new or continued; `torn_bytes` of a partial last record have been cut off."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Unbuffered, so that written data survives however this process ends.
        self._file = path.open("r+b" if path.exists() else "x+b", buffering=0)
        try:
            self.torn_bytes = self._repair()
        except BaseException:
            self._file.close()
            raise

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the file, created if it is missing. Raises ArchiveError if it is in use or is not an archive."""
        try:
            return cls(path)
        except BlockingIOError as error:
            raise ArchiveError(
                f"ARCHIVE is {str(path)!r}, which another crawl is writing; give each crawl, and each process of one, "
                "a file of its own"
            ) from error
        except NotAnArchiveError as error:
            raise ArchiveError(
                f"ARCHIVE is {str(path)!r}, which is not a WARC file that can be continued: {error}; name another file"
            ) from error
        except OSError as error:
            raise ArchiveError(f"ARCHIVE is {str(path)!r}, which cannot be written: {error.strerror}") from error

    def append(self, data: bytes) -> None:
        """Append all of the data or nothing. Raises ArchiveError, for example if the disk is full."""
        try:
            append_whole(self._file, data)
        except OSError as error:
            raise ArchiveError(f"the archive {self.path} cannot be written: {error.strerror}") from error

    def close(self) -> None:
        """Sync the file to disk and release its lock."""
        os.fsync(self._file.fileno())
        self._file.close()

    def _repair(self) -> int:
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        size = os.fstat(self._file.fileno()).st_size
        end = _end_of_whole_records(self._file)
        self._file.truncate(end)
        return size - end


class ArchiveRecords:
    """Makes the WARC records of one crawl, each a gzip member of its own; `warcinfo` is the first one."""

    def __init__(self, name: str, crawl: Mapping[str, str]) -> None:
        self._buffer = BytesIO()
        self._writer = WARCWriter(self._buffer, gzip=False, warc_version=_WARC_VERSION)
        record = self._writer.create_warcinfo_record(name, crawl)
        self._crawl_header = {"WARC-Warcinfo-ID": record.rec_headers.get_header("WARC-Record-ID")}
        self.warcinfo = self._compress(record, _PLAIN_LEVEL)

    def pack(self, request: Request, response: Response) -> bytes:
        """Return the records of a response and of its request, in this order, as bytes to append to an archive."""
        url = _public_url(request.url)
        response_record = self._writer.create_warc_record(
            url,
            "response",
            payload=BytesIO(response.body),
            length=len(response.body),
            http_headers=_response_head(request, response),
            warc_headers_dict=self._crawl_header | _warc_headers(request, response),
        )
        request_record = self._writer.create_warc_record(
            url,
            "request",
            http_headers=_request_head(request, url),
            warc_headers_dict=self._crawl_header
            | {
                "WARC-Date": response_record.rec_headers.get_header("WARC-Date"),
                "WARC-Concurrent-To": response_record.rec_headers.get_header("WARC-Record-ID"),
            },
        )
        level = _COMPRESSED_LEVEL if "Content-Encoding" in response.headers else _PLAIN_LEVEL
        return self._compress(response_record, level) + self._compress(request_record, _COMPRESSED_LEVEL)

    def _compress(self, record: ArcWarcRecord, level: int) -> bytes:
        self._writer.write_record(record)
        data = self._buffer.getvalue()
        self._buffer.seek(0)
        self._buffer.truncate()
        compressor = zlib.compressobj(level, zlib.DEFLATED, zlib.MAX_WBITS + 16)
        return compressor.compress(data) + compressor.flush()


def _public_url(url: str) -> str:
    return redact_text(without_credentials(url)).partition("#")[0]


def _warc_headers(request: Request, response: Response) -> dict[str, str]:
    headers = {}
    # For a request through a proxy, the address is that of the proxy.
    if response.ip_address is not None and "proxy" not in request.meta:
        headers["WARC-IP-Address"] = str(response.ip_address)
    if truncated := next((_TRUNCATED[flag] for flag in response.flags if flag in _TRUNCATED), None):
        headers["WARC-Truncated"] = truncated
    return headers


def _response_head(request: Request, response: Response) -> StatusAndHeaders:
    headers = list(_safe_headers(response.headers))
    if request.method != "HEAD" and response.status not in _BODILESS_STATUSES:
        headers.append(("Content-Length", str(len(response.body))))
    return StatusAndHeaders(f"{response.status} {_phrase(response.status)}", headers, response.protocol or "HTTP/1.1")


def _request_head(request: Request, url: str) -> StatusAndHeaders:
    """Return the request line and headers. The body is left out: it may hold form data such as a password."""
    parts = urlparse_cached(request.replace(url=safe_url_string(url)))
    target = parts.path or "/"
    if parts.query:
        target += f"?{parts.query}"
    headers = list(_safe_headers(request.headers))
    if "Host" not in request.headers:
        headers.insert(0, ("Host", parts.netloc))
    return StatusAndHeaders(f"{request.method} {target} HTTP/1.1", headers, is_http_request=True)


def _safe_headers(headers: Headers) -> Iterator[tuple[str, str]]:
    for raw_name, values in headers.items():
        name = _as_ascii(raw_name)
        if name.lower() not in _TRANSFER_HEADERS and not looks_secret(name):
            for value in values:
                yield name, redact_text(_as_ascii(value))


def _as_ascii(value: bytes) -> str:
    """Return a header's name or value with other bytes percent-encoded, so that a URL in it still works."""
    return "".join(chr(byte) if byte in range(0x20, 0x7F) else f"%{byte:02X}" for byte in value)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


class NotAnArchiveError(Exception):
    """The file is not an archive, or it is damaged in another way than by a missing end."""


@dataclass(frozen=True, slots=True)
class _GzipMember:
    """A gzip member: the first bytes of its content, and the data after it, None if the member is incomplete."""

    start: bytes
    rest: bytes | None


def _end_of_whole_records(file: FileIO) -> int:
    """Return the offset after the last whole record, 0 if there is none. Raises NotAnArchiveError.

    The search starts at the end of the file, so its cost does not depend on the file's size.
    """
    end = file.seek(0, 2)
    if end == 0:
        return 0
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        first = _read_member(data, 0, end)
        if first is None or not _RECORD_START.startswith(first.start):
            raise NotAnArchiveError("it does not begin with a record")
        if len(first.start) < len(_RECORD_START):
            return 0  # the first record was cut off at its beginning
        while end and (cut := _find_cut(data, end)) is not None:
            end = cut
    return end


def _find_cut(data: mmap.mmap, end: int) -> int | None:
    """Return the offset at which to cut off a partial record before `end`; None if the last record is whole."""
    offset = end
    while (offset := data.rfind(_GZIP_START, 0, offset)) >= 0:
        member = _read_member(data, offset, end)
        if member is None or member.start != _RECORD_START:
            continue  # these bytes are inside a record, or too few are left of one
        if member.rest is None:
            return offset
        if not member.rest:
            return None
        if _GZIP_START.startswith(member.rest[: len(_GZIP_START)]):
            return end - len(member.rest)
        break
    raise NotAnArchiveError("other data follows its records")


def _read_member(data: mmap.mmap, begin: int, end: int) -> _GzipMember | None:
    """Return the gzip member at an offset; None if no member starts there."""
    decompressor = zlib.decompressobj(zlib.MAX_WBITS + 16)
    start = b""
    for offset in range(begin, end, _CHUNK_BYTES):
        until = min(offset + _CHUNK_BYTES, end)
        try:
            content = decompressor.decompress(data[offset:until])
        except zlib.error:
            return None
        start = (start + content[: len(_RECORD_START)])[: len(_RECORD_START)]
        if decompressor.eof:
            return _GzipMember(start, data[until - len(decompressor.unused_data) : end])
    return _GzipMember(start, None)

"""The archive of a crawl: every response, as it was received, in a WARC file (setting ARCHIVE)."""

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

from crawler.config import Config
from crawler.errors import ArchiveError, ConfigError
from crawler.files import append_whole, writable_path
from crawler.monitoring.exit_status import FinishReason
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


# How a record begins, which is a gzip member of its own (magic number, method deflate), and how it goes on unpacked.
_GZIP_START = b"\x1f\x8b\x08"
_RECORD_START = b"WARC/1."
_CHUNK_BYTES = 1 << 20


class NotAnArchiveError(Exception):
    """A file that is no archive, or is damaged otherwise than by an end that is missing."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A gzip member: what it begins with when unpacked, and what is behind it, None where its end is missing."""

    beginning: bytes
    behind: bytes | None


def end_of_whole_records(file: FileIO) -> int:
    """Return where the last whole record ends, 0 where there is none. Raises NoArchiveError.

    Records are looked for from the end on, so the file's size does not matter.
    """
    end = file.seek(0, 2)
    if end == 0:
        return 0
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        first = _member(data, 0, end)
        if first is None or not _RECORD_START.startswith(first.beginning):
            raise NotAnArchiveError("it does not begin with a record")
        if len(first.beginning) < len(_RECORD_START):
            return 0  # cut off before it said anything
        while end and (cut := _find_cut(data, end)) is not None:
            end = cut
    return end


def _find_cut(data: mmap.mmap, end: int) -> int | None:
    """Return where to cut off what is behind the last whole record before `end`; None where nothing is."""
    at = end
    while (at := data.rfind(_GZIP_START, 0, at)) >= 0:
        member = _member(data, at, end)
        if member is None or member.beginning != _RECORD_START:
            continue  # bytes within a record, or too few of one
        if member.behind is None:
            return at
        if not member.behind:
            return None
        if _GZIP_START.startswith(member.behind[: len(_GZIP_START)]):
            return end - len(member.behind)
        break
    raise NotAnArchiveError("there is something else behind its records")


def _member(data: mmap.mmap, begin: int, end: int) -> _Member | None:
    """Return the member that begins there; None where these bytes are none."""
    unpacking = zlib.decompressobj(zlib.MAX_WBITS + 16)
    beginning = b""
    for at in range(begin, end, _CHUNK_BYTES):
        until = min(at + _CHUNK_BYTES, end)
        try:
            unpacked = unpacking.decompress(data[at:until])
        except zlib.error:
            return None
        beginning = (beginning + unpacked[: len(_RECORD_START)])[: len(_RECORD_START)]
        if unpacking.eof:
            return _Member(beginning, data[until - len(unpacking.unused_data) : end])
    return _Member(beginning, None)


ARCHIVE_SUFFIX = ".warc.gz"


class ArchiveFile:
    """A WARC file, to be gone on with. `torn_bytes` of a record that an earlier writer left unfinished are cut off."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Unbuffered: what was written is the system's to keep, however this process ends.
        self._file = path.open("r+b" if path.exists() else "x+b", buffering=0)
        try:
            self.torn_bytes = self._repair()
        except BaseException:
            self._file.close()
            raise

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the file, made if need be. Raises ArchiveError where it is another process's, or no archive."""
        try:
            return cls(path)
        except BlockingIOError as error:
            raise ArchiveError(
                f"ARCHIVE is {str(path)!r}, which another crawl is writing; give each crawl, and each process of one, "
                "a file of its own"
            ) from error
        except NotAnArchiveError as error:
            raise ArchiveError(
                f"ARCHIVE is {str(path)!r}, which is no WARC file to go on with: {error}; name another"
            ) from error
        except OSError as error:
            raise ArchiveError(f"ARCHIVE is {str(path)!r}, which cannot be written: {error.strerror}") from error

    def append(self, data: bytes) -> None:
        """Write this at the end, or nothing of it. Raises ArchiveError where the disk is full, for one."""
        try:
            append_whole(self._file, data)
        except OSError as error:
            raise ArchiveError(f"the archive {self.path} cannot be written: {error.strerror}") from error

    def close(self) -> None:
        """See to it that the disk has it all, and let others write."""
        os.fsync(self._file.fileno())
        self._file.close()

    def _repair(self) -> int:
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        size = os.fstat(self._file.fileno()).st_size
        end = end_of_whole_records(self._file)
        self._file.truncate(end)
        return size - end


_WARC_VERSION = "WARC/1.1"
# Of the transfer, which is over, or true of other bytes than those recorded.
_TRANSFER_HEADERS = frozenset({"transfer-encoding", "content-length"})
_BODILESS_STATUSES = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
# What Scrapy's handler calls a body that is not whole, and what the standard does.
_TRUNCATED = {"partial": "disconnect", "download_stopped": "unspecified"}
_PLAIN_LEVEL = 3
# A body that came compressed: trying harder finds nothing.
_COMPRESSED_LEVEL = 1


class ArchiveRecords:
    """Makes the records of one crawl, each a gzip member of its own; `opening` says whose they are."""

    def __init__(self, name: str, crawl: Mapping[str, str]) -> None:
        self._made = BytesIO()
        self._writer = WARCWriter(self._made, gzip=False, warc_version=_WARC_VERSION)
        record = self._writer.create_warcinfo_record(name, crawl)
        self._of_crawl = {"WARC-Warcinfo-ID": record.rec_headers.get_header("WARC-Record-ID")}
        self.opening = self._packed(record, _PLAIN_LEVEL)

    def pair(self, request: Request, response: Response) -> bytes:
        """Return the response and then its request, as bytes to be appended to an archive."""
        url = _public_url(request.url)
        answer = self._writer.create_warc_record(
            url,
            "response",
            payload=BytesIO(response.body),
            length=len(response.body),
            http_headers=_response_head(request, response),
            warc_headers_dict=self._of_crawl | _warc_headers(request, response),
        )
        asked = self._writer.create_warc_record(
            url,
            "request",
            http_headers=_request_head(request, url),
            warc_headers_dict=self._of_crawl
            | {
                "WARC-Date": answer.rec_headers.get_header("WARC-Date"),
                "WARC-Concurrent-To": answer.rec_headers.get_header("WARC-Record-ID"),
            },
        )
        level = _COMPRESSED_LEVEL if "Content-Encoding" in response.headers else _PLAIN_LEVEL
        return self._packed(answer, level) + self._packed(asked, _COMPRESSED_LEVEL)

    def _packed(self, record: ArcWarcRecord, level: int) -> bytes:
        self._writer.write_record(record)
        made = self._made.getvalue()
        self._made.seek(0)
        self._made.truncate()
        packing = zlib.compressobj(level, zlib.DEFLATED, zlib.MAX_WBITS + 16)
        return packing.compress(made) + packing.flush()


def _public_url(url: str) -> str:
    return redact_text(without_credentials(url)).partition("#")[0]


def _warc_headers(request: Request, response: Response) -> dict[str, str]:
    found = {}
    # Of a request through a proxy it is the proxy's.
    if response.ip_address is not None and "proxy" not in request.meta:
        found["WARC-IP-Address"] = str(response.ip_address)
    if truncated := next((_TRUNCATED[flag] for flag in response.flags if flag in _TRUNCATED), None):
        found["WARC-Truncated"] = truncated
    return found


def _response_head(request: Request, response: Response) -> StatusAndHeaders:
    headers = list(_safe_headers(response.headers))
    if request.method != "HEAD" and response.status not in _BODILESS_STATUSES:
        headers.append(("Content-Length", str(len(response.body))))
    return StatusAndHeaders(f"{response.status} {_phrase(response.status)}", headers, response.protocol or "HTTP/1.1")


def _request_head(request: Request, url: str) -> StatusAndHeaders:
    """Return a request's head. Its body is left out: it may hold what a form was filled in with, a password for one."""
    parts = urlparse_cached(request.replace(url=safe_url_string(url)))
    target = parts.path or "/"
    if parts.query:
        target += f"?{parts.query}"
    headers = list(_safe_headers(request.headers))
    if "Host" not in request.headers:
        headers.insert(0, ("Host", parts.netloc))
    return StatusAndHeaders(f"{request.method} {target} HTTP/1.1", headers, is_http_request=True)


def _safe_headers(headers: Headers) -> Iterator[tuple[str, str]]:
    for name, values in headers.items():
        told = _as_ascii(name)
        if told.lower() not in _TRANSFER_HEADERS and not looks_secret(told):
            for value in values:
                yield told, redact_text(_as_ascii(value))


def _as_ascii(value: bytes) -> str:
    """Return a header's name or value as the standard wants it; an address leads to the same place as before."""
    return "".join(chr(byte) if byte in range(0x20, 0x7F) else f"%{byte:02X}" for byte in value)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


logger = logging.getLogger(__name__)


class ArchiveRecorder:
    """Writes what the download handler gives it to ARCHIVE. One that fails ends the crawl as `archive_failed`."""

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
                "The last record of the archive %s was not whole: %d bytes are cut off", file.path, file.torn_bytes
            )
        file.append(self._records.opening)
        crawler.signals.connect(self._stopped, signal=signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Raises ConfigError and ArchiveError for a file that cannot be written."""
        name = Config.read(crawler.settings).archive
        if not name:
            raise NotConfigured
        path = writable_path("ARCHIVE", name)
        if not path.name.endswith(ARCHIVE_SUFFIX):
            raise ConfigError(f"ARCHIVE is {name!r}; it takes a file whose name ends in {ARCHIVE_SUFFIX}")
        return cls(crawler, ArchiveFile.open(path))

    def record(self, request: Request, response: Response) -> None:
        """Write a request and its response. Raises ArchiveError once it cannot be written, and from then on."""
        if self._failure is not None:
            raise self._failure
        data = self._records.pair(request, response)
        try:
            self._file.append(data)
        except ArchiveError as error:
            self._fail(error)
            raise
        self._stats.inc_value("archive/responses")
        self._stats.inc_value("archive/bytes", len(data))

    def _fail(self, error: ArchiveError) -> None:
        """Close the spider; that waits for what is under way, so it is not waited for here."""
        self._failure = error
        self._stats.set_value("archive/error", str(error))
        logger.error("%s: the crawl ends, and the same command goes on with it", error)
        assert self._crawler.engine is not None
        closing = self._crawler.engine.close_spider_async(reason=FinishReason.ARCHIVE_FAILED)
        self._closing = asyncio.ensure_future(closing)

    def _stopped(self) -> None:
        self._file.close()
        count = self._stats.get_value("archive/responses", 0)
        logger.info("%d responses were added to the archive %s", count, self._file.path)


def _crawl_info(settings: BaseSettings) -> dict[str, str]:
    """Return what the standard wants an archive to say of the crawl."""
    return {
        "software": "Blocksieve, with Scrapy and warcio",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "http-header-user-agent": redact_text(settings["USER_AGENT"]),
        "robots": "classic" if settings.getbool("ROBOTSTXT_OBEY") else "ignore",
    }

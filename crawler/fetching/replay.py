"""Answer requests from saved pages instead of the network (setting REPLAY): a folder with an index, or a WARC file.

`ReplayHandler` is the download handler. It looks up each URL in a `ReplaySource`: a `FolderSource` or a `WarcSource`,
which `open_replay` opens.
"""

from __future__ import annotations

import csv
import errno
import gzip
import logging
import os
import stat
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from http import HTTPStatus
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO
from urllib.parse import urlsplit

from scrapy.http import Response
from scrapy.http.headers import Headers
from scrapy.responsetypes import responsetypes
from w3lib.url import canonicalize_url, safe_url_string
from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import BufferedReader
from warcio.exceptions import ArchiveLoadFailed

from crawler.context import context_of
from crawler.errors import ReplayError
from crawler.redact import redact_text
from crawler.urls import placeholder_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)

# warcio fails with version 1.2 of brotli. Left as it is, such a body is unpacked like one from the network.
BufferedReader.DECOMPRESSORS.pop("br", None)

_SHOWN_CHARS = 200

WARC_SUFFIXES = (".warc", ".warc.gz")

_INDEX_FILE = "index.tsv"
# Without a charset: the server's header is not known, so the page's own bytes decide.
_FOLDER_HEADERS = (("Content-Type", "text/html"),)
# warcio raises AttributeError on records whose header is cut off.
DAMAGE_ERRORS = (ArchiveLoadFailed, AttributeError, EOFError, OSError, ValueError, zlib.error)
"""What reading a damaged record raises."""
_CHUNK_BYTES = 1 << 16
# Blank lines after the last record of an uncompressed file.
_MAX_TRAILING_BYTES = 4
# The body is returned without its transfer coding and, if warcio supports it, without its compression.
_TRANSFER_HEADERS = frozenset({"transfer-encoding", "content-length"})
_CONTENT_ENCODING = "content-encoding"
# These answers, and those from 500 on, are temporary or refer to an earlier answer. They never replace another answer.
_TRANSIENT_STATUSES = frozenset({HTTPStatus.NOT_MODIFIED, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})
# Files of a host that a crawl asks for itself.
_HOST_FILES = frozenset({"/robots.txt", "/.well-known/tdmrep.json"})


class ReplayHandler:
    """Download handler that serves saved pages under their real URLs.

    A URL that was not saved is answered with 404; for robots.txt and tdmrep.json that allows everything.
    """

    lazy = True

    def __init__(self, source: ReplaySource, stats: StatsCollector) -> None:
        self._source = source
        self._stats = stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        source = replay_source(crawler)
        # Set, not added: http and https have a handler each.
        crawler.stats.set_value("replay/records", len(source.urls()))
        crawler.stats.set_value("replay/repeated", source.repeated)
        return cls(source, crawler.stats)

    async def download_request(self, request: Request) -> Response:
        found = self._source.find(request.url)
        if isinstance(found, ReplayMiss):
            if urlsplit(request.url).path not in _HOST_FILES:
                self._stats.inc_value(f"replay/{found}")
            return Response(request.url, status=404, request=request)
        if found.status == HTTPStatus.NOT_MODIFIED:
            self._count_not_modified(request.url)
        response_class: type[Response] = responsetypes.from_args(Headers(found.headers), request.url, body=found.body)
        return response_class(request.url, found.status, found.headers, found.body, request=request)

    def _count_not_modified(self, url: str) -> None:
        """Count an answer without a body; the log says why the page is missing."""
        self._stats.inc_value("replay/not_modified")
        logger.warning(
            "%s was not modified when it was recorded (304); its content is in the archive of an earlier crawl", url
        )

    async def close(self) -> None:
        """Do nothing: no file stays open between two requests."""


def replay_source(crawler: Crawler) -> ReplaySource:
    """Return the source that the crawl's REPLAY names. Raises ReplayError if there is none."""
    source: ReplaySource | None = context_of(crawler).replay
    if source is None:
        raise ReplayError("REPLAY is not set, or the add-on crawler.addon.Blocksieve is missing from ADDONS")
    return source


def open_replay(path: Path, max_bytes: int) -> ReplaySource:
    """Return the replay source at a path. It reads at most `max_bytes` + 1 of each page.

    Raises ReplayError for a source that is missing, damaged, of unknown form, or that points outside its folder.
    """
    if path.is_dir():
        return FolderSource(path, max_bytes)
    if not path.exists():
        raise ReplayError(f"REPLAY is {str(path)!r}, which does not exist")
    if not path.is_file():
        raise ReplayError(f"REPLAY is {str(path)!r}, which is not a regular file")
    if path.name.lower().endswith(WARC_SUFFIXES):
        return WarcSource(path, max_bytes)
    raise ReplayError(
        f"REPLAY is {str(path)!r}, neither a folder with index.tsv nor a file that ends in .warc or .warc.gz"
    )


class ReplayMiss(StrEnum):
    """Why nothing is saved for a URL; counted as `replay/<word>` and answered with 404."""

    ABSENT = "absent"
    MISSING_FILE = "missing_file"
    DAMAGED_FILE = "damaged_file"


@dataclass(frozen=True, slots=True)
class ReplayedResponse:
    """A saved answer. A body longer than the source's limit is cut one byte after it."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class ReplaySource(ABC):
    """Saved pages by URL. The last record of a URL wins; `repeated` counts the others."""

    def __init__(self, places: Iterable[tuple[str, Any]]) -> None:
        self._places: dict[str, Any] = {}
        self.repeated = 0
        for url, place in places:
            try:
                requested = safe_url_string(url)  # the form of a Request's URL
            except ValueError as error:
                logger.warning("The replay leaves out %r, which is no URL: %s", url[:_SHOWN_CHARS], error)
                continue
            self.repeated += requested in self._places
            self._places[requested] = place

    def urls(self) -> list[str]:
        """Return all saved URLs, each once, in the source's order."""
        return list(self._places)

    def find(self, url: str) -> ReplayedResponse | ReplayMiss:
        """Return what was saved for a URL, also for one without its fragment, in canonical form or without secrets."""
        place = self._place(url)
        if place is None and (redacted := redact_text(url)) != url:
            place = self._place(redacted)  # the form in an archive
        return ReplayMiss.ABSENT if place is None else self._read(place)

    def _place(self, url: str) -> Any:
        place = self._places.get(url)
        if place is None:
            known = self._by_canonical.get(canonicalize_url(url))
            place = self._places[known] if known is not None else None
        return place

    @cached_property
    def _by_canonical(self) -> dict[str, str]:
        return {canonicalize_url(url): url for url in self._places}

    @abstractmethod
    def _read(self, place: Any) -> ReplayedResponse | ReplayMiss:
        """Return the answer saved at a place."""


def check_replay_url(url: str, where: str) -> str:
    """Return the URL. Raises ReplayError unless it is an http or https URL."""
    try:
        safe = safe_url_string(url)
    except ValueError as error:
        raise ReplayError(f"{where}: {url!r} is not a URL ({error})") from error
    if not safe.startswith(("http://", "https://")):
        raise ReplayError(f"{where}: {url!r} is not an http or https URL")
    return url


class FolderSource(ReplaySource):
    """Pages at `<folder>/<site>/<file>`, listed in an index with the column `file` and optionally `site` and `url`.

    A row without a URL stands for `https://<site>.invalid/<file>`, which cleaning takes for unknown. Files that end in
    .gz are decompressed.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        super().__init__(read_replay_index(folder))

    def _read(self, place: Path) -> ReplayedResponse | ReplayMiss:
        try:
            with open_regular(place) as file:
                packed = place.suffix == ".gz"
                body = (gzip.GzipFile(fileobj=file) if packed else file).read(self._max_bytes + 1)
        except FileNotFoundError:
            return ReplayMiss.MISSING_FILE
        except (OSError, EOFError, zlib.error):
            return ReplayMiss.DAMAGED_FILE
        return ReplayedResponse(200, _FOLDER_HEADERS, body)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading. Raises OSError for anything else, such as a pipe, which would be waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return os.fdopen(descriptor, "rb")


def read_replay_index(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the URL and the file of each row of a folder's index. Raises ReplayError."""
    index, root = folder / _INDEX_FILE, folder.resolve()
    try:
        with TextIOWrapper(open_regular(index), encoding="utf-8-sig", newline="") as lines:
            yield from _parse_index(lines, root, index)
    except FileNotFoundError as error:
        raise ReplayError(f"REPLAY is {str(folder)!r}, a folder without {_INDEX_FILE}") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReplayError(f"{index} cannot be read: {error}") from error


def _parse_index(lines: TextIO, root: Path, index: Path) -> Iterator[tuple[str, Path]]:
    reader = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    if "file" not in (reader.fieldnames or ()):
        raise ReplayError(f"{index} has no column 'file'; its columns are {', '.join(reader.fieldnames or ())}")
    for row in reader:
        where = f"{index}, line {reader.line_num}"
        site, file = row.get("site") or "", row["file"] or ""
        path = _path_inside(root, site, file, where)
        url = row.get("url") or placeholder_url(site, file)
        yield check_replay_url(url, where), path


def _path_inside(root: Path, site: str, file: str, where: str) -> Path:
    """Return the file's path. Raises ReplayError for a path that leaves the folder, directly or through a link."""
    if not file or "\x00" in site + file:
        raise ReplayError(f"{where}: {file!r} is not a file name")
    for part in (site, file):
        if Path(part).is_absolute() or ".." in Path(part).parts:
            raise ReplayError(f"{where}: {part!r} leads out of the replay folder")
    path = (root / site / file).resolve()
    if not path.is_relative_to(root):
        raise ReplayError(f"{where}: {file!r} is a link that leads out of the replay folder")
    if path.exists() and not path.is_file():
        raise ReplayError(f"{where}: {file!r} is not a regular file")
    return path


class WarcSource(ReplaySource):
    """The HTTP responses of a WARC file. Offsets are read on opening, records on demand.

    Of several responses for one URL the last wins; transient ones (304, 408, 429, 5xx) win only if there is no other.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        responses = sorted(_index_warc(path), key=lambda response: not response.is_transient)
        super().__init__((response.url, response.offset) for response in responses)
        if not self._places:
            raise ReplayError(f"the WARC file {path} holds no HTTP response")

    def _read(self, place: int) -> ReplayedResponse | ReplayMiss:
        try:
            with open_regular(self._path) as file:
                file.seek(place)
                return read_answer(next(iter(ArchiveIterator(file))), self._max_bytes)
        except (*DAMAGE_ERRORS, StopIteration):
            return ReplayMiss.DAMAGED_FILE


def read_answer(record: Any, max_bytes: int) -> ReplayedResponse:
    """Return the answer that a response record of warcio holds. Raises one of DAMAGE_ERRORS."""
    body = record.content_stream().read(max_bytes + 1)
    dropped = _TRANSFER_HEADERS | ({_CONTENT_ENCODING} if _is_decompressed(record) else set())
    headers = tuple((name, value) for name, value in record.http_headers.headers if name.lower() not in dropped)
    return ReplayedResponse(_record_status(record) or HTTPStatus.OK, headers, body)


@dataclass(frozen=True, slots=True)
class _RecordedResponse:
    """A response in a WARC file: its offset, the record's id, and the status, 0 if it has none."""

    url: str
    offset: int
    record_id: str | None
    status: int

    @property
    def is_transient(self) -> bool:
        return self.status in _TRANSIENT_STATUSES or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _index_warc(path: Path) -> list[_RecordedResponse]:
    """Return the responses of a file to GET requests. Raises ReplayError for a damaged file."""
    responses: list[_RecordedResponse] = []
    other_methods: set[str] = set()
    for offset, record in _read_records(path):
        headers = record.rec_headers
        url = headers.get_header("WARC-Target-URI") or ""
        if not record.http_headers or not url.startswith(("http://", "https://")):
            continue
        if record.rec_type == "response":
            record_id = headers.get_header("WARC-Record-ID")
            responses.append(_RecordedResponse(url, offset, record_id, _record_status(record)))
        elif record.rec_type == "request" and record.http_headers.protocol != "GET":
            other_methods.add(headers.get_header("WARC-Concurrent-To"))
    return [each for each in responses if each.record_id is None or each.record_id not in other_methods]


def _read_records(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the offset of each record and the record, read to its end. Raises ReplayError for a damaged file."""
    end, whole = 0, True
    try:
        with open_regular(path) as file:
            records = ArchiveIterator(file)
            for record in records:
                whole = _skip_record(record)
                end = records.get_record_offset() + records.get_record_length()
                if not whole:
                    break
                yield records.get_record_offset(), record
    except DAMAGE_ERRORS as error:
        raise _damaged_warc(path, end) from error
    if path.stat().st_size - end > _MAX_TRAILING_BYTES or not whole:
        raise _damaged_warc(path, end)


def _skip_record(record: Any) -> bool:
    """Read a record to its end; return True if it states its length and has that length."""
    while record.raw_stream.read(_CHUNK_BYTES):
        pass
    return record.rec_headers.get_header("Content-Length") is not None and not record.raw_stream.limit


def _record_status(record: Any) -> int:
    status = record.http_headers.get_statuscode()
    return int(status) if status.isdecimal() else 0


def _is_decompressed(record: Any) -> bool:
    encoding = record.http_headers.get_header(_CONTENT_ENCODING)
    return encoding is not None and encoding.lower() in BufferedReader.get_supported_decompressors()


def _damaged_warc(path: Path, end: int) -> ReplayError:
    return ReplayError(
        f"the WARC file {path} is damaged after byte {end}, or was not compressed record by record; "
        f"`warcio recompress` may repair it"
    )

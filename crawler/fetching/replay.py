"""Answer requests from saved pages instead of the network (setting REPLAY): a folder with an index, or a WARC file."""

from __future__ import annotations

import csv
import gzip
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import quote

from w3lib.url import canonicalize_url, safe_url_string
from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import BufferedReader
from warcio.exceptions import ArchiveLoadFailed

from crawler.errors import ReplayError
from crawler.redact import redact_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class ReplayMiss(StrEnum):
    """Why a URL has nothing saved; counted under `replay/<word>` and answered with 404."""

    ABSENT = "absent"
    MISSING_FILE = "missing_file"
    DAMAGED_FILE = "damaged_file"


@dataclass(frozen=True, slots=True)
class ReplayedResponse:
    """A saved answer. A body of more bytes than the source's limit is cut one byte beyond it."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class ReplaySource(ABC):
    """Saved pages under their URLs. `repeated` counts the URLs' earlier records: the last one wins."""

    def __init__(self, places: Iterable[tuple[str, Any]]) -> None:
        self._places: dict[str, Any] = {}
        self.repeated = 0
        for url, place in places:
            fetched = safe_url_string(url)  # as a request for it will look
            self.repeated += fetched in self._places
            self._places[fetched] = place

    def urls(self) -> list[str]:
        """Return all saved URLs, each once, in the source's order."""
        return list(self._places)

    def find(self, url: str) -> ReplayedResponse | ReplayMiss:
        """Return what was saved under a URL; one without fragment, in canonical form or without secrets will do."""
        place = self._place(url)
        if place is None and (masked := redact_text(url)) != url:
            place = self._place(masked)  # as an archive has it
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
        """Return what lies at a place."""


def check_replay_url(url: str, where: str) -> str:
    """Return the URL. Raises ReplayError for one that is neither http nor https, or none at all."""
    try:
        safe = safe_url_string(url)
    except ValueError as error:
        raise ReplayError(f"{where}: {url!r} is no URL ({error})") from error
    if not safe.startswith(("http://", "https://")):
        raise ReplayError(f"{where}: {url!r} is no http or https URL")
    return url


_INDEX_FILE = "index.tsv"
# No charset: a saved page's own bytes decide, as its server's header is not known.
_FOLDER_HEADERS = (("Content-Type", "text/html"),)


class FolderSource(ReplaySource):
    """Pages at `<folder>/<site>/<file>`, listed in an index with columns by name: `file`, and maybe `site`, `url`.

    A row without URL stands for `https://<site>.invalid/<file>`. Files that end in .gz are unpacked.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        super().__init__(read_replay_index(folder))

    def _read(self, place: Path) -> ReplayedResponse | ReplayMiss:
        opened = gzip.open if place.suffix == ".gz" else open
        try:
            with opened(place, "rb") as file:
                body = file.read(self._max_bytes + 1)
        except FileNotFoundError:
            return ReplayMiss.MISSING_FILE
        except (OSError, EOFError, zlib.error):
            return ReplayMiss.DAMAGED_FILE
        return ReplayedResponse(200, _FOLDER_HEADERS, body)


def read_replay_index(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the URL and the file of each row of the folder's index."""
    index, root = folder / _INDEX_FILE, folder.resolve()
    try:
        with index.open(encoding="utf-8-sig", newline="") as lines:
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
        url = row.get("url") or f"https://{quote(site) or 'replay'}.invalid/{quote(file)}"
        yield check_replay_url(url, where), path


def _path_inside(root: Path, site: str, file: str, where: str) -> Path:
    """Return the file's path. Raises ReplayError for one that leads out of the folder, directly or by a link."""
    if not file or "\x00" in site + file:
        raise ReplayError(f"{where}: {file!r} is no file name")
    for part in (site, file):
        if Path(part).is_absolute() or ".." in Path(part).parts:
            raise ReplayError(f"{where}: {part!r} leads out of the replay folder")
    path = (root / site / file).resolve()
    if not path.is_relative_to(root):
        raise ReplayError(f"{where}: {file!r} is a link that leads out of the replay folder")
    return path


# warcio raises AttributeError on records whose header is cut off.
_DAMAGE_ERRORS = (ArchiveLoadFailed, AttributeError, EOFError, OSError, ValueError, zlib.error)
_CHUNK_BYTES = 1 << 16
# Blank lines after the last record of an uncompressed file.
_MAX_TRAILING_BYTES = 4
# The body is handed on without its transfer coding and, where warcio knows it, its compression.
_TRANSFER_HEADERS = frozenset({"transfer-encoding", "content-length"})
_CONTENT_ENCODING = "content-encoding"
# What a server answers for the moment, or of what it sent before: it takes the place of no other answer.
_TRANSIENT_STATUSES = frozenset({HTTPStatus.NOT_MODIFIED, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})


@dataclass(frozen=True, slots=True)
class _RecordedResponse:
    """A recorded response: where it begins, the record's id, the status; 0 where it has none."""

    url: str
    offset: int
    record_id: str | None
    status: int

    @property
    def is_passing(self) -> bool:
        return self.status in _TRANSIENT_STATUSES or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR


class WarcSource(ReplaySource):
    """The HTTP responses of a WARC file: offsets are read on opening, records when they are asked for.

    Of several under one URL the last one counts that is no passing answer (304, 408, 429, 5xx), if there is one.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        answers = sorted(_index_warc(path), key=lambda answer: not answer.is_passing)
        super().__init__((answer.url, answer.offset) for answer in answers)
        if not self._places:
            raise ReplayError(f"the WARC file {path} holds no HTTP response")

    def _read(self, place: int) -> ReplayedResponse | ReplayMiss:
        try:
            with self._path.open("rb") as file:
                file.seek(place)
                record = next(iter(ArchiveIterator(file)))
                body = record.content_stream().read(self._max_bytes + 1)
        except (*_DAMAGE_ERRORS, StopIteration):
            return ReplayMiss.DAMAGED_FILE
        spent = _TRANSFER_HEADERS | ({_CONTENT_ENCODING} if _is_unpacked(record) else set())
        headers = tuple((name, value) for name, value in record.http_headers.headers if name.lower() not in spent)
        return ReplayedResponse(_record_status(record) or HTTPStatus.OK, headers, body)


def _index_warc(path: Path) -> list[_RecordedResponse]:
    """Return the responses of a file, but those to other requests than GET. Raises ReplayError for a damaged one."""
    answers: list[_RecordedResponse] = []
    others: set[str] = set()
    for offset, record in _read_records(path):
        headers = record.rec_headers
        url = headers.get_header("WARC-Target-URI") or ""
        if not record.http_headers or not url.startswith(("http://", "https://")):
            continue
        if record.rec_type == "response":
            answers.append(_RecordedResponse(url, offset, headers.get_header("WARC-Record-ID"), _record_status(record)))
        elif record.rec_type == "request" and record.http_headers.protocol != "GET":
            others.add(headers.get_header("WARC-Concurrent-To"))
    return [answer for answer in answers if answer.record_id is None or answer.record_id not in others]


def _read_records(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield each record, read over, with its offset. Raises ReplayError for a damaged file."""
    end, whole = 0, True
    try:
        with path.open("rb") as file:
            records = ArchiveIterator(file)
            for record in records:
                whole = _skip_record(record)
                end = records.get_record_offset() + records.get_record_length()
                if not whole:
                    break
                yield records.get_record_offset(), record
    except _DAMAGE_ERRORS as error:
        raise _damaged_warc(path, end) from error
    if path.stat().st_size - end > _MAX_TRAILING_BYTES or not whole:
        raise _damaged_warc(path, end)


def _skip_record(record: Any) -> bool:
    """Read over a record; tell whether it says how long it is, and was."""
    while record.raw_stream.read(_CHUNK_BYTES):
        pass
    return record.rec_headers.get_header("Content-Length") is not None and not record.raw_stream.limit


def _record_status(record: Any) -> int:
    status = record.http_headers.get_statuscode()
    return int(status) if status.isdecimal() else 0


def _is_unpacked(record: Any) -> bool:
    coding = record.http_headers.get_header(_CONTENT_ENCODING)
    return coding is not None and coding.lower() in BufferedReader.get_supported_decompressors()


def _damaged_warc(path: Path, end: int) -> ReplayError:
    return ReplayError(
        f"the WARC file {path} is damaged after byte {end}, or was not compressed record by record; "
        f"`warcio recompress` may repair it"
    )


WARC_SUFFIXES = (".warc", ".warc.gz")


def open_replay(path: Path, max_bytes: int) -> ReplaySource:
    """Return the replay source at a path; of each page at most `max_bytes` and one more byte are ever read.

    Raises ReplayError for one that is missing, damaged, of no known form, or points outside its folder.
    """
    if path.is_dir():
        return FolderSource(path, max_bytes)
    if not path.exists():
        raise ReplayError(f"REPLAY is {str(path)!r}, which does not exist")
    if path.name.lower().endswith(WARC_SUFFIXES):
        return WarcSource(path, max_bytes)
    raise ReplayError(
        f"REPLAY is {str(path)!r}, neither a folder with index.tsv nor a file that ends in .warc or .warc.gz"
    )

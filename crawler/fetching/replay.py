"""Answer requests from saved pages instead of the network (setting REPLAY): a folder or a WARC file.

`ReplayHandler` is the download handler. It looks up each URL in a `ReplaySource`: a `FolderSource` or a `WarcSource`,
which `open_replay` opens.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.http import Response
from scrapy.http.headers import Headers
from scrapy.responsetypes import responsetypes
from w3lib.url import canonicalize_url, safe_url_string

from crawler.context import context_of
from crawler.errors import EmptySourceError, ReplayError
from crawler.fetching.answers import HEAD_ROOM, Answer, OtherRequests, Passed, PassedRecord, read_answer, read_answers
from crawler.fetching.compression import DamagedBodyError, unpack_body
from crawler.fetching.saved_pages import (
    READ_ERRORS,
    WARC_SUFFIXES,
    SkippedFile,
    find_saved_pages,
    open_regular,
    read_saved_page,
)
from crawler.fetching.warc import LostRecordError, MemberMarks, read_record
from crawler.redact import redact_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from crawler.fetching.warc import RecordPlace

logger = logging.getLogger(__name__)

_SHOWN_CHARS = 200

_READ_ARCHIVES = (
    "`scrapy batch PATH --out FOLDER` and `scrapy import FOLDER` read ARC and WACZ files and folders of archives"
)
# Without a charset: the server's header is not known, so the page's own bytes decide.
_FOLDER_HEADERS = (("Content-Type", "text/html"),)
# These answers, and those from 500 on, are temporary or refer to an earlier answer. They never replace another answer.
_TRANSIENT_STATUSES = frozenset({HTTPStatus.NOT_MODIFIED, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})
# Files of a host that a crawl asks for itself.
_HOST_FILES = frozenset({"/robots.txt", "/.well-known/tdmrep.json"})
_LOGGED_LOSSES = 20
_NAMED_LOSSES_MAX = 10_000


CAPTURE_KEY = "capture"
"""The key in a request's meta with the number of the capture of its URL that answers it, the oldest being 0."""


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
        for name, count in source.counts.by_name().items():
            crawler.stats.set_value(f"replay/{name}", count)
        return cls(source, crawler.stats)

    async def download_request(self, request: Request) -> Response:
        number = request.meta.get(CAPTURE_KEY)
        answer = self._source.find(request.url) if number is None else self._source.read_capture(request.url, number)
        if answer is ReplayMiss.DAMAGED_FILE:
            # The site has the page: it does not say that it is gone.
            self._stats.inc_value(f"replay/{answer}")
            raise DamagedBodyError(f"the saved page {request.url} cannot be read")
        if isinstance(answer, ReplayMiss):
            if urlsplit(request.url).path not in _HOST_FILES:
                self._stats.inc_value(f"replay/{answer}")
            return Response(request.url, status=404, request=request)
        if answer.status == HTTPStatus.NOT_MODIFIED:
            self._count_not_modified(request.url)
        response_class: type[Response] = responsetypes.from_args(Headers(answer.headers), request.url, body=answer.body)
        return response_class(request.url, answer.status, answer.headers, answer.body, request=request)

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

    Raises ReplayError for a source that is missing, of unknown form, without any page, or that points outside its
    folder.
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
        f"REPLAY is {str(path)!r}, neither a folder of saved pages nor a file that ends in {', '.join(WARC_SUFFIXES)}; "
        f"{_READ_ARCHIVES}"
    )


class ReplayMiss(StrEnum):
    """Why nothing is saved for a URL; counted as `replay/<word>`."""

    ABSENT = "absent"
    MISSING_FILE = "missing_file"
    DAMAGED_FILE = "damaged_file"


@dataclass(frozen=True, slots=True)
class ReplayedResponse:
    """A saved answer, its body as packed as the server sent it.

    A body longer than the source's limit is cut one byte after it.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the first value of a header, None if there is none; the name in lower case."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    def unpack(self, max_bytes: int) -> bytes:
        """Return the body unpacked. Raises DamagedBodyError, and PageError if it has more than `max_bytes`."""
        return unpack_body(self.body, self.header("content-encoding") or "", max_bytes)


@dataclass(slots=True)
class SourceCounts:
    """The skipped and lost records of a source, by reason.

    `losses` are the first lost records, at most 10,000. Of `shortened` answers the archive has only the beginning.
    """

    read: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    losses: list[PassedRecord] = field(default_factory=list)
    shortened: int = 0

    def add(self, record: PassedRecord) -> None:
        """Count a record without an answer."""
        counter = self.lost if record.is_lost else self.skipped
        counter[str(record.reason)] += 1
        if record.is_lost and len(self.losses) < _NAMED_LOSSES_MAX:
            self.losses.append(record)

    def by_name(self) -> dict[str, int]:
        """Return the counts under the names that they have in the statistics of a crawl, without zeros."""
        counts = {f"skipped/{reason}": count for reason, count in self.skipped.items()}
        counts |= {f"lost/{reason}": count for reason, count in self.lost.items()}
        return counts | {"shortened": self.shortened} if self.shortened else counts

    def describe(self) -> str:
        """Return how much was read, skipped and lost, in one line."""
        parts = [f"read {self.read:,}", _describe("skipped", self.skipped), _describe("lost", self.lost)]
        if self.shortened:
            parts.append(f"shortened {self.shortened:,}")
        return "; ".join(parts)


def _describe(title: str, counts: Mapping[str, int]) -> str:
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(counts.items()))
    return f"{title} {sum(counts.values()):,}" + (f" ({reasons})" if reasons else "")


@dataclass(frozen=True, slots=True)
class Capture:
    """A saved answer: its place in the source, when it was saved and its id, if the source says so."""

    place: Any
    at: datetime | None = None
    record_id: str | None = None


class ReplaySource(ABC):
    """Saved pages by URL, in the order of their captures. The last one answers; `repeated` counts the others."""

    def __init__(self, name: str, captures: Iterable[tuple[str, Capture]], counts: SourceCounts) -> None:
        self.name = name
        self.counts = counts
        self.repeated = 0
        self._captures: dict[str, list[Capture]] = {}
        for url, capture in captures:
            try:
                requested = safe_url_string(url)  # the form of a Request's URL
            except ValueError as error:
                logger.warning("The replay leaves out %r, which is no URL: %s", url[:_SHOWN_CHARS], error)
                continue
            self.repeated += requested in self._captures
            self._captures.setdefault(requested, []).append(capture)
        self._log_losses()

    def _log_losses(self) -> None:
        losses = self.counts.losses
        for record in losses[:_LOGGED_LOSSES]:
            logger.warning("%s: the record at %s is lost: %s", self.name, record.place, record.reason)
        if len(losses) > _LOGGED_LOSSES:
            total = self.counts.lost.total()
            logger.warning("%s: %d more records are lost", self.name, total - _LOGGED_LOSSES)

    def urls(self) -> list[str]:
        """Return all saved URLs, each once, in the source's order."""
        return list(self._captures)

    def find(self, url: str) -> ReplayedResponse | ReplayMiss:
        """Return the last page saved for a URL."""
        return self.read_capture(url, -1)

    def read_capture(self, url: str, number: int) -> ReplayedResponse | ReplayMiss:
        """Return one of the pages saved for a URL, by its number in `captures`."""
        captures = self.captures(url)
        return self._read(captures[number].place) if captures[number:] else ReplayMiss.ABSENT

    def captures(self, url: str) -> Sequence[Capture]:
        """Return all captures of a URL, as it is, without its fragment, in canonical form or without secrets."""
        found = self._find_captures(url)
        if not found and (redacted := redact_text(url)) != url:
            found = self._find_captures(redacted)  # the form in an archive
        return found

    def _find_captures(self, url: str) -> Sequence[Capture]:
        if url not in self._captures:
            url = self._by_canonical.get(canonicalize_url(url), "")
        return self._captures.get(url, ())

    @cached_property
    def _by_canonical(self) -> dict[str, str]:
        return {canonicalize_url(url): url for url in self._captures}

    @abstractmethod
    def _read(self, place: Any) -> ReplayedResponse | ReplayMiss:
        """Return the answer saved at a place."""


class FolderSource(ReplaySource):
    """The pages of a folder: those that its index lists, or all of them if it has none.

    The index has the column `file`, and optionally `site` and `url`. A page of a mirror has the URL that its path
    names, another one without a URL `https://<site>.invalid/<file>`, which cleaning takes for unknown. Packed files
    are unpacked.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        saved = find_saved_pages(folder)
        if archives := saved.skipped[SkippedFile.ARCHIVE]:
            raise ReplayError(
                f"REPLAY is {str(folder)!r}, a folder with archives ({archives:,}), whose pages it does not read: name "
                f"one WARC file, or {_READ_ARCHIVES}"
            )
        counts = SourceCounts(len(saved.pages), saved.skipped)
        super().__init__(str(folder), ((url, Capture(path)) for url, path in saved.pages), counts)
        if not self._captures:
            raise EmptySourceError(
                f"REPLAY is {str(folder)!r}, a folder without a page: {counts.describe()}; a page ends in .html, .htm "
                "or .xhtml, or begins like HTML"
            )

    def _read(self, place: Path) -> ReplayedResponse | ReplayMiss:
        try:
            body = read_saved_page(place, self._max_bytes)
        except FileNotFoundError:
            return ReplayMiss.MISSING_FILE
        except READ_ERRORS:
            return ReplayMiss.DAMAGED_FILE
        return ReplayedResponse(200, _FOLDER_HEADERS, body)


class WarcSource(ReplaySource):
    """The answers in a WARC file, also a damaged one. Places are read on opening, bodies on demand.

    The answers for a URL are in the order of their dates, those without a date last; transient ones (304, 408, 429,
    5xx) count only if there is no other.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._marks = MemberMarks()
        counts = SourceCounts()
        answers = self._find_answers(counts)
        lasting = {answer.url for answer in answers if not answer.is_transient}
        answers.sort(key=lambda answer: (answer.at is None, answer.at and answer.at.timestamp()))
        captures = (
            (answer.url, Capture(answer.place, answer.at, answer.record_id))
            for answer in answers
            if not (answer.is_transient and answer.url in lasting)
        )
        super().__init__(str(path), captures, counts)
        if not self._captures:
            raise EmptySourceError(f"the WARC file {path} has no answer of a server: {counts.describe()}")

    def _find_answers(self, counts: SourceCounts) -> list[_SavedAnswer]:
        """Return the answers to GET requests, and count the other records."""
        others = OtherRequests()
        answers = []
        for record in self._read_all(others):
            if isinstance(record, PassedRecord):
                counts.add(record)
                continue
            answers.append(_SavedAnswer(record.url, record.place, record.record_id, record.status, record.at))
            counts.shortened += record.is_shortened
        saved = [answer for answer in answers if answer.record_id not in others.answer_ids]
        counts.skipped += Counter({Passed.POSTED.value: len(answers) - len(saved)})
        counts.read = len(saved)
        return saved

    def _read_all(self, others: OtherRequests) -> Iterator[Answer | PassedRecord]:
        try:
            with open_regular(self._path) as file:
                yield from read_answers(file, self._max_bytes, others, marks=self._marks)
        except OSError as error:
            raise ReplayError(f"the WARC file {self._path} cannot be read to its end: {error}") from error

    def _read(self, place: RecordPlace) -> ReplayedResponse | ReplayMiss:
        try:
            with open_regular(self._path) as file:
                record = read_record(file, place, self._max_bytes + HEAD_ROOM, self._marks)
        except (OSError, LostRecordError):
            return ReplayMiss.DAMAGED_FILE  # the file has changed since it was opened
        answer = read_answer(record, self._max_bytes, OtherRequests())
        if isinstance(answer, PassedRecord):
            return ReplayMiss.DAMAGED_FILE
        return ReplayedResponse(answer.status, answer.headers, answer.body)


@dataclass(frozen=True, slots=True)
class _SavedAnswer:
    """An answer in a WARC file: its place, the record's id, the status and the date."""

    url: str
    place: RecordPlace
    record_id: str | None
    status: int
    at: datetime | None

    @property
    def is_transient(self) -> bool:
        return self.status in _TRANSIENT_STATUSES or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR

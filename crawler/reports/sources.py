"""The pages that a report is about: a file, a folder, a WARC file or standard input, read one page at a time."""

from __future__ import annotations

import gzip
import sys
import zlib
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from crawler.errors import CompareError, EmptySourceError
from crawler.fetching.compression import DamagedBodyError
from crawler.fetching.replay import ReplayMiss, SourceCounts, WarcSource, open_replay
from crawler.fetching.response_filter import reject_body, reject_status
from crawler.fetching.saved_pages import INDEX_FILE, READ_ERRORS, WARC_SUFFIXES, find_saved_pages, read_saved_page
from crawler.urls import known_url, site_of, without_credentials
from crawler.visit import Outcome

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Sequence

    from crawler.fetching.answers import PassedRecord
    from crawler.fetching.replay import ReplaySource

_ADDRESS_STARTS = ("http://", "https://")
_GZIP_START = b"\x1f\x8b"
_STDIN = "-"


class ReportFault(StrEnum):
    """Why a page, or a method on a page, has no result; beside the words of `PageFault`, `Absence` and `Outcome`."""

    TOO_LARGE = "too_large"
    EMPTY = "empty"
    """No element and no text."""
    NO_TEMPLATE = "no_template"
    """The method needs several pages of the site."""
    NO_SITE_MODEL = "no_site_model"
    """Nobody has taught the site."""
    RENDER_FAILED = "render_failed"
    METHOD_FAILED = "method_failed"


class NoPage(Exception):  # noqa: N818 — like Scrapy's IgnoreRequest, it says what happened to one page
    """A source has no page to report on; failures are counted by `reason`."""

    def __init__(self, reason: StrEnum, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class LoadedPage:
    """A page's bytes, and the Content-Type of its HTTP header."""

    body: bytes
    content_type: str | None = None


@dataclass(frozen=True, slots=True)
class UnreadPage:
    """A page that is not read yet; `load` raises NoPage if there is none.

    `url` is None if it is unknown. Pages with the same `site` share site boilerplate.
    """

    name: str
    url: str | None
    site: str
    load: Callable[[], LoadedPage]


@dataclass(frozen=True, slots=True)
class ReportTarget:
    """The pages of a report, in order. `several` is True for a folder or archive, even one of a single page.

    Records of an archive that are lost are among them. `counts` says what else a folder or archive has.
    """

    name: str
    sources: Sequence[UnreadPage]
    several: bool = False
    counts: SourceCounts | None = None


def is_address(name: str, url: str | None) -> bool:
    """Return True if the name is a web address; raises CompareError if `url`, meant for saved pages, comes with one."""
    has_scheme = name.lower().startswith(_ADDRESS_STARTS)
    if has_scheme and url is not None:
        raise CompareError("--url gives the address of a saved page; this one has its own")
    return has_scheme


def open_target(name: str, url: str | None, max_bytes: int) -> ReportTarget:
    """Return the pages at a path, `-` for standard input; `url` is the address that a single page came from.

    Raises CompareError for a path without any page, and ReplayError for a damaged index or WARC file.
    """
    if name == _STDIN:
        return _single("standard input", url, partial(_limited, sys.stdin.buffer, max_bytes))
    path = Path(name)
    try:
        target = _open(path, url, max_bytes)
    except OSError as error:
        raise CompareError(f"cannot read {name!r}: {error.strerror}") from error
    if url is not None and target.several:
        raise CompareError(f"--url gives the address of one page, but {name!r} may hold many")
    return target


def _open(path: Path, url: str | None, max_bytes: int) -> ReportTarget:
    if path.is_dir():
        return _from_index(path, max_bytes) if (path / INDEX_FILE).is_file() else _below(path, max_bytes)
    if path.name.lower().endswith(WARC_SUFFIXES) and path.exists():
        return _from_replay(WarcSource(path, max_bytes), max_bytes)
    if not path.exists():
        raise CompareError(f"there is no file or folder {str(path)!r}; an address begins with http:// or https://")
    return _single(str(path), url, partial(_read_file, path, max_bytes))


def _single(name: str, url: str | None, load: Callable[[], LoadedPage]) -> ReportTarget:
    return ReportTarget(name, [UnreadPage(name, None if url is None else without_credentials(url), "", load)])


def _below(folder: Path, max_bytes: int) -> ReportTarget:
    """Return the pages of a folder without an index; the pages directly in one folder count as one site."""
    saved = find_saved_pages(folder)
    counts = SourceCounts(len(saved.pages), saved.skipped)
    if not saved.pages:
        raise CompareError(
            f"the folder {str(folder)!r} holds no page: no {INDEX_FILE}, and no file that ends in .html, .htm or "
            f".xhtml or begins like HTML ({counts.describe()})"
        )
    sources = [
        UnreadPage(str(path.relative_to(folder)), None, str(path.parent), partial(_read_regular, path, max_bytes))
        for _, path in saved.pages
    ]
    return ReportTarget(str(folder), sources, several=True, counts=counts)


def _from_index(folder: Path, max_bytes: int) -> ReportTarget:
    try:
        replay = open_replay(folder, max_bytes)
    except EmptySourceError as error:
        raise CompareError(f"{str(folder / INDEX_FILE)!r} lists no page") from error
    return _from_replay(replay, max_bytes)


def _from_replay(replay: ReplaySource, max_bytes: int) -> ReportTarget:
    """Return the pages of a source, and after them its lost records."""
    pages = [_saved(replay, url, max_bytes) for url in replay.urls()]
    lost = [_lost(replay, record) for record in replay.counts.losses]
    return ReportTarget(replay.name, [*pages, *lost], several=True, counts=replay.counts)


def _lost(replay: ReplaySource, record: PassedRecord) -> UnreadPage:
    def fail() -> NoReturn:
        raise NoPage(record.reason, f"the record is lost: {record.reason}")

    return UnreadPage(f"{replay.name}, {record.place}", None, "", fail)


def _saved(replay: ReplaySource, url: str, max_bytes: int) -> UnreadPage:
    address = without_credentials(url)
    page_url = known_url(address)
    name = page_url or address.partition("://")[2].replace(".invalid/", "/", 1)
    return UnreadPage(name, page_url, site_of(url), partial(_find, replay, url, max_bytes))


def _find(replay: ReplaySource, url: str, max_bytes: int) -> LoadedPage:
    response = replay.find(url)
    if isinstance(response, ReplayMiss):
        raise NoPage(
            response, "the file is missing" if response is ReplayMiss.MISSING_FILE else "the record is damaged"
        )
    declared = response.header("content-type")
    try:
        body = response.unpack(max_bytes)
    except DamagedBodyError as error:
        raise NoPage(Outcome.DOWNLOAD_FAILED, str(error)) from error
    verdict = reject_status(response.status, body) or reject_body(body, declared, max_bytes)
    if verdict is not None:
        raise NoPage(verdict.outcome, verdict.detail)
    return LoadedPage(body, declared)


def _read_regular(path: Path, max_bytes: int) -> LoadedPage:
    try:
        body = read_saved_page(path, max_bytes)
    except READ_ERRORS as error:
        raise NoPage(ReplayMiss.DAMAGED_FILE, getattr(error, "strerror", None) or str(error)) from error
    return _loaded(body, max_bytes)


def _read_file(path: Path, max_bytes: int) -> LoadedPage:
    try:
        with path.open("rb") as file:
            return _limited(file, max_bytes)
    except OSError as error:
        # A damaged gzip file raises an OSError without a number.
        raise NoPage(ReplayMiss.DAMAGED_FILE, error.strerror or str(error)) from error


def _limited(stream: BinaryIO | io.BufferedReader, max_bytes: int) -> LoadedPage:
    """Return a stream's bytes, unpacked if gzip packed them; reads at most one byte more than the limit."""
    packed = getattr(stream, "peek", bytes)(2).startswith(_GZIP_START)
    try:
        body = gzip.GzipFile(fileobj=stream).read(max_bytes + 1) if packed else stream.read(max_bytes + 1)
    except (EOFError, zlib.error) as error:
        raise NoPage(ReplayMiss.DAMAGED_FILE, str(error)) from error
    return _loaded(body, max_bytes)


def _loaded(body: bytes, max_bytes: int) -> LoadedPage:
    if len(body) > max_bytes:
        raise NoPage(ReportFault.TOO_LARGE, f"more than PAGE_MAX_BYTES={max_bytes} bytes")
    return LoadedPage(body)

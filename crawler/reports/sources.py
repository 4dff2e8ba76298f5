"""The pages that a report is about: a file, a folder, a WARC file or standard input, read one page at a time."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from crawler.errors import CompareError
from crawler.fetching.compression import DamagedBodyError, unpack_body
from crawler.fetching.replay import WARC_SUFFIXES, ReplayMiss, WarcSource, open_regular, open_replay
from crawler.fetching.response_filter import reject_body, reject_status
from crawler.urls import known_url, site_of, without_credentials
from crawler.visit import Outcome

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterator, Sequence

    from crawler.fetching.replay import ReplaySource

_INDEX = "index.tsv"
_ADDRESS_STARTS = ("http://", "https://")
_PAGE_ENDS = (".html", ".htm", ".html.gz", ".htm.gz")
_GZIP_START = b"\x1f\x8b"
_STDIN = "-"


class ReportFault(StrEnum):
    """Why a page, or a method on a page, has no result; beside the words of `PageFault`, `Absence` and `Outcome`."""

    TOO_LARGE = "too_large"
    EMPTY = "empty"
    """No element and no text."""
    NO_TEMPLATE = "no_template"
    """The method needs several pages of the site."""
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
    """The pages of a report, in order. `several` is True for a folder or archive, even one of a single page."""

    name: str
    sources: Sequence[UnreadPage]
    several: bool = False


def is_address(name: str, url: str | None) -> bool:
    """Return True if the name is a web address; raises CompareError if `url`, meant for saved pages, comes with one."""
    found = name.lower().startswith(_ADDRESS_STARTS)
    if found and url is not None:
        raise CompareError("--url gives the address of a saved page; this one has its own")
    return found


def open_target(name: str, url: str | None, max_bytes: int) -> ReportTarget:
    """Return the pages at a path, `-` for standard input; `url` is the address that a single page came from.

    Raises CompareError for a path without any page, and ReplayError for a damaged index or WARC file.
    """
    if name == _STDIN:
        return _single("standard input", url, partial(_limited, sys.stdin.buffer, max_bytes))
    path = Path(name)
    try:
        found = _open(path, url, max_bytes)
    except OSError as error:
        raise CompareError(f"cannot read {name!r}: {error.strerror}") from error
    if url is not None and found.several:
        raise CompareError(f"--url gives the address of one page, but {name!r} may hold many")
    return found


def _open(path: Path, url: str | None, max_bytes: int) -> ReportTarget:
    if path.is_dir():
        indexed = (path / _INDEX).is_file()
        sources = _from_replay(open_replay(path, max_bytes), max_bytes) if indexed else _below(path, max_bytes)
        if not sources and indexed:
            raise CompareError(f"{str(path / _INDEX)!r} lists no page")
        if not sources:
            ends = ", ".join(_PAGE_ENDS)
            raise CompareError(f"the folder {str(path)!r} holds no page: no {_INDEX}, and no file that ends in {ends}")
        return ReportTarget(str(path), sources, several=True)
    if path.name.lower().endswith(WARC_SUFFIXES) and path.exists():
        return ReportTarget(str(path), _from_replay(WarcSource(path, max_bytes), max_bytes), several=True)
    if not path.exists():
        raise CompareError(f"there is no file or folder {str(path)!r}; an address begins with http:// or https://")
    return _single(str(path), url, partial(_read_file, path, max_bytes))


def _single(name: str, url: str | None, load: Callable[[], LoadedPage]) -> ReportTarget:
    return ReportTarget(name, [UnreadPage(name, None if url is None else without_credentials(url), "", load)])


def _below(folder: Path, max_bytes: int) -> list[UnreadPage]:
    """Return the pages of a folder without an index; the pages directly in one folder count as one site."""
    return [
        UnreadPage(str(path.relative_to(folder)), None, str(path.parent), partial(_read_regular, path, max_bytes))
        for path in sorted(_page_files(folder))
    ]


def _page_files(folder: Path) -> Iterator[Path]:
    root = folder.resolve()
    for parent, _, names in os.walk(folder, onerror=_raise):
        for name in names:
            path = Path(parent, name)
            if name.lower().endswith(_PAGE_ENDS) and path.resolve().is_relative_to(root):
                yield path


def _raise(error: OSError) -> NoReturn:
    raise error


def _from_replay(replay: ReplaySource, max_bytes: int) -> list[UnreadPage]:
    return [_saved(replay, url, max_bytes) for url in replay.urls()]


def _saved(replay: ReplaySource, url: str, max_bytes: int) -> UnreadPage:
    shown = without_credentials(url)
    known = known_url(shown)
    name = known or shown.partition("://")[2].replace(".invalid/", "/", 1)
    return UnreadPage(name, known, site_of(url), partial(_find, replay, url, max_bytes))


def _find(replay: ReplaySource, url: str, max_bytes: int) -> LoadedPage:
    found = replay.find(url)
    if isinstance(found, ReplayMiss):
        raise NoPage(found, "the file is missing" if found is ReplayMiss.MISSING_FILE else "the record is damaged")
    headers = {name.lower(): value for name, value in reversed(found.headers)}
    declared = headers.get("content-type")
    try:
        body = unpack_body(found.body, headers.get("content-encoding", ""), max_bytes)
    except DamagedBodyError as error:
        raise NoPage(Outcome.DOWNLOAD_FAILED, str(error)) from error
    verdict = reject_status(found.status, body) or reject_body(body, declared, max_bytes)
    if verdict is not None:
        raise NoPage(verdict.outcome, verdict.detail)
    return LoadedPage(body, declared)


def _read_regular(path: Path, max_bytes: int) -> LoadedPage:
    try:
        with open_regular(path) as file:
            return _limited(file, max_bytes)
    except OSError as error:
        raise NoPage(ReplayMiss.DAMAGED_FILE, error.strerror or str(error)) from error


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
    if len(body) > max_bytes:
        raise NoPage(ReportFault.TOO_LARGE, f"more than PAGE_MAX_BYTES={max_bytes} bytes")
    return LoadedPage(body)

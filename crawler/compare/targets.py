"""What a comparison is about: a file, a folder, a WARC file or standard input, as pages that are read one by one."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn
from urllib.parse import urlsplit

from crawler.compare.faults import Fault, NoPage
from crawler.errors import CompareError
from crawler.fetching.replay import WARC_SUFFIXES, ReplayMiss, WarcSource, open_replay
from crawler.fetching.response_filter import reject_body, reject_status
from crawler.urls import site_of, without_credentials

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterator, Sequence

    from crawler.fetching.replay import ReplaySource

_INDEX = "index.tsv"
_ADDRESS_STARTS = ("http://", "https://")
_PAGE_ENDS = (".html", ".htm", ".html.gz", ".htm.gz")
_GZIP_START = b"\x1f\x8b"
_STDIN = "-"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A page's bytes, and what the HTTP header declared them to be."""

    body: bytes
    content_type: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A page that was not read yet; `load` raises NoPage where there is none.

    `url` is None where nobody knows it. Pages with the same `site` share a template.
    """

    name: str
    url: str | None
    site: str
    load: Callable[[], Loaded]


@dataclass(frozen=True, slots=True)
class Target:
    """The pages to compare, in order. `several` is True for a folder or archive, even of one page."""

    name: str
    sources: Sequence[Source]
    several: bool = False


def is_address(name: str, url: str | None) -> bool:
    """Tell whether a target is an address; raises CompareError where `url`, meant for saved pages, comes with one."""
    found = name.lower().startswith(_ADDRESS_STARTS)
    if found and url is not None:
        raise CompareError("--url gives the address of a saved page; this one has its own")
    return found


def open_target(name: str, url: str | None, max_bytes: int) -> Target:
    """Return the pages at a path, `-` for standard input; `url` says where a single page came from.

    Raises CompareError for a path without any page, and ReplayError for a damaged index or WARC file.
    """
    if name == _STDIN:
        return _single("standard input", url, partial(_read_stdin, max_bytes))
    path = Path(name)
    try:
        found = _open(path, url, max_bytes)
    except OSError as error:
        raise CompareError(f"cannot read {name!r}: {error.strerror}") from error
    if url is not None and found.several:
        raise CompareError(f"--url gives the address of one page, but {name!r} may hold many")
    return found


def _open(path: Path, url: str | None, max_bytes: int) -> Target:
    if path.is_dir():
        indexed = (path / _INDEX).is_file()
        sources = _from_replay(open_replay(path, max_bytes), max_bytes) if indexed else _below(path, max_bytes)
        if not sources:
            raise CompareError(_no_pages(path, indexed=indexed))
        return Target(str(path), sources, several=True)
    if path.name.lower().endswith(WARC_SUFFIXES) and path.exists():
        return Target(str(path), _from_replay(WarcSource(path, max_bytes), max_bytes), several=True)
    if not path.exists():
        raise CompareError(f"there is no file or folder {str(path)!r}; an address begins with http:// or https://")
    return _single(str(path), url, partial(_read_file, path, max_bytes))


def _no_pages(folder: Path, *, indexed: bool) -> str:
    if indexed:
        return f"{str(folder / _INDEX)!r} lists no page"
    return f"the folder {str(folder)!r} holds no page: no {_INDEX}, and no file that ends in {', '.join(_PAGE_ENDS)}"


def _single(name: str, url: str | None, load: Callable[[], Loaded]) -> Target:
    return Target(name, [Source(name, None if url is None else without_credentials(url), "", load)])


def _below(folder: Path, max_bytes: int) -> list[Source]:
    """Return the pages of a folder without index; those of one folder below it count as one site's."""
    return [
        Source(str(path.relative_to(folder)), None, str(path.parent), partial(_read_file, path, max_bytes))
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


def _from_replay(replay: ReplaySource, max_bytes: int) -> list[Source]:
    return [_saved(replay, url, max_bytes) for url in replay.urls()]


def _saved(replay: ReplaySource, url: str, max_bytes: int) -> Source:
    parts = urlsplit(url)
    # What stands for an unknown address would make every link of the page one to another site.
    unknown = (parts.hostname or "").endswith(".invalid")
    shown = without_credentials(url)
    name = shown.partition("://")[2].replace(".invalid/", "/", 1) if unknown else shown
    return Source(name, None if unknown else shown, site_of(url), partial(_find, replay, url, max_bytes))


def _find(replay: ReplaySource, url: str, max_bytes: int) -> Loaded:
    found = replay.find(url)
    if isinstance(found, ReplayMiss):
        raise NoPage(found, "the file is missing" if found is ReplayMiss.MISSING_FILE else "the record is damaged")
    declared = next((value for name, value in found.headers if name.lower() == "content-type"), None)
    verdict = reject_status(found.status, found.body) or reject_body(found.body, declared, max_bytes)
    if verdict is not None:
        raise NoPage(verdict.outcome, verdict.detail)
    return Loaded(found.body, declared)


def _read_stdin(max_bytes: int) -> Loaded:
    return _limited(sys.stdin.buffer, max_bytes)


def _read_file(path: Path, max_bytes: int) -> Loaded:
    try:
        with path.open("rb") as file:
            return _limited(file, max_bytes)
    except OSError as error:
        # A damaged gzip file raises one without error number.
        raise NoPage(ReplayMiss.DAMAGED_FILE, error.strerror or str(error)) from error


def _limited(stream: BinaryIO | io.BufferedReader, max_bytes: int) -> Loaded:
    """Return a stream's bytes, unpacked where packed by gzip; never holds more than one above the limit."""
    packed = getattr(stream, "peek", bytes)(2).startswith(_GZIP_START)
    try:
        body = gzip.GzipFile(fileobj=stream).read(max_bytes + 1) if packed else stream.read(max_bytes + 1)
    except (EOFError, zlib.error) as error:
        raise NoPage(ReplayMiss.DAMAGED_FILE, str(error)) from error
    if len(body) > max_bytes:
        raise NoPage(Fault.TOO_LARGE, f"more than PAGE_MAX_BYTES={max_bytes} bytes")
    return Loaded(body)

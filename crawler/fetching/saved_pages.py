"""Folders of saved pages: those that an index lists, or every page below a folder without one.

Nothing outside the folder is read: no link is followed, and only regular files are opened.
"""

from __future__ import annotations

import csv
import errno
import gzip
import os
import re
import stat
import zlib
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, TextIO
from urllib.parse import quote

from w3lib.url import safe_url_string

from crawler.errors import ReplayError
from crawler.urls import placeholder_url, saved_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedReader

INDEX_FILE = "index.tsv"
WARC_SUFFIXES = (".warc", ".warc.gz", ".warc.zst")
ARC_SUFFIXES = (".arc", ".arc.gz")
_ARCHIVE_SUFFIXES = (*WARC_SUFFIXES, *ARC_SUFFIXES, ".wacz")
READ_ERRORS = (OSError, EOFError, zlib.error)
"""The exceptions of reading a saved page."""

# `page.html?id=7` is what some programs call a file whose URL has a query.
_PAGE_NAME = re.compile(r"\.(?:x?html?|mht|mhtml)(?:\.gz)?(?:[?@;&].*)?$", re.IGNORECASE | re.DOTALL)
_SNIFFED_BYTES = 2_048
_PREAMBLE = re.compile(rb"(?:\s+|<\?xml[^>]*>|<!--.*?-->)*", re.DOTALL)
_HTML_START = re.compile(rb"<(?:!doctype\s+html|html|head|body)[\s>/]", re.IGNORECASE)
_GZIP_START = b"\x1f\x8b"
_BYTE_ORDER_MARKS = b"\xef\xbb\xbf\xff\xfe"


class SkippedFile(StrEnum):
    """Why a file of a folder without an index is not a page; counted under this word."""

    OTHER_TYPE = "other_type"
    ARCHIVE = "archive"
    """A file of many pages."""
    LINK = "link"
    SPECIAL = "special"
    """Not a regular file: a pipe, a socket, a device."""
    UNREADABLE = "unreadable"


def url_of_path(path: PurePath, folder: str = "") -> str:
    """Return the URL of a saved page by its path in a folder; its name may be bytes that are not text."""
    try:
        return saved_url(path.parts, folder)
    except UnicodeEncodeError:
        return saved_url([quote(os.fsencode(part)) for part in path.parts], folder)


@dataclass(slots=True)
class FolderPages:
    """The pages of a folder, each with its URL, and the number of other files by reason."""

    pages: list[tuple[str, Path]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


def find_saved_pages(folder: Path, is_other: Callable[[str], bool] = lambda _: False) -> FolderPages:
    """Return the pages that a folder's index lists, else all HTML files below it in the order of their paths.

    Files whose name `is_other` are neither pages nor counted. Without an index, a page is a file whose name ends in
    .html, .htm or .xhtml (also .gz), or another one that begins like HTML. It stands for the URL that `saved_url` makes
    of its path. Raises ReplayError.
    """
    if (folder / INDEX_FILE).exists():
        return FolderPages(list(read_replay_index(folder)))
    result = FolderPages()
    for parent, folders, names in os.walk(folder, onerror=lambda _: result.skipped.update([SkippedFile.UNREADABLE])):
        result.skipped[SkippedFile.LINK] += sum(Path(parent, name).is_symlink() for name in folders)
        for name in names:
            path = Path(parent, name)
            if is_other(name):
                continue
            reason = _skip_reason(path)
            if reason is None:
                result.pages.append((url_of_path(path.relative_to(folder), folder.absolute().name), path))
            else:
                result.skipped[reason] += 1
    result.pages.sort(key=lambda page: os.fsencode(page[1]))
    result.skipped = +result.skipped
    return result


def _skip_reason(path: Path) -> SkippedFile | None:
    """Return why a file is not a page; None if it is one."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return SkippedFile.LINK
        if not stat.S_ISREG(mode):
            return SkippedFile.SPECIAL
        if _PAGE_NAME.search(path.name):
            return None
        if path.name.lower().endswith(_ARCHIVE_SUFFIXES):
            return SkippedFile.ARCHIVE
        with open_regular(path) as file:
            return None if _begins_like_html(file.read(_SNIFFED_BYTES)) else SkippedFile.OTHER_TYPE
    except OSError:
        return SkippedFile.UNREADABLE


def _begins_like_html(data: bytes) -> bool:
    """Return True for the first bytes of HTML in any encoding that writes `<html` in ASCII, or two bytes a letter."""
    text = data.lstrip(_BYTE_ORDER_MARKS).replace(b"\0", b"")
    preamble = _PREAMBLE.match(text)
    return _HTML_START.match(text, preamble.end() if preamble else 0) is not None


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading. Raises OSError for anything else, such as a pipe, which would be waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return os.fdopen(descriptor, "rb")


def read_saved_page(path: Path, max_bytes: int) -> bytes:
    """Return a saved page, unpacked if its name ends in .gz or gzip packed it, up to one byte more than the limit.

    Raises one of READ_ERRORS.
    """
    with open_regular(path) as file:
        is_packed = path.suffix == ".gz" or file.peek(len(_GZIP_START)).startswith(_GZIP_START)
        return (gzip.GzipFile(fileobj=file) if is_packed else file).read(max_bytes + 1)


def read_replay_index(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the URL and the file of each row of a folder's index. Raises ReplayError."""
    index, root = folder / INDEX_FILE, folder.resolve()
    try:
        with TextIOWrapper(open_regular(index), encoding="utf-8-sig", newline="") as lines:
            yield from _parse_index(lines, root, index)
    except FileNotFoundError as error:
        raise ReplayError(f"REPLAY is {str(folder)!r}, a folder without {INDEX_FILE}") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReplayError(f"{index} cannot be read: {error}") from error


def _check_replay_url(url: str, where: str) -> str:
    """Return the URL. Raises ReplayError unless it is an http or https URL."""
    try:
        safe = safe_url_string(url)
    except ValueError as error:
        raise ReplayError(f"{where}: {url!r} is not a URL ({error})") from error
    if not safe.startswith(("http://", "https://")):
        raise ReplayError(f"{where}: {url!r} is not an http or https URL")
    return url


def _parse_index(lines: TextIO, root: Path, index: Path) -> Iterator[tuple[str, Path]]:
    reader = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    if "file" not in (reader.fieldnames or ()):
        raise ReplayError(f"{index} has no column 'file'; its columns are {', '.join(reader.fieldnames or ())}")
    for row in reader:
        where = f"{index}, line {reader.line_num}"
        site, file = row.get("site") or "", row["file"] or ""
        path = _path_inside(root, site, file, where)
        url = row.get("url") or placeholder_url(site, file)
        yield _check_replay_url(url, where), path


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

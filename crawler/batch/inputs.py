"""The input files of a batch job, in the order of their records: as given, then by path."""

from __future__ import annotations

import gzip
import os
import sys
from dataclasses import dataclass
from enum import StrEnum
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urljoin
from zipfile import BadZipFile, ZipFile

from crawler.errors import InputError
from crawler.fetching.saved_pages import ARC_SUFFIXES
from crawler.redact import redact_text

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LIST_BYTES_MAX = 100_000_000
_GLOB_CHARS = frozenset("*?[")


class InputKind(StrEnum):
    """The format of an input: of a file by its name."""

    WARC = "warc"
    ARC = "arc"
    WACZ = "wacz"
    """A ZIP file of many small WARC files, or one that cannot be opened; of others, each WARC file is an input."""
    PARQUET = "parquet"
    JSONL = "jsonl"
    PAGE = "page"
    """A saved page."""
    FOLDER = "folder"
    """A folder of saved pages; files of other kinds in it are inputs of their own, or counted."""
    OTHER = "other"
    """A file of a folder that is none of these; it is counted."""


_PACKINGS = ("", ".gz", ".zst")
_SUFFIXES = {
    InputKind.WARC: tuple(name + packing for name in (".warc", ".wet") for packing in _PACKINGS),
    InputKind.ARC: ARC_SUFFIXES,
    InputKind.WACZ: (".wacz",),
    InputKind.PARQUET: (".parquet",),
    InputKind.JSONL: tuple(name + packing for name in (".jsonl", ".ndjson") for packing in _PACKINGS),
}
_PAGE_SUFFIXES = (".html", ".htm", ".xhtml", ".mhtml", ".mht")
_LIST_SUFFIXES = (".paths", ".paths.gz", ".txt", ".txt.gz")
_NAMES = ", ".join([*(suffix for suffixes in _SUFFIXES.values() for suffix in suffixes), *_PAGE_SUFFIXES])
# In a WACZ file.
_WARC_FOLDER = "archive/"
# More WARC files than this that are smaller on average are one input: each input has tables of its own, and opening it
# reads the directory of the whole ZIP file.
_PACKED_INPUTS_MAX = 16
_SMALL_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input file, or a folder of saved pages.

    `number` is its place in the order, from 0; `size` is in bytes, 0 if it is not known.
    """

    number: int
    path: str
    kind: InputKind
    size: int


def find_inputs(sources: Sequence[str], base: str = "") -> list[InputFile]:
    """Return the input files that paths, folders, globs and lists of paths name, each once.

    The files of a folder, and of the folders in it, and those of a glob are sorted by path. All other files of a folder
    on this machine are one more input: its saved pages, and what is none. A path in a list that is neither absolute nor
    a URL is taken from `base`, or from the folder of the list if that is "". Raises InputError for a path that does not
    exist or has an unknown suffix, and if there is no file at all.
    """
    files: dict[str, tuple[InputKind, int]] = {}
    for source in sources:
        for path, kind, size in _expand(source, base):
            if kind is None:
                raise InputError(f"the input {redact_text(path)!r} has no suffix that is known: {_NAMES}")
            files.setdefault(path, (kind, size))
    if not files:
        raise InputError(f"the inputs {', '.join(map(repr, sources))} hold no file")
    return [InputFile(number, path, kind, size) for number, (path, (kind, size)) in enumerate(files.items())]


def archive_kind(name: str) -> InputKind | None:
    """Return the format of a file of many pages by its name, None for any other file."""
    return next((kind for kind, suffixes in _SUFFIXES.items() if name.lower().endswith(suffixes)), None)


def _kind_of(path: str) -> InputKind | None:
    """Return the format of a file by its path or URL, None if the suffix is unknown."""
    inner = path.partition("::")[0]
    name = inner.partition("?")[0] if "://" in inner else inner
    return archive_kind(name) or (InputKind.PAGE if name.lower().endswith(_PAGE_SUFFIXES) else None)


def unpacked_lines(file: BinaryIO, path: str) -> BinaryIO:
    """Return the lines of a file, unpacked if its name ends in .gz or .zst."""
    name = path.partition("?")[0].lower()
    if name.endswith(".gz"):
        return BufferedReader(gzip.GzipFile(fileobj=file))
    return BufferedReader(zstd.ZstdFile(file)) if name.endswith(".zst") else file


def open_input(path: str) -> BinaryIO:
    """Open an input file for reading. Raises InputError."""
    with _reported(path):
        system, inner = _file_system(path)
        file: BinaryIO = system.open(inner, "rb")
    return file if "://" not in path else BufferedReader(_RemoteFile(file, path, system))


def _expand(source: str, base: str) -> Iterator[tuple[str, InputKind | None, int]]:
    """Yield the path, the format and the size of each file that an INPUT names."""
    with _reported(source):
        system, inner = _file_system(source)
        if source.lower().endswith(_LIST_SUFFIXES):
            for line in _read_list(source):
                yield from _expand(_resolve(line, base, source), base)
        elif _GLOB_CHARS.intersection(inner) and not inner.startswith(("http://", "https://")):
            yield from _described(system, sorted(system.glob(inner)))
        elif inner.startswith(("http://", "https://")):
            # A server need not answer HEAD; the size is only needed to estimate what is left.
            yield source, _kind_of(source), 0
        elif system.isdir(inner):
            yield from _expand_folder(system, inner)
        else:
            system.info(inner)  # raises for a file that does not exist
            yield from _described(system, [inner])


def _expand_folder(system: Any, folder: str) -> Iterator[tuple[str, InputKind | None, int]]:
    paths = sorted(system.find(folder))
    archives = [path for path in paths if archive_kind(path)]
    if "file" not in system.protocol:
        for path, kind, size in _described(system, paths):
            yield path, kind or InputKind.OTHER, size
        return
    yield from _described(system, archives)
    if len(archives) < len(paths):
        yield folder, InputKind.FOLDER, 0


def _described(system: Any, paths: Sequence[str]) -> Iterator[tuple[str, InputKind | None, int]]:
    """Yield the files at paths; of a WACZ file its WARC files. A link that leads nowhere is one."""
    for path in paths:
        try:
            info = system.info(path)
        except FileNotFoundError:
            info = {"type": "file"}
        if info["type"] != "file":
            continue
        name = system.unstrip_protocol(path).removeprefix("file://")
        kind = _kind_of(name)
        size = int(info.get("size") or 0)
        warcs = packed_warcs(name) if kind is InputKind.WACZ else []
        if not warcs or (len(warcs) > _PACKED_INPUTS_MAX and size < len(warcs) * _SMALL_BYTES):
            yield name, kind, size
            continue
        for warc in warcs:
            yield packed_path(warc, name), InputKind.WARC, size // len(warcs)


def packed_path(warc: str, path: str) -> str:
    """Return the URL of a WARC file in a WACZ file, as fsspec opens it."""
    return f"zip://{warc}::{path}"


def packed_warcs(path: str) -> list[str]:
    """Return the names of the WARC files in a WACZ file, [] if it cannot be opened."""
    try:
        with open_input(path) as file, ZipFile(file) as archive:
            names = [name for name in archive.namelist() if name.startswith(_WARC_FOLDER)]
    except (BadZipFile, InputError, OSError, ValueError):
        return []
    return sorted(name for name in names if archive_kind(name) is InputKind.WARC)


def _read_list(path: str) -> list[str]:
    system, inner = _file_system(path)
    with system.open(inner, "rb") as file:
        lines = gzip.GzipFile(fileobj=file) if path.lower().endswith(".gz") else file
        text = lines.read(_LIST_BYTES_MAX + 1)
    if len(text) > _LIST_BYTES_MAX:
        raise InputError(f"the list of paths {redact_text(path)!r} has more than {_LIST_BYTES_MAX:,} bytes; divide it")
    return [line.strip() for line in text.decode("utf-8", "replace").splitlines() if line.strip()]


def _resolve(line: str, base: str, listed_in: str) -> str:
    if "://" in line or line.startswith("/"):
        return line
    if base:
        return urljoin(base, line) if "://" in base else f"{base.rstrip('/')}/{line}"
    folder, _, _ = listed_in.rpartition("/")
    return f"{folder}/{line}" if folder else line


def _file_system(path: str) -> tuple[Any, str]:
    """Return the file system of a path or URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 — an extra
    except ImportError as error:
        raise InputError(f"a batch job needs fsspec: pip install 'blocksieve[batch]' ({error})") from error
    place: tuple[Any, str] = url_to_fs(path)
    return place


class _RemoteFile(RawIOBase):
    """A file behind a URL. Whatever its library raises while it is read is InputError."""

    def __init__(self, file: BinaryIO, path: str, system: Any) -> None:
        self._file = file
        self._path = path
        self._system = system  # that of a ZIP file closes it when nothing refers to the system any more

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._file.seekable()

    def readinto(self, buffer: Any) -> int:
        with _reported(self._path):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        with _reported(self._path):
            return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        super().close()


class _reported:  # noqa: N801 — a context manager
    """Turns the errors of file systems, and of the libraries behind them, into InputError."""

    def __init__(self, path: str) -> None:
        self._path = redact_text(path)

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, FileNotFoundError):
            raise InputError(f"the input {self._path!r} does not exist") from error
        if isinstance(error, Exception) and not isinstance(error, InputError):
            raise InputError(f"the input {self._path!r} cannot be read: {error}") from error

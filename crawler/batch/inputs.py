"""The input files of a batch job, in the order of their records: as given, then by path."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from enum import StrEnum
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urljoin

from crawler.errors import InputError
from crawler.fetching.saved_pages import is_page_folder
from crawler.redact import redact_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LIST_BYTES_MAX = 100_000_000
_GLOB_CHARS = frozenset("*?[")


class InputKind(StrEnum):
    """The format of an input: of a file by its name."""

    WARC = "warc"
    PARQUET = "parquet"
    FOLDER = "folder"
    """A folder of saved pages."""


_SUFFIXES = {
    InputKind.WARC: tuple(name + packing for name in (".warc", ".wet") for packing in ("", ".gz", ".zst")),
    InputKind.PARQUET: (".parquet",),
}
_LIST_SUFFIXES = (".paths", ".paths.gz", ".txt", ".txt.gz")
_NAMES = ", ".join(suffix for suffixes in _SUFFIXES.values() for suffix in suffixes)


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

    The files of a folder, and of the folders in it, and those of a glob are sorted by path. A folder on this machine
    without such a file is one input if it holds saved pages. A path in a list that is
    neither absolute nor a URL is taken from `base`, or from the folder of the list if that is "". Raises InputError for
    a path that does not exist or has an unknown suffix, and if there is no file at all.
    """
    files: dict[str, tuple[InputKind, int]] = {}
    for source in sources:
        for path, size in _expand(source, base):
            kind = InputKind.FOLDER if "://" not in path and Path(path).is_dir() else _kind_of(path)
            if kind is None:
                raise InputError(f"the input {redact_text(path)!r} has no suffix that is known: {_NAMES}")
            files.setdefault(path, (kind, size))
    if not files:
        raise InputError(
            f"the inputs {', '.join(map(repr, sources))} hold no file that ends in {_NAMES}, and no saved page"
        )
    return [InputFile(number, path, kind, size) for number, (path, (kind, size)) in enumerate(files.items())]


def _kind_of(path: str) -> InputKind | None:
    """Return the format of a file by its name, None if the suffix is unknown."""
    name = path.partition("?")[0].lower() if "://" in path else path.lower()
    return next((kind for kind, suffixes in _SUFFIXES.items() if name.endswith(suffixes)), None)


def open_input(path: str) -> BinaryIO:
    """Open an input file for reading. Raises InputError."""
    with _reported(path):
        system, inner = _file_system(path)
        file: BinaryIO = system.open(inner, "rb")
    return file if "://" not in path else BufferedReader(_RemoteFile(file, path))


def _expand(source: str, base: str) -> Iterator[tuple[str, int]]:
    """Yield the path and the size of each file that an INPUT names."""
    with _reported(source):
        system, inner = _file_system(source)
        if source.lower().endswith(_LIST_SUFFIXES):
            for line in _read_list(source):
                yield from _expand(_resolve(line, base, source), base)
        elif _GLOB_CHARS.intersection(inner) and not inner.startswith(("http://", "https://")):
            yield from _sized(system, sorted(system.glob(inner)))
        elif inner.startswith(("http://", "https://")):
            # A server need not answer HEAD; the size is only needed to estimate what is left.
            yield source, 0
        elif system.isdir(inner):
            paths = sorted(path for path in system.find(inner) if _kind_of(path))
            if not paths and "://" not in source and is_page_folder(Path(inner)):
                yield inner, 0
            yield from _sized(system, paths)
        else:
            yield from _sized(system, [inner])


def _sized(system: Any, paths: Sequence[str]) -> Iterator[tuple[str, int]]:
    for path in paths:
        info = system.info(path)
        if info["type"] == "file":
            yield system.unstrip_protocol(path).removeprefix("file://"), int(info.get("size") or 0)


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

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file = file
        self._path = path

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

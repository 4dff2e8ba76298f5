"""The output folder of a batch job: local, shared or a bucket. Files appear complete or not at all."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from crawler.errors import BatchError
from crawler.redact import redact_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

Rows = Any
"""A structured array."""

_NUMBER = np.dtype("<i8")
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_TEMPORARY_PREFIX, _TEMPORARY_SUFFIX = ".blocksieve-batch-", ".part"


class OutputFolder:
    """A folder by its path or URL; names are relative to it, with slashes. It can be sent to another process."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._system, self._root = _file_system(path)
        self._is_local = "file" in _protocols(self._system)

    def __reduce__(self) -> tuple[type[OutputFolder], tuple[str]]:
        return type(self), (self.path,)

    @contextmanager
    def create(self, name: str) -> Iterator[IO[bytes]]:
        """Yield a file to write to. It appears under its name when the block ends, and not at all after an error.

        Raises BatchError if it cannot be written.
        """
        try:
            with self._create_local(name) if self._is_local else self._create_object(name) as file:
                yield file
        except OSError as error:
            place = redact_text(f"{self.path.rstrip('/')}/{name}")
            raise BatchError(f"{place!r} cannot be written: {error.strerror or error}") from error

    def open(self, name: str) -> IO[bytes]:
        """Open a file for reading. Raises BatchError if there is none."""
        try:
            file: IO[bytes] = self._system.open(self._place(name), "rb")
        except OSError as error:
            raise BatchError(f"{redact_text(self.path)!r} has no file {name} that can be read: {error}") from error
        return file

    def exists(self, name: str) -> bool:
        return bool(self._system.exists(self._place(name)))

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in one of the folders, sorted; none for a folder that does not exist."""
        place = self._place(folder)
        if not self._system.exists(place):
            return []
        self._system.invalidate_cache()
        names = (path.rpartition("/")[2] for path in self._system.ls(place, detail=False))
        return sorted(name for name in names if not name.startswith(_TEMPORARY_PREFIX))

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        with self.create(name) as file:
            file.write(json.dumps(value, indent=1, sort_keys=True).encode())

    def read_json(self, name: str) -> dict[str, Any]:
        """Return the object of a JSON file. Raises BatchError."""
        with self.open(name) as file:
            text = file.read()
        try:
            content = json.loads(text)
        except ValueError as error:
            raise BatchError(f"{name} in {redact_text(self.path)!r} is damaged: {error}") from error
        if not isinstance(content, dict):
            raise BatchError(f"{name} in {redact_text(self.path)!r} is damaged: it holds no object")
        return content

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with all that it holds, if it exists."""
        place = self._place(name)
        if self._system.exists(place):
            self._system.rm(place, recursive=True)

    def remove_abandoned(self) -> None:
        """Remove the unfinished files of processes that were killed. No other job may write to the folder."""
        if self._is_local and self._system.exists(self._root):
            for path in self._system.find(self._root):
                if path.rpartition("/")[2].startswith(_TEMPORARY_PREFIX):
                    self._system.rm(path)

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Hold a file of the folder while the block runs. Raises BatchError if another process holds it.

        Only local folders have locks.
        """
        if not self._is_local:
            yield
            return
        with open(self._place(name), "rb") as file:  # noqa: PTH123 — as above
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise BatchError(f"another job is writing to {self.path!r}; wait for its end") from error
            except OSError:
                pass  # a shared folder may have no locks either
            yield

    def is_empty(self) -> bool:
        return not self._system.exists(self._root) or not self._system.ls(self._root, detail=False)

    def _place(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    @contextmanager
    def _create_local(self, name: str) -> Iterator[IO[bytes]]:
        place = self._place(name)
        folder = os.path.dirname(place)  # noqa: PTH120 — paths of fsspec are texts
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103 — as above
        temporary = f"{folder}/{_TEMPORARY_PREFIX}{uuid4().hex}{_TEMPORARY_SUFFIX}"
        try:
            with open(temporary, "xb") as file:  # noqa: PTH123 — as above
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, place)  # noqa: PTH105 — as above
        except BaseException:
            if os.path.exists(temporary):  # noqa: PTH110 — as above
                os.unlink(temporary)  # noqa: PTH108 — as above
            raise

    @contextmanager
    def _create_object(self, name: str) -> Iterator[IO[bytes]]:
        """Yield a temporary file that is uploaded at the end: an object appears when it is complete."""
        with tempfile.NamedTemporaryFile(suffix=_TEMPORARY_SUFFIX) as file:
            yield file
            file.flush()
            place = self._place(name)
            self._system.makedirs(place.rpartition("/")[0], exist_ok=True)
            self._system.put_file(file.name, place)


def _file_system(path: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 — an extra
    except ImportError as error:
        raise BatchError(f"a batch job needs fsspec: pip install 'blocksieve[batch]' ({error})") from error
    try:
        place: tuple[Any, str] = url_to_fs(path)
    except (ValueError, ImportError) as error:
        raise BatchError(f"the output {redact_text(path)!r} cannot be used: {error}") from error
    return place


def _protocols(system: Any) -> tuple[str, ...]:
    protocol = system.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)


# Rows on their way from the tasks of one stage to the tasks of the next. A file of rows has a part for each receiver.
# Its head has the number of parts, and the first and last row of each. So a receiver reads only its own rows, with two
# short reads of each file.


def partition_names(stage: str, count: int) -> list[str]:
    """Return the names of the files of rows that the tasks of a stage write."""
    return [partition_name(stage, number) for number in range(count)]


def partition_name(stage: str, number: int) -> str:
    """Return the name of the file of rows that a task of a stage writes."""
    return f"work/{stage}/{number:06}"


def write_partitions(output: OutputFolder, name: str, rows: Rows, partitions: NDArray[np.int64], count: int) -> None:
    """Write rows to a file, each in its partition (from 0 to `count` - 1), in their order."""
    order = np.argsort(partitions, kind="stable")
    ends = np.cumsum(np.bincount(partitions, minlength=count)) if len(rows) else np.zeros(count, np.int64)
    head = np.concatenate(([count, 0], ends)).astype(_NUMBER)
    with output.create(name) as file:
        file.write(head.tobytes())
        file.write(np.ascontiguousarray(rows[order]).tobytes())


def read_partition(output: OutputFolder, names: Iterable[str], partition: int, dtype: np.dtype[Any]) -> Rows:
    """Return the rows that several files hold for a partition, in the order of the files."""
    parts = [np.empty(0, dtype)]
    size = _NUMBER.itemsize
    for name in names:
        with output.open(name) as file:
            count = int(np.frombuffer(file.read(size), _NUMBER)[0])
            file.seek(size * (1 + partition))
            start, end = (int(position) for position in np.frombuffer(file.read(2 * size), _NUMBER))
            if end > start:
                file.seek(size * (2 + count) + start * dtype.itemsize)
                parts.append(np.frombuffer(file.read((end - start) * dtype.itemsize), dtype))
    return np.concatenate(parts)


def spread(keys: Sequence[NDArray[Any]], count: int) -> NDArray[np.int64]:
    """Return the partition of each row, by one or more columns of 64-bit numbers. Equal rows have the same."""
    mixed = np.zeros(len(keys[0]), np.uint64)
    with np.errstate(over="ignore"):
        for key in keys:
            mixed = (mixed ^ key.astype(np.int64).view(np.uint64)) * _MIX
            mixed ^= mixed >> _SHIFT
    return (mixed % np.uint64(count)).astype(np.int64)

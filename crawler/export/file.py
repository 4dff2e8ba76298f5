"""A file that is there as a whole or not at all, however long it takes to write."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING
from uuid import uuid4

from crawler.errors import ExportError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PREFIX, _SUFFIX = ".blocksieve-export-", ".part"


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Give a file to write to; at the end it takes the place of what is at the path, on an error it is gone.

    What a process that was killed left in the folder is removed. Raises ExportError where it cannot be written.
    """
    _sweep(path.parent)
    temporary = path.with_name(f"{_PREFIX}{uuid4().hex}{_SUFFIX}")
    try:
        with _locked(temporary) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(path)
        _sync(path.parent)
    except OSError as error:
        raise ExportError(
            f"the export {str(path)!r} cannot be written: {error.strerror or error}; nothing is left of it, choose "
            "another OUT or make room there"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _locked(path: Path) -> IO[bytes]:
    """Create a file, and lock it as long as it is open: so others see that it is being written."""
    while True:
        file = path.open("xb")
        with suppress(OSError):  # some network file systems have no locks; there nobody sweeps either
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()  # another export came before the lock, and swept it away


def _sweep(folder: Path) -> None:
    """Remove files of this kind that nobody writes any more."""
    for left in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError), left.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()


def _sync(folder: Path) -> None:
    """Have the new name on the disk too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

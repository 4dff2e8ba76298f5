"""Files that a crawl writes for other programs: each write is there as a whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from crawler.errors import ConfigError

if TYPE_CHECKING:
    from io import FileIO

_READABLE_BY_ALL = 0o644


def writable_path(setting: str, text: str) -> Path:
    """Return the absolute path that a setting holds; raises ConfigError where no file can be written there."""
    path = Path(text).expanduser().resolve()
    if path.exists() and not path.is_file():
        raise ConfigError(f"{setting} is {text!r}, which is no plain file")
    if not path.parent.is_dir():
        raise ConfigError(f"{setting} is {text!r}, but there is no folder {path.parent}")
    # A file is appended to or replaced: the former needs the file, the latter its folder.
    if not _may_write(path.parent) or (path.exists() and not _may_write(path)):
        raise ConfigError(f"{setting} is {text!r}, which this user may not write")
    return path


def append_line(path: Path, line: str) -> None:
    """Add a line to the file, which is created if need be; several processes may do so at once. Raises OSError."""
    data = f"{line}\n".encode()
    with path.open("ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        append_whole(file, data, sync=True)


def append_whole(file: FileIO, data: bytes, *, sync: bool = False) -> None:
    """Write this at the end of an unbuffered file, or nothing of it; `sync` waits for the disk. Raises OSError."""
    before = file.seek(0, os.SEEK_END)
    try:
        # On a disk that fills, the first write may take a part and only the next one would fail.
        if file.write(data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # noqa: TRY301 — one way out for all that fails
        if sync:
            os.fsync(file.fileno())
    except OSError:
        file.truncate(before)
        raise


def replace_file(path: Path, data: bytes) -> None:
    """Put this content in place of the file's, readable by all. Raises OSError, and leaves the old content then."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with open(handle, "wb") as file:  # noqa: PTH123 — an open file has no path to call
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), _READABLE_BY_ALL)
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)

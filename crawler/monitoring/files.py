"""Write files for other programs: each write happens completely or not at all."""

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
    """Return the absolute path in a setting. Raises ConfigError if no file can be written there."""
    path = Path(text).expanduser().resolve()
    if path.exists() and not path.is_file():
        raise ConfigError(f"{setting} is {text!r}, which is not a regular file")
    if not path.parent.is_dir():
        raise ConfigError(f"{setting} is {text!r}, but there is no folder {path.parent}")
    # Appending needs a writable file, replacing needs a writable folder.
    if not _may_write(path.parent) or (path.exists() and not _may_write(path)):
        raise ConfigError(f"{setting} is {text!r}, which this user may not write")
    return path


def append_line(path: Path, line: str) -> None:
    """Append a line to a file, creating it if needed; several processes may append at once. Raises OSError."""
    data = f"{line}\n".encode()
    with path.open("ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        append_whole(file, data, sync=True)


def append_whole(file: FileIO, data: bytes, *, sync: bool = False) -> None:
    """Append all of the data to an unbuffered file, or nothing; `sync` waits for the disk. Raises OSError."""
    before = file.seek(0, os.SEEK_END)
    try:
        # On a full disk the first write may succeed partly, and only the next one would fail.
        if file.write(data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # noqa: TRY301 — one exit for all failures
        if sync:
            os.fsync(file.fileno())
    except OSError:
        file.truncate(before)
        raise


def replace_file(path: Path, data: bytes) -> None:
    """Replace the content of a file, readable by all users. Raises OSError and then keeps the old content."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with open(handle, "wb") as file:  # noqa: PTH123 — a file descriptor has no Path.open
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

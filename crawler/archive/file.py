"""The file of an archive: one writer's, appended to, and whole after each write."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

from crawler.archive.ending import NoArchiveError, sound_end
from crawler.errors import ArchiveError
from crawler.files import append

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

ENDING = ".warc.gz"


class ArchiveFile:
    """A WARC file, to be gone on with. `torn_bytes` of a record that an earlier writer left unfinished are cut off."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Unbuffered: what was written is the system's to keep, however this process ends.
        self._file = path.open("r+b" if path.exists() else "x+b", buffering=0)
        try:
            self.torn_bytes = self._repair()
        except BaseException:
            self._file.close()
            raise

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the file, made if need be. Raises ArchiveError where it is another process's, or no archive."""
        try:
            return cls(path)
        except BlockingIOError as error:
            raise ArchiveError(
                f"ARCHIVE is {str(path)!r}, which another crawl is writing; give each crawl, and each process of one, "
                "a file of its own"
            ) from error
        except NoArchiveError as error:
            raise ArchiveError(
                f"ARCHIVE is {str(path)!r}, which is no WARC file to go on with: {error}; name another"
            ) from error
        except OSError as error:
            raise ArchiveError(f"ARCHIVE is {str(path)!r}, which cannot be written: {error.strerror}") from error

    def append(self, data: bytes) -> None:
        """Write this at the end, or nothing of it. Raises ArchiveError where the disk is full, for one."""
        try:
            append(self._file, data)
        except OSError as error:
            raise ArchiveError(f"the archive {self.path} cannot be written: {error.strerror}") from error

    def close(self) -> None:
        """See to it that the disk has it all, and let others write."""
        os.fsync(self._file.fileno())
        self._file.close()

    def _repair(self) -> int:
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        size = os.fstat(self._file.fileno()).st_size
        end = sound_end(self._file)
        self._file.truncate(end)
        return size - end

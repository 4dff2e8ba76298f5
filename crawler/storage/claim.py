"""Who crawls into an SQLite file, which must stay where it is.

A lock that the system gives back, however its process ends.
"""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

from crawler.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self


class Claim:
    """A process's part in a crawl; `alone` tells that no other process had one when it was taken.

    The lock is on a file beside the database, which the last one to close removes. (A lock on the database itself would
    get in the way of SQLite's own, which end when any descriptor of the file is closed.)
    """

    def __init__(self, path: Path, descriptor: int, database: Path, *, alone: bool) -> None:
        self.alone = alone
        self._path = path
        self._descriptor = descriptor
        self._database = database
        self._file = database.stat()

    @classmethod
    def take(cls, database: Path, crawl_id: int) -> Self:
        """Return a part in a crawl into that file. Raises StoreError where the lock file cannot be made."""
        path = database.with_name(f"{database.name}-crawl-{crawl_id}")
        while True:
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                alone = _lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not alone:
                    fcntl.flock(descriptor, fcntl.LOCK_SH)
            except OSError as error:
                raise StoreError(f"the lock file {path} cannot be made: {error.strerror}") from error
            if _is_at(descriptor, path):
                # From now on others are not alone.
                fcntl.flock(descriptor, fcntl.LOCK_SH)
                return cls(path, descriptor, database, alone=alone)
            os.close(descriptor)  # removed in between

    def check(self) -> None:
        """Raise StoreError where the database is another file by now, or none.

        SQLite would go on writing to the one that has no name any more.
        """
        try:
            same = os.path.samestat(self._file, self._database.stat())
        except FileNotFoundError:
            same = False
        if not same:
            raise StoreError(
                f"the database {self._database} was deleted, moved or replaced during the crawl, which cannot go on; "
                "what it stored until then is in the file that was there"
            )

    def close(self) -> None:
        """Give it back; the lock file is removed where nobody else has a part."""
        if _lock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB):
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)


def _lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind)
    except BlockingIOError:
        return False
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False

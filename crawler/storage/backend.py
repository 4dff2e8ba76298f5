"""The interface of a kind of database (SQLite, PostgreSQL), and the lock of crawls on an SQLite file."""

from __future__ import annotations

import errno
import fcntl
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from crawler.errors import StoreError
from crawler.redact import REDACTED, redact_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Self

    from sqlalchemy.engine import URL, Connection, Engine
    from sqlalchemy.exc import DBAPIError

    from crawler.storage.change_log import Horizon


# On another connection: True if the transaction was committed, None while the server has not ended it.
CommitCheck: TypeAlias = "Callable[[Connection], bool | None]"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The meaning of a driver's error and the advice to the user, as the end of a sentence about the database.

    `transient` is True if the same transaction may succeed later, without any action of the user. `locked` is True if
    another process locks the database, and its user has to act.
    """

    advice: str
    transient: bool = False
    locked: bool = False


STOPPED = "stopped"
"""The execution option with the event that stops the wait of a transaction for the locks of other processes."""


class Backend(Protocol):
    """One kind of database."""

    example: str
    """An example of its URLs."""
    read_options: Mapping[str, Any]
    """Execution options of a transaction that sees one state of the database and writes nothing."""
    write_options: Mapping[str, Any]
    """Execution options of a transaction that writes."""

    def open(self, url: URL, *, must_exist: bool, busy_seconds: float, query_seconds: float | None) -> Engine:
        """Return an engine that waits up to `busy_seconds` for a lock; raises StoreError for an unusable URL.

        With `query_seconds` it is for readers: it cannot write, and a query that takes longer is ended.
        """

    def location(self, url: URL) -> str:
        """Return the location of the database, without secrets."""

    def size_bytes(self, engine: Engine) -> int:
        """Return the size of the database on disk."""

    def diagnose(self, error: DBAPIError) -> Diagnosis | None:
        """Return the meaning of a driver's error; None if the user can do nothing about it."""

    def find_damage(self, engine: Engine) -> Diagnosis | None:
        """Return the diagnosis of a file whose structure is damaged; None for a sound one, and for a server."""

    def erase_deleted(self, engine: Engine) -> None:
        """Erase what deleted rows leave behind."""

    def make_durable(self, engine: Engine) -> None:
        """Return once everything that is committed would survive a power failure."""

    def lock_crawl(self, engine: Engine, crawl_id: int) -> CrawlFileLock | None:
        """Lock a crawl for this process; None where only the time of a lease shows which processes are alive."""

    def has_crawl_lock(self, engine: Engine, crawl_id: int) -> bool | None:
        """Return True if a process has locked a crawl; None where locks do not show it."""

    def server(self, connection: Connection) -> str:
        """Return the identity of the server and of the database on it; "" for a file."""

    def horizon(self, connection: Connection, sequence: int) -> Horizon:
        """Return the transactions that a reader sees; `sequence` is that of table database_id."""

    def sequence_after(self, connection: Connection, last: int) -> int:
        """Return the `database_id.sequence` that makes all further change sequences greater than `last`."""

    def commit_check(self, connection: Connection) -> CommitCheck | None:
        """Return how to ask later whether the running transaction was committed; None where commits are local."""


def redact_url(url: str) -> str:
    """Return a database URL without its password, for a log; the URL may be malformed."""
    try:
        return redact_text(make_url(url).render_as_string(hide_password=True))
    except (ArgumentError, ValueError):
        return re.sub(r"[^/\s]*@", f"{REDACTED}@", re.sub(r"//.*@", f"//{REDACTED}@", url))


class CrawlFileLock:
    """A process's shared lock on a crawl into an SQLite file; `alone` is True if no other process had one.

    The operating system releases it however the process ends. The lock is on a file beside the database, which the
    last process to close it removes. A lock on the database itself would interfere with SQLite's own locks, which end
    when any descriptor of the file is closed.
    """

    def __init__(self, path: Path, descriptor: int, database: Path, *, alone: bool) -> None:
        self.alone = alone
        self._path = path
        self._descriptor = descriptor
        self._database = database
        self._file = database.stat()

    @classmethod
    def acquire(cls, database: Path, crawl_id: int) -> Self:
        """Return the lock on a crawl into a database file. Raises StoreError if the lock file cannot be made."""
        path = _lock_path(database, crawl_id)
        while True:
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                alone = _flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not alone:
                    fcntl.flock(descriptor, fcntl.LOCK_SH)
            except OSError as error:
                raise StoreError(f"the lock file {path} cannot be made: {error.strerror}") from error
            if _is_at(descriptor, path):
                # From now on other processes are not alone.
                fcntl.flock(descriptor, fcntl.LOCK_SH)
                return cls(path, descriptor, database, alone=alone)
            os.close(descriptor)  # another process removed the file in between

    @classmethod
    def is_held(cls, database: Path, crawl_id: int) -> bool:
        """Return True if a living process has a lock on a crawl."""
        try:
            descriptor = _open_existing(_lock_path(database, crawl_id))
        except FileNotFoundError:
            return False
        except OSError as error:
            path = _lock_path(database, crawl_id)
            raise StoreError(f"the lock file {path} cannot be read: {error.strerror}") from error
        try:
            return not _flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(descriptor)

    def check(self) -> None:
        """Raise StoreError if the database file was deleted or replaced.

        SQLite would go on writing to the file that has no name any more.
        """
        try:
            same = os.path.samestat(self._file, self._database.stat())
        except FileNotFoundError:
            same = False
        if not same:
            raise StoreError(
                f"the database {self._database} was deleted, moved or replaced during the crawl, which cannot go on; "
                "the pages stored until then are in the original file"
            )

    def close(self) -> None:
        """Release the lock, and remove its file if no other process has one."""
        if _flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB):
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)


def _lock_path(database: Path, crawl_id: int) -> Path:
    return database.with_name(f"{database.name}-crawl-{crawl_id}")


def _open_existing(path: Path) -> int:
    """Open a lock file: for writing too, which locks on NFS need, unless this user may only read it."""
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
            raise
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _flock(descriptor: int, kind: int) -> bool:
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

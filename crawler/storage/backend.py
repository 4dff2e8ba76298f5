"""The interface of a kind of database, and what both kinds share."""

from __future__ import annotations

import fcntl
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from crawler.errors import StoreError
from crawler.redact import REDACTED, redact_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Self

    from sqlalchemy.engine import URL, Connection, Engine
    from sqlalchemy.exc import DBAPIError

    from crawler.storage.change_log import Horizon


class CrawlFileLock:
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
                alone = _flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
        if _flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB):
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)


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


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a driver's error means and what to do, as the end of a sentence that begins with the database.

    `passing` tells that the same transaction may succeed later, without anybody doing anything.
    """

    advice: str
    passing: bool = False


class Backend(Protocol):
    """One kind of database."""

    example: str
    """How its URLs look."""
    reading: Mapping[str, Any]
    """Execution options of a transaction that sees one state of the database and writes nothing."""
    writing: Mapping[str, Any]
    """Execution options of a transaction that writes."""

    def open(self, url: URL, *, must_exist: bool, busy_seconds: float) -> Engine:
        """Return an engine that waits so long for others' locks; raises StoreError for a URL that cannot be used."""

    def location(self, url: URL) -> str:
        """Return where the database is, fit for a log."""

    def size_bytes(self, engine: Engine) -> int:
        """Return how large the database is on disk."""

    def diagnose(self, error: DBAPIError) -> Diagnosis | None:
        """Return what an error of the driver means; None for one that a user cannot act on."""

    def scrub(self, engine: Engine) -> None:
        """Get rid of what deleted rows leave behind."""

    def claim(self, engine: Engine, crawl_id: int) -> CrawlFileLock | None:
        """Take part in a crawl, as a process; None where only time tells which processes are alive."""

    def server(self, connection: Connection) -> str:
        """Return what tells the server, and the database on it, from others; "" where a file is all there is."""

    def mark(self, connection: Connection) -> int | None:
        """Return the mark of the running transaction, which is to write; None where the table database_id is empty."""

    def horizon(self, connection: Connection, number: int) -> Horizon:
        """Return which transactions a reader sees; `number` is that of the database_id."""

    def number_after(self, connection: Connection, last_mark: int) -> int:
        """Return the number of a database_id whose marks from now on are greater than one."""

    def transaction_id(self, connection: Connection) -> str | None:
        """Return the id by which the fate of the running transaction can be asked; None where commits are local."""

    def was_committed(self, connection: Connection, transaction_id: str) -> bool | None:
        """Tell whether an earlier transaction was committed; None while the server has not ended it."""


def redact_url(url: str) -> str:
    """Return a database URL fit for a log: without its password, also where it is malformed."""
    try:
        return redact_text(make_url(url).render_as_string(hide_password=True))
    except (ArgumentError, ValueError):
        return re.sub(r"[^/\s]*@", f"{REDACTED}@", re.sub(r"//.*@", f"//{REDACTED}@", url))

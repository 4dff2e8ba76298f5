"""The SQLite backend: one file, one writer at a time, in WAL mode."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from sqlalchemy import create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, DisconnectionError

from crawler.errors import StoreError, StoreMissingError
from crawler.storage.backend import STOPPED, CrawlFileLock, Diagnosis
from crawler.storage.change_log import Horizon
from crawler.storage.tables import metadata

if TYPE_CHECKING:
    from collections.abc import Mapping
    from threading import Event

    from sqlalchemy.engine import Connection, Engine

    from crawler.storage.backend import CommitCheck

_OLDEST_SQLITE = (3, 38, 0)  # has json_each always, and RETURNING
_CACHE_KIB = 65_536  # look-ups of fingerprints read all over the index
_READER_CACHE_KIB = 8_192
_STEPS = 10_000  # of SQLite's machine, between two looks at the clock
_BEGIN = "sqlite_begin"
_BEGIN_WRITING = "BEGIN IMMEDIATE"
_TURN_SECONDS = 0.25
_LOG_TURN_SECONDS = 0.05
# A stopped crawl still waits for the short writes of other processes, so that its last pages are stored.
_STOPPED_SECONDS = 5.0
_STATE = "file_state"
_PRIMARY_CODE = 0xFF

_DAMAGED = "is damaged; restore a copy, or save what can be read with `sqlite3 FILE .recover`"
# The meaning of a failure and the advice, by SQLite's primary result code.
_ADVICE = {
    sqlite3.SQLITE_FULL: "is full; free space on its disk or move it, and start again",
    sqlite3.SQLITE_READONLY: "cannot be written; give this user write access to the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that its folder exists and this user may write there",
    sqlite3.SQLITE_PERM: "cannot be opened; give this user access to the file and its folder",
    sqlite3.SQLITE_NOTADB: "is not an SQLite database; point DATABASE_URL at another file",
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_BUSY: "stayed locked by another process; let its crawl or command end, and start again",
    sqlite3.SQLITE_LOCKED: "stayed locked by another connection; let it end, and start again",
    sqlite3.SQLITE_CONSTRAINT: "holds rows that contradict each other, so it is probably damaged; restore a copy",
    sqlite3.SQLITE_IOERR: "cannot be read or written; check its disk",
    sqlite3.SQLITE_INTERRUPT: "did not answer in time; ask for less, or try again",
}
# Damage for which SQLite and Python's sqlite3 have no code of their own.
_SIGN_OF_DAMAGE = re.compile(
    rf"unsupported file format|Could not decode|malformed|no such table: (?:main\.)?(?:{'|'.join(metadata.tables)})\b"
)


class SQLiteBackend:
    """The default: a file on this machine."""

    example = "sqlite:///FILE (sqlite:////ABSOLUTE/FILE)"
    read_options: Mapping[str, Any] = MappingProxyType({})
    write_options: Mapping[str, Any] = MappingProxyType({_BEGIN: _BEGIN_WRITING})

    def open(self, url: URL, *, must_exist: bool, busy_seconds: float, query_seconds: float | None) -> Engine:
        if must_exist and not _path(url).exists():
            raise StoreMissingError(f"there is no database at {_path(url)}; `scrapy initdb` creates it")
        _check(url)
        options: dict[str, Any] = {"connect_args": {"timeout": busy_seconds}, "hide_parameters": True}
        if query_seconds is not None:
            return _open_for_readers(_path(url), query_seconds, options)
        engine = create_engine(URL.create("sqlite", database=str(_path(url))), **options)
        _open_unwritable_files(engine, _path(url))
        event.listen(engine, "connect", partial(_set_up, busy_seconds=busy_seconds))
        event.listen(engine, "begin", partial(_begin, busy_seconds=busy_seconds))
        return engine

    def location(self, url: URL) -> str:
        return str(_path(url))

    def size_bytes(self, engine: Engine) -> int:
        """Return the size of the file and its log."""
        path = _path(engine.url)
        files = (path, _beside(path, "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def diagnose(self, error: DBAPIError) -> Diagnosis | None:
        code = getattr(error.orig, "sqlite_errorcode", 0) & _PRIMARY_CODE
        advice = _ADVICE.get(code)
        if advice is None and _SIGN_OF_DAMAGE.search(str(error.orig)):
            advice = _DAMAGED
        return None if advice is None else Diagnosis(advice, locked=code == sqlite3.SQLITE_BUSY)

    def find_damage(self, engine: Engine) -> Diagnosis | None:
        """Read the whole file, and return the diagnosis if its structure is damaged."""
        try:
            with engine.connect() as connection:
                result = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
        except DBAPIError as error:
            return self.diagnose(error)
        return None if result == "ok" else Diagnosis(_DAMAGED)

    def erase_deleted(self, engine: Engine) -> None:
        """Clear the write-ahead log, which holds the deleted rows."""
        with engine.connect() as connection:
            # On the driver's own connection: a checkpoint cannot run in a transaction.
            connection.connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def make_durable(self, engine: Engine) -> None:
        """Sync the write-ahead log: with synchronous=NORMAL a commit does not."""
        path = _path(engine.url)
        with suppress(FileNotFoundError), _beside(path, "-wal").open("rb") as log:
            os.fsync(log.fileno())

    def lock_crawl(self, engine: Engine, crawl_id: int) -> CrawlFileLock | None:
        return CrawlFileLock.acquire(_path(engine.url), crawl_id)

    def has_crawl_lock(self, engine: Engine, crawl_id: int) -> bool | None:
        return CrawlFileLock.is_held(_path(engine.url), crawl_id)

    def server(self, connection: Connection) -> str:  # noqa: ARG002 — the protocol's
        return ""

    def horizon(self, connection: Connection, sequence: int) -> Horizon:  # noqa: ARG002 — as above
        return Horizon(sequence + 1)

    def sequence_after(self, connection: Connection, last: int) -> int:  # noqa: ARG002 — as above
        return last

    def commit_check(self, connection: Connection) -> CommitCheck | None:  # noqa: ARG002 — as above
        return None


def _path(url: URL) -> Path:
    name = url.database or ""
    return Path(unquote(urlsplit(name).path)) if url.query.get("uri") else Path(name).absolute()


def _check(url: URL) -> None:
    public_url = url.render_as_string()
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        oldest = ".".join(map(str, _OLDEST_SQLITE))
        raise StoreError(f"Python's SQLite is {sqlite3.sqlite_version}; it must be {oldest} or newer")
    if not _has_fts5():
        raise StoreError("Python's SQLite was built without FTS5, which search needs; use another build of Python")
    if url.host or url.query or not url.database or url.database.startswith((":memory:", "file:")):
        raise StoreError(f"DATABASE_URL is {public_url}; it must name a plain file: sqlite:///FILE")
    if not _path(url).parent.is_dir():
        raise StoreError(f"DATABASE_URL is {public_url}, but the folder {_path(url).parent} does not exist; create it")
    if _path(url).is_dir():
        raise StoreError(f"DATABASE_URL is {public_url}, which is a folder; it must name a file")


def _has_fts5() -> bool:
    with closing(sqlite3.connect(":memory:")) as connection:
        return bool(connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone())


def _open_for_readers(path: Path, query_seconds: float, options: dict[str, Any]) -> Engine:
    """Return an engine whose connections cannot write, by two means, and whose queries end after `query_seconds`."""
    # `mode` is SQLite's own; quoted as in every URI of a file.
    url = URL.create("sqlite", database=path.as_uri(), query={"mode": "ro", "uri": "true"})
    engine = create_engine(url, **options)
    _open_unwritable_files(engine, path)

    def set_up(connection: Any, record: Any) -> None:
        _prepare(connection)
        for pragma in ("query_only=ON", f"cache_size=-{_READER_CACHE_KIB}"):
            connection.execute(f"PRAGMA {pragma}").close()
        # Returning True interrupts the query.
        connection.set_progress_handler(lambda: monotonic() > record.info.get("until", float("inf")), _STEPS)

    def start_clock(connection: Connection, *_arguments: object) -> None:
        connection.info["until"] = monotonic() + query_seconds

    event.listen(engine, "connect", set_up)
    event.listen(engine, "begin", _begin)
    event.listen(engine, "before_cursor_execute", start_clock)
    return engine


def _open_unwritable_files(engine: Engine, path: Path) -> None:
    """Let an engine read a file that this user cannot write, such as one on a read-only mount.

    SQLite reads a file in WAL mode through FILE-shm, which it cannot create there; `immutable` does without. SQLite
    then ignores all locks, so a connection is opened anew once the file has changed.
    """

    def connect(dialect: Any, record: Any, _arguments: object, options: dict[str, Any]) -> Any:
        if not _needs_immutable(path):
            return None  # SQLAlchemy connects
        _check_logs(path)
        record.info[_STATE] = _file_state(path)
        return dialect.connect(f"{path.as_uri()}?mode=ro&immutable=1", **{**options, "uri": True})

    def check_state(_connection: object, record: Any, _proxy: object) -> None:
        state = record.info.get(_STATE)
        if state is not None and state != _file_state(path):
            raise DisconnectionError  # the pool connects again

    event.listen(engine, "do_connect", connect)
    event.listen(engine, "checkout", check_state)


def _needs_immutable(path: Path) -> bool:
    """Return True if SQLite cannot create FILE-shm, or if this user would be its owner and block the writers."""
    if not os.access(path, os.R_OK):  # asked first: another process may be about to make the file
        return False
    is_writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    return not is_writable and not _beside(path, "-shm").exists()


def _check_logs(path: Path) -> None:
    """Raise StoreError if a log holds changes that are not in the file: `immutable` would ignore them."""
    for log in (_beside(path, "-wal"), _beside(path, "-journal")):
        if log.exists() and log.stat().st_size:
            raise StoreError(
                f"the database {path} cannot be written by this user, and {log.name} holds changes that are not in it "
                "yet; run `scrapy status` once as a user who may write there, or copy both files to a folder of yours"
            )


def _file_state(path: Path) -> tuple[object, ...]:
    """Return what changes with the file; () if it is gone."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, _needs_immutable(path)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _prepare(connection: Any) -> None:
    # None keeps the sqlite3 module from beginning transactions by itself: see _begin.
    connection.isolation_level = None
    connection.create_function("occurrences", 2, _occurrences, deterministic=True)


def _set_up(connection: Any, _record: object, busy_seconds: float) -> None:
    _prepare(connection)
    _keep_log(connection, busy_seconds)
    for pragma in (
        "synchronous=NORMAL",
        "foreign_keys=ON",
        "secure_delete=ON",  # rows deleted on legal grounds must not stay in free space of the file
        f"cache_size=-{_CACHE_KIB}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _keep_log(connection: Any, busy_seconds: float) -> None:
    """Let the file have a write-ahead log. SQLite itself does not wait for others who use a new file."""
    began = monotonic()
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or monotonic() - began >= busy_seconds:
                raise
            sleep(_LOG_TURN_SECONDS)
        else:
            return


def _occurrences(tokens: str, pattern: str) -> int:
    """Return how often a pattern occurs in a text's tokens: SQLite's own `replace` takes four times as long."""
    return tokens.count(pattern)


def _begin(connection: Connection, busy_seconds: float = 0.0) -> None:
    options = connection.get_execution_options()
    # A transaction begun by a plain BEGIN that writes later fails at once if another process wrote in between.
    if options.get(_BEGIN) == _BEGIN_WRITING:
        _begin_writing(connection, busy_seconds, options.get(STOPPED))
    else:
        connection.exec_driver_sql("BEGIN")


def _begin_writing(connection: Connection, busy_seconds: float, stopped: Event | None) -> None:
    """Wait for the file in short turns. Python handles signals, and a stop is noticed, between two turns only."""
    driver: Any = connection.connection.driver_connection
    began = monotonic()
    _set_busy_seconds(driver, min(busy_seconds, _TURN_SECONDS))
    try:
        while _is_locked(driver):
            is_stopped = stopped is not None and stopped.is_set()
            if monotonic() - began >= (min(busy_seconds, _STOPPED_SECONDS) if is_stopped else busy_seconds):
                break
        if not driver.in_transaction:
            connection.exec_driver_sql(_BEGIN_WRITING)  # SQLAlchemy raises its own error
    finally:
        _set_busy_seconds(driver, busy_seconds)


def _is_locked(driver: sqlite3.Connection) -> bool:
    """Begin to write, and return True if another connection writes. Another error counts as no lock."""
    try:
        driver.execute(_BEGIN_WRITING).close()
    except sqlite3.OperationalError as error:
        return _is_busy(error)
    return False


def _is_busy(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & _PRIMARY_CODE == sqlite3.SQLITE_BUSY


def _set_busy_seconds(driver: sqlite3.Connection, seconds: float) -> None:
    driver.execute(f"PRAGMA busy_timeout = {round(seconds * 1_000)}").close()

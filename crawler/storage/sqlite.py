"""SQLite: one file, one writer at a time, WAL."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event, text
from sqlalchemy.engine import URL

from crawler.errors import StoreError, StoreMissingError
from crawler.storage.backend import CrawlFileLock, Diagnosis
from crawler.storage.change_log import Horizon

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.engine import Connection, Engine
    from sqlalchemy.exc import DBAPIError

_OLDEST_SQLITE = (3, 38, 0)  # json_each always built in, RETURNING
_CACHE_KIB = 65_536  # look-ups of fingerprints jump all over the index
_BEGIN = "sqlite_begin"
_PRIMARY_CODE = 0xFF
_MARK = text("UPDATE database_id SET number = number + 1 RETURNING number")

# What a failure means and what to do, by SQLite's primary result code.
_ADVICE = {
    sqlite3.SQLITE_FULL: "is full; free space on its disk or move it, and start again",
    sqlite3.SQLITE_READONLY: "cannot be written; give this user write access to the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that its folder exists and this user may write there",
    sqlite3.SQLITE_PERM: "cannot be opened; give this user access to the file and its folder",
    sqlite3.SQLITE_NOTADB: "is not an SQLite database; point DATABASE_URL at another file",
    sqlite3.SQLITE_CORRUPT: "is damaged; restore a copy, or save what can be read with `sqlite3 FILE .recover`",
    sqlite3.SQLITE_BUSY: "stayed locked by another process; let its crawl or command end, and start again",
    sqlite3.SQLITE_LOCKED: "stayed locked by another connection; let it end, and start again",
    sqlite3.SQLITE_IOERR: "cannot be read or written; check its disk",
}


class SQLiteBackend:
    """The embedded default."""

    example = "sqlite:///FILE (sqlite:////ABSOLUTE/FILE)"
    reading: Mapping[str, Any] = MappingProxyType({})
    writing: Mapping[str, Any] = MappingProxyType({_BEGIN: "BEGIN IMMEDIATE"})

    def open(self, url: URL, *, must_exist: bool, busy_seconds: float) -> Engine:
        if must_exist and not _path(url).exists():
            raise StoreMissingError(f"there is no database at {_path(url)}; `scrapy initdb` creates it")
        _check(url)
        plain = URL.create("sqlite", database=str(_path(url)))
        engine = create_engine(plain, connect_args={"timeout": busy_seconds}, hide_parameters=True)
        event.listen(engine, "connect", _set_up)
        event.listen(engine, "begin", _begin)
        return engine

    def location(self, url: URL) -> str:
        return str(_path(url))

    def size_bytes(self, engine: Engine) -> int:
        """Return the size of the file and its log."""
        path = _path(engine.url)
        files = (path, path.with_name(f"{path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def diagnose(self, error: DBAPIError) -> Diagnosis | None:
        advice = _ADVICE.get(getattr(error.orig, "sqlite_errorcode", 0) & _PRIMARY_CODE)
        return None if advice is None else Diagnosis(advice)

    def scrub(self, engine: Engine) -> None:
        """Clear the log: it holds what was deleted."""
        with engine.connect() as connection:
            # On the driver's own connection: a checkpoint cannot run in a transaction.
            connection.connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def claim(self, engine: Engine, crawl_id: int) -> CrawlFileLock | None:
        return CrawlFileLock.take(_path(engine.url), crawl_id)

    def server(self, connection: Connection) -> str:  # noqa: ARG002 — the protocol's
        return ""

    def mark(self, connection: Connection) -> int | None:
        return connection.execute(_MARK).scalar()

    def horizon(self, connection: Connection, number: int) -> Horizon:  # noqa: ARG002 — as above
        return Horizon(number + 1)

    def number_after(self, connection: Connection, last_mark: int) -> int:  # noqa: ARG002 — as above
        return last_mark

    def transaction_id(self, connection: Connection) -> str | None:  # noqa: ARG002 — the protocol's
        return None

    def was_committed(self, connection: Connection, transaction_id: str) -> bool | None:
        raise NotImplementedError  # never asked: there is no id


def _path(url: URL) -> Path:
    return Path(url.database or "").absolute()


def _check(url: URL) -> None:
    shown = url.render_as_string()
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        oldest = ".".join(map(str, _OLDEST_SQLITE))
        raise StoreError(f"Python's SQLite is {sqlite3.sqlite_version}; it must be {oldest} or newer")
    if not _has_fts5():
        raise StoreError("Python's SQLite was built without FTS5, which search needs; use another build of Python")
    if url.host or url.query or not url.database or url.database.startswith((":memory:", "file:")):
        raise StoreError(f"DATABASE_URL is {shown}; it must name a plain file: sqlite:///FILE")
    if not _path(url).parent.is_dir():
        raise StoreError(f"DATABASE_URL is {shown}, but the folder {_path(url).parent} does not exist; create it")
    if _path(url).is_dir():
        raise StoreError(f"DATABASE_URL is {shown}, which is a folder; it must name a file")


def _has_fts5() -> bool:
    with closing(sqlite3.connect(":memory:")) as connection:
        return bool(connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone())


def _set_up(connection: Any, _record: object) -> None:
    # None keeps the sqlite3 module from beginning transactions on its own: see _begin.
    connection.isolation_level = None
    connection.create_function("occurrences", 2, _occurrences, deterministic=True)
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        "secure_delete=ON",  # what is removed on legal grounds must not be left in free space of the file
        f"cache_size=-{_CACHE_KIB}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _occurrences(tokens: str, pattern: str) -> int:
    """Tell how often a text's tokens hold a pattern: SQLite's own `replace` takes four times as long."""
    return tokens.count(pattern)


def _begin(connection: Connection) -> None:
    # A plain BEGIN that writes later fails at once, without waiting, when another process writes in between.
    connection.exec_driver_sql(connection.get_execution_options().get(_BEGIN, "BEGIN"))

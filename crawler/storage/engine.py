"""Open a database: how SQLite is to behave, transactions that read or write, errors a user can act on."""

from __future__ import annotations

import re
import sqlite3
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from crawler.errors import StoreError
from crawler.mask import MASK, mask_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection, Engine

BUSY_SECONDS = 30.0
_OLDEST_SQLITE = (3, 38, 0)  # json_each always built in, RETURNING
_CACHE_KIB = 65_536  # look-ups of fingerprints jump all over the index
_BEGIN = "sqlite_begin"

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
_PRIMARY_CODE = 0xFF


def open_engine(url: str, *, must_exist: bool = False, busy_seconds: float = BUSY_SECONDS) -> Engine:
    """Return an engine for the database at a SQLAlchemy URL; nothing is connected or created yet.

    Raises StoreError for a malformed URL, a kind of database that is not supported, a folder that does not exist
    and, where it `must_exist`, a database that does not.
    """
    parsed = _parse(url)
    # The seam for other databases: one opener, and one entry in index.INDEXES, for each.
    openers = {"sqlite": _open_sqlite}
    opener = openers.get(parsed.get_backend_name())
    if opener is None:
        raise StoreError(f"DATABASE_URL is {masked(url)}; supported is sqlite:///FILE (sqlite:////ABSOLUTE/FILE)")
    if must_exist and not _path(parsed).exists():
        raise StoreError(f"there is no database at {location(url)}; `scrapy initdb` creates it")
    return opener(parsed, busy_seconds)


@contextmanager
def opened(url: str, *, must_exist: bool = False) -> Iterator[Engine]:
    """Give an engine as `open_engine` does, and close its connections at the end."""
    engine = open_engine(url, must_exist=must_exist)
    try:
        yield engine
    finally:
        engine.dispose()


def masked(url: str) -> str:
    """Return a database URL fit for a log: without its password, also where it is malformed."""
    try:
        return mask_text(make_url(url).render_as_string(hide_password=True))
    except (ArgumentError, ValueError):
        return re.sub(r"[^/\s]*@", f"{MASK}@", re.sub(r"//.*@", f"//{MASK}@", url))


def location(url: str) -> str:
    """Return where a database is, fit for a log: a file's absolute path, otherwise the URL without password."""
    parsed = _parse(url)
    return str(_path(parsed)) if parsed.get_backend_name() == "sqlite" else masked(url)


def size_bytes(url: str) -> int:
    """Return how large a database is on disk, its log included."""
    path = _path(_parse(url))
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Give a connection in a transaction that sees one state of the database and waits for no writer."""
    with _explained(engine), engine.connect() as connection, connection.begin():
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Give a connection in a transaction that is committed at the end, or rolled back whole by an exception.

    Raises StoreError where the database is full, read-only, damaged or locked for too long.
    """
    with _explained(engine), engine.connect() as connection:
        connection.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
        with connection.begin():
            yield connection


@contextmanager
def erasing(engine: Engine) -> Iterator[Connection]:
    """Give a connection as `writing` does, and clear SQLite's log at the end: it holds what was deleted."""
    with writing(engine) as connection:
        yield connection
    with _explained(engine), engine.connect() as connection:
        # On the driver's own connection: a checkpoint cannot run in a transaction.
        connection.connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")


@contextmanager
def _explained(engine: Engine) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        advice = _ADVICE.get(getattr(error.orig, "sqlite_errorcode", 0) & _PRIMARY_CODE)
        if advice is None:
            raise
        raise StoreError(f"the database {engine.url.database} {advice} ({error.orig})") from error


def _parse(url: str) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError):
        # Not chained: the original message may quote a password.
        raise StoreError(
            f"DATABASE_URL is {masked(url)!r}; it takes a SQLAlchemy URL, for example sqlite:///blocks.db"
        ) from None


def _path(url: URL) -> Path:
    return Path(url.database or "").absolute()


def _open_sqlite(url: URL, busy_seconds: float) -> Engine:
    _check_sqlite(url)
    engine = create_engine(
        URL.create("sqlite", database=str(_path(url))), connect_args={"timeout": busy_seconds}, hide_parameters=True
    )
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    return engine


def _check_sqlite(url: URL) -> None:
    shown = url.render_as_string()
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        oldest = ".".join(map(str, _OLDEST_SQLITE))
        raise StoreError(f"Python's SQLite is {sqlite3.sqlite_version}; it must be {oldest} or newer")
    if url.host or url.query or not url.database or url.database.startswith((":memory:", "file:")):
        raise StoreError(f"DATABASE_URL is {shown}; it must name a plain file: sqlite:///FILE")
    if not _path(url).parent.is_dir():
        raise StoreError(f"DATABASE_URL is {shown}, but the folder {_path(url).parent} does not exist; create it")
    if _path(url).is_dir():
        raise StoreError(f"DATABASE_URL is {shown}, which is a folder; it must name a file")


def _set_up(connection: Any, _record: object) -> None:
    # None keeps the sqlite3 module from beginning transactions on its own: see _begin.
    connection.isolation_level = None
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        "secure_delete=ON",  # what is removed on legal grounds must not be left in free space of the file
        f"cache_size=-{_CACHE_KIB}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin(connection: Connection) -> None:
    # A plain BEGIN that writes later fails at once, without waiting, when another process writes in between.
    connection.exec_driver_sql(connection.get_execution_options().get(_BEGIN, "BEGIN"))

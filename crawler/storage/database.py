"""Open a database, read or write it in transactions, retry after an outage."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, main_thread
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar
from uuid import uuid4

from sqlalchemy import delete, func, insert, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from crawler.errors import StoreError, StoreUnavailableError
from crawler.redact import redact_text
from crawler.storage.backend import redact_url
from crawler.storage.change_log import ChangeLog
from crawler.storage.postgresql import PostgreSQLBackend
from crawler.storage.sqlite import SQLiteBackend
from crawler.storage.tables import change_log, database_id, document_frequency, removed_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sqlalchemy.engine import URL, Connection, Engine

    from crawler.storage.backend import Backend
    from crawler.storage.change_log import Horizon


BUSY_SECONDS = 30.0

# By SQLAlchemy's name. A further kind of database takes an entry here and one in index.INDEXES.
BACKENDS: Mapping[str, Backend] = MappingProxyType({"sqlite": SQLiteBackend(), "postgresql": PostgreSQLBackend()})


def open_engine(url: str, *, must_exist: bool = False, busy_seconds: float = BUSY_SECONDS) -> Engine:
    """Return an engine for the database at a SQLAlchemy URL; nothing is connected or created yet.

    Others' locks are waited for `busy_seconds` each. Raises StoreError for a malformed URL, a kind of database that
    is not supported, a driver that is not installed, a folder that does not exist and, where it `must_exist`, a
    file that does not; a server is first asked when its engine connects.
    """
    parsed = _parse_url(url)
    return _backend_of_url(parsed).open(parsed, must_exist=must_exist, busy_seconds=busy_seconds)


@contextmanager
def opened_engine(url: str, *, must_exist: bool = False) -> Iterator[Engine]:
    """Give an engine as `open_engine` does, and close its connections at the end."""
    engine = open_engine(url, must_exist=must_exist)
    try:
        yield engine
    finally:
        engine.dispose()


def location_of_url(url: str) -> str:
    """Return where a database is, fit for a log: a file's absolute path, otherwise the URL without password."""
    parsed = _parse_url(url)
    return _backend_of_url(parsed).location(parsed)


def location_of(engine: Engine) -> str:
    """Return where an engine's database is, as `location` does."""
    return backend_of(engine).location(engine.url)


def backend_of(engine: Engine) -> Backend:
    """Return the kind of an engine's database."""
    return BACKENDS[engine.dialect.name]


def database_size_bytes(url: str) -> int:
    """Return how large a database is on disk, its log included."""
    with opened_engine(url) as engine, _translated_errors(engine):
        return backend_of(engine).size_bytes(engine)


@contextmanager
def read_transaction(engine: Engine) -> Iterator[Connection]:
    """Give a connection in a transaction that sees one state of the database and waits for no writer."""
    with _translated_errors(engine), engine.connect() as connection:
        connection.execution_options(**backend_of(engine).reading)
        with connection.begin():
            yield connection


@contextmanager
def write_transaction(engine: Engine) -> Iterator[Connection]:
    """Give a connection in a transaction that is committed at the end, or rolled back whole by an exception.

    Raises StoreError where the database is full, read-only, damaged or locked for too long, and its subclass
    StoreUnavailableError where the same may succeed later.
    """
    with _translated_errors(engine), engine.connect() as connection:
        connection.execution_options(**backend_of(engine).writing)
        with connection.begin():
            yield connection


@contextmanager
def erase_transaction(engine: Engine) -> Iterator[Connection]:
    """Give a connection as `writing` does, and get rid at the end of what deleted rows leave behind."""
    with write_transaction(engine) as connection:
        yield connection
    with _translated_errors(engine):
        backend_of(engine).scrub(engine)


@contextmanager
def _translated_errors(engine: Engine) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        found = backend_of(engine).diagnose(error)
        if found is None:
            raise
        kind = StoreUnavailableError if found.passing else StoreError
        advice = found.advice.format(name=engine.url.database)
        said = redact_text(" ".join(str(error.orig).split()))
        raise kind(f"the database {location_of(engine)} {advice} ({said})") from error


def _backend_of_url(url: URL) -> Backend:
    found = BACKENDS.get(url.get_backend_name())
    if found is None:
        examples = " and ".join(each.example for each in BACKENDS.values())
        shown = redact_url(url.render_as_string(hide_password=False))
        raise StoreError(f"DATABASE_URL is {shown}; supported are {examples}")
    return found


def _parse_url(url: str) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError):
        # Not chained: the original message may quote a password.
        raise StoreError(
            f"DATABASE_URL is {redact_url(url)!r}; it takes a SQLAlchemy URL, for example sqlite:///blocks.db"
        ) from None


logger = logging.getLogger(__name__)

_Result = TypeVar("_Result")

_PAUSE_SECONDS_MIN = 0.1
_PAUSE_SECONDS_MAX = 10.0


class RetryingWriter:
    """How long a writer waits for a database that went away, in seconds; 0 does not wait.

    Once it has waited in vain it waits no more: a crawl that is closing writes what it can.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds
        self._over = Event()

    def end(self) -> None:
        """Stop waiting, now and from now on; any thread may say so."""
        self._over.set()

    def write(self, engine: Engine, work: Callable[[Connection], _Result]) -> _Result:
        """Do the work in one transaction, from its start again after a failure that passes, and return its result.

        The work is done once, also where the answer to a commit was lost. Raises StoreError, after the wait.
        """
        attempt = _Attempt(engine, work)
        pause, since = _PAUSE_SECONDS_MIN, None
        while True:
            try:
                result = attempt.run()
            except StoreUnavailableError as error:
                if since is None:
                    since = monotonic()
                    logger.warning("%s; trying again for up to %g s", error, self._seconds)
                self._wait(pause, since, error)
                pause = min(2 * pause, _PAUSE_SECONDS_MAX)
            else:
                if since is not None:
                    logger.warning("The database is back after %.1f s", monotonic() - since)
                return result

    def _wait(self, pause: float, since: float, error: StoreError) -> None:
        left = since + self._seconds - monotonic()
        # Python ends a process only when its threads have ended, and a second Ctrl-C tells nobody but the main one.
        if left > 0 and main_thread().is_alive() and not self._over.wait(min(pause, left)):
            return
        self._over.set()
        raise StoreError(f"{error}; waited {monotonic() - since:.0f} s of DATABASE_WAIT_SECONDS={self._seconds:g}")


@dataclass(frozen=True, slots=True)
class _PendingCommit(Generic[_Result]):
    """Work that was about to be committed."""

    transaction_id: str
    result: _Result


class _Attempt(Generic[_Result]):
    """Work that is tried again, but not where it was committed after all."""

    def __init__(self, engine: Engine, work: Callable[[Connection], _Result]) -> None:
        self._engine = engine
        self._work = work
        self._done: _PendingCommit[_Result] | None = None

    def run(self) -> _Result:
        if self._done is not None and self._was_committed(self._done):
            return self._done.result
        self._done = None
        with write_transaction(self._engine) as connection:
            result = self._work(connection)
            transaction_id = backend_of(self._engine).transaction_id(connection)
            self._done = None if transaction_id is None else _PendingCommit(transaction_id, result)
        return result

    def _was_committed(self, done: _PendingCommit[_Result]) -> bool:
        with read_transaction(self._engine) as connection:
            committed = backend_of(self._engine).was_committed(connection, done.transaction_id)
        if committed is None:
            raise StoreUnavailableError(
                f"the database {location_of(self._engine)} has not ended the last transaction yet"
            )
        return committed


@dataclass(frozen=True, slots=True)
class DatabasePosition:
    """A state of a database: the name of its database_id, and which of its transactions are in that state."""

    database_id: str
    horizon: Horizon


def begin_changes(connection: Connection) -> ChangeLog:
    """Return the change_log of a transaction that writes."""
    return ChangeLog(connection, lambda: _next_sequence(connection))


def read_position(connection: Connection) -> DatabasePosition:
    """Return the state that a reader sees.

    Raises StoreError where the database was restored on another server, whose transactions have other numbers.
    """
    row = connection.execute(select(database_id)).first()
    if row is None:
        raise _missing_id_error(connection)
    kind = backend_of(connection.engine)
    if row.server != kind.server(connection):
        raise StoreError(
            f"the database {location_of(connection.engine)} was made on another server, and its changes are not "
            f"told apart "
            "here yet; run `scrapy upgrade` once, and export it anew"
        )
    return DatabasePosition(row.name, kind.horizon(connection, row.number))


def settle_database_id(connection: Connection) -> None:
    """Give the database a database_id where it has none, or was restored on another server; nobody else may write.

    New marks are greater than any that it holds.
    """
    server = backend_of(connection.engine).server(connection)
    stored = connection.execute(select(database_id.c.server)).scalar()
    if stored == server:
        return
    number = backend_of(connection.engine).number_after(connection, _last_sequence(connection))
    connection.execute(delete(database_id))
    connection.execute(insert(database_id), {"name": uuid4().hex, "server": server, "number": number})


def _next_sequence(connection: Connection) -> int:
    mark = backend_of(connection.engine).mark(connection)
    if mark is None:
        raise _missing_id_error(connection)
    return mark


def _last_sequence(connection: Connection) -> int:
    marks = (
        connection.scalar(select(func.max(table.c.changed)))
        for table in (change_log, removed_block, document_frequency)
    )
    return max((mark for mark in marks if mark is not None), default=0)


def _missing_id_error(connection: Connection) -> StoreError:
    return StoreError(
        f"the database {location_of(connection.engine)} has lost its table database_id; run `scrapy upgrade`"
    )

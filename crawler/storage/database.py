"""Open a database of either kind, read and write it in transactions, and wait for one that is away.

The driver's errors become StoreError, with what the user can do; StoreUnavailableError if a retry may succeed.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar
from uuid import uuid4

from sqlalchemy import delete, event, func, insert, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError

from crawler.errors import CrawlerError, QueryError, StoreError, StoreLockedError, StoreUnavailableError
from crawler.redact import redact_text
from crawler.storage.backend import STOPPED, Diagnosis, redact_url
from crawler.storage.pages import UNREADABLE
from crawler.storage.postgresql import UNKNOWN_TRANSACTION, PostgreSQLBackend
from crawler.storage.sqlite import SQLiteBackend
from crawler.storage.tables import change_log, database_id, document_frequency, removed_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sqlalchemy.engine import URL, Connection, Engine, ExceptionContext

    from crawler.storage.backend import Backend, CommitCheck
    from crawler.storage.change_log import Horizon

logger = logging.getLogger(__name__)

_Result = TypeVar("_Result")

_BUSY_SECONDS = 30.0
WAITED = "; waited "
"""Follows the problem in the message of an error after a wait."""

_DAMAGED_VALUE = Diagnosis("holds a value that cannot be read, so it is probably damaged; restore a copy")
_MAX_ERROR_CHARS = 200
# What SQLAlchemy says of a text that should be a time; it has no class of its own for that.
_NO_TIME = re.compile(r"isoformat string|datetime string|must be in \d")
_PAUSE_SECONDS_MIN = 0.1
_PAUSE_SECONDS_MAX = 10.0
_SLOW_FAILURE_SECONDS = 1.0
_SILENT_SECONDS = 60.0

# By SQLAlchemy's name. Another kind of database needs an entry here and one in near_duplicates.FINGERPRINT_INDEXES.
_BACKENDS: Mapping[str, Backend] = MappingProxyType({"sqlite": SQLiteBackend(), "postgresql": PostgreSQLBackend()})


def open_engine(
    url: str, *, must_exist: bool = False, busy_seconds: float = _BUSY_SECONDS, query_seconds: float | None = None
) -> Engine:
    """Return an engine for the database at a SQLAlchemy URL; it connects to nothing and creates nothing yet.

    A connection waits up to `busy_seconds` for each lock of others. With `query_seconds` the engine is for readers: the
    database refuses every write, and a query that takes longer ends with StoreError. Raises StoreError for a malformed
    URL, an unsupported kind of database, a missing driver or folder and, with `must_exist`, a missing file; a server is
    first contacted when the engine connects.
    """
    parsed = _parse_url(url)
    kind = _backend_of_url(parsed)
    engine = kind.open(parsed, must_exist=must_exist, busy_seconds=busy_seconds, query_seconds=query_seconds)
    event.listen(engine, "handle_error", _refuse_value)
    return engine


def _refuse_value(context: ExceptionContext) -> None:
    """Raise QueryError for a value that no column can hold: no question of a user's may end in a traceback."""
    if getattr(context.original_exception, "sqlstate", None) == UNKNOWN_TRANSACTION:
        return  # `commit_check` expects it
    if isinstance(context.sqlalchemy_exception, DataError) or isinstance(
        # Of the drivers' own code, before the database sees the value.
        context.original_exception,
        (OverflowError, UnicodeEncodeError),
    ):
        raise QueryError(
            "no database holds a text with a NUL character or half a surrogate pair, or a number of more than 64 bits "
            f"({context.original_exception})"
        ) from context.original_exception


@contextmanager
def opened_engine(url: str, *, must_exist: bool = False, query_seconds: float | None = None) -> Iterator[Engine]:
    """Yield an engine as `open_engine` returns it, and close its connections at the end."""
    engine = open_engine(url, must_exist=must_exist, query_seconds=query_seconds)
    try:
        yield engine
    finally:
        engine.dispose()


def location_of_url(url: str) -> str:
    """Return the location of a database for a log: the absolute path of a file, or the URL without its password."""
    parsed = _parse_url(url)
    return _backend_of_url(parsed).location(parsed)


def location_of(engine: Engine) -> str:
    """Return the location of an engine's database, as `location_of_url` does."""
    return backend_of(engine).location(engine.url)


def backend_of(engine: Engine) -> Backend:
    """Return the backend of an engine's database."""
    return _BACKENDS[engine.dialect.name]


def database_size_bytes(url: str) -> int:
    """Return the size of a database on disk, with its log."""
    with opened_engine(url) as engine, _translated_errors(engine):
        return backend_of(engine).size_bytes(engine)


def has_crawl_lock(engine: Engine, crawl_id: int) -> bool | None:
    """Return True if a living process works at a crawl; None on a server, where `crawls.is_active` tells."""
    return backend_of(engine).has_crawl_lock(engine, crawl_id)


def check_damage(engine: Engine) -> None:
    """Raise StoreError if the database file is damaged; this reads the whole file."""
    if (diagnosis := backend_of(engine).find_damage(engine)) is not None:
        raise StoreError(_describe(engine, diagnosis, None))


@contextmanager
def read_transaction(engine: Engine) -> Iterator[Connection]:
    """Yield a connection in a transaction that sees one state of the database and waits for no writer."""
    with _translated_errors(engine), engine.connect() as connection:
        connection.execution_options(**backend_of(engine).read_options)
        with connection.begin():
            yield connection


@contextmanager
def write_transaction(engine: Engine, stopped: Event | None = None) -> Iterator[Connection]:
    """Yield a connection in a transaction; it is committed at the end, or rolled back whole by an exception.

    Once `stopped` is set, it waits only briefly for a locked file. Raises StoreError if the database is full, read-only
    or damaged, or locked for too long, and its subclass StoreUnavailableError if the same work may succeed later.
    """
    with _translated_errors(engine), engine.connect() as connection:
        connection.execution_options(**backend_of(engine).write_options, **{STOPPED: stopped})
        with connection.begin():
            yield connection


@contextmanager
def erase_transaction(engine: Engine) -> Iterator[Connection]:
    """Yield a connection as `write_transaction` does, and erase at the end what the deleted rows leave behind."""
    with write_transaction(engine) as connection:
        yield connection
    with _translated_errors(engine):
        backend_of(engine).erase_deleted(engine)


# SQLite does not queue its writers: one that waits checks every 0.05 s whether the file is free. A process with long
# writes would hardly ever let it in, so it pauses after each write.
_LONG_WRITE_SECONDS = 0.25
_TURN_SECONDS = 0.12


class RetryingWriter:
    """Runs transactions, and waits up to `seconds` for a database that is away; 0 does not wait.

    After one wait without success it does not wait again: a crawl that closes then writes what it can. It does not try
    at all for a minute after a server was silent for long, or after another process's lock outlasted the wait of a
    connection, because each attempt would take as long.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds
        self._stopped = Event()
        self._silence: StoreError | None = None
        self._silent_until = 0.0
        self._away = Event()  # while it is logged that the database is

    def stop_waiting(self) -> None:
        """Stop waiting, now and from now on, but for the short writes of others; any thread may call it."""
        self._stopped.set()

    def write(self, engine: Engine, work: Callable[[Connection], _Result]) -> _Result:
        """Run the work in one transaction and return its result; run it again after a transient failure.

        The work is committed once, even if the answer to a commit was lost. Raises StoreError after the wait.
        """
        began = monotonic()
        result = self._retry(_Attempt(engine, work, self._stopped).run)
        if engine.dialect.name == "sqlite" and monotonic() - began > _LONG_WRITE_SECONDS:
            self._stopped.wait(_TURN_SECONDS)
        return result

    def read(self, engine: Engine, work: Callable[[Connection], _Result]) -> _Result:
        """Run work that only reads, as `write` does; each run sees one state of the database."""

        def attempt() -> _Result:
            with read_transaction(engine) as connection:
                return work(connection)

        return self._retry(attempt)

    def _retry(self, attempt: Callable[[], _Result]) -> _Result:
        pause, since = _PAUSE_SECONDS_MIN, None
        if self._silence is not None and monotonic() < self._silent_until:
            raise self._silence
        while True:
            began = monotonic()
            try:
                result = attempt()
            except StoreLockedError as error:
                # When a crawl closes, each further batch would wait as long again.
                if monotonic() - began > _SLOW_FAILURE_SECONDS:
                    self._fail_at_once(error)
                raise
            except StoreUnavailableError as error:
                is_silent = monotonic() - began > _SLOW_FAILURE_SECONDS
                if since is None:
                    since = monotonic()
                    self._log_away(error)
                self._wait(pause, since, error, is_silent=is_silent)
                pause = min(2 * pause, _PAUSE_SECONDS_MAX)
            else:
                if since is not None:
                    self._log_back(monotonic() - since)
                return result

    def _log_away(self, error: StoreUnavailableError) -> None:
        """Log that the database is away, once for all threads that wait for it."""
        if not self._away.is_set() and not self._stopped.is_set():
            self._away.set()
            logger.warning("%s; trying again for up to %g s", error.problem, self._seconds)

    def _log_back(self, seconds: float) -> None:
        if self._away.is_set():
            self._away.clear()
            logger.warning("The database is back after %.1f s", seconds)

    def _wait(self, pause: float, since: float, error: StoreError, *, is_silent: bool) -> None:
        left = since + self._seconds - monotonic()
        if left > 0 and not _is_exiting() and not self._stopped.wait(min(pause, left)):
            return
        self._stopped.set()
        waited = f"{monotonic() - since:.0f} s of DATABASE_WAIT_SECONDS={self._seconds:g}"
        failure = StoreError(f"{error}{WAITED}{waited}")
        if is_silent:
            self._fail_at_once(failure)
        raise failure

    def _fail_at_once(self, error: StoreError) -> None:
        """Let further attempts fail for a minute without being made."""
        self._silence = error
        self._silent_until = monotonic() + _SILENT_SECONDS


def _is_exiting() -> bool:
    """Return True if the main thread has ended: Python waits for the others, and Ctrl-C no longer reaches them."""
    # It waits for the threads of executors first, while the main thread still counts as alive.
    return getattr(threading, "_SHUTTING_DOWN", False) or not threading.main_thread().is_alive()


@dataclass(frozen=True, slots=True)
class _PendingCommit(Generic[_Result]):
    """The result of work whose transaction was about to be committed."""

    check: CommitCheck
    result: _Result


class _Attempt(Generic[_Result]):
    """Work that is run again after a failure, unless the server has committed it."""

    def __init__(self, engine: Engine, work: Callable[[Connection], _Result], stopped: Event) -> None:
        self._engine = engine
        self._work = work
        self._stopped = stopped
        self._pending: _PendingCommit[_Result] | None = None

    def run(self) -> _Result:
        if self._pending is not None and self._was_committed(self._pending):
            return self._pending.result
        self._pending = None
        with write_transaction(self._engine, self._stopped) as connection:
            result = self._work(connection)
            check = backend_of(self._engine).commit_check(connection)
            self._pending = None if check is None else _PendingCommit(check, result)
        return result

    def _was_committed(self, pending: _PendingCommit[_Result]) -> bool:
        with read_transaction(self._engine) as connection:
            committed = pending.check(connection)
        if committed is None:
            where = location_of(self._engine)
            raise StoreUnavailableError(f"the database {where} has not ended the last transaction yet")
        return committed


@dataclass(frozen=True, slots=True)
class DatabasePosition:
    """A state of a database: the database's id, and the transactions that are part of the state."""

    database_id: str
    horizon: Horizon


def read_position(connection: Connection) -> DatabasePosition:
    """Return the state that a reader sees.

    Raises StoreError if the database was restored from a dump: a copy beside the original, or one on another server,
    whose transactions have other numbers.
    """
    where = location_of(connection.engine)
    row = connection.execute(select(database_id)).first()
    if row is None:
        raise StoreError(f"the database {where} has lost its table database_id; run `scrapy upgrade`")
    kind = backend_of(connection.engine)
    if row.server != kind.server(connection):
        raise StoreError(
            f"the database {where} was restored from a dump of another database or server, whose cursors mean nothing "
            "here; run `scrapy upgrade` once, which gives it an id of its own, then export without --since"
        )
    return DatabasePosition(row.id, kind.horizon(connection, row.sequence))


def settle_database_id(connection: Connection) -> bool:
    """Give the database a new id if it has none, or was restored from a dump; return True if it got one.

    Nobody else may write meanwhile. Change sequences from then on are greater than any that the database holds.
    """
    kind = backend_of(connection.engine)
    server = kind.server(connection)
    if connection.execute(select(database_id.c.server)).scalar() == server:
        return False
    sequence = kind.sequence_after(connection, _last_sequence(connection))
    connection.execute(delete(database_id))
    connection.execute(insert(database_id), {"id": uuid4().hex, "server": server, "sequence": sequence})
    return True


def _last_sequence(connection: Connection) -> int:
    tables = (change_log, removed_block, document_frequency)
    sequences = (connection.scalar(select(func.max(table.c.changed))) for table in tables)
    return max((sequence for sequence in sequences if sequence is not None), default=0)


def make_durable(engine: Engine) -> None:
    """Return once everything that is committed would survive a power failure."""
    backend_of(engine).make_durable(engine)


@contextmanager
def _translated_errors(engine: Engine) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        diagnosis = backend_of(engine).diagnose(error) or backend_of(engine).find_damage(engine)
        if diagnosis is None:
            raise
        message = _describe(engine, diagnosis, error.orig)
        if diagnosis.locked:
            raise StoreLockedError(message) from error
        if not diagnosis.transient:
            raise StoreError(message) from error
        problem = _describe(engine, Diagnosis(diagnosis.advice.partition(";")[0]), error.orig)
        raise StoreUnavailableError(message, problem) from error
    except CrawlerError:
        raise
    except Exception as error:
        # Damage may also break the code that reads a value: a time, JSON, compressed HTML.
        diagnosis = _DAMAGED_VALUE if _is_unreadable_value(error) else backend_of(engine).find_damage(engine)
        if diagnosis is None:
            raise
        raise StoreError(_describe(engine, diagnosis, error)) from error


def _describe(engine: Engine, diagnosis: Diagnosis, error: BaseException | None) -> str:
    sentence = f"the database {location_of(engine)} {diagnosis.advice.format(name=engine.url.database)}"
    if error is None:
        return sentence
    message = redact_text(" ".join(str(error).split()))[:_MAX_ERROR_CHARS]
    return f"{sentence} ({message or type(error).__name__})"


def _is_unreadable_value(error: Exception) -> bool:
    if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError, UNREADABLE)):
        return True
    return isinstance(error, ValueError) and _NO_TIME.search(str(error)) is not None


def _backend_of_url(url: URL) -> Backend:
    backend = _BACKENDS.get(url.get_backend_name())
    if backend is None:
        examples = " and ".join(kind.example for kind in _BACKENDS.values())
        public_url = redact_url(url.render_as_string(hide_password=False))
        raise StoreError(
            f"DATABASE_URL is {public_url}; supported are {examples}; if it is a setting of the project's own, set "
            "BLOCKSIEVE_DATABASE_URL"
        )
    return backend


def _parse_url(url: str) -> URL:
    # Heroku and others write URLs in this older form.
    short = re.match(r"postgres(?=\+|://)", url)
    try:
        return make_url(f"postgresql{url[short.end() :]}" if short else url)
    except (ArgumentError, ValueError):
        # Not chained: the original message may quote a password.
        raise StoreError(
            f"DATABASE_URL is {redact_url(url)!r}; it takes a SQLAlchemy URL, for example sqlite:///blocks.db"
        ) from None

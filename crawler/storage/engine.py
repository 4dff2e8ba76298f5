"""Open a database of either kind: transactions that read or write, errors a user can act on."""

from __future__ import annotations

from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from crawler.errors import StoreError, StoreUnavailableError
from crawler.mask import mask_text
from crawler.storage.backend import masked
from crawler.storage.postgresql import PostgreSQL
from crawler.storage.sqlite import SQLite

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy.engine import URL, Connection, Engine

    from crawler.storage.backend import Backend

BUSY_SECONDS = 30.0

# By SQLAlchemy's name. A further kind of database takes an entry here and one in index.INDEXES.
BACKENDS: Mapping[str, Backend] = MappingProxyType({"sqlite": SQLite(), "postgresql": PostgreSQL()})


def open_engine(url: str, *, must_exist: bool = False, busy_seconds: float = BUSY_SECONDS) -> Engine:
    """Return an engine for the database at a SQLAlchemy URL; nothing is connected or created yet.

    Others' locks are waited for `busy_seconds` each. Raises StoreError for a malformed URL, a kind of database that
    is not supported, a driver that is not installed, a folder that does not exist and, where it `must_exist`, a
    file that does not; a server is first asked when its engine connects.
    """
    parsed = _parse(url)
    return _backend(parsed).open(parsed, must_exist=must_exist, busy_seconds=busy_seconds)


@contextmanager
def opened(url: str, *, must_exist: bool = False) -> Iterator[Engine]:
    """Give an engine as `open_engine` does, and close its connections at the end."""
    engine = open_engine(url, must_exist=must_exist)
    try:
        yield engine
    finally:
        engine.dispose()


def location(url: str) -> str:
    """Return where a database is, fit for a log: a file's absolute path, otherwise the URL without password."""
    parsed = _parse(url)
    return _backend(parsed).location(parsed)


def place(engine: Engine) -> str:
    """Return where an engine's database is, as `location` does."""
    return backend(engine).location(engine.url)


def backend(engine: Engine) -> Backend:
    """Return the kind of an engine's database."""
    return BACKENDS[engine.dialect.name]


def size_bytes(url: str) -> int:
    """Return how large a database is on disk, its log included."""
    with opened(url) as engine, _explained(engine):
        return backend(engine).size_bytes(engine)


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Give a connection in a transaction that sees one state of the database and waits for no writer."""
    with _explained(engine), engine.connect() as connection:
        connection.execution_options(**backend(engine).reading)
        with connection.begin():
            yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Give a connection in a transaction that is committed at the end, or rolled back whole by an exception.

    Raises StoreError where the database is full, read-only, damaged or locked for too long, and its subclass
    StoreUnavailableError where the same may succeed later.
    """
    with _explained(engine), engine.connect() as connection:
        connection.execution_options(**backend(engine).writing)
        with connection.begin():
            yield connection


@contextmanager
def erasing(engine: Engine) -> Iterator[Connection]:
    """Give a connection as `writing` does, and get rid at the end of what deleted rows leave behind."""
    with writing(engine) as connection:
        yield connection
    with _explained(engine):
        backend(engine).scrub(engine)


@contextmanager
def _explained(engine: Engine) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        found = backend(engine).diagnose(error)
        if found is None:
            raise
        kind = StoreUnavailableError if found.passing else StoreError
        advice = found.advice.format(name=engine.url.database)
        said = mask_text(" ".join(str(error.orig).split()))
        raise kind(f"the database {place(engine)} {advice} ({said})") from error


def _backend(url: URL) -> Backend:
    found = BACKENDS.get(url.get_backend_name())
    if found is None:
        examples = " and ".join(each.example for each in BACKENDS.values())
        shown = masked(url.render_as_string(hide_password=False))
        raise StoreError(f"DATABASE_URL is {shown}; supported are {examples}")
    return found


def _parse(url: str) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError):
        # Not chained: the original message may quote a password.
        raise StoreError(
            f"DATABASE_URL is {masked(url)!r}; it takes a SQLAlchemy URL, for example sqlite:///blocks.db"
        ) from None

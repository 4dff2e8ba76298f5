"""The schema's revisions: create, upgrade, check. Built on Alembic, without its ini file."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import inspect, text

from crawler.errors import StoreError
from crawler.storage import lineage, triggers
from crawler.storage.engine import place, reading, writing
from crawler.storage.locks import lock_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alembic.config import Config as AlembicConfig
    from sqlalchemy.engine import Connection, Engine

# The migrations, oldest first; a test compares them with the folder.
REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006")
HEAD = REVISIONS[-1]
_VERSION_TABLE = "alembic_version"


def prepare(engine: Engine) -> bool:
    """Create the tables if the database is empty, and tell whether it was.

    Raises StoreError if it is of another schema than ours.
    """
    with reading(engine) as connection:
        empty = not _tables(connection) and current(connection) is None
    if empty:
        upgrade(engine)
    check(engine)
    return empty


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the database up to a revision, from whichever it has, in one transaction.

    Raises StoreError where its revision is unknown to this version, or it holds tables of something else.
    """
    from alembic import command  # noqa: PLC0415 — takes 0.4 s, and most commands need no more than `check`

    with writing(engine) as connection:
        lock_all(connection)  # eight crawls that start on an empty database make its tables once
        _refuse_unknown(connection)
        with migrating(connection):
            command.upgrade(_alembic(connection), revision)
        if current(connection) == HEAD:
            lineage.settle(connection)


def downgrade(engine: Engine, revision: str) -> None:
    """Take the database back to an earlier revision (`base`: without tables), losing what that cannot hold."""
    from alembic import command  # noqa: PLC0415 — as above

    with writing(engine) as connection:
        lock_all(connection)
        with migrating(connection):
            command.downgrade(_alembic(connection), revision)


@contextmanager
def migrating(connection: Connection) -> Iterator[None]:
    """Give way to migrations: the triggers are dropped before them, and made after them as they are to be."""
    triggers.drop(connection)
    yield
    if current(connection) == HEAD:
        triggers.make(connection)


def check(engine: Engine) -> None:
    """Raise StoreError if the database's schema is not the one of this version, saying which each is."""
    with reading(engine) as connection:
        _refuse_unknown(connection)
        revision = current(connection)
    if revision != HEAD:
        raise StoreError(
            f"the database {place(engine)} has schema {revision or 'none'}, this version of Blocksieve "
            f"needs {HEAD}; `scrapy upgrade` brings it there (back it up first)"
        )


def current(connection: Connection) -> str | None:
    """Return the revision of a database; None for one without tables of ours."""
    if not inspect(connection).has_table(_VERSION_TABLE):
        return None
    revision = connection.execute(text(f"SELECT version_num FROM {_VERSION_TABLE}")).scalar()  # noqa: S608 — ours
    return None if revision is None else str(revision)


def _refuse_unknown(connection: Connection) -> None:
    revision = current(connection)
    where = place(connection.engine)
    if revision is None and _tables(connection):
        raise StoreError(
            f"the database {where} holds tables but no schema revision, so it is not Blocksieve's; "
            "point DATABASE_URL at another one"
        )
    if revision is not None and revision not in REVISIONS:
        raise StoreError(
            f"the database {where} has schema {revision}, which this version of Blocksieve (schema {HEAD}) does "
            "not know; install the newer version that wrote it, or point DATABASE_URL at another one"
        )


def _tables(connection: Connection) -> list[str]:
    # Alembic's own stays, without a row, when a database is downgraded to the very base.
    return [name for name in inspect(connection).get_table_names() if name != _VERSION_TABLE]


def _alembic(connection: Connection) -> AlembicConfig:
    from alembic.config import Config as AlembicConfig  # noqa: PLC0415 — as above

    config = AlembicConfig()
    config.set_main_option("script_location", "crawler:storage/migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    # Its news are for those who run migrations by hand: "Will assume non-transactional DDL."
    logging.getLogger("alembic.runtime.migration").setLevel(logging.WARNING)
    return config

"""The schema's revisions: create, upgrade, check. Built on Alembic, without its ini file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config as AlembicConfig
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from crawler.errors import StoreError
from crawler.storage.engine import reading, writing

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine


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
    with writing(engine) as connection:
        _refuse_unknown(connection)
        command.upgrade(_alembic(connection), revision)


def downgrade(engine: Engine, revision: str) -> None:
    """Take the database back to an earlier revision (`base`: without tables), losing what that cannot hold."""
    with writing(engine) as connection:
        command.downgrade(_alembic(connection), revision)


def check(engine: Engine) -> None:
    """Raise StoreError if the database's schema is not the one of this version, saying which each is."""
    with reading(engine) as connection:
        _refuse_unknown(connection)
        revision = current(connection)
    if revision != head():
        raise StoreError(
            f"the database {engine.url.database} has schema {revision or 'none'}, this version of Blocksieve "
            f"needs {head()}; `scrapy upgrade` brings it there (copy the file first)"
        )


def current(connection: Connection) -> str | None:
    """Return the revision of a database; None for one without tables of ours."""
    return MigrationContext.configure(connection).get_current_revision()


def head() -> str:
    """Return the revision that this version of Blocksieve needs."""
    return str(_scripts().get_current_head())


def _refuse_unknown(connection: Connection) -> None:
    revision = current(connection)
    place = connection.engine.url.database
    if revision is None and _tables(connection):
        raise StoreError(
            f"the database {place} holds tables but no schema revision, so it is not Blocksieve's; "
            "point DATABASE_URL at another file"
        )
    known = {script.revision for script in _scripts().walk_revisions()}
    if revision is not None and revision not in known:
        raise StoreError(
            f"the database {place} has schema {revision}, which this version of Blocksieve (schema {head()}) does "
            "not know; install the newer version that wrote it, or point DATABASE_URL at another file"
        )


def _tables(connection: Connection) -> list[str]:
    # Alembic's own stays, without a row, when a database is downgraded to the very base.
    return [name for name in inspect(connection).get_table_names() if name != "alembic_version"]


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_alembic(None))


def _alembic(connection: Connection | None) -> AlembicConfig:
    config = AlembicConfig()
    config.set_main_option("script_location", "crawler:storage/migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config

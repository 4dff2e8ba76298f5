"""The schema of a database: created, upgraded by Alembic, checked; and the triggers that keep search in step.

A new database is created from `tables.py`, with the newest revision. Migrations only change databases that exist.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, inspect, select, text
from sqlalchemy.schema import CreateIndex, CreateTable

from crawler.errors import StoreError
from crawler.storage.database import (
    location_of,
    opened_engine,
    read_transaction,
    settle_database_id,
    write_transaction,
)
from crawler.storage.locks import lock_all
from crawler.storage.tables import (
    TOKENS_INDEX,
    VIEWS,
    database_setting,
    exists_on,
    metadata,
    page,
    search_total,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sqlalchemy.engine import Connection, Engine

_VERSION_TABLE = "alembic_version"


@dataclass(frozen=True, slots=True)
class Migrations:
    """A folder of migrations, as Alembic names it. The name of each file in it begins with its revision."""

    location: str = "crawler:storage/migrations"

    @property
    def revisions(self) -> tuple[str, ...]:
        """The revisions, oldest first."""
        package, _, path = self.location.rpartition(":")
        folder = files(package).joinpath(path) if package else Path(path)
        names = (file.name for file in folder.joinpath("versions").iterdir())
        return tuple(sorted(name.partition("_")[0] for name in names if name[:1].isdigit() and name.endswith(".py")))

    @property
    def head(self) -> str:
        """The newest revision."""
        return self.revisions[-1]


MIGRATIONS = Migrations()


def prepare_schema(engine: Engine) -> bool:
    """Create the tables if the database is empty, and return True if it was.

    Raises StoreError if the database has another schema.
    """
    with read_transaction(engine) as connection:
        empty = _is_empty(connection)
    if empty:
        upgrade_schema(engine)
    check_schema(engine)
    return empty


def upgrade_schema(
    engine: Engine, migrations: Migrations = MIGRATIONS, report: Callable[[str], None] = lambda _: None
) -> bool:
    """Bring the database to the newest revision, in one transaction; create the tables if it is empty.

    Return True if the database got a new id: it is new, or was restored from a dump.
    `report` gets lines about the progress of a long step. Raises StoreError if this version does not know the
    database's revision, or the tables are not Blocksieve's.
    """
    with write_transaction(engine) as connection:
        lock_all(connection)  # eight crawls that start on an empty database create its tables once
        _refuse_unknown(connection, migrations)
        if _is_empty(connection):
            _create_schema(connection, migrations.head)
        else:
            with _without_triggers(connection), _renewing_views(connection):
                _migrate(connection, migrations, report)
        return settle_database_id(connection)


def check_schema(engine: Engine, migrations: Migrations = MIGRATIONS) -> None:
    """Raise StoreError if the database's schema is not that of this version; the message names both."""
    with read_transaction(engine) as connection:
        _refuse_unknown(connection, migrations)
        revision = current_revision(connection)
        empty = _is_empty(connection)
    if empty:
        raise StoreError(f"the database {location_of(engine)} is empty; `scrapy initdb` creates its tables")
    if revision != migrations.head:
        raise StoreError(
            f"the database {location_of(engine)} has schema {revision or 'none'}, this version of Blocksieve "
            f"needs {migrations.head}; `scrapy upgrade` brings it there (back it up first)"
        )


def check_fingerprint_scheme(engine: Engine, scheme: str) -> None:
    """Raise StoreError if a stored page has fingerprints of another scheme, which cannot be compared with ours."""
    with read_transaction(engine) as connection:
        # Two look-ups at the ends of an index, whatever the number of pages.
        schemes = {connection.scalar(select(end(page.c.scheme))) for end in (func.min, func.max)}
    if others := schemes - {None, scheme}:
        raise StoreError(
            f"the database {location_of(engine)} holds fingerprints of scheme {others.pop()!r}, this version of "
            f"Blocksieve with this FINGERPRINT_WEIGHTING makes {scheme!r}, and the two cannot be compared; restore the "
            "setting, renew all fingerprints with `scrapy dedup --refingerprint`, or use another DATABASE_URL"
        )


def read_settings(url: str) -> dict[str, Any]:
    """Return the settings that a database keeps for all its pages; {} for one that cannot be read yet."""
    try:
        with opened_engine(url, must_exist=True) as engine:
            check_schema(engine)
            with read_transaction(engine) as connection:
                return _kept_settings(connection)
    except StoreError:
        return {}  # the store will say what is wrong, unless it creates the database


def keep_settings(engine: Engine, values: Mapping[str, Any]) -> str | None:
    """Store the values of the settings that all pages of a database share.

    Return a sentence with the earlier values of the changed settings; None if nothing changes.
    """
    with read_transaction(engine) as connection:
        if _kept_settings(connection) == values:
            return None
    with write_transaction(engine) as connection:
        lock_all(connection)
        before = _kept_settings(connection)
        connection.execute(delete(database_setting).where(database_setting.c.name.in_(list(values))))
        rows = [{"name": name, "value": value} for name, value in values.items()]
        connection.execute(insert(database_setting), rows)
    changes = [name for name in values if before.get(name, values[name]) != values[name]]
    if not changes:
        return None
    return (
        f"the database {location_of(engine)} had {_listed_settings(before, changes)}; this command changes it to "
        f"{_listed_settings(values, changes)}, which later commands use too unless they name another value"
    )


def _kept_settings(connection: Connection) -> dict[str, Any]:
    rows = connection.execute(select(database_setting.c.name, database_setting.c.value))
    return {row.name: row.value for row in rows}


def _listed_settings(values: Mapping[str, Any], names: Sequence[str]) -> str:
    return " ".join(f"{name}={values[name]}" for name in names)


def current_revision(connection: Connection) -> str | None:
    """Return the schema revision of a database; None if it has no tables of Blocksieve."""
    if not inspect(connection).has_table(_VERSION_TABLE):
        return None
    revision = connection.execute(text(f"SELECT version_num FROM {_VERSION_TABLE}")).scalar()  # noqa: S608 — ours
    return None if revision is None else str(revision)


@contextmanager
def _without_triggers(connection: Connection) -> Iterator[None]:
    """Drop the triggers for a migration, and create them again after it.

    A migration that copies a table, as Alembic does on SQLite, loses the table's triggers silently.
    """
    _drop_triggers(connection)
    yield
    _create_triggers(connection)


@contextmanager
def _renewing_views(connection: Connection) -> Iterator[None]:
    """Create the views anew after a migration, with the columns that it has added.

    SQLite drops them before it, because it copies no table that a view reads. PostgreSQL replaces a view if the columns
    that it had stay first, so the views that users have made of it stay too.
    """
    is_sqlite = connection.dialect.name == "sqlite"
    for name in VIEWS if is_sqlite else ():
        connection.execute(text(f"DROP VIEW IF EXISTS {name}"))
    yield
    create = "CREATE VIEW" if is_sqlite else "CREATE OR REPLACE VIEW"
    for name, query in VIEWS.items():
        connection.execute(text(f"{create} {name} AS {query}"))


def _is_empty(connection: Connection) -> bool:
    return current_revision(connection) is None and not _table_names(connection)


def _table_names(connection: Connection) -> list[str]:
    return [name for name in inspect(connection).get_table_names() if name != _VERSION_TABLE]


def _refuse_unknown(connection: Connection, migrations: Migrations) -> None:
    revision = current_revision(connection)
    where = location_of(connection.engine)
    if revision is None and _table_names(connection):
        raise StoreError(
            f"the database {where} holds tables but no schema revision, so it is not Blocksieve's; "
            "point DATABASE_URL at another one, or BLOCKSIEVE_DATABASE_URL if DATABASE_URL is the project's own"
        )
    if revision is not None and revision not in migrations.revisions:
        raise StoreError(
            f"the database {where} has schema {revision}, which this version of Blocksieve (schema {migrations.head}) "
            "does not know; install the newer version that wrote it, or point DATABASE_URL at another one"
        )


def _create_schema(connection: Connection, revision: str) -> None:
    """Create all that `tables.py` declares for this kind of database, and record the revision."""
    dialect = connection.dialect.name
    for table in metadata.sorted_tables:
        if exists_on(table, dialect):
            statement = CreateTable(table)
            statement.columns = [column for column in statement.columns if exists_on(column.element, dialect)]
            connection.execute(statement)
            for index in table.indexes:
                if exists_on(index, dialect):
                    connection.execute(CreateIndex(index))
    for name, query in VIEWS.items():
        connection.execute(text(f"CREATE VIEW {name} AS {query}"))
    if dialect == "sqlite":
        connection.execute(text(_CREATE_TOKENS_INDEX))
    else:
        # HTML and nodes are compressed already, so the server need not try.
        connection.execute(text("ALTER TABLE page ALTER COLUMN html SET STORAGE EXTERNAL"))
        connection.execute(text("ALTER TABLE page_structure ALTER COLUMN nodes SET STORAGE EXTERNAL"))
        connection.execute(insert(search_total), {"blocks": 0, "length": 0})
    _create_triggers(connection)
    connection.execute(text(_CREATE_VERSION_TABLE))
    connection.execute(text(f"INSERT INTO {_VERSION_TABLE} VALUES (:revision)"), {"revision": revision})  # noqa: S608 — ours


# As Alembic creates it.
_CREATE_VERSION_TABLE = f"""
CREATE TABLE IF NOT EXISTS {_VERSION_TABLE} (
    version_num VARCHAR(32) NOT NULL, CONSTRAINT {_VERSION_TABLE}_pkc PRIMARY KEY (version_num)
)
"""
# The words are whole and case-folded already: every character that is not ASCII counts as a letter.
_CREATE_TOKENS_INDEX = f"""
CREATE VIRTUAL TABLE {TOKENS_INDEX} USING fts5(
    tokens, content='block_tokens', content_rowid='block_id', tokenize="ascii tokenchars '_'"
)
"""


def _migrate(connection: Connection, migrations: Migrations, report: Callable[[str], None]) -> None:
    from alembic import command  # noqa: PLC0415 — takes 0.4 s, and only `scrapy upgrade` needs it
    from alembic.config import Config as AlembicConfig  # noqa: PLC0415 — as above

    config = AlembicConfig()
    config.set_main_option("script_location", migrations.location)
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["report"] = report
    # Its messages are for people who run migrations by hand: "Will assume non-transactional DDL."
    logging.getLogger("alembic.runtime.migration").setLevel(logging.WARNING)
    command.upgrade(config, "head")


_REMOVE_TOKENS = (
    f"INSERT INTO {TOKENS_INDEX} ({TOKENS_INDEX}, rowid, tokens) VALUES ('delete', old.block_id, old.tokens);"  # noqa: S608 — of constants
)
_ADD_TOKENS = f"INSERT INTO {TOKENS_INDEX} (rowid, tokens) VALUES (new.block_id, new.tokens);"  # noqa: S608 — as above

_SQLITE_TRIGGERS = (
    f"CREATE TRIGGER search_added AFTER INSERT ON block_tokens BEGIN {_ADD_TOKENS} END",
    f"CREATE TRIGGER search_removed AFTER DELETE ON block_tokens BEGIN {_REMOVE_TOKENS} END",
    f"""
    CREATE TRIGGER search_changed AFTER UPDATE OF block_id, tokens ON block_tokens BEGIN
        {_REMOVE_TOKENS} {_ADD_TOKENS}
    END
    """,
    """
    CREATE TRIGGER search_block_removed AFTER DELETE ON block BEGIN
        DELETE FROM block_tokens WHERE block_id = old.id;
    END
    """,
    """
    CREATE TRIGGER search_block_changed AFTER UPDATE OF priority ON block WHEN old.priority <> new.priority BEGIN
        UPDATE block_tokens SET priority = new.priority WHERE block_id = new.id;
    END
    """,
    """
    CREATE TRIGGER search_page_removed AFTER DELETE ON page BEGIN
        DELETE FROM block_tokens WHERE block_id = -old.id;
    END
    """,
)
_COUNT_FUNCTION = """
CREATE FUNCTION search_{name}() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE more RECORD;
BEGIN
    SELECT {sign}count(*) AS blocks, {sign}coalesce(sum(rows.length), 0) AS length INTO more FROM rows;
    -- Writers do not wait for each other: each takes a row that no other transaction has locked.
    UPDATE search_total SET blocks = blocks + more.blocks, length = search_total.length + more.length
    WHERE id = (SELECT id FROM search_total ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED);
    IF NOT FOUND THEN
        INSERT INTO search_total (blocks, length) VALUES (more.blocks, more.length);
    END IF;
    RETURN NULL;
END $$
"""
_POSTGRESQL_TRIGGERS = (
    _COUNT_FUNCTION.format(name="added", sign="+"),
    _COUNT_FUNCTION.format(name="removed", sign="-"),
    """
    CREATE FUNCTION search_block_removed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM block_tokens WHERE block_id IN (SELECT id FROM rows);
        RETURN NULL;
    END $$
    """,
    """
    CREATE FUNCTION search_block_changed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE block_tokens SET priority = NEW.priority WHERE block_id = NEW.id;
        RETURN NULL;
    END $$
    """,
    """
    CREATE FUNCTION search_page_removed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM block_tokens WHERE block_id IN (SELECT -id FROM rows);
        RETURN NULL;
    END $$
    """,
    """
    CREATE TRIGGER search_added AFTER INSERT ON block_tokens REFERENCING NEW TABLE AS rows
    FOR EACH STATEMENT EXECUTE FUNCTION search_added()
    """,
    """
    CREATE TRIGGER search_removed AFTER DELETE ON block_tokens REFERENCING OLD TABLE AS rows
    FOR EACH STATEMENT EXECUTE FUNCTION search_removed()
    """,
    """
    CREATE TRIGGER search_block_removed AFTER DELETE ON block REFERENCING OLD TABLE AS rows
    FOR EACH STATEMENT EXECUTE FUNCTION search_block_removed()
    """,
    """
    CREATE TRIGGER search_block_changed AFTER UPDATE OF priority ON block
    FOR EACH ROW WHEN (OLD.priority <> NEW.priority) EXECUTE FUNCTION search_block_changed()
    """,
    """
    CREATE TRIGGER search_page_removed AFTER DELETE ON page REFERENCING OLD TABLE AS rows
    FOR EACH STATEMENT EXECUTE FUNCTION search_page_removed()
    """,
)
_TRIGGERS: Mapping[str, Sequence[str]] = MappingProxyType(
    {"sqlite": _SQLITE_TRIGGERS, "postgresql": _POSTGRESQL_TRIGGERS}
)
_TRIGGER_NAMES = (
    "search_added",
    "search_removed",
    "search_changed",
    "search_block_removed",
    "search_block_changed",
    "search_page_removed",
)


def _create_triggers(connection: Connection) -> None:
    for statement in _TRIGGERS[connection.dialect.name]:
        connection.execute(text(statement))


def _drop_triggers(connection: Connection) -> None:
    for name in _TRIGGER_NAMES:
        if connection.dialect.name == "sqlite":
            connection.execute(text(f"DROP TRIGGER IF EXISTS {name}"))
        else:
            connection.execute(text(f"DROP FUNCTION IF EXISTS {name}() CASCADE"))

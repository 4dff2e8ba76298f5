"""The schema: created, upgraded, checked."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING

from sqlalchemy import func, inspect, select, text

from crawler.errors import StoreError
from crawler.storage import database
from crawler.storage.database import location_of, read_transaction, write_transaction
from crawler.storage.locks import lock_all
from crawler.storage.tables import TOKENS_INDEX, page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alembic.config import Config as AlembicConfig
    from sqlalchemy.engine import Connection, Engine


_REMOVE_TOKENS = (
    f"INSERT INTO {TOKENS_INDEX} ({TOKENS_INDEX}, rowid, tokens) VALUES ('delete', old.block_id, old.tokens);"  # noqa: S608 — of constants
)
_ADD_TOKENS = f"INSERT INTO {TOKENS_INDEX} (rowid, tokens) VALUES (new.block_id, new.tokens);"  # noqa: S608 — as above

_SQLITE_TRIGGERS = (
    f"CREATE TRIGGER search_added AFTER INSERT ON block_tokens BEGIN {_ADD_TOKENS} END",
    f"CREATE TRIGGER search_removed AFTER DELETE ON block_tokens BEGIN {_REMOVE_TOKENS} END",
    (
        "CREATE TRIGGER search_changed AFTER UPDATE OF block_id, tokens ON block_tokens "
        f"BEGIN {_REMOVE_TOKENS} {_ADD_TOKENS} END"
    ),
    """
    CREATE TRIGGER search_block_removed AFTER DELETE ON block BEGIN
        DELETE FROM block_tokens WHERE block_id = old.id;
    END
    """,
    """
    CREATE TRIGGER search_block_changed AFTER UPDATE OF words, priority ON block
    WHEN old.words <> new.words OR old.priority <> new.priority BEGIN
        UPDATE block_tokens SET words = new.words, priority = new.priority WHERE block_id = new.id;
    END
    """,
)
_COUNT_FUNCTION = """
CREATE FUNCTION search_{name}() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE more RECORD;
BEGIN
    SELECT {sign}count(*) AS blocks, {sign}coalesce(sum(rows.length), 0) AS length INTO more FROM rows;
    -- No writer waits for another: each takes a row of its own, for which it is free.
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
        UPDATE block_tokens SET words = NEW.words, priority = NEW.priority WHERE block_id = NEW.id;
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
    CREATE TRIGGER search_block_changed AFTER UPDATE OF words, priority ON block
    FOR EACH ROW WHEN (OLD.words <> NEW.words OR OLD.priority <> NEW.priority)
    EXECUTE FUNCTION search_block_changed()
    """,
)
_TRIGGERS: Mapping[str, Sequence[str]] = MappingProxyType(
    {"sqlite": _SQLITE_TRIGGERS, "postgresql": _POSTGRESQL_TRIGGERS}
)
_TRIGGER_NAMES = ("search_added", "search_removed", "search_changed", "search_block_removed", "search_block_changed")


def create_triggers(connection: Connection) -> None:
    """Make all triggers, on a database of the present schema that has none."""
    for statement in _TRIGGERS[connection.dialect.name]:
        connection.execute(text(statement))


def drop_triggers(connection: Connection) -> None:
    """Drop the triggers that there are."""
    for name in _TRIGGER_NAMES:
        if connection.dialect.name == "sqlite":
            connection.execute(text(f"DROP TRIGGER IF EXISTS {name}"))
        else:
            connection.execute(text(f"DROP FUNCTION IF EXISTS {name}() CASCADE"))


def optimize_search_index(connection: Connection) -> None:
    """Get the words of removed blocks out of SQLite's index, which otherwise only marks them as removed."""
    if connection.dialect.name == "sqlite":
        connection.execute(text(f"INSERT INTO {TOKENS_INDEX} ({TOKENS_INDEX}) VALUES ('optimize')"))  # noqa: S608 — as above


def check_fingerprint_scheme(engine: Engine, scheme: str) -> None:
    """Raise StoreError if the database holds a page whose fingerprints are of another scheme."""
    with read_transaction(engine) as connection:
        # Two look-ups at the ends of an index, whatever the number of pages.
        schemes = {connection.scalar(select(end(page.c.scheme))) for end in (func.min, func.max)}
    if others := schemes - {None, scheme}:
        raise StoreError(
            f"the database {location_of(engine)} holds fingerprints of scheme {others.pop()!r}, this version of "
            f"Blocksieve with this FINGERPRINT_WEIGHTING makes {scheme!r}, and the two cannot be compared; set it "
            "as it was, make all of them anew with `scrapy dedup --refingerprint`, or use another DATABASE_URL"
        )


# The migrations, oldest first; a test compares them with the folder.
REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006")
HEAD = REVISIONS[-1]
_VERSION_TABLE = "alembic_version"


def prepare_schema(engine: Engine) -> bool:
    """Create the tables if the database is empty, and tell whether it was.

    Raises StoreError if it is of another schema than ours.
    """
    with read_transaction(engine) as connection:
        empty = not _table_names(connection) and current_revision(connection) is None
    if empty:
        upgrade_schema(engine)
    check_schema(engine)
    return empty


def upgrade_schema(engine: Engine, revision: str = "head") -> None:
    """Bring the database up to a revision, from whichever it has, in one transaction.

    Raises StoreError where its revision is unknown to this version, or it holds tables of something else.
    """
    from alembic import command  # noqa: PLC0415 — takes 0.4 s, and most commands need no more than `check`

    with write_transaction(engine) as connection:
        lock_all(connection)  # eight crawls that start on an empty database make its tables once
        _refuse_unknown(connection)
        with migrating(connection):
            command.upgrade(_alembic_config(connection), revision)
        if current_revision(connection) == HEAD:
            database.settle_database_id(connection)


def downgrade_schema(engine: Engine, revision: str) -> None:
    """Take the database back to an earlier revision (`base`: without tables), losing what that cannot hold."""
    from alembic import command  # noqa: PLC0415 — as above

    with write_transaction(engine) as connection:
        lock_all(connection)
        with migrating(connection):
            command.downgrade(_alembic_config(connection), revision)


@contextmanager
def migrating(connection: Connection) -> Iterator[None]:
    """Give way to migrations: the triggers are dropped before them, and made after them as they are to be."""
    drop_triggers(connection)
    yield
    if current_revision(connection) == HEAD:
        create_triggers(connection)


def check_schema(engine: Engine) -> None:
    """Raise StoreError if the database's schema is not the one of this version, saying which each is."""
    with read_transaction(engine) as connection:
        _refuse_unknown(connection)
        revision = current_revision(connection)
    if revision != HEAD:
        raise StoreError(
            f"the database {location_of(engine)} has schema {revision or 'none'}, this version of Blocksieve "
            f"needs {HEAD}; `scrapy upgrade` brings it there (back it up first)"
        )


def current_revision(connection: Connection) -> str | None:
    """Return the revision of a database; None for one without tables of ours."""
    if not inspect(connection).has_table(_VERSION_TABLE):
        return None
    revision = connection.execute(text(f"SELECT version_num FROM {_VERSION_TABLE}")).scalar()  # noqa: S608 — ours
    return None if revision is None else str(revision)


def _refuse_unknown(connection: Connection) -> None:
    revision = current_revision(connection)
    where = location_of(connection.engine)
    if revision is None and _table_names(connection):
        raise StoreError(
            f"the database {where} holds tables but no schema revision, so it is not Blocksieve's; "
            "point DATABASE_URL at another one"
        )
    if revision is not None and revision not in REVISIONS:
        raise StoreError(
            f"the database {where} has schema {revision}, which this version of Blocksieve (schema {HEAD}) does "
            "not know; install the newer version that wrote it, or point DATABASE_URL at another one"
        )


def _table_names(connection: Connection) -> list[str]:
    # Alembic's own stays, without a row, when a database is downgraded to the very base.
    return [name for name in inspect(connection).get_table_names() if name != _VERSION_TABLE]


def _alembic_config(connection: Connection) -> AlembicConfig:
    from alembic.config import Config as AlembicConfig  # noqa: PLC0415 — as above

    config = AlembicConfig()
    config.set_main_option("script_location", "crawler:storage/migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    # Its news are for those who run migrations by hand: "Will assume non-transactional DDL."
    logging.getLogger("alembic.runtime.migration").setLevel(logging.WARNING)
    return config

"""The triggers that keep search in step with the blocks, on both kinds of database.

They are no part of the migrations: a migration that makes a table anew, as Alembic does on SQLite, loses its
triggers without a word. So all are dropped before migrations run and made after them.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from sqlalchemy import text

from crawler.storage.models import TOKENS_INDEX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy.engine import Connection

_FORGET = f"INSERT INTO {TOKENS_INDEX} ({TOKENS_INDEX}, rowid, tokens) VALUES ('delete', old.block_id, old.tokens);"  # noqa: S608 — of constants
_LEARN = f"INSERT INTO {TOKENS_INDEX} (rowid, tokens) VALUES (new.block_id, new.tokens);"  # noqa: S608 — as above

_SQLITE = (
    f"CREATE TRIGGER search_added AFTER INSERT ON block_tokens BEGIN {_LEARN} END",
    f"CREATE TRIGGER search_removed AFTER DELETE ON block_tokens BEGIN {_FORGET} END",
    f"CREATE TRIGGER search_changed AFTER UPDATE OF block_id, tokens ON block_tokens BEGIN {_FORGET} {_LEARN} END",
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
_COUNT = """
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
_POSTGRESQL = (
    _COUNT.format(name="added", sign="+"),
    _COUNT.format(name="removed", sign="-"),
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
_MAKE: Mapping[str, Sequence[str]] = MappingProxyType({"sqlite": _SQLITE, "postgresql": _POSTGRESQL})
_NAMES = ("search_added", "search_removed", "search_changed", "search_block_removed", "search_block_changed")


def make(connection: Connection) -> None:
    """Make all triggers, on a database of the present schema that has none."""
    for statement in _MAKE[connection.dialect.name]:
        connection.execute(text(statement))


def drop(connection: Connection) -> None:
    """Drop the triggers that there are."""
    for name in _NAMES:
        if connection.dialect.name == "sqlite":
            connection.execute(text(f"DROP TRIGGER IF EXISTS {name}"))
        else:
            connection.execute(text(f"DROP FUNCTION IF EXISTS {name}() CASCADE"))


def tidy(connection: Connection) -> None:
    """Get the words of removed blocks out of SQLite's index, which otherwise only marks them as removed."""
    if connection.dialect.name == "sqlite":
        connection.execute(text(f"INSERT INTO {TOKENS_INDEX} ({TOKENS_INDEX}) VALUES ('optimize')"))  # noqa: S608 — as above

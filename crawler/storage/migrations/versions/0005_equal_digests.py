"""Digests of texts without terms, and the index on the low half of fingerprints on PostgreSQL.

Until now all texts without terms had one digest, and none was a duplicate of another. On PostgreSQL, the index on the
low half of a fingerprint also serves that half's upper 16 bits, which had an index of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from alembic import op
from sqlalchemy import text

from cleaning.fingerprint import digest_terms, text_digest
from crawler.storage.tables import signed

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_ROWS_PER_READ = 10_000
_BLOCKS = "SELECT id, text FROM block WHERE digest = :digest AND id > :after ORDER BY id LIMIT :limit"


def upgrade() -> None:
    """Give the blocks without terms digests of their own, and replace the index."""
    connection = op.get_bind()
    _give_digests(connection)
    if connection.dialect.name == "postgresql":
        for table, owner in (("fingerprint", "block_id"), ("page_fingerprint", "page_id")):
            connection.execute(text(f"DROP INDEX IF EXISTS ix_{table}_band_1"))
            columns = f"((fingerprint & 4294967295)) INCLUDE (fingerprint, {owner})"
            connection.execute(text(f"CREATE INDEX ix_{table}_low_half ON {table} {columns}"))


def _give_digests(connection: Connection) -> None:
    after = 0
    bounds = {"digest": signed(digest_terms(())), "limit": _ROWS_PER_READ}
    while rows := connection.execute(text(_BLOCKS), bounds | {"after": after}).all():
        values = [{"row": row.id, "digest": signed(text_digest(row.text, ()))} for row in rows]
        connection.execute(text("UPDATE block SET digest = :digest WHERE id = :row"), values)
        after = rows[-1].id

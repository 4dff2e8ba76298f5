"""Search: the words of each block and the full-text index over them.

The triggers that keep them in step are made after all migrations (crawler/storage/schema.py).
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from crawler.storage.blocks import SearchableBlock, tokens_row

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_AT_ONCE = 5_000
_BLOCKS = sa.text("SELECT id, text, words, priority FROM block WHERE id > :last ORDER BY id LIMIT :most")
_ADD = sa.text(
    "INSERT INTO block_tokens (block_id, words, priority, length, tokens) "
    "VALUES (:block_id, :words, :priority, :length, :tokens)"
)
_INDEX = "CREATE VIRTUAL TABLE block_fts USING fts5({})".format(
    # Each word is whole and case-folded: all that is not ASCII counts as a letter.
    "tokens, content='block_tokens', content_rowid='block_id', tokenize=\"ascii tokenchars '_'\""
)
_WORDS = "array_to_tsvector(string_to_array(btrim(tokens), '  '))"


def upgrade() -> None:
    op.create_table(
        "block_tokens",
        sa.Column("block_id", _id(), autoincrement=False, nullable=False),
        sa.Column("words", sa.Integer(), nullable=False),
        sa.Column("priority", sa.Float(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("block_id", name="pk_block_tokens"),
    )
    _cut_blocks()
    if op.get_context().dialect.name == "sqlite":
        op.execute(_INDEX)
        op.execute("INSERT INTO block_fts (block_fts) VALUES ('rebuild')")
    else:
        op.execute("SET LOCAL maintenance_work_mem = '256MB'")  # with the default it takes much longer
        op.create_index("ix_block_tokens_tokens", "block_tokens", [sa.text(_WORDS)], postgresql_using="gin")
        # What is not yet in the index is looked through by every search.
        op.execute("ALTER INDEX ix_block_tokens_tokens SET (gin_pending_list_limit = 512)")
        _create_total()


def downgrade() -> None:
    if op.get_context().dialect.name == "sqlite":
        op.execute("DROP TABLE block_fts")
    else:
        op.drop_table("search_total")
    op.drop_table("block_tokens")


def _id() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _cut_blocks() -> None:
    connection, last = op.get_bind(), 0
    while blocks := connection.execute(_BLOCKS, {"last": last, "most": _AT_ONCE}).all():
        connection.execute(_ADD, [tokens_row(SearchableBlock(*block)) for block in blocks])
        last = blocks[-1].id


def _create_total() -> None:
    op.create_table(
        "search_total",
        sa.Column("id", _id(), sa.Identity(), nullable=False),
        sa.Column("blocks", sa.BigInteger(), nullable=False),
        sa.Column("length", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_search_total"),
    )
    op.execute("INSERT INTO search_total (blocks, length) SELECT count(*), coalesce(sum(length), 0) FROM block_tokens")

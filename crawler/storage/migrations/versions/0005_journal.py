"""The change_log: since when blocks, sightings, pages and templates are as they are.

For exports of what has changed.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_OF_TABLES = {"block": ("changed", "added"), "sighting": ("changed",)}


def upgrade() -> None:
    for table, names in _OF_TABLES.items():
        for name in names:
            op.add_column(table, _mark(name))
    op.add_column("document_frequency", sa.Column("changed", sa.BigInteger()))
    where = sa.text("changed IS NOT NULL")
    op.create_index(
        "ix_recurrence_changed", "document_frequency", ["changed"], sqlite_where=where, postgresql_where=where
    )
    _create_journal()
    _create_removed_block()
    _create_lineage()


def downgrade() -> None:
    for table in ("database_id", "removed_block", "change_log"):
        op.drop_table(table)
    op.drop_index("ix_recurrence_changed", "document_frequency")
    op.drop_column("document_frequency", "changed")
    for table, names in _OF_TABLES.items():
        for name in reversed(names):
            op.drop_column(table, name)


def _id(name: str) -> sa.Column[int]:
    kind = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    return sa.Column(name, kind, autoincrement=False, nullable=False)


def _mark(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _create_journal() -> None:
    op.create_table(
        "change_log",
        _id("page_id"),
        _mark("added"),
        _mark("described"),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("page_id", name="pk_journal"),
    )
    op.create_index("ix_journal_changed", "change_log", ["changed"])


def _create_removed_block() -> None:
    op.create_table(
        "removed_block",
        _id("block_id"),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("block_id", name="pk_removed_block"),
    )
    op.create_index("ix_removed_block_changed", "removed_block", ["changed"])


def _create_lineage() -> None:
    op.create_table(
        "database_id",
        sa.Column("name", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
        sa.Column("server", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_lineage"),
    )

"""Add table `block_label`: the classes and clusters that mining gives to blocks."""

import sqlalchemy as sa
from alembic import op

from crawler.storage.tables import Id, Key, UtcDateTime

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "block_label",
        sa.Column("name", Key, nullable=False),
        sa.Column("block_id", Id, nullable=False),
        sa.Column("value", Key, nullable=False),
        sa.Column("score", sa.Float, nullable=False),
        sa.Column("labelled", UtcDateTime, nullable=False),
        sa.ForeignKeyConstraint(["block_id"], ["block.id"], name="fk_block_label_block_id_block", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("name", "block_id", name="pk_block_label"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_block_label_block_id", "block_label", ["block_id"])
    op.create_index("ix_block_label_value", "block_label", ["name", "value"])

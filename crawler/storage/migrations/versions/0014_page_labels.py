"""Add table `page_label`: the classes and clusters that mining gives to pages."""

import sqlalchemy as sa
from alembic import op

from crawler.storage.tables import Id, Key, UtcDateTime

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "page_label",
        sa.Column("name", Key, nullable=False),
        sa.Column("page_id", Id, nullable=False),
        sa.Column("value", Key, nullable=False),
        sa.Column("score", sa.Float, nullable=False),
        sa.Column("labelled", UtcDateTime, nullable=False),
        sa.ForeignKeyConstraint(["page_id"], ["page.id"], name="fk_page_label_page_id_page", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("name", "page_id", name="pk_page_label"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_page_label_page_id", "page_label", ["page_id"])
    op.create_index("ix_page_label_value", "page_label", ["name", "value"])

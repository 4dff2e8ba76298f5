"""Add table `empty_address`: addresses that were visited and gave no page."""

import sqlalchemy as sa
from alembic import op

from crawler.storage.tables import Key, UtcDateTime

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table, empty: later visits fill it."""
    op.create_table(
        "empty_address",
        sa.Column("url_key", Key, nullable=False),
        sa.Column("site", Key, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("visits", sa.Integer, nullable=False),
        sa.Column("last_visit", UtcDateTime, nullable=False),
        sa.PrimaryKeyConstraint("url_key", name="pk_empty_address"),
    )
    op.create_index("ix_empty_address_site", "empty_address", ["site"])

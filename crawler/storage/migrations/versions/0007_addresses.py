"""Add table `address`: other addresses that lead to a page or section."""

import sqlalchemy as sa
from alembic import op

from crawler.storage.tables import Key

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table, empty: later visits fill it."""
    op.create_table(
        "address",
        sa.Column("url_key", Key, nullable=False),
        sa.Column("leads_to", Key, nullable=False),
        sa.PrimaryKeyConstraint("url_key", name="pk_address"),
    )
    op.create_index("ix_address_leads_to", "address", ["leads_to"])

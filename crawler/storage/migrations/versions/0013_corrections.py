"""Add tables `correction` and `site_model`, and what the models of sites did in each crawl."""

import sqlalchemy as sa
from alembic import op

from crawler.storage.tables import Key, UtcDateTime

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables and columns."""
    op.create_table(
        "correction",
        sa.Column("url_key", Key, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("site", Key, nullable=False),
        sa.Column("reader", sa.Text, nullable=False),
        sa.Column("corrected", UtcDateTime, nullable=False),
        sa.Column("method", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("marks", sa.Integer, nullable=False),
        sa.Column("page", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("url_key", name="pk_correction"),
    )
    op.create_index("ix_correction_site", "correction", ["site"])
    op.create_table(
        "site_model",
        sa.Column("site", Key, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("pages", sa.Integer, nullable=False),
        sa.Column("accepted", UtcDateTime, nullable=False),
        sa.Column("reader", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("site", name="pk_site_model"),
    )
    for name in ("taught", "unlike"):
        op.add_column("site_crawl", sa.Column(name, sa.Integer, nullable=False, server_default="0"))

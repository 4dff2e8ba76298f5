"""Add table `sitemap`: which sitemaps of a long index were read, and whether all their entries were known."""

import sqlalchemy as sa
from alembic import op

from crawler.storage.tables import Key, UtcDateTime

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table, empty: later crawls fill it."""
    op.create_table(
        "sitemap",
        sa.Column("url_key", Key, nullable=False),
        sa.Column("site", Key, nullable=False),
        sa.Column("last_read", UtcDateTime, nullable=False),
        sa.Column("lastmod", sa.Text),
        sa.Column("known", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("url_key", name="pk_sitemap"),
    )
    op.create_index("ix_sitemap_site", "sitemap", ["site"])

"""The health of sites: `site_crawl` has what each crawl met on a site, and `alert` the conditions that hold."""

import sqlalchemy as sa
from alembic import op

from crawler.storage.tables import UtcDateTime

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_COUNTS = (
    "pages new changed not_modified sections revisits vanished refused failed other blocks_seen blocks_kept words"
).split()


def upgrade() -> None:
    """Add the tables; the next crawls fill them."""
    # Byte by byte, as all keys of look-ups.
    key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "site_crawl",
        sa.Column("site", key, nullable=False),
        sa.Column("crawl_id", number, nullable=False),
        sa.Column("ended", UtcDateTime, nullable=False),
        *(sa.Column(name, sa.Integer, nullable=False) for name in _COUNTS),
        sa.PrimaryKeyConstraint("site", "crawl_id", name="pk_site_crawl"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "alert",
        sa.Column("site", key, nullable=False),
        sa.Column("condition", key, nullable=False),
        sa.Column("since", UtcDateTime, nullable=False),
        sa.Column("sentence", sa.Text, nullable=False),
        sa.Column("sent", UtcDateTime),
        sa.Column("ended", UtcDateTime),
        sa.PrimaryKeyConstraint("site", "condition", name="pk_alert"),
        sqlite_with_rowid=False,
    )

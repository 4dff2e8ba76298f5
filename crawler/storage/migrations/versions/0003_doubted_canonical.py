"""Pages remember the canonical address that they state and that was not believed."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, empty for all pages: their next visits fill it."""
    # Byte by byte, as all keys of look-ups.
    key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.add_column("page", sa.Column("doubted_canonical", key))
    stated = sa.text("doubted_canonical IS NOT NULL")
    op.create_index(
        "ix_page_doubted_canonical", "page", ["doubted_canonical"], sqlite_where=stated, postgresql_where=stated
    )

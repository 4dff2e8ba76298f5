"""Add `crawl.active_until`: until then a process has promised to work at the crawl."""

import sqlalchemy as sa
from alembic import op

from crawler.storage.tables import UtcDateTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("crawl", sa.Column("active_until", UtcDateTime, nullable=True))

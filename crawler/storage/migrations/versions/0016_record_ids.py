"""Pages know the record of a WARC file that they were read from."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, empty for all pages: imports and replays fill it."""
    op.add_column("page", sa.Column("record_id", sa.Text))

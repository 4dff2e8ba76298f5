"""Pages have the access that they state: free, metered or paid."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, empty for all pages: their next visits fill it."""
    op.add_column("page", sa.Column("access", sa.Text))

"""Pages have a description, keywords and a licence."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns, empty for all pages: their next visits fill them."""
    for name in ("description", "keywords", "license"):
        op.add_column("page", sa.Column(name, sa.Text))

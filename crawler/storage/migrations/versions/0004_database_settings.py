"""The settings that a database keeps for all its pages."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table; the first command that stores pages fills it."""
    # Byte by byte, as all keys of look-ups.
    key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "database_setting",
        sa.Column("name", key, nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_database_setting"),
    )

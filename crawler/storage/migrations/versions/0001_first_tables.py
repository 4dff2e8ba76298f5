"""The first schema. It creates nothing: `crawler.storage.schema` creates new databases from `tables.py`.

Later revisions change databases that have this one.
"""

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change nothing; see above."""

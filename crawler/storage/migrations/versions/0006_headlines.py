"""Headlines and former metadata of pages; search finds titles, and folds words otherwise.

The words of all stored texts are cut anew, because those of queries are.
"""

from alembic import context, op
from sqlalchemy import Column, ForeignKey, Integer, Text

from crawler.storage.search_index import renew_search_index
from crawler.storage.tables import Id, Key, UtcDateTime

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the two tables, and write the search index anew."""
    op.create_table(
        "headline",
        Column("page_id", Id, ForeignKey("page.id"), primary_key=True, autoincrement=False, nullable=False),
        Column("headline", Text),
        Column("stated_title", Text),
        Column("version", Text),
    )
    op.create_table(
        "former_metadata",
        Column("page_id", Id, ForeignKey("page.id"), primary_key=True, autoincrement=False, nullable=False),
        Column("name", Key, primary_key=True, nullable=False),
        Column("visit", Integer, primary_key=True, autoincrement=False, nullable=False),
        Column("value", Text),
        Column("first_seen", UtcDateTime, nullable=False),
        Column("last_seen", UtcDateTime, nullable=False),
        Column("gone_at", UtcDateTime, nullable=False),
        sqlite_with_rowid=False,
    )
    renew_search_index(op.get_bind(), context.config.attributes["report"])

"""Add table `page_event`: what visits found of pages, for the view of changes.

The events of stored pages are made of their texts, former metadata and dates. Former addresses have no date: nothing is
said of earlier moves.
"""

import sqlalchemy as sa
from alembic import op

from crawler.storage.tables import Id, Key, UtcDateTime

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_NEW = "SELECT first_seen, id, site, 'new', false FROM page"
_RETIRED = "SELECT retired_at, id, site, 'retired', false FROM page WHERE retired_at IS NOT NULL"
_RENAMED = """
SELECT gone_at, page_id, site, 'changed', max(CASE WHEN name = 'author' OR name = 'published' THEN 0 ELSE 1 END) = 1
FROM former_metadata JOIN page ON page.id = page_id WHERE gone_at > page.first_seen GROUP BY gone_at, page_id, site
"""
_CHANGED = """
SELECT DISTINCT {table}.{time}, page_id, page.site, 'changed', false
FROM {table} JOIN page ON page.id = page_id WHERE {table}.{time} > page.first_seen
"""
_FORMER_EVENTS = (
    _NEW,
    _RETIRED,
    _RENAMED,
    *(_CHANGED.format(table=table, time=time) for table in ("block", "sighting") for time in ("first_seen", "gone_at")),
)


def upgrade() -> None:
    """Create the table, with the events that are known."""
    op.create_table(
        "page_event",
        sa.Column("visited", UtcDateTime, nullable=False),
        sa.Column("page_id", Id, autoincrement=False, nullable=False),
        sa.Column("site", Key, nullable=False),
        sa.Column("kind", Key, nullable=False),
        sa.Column("headline", sa.Boolean, nullable=False),
        sa.Column("moved_from", sa.Text),
        sa.PrimaryKeyConstraint("visited", "page_id", name="pk_page_event"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_page_event_page_id", "page_event", ["page_id"])
    op.create_index("ix_page_event_site", "page_event", ["site", "visited", "page_id"])
    for events in _FORMER_EVENTS:
        # WHERE lets SQLite tell ON CONFLICT from a join.
        rows = f"SELECT * FROM ({events}) AS known WHERE true ON CONFLICT DO NOTHING"  # noqa: S608 — of constants
        op.execute(f"INSERT INTO page_event (visited, page_id, site, kind, headline) {rows}")

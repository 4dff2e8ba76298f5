"""First tables: crawl, page, block, sighting, fingerprint, and the views over them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_INFORMATIVE_BLOCK = """
CREATE VIEW informative_block AS
SELECT block.id, block.page_id, page.url, page.site, page.section, page.title, page.author, page.published,
       page.language, block.position, block.kind, block.text, block.words, block.score, block.priority,
       block.first_seen, block.last_seen
FROM block JOIN page ON page.id = block.page_id
WHERE block.gone_at IS NULL
   OR EXISTS (SELECT 1 FROM sighting WHERE sighting.block_id = block.id AND sighting.gone_at IS NULL)
"""

_PAGE_TEXT = """
CREATE VIEW page_text AS
SELECT block.page_id, block.position, block.kind, block.text, block.words, block.score, block.digest,
       block.id AS block_id, NULL AS sighting_id, NULL AS distance
FROM block
WHERE block.gone_at IS NULL
UNION ALL
SELECT sighting.page_id, sighting.position, sighting.kind, coalesce(sighting.text, block.text), sighting.words,
       sighting.score, sighting.digest, sighting.block_id, sighting.id, sighting.distance
FROM sighting JOIN block ON block.id = sighting.block_id
WHERE sighting.gone_at IS NULL
"""


def upgrade() -> None:
    _create_crawl()
    _create_page()
    _create_block()
    _create_sighting()
    _create_fingerprint()
    op.execute(_INFORMATIVE_BLOCK)
    op.execute(_PAGE_TEXT)


def downgrade() -> None:
    op.execute("DROP VIEW page_text")
    op.execute("DROP VIEW informative_block")
    for table in ("fingerprint", "sighting", "block", "page", "crawl"):
        op.drop_table(table)


def _id() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _key() -> sa.types.TypeEngine[str]:
    return sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def _moment(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _content() -> list[sa.Column[object]]:
    return [
        sa.Column("page_id", _id(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("words", sa.Integer(), nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("priority", sa.Float(), nullable=False),
        sa.Column("digest", sa.BigInteger(), nullable=False),
        sa.Column("fingerprint", sa.BigInteger()),
        _moment("first_seen"),
        _moment("last_seen"),
        _moment("gone_at", nullable=True),
    ]


def _create_crawl() -> None:
    op.create_table(
        "crawl",
        sa.Column("id", _id(), sa.Identity(), nullable=False),
        sa.Column("spider", sa.Text(), nullable=False),
        sa.Column("arguments", sa.JSON(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        _moment("started"),
        _moment("finished", nullable=True),
        sa.Column("reason", sa.Text()),
        sa.Column("totals", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_crawl"),
        sqlite_autoincrement=True,
    )


def _create_page() -> None:
    op.create_table(
        "page",
        sa.Column("id", _id(), sa.Identity(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("url_key", _key(), nullable=False),
        sa.Column("site", _key(), nullable=False),
        *(sa.Column(name, sa.Text()) for name in ("section", "title", "author", "published", "language")),
        _moment("first_seen"),
        _moment("last_seen"),
        _moment("last_changed"),
        sa.Column("visits", sa.Integer(), nullable=False),
        sa.Column("changes", sa.Integer(), nullable=False),
        _moment("next_visit", nullable=True),
        sa.Column("crawl_id", _id(), nullable=False),
        sa.Column("etag", sa.Text()),
        sa.Column("last_modified", sa.Text()),
        sa.Column("body_hash", sa.BigInteger(), nullable=False),
        sa.Column("page_fingerprint", sa.BigInteger()),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("scheme", _key(), nullable=False),
        sa.Column("encoding", sa.Text()),
        sa.Column("html", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("id", name="pk_page"),
        sa.UniqueConstraint("url_key", name="uq_page_url_key"),
        sa.ForeignKeyConstraint(["crawl_id"], ["crawl.id"], name="fk_page_crawl_id_crawl"),
        sqlite_autoincrement=True,
    )
    if op.get_context().dialect.name == "postgresql":
        # Compressed already: the server need not try again.
        op.execute("ALTER TABLE page ALTER COLUMN html SET STORAGE EXTERNAL")
    op.create_index("ix_page_site", "page", ["site"])
    op.create_index("ix_page_scheme", "page", ["scheme"])


def _create_block() -> None:
    op.create_table(
        "block",
        sa.Column("id", _id(), sa.Identity(), nullable=False),
        sa.Column("site", _key(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        *_content(),
        sa.PrimaryKeyConstraint("id", name="pk_block"),
        sa.ForeignKeyConstraint(["page_id"], ["page.id"], name="fk_block_page_id_page"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_block_page_id", "block", ["page_id"])
    op.create_index("ix_block_digest_site", "block", ["digest", "site"])


def _create_sighting() -> None:
    op.create_table(
        "sighting",
        sa.Column("id", _id(), sa.Identity(), nullable=False),
        sa.Column("block_id", _id(), nullable=False),
        sa.Column("distance", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text()),
        *_content(),
        sa.PrimaryKeyConstraint("id", name="pk_sighting"),
        sa.ForeignKeyConstraint(["page_id"], ["page.id"], name="fk_sighting_page_id_page"),
        sa.ForeignKeyConstraint(["block_id"], ["block.id"], name="fk_sighting_block_id_block"),
    )
    op.create_index("ix_sighting_page_id", "sighting", ["page_id"])
    op.create_index("ix_sighting_block_id", "sighting", ["block_id"])


def _create_fingerprint() -> None:
    on_sqlite = op.get_context().dialect.name == "sqlite"
    low = [sa.Column("low", sa.BigInteger(), nullable=False)] if on_sqlite else []
    op.create_table(
        "fingerprint",
        sa.Column("fingerprint", sa.BigInteger(), nullable=False),
        sa.Column("block_id", _id(), nullable=False),
        *low,
        sa.PrimaryKeyConstraint("fingerprint", "block_id", name="pk_fingerprint"),
        sqlite_with_rowid=False,
    )
    if on_sqlite:
        op.create_index("ix_fingerprint_low", "fingerprint", ["low"])
    else:
        _index_bands()


def _index_bands() -> None:
    for band in range(3):
        op.create_index(
            f"ix_fingerprint_band_{band}",
            "fingerprint",
            [sa.text(f"((fingerprint >> {16 * band}) & 65535)")],
            postgresql_include=["fingerprint", "block_id"],
        )

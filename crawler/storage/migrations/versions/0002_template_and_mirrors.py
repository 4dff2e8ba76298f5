"""Template and mirrors: site, document_frequency, mirror, page_fingerprint, and the views without what is template.

Texts of the pages already there are counted; which of them are template is decided at their site's next page, and
which pages mirror others at their own next visit.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_NO_TERMS = -1205034819632174695  # xxh64 of nothing, signed
_IS_TEMPLATE = """
EXISTS (
    SELECT 1 FROM document_frequency
    WHERE document_frequency.site = {site} AND document_frequency.digest = {digest} AND
    document_frequency.boilerplate_since IS NOT NULL
)
"""
_BLOCK_IS_TEMPLATE = _IS_TEMPLATE.format(site="block.site", digest="block.digest")
_SIGHTING_IS_TEMPLATE = _IS_TEMPLATE.format(site="there.site", digest="sighting.digest")

_INFORMATIVE_BLOCK = """
CREATE VIEW informative_block AS
SELECT block.id, block.page_id, page.url, page.site, page.section, page.title, page.author, page.published,
       page.language, block.position, block.kind, block.text, block.words, block.score, block.priority,
       block.first_seen, block.last_seen
FROM block JOIN page ON page.id = block.page_id
WHERE (block.gone_at IS NULL {and_no_template})
   OR EXISTS (
       SELECT 1 FROM sighting {join_page} WHERE sighting.block_id = block.id AND sighting.gone_at IS NULL {and_there}
   )
"""

_PAGE_TEXT = """
CREATE VIEW page_text AS
SELECT block.page_id, block.position, block.kind, block.text, block.words, block.score, block.digest,
       block.id AS block_id, NULL AS sighting_id, NULL AS distance
FROM block
WHERE block.gone_at IS NULL {and_no_template}
UNION ALL
SELECT sighting.page_id, sighting.position, sighting.kind, coalesce(sighting.text, block.text), sighting.words,
       sighting.score, sighting.digest, sighting.block_id, sighting.id, sighting.distance
FROM sighting JOIN block ON block.id = sighting.block_id {join_page}
WHERE sighting.gone_at IS NULL {and_there}
"""

_COUNT_PAGES = "INSERT INTO site (site, pages) SELECT site, count(*) FROM page GROUP BY site"
_COUNT_TEXTS = f"""
INSERT INTO document_frequency (site, digest, pages)
SELECT site, digest, count(DISTINCT page_id)
FROM (
    SELECT block.site, block.digest, block.page_id FROM block WHERE block.gone_at IS NULL
    UNION ALL
    SELECT page.site, sighting.digest, sighting.page_id
    FROM sighting JOIN page ON page.id = sighting.page_id
    WHERE sighting.gone_at IS NULL
) AS shown
WHERE digest <> {_NO_TERMS}
GROUP BY site, digest
"""  # noqa: S608 — of constants


def upgrade() -> None:
    _create_site_and_recurrence()
    _create_mirror()
    _create_page_fingerprint()
    op.execute(_COUNT_PAGES)
    op.execute(_COUNT_TEXTS)
    _replace_views(
        join_page="JOIN page AS there ON there.id = sighting.page_id",
        and_no_template=f"AND NOT {_BLOCK_IS_TEMPLATE}",
        and_there=f"AND NOT {_SIGHTING_IS_TEMPLATE}",
    )


def downgrade() -> None:
    _replace_views(join_page="", and_no_template="", and_there="")
    for table in ("page_fingerprint", "mirror", "document_frequency", "site"):
        op.drop_table(table)
    op.execute("UPDATE page SET page_fingerprint = NULL")


def _replace_views(**parts: str) -> None:
    op.execute("DROP VIEW page_text")
    op.execute("DROP VIEW informative_block")
    op.execute(_INFORMATIVE_BLOCK.format(**parts))
    op.execute(_PAGE_TEXT.format(**parts))


def _id() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _key() -> sa.types.TypeEngine[str]:
    return sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def _create_site_and_recurrence() -> None:
    op.create_table(
        "site",
        sa.Column("site", _key(), nullable=False),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("site", name="pk_site"),
    )
    op.create_table(
        "document_frequency",
        sa.Column("site", _key(), nullable=False),
        sa.Column("digest", sa.BigInteger(), nullable=False),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.Column("boilerplate_since", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("site", "digest", name="pk_recurrence"),
        sqlite_with_rowid=False,
    )
    _create_partial_index("ix_recurrence_site_pages", ["site", "pages"], "pages > 1")
    _create_partial_index("ix_recurrence_template", ["site"], "boilerplate_since IS NOT NULL")


def _create_partial_index(name: str, columns: list[str], condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, "document_frequency", columns, sqlite_where=where, postgresql_where=where)


def _create_mirror() -> None:
    op.create_table(
        "mirror",
        sa.Column("page_id", _id(), autoincrement=False, nullable=False),
        sa.Column("original_id", _id(), nullable=False),
        sa.Column("distance", sa.Integer(), nullable=False),
        sa.Column("first_seen", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("page_id", name="pk_mirror"),
        sa.ForeignKeyConstraint(["page_id"], ["page.id"], name="fk_mirror_page_id_page"),
        sa.ForeignKeyConstraint(["original_id"], ["page.id"], name="fk_mirror_original_id_page"),
    )
    op.create_index("ix_mirror_original_id", "mirror", ["original_id"])


def _create_page_fingerprint() -> None:
    on_sqlite = op.get_context().dialect.name == "sqlite"
    low = [sa.Column("low", sa.BigInteger(), nullable=False)] if on_sqlite else []
    op.create_table(
        "page_fingerprint",
        sa.Column("fingerprint", sa.BigInteger(), nullable=False),
        sa.Column("page_id", _id(), nullable=False),
        *low,
        sa.PrimaryKeyConstraint("fingerprint", "page_id", name="pk_page_fingerprint"),
        sqlite_with_rowid=False,
    )
    if on_sqlite:
        op.create_index("ix_page_fingerprint_low", "page_fingerprint", ["low"])
        return
    for band in range(3):
        op.create_index(
            f"ix_page_fingerprint_band_{band}",
            "page_fingerprint",
            [sa.text(f"((fingerprint >> {16 * band}) & 65535)")],
            postgresql_include=["fingerprint", "page_id"],
        )

"""The frontier: request, host, section, sitemap_trust, and what re-crawls know of a page and of a crawl."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_OF_PAGE = (
    *("spider", "callback", "cb_kwargs", "arguments", "headers", "meta"),
    *("children", "options_hash", "lastmod", "misses", "retired_at"),
)


def upgrade() -> None:
    op.add_column("crawl", _moment("seeded"))
    _extend_page()
    _create_request()
    _create_host()
    _create_section()
    _create_sitemap_trust()


def downgrade() -> None:
    for table in ("sitemap_trust", "section", "host", "request"):
        op.drop_table(table)
    op.drop_index("ix_page_next_visit", "page")
    for column in reversed(_OF_PAGE):
        op.drop_column("page", column)
    op.drop_column("crawl", "seeded")


def _id() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _key() -> sa.types.TypeEngine[str]:
    return sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def _moment(name: str, *, nullable: bool = True) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _texts(*names: str, nullable: bool = True) -> list[sa.Column[object]]:
    return [sa.Column(name, sa.Text(), nullable=nullable) for name in names]


def _json(*names: str, nullable: bool = False) -> list[sa.Column[object]]:
    return [sa.Column(name, sa.JSON(), nullable=nullable) for name in names]


def _numbers(*names: str) -> list[sa.Column[object]]:
    return [sa.Column(name, sa.Integer(), nullable=False) for name in names]


def _watched() -> list[sa.Column[object]]:
    return [sa.Column("misses", sa.Integer(), server_default="0", nullable=False), _moment("retired_at")]


def _reading() -> list[sa.Column[object]]:
    return [sa.Column("children", sa.Integer()), sa.Column("options_hash", sa.BigInteger())]


def _create_partial_index(name: str, table: str, columns: list[str | sa.TextClause], condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)


def _extend_page() -> None:
    for column in (
        *_texts("spider", "callback"),
        *_json("cb_kwargs", "arguments", "headers", "meta", nullable=True),
        *_reading(),
        *_texts("lastmod"),
        *_watched(),
    ):
        op.add_column("page", column)
    _create_partial_index("ix_page_next_visit", "page", ["next_visit"], "retired_at IS NULL")


def _create_request() -> None:
    op.create_table(
        "request",
        sa.Column("id", _id(), sa.Identity(), nullable=False),
        sa.Column("crawl_id", _id(), nullable=False),
        sa.Column("key", _key(), nullable=False),
        *_texts("url", nullable=False),
        sa.Column("host", _key(), nullable=False),
        *_texts("method", nullable=False),
        *_json("headers"),
        sa.Column("body", sa.LargeBinary()),
        *_texts("callback", "errback"),
        *_json("cb_kwargs", "meta"),
        *_numbers("priority"),
        *_texts("state", nullable=False),
        *_numbers("attempts"),
        _moment("not_before"),
        *_texts("lease_id"),
        _moment("lease_until"),
        *_texts("outcome", "error"),
        _moment("added", nullable=False),
        _moment("ended"),
        sa.PrimaryKeyConstraint("id", name="pk_request"),
        sa.ForeignKeyConstraint(["crawl_id"], ["crawl.id"], name="fk_request_crawl_id_crawl"),
        sqlite_autoincrement=True,
    )
    if op.get_context().dialect.name == "postgresql":
        # Every row is rewritten twice or more; by default a fifth of the table is dead before anybody tidies up.
        op.execute("ALTER TABLE request SET (autovacuum_vacuum_scale_factor = 0.05)")
    op.create_index("uq_request_crawl_id_key", "request", ["crawl_id", "key"], unique=True)
    queued: list[str | sa.TextClause] = ["crawl_id", "host", sa.text("priority DESC"), "id", "not_before"]
    _create_partial_index("ix_request_queued", "request", queued, "state = 'queued'")
    _create_partial_index("ix_request_leased", "request", ["crawl_id", "lease_until"], "state = 'leased'")
    _create_partial_index("ix_request_failed", "request", ["crawl_id"], "state = 'failed'")


def _create_host() -> None:
    op.create_table(
        "host",
        sa.Column("host", _key(), nullable=False),
        _moment("next_at"),
        sa.Column("delay", sa.Float(), server_default="0", nullable=False),
        _moment("paused_until"),
        *_texts("reason"),
        sa.Column("refusals", sa.Integer(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("host", name="pk_host"),
    )


def _create_section() -> None:
    op.create_table(
        "section",
        sa.Column("id", _id(), sa.Identity(), nullable=False),
        *_texts("url", nullable=False),
        sa.Column("url_key", _key(), nullable=False),
        sa.Column("site", _key(), nullable=False),
        *_texts("spider", nullable=False),
        *_texts("callback"),
        *_json("cb_kwargs", "arguments", "headers", "meta"),
        *(_moment(name, nullable=False) for name in ("first_seen", "last_seen", "last_changed")),
        *_numbers("visits", "changes"),
        _moment("next_visit"),
        sa.Column("links_hash", sa.BigInteger(), nullable=False),
        *_texts("etag", "last_modified"),
        *_watched(),
        sa.PrimaryKeyConstraint("id", name="pk_section"),
        sa.UniqueConstraint("url_key", name="uq_section_url_key"),
    )
    op.create_index("ix_section_site", "section", ["site"])
    _create_partial_index("ix_section_next_visit", "section", ["next_visit"], "retired_at IS NULL")


def _create_sitemap_trust() -> None:
    op.create_table(
        "sitemap_trust",
        sa.Column("host", _key(), nullable=False),
        *_numbers("right", "wrong"),
        sa.PrimaryKeyConstraint("host", name="pk_sitemap_trust"),
    )

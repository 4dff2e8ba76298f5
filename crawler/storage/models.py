"""The tables: crawl, page, block, sighting, fingerprint, mirror, page_fingerprint, site, recurrence.

A block's text is stored once. Where another page holds the same text, or nearly the same, that page has a
sighting of the block, with its own text where it differs at all; a page that is nearly the same as another, as a
whole, has a row in `mirror`. What many pages of a site show is template: `recurrence` says so, and the views
`informative_block` and `page_text`, made by the migrations, leave it out. Nothing a page ever held is deleted by a
later visit: what is missing there has `gone_at` set.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    text,
)

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect
    from sqlalchemy.schema import SchemaItem

# What only one kind of database has is marked so in its `info`.
ONLY = "only"
_SIGN = 1 << 63
_MODULUS = 1 << 64


class CrawlState(StrEnum):
    """Whether a crawl has come to its end."""

    OPEN = "open"
    FINISHED = "finished"


class Bits64(TypeDecorator[int]):
    """64 bits: unsigned in Python, signed in the database, which knows no others."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> int | None:  # noqa: ARG002 — SQLAlchemy's
        return None if value is None else signed(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> int | None:  # noqa: ARG002 — as above
        return None if value is None else unsigned(value)


class Moment(TypeDecorator[datetime]):
    """A point in time, aware, in UTC; on SQLite as text that sorts like the time."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 — as above
        if value is not None and value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone; the database stores moments in UTC")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 — as above
        return None if value is None else value.replace(tzinfo=value.tzinfo or UTC).astimezone(UTC)


def signed(bits: int) -> int:
    """Return 64 unsigned bits as the signed number that the database stores."""
    return bits - _MODULUS if bits >= _SIGN else bits


def unsigned(number: int) -> int:
    """Return a stored signed number as 64 unsigned bits."""
    return number % _MODULUS


# SQLite numbers rows by itself only where the type is exactly INTEGER.
_Id = BigInteger().with_variant(Integer, "sqlite")
# Texts that are looked up compare byte by byte on both: a server's locale can change with its operating system,
# and an index in its order is damaged then.
_Key = Text().with_variant(Text(collation="C"), "postgresql")

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _required(name: str, kind: Any, *arguments: Any, **options: Any) -> Column[Any]:
    return Column(name, kind, *arguments, nullable=False, **options)


def _id() -> Column[Any]:
    return _required("id", _Id, Identity(), primary_key=True)


def _seen() -> list[Column[Any]]:
    return [_required("first_seen", Moment), _required("last_seen", Moment)]


def _content() -> list[Column[Any]]:
    """Return what block and sighting share, so that one can become the other without loss."""
    return [
        _required("page_id", _Id, ForeignKey("page.id"), index=True),
        _required("position", Integer),
        _required("kind", Text),
        _required("path", Text),
        _required("words", Integer),
        _required("score", Float),
        _required("priority", Float),
        _required("digest", Bits64),
        Column("fingerprint", Bits64),
        *_seen(),
        Column("gone_at", Moment),
    ]


# Ids are never given out twice (autoincrement): whoever follows the tables remembers the last one read.
crawl = Table(
    "crawl",
    metadata,
    _id(),
    _required("spider", Text),
    _required("arguments", JSON),
    _required("state", Text),
    _required("started", Moment),
    Column("finished", Moment),
    Column("reason", Text),
    _required("totals", JSON),
    sqlite_autoincrement=True,
)

page = Table(
    "page",
    metadata,
    _id(),
    _required("url", Text),
    _required("url_key", _Key, unique=True),
    _required("site", _Key, index=True),
    Column("section", Text),
    Column("title", Text),
    Column("author", Text),
    Column("published", Text),
    Column("language", Text),
    *_seen(),
    _required("last_changed", Moment),
    _required("visits", Integer),
    _required("changes", Integer),
    Column("next_visit", Moment),
    _required("crawl_id", _Id, ForeignKey("crawl.id")),
    Column("etag", Text),
    Column("last_modified", Text),
    _required("body_hash", Bits64),
    Column("page_fingerprint", Bits64),
    _required("method", Text),
    _required("scheme", _Key, index=True),
    Column("encoding", Text),
    Column("html", LargeBinary),  # zlib; last, so that reading the others does not walk over it
    sqlite_autoincrement=True,
)

block = Table(
    "block",
    metadata,
    _id(),
    # The page's, once more: a heading common to thousands of sites is looked up within its own only.
    _required("site", _Key),
    _required("text", Text),
    *_content(),
    Index(None, "digest", "site"),
    sqlite_autoincrement=True,
)

sighting = Table(
    "sighting",
    metadata,
    _id(),
    _required("block_id", _Id, ForeignKey("block.id"), index=True),
    _required("distance", Integer),
    Column("text", Text),  # null: the block's own
    *_content(),
)


def _fingerprints(name: str, owner: str) -> Table:
    """Return the table of an index over fingerprints; see index.py.

    No foreign key on the owner: checking it at each one deleted would take an index as large as the table.
    """
    return Table(
        name,
        metadata,
        _required("fingerprint", Bits64, primary_key=True),
        _required(owner, _Id, primary_key=True),
        _required("low", BigInteger, info={ONLY: "sqlite"}),  # the low 32 bits
        Index(f"ix_{name}_low", "low", info={ONLY: "sqlite"}),
        *(
            Index(
                f"ix_{name}_band_{band}",
                text(f"((fingerprint >> {16 * band}) & 65535)"),
                postgresql_include=["fingerprint", owner],
                info={ONLY: "postgresql"},
            )
            for band in range(3)  # the primary key serves the topmost 16 bits
        ),
        sqlite_with_rowid=False,
    )


fingerprint = _fingerprints("fingerprint", "block_id")
page_fingerprint = _fingerprints("page_fingerprint", "page_id")

# Not a column of `page`: SQLite would read it across the page's HTML.
mirror = Table(
    "mirror",
    metadata,
    _required("page_id", _Id, ForeignKey("page.id"), primary_key=True, autoincrement=False),
    _required("original_id", _Id, ForeignKey("page.id"), index=True),
    _required("distance", Integer),
    _required("first_seen", Moment),
)

site = Table("site", metadata, _required("site", _Key, primary_key=True), _required("pages", Integer))

# On how many pages of a site a text with terms stands now; texts without any say nothing.
recurrence = Table(
    "recurrence",
    metadata,
    _required("site", _Key, primary_key=True),
    _required("digest", Bits64, primary_key=True),
    _required("pages", Integer),
    Column("template_at", Moment),
    # Of the few that could become template, and of those that are.
    Index(
        "ix_recurrence_site_pages",
        "site",
        "pages",
        sqlite_where=text("pages > 1"),
        postgresql_where=text("pages > 1"),
    ),
    Index(
        "ix_recurrence_template",
        "site",
        sqlite_where=text("template_at IS NOT NULL"),
        postgresql_where=text("template_at IS NOT NULL"),
    ),
    sqlite_with_rowid=False,
)


def belongs(item: SchemaItem, dialect: str) -> bool:
    """Tell whether a table, column or index is one of those that this kind of database has."""
    return bool(item.info.get(ONLY, dialect) == dialect)

"""All tables and views, with their column types."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

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
    TableClause,
    Text,
    TypeDecorator,
    column,
    table,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy.engine import Dialect
    from sqlalchemy.schema import SchemaItem


_SIGN = 1 << 63
_MODULUS = 1 << 64


class Bits64(TypeDecorator[int]):
    """64 bits: unsigned in Python, signed in the database, which knows no others."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> int | None:  # noqa: ARG002 — SQLAlchemy's
        return None if value is None else signed(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> int | None:  # noqa: ARG002 — as above
        return None if value is None else unsigned(value)


class UtcDateTime(TypeDecorator[datetime]):
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
Id = BigInteger().with_variant(Integer, "sqlite")
# Texts that are looked up compare byte by byte on both: a server's locale can change with its operating system,
# and an index in its order is damaged then.
Key = Text().with_variant(Text(collation="C"), "postgresql")

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def required(name: str, kind: Any, *arguments: Any, **options: Any) -> Column[Any]:
    return Column(name, kind, *arguments, nullable=False, **options)


def row_id() -> Column[Any]:
    return required("id", Id, Identity(), primary_key=True)


def seen_columns() -> list[Column[Any]]:
    return [required("first_seen", UtcDateTime), required("last_seen", UtcDateTime)]


def visit_columns() -> list[Column[Any]]:
    """Return the history by which the next visit is decided, and that visit."""
    return [
        *seen_columns(),
        required("last_changed", UtcDateTime),
        required("visits", Integer),
        required("changes", Integer),
        Column("next_visit", UtcDateTime),
    ]


def absence_columns() -> list[Column[Any]]:
    """Return what tells whether something is still there: visits in a row that found nothing, when we gave up."""
    return [required("misses", Integer, server_default="0"), Column("retired_at", UtcDateTime)]


def partial_index(name: str, *columns: Any, where: str) -> Index:
    """Return an index of the rows that meet a condition, on both kinds of database."""
    condition = text(where)
    return Index(name, *columns, sqlite_where=condition, postgresql_where=condition)


def sequence_column(name: str) -> Column[Any]:
    """Return a column for the mark of a transaction; what was stored before there were marks has 0."""
    return required(name, BigInteger, server_default="0")


# A page's row stays when the page is pruned, so it has no foreign key. It says nothing of the page but its id.
change_log = Table(
    "change_log",
    metadata,
    required("page_id", Id, primary_key=True, autoincrement=False),
    sequence_column("added"),
    sequence_column("described"),
    required("changed", BigInteger, index=True),
)

removed_block = Table(
    "removed_block",
    metadata,
    required("block_id", Id, primary_key=True, autoincrement=False),
    required("changed", BigInteger, index=True),
)

# One row. `number` is the last mark on SQLite; on PostgreSQL it is added to the transaction's id, which gives the mark.
database_id = Table(
    "database_id",
    metadata,
    required("name", Key, primary_key=True),
    required("server", Text),
    required("number", BigInteger),
)

request = Table(
    "request",
    metadata,
    row_id(),
    required("crawl_id", Id, ForeignKey("crawl.id")),
    required("key", Key),
    required("url", Text),
    required("host", Key),
    required("method", Text),
    required("headers", JSON),  # name -> list of texts
    Column("body", LargeBinary),
    Column("callback", Text),  # null: `parse`
    Column("errback", Text),
    required("cb_kwargs", JSON),
    required("meta", JSON),
    required("priority", Integer),
    required("state", Text),
    required("attempts", Integer),  # that came to no end
    Column("not_before", UtcDateTime),
    Column("lease_id", Text),
    Column("lease_until", UtcDateTime),
    Column("outcome", Text),
    Column("error", Text),
    required("added", UtcDateTime),
    Column("ended", UtcDateTime),
    Index("uq_request_crawl_id_key", "crawl_id", "key", unique=True),
    partial_index("ix_request_leased", "crawl_id", "lease_until", where="state = 'leased'"),
    partial_index("ix_request_failed", "crawl_id", where="state = 'failed'"),
    sqlite_autoincrement=True,  # an id given out twice would make old lease_tokens good again
)
# In the order in which a host's are leased; `not_before` so that those which wait are passed over in the index.
partial_index(
    "ix_request_queued",
    request.c.crawl_id,
    request.c.host,
    request.c.priority.desc(),
    request.c.id,
    request.c.not_before,
    where="state = 'queued'",
)

# Of all crawls together: a host minds its visitors, not our generations.
host = Table(
    "host",
    metadata,
    required("host", Key, primary_key=True),
    Column("next_at", UtcDateTime),
    required("delay", Float, server_default="0"),  # seconds
    Column("paused_until", UtcDateTime),
    Column("reason", Text),
    required("refusals", Integer, server_default="0"),  # in a row
)

# What leads to pages and is visited again for that.
section = Table(
    "section",
    metadata,
    row_id(),
    required("url", Text),
    required("url_key", Key, unique=True),
    required("site", Key, index=True),
    required("spider", Text),
    Column("callback", Text),
    required("cb_kwargs", JSON),
    required("arguments", JSON),
    required("headers", JSON),
    required("meta", JSON),
    *visit_columns(),
    required("links_hash", Bits64),  # xxh64 of the sorted keys of the requests that it yielded
    Column("etag", Text),
    Column("last_modified", Text),
    *absence_columns(),
    partial_index("ix_section_next_visit", "next_visit", where="retired_at IS NULL"),
)

# How often the dates of change in a host's sitemaps were right.
sitemap_trust = Table(
    "sitemap_trust",
    metadata,
    required("host", Key, primary_key=True),
    required("right", Integer),
    required("wrong", Integer),
)

# What only one kind of database has is marked so in its `info`.
ONLY_ON = "only"


class CrawlState(StrEnum):
    """Whether a crawl has come to its end."""

    OPEN = "open"
    FINISHED = "finished"


def _content_columns() -> list[Column[Any]]:
    """Return what block and sighting share, so that one can become the other without loss."""
    return [
        required("page_id", Id, ForeignKey("page.id"), index=True),
        required("position", Integer),
        required("kind", Text),
        required("path", Text),
        required("words", Integer),
        required("score", Float),
        required("priority", Float),
        required("digest", Bits64),
        Column("fingerprint", Bits64),
        *seen_columns(),
        Column("gone_at", UtcDateTime),
        sequence_column("changed"),
    ]


# Ids are never given out twice (autoincrement): whoever follows the tables remembers the last one read.
crawl = Table(
    "crawl",
    metadata,
    row_id(),
    required("spider", Text),
    required("arguments", JSON),
    required("state", Text),
    required("started", UtcDateTime),
    Column("finished", UtcDateTime),
    Column("reason", Text),
    required("totals", JSON),
    Column("seeded", UtcDateTime),  # when all its start requests were in the frontier
    sqlite_autoincrement=True,
)

page = Table(
    "page",
    metadata,
    row_id(),
    required("url", Text),
    required("url_key", Key, unique=True),
    required("site", Key, index=True),
    Column("section", Text),
    Column("title", Text),
    Column("author", Text),
    Column("published", Text),
    Column("language", Text),
    *visit_columns(),
    required("crawl_id", Id, ForeignKey("crawl.id")),
    Column("etag", Text),
    Column("last_modified", Text),
    required("body_hash", Bits64),
    Column("page_fingerprint", Bits64),
    required("method", Text),
    required("scheme", Key, index=True),
    Column("encoding", Text),
    # zlib; SQLite walks over it to what is behind it, so behind it is what only re-crawls read.
    Column("html", LargeBinary),
    # Null in pages of crawls before there were re-crawls.
    Column("spider", Text),
    Column("callback", Text),
    Column("cb_kwargs", JSON(none_as_null=True)),
    Column("arguments", JSON(none_as_null=True)),
    Column("headers", JSON(none_as_null=True)),  # of the request
    Column("meta", JSON(none_as_null=True)),
    Column("children", Integer),  # what its callback yielded beside it; null where that is not known
    Column("options_hash", Bits64),  # xxh64 of the method's options
    Column("lastmod", Text),  # what a sitemap has said since the last visit
    *absence_columns(),
    partial_index("ix_page_next_visit", "next_visit", where="retired_at IS NULL"),
    sqlite_autoincrement=True,
)

block = Table(
    "block",
    metadata,
    row_id(),
    # The page's, once more: a heading common to thousands of sites is looked up within its own only.
    required("site", Key),
    required("text", Text),
    *_content_columns(),
    sequence_column("added"),
    Index(None, "digest", "site"),
    sqlite_autoincrement=True,
)

sighting = Table(
    "sighting",
    metadata,
    row_id(),
    required("block_id", Id, ForeignKey("block.id"), index=True),
    required("distance", Integer),
    Column("text", Text),  # null: the block's own
    *_content_columns(),
)


def _fingerprint_table(name: str, owner: str) -> Table:
    """Return the table of an index over fingerprints; see index.py.

    No foreign key on the owner: checking it at each one deleted would take an index as large as the table.
    """
    return Table(
        name,
        metadata,
        required("fingerprint", Bits64, primary_key=True),
        required(owner, Id, primary_key=True),
        required("low", BigInteger, info={ONLY_ON: "sqlite"}),  # the low 32 bits
        Index(f"ix_{name}_low", "low", info={ONLY_ON: "sqlite"}),
        *(
            Index(
                f"ix_{name}_band_{band}",
                text(f"((fingerprint >> {16 * band}) & 65535)"),
                postgresql_include=["fingerprint", owner],
                info={ONLY_ON: "postgresql"},
            )
            for band in range(3)  # the primary key serves the topmost 16 bits
        ),
        sqlite_with_rowid=False,
    )


fingerprint = _fingerprint_table("fingerprint", "block_id")
page_fingerprint = _fingerprint_table("page_fingerprint", "page_id")

# Not a column of `page`: SQLite would read it across the page's HTML.
near_duplicate_page = Table(
    "mirror",
    metadata,
    required("page_id", Id, ForeignKey("page.id"), primary_key=True, autoincrement=False),
    required("original_id", Id, ForeignKey("page.id"), index=True),
    required("distance", Integer),
    required("first_seen", UtcDateTime),
)

site = Table("site", metadata, required("site", Key, primary_key=True), required("pages", Integer))

# On how many pages of a site a text with terms stands now; texts without any say nothing.
document_frequency = Table(
    "document_frequency",
    metadata,
    required("site", Key, primary_key=True),
    required("digest", Bits64, primary_key=True),
    required("pages", Integer),
    Column("boilerplate_since", UtcDateTime),
    Column("changed", BigInteger),  # the mark of who last decided about it; see change_log.py
    # Of the few that could become template, and of those that are.
    partial_index("ix_recurrence_site_pages", "site", "pages", where="pages > 1"),
    partial_index("ix_recurrence_template", "site", where="boilerplate_since IS NOT NULL"),
    partial_index("ix_recurrence_changed", "changed", where="changed IS NOT NULL"),
    sqlite_with_rowid=False,
)


# What search reads: the words of each block, kept in step by `tokens.py` and `triggers.py`. No foreign key, as above.
block_tokens = Table(
    "block_tokens",
    metadata,
    required("block_id", Id, primary_key=True, autoincrement=False),
    # Of the block, once more: ranking reads no other table.
    required("words", Integer),
    required("priority", Float),
    required("length", Integer),  # of the tokens
    required("tokens", Text),
    Index(
        "ix_block_tokens_tokens",
        text("array_to_tsvector(string_to_array(btrim(tokens), '  '))"),
        postgresql_using="gin",
        info={ONLY_ON: "postgresql"},
    ),
)

# SQLite's index of them, a virtual table: FTS5 keeps tables of its own beside it, of names that begin with its.
TOKENS_INDEX = "block_fts"

# How many blocks and tokens there are, for BM25; the sum of the rows counts. FTS5 counts itself.
search_total = Table(
    "search_total",
    metadata,
    row_id(),
    required("blocks", BigInteger),
    required("length", BigInteger),
    info={ONLY_ON: "postgresql"},
)


# How far `scrapy reclean` has come, a row for each run that has not come to its end.
reclean = Table(
    "reclean",
    metadata,
    required("key", Key, primary_key=True),  # what is done, as JSON
    required("after_page", Id),
    required("pages", BigInteger),
    required("started", UtcDateTime),
)


def exists_on(item: SchemaItem, dialect: str) -> bool:
    """Tell whether a table, column or index is one of ours that this kind of database has."""
    if isinstance(item, Table) and item.name.startswith(TOKENS_INDEX):
        return False
    return bool(item.info.get(ONLY_ON, dialect) == dialect)


_TYPES: dict[str, Any] = {
    "id": BigInteger,
    "page_id": BigInteger,
    "position": Integer,
    "words": Integer,
    "score": Float,
    "priority": Float,
    "first_seen": UtcDateTime,
    "last_seen": UtcDateTime,
}


def _view(name: str, columns: str) -> TableClause:
    return table(name, *(column(each, _TYPES.get(each, Text)) for each in columns.split()))


informative_block = _view(
    "informative_block",
    "id page_id url site section title author published language position kind text words score priority first_seen "
    "last_seen",
)
page_text = _view("page_text", "page_id position kind text words score")

_Item = TypeVar("_Item")

# SQLite takes 32,766 bound values in a statement, PostgreSQL 65,535.
BATCH_SIZE = 10_000


def batched(items: Sequence[_Item], size: int = BATCH_SIZE) -> Iterator[Sequence[_Item]]:
    """Give the items in parts of at most `size`; nothing for no items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]

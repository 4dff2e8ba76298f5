"""The tables: crawl, page, block, sighting, fingerprint, mirror, page_fingerprint, site, recurrence, reclean.

Those of the frontier are in `frontier_tables.py`: request, host, section, sitemap_trust. Those that tell exports what
has changed are in `journal_tables.py`: journal, removed_block, lineage.

A block's text is stored once. Where another page holds the same text, or nearly the same, that page has a
sighting of the block, with its own text where it differs at all; a page that is nearly the same as another, as a
whole, has a row in `mirror`. What many pages of a site show is template: `recurrence` says so, and the views
`informative_block` and `page_text`, made by the migrations, leave it out. Nothing a page ever held is deleted by a
later visit: what is missing there has `gone_at` set.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import JSON, BigInteger, Column, Float, ForeignKey, Index, Integer, LargeBinary, Table, Text, text

from crawler.storage.columns import (
    Bits64,
    Id,
    Key,
    Moment,
    metadata,
    partial_index,
    required,
    row_id,
    seen,
    visited,
    watched,
)
from crawler.storage.frontier_tables import host, request, section, sitemap_trust
from crawler.storage.journal_tables import journal, lineage, mark, removed_block

if TYPE_CHECKING:
    from sqlalchemy.schema import SchemaItem

__all__ = [
    "ONLY",
    "TOKENS_INDEX",
    "CrawlState",
    "belongs",
    "block",
    "block_tokens",
    "crawl",
    "fingerprint",
    "host",
    "journal",
    "lineage",
    "metadata",
    "mirror",
    "page",
    "page_fingerprint",
    "reclean",
    "recurrence",
    "removed_block",
    "request",
    "search_total",
    "section",
    "sighting",
    "site",
    "sitemap_trust",
]

# What only one kind of database has is marked so in its `info`.
ONLY = "only"


class CrawlState(StrEnum):
    """Whether a crawl has come to its end."""

    OPEN = "open"
    FINISHED = "finished"


def _content() -> list[Column[Any]]:
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
        *seen(),
        Column("gone_at", Moment),
        mark("changed"),
    ]


# Ids are never given out twice (autoincrement): whoever follows the tables remembers the last one read.
crawl = Table(
    "crawl",
    metadata,
    row_id(),
    required("spider", Text),
    required("arguments", JSON),
    required("state", Text),
    required("started", Moment),
    Column("finished", Moment),
    Column("reason", Text),
    required("totals", JSON),
    Column("seeded", Moment),  # when all its start requests were in the frontier
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
    *visited(),
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
    *watched(),
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
    *_content(),
    mark("added"),
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
    *_content(),
)


def _fingerprints(name: str, owner: str) -> Table:
    """Return the table of an index over fingerprints; see index.py.

    No foreign key on the owner: checking it at each one deleted would take an index as large as the table.
    """
    return Table(
        name,
        metadata,
        required("fingerprint", Bits64, primary_key=True),
        required(owner, Id, primary_key=True),
        required("low", BigInteger, info={ONLY: "sqlite"}),  # the low 32 bits
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
    required("page_id", Id, ForeignKey("page.id"), primary_key=True, autoincrement=False),
    required("original_id", Id, ForeignKey("page.id"), index=True),
    required("distance", Integer),
    required("first_seen", Moment),
)

site = Table("site", metadata, required("site", Key, primary_key=True), required("pages", Integer))

# On how many pages of a site a text with terms stands now; texts without any say nothing.
recurrence = Table(
    "recurrence",
    metadata,
    required("site", Key, primary_key=True),
    required("digest", Bits64, primary_key=True),
    required("pages", Integer),
    Column("template_at", Moment),
    Column("changed", BigInteger),  # the mark of who last decided about it; see journal.py
    # Of the few that could become template, and of those that are.
    partial_index("ix_recurrence_site_pages", "site", "pages", where="pages > 1"),
    partial_index("ix_recurrence_template", "site", where="template_at IS NOT NULL"),
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
        info={ONLY: "postgresql"},
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
    info={ONLY: "postgresql"},
)


# How far `scrapy reclean` has come, a row for each run that has not come to its end.
reclean = Table(
    "reclean",
    metadata,
    required("key", Key, primary_key=True),  # what is done, as JSON
    required("after_page", Id),
    required("pages", BigInteger),
    required("started", Moment),
)


def belongs(item: SchemaItem, dialect: str) -> bool:
    """Tell whether a table, column or index is one of ours that this kind of database has."""
    if isinstance(item, Table) and item.name.startswith(TOKENS_INDEX):
        return False
    return bool(item.info.get(ONLY, dialect) == dialect)

"""The tables of the frontier: request, host, and what tells re-crawls where to look, section and sitemap_trust.

A request is a row from the moment that somebody wants it to the next generation of its crawl: its key is what keeps
another of the same from being stored, also once it has ended.
"""

from __future__ import annotations

from sqlalchemy import JSON, Column, Float, ForeignKey, Index, Integer, LargeBinary, Table, Text

from crawler.storage.columns import (
    Bits64,
    Id,
    Key,
    Moment,
    metadata,
    partial_index,
    required,
    row_id,
    visited,
    watched,
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
    Column("not_before", Moment),
    Column("lease_id", Text),
    Column("lease_until", Moment),
    Column("outcome", Text),
    Column("error", Text),
    required("added", Moment),
    Column("ended", Moment),
    Index("uq_request_crawl_id_key", "crawl_id", "key", unique=True),
    partial_index("ix_request_leased", "crawl_id", "lease_until", where="state = 'leased'"),
    partial_index("ix_request_failed", "crawl_id", where="state = 'failed'"),
    sqlite_autoincrement=True,  # an id given out twice would make old tickets good again
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
    Column("next_at", Moment),
    required("delay", Float, server_default="0"),  # seconds
    Column("paused_until", Moment),
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
    *visited(),
    required("links_hash", Bits64),  # xxh64 of the sorted keys of the requests that it yielded
    Column("etag", Text),
    Column("last_modified", Text),
    *watched(),
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

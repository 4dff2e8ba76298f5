"""What an export holds: its columns, their types and their meaning; docs/export.md has the same tables."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 1
"""Of the columns and of the cursor. It changes when a column goes, or means something else."""


class Content(StrEnum):
    """What a row of an export is."""

    BLOCKS = "blocks"
    PAGES = "pages"


class Change(StrEnum):
    """What became of a row since the export that the cursor is of; in a whole export all are new."""

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `kind` is its type in Parquet. All but `schema`, `change` and `id` are null in rows that are gone."""

    name: str
    kind: str
    meaning: str


_FIRST = (
    Column("schema", "int16", f"version of these columns: {VERSION}"),
    Column("change", "string", "`new`, `changed` or `gone`; in a whole export always `new`"),
)
_PAGE = (
    Column("url", "string", "the page's address, as fetched"),
    Column("site", "string", "its registered domain, or host:port"),
    Column("section", "string", "section, as the page or the spider says"),
    Column("title", "string", "title of the page"),
    Column("author", "string", "author of the page"),
    Column("published", "string", "date or time in ISO form, as precise as the page says"),
    Column("language", "string", "language code, mostly of two letters"),
)

COLUMNS: Mapping[Content, tuple[Column, ...]] = {
    Content.BLOCKS: (
        *_FIRST,
        Column("id", "int64", "the block's id; it stays in later visits, and is never given out twice"),
        Column("page_id", "int64", "id of the page that the block was first found on"),
        *_PAGE,
        Column("position", "int32", "place among the page's blocks, from 0"),
        Column("kind", "string", "`heading`, `paragraph`, `list item`, `table cell`, `code`, `quote`"),
        Column("text", "string", "the block's text"),
        Column("words", "int32", "number of words"),
        Column("score", "double", "score by the page's method"),
        Column("priority", "double", "tag priority (PAB)"),
        Column("first_seen", "timestamp", "when the block was first found, in UTC"),
    ),
    Content.PAGES: (
        *_FIRST,
        Column("id", "int64", "the page's id; it stays in later visits, and is never given out twice"),
        *_PAGE,
        Column("first_seen", "timestamp", "when the page was first visited, in UTC"),
        Column("blocks", "int32", "number of its blocks and sightings that are no template"),
        Column("words", "int32", "number of words in them"),
        Column("text", "string", "their texts in reading order, one a line"),
    ),
}

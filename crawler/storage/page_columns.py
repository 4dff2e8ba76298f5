"""What describes a page: the name, type and meaning of each column, and how a cleaned page tells its value.

The table `page`, the view `informative_block`, the exports, the tables of batch jobs, feeds and the JSON of
`scrapy serve` read this table. A new column is one line at its end, and a migration that adds it to the table `page`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from cleaning.terms import normalise
from crawler.urls import page_address, site_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from cleaning.structure.clean_page import CleanPage

_COMMA = ", "
_LISTED_MAX_CHARS = 1_000  # as of the other texts: rows of blocks repeat them

Value = str | int | None
"""The value of a column: None if the page does not state it."""


@dataclass(frozen=True, slots=True)
class PageColumn:
    """A column. `kind` is its type in Parquet, `string` or `int32`; `read` returns its value for a cleaned page."""

    name: str
    kind: str
    meaning: str
    read: Callable[[CleanPage], Value]
    required: bool = False
    indexed: bool = False


PAGE_COLUMNS: tuple[PageColumn, ...] = (
    PageColumn("url", "string", "address, without tracking parameters", lambda page: page.url, required=True),
    PageColumn(
        "site",
        "string",
        "its registered domain, or host:port",
        lambda page: page.url and site_of(page.url),
        required=True,
        indexed=True,
    ),
    PageColumn(
        "section",
        "string",
        "section, as the page or the spider says, else that of its listing",
        lambda page: normalised(page.metadata.section),
    ),
    PageColumn("title", "string", "title of the page", lambda page: normalised(page.metadata.title)),
    PageColumn("author", "string", "author of the page", lambda page: normalised(page.metadata.author)),
    PageColumn(
        "published",
        "string",
        "date or time in ISO form, as precise as the page says",
        lambda page: normalised(page.metadata.published_text),
    ),
    PageColumn(
        "language",
        "string",
        "language code, mostly of two letters",
        lambda page: normalised(page.metadata.language),
    ),
    PageColumn(
        "description",
        "string",
        "the page's description of itself, as it states it",
        lambda page: normalised(page.metadata.description),
    ),
    PageColumn(
        "keywords",
        "string",
        "its keywords, with commas between them",
        lambda page: normalised(_listed(page.metadata.keywords)),
    ),
    PageColumn(
        "license",
        "string",
        "address of its licence, or the licence's name",
        lambda page: normalised(page.metadata.license),
    ),
    PageColumn("record_id", "string", "`WARC-Record-ID` of the record that it was read from", lambda _: None),
    PageColumn(
        "access",
        "string",
        "`free`, `metered` or `paid`, as the page states it (`isAccessibleForFree`, `article:content_tier`)",
        lambda page: page.metadata.access,
    ),
)
"""The columns, in their order."""

FIRST_COLUMNS = PAGE_COLUMNS[:7]
"""The columns of the first version. The view and exports begin with them."""

LATER_COLUMNS = PAGE_COLUMNS[7:]
"""The columns of later versions. The view and exports end with them, so programs that count columns stay right, and so
do views of PostgreSQL that users have made of ours.
"""

PAGE_COLUMN_NAMES = tuple(column.name for column in PAGE_COLUMNS)


def describe(url: str, cleaned: CleanPage) -> dict[str, Value]:
    """Return the values of the columns for a page that was fetched at a URL."""
    page = replace(cleaned, url=page_address(url, cleaned.metadata.canonical))
    return {column.name: column.read(page) for column in PAGE_COLUMNS}


def _listed(texts: tuple[str, ...]) -> str | None:
    """Return the first texts with commas between them, as many as there is room for; None for none."""
    ends = accumulate(len(text) + len(_COMMA) for text in texts)
    return _COMMA.join(text for text, end in zip(texts, ends, strict=True) if end <= _LISTED_MAX_CHARS) or None


def normalised(text: str | None) -> str | None:
    """Return a stated text with single spaces, on one line; None if the page does not state it."""
    return None if text is None else normalise(text)

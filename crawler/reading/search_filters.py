"""The pages and the kind of text that a search is restricted to, as conditions in SQL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, text

from cleaning.blocks import Kind
from cleaning.declare import did_you_mean
from crawler import urls
from crawler.errors import QueryError
from crawler.storage.tables import UtcDateTime

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from sqlalchemy import TextClause

TITLE_KIND = "title"
"""The kind of a page's title among the texts that a search finds."""

SEARCH_KINDS = (*map(str, Kind), TITLE_KIND)

_NOT_BOILERPLATE = """
NOT EXISTS (
    SELECT 1 FROM document_frequency
    WHERE document_frequency.site = page.site AND document_frequency.digest = {table}.digest AND
    document_frequency.boilerplate_since IS NOT NULL
)
"""

# Each page that a block stands on: the one that it was found on, and those with a sighting of it.
_PLACES_OF_BLOCKS = f"""
SELECT block.id AS block_id, page.id AS own_page, page.id AS page_id
FROM block JOIN page ON page.id = block.page_id
WHERE block.id IN :ids AND block.gone_at IS NULL AND {{of_page}} AND {_NOT_BOILERPLATE.format(table="block")}
UNION ALL
SELECT sighting.block_id, CAST(NULL AS bigint), page.id
FROM sighting JOIN page ON page.id = sighting.page_id
WHERE sighting.block_id IN :ids AND sighting.gone_at IS NULL AND {{of_page}}
  AND {_NOT_BOILERPLATE.format(table="sighting")}
"""  # noqa: S608 — of constants

_TITLED_PAGES = "FROM page WHERE page.id IN :titled AND page.retired_at IS NULL AND {of_page}"

_PAGES_OF_BLOCKS = f"""
SELECT block_id, min(own_page) AS own_page, min(page_id) AS first_page, count(DISTINCT page_id) AS pages
FROM ({_PLACES_OF_BLOCKS}) AS places
GROUP BY block_id
UNION ALL
SELECT -page.id, page.id, page.id, 1 {_TITLED_PAGES}
"""  # noqa: S608 — of constants

_PLACES = f"""
SELECT DISTINCT block_id, page_id FROM ({_PLACES_OF_BLOCKS}) AS places
UNION ALL
SELECT -page.id, page.id {_TITLED_PAGES}
LIMIT :most
"""  # noqa: S608 — of constants

_SHOWN_ON_A_PAGE = """
(
    EXISTS (
        SELECT 1 FROM block JOIN page ON page.id = block.page_id
        WHERE block.id = {block_id} AND block.gone_at IS NULL AND {of_page}
    ) OR EXISTS (
        SELECT 1 FROM sighting JOIN page ON page.id = sighting.page_id
        WHERE sighting.block_id = {block_id} AND sighting.gone_at IS NULL AND {of_page}
    ) OR EXISTS (SELECT 1 FROM page WHERE page.id = -{block_id} AND page.retired_at IS NULL AND {of_page})
)
"""

_LABELLED_PAGES, _LABELLED_BLOCKS = (
    f"FROM {table} WHERE name = :label_name AND value = :label" for table in ("page_label", "block_label")
)

_PAGE_CRITERIA = {
    "site": "page.site = :site",
    "section": "page.section = :section",
    "language": "page.language = :language",
    # A label of blocks says nothing of pages: `SearchFilters.text_condition` reads it.
    "label": f"(page.id IN (SELECT page_id {_LABELLED_PAGES}) OR EXISTS (SELECT 1 {_LABELLED_BLOCKS}))",
    "since": "(page.published >= :day OR page.published IS NULL AND page.first_seen >= :since)",
}


@dataclass(frozen=True, slots=True)
class SqlText:
    """SQL and its bound parameters."""

    sql: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """The pages that are searched: those that meet all the criteria, by default all pages.

    `section` is the section that the page states, `language` a code such as "en". `since` is the earliest day of
    publication; for a page without one, the earliest day (UTC) on which it was first seen. `kind` restricts the texts
    themselves: one of SEARCH_KINDS. `label` is the name and value of a label that `scrapy mine --store` gave
    to pages or to the texts themselves, as `topic=3 gas energy price`.
    """

    site: str | None = None
    section: str | None = None
    language: str | None = None
    since: date | None = None
    kind: str | None = None
    label: str | None = None

    @classmethod
    def of(
        cls,
        site: str | None = None,
        section: str | None = None,
        language: str | None = None,
        since: date | None = None,
        kind: str | None = None,
        label: str | None = None,
    ) -> SearchFilters:
        """Return filters from user input: any domain or URL of a site, and a language code in any case.

        Raises QueryError for a kind that there is not, and for a label without a name.
        """
        if label is not None and not all(label.partition("=")):
            raise QueryError(f"the label is {label!r}; it takes NAME=VALUE, as in topic=politics")
        domain = None if site is None else urls.parse_site(site)
        if kind is not None and kind not in SEARCH_KINDS:
            raise QueryError(f"there is no kind {kind!r}; {did_you_mean(kind, SEARCH_KINDS)}")
        code = None if language is None else re.split("[-_]", language.strip().lower())[0]
        return cls(domain, section, code, since, kind, label)

    @property
    def values(self) -> dict[str, Any]:
        """The bound parameters of the criteria on pages."""
        since = None if self.since is None else datetime.combine(self.since, time(), UTC)
        day = None if self.since is None else self.since.isoformat()
        values = {"site": self.site, "section": self.section, "language": self.language, "day": day, "since": since}
        if self.label is not None:
            values["label_name"], _, values["label"] = self.label.partition("=")
        return {name: value for name, value in values.items() if value is not None}

    @property
    def conditions(self) -> list[str]:
        """The SQL conditions of the criteria on a page."""
        return [_PAGE_CRITERIA[name] for name in self.values if name in _PAGE_CRITERIA]

    def text_condition(self, block_id: str) -> SqlText | None:
        """Return the condition on the text with an id of the index: its kind, its own label; None if there is none."""
        conditions, values = [], {}
        if self.kind == TITLE_KIND:
            conditions.append(f"{block_id} < 0")
        elif self.kind is not None:
            of_kind = f"SELECT 1 FROM block WHERE block.id = {block_id} AND block.kind = :kind"  # noqa: S608 — a column
            conditions.append(f"EXISTS ({of_kind})")
            values["kind"] = self.kind
        if self.label is not None:
            labelled = f"SELECT block_id {_LABELLED_BLOCKS}"
            conditions.append(f"({block_id} IN ({labelled}) OR NOT EXISTS ({labelled}))")
        return SqlText(" AND ".join(conditions), values) if conditions else None


@dataclass(frozen=True, slots=True)
class PageCriteria:
    """The conditions on pages, from filters and from the titles in a query, with their bound parameters."""

    conditions: tuple[str, ...]
    values: Mapping[str, Any]

    @classmethod
    def of(cls, filters: SearchFilters, titles: SqlText | None) -> PageCriteria:
        if titles is None:
            return cls(tuple(filters.conditions), filters.values)
        return cls((*filters.conditions, titles.sql), {**filters.values, **titles.values})

    def condition(self, block_id: str) -> str:
        """Return the SQL condition that a page showing the block, or called so, meets the criteria."""
        return _SHOWN_ON_A_PAGE.format(block_id=block_id, of_page=self._of_page)

    @property
    def pages_of_blocks(self) -> TextClause:
        """Return the statement for the pages with the blocks of the parameter `ids` and the titles of `titled`."""
        return self._for_lists(_PAGES_OF_BLOCKS)

    @property
    def places(self) -> TextClause:
        """Return the statement for at most `most` pairs of a text and a page that shows it."""
        return self._for_lists(_PLACES)

    def _for_lists(self, sql: str) -> TextClause:
        lists: tuple[Any, ...] = (bindparam("ids", expanding=True), bindparam("titled", expanding=True))
        return self.bound(sql.format(of_page=self._of_page)).bindparams(*lists)

    @property
    def _of_page(self) -> str:
        return " AND ".join(self.conditions) or "true"

    def bound(self, sql: str) -> TextClause:
        """Return a statement that takes `values` as parameters."""
        statement = text(sql)
        return statement.bindparams(bindparam("since", type_=UtcDateTime)) if "since" in self.values else statement

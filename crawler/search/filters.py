"""Which pages a search is of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, text

from crawler import urls
from crawler.storage.columns import Moment

if TYPE_CHECKING:
    from datetime import date

    from sqlalchemy import TextClause

_NOT_TEMPLATE = """
NOT EXISTS (
    SELECT 1 FROM recurrence
    WHERE recurrence.site = page.site AND recurrence.digest = {table}.digest AND recurrence.template_at IS NOT NULL
)
"""
# A block on its own page and on those that have a sighting of it.
_PLACES = f"""
SELECT block_id, min(own_page) AS own_page, min(page_id) AS first_page, count(DISTINCT page_id) AS pages
FROM (
    SELECT block.id AS block_id, page.id AS own_page, page.id AS page_id
    FROM block JOIN page ON page.id = block.page_id
    WHERE block.id IN :ids AND block.gone_at IS NULL AND {{of_page}} AND {_NOT_TEMPLATE.format(table="block")}
    UNION ALL
    SELECT sighting.block_id, CAST(NULL AS bigint), page.id
    FROM sighting JOIN page ON page.id = sighting.page_id
    WHERE sighting.block_id IN :ids AND sighting.gone_at IS NULL AND {{of_page}}
      AND {_NOT_TEMPLATE.format(table="sighting")}
) AS places
GROUP BY block_id
"""  # noqa: S608 — of constants
_CONDITION = """
(
    EXISTS (
        SELECT 1 FROM block JOIN page ON page.id = block.page_id
        WHERE block.id = {block_id} AND block.gone_at IS NULL AND {of_page}
    ) OR EXISTS (
        SELECT 1 FROM sighting JOIN page ON page.id = sighting.page_id
        WHERE sighting.block_id = {block_id} AND sighting.gone_at IS NULL AND {of_page}
    )
)
"""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which pages are searched: all that meet each of the criteria given; by default all pages.

    `section` is as the page states it, `language` a code such as "en". `since` is the day of publication, in UTC the
    day when a page was first seen where it states none.
    """

    site: str | None = None
    section: str | None = None
    language: str | None = None
    since: date | None = None

    @classmethod
    def of(
        cls,
        site: str | None = None,
        section: str | None = None,
        language: str | None = None,
        since: date | None = None,
    ) -> Filters:
        """Return filters from what a user types: a domain or a URL of a site, a language code in any case."""
        domain = None if site is None else urls.site(site if "://" in site else f"http://{site}")
        return cls(domain, section, None if language is None else re.split("[-_]", language.strip().lower())[0], since)

    def condition(self, block_id: str) -> str:
        """Return, in SQL, that a page which shows the block meets the criteria."""
        return _CONDITION.format(block_id=block_id, of_page=self._of_page)

    @property
    def places(self) -> TextClause:
        """Return the statement that gives, for the blocks of `ids`, the pages that show them."""
        return self.bound(_PLACES.format(of_page=self._of_page)).bindparams(bindparam("ids", expanding=True))

    @property
    def values(self) -> dict[str, Any]:
        """Return what to bind."""
        since = None if self.since is None else datetime.combine(self.since, time(), UTC)
        day = None if self.since is None else self.since.isoformat()
        given = {"site": self.site, "section": self.section, "language": self.language, "day": day, "since": since}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def _of_page(self) -> str:
        return " AND ".join(_CRITERIA[name] for name in self.values if name in _CRITERIA) or "true"

    def bound(self, sql: str) -> TextClause:
        """Return SQL as a statement that takes `values`."""
        statement = text(sql)
        return statement if self.since is None else statement.bindparams(bindparam("since", type_=Moment))


_CRITERIA = {
    "site": "page.site = :site",
    "section": "page.section = :section",
    "language": "page.language = :language",
    "since": "(page.published >= :day OR page.published IS NULL AND page.first_seen >= :since)",
}

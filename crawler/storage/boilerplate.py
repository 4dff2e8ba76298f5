"""Site boilerplate: the texts that many pages of a site show."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select, text, update

from crawler.storage.blocks import NO_TERMS
from crawler.storage.tables import block, document_frequency, page, sighting, signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from sqlalchemy import Select
    from sqlalchemy.engine import Connection

    from crawler.storage.blocks import EarlierRow
    from crawler.storage.change_log import ChangeLog
    from crawler.visit import FingerprintedBlock


_COUNT_PAGES = text("""
INSERT INTO site (site, pages) VALUES (:site, :more)
ON CONFLICT (site) DO UPDATE SET pages = site.pages + excluded.pages
RETURNING pages
""")
_JSON_ROWS = {"sqlite": "json_each(:rows)", "postgresql": "json_array_elements(CAST(:rows AS json)) AS each(value)"}
_COUNT_TEXTS = {
    dialect: text(f"""
    INSERT INTO document_frequency (site, digest, pages)
    SELECT value ->> 0, CAST(value ->> 1 AS bigint), CAST(value ->> 2 AS integer) FROM {rows} WHERE true
    ON CONFLICT (site, digest) DO UPDATE SET pages = document_frequency.pages + excluded.pages
    """)  # noqa: S608 — of constants
    for dialect, rows in _JSON_ROWS.items()
}
_DELETE_UNSEEN = document_frequency.delete().where(
    document_frequency.c.site == bindparam("of_site"),
    document_frequency.c.digest == bindparam("of_digest"),
    document_frequency.c.pages <= 0,
)
_BOILERPLATE_OF_SITE = select(document_frequency.c.digest).where(
    document_frequency.c.site == bindparam("of_site"), document_frequency.c.boilerplate_since.is_not(None)
)
_OF_SITE = update(document_frequency).where(document_frequency.c.site == bindparam("of_site"))
# More than one page: so says the index of those that could be.
_MARK_BOILERPLATE = _OF_SITE.where(
    document_frequency.c.boilerplate_since.is_(None),
    document_frequency.c.pages > text("1"),
    document_frequency.c.pages >= bindparam("needed"),
).values(boilerplate_since=bindparam("at"), changed=bindparam("mark"))
_UNMARK_BOILERPLATE = _OF_SITE.where(
    document_frequency.c.boilerplate_since.is_not(None), document_frequency.c.pages < bindparam("needed")
).values(boilerplate_since=None, changed=bindparam("mark"))
_NEVER = 2**31 - 1


@dataclass(frozen=True, slots=True)
class BoilerplateBounds:
    """From when on a text is template: on so many pages of its site, and so large a share of them; 0 pages is never."""

    min_pages: int = 0
    min_share: float = 0.0

    def needed(self, site_pages: int) -> int:
        """Return how many of a site's pages a text must stand on to be template."""
        # Rounded before it is rounded up: 0.07 * 100 is 7.000000000000001.
        share = math.ceil(round(self.min_share * site_pages, 6))
        return max(self.min_pages, share) if self.min_pages else _NEVER


@dataclass(frozen=True, slots=True)
class BoilerplateChange:
    """What a visit changed: how many pages more its site has, and the digests that the page shows now or no more."""

    site: str
    pages: int
    shown: frozenset[int]
    lost: frozenset[int]

    @classmethod
    def of(
        cls, site: str, earlier: Iterable[EarlierRow] | None, candidates: Iterable[FingerprintedBlock]
    ) -> BoilerplateChange:
        """Return the change from what the page showed at its last visit, None where it was not there, to candidates."""
        before = frozenset(row.digest for row in earlier or () if not row.gone) - {NO_TERMS}
        now = frozenset(one.digest for one in candidates) - {NO_TERMS}
        return cls(site, int(earlier is None), now - before, before - now)

    @classmethod
    def leaving(cls, site: str, earlier: Iterable[EarlierRow]) -> BoilerplateChange:
        """Return the change of a page that is there no more, from what it showed at its last visit."""
        return cls(site, -1, frozenset(), cls.of(site, earlier, ()).lost)


class BoilerplateCounter:
    """What a batch changes on its sites, in its transaction."""

    def __init__(self, connection: Connection, change_log: ChangeLog) -> None:
        self.connection = connection
        self.change_log = change_log
        self._changes: list[BoilerplateChange] = []
        self._templates: dict[str, frozenset[int]] = {}

    def templates(self, site: str) -> frozenset[int]:
        """Return the digests of the texts that were template on a site before this batch."""
        if site not in self._templates:
            self._templates[site] = frozenset(self.connection.scalars(_BOILERPLATE_OF_SITE, {"of_site": site}))
        return self._templates[site]

    def note(self, change: BoilerplateChange) -> None:
        """Take a visit's change into account."""
        self._changes.append(change)

    def settle(self, bounds: BoilerplateBounds, at: datetime) -> None:
        """Write the counts and decide anew what is template on the sites; nothing may be written after it."""
        self.change_log.settle()
        more = Counter[str]()
        for change in self._changes:
            more[change.site] += change.pages
        pages = {site: _add_to_site(self.connection, site, more[site]) for site in sorted(more)}
        _count_changes(self.connection, self._changes)
        for site, number in pages.items():
            decision = {"of_site": site, "needed": bounds.needed(number), "mark": self.change_log.mark}
            self.connection.execute(_MARK_BOILERPLATE, decision | {"at": at})
            self.connection.execute(_UNMARK_BOILERPLATE, decision)


def count_pages(connection: Connection, pages: Select[int], times: int) -> None:
    """Count what the selected pages show `times` more; -1 takes them out. Nobody else may write meanwhile.

    Pages that are retired count for nothing: they have left already.
    """
    sites = select(page.c.site).where(page.c.id.in_(pages), page.c.retired_at.is_(None))
    for site, number in Counter(connection.scalars(sites)).items():
        _add_to_site(connection, site, times * number)
    count_texts(connection, pages, times)
    connection.execute(text("DELETE FROM site WHERE pages <= 0"))


def count_texts(connection: Connection, pages: Select[int], times: int) -> None:
    """Count the texts that the selected pages show `times` more, as `add_pages` does, but not the pages."""
    of_page = select(page.c.site, block.c.digest, block.c.page_id).join(page, page.c.id == block.c.page_id)
    seen_there = select(page.c.site, sighting.c.digest, sighting.c.page_id).join(page, page.c.id == sighting.c.page_id)
    shown = of_page.where(block.c.gone_at.is_(None), block.c.page_id.in_(pages)).union(
        seen_there.where(sighting.c.gone_at.is_(None), sighting.c.page_id.in_(pages))
    )
    counts = Counter((row.site, row.digest) for row in connection.execute(shown) if row.digest != NO_TERMS)
    _write_counts(connection, {key: times * number for key, number in counts.items()})


def _add_to_site(connection: Connection, site: str, more: int) -> int:
    """Count a site's pages, lock its row, and return how many they are."""
    return int(connection.execute(_COUNT_PAGES, {"site": site, "more": more}).scalar_one())


def _count_changes(connection: Connection, changes: Iterable[BoilerplateChange]) -> None:
    counts = Counter[tuple[str, int]]()
    for change in changes:
        counts.update((change.site, digest) for digest in change.shown)
        counts.subtract((change.site, digest) for digest in change.lost)
    _write_counts(connection, counts)


def _write_counts(connection: Connection, counts: Mapping[tuple[str, int], int]) -> None:
    rows = [(site, signed(digest), number) for (site, digest), number in sorted(counts.items()) if number]
    if rows:
        connection.execute(_COUNT_TEXTS[connection.dialect.name], {"rows": json.dumps(rows)})
    lost = [{"of_site": site, "of_digest": digest} for (site, digest), number in sorted(counts.items()) if number < 0]
    if lost:
        connection.execute(_DELETE_UNSEEN, lost)

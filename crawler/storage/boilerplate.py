"""The texts and patterns that several pages of a site share: its boilerplate and its template.

**Boilerplate** is text that many pages of a site show. Table `document_frequency` counts, for each text of a site (by
the digest of its terms), the pages that show it now; table `site` counts the pages. Each batch that stores a page of a
site ends with a new decision about the site's texts, in both directions: a text that reaches the bounds becomes
boilerplate, and one that falls below them, because pages without it came or pages lost it, is restored. Nothing else is
written: blocks and sightings stay, and the views leave boilerplate out.

Copies have their texts in common too: the pages of three versions of a manual, a page under three addresses. So near-
duplicates count once with their original, and a text becomes boilerplate only with a page of which it is a small part,
together with all texts that are at least as frequent: at most half of the page's words.

The decision locks the site's row, after all other writes of the batch, site by site in order. So the counts are exact
with any number of writers, and no two of them wait for each other.

**The template** has the patterns that the method `ce` drops. `crawler/reclean.py` learns it from stored pages, and
crawls read it. The caller owns the transaction.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, func, insert, select, text, update

from cleaning.fingerprint import has_terms
from crawler.storage.tables import (
    batched,
    block,
    document_frequency,
    near_duplicate_page,
    page,
    sighting,
    signed,
    template,
    to_json,
    unsigned,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, CompoundSelect, Select
    from sqlalchemy.engine import Connection

    from cleaning.page_fingerprint import FingerprintedBlock
    from crawler.page_comparison import EarlierRow
    from crawler.storage.change_log import ChangeLog

_JSON_ROWS = {"sqlite": "json_each(:rows)", "postgresql": "json_array_elements(CAST(:rows AS json)) AS each(value)"}
_SITE_OF_ROW = "CAST(value ->> 0 AS text)"
# `pages > 1` as a literal: the partial index on it then serves.
_IS_FREQUENT = "pages > 1 AND pages >= CAST(value ->> 1 AS integer)"
_ADD_TO_SITES = {
    dialect: text(f"""
    INSERT INTO site (site, pages) SELECT {_SITE_OF_ROW}, CAST(value ->> 1 AS integer) FROM {rows} WHERE true
    ON CONFLICT (site) DO UPDATE SET pages = site.pages + excluded.pages RETURNING site, pages
    """)  # noqa: S608 — of constants
    for dialect, rows in _JSON_ROWS.items()
}
_ADD_TO_TEXTS = {
    dialect: text(f"""
    INSERT INTO document_frequency (site, digest, pages)
    SELECT value ->> 0, CAST(value ->> 1 AS bigint), CAST(value ->> 2 AS integer) FROM {rows} WHERE true
    ON CONFLICT (site, digest) DO UPDATE SET pages = document_frequency.pages + excluded.pages
    """)  # noqa: S608 — of constants
    for dialect, rows in _JSON_ROWS.items()
}
_OF_TEXT = (
    document_frequency.c.site == bindparam("of_site"),
    document_frequency.c.digest == bindparam("of_digest"),
)
_DELETE_UNSEEN = delete(document_frequency).where(*_OF_TEXT, document_frequency.c.pages <= 0)
_BOILERPLATE_OF_SITES = select(document_frequency.c.site, document_frequency.c.digest).where(
    document_frequency.c.site.in_(bindparam("sites", expanding=True)),
    document_frequency.c.boilerplate_since.is_not(None),
)
_DECISIONS = {
    dialect: text(f"""
    SELECT site, digest, true FROM {rows} JOIN document_frequency
    ON site = {_SITE_OF_ROW} AND {_IS_FREQUENT} AND boilerplate_since IS NULL
    UNION ALL
    SELECT site, digest, false FROM {rows} JOIN document_frequency
    ON site = {_SITE_OF_ROW} AND boilerplate_since IS NOT NULL AND pages < CAST(value ->> 1 AS integer)
    """)  # noqa: S608 — of constants
    for dialect, rows in _JSON_ROWS.items()
}
_FREQUENT = {
    dialect: text(f"""
    SELECT site, digest, pages FROM {rows} JOIN document_frequency ON site = {_SITE_OF_ROW} AND {_IS_FREQUENT}
    """)  # noqa: S608 — of constants
    for dialect, rows in _JSON_ROWS.items()
}
_MARK_BOILERPLATE = (
    update(document_frequency).where(*_OF_TEXT).values(boilerplate_since=bindparam("at"), changed=bindparam("sequence"))
)
_RESTORE = update(document_frequency).where(*_OF_TEXT).values(boilerplate_since=None, changed=bindparam("sequence"))
_NEVER = 2**31 - 1
MIN_SHARE = 0.1
"""A text on a tenth of a site's pages belongs to the site. On few pages, BOILERPLATE_MIN_PAGES is what counts."""


@dataclass(frozen=True, slots=True)
class BoilerplateBounds:
    """The smallest number and share of a site's pages that make a text boilerplate; 0 pages disables it."""

    min_pages: int = 0
    min_share: float = 0.0

    def needed(self, site_pages: int) -> int:
        """Return the number of a site's pages that must show a text to make it boilerplate."""
        # Rounded before it is rounded up: 0.07 * 100 is 7.000000000000001.
        share = math.ceil(round(self.min_share * site_pages, 6))
        return max(self.min_pages, share) if self.min_pages else _NEVER


@dataclass(frozen=True, slots=True)
class BoilerplateChange:
    """The effect of a visit: the number of pages that its site gains, and the digests that the page gains and loses.

    `shown` has the words of each text that the page shows now, by digest.
    """

    site: str
    pages: int
    gained: frozenset[int]
    lost: frozenset[int]
    shown: Mapping[int, int]

    @classmethod
    def of(
        cls, site: str, earlier: Iterable[EarlierRow] | None, candidates: Iterable[FingerprintedBlock]
    ) -> BoilerplateChange:
        """Return the change from the page's earlier rows to the candidates; `earlier` is None for a new page."""
        before = frozenset(row.digest for row in earlier or () if not row.gone and has_terms(row.digest))
        shown = Counter[int]()
        for candidate in candidates:
            shown[candidate.digest] += candidate.decision.block.words
        now = frozenset(filter(has_terms, shown))
        return cls(site, int(earlier is None), now - before, before - now, shown)

    def small_parts(self, frequent: Mapping[int, int]) -> Iterator[int]:
        """Yield the texts of the page that are, with all that are at least as frequent, at most half of its words.

        `frequent` has the numbers of pages of the texts that may be boilerplate, by digest.
        """
        rest = sum(self.shown.values()) / 2
        own = sorted((digest for digest in self.shown if digest in frequent), key=frequent.__getitem__, reverse=True)
        for _, digests in groupby(own, key=frequent.__getitem__):
            equally_frequent = list(digests)
            rest -= sum(self.shown[digest] for digest in equally_frequent)
            if rest < 0:
                return
            yield from equally_frequent

    @classmethod
    def of_retired(cls, site: str, earlier: Iterable[EarlierRow]) -> BoilerplateChange:
        """Return the change of a page that is retired, from its earlier rows."""
        return cls(site, -1, frozenset(), cls.of(site, earlier, ()).lost, {})


def read_boilerplate(connection: Connection, sites: Collection[str]) -> dict[str, frozenset[int]]:
    """Return, by site, the digests of the texts that are boilerplate."""
    digests: dict[str, set[int]] = {site: set() for site in sites}
    for part in batched(sorted(digests)):
        for row in connection.execute(_BOILERPLATE_OF_SITES, {"sites": part}):
            digests[row.site].add(row.digest)
    return {site: frozenset(of_site) for site, of_site in digests.items()}


def write_boilerplate(
    connection: Connection,
    changes: Sequence[BoilerplateChange],
    bounds: BoilerplateBounds,
    log: ChangeLog,
    now: datetime,
) -> None:
    """Write the counts and decide again what is boilerplate on the sites, as the last write of a batch."""
    more = Counter[str]()
    for change in changes:
        more[change.site] += change.pages
    if not more:
        return
    needed = {site: bounds.needed(number) for site, number in _add_to_sites(connection, more).items()}
    _add_changes(connection, changes)
    waiting: dict[str, set[int]] = {site: set() for site in needed}
    restored = []
    decisions = connection.execute(_DECISIONS[connection.dialect.name], {"rows": to_json(sorted(needed.items()))})
    for site, digest, is_frequent in decisions:
        if is_frequent:
            waiting[site].add(unsigned(digest))
        else:
            restored.append({"of_site": site, "of_digest": unsigned(digest), "sequence": log.sequence})
    if restored:
        connection.execute(_RESTORE, restored)
    concerned = [change for change in changes if not waiting[change.site].isdisjoint(change.shown)]
    new = [
        {"of_site": site, "of_digest": digest, "sequence": log.sequence, "at": now}
        for site, digests in _find_new(connection, concerned, needed, waiting)
        for digest in digests
    ]
    if new:
        connection.execute(_MARK_BOILERPLATE, new)


def _find_new(
    connection: Connection,
    changes: Sequence[BoilerplateChange],
    needed: Mapping[str, int],
    waiting: Mapping[str, set[int]],
) -> Iterator[tuple[str, list[int]]]:
    """Yield the sites of these changes, each with the digests of the texts that become boilerplate."""
    sites = sorted({change.site for change in changes})
    if not sites:
        return
    frequent: dict[str, dict[int, int]] = {site: {} for site in sites}
    rows = to_json([(site, needed[site]) for site in sites])
    for site, digest, pages in connection.execute(_FREQUENT[connection.dialect.name], {"rows": rows}):
        frequent[site][unsigned(digest)] = pages
    for site in sites:
        parts = (change.small_parts(frequent[site]) for change in changes if change.site == site)
        new = waiting[site].intersection(chain.from_iterable(parts))
        copies = _count_copies(connection, site, sorted(new))
        yield site, sorted(digest for digest in new if frequent[site][digest] - copies[digest] >= needed[site])


def count_pages(connection: Connection, pages: Select[int], times: int) -> None:
    """Count the selected pages and their texts `times` more; -1 removes them. Nobody else may write meanwhile.

    Retired pages are not counted: their texts were removed when they retired.
    """
    sites = select(page.c.site).where(page.c.id.in_(pages), page.c.retired_at.is_(None))
    numbers = Counter(connection.scalars(sites))
    if numbers:
        _add_to_sites(connection, {site: times * number for site, number in numbers.items()})
    count_texts(connection, pages, times)
    connection.execute(text("DELETE FROM site WHERE pages <= 0"))


def count_texts(connection: Connection, pages: Select[int], times: int) -> None:
    """Count the texts of the selected pages `times` more, as `count_pages` does, but not the pages."""
    rows = connection.execute(_texts_of(pages))
    counts = Counter((row.site, row.digest) for row in rows if has_terms(row.digest))
    _add_to_texts(connection, {key: times * number for key, number in counts.items()})


def _texts_of(pages: Select[int]) -> CompoundSelect[Any]:
    """Return the query for the texts of the selected pages, each once for a page."""
    of_page = select(page.c.site, block.c.digest, block.c.page_id).join(page, page.c.id == block.c.page_id)
    of_sighting = select(page.c.site, sighting.c.digest, sighting.c.page_id).join(page, page.c.id == sighting.c.page_id)
    return of_page.where(block.c.gone_at.is_(None), block.c.page_id.in_(pages)).union(
        of_sighting.where(sighting.c.gone_at.is_(None), sighting.c.page_id.in_(pages))
    )


def _count_copies(connection: Connection, site: str, digests: Sequence[int]) -> Counter[int]:
    """Return, by digest, the number of near-duplicates on a site, of pages of the site, that show the text."""
    if not digests:
        return Counter()
    original = page.alias("original")
    near = select(page.c.id).join(near_duplicate_page, near_duplicate_page.c.page_id == page.c.id)
    near = near.join(original, original.c.id == near_duplicate_page.c.original_id)
    texts = _texts_of(near.where(page.c.site == site, original.c.site == site)).subquery()
    counts = Counter[int]()
    for part in batched(digests):
        counted = select(texts.c.digest, func.count()).where(texts.c.digest.in_(part)).group_by(texts.c.digest)
        counts.update({row[0]: row[1] for row in connection.execute(counted)})
    return counts


def _add_to_sites(connection: Connection, more: Mapping[str, int]) -> dict[str, int]:
    """Add to the sites' numbers of pages, lock their rows in order, and return the new numbers."""
    rows = connection.execute(_ADD_TO_SITES[connection.dialect.name], {"rows": to_json(sorted(more.items()))})
    return {row.site: row.pages for row in rows}


def _add_changes(connection: Connection, changes: Iterable[BoilerplateChange]) -> None:
    counts = Counter[tuple[str, int]]()
    for change in changes:
        counts.update((change.site, digest) for digest in change.gained)
        counts.subtract((change.site, digest) for digest in change.lost)
    _add_to_texts(connection, counts)


def _add_to_texts(connection: Connection, counts: Mapping[tuple[str, int], int]) -> None:
    rows = [(site, signed(digest), number) for (site, digest), number in sorted(counts.items()) if number]
    if rows:
        connection.execute(_ADD_TO_TEXTS[connection.dialect.name], {"rows": to_json(rows)})
    lost = [{"of_site": site, "of_digest": digest} for (site, digest), number in sorted(counts.items()) if number < 0]
    if lost:
        connection.execute(_DELETE_UNSEEN, lost)


@dataclass(frozen=True, slots=True)
class SiteTemplate:
    """The patterns of a site, the number of pages that they were learned from, and when.

    `applied` is True once all pages of the site that need the template have been cleaned by it.
    """

    site: str
    patterns: frozenset[int]
    pages: int
    learned: datetime
    applied: bool = False


def read_template(connection: Connection, site: str) -> SiteTemplate | None:
    """Return the template of a site; None if the site has no template yet."""
    row = connection.execute(select(template).where(template.c.site == site)).first()
    if row is None:
        return None
    return SiteTemplate(site, frozenset(row.patterns), row.pages, row.learned, applied=row.applied is not None)


def write_template(connection: Connection, learned: SiteTemplate) -> None:
    """Store a template in place of the site's former one."""
    delete_template(connection, learned.site)
    values = {"site": learned.site, "pages": learned.pages, "learned": learned.learned}
    applied = learned.learned if learned.applied else None
    connection.execute(insert(template), values | {"patterns": sorted(learned.patterns), "applied": applied})


def mark_applied(connection: Connection, learned: SiteTemplate, now: datetime) -> None:
    """Record that all pages of the site are cleaned by this template, unless there is a newer one."""
    same = (template.c.site == learned.site, template.c.learned == learned.learned)
    connection.execute(update(template).where(*same).values(applied=now))


def delete_template(connection: Connection, site: str) -> None:
    connection.execute(delete(template).where(template.c.site == site))


def count_learnable_pages(connection: Connection, site: str) -> int:
    """Return the number of different pages with HTML of a site: a template can be learned from these."""
    return connection.scalar(select(func.count(page.c.body_hash.distinct())).where(*learnable(site))) or 0


def learnable(site: str) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of the pages that the template of a site is learned from."""
    return page.c.site == site, page.c.retired_at.is_(None), page.c.html.is_not(None)

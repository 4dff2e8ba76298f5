"""Which site repeats which: the articles and texts of one site that another one shows too, earliest seen first.

The site where a text was stored first counts as its original. That is the one which a crawl saw first; who published
first, only the dates of the pages can say. Texts of fewer than five words and boilerplate of the copying site are not
counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from sqlalchemy import case, func, not_, select

from crawler.reading.text_diff import count_words, dice_similarity, diff_words
from crawler.storage.queries import is_boilerplate, shown_texts
from crawler.storage.tables import block, near_duplicate_page, page, sighting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from crawler.reading.text_diff import DiffPart

TEXT_WORDS_MIN = 5
"""Shorter texts, such as "Read more", are repeated without being copied."""

ARTICLE_WORDS_MIN = 60
"""A page that repeats this number of words of one page of another site is a copied article."""

_PAGES_AT_ONCE = 500
PAGES_SCANNED_MAX = 2_000
"""Pages of the copying site that are read for one answer."""

# Two texts that are less similar are not two versions of one; of many texts on both sides none are paired by likeness.
_SIMILARITY_MIN = 0.5
_COMPARED_MAX = 2_500
_TEXTS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class SiteCopies:
    """What a `site` repeats of another one, which was seen first.

    `articles` are pages that repeat 60 words or more of one page, `pages` all that repeat a text. `first` and `latest`
    are when a repeated text was first seen.
    """

    original: str
    site: str
    articles: int
    pages: int
    texts: int
    first: datetime
    latest: datetime


@dataclass(frozen=True, slots=True)
class CopiedPage:
    """One of the two pages of a copy."""

    id: int
    url: str
    title: str | None
    language: str | None
    published: str | None
    first_seen: datetime


@dataclass(frozen=True, slots=True)
class PageCopies:
    """A page that repeats texts of a page of another site; `distance` is in bits, if it nearly repeats all of it."""

    original: CopiedPage
    copy: CopiedPage
    texts: int
    words: int
    distance: int | None

    @property
    def is_article(self) -> bool:
        """Whether so much is repeated that the page is a copied article."""
        return self.words >= ARTICLE_WORDS_MIN


@dataclass(frozen=True, slots=True)
class TextPair:
    """A text of the original beside that of the copy; None where a page has none. `parts` say how the two differ."""

    original: str | None
    copy: str | None
    parts: tuple[DiffPart, ...]


_IS_COPIED = (
    sighting.c.gone_at.is_(None),
    block.c.words >= TEXT_WORDS_MIN,
    page.c.site != block.c.site,
    not_(is_boilerplate(sighting).element),
)
_COPIES = sighting.join(block, block.c.id == sighting.c.block_id).join(page, page.c.id == sighting.c.page_id)


def read_site_copies(connection: Connection, limit: int) -> list[SiteCopies]:
    """Return the pairs of sites where one repeats the other, with most articles first.

    All repetitions are counted for it.
    """
    sites = (block.c.site.label("original"), page.c.site.label("site"))
    pages = (block.c.page_id.label("original_id"), sighting.c.page_id.label("copy_id"))
    of_pages = (
        select(
            *sites,
            *pages,
            func.count().label("texts"),
            func.sum(sighting.c.words).label("words"),
            func.min(sighting.c.first_seen).label("first"),
            func.max(sighting.c.first_seen).label("latest"),
        )
        .select_from(_COPIES)
        .where(*_IS_COPIED)
        .group_by(*sites, *pages)
        .subquery()
    )
    articles = func.count(case((of_pages.c.words >= ARTICLE_WORDS_MIN, of_pages.c.copy_id)).distinct())
    texts = func.sum(of_pages.c.texts)
    statement = (
        select(
            of_pages.c.original,
            of_pages.c.site,
            articles,
            func.count(of_pages.c.copy_id.distinct()),
            texts,
            func.min(of_pages.c.first),
            func.max(of_pages.c.latest),
        )
        .group_by(of_pages.c.original, of_pages.c.site)
        .order_by(articles.desc(), texts.desc(), of_pages.c.original, of_pages.c.site)
        .limit(limit)
    )
    return [
        SiteCopies(original, site, article_count, page_count, int(text_count), first, latest)
        for original, site, article_count, page_count, text_count, first, latest in connection.execute(statement)
    ]


def read_page_copies(
    connection: Connection, original: str, site: str, limit: int, after: int = 0
) -> tuple[list[PageCopies], int | None]:
    """Return the pages of a site that repeat the original one, earliest stored first, and the id to go on after.

    At most 2,000 pages of the site, those behind the page `after`, are looked through; None ends the list.
    """
    copies: list[PageCopies] = []
    for _ in range(PAGES_SCANNED_MAX // _PAGES_AT_ONCE):
        of_site = select(page.c.id).where(page.c.site == site, page.c.id > after)
        ids = connection.scalars(of_site.order_by(page.c.id).limit(_PAGES_AT_ONCE)).all()
        if not ids:
            return copies, None
        copies += _copies_on(connection, original, ids)
        after = ids[-1]
        if len(copies) > limit:
            last = copies[limit - 1].copy.id
            # All rows of a page stay together, so that the list can go on behind the page.
            kept = [row for row in copies if row.copy.id <= last]
            return kept, last
        if len(ids) < _PAGES_AT_ONCE:
            return copies, None
    return copies, after


def iterate_page_copies(connection: Connection, original: str, site: str) -> Iterator[PageCopies]:
    """Yield all pages of a site that repeat the original one, earliest stored first."""
    after: int | None = 0
    while after is not None:
        copies, after = read_page_copies(connection, original, site, PAGES_SCANNED_MAX, after)
        yield from copies


def _copies_on(connection: Connection, original: str, ids: Sequence[int]) -> list[PageCopies]:
    pair = (sighting.c.page_id.label("copy_id"), block.c.page_id.label("original_id"))
    counted = (
        select(*pair, func.count().label("texts"), func.sum(sighting.c.words).label("words"))
        .select_from(_COPIES)
        .where(sighting.c.page_id.in_(ids), block.c.site == original, *_IS_COPIED)
        .group_by(*pair)
        .order_by(sighting.c.page_id, func.sum(sighting.c.words).desc(), block.c.page_id)
    )
    rows = connection.execute(counted).all()
    pages = _read_pages(connection, {number for row in rows for number in (row.copy_id, row.original_id)})
    near = select(near_duplicate_page).where(near_duplicate_page.c.page_id.in_({row.copy_id for row in rows}))
    distances = {(row.page_id, row.original_id): row.distance for row in connection.execute(near)}
    return [
        PageCopies(
            original=pages[row.original_id],
            copy=pages[row.copy_id],
            texts=row.texts,
            words=int(row.words),
            distance=distances.get((row.copy_id, row.original_id)),
        )
        for row in rows
    ]


def _read_pages(connection: Connection, ids: set[int]) -> dict[int, CopiedPage]:
    names = ("id", "url", "title", "language", "published", "first_seen")
    columns = select(*(page.c[name] for name in names)).where(page.c.id.in_(ids))
    return {row.id: CopiedPage(*row) for row in connection.execute(columns)}


def read_pair(connection: Connection, original_id: int, copy_id: int) -> list[CopiedPage]:
    """Return the two pages, as far as they are stored."""
    pages = _read_pages(connection, {original_id, copy_id})
    return [pages[page_id] for page_id in (original_id, copy_id) if page_id in pages]


_SELECT_TEXTS: Any = shown_texts("position", "text", "block_id", "boilerplate").order_by("position").limit(_TEXTS_MAX)


def read_beside(connection: Connection, original_id: int, copy_id: int) -> list[TextPair]:
    """Return the texts of two pages side by side, in the order of the copy; boilerplate is left out."""
    originals, copies = (
        [row for row in connection.execute(_SELECT_TEXTS, {"page": page_id}) if not row.boilerplate]
        for page_id in (original_id, copy_id)
    )
    partners = _partners(originals, copies)
    return list(_pairs([row.text for row in originals], [row.text for row in copies], partners))


def _pairs(originals: Sequence[str], copies: Sequence[str], partners: dict[int, int]) -> Iterator[TextPair]:
    """Yield the pairs; a text that only the original has stands before the next one that both have."""
    paired = set(partners.values())
    written = 0
    for place, text in enumerate(copies):
        partner = partners.get(place)
        if partner is None:
            yield TextPair(None, text, ())
            continue
        for alone in range(written, partner):
            if alone not in paired:
                yield TextPair(originals[alone], None, ())
        written = max(written, partner + 1)
        original = originals[partner]
        yield TextPair(original, text, () if original == text else tuple(diff_words(original, text)))
    for alone in range(written, len(originals)):
        if alone not in paired:
            yield TextPair(originals[alone], None, ())


def _partners(originals: Sequence[Any], copies: Sequence[Any]) -> dict[int, int]:
    """Return the place of the original of each text of the copy: the same stored block, or the most similar."""
    waiting: dict[int, list[int]] = {}
    for place, row in enumerate(originals):
        waiting.setdefault(row.block_id, []).append(place)
    partners: dict[int, int] = {}
    for place, row in enumerate(copies):
        if places := waiting.get(row.block_id):
            partners[place] = places.pop(0)
    paired = set(partners.values())
    old = [place for place in range(len(originals)) if place not in paired]
    new = [place for place in range(len(copies)) if place not in partners]
    if len(old) * len(new) > _COMPARED_MAX:
        return partners
    words = {
        (side, place): count_words(rows[place].text)
        for side, rows, places in ((0, originals, old), (1, copies, new))
        for place in places
    }
    alike = sorted(
        (-likeness, abs(i - j), i, j)
        for i, j in product(old, new)
        if (likeness := dice_similarity(words[0, i], words[1, j])) >= _SIMILARITY_MIN
    )
    for _, _, i, j in alike:
        if j not in partners and i not in paired:
            partners[j] = i
            paired.add(i)
    return partners

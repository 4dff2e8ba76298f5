"""Copies: which site repeats which, the pages of two sites, and two pages side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import convert

from crawler.errors import NotStoredError
from crawler.reading import copies
from crawler.urls import parse_site
from crawler.web.records import (
    Beside,
    CopiedPageRecord,
    CopyPair,
    CopyPairs,
    DiffWords,
    PageCopiesRecord,
    SiteCopiesList,
    SiteCopiesRecord,
    TextBeside,
)
from crawler.web.snapshot import ROWS, number_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawler.reading.copies import CopiedPage, TextPair
    from crawler.web.records import BesideQuestion, CopiesQuestion, CopyPairQuestion
    from crawler.web.snapshot import CachedValue, DatabaseSnapshot

_PAIRS_MAX = 1_000


def read_copies(
    snapshot: DatabaseSnapshot, question: CopiesQuestion, counted: CachedValue[SiteCopiesList]
) -> SiteCopiesList:
    """Return the pairs of sites, or those of one site; all repetitions are counted for it, so the counts are kept."""
    counts = counted.read(lambda: _count(snapshot))
    site = parse_site(question.site) if question.site.strip() else None
    pairs = [pair for pair in counts.pairs if site in (None, pair.site, pair.original)]
    pairs.sort(key=_ORDERS[question.order])
    start = number_of(question.cursor, 0)
    following = str(start + ROWS) if len(pairs) > start + ROWS else None
    previous = str(max(0, start - ROWS)) if start else None
    return SiteCopiesList(pairs[start : start + ROWS], counts.counted, following, previous, len(pairs))


_ORDERS: dict[str, Callable[[SiteCopiesRecord], Any]] = {
    "articles": lambda pair: (-pair.articles, -pair.texts, pair.original, pair.site),
    "pages": lambda pair: (-pair.pages, pair.original, pair.site),
    "texts": lambda pair: (-pair.texts, pair.original, pair.site),
    "original": lambda pair: (pair.original, pair.site),
    "site": lambda pair: (pair.site, pair.original),
    "first": lambda pair: (pair.first, pair.original, pair.site),
    "latest": lambda pair: (-pair.latest.timestamp(), pair.original, pair.site),
}


def _count(snapshot: DatabaseSnapshot) -> SiteCopiesList:
    pairs = copies.read_site_copies(snapshot.connection, _PAIRS_MAX)
    records = [convert(pair, SiteCopiesRecord, from_attributes=True) for pair in pairs]
    return SiteCopiesList(pairs=records, counted=snapshot.now, next=None)


def read_copy_pairs(snapshot: DatabaseSnapshot, question: CopyPairQuestion) -> CopyPairs:
    """Return the pages of a site that repeat pages of another one, the earliest stored first."""
    original, site = (parse_site(name) for name in (question.original, question.site))
    after = number_of(question.cursor, 0)
    rows, following = copies.read_page_copies(snapshot.connection, original, site, ROWS, after)
    return CopyPairs(
        original=original,
        site=site,
        copies=[
            PageCopiesRecord(
                original=_page(row.original),
                copy=_page(row.copy),
                texts=row.texts,
                words=row.words,
                article=row.is_article,
                distance=row.distance,
            )
            for row in rows
        ],
        next=None if following is None else str(following),
    )


def read_beside(snapshot: DatabaseSnapshot, question: BesideQuestion) -> Beside:
    """Return two pages side by side; raises NotStoredError if one of them is not stored."""
    pages = copies.read_pair(snapshot.connection, question.other, question.page)
    if len(pages) < len({question.other, question.page}):
        missing = {question.other, question.page} - {page.id for page in pages}
        raise NotStoredError(f"there is no page {min(missing)} in the database")
    rows = copies.read_beside(snapshot.connection, question.other, question.page)
    return Beside(
        pair=CopyPair(original=_page(pages[0]), copy=_page(pages[-1])),
        texts=[_text(row) for row in rows],
        identical=sum(row.original == row.copy for row in rows),
        edited=sum(bool(row.parts) for row in rows),
    )


def _page(page: CopiedPage) -> CopiedPageRecord:
    return convert(page, CopiedPageRecord, from_attributes=True)


def _text(row: TextPair) -> TextBeside:
    words = [DiffWords(change=part.change.value, text=part.text) for part in row.parts]
    return TextBeside(original=row.original, copy=row.copy, words=words)

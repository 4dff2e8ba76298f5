"""Search for pages by the words of their blocks, as `scrapy search` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace
from sqlalchemy import select

from cleaning.declare import day
from crawler.errors import NotStoredError, QueryError
from crawler.reading.feedback import search_like
from crawler.reading.nearest_query import find_nearest_query
from crawler.reading.query_language import parse_query
from crawler.reading.search import Rank, search_with_counts
from crawler.reading.search_filters import SearchFilters
from crawler.reports.dropped_texts import find_dropped
from crawler.storage.queries import expect_site
from crawler.storage.tables import site
from crawler.web.records import (
    DroppedAnswer,
    DroppedHit,
    DroppedPlace,
    FacetEntry,
    MatchCounts,
    NamedSite,
    PageLink,
    SearchAnswer,
    SearchedPage,
    SearchFacet,
    SearchHit,
    TextPart,
)
from crawler.web.snapshot import number_of
from crawler.web.views.pages import find_page, read_head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawler.reading.facets import SearchCounts
    from crawler.reading.search import Excerpt, FoundPage, Hit
    from crawler.reports.dropped_texts import DroppedText, DroppedTexts
    from crawler.web.records import SearchQuestion
    from crawler.web.snapshot import DatabaseSnapshot

_PAGES = 20
_SITES_MAX = 5
_PAGES_MAX = 200  # beyond them, other words find what is meant
_DROPPED_SECONDS = 1.5  # an answer is made of as many stored pages as are cleaned in it
_DROPPED_MAX = 50


def read_search(snapshot: DatabaseSnapshot, question: SearchQuestion) -> SearchAnswer:
    """Return the pages that match, none for an empty query; the answer says what is wrong with a malformed one."""
    if question.like is not None:
        return _search_like(snapshot, question, question.like)
    if not question.q.strip():
        return SearchAnswer(pages=[], problem=None, next=None)
    answer = _search_texts(snapshot, question)
    if question.cursor is not None or len(question.q.split()) > 1:
        return answer
    page_at_address = _page_at(snapshot, question.q.strip())
    sites = _sites(snapshot, question.q.strip().lower())
    return replace(answer, page=page_at_address, sites=sites)


def _page_at(snapshot: DatabaseSnapshot, address: str) -> PageLink | None:
    """Return the page at an address; None if the query is none, or no page is there."""
    if not address.startswith(("http://", "https://")):
        return None
    try:
        page_id = find_page(snapshot.connection, address)
    except NotStoredError:
        return None
    head = read_head(snapshot.connection, page_id)
    return PageLink(id=head.id, url=head.url, title=head.title, distance=0)


def _sites(snapshot: DatabaseSnapshot, begins: str) -> list[NamedSite]:
    # In byte order, so that the index serves; U+10FFFF comes after every character.
    named = select(site.c.site, site.c.pages).where(site.c.site >= begins, site.c.site < f"{begins}\U0010ffff")
    rows = snapshot.connection.execute(named.order_by(site.c.site).limit(_SITES_MAX))
    return [NamedSite(site=row.site, pages=row.pages) for row in rows]


def _search_like(snapshot: DatabaseSnapshot, question: SearchQuestion, block_id: int) -> SearchAnswer:
    """Return the pages with the blocks that are most like one."""
    try:
        filters = _filters(question)
        pages = search_like(snapshot.connection, [block_id], question.q, filters=filters, limit=_PAGES)
    except QueryError as error:
        return SearchAnswer(pages=[], problem=str(error), next=None)
    return SearchAnswer(pages=[_page(page) for page in pages], problem=None, next=None)


def _search_texts(snapshot: DatabaseSnapshot, question: SearchQuestion) -> SearchAnswer:
    try:
        start = min(number_of(question.cursor, 0), _PAGES_MAX)
        limit = min(start + _PAGES + 1, _PAGES_MAX)
        filters = _filters(question)
        result = search_with_counts(
            snapshot.connection,
            question.q,
            rank=Rank(question.rank),
            filters=filters,
            limit=limit,
            today=snapshot.now.date(),
        )
        if not result.pages and filters.site is not None:
            expect_site(snapshot.connection, filters.site)
        dropped = _search_dropped(snapshot, question, filters) if question.dropped else None
    except QueryError as error:
        return SearchAnswer(pages=[], problem=str(error), next=None)
    nearest = None if result.pages else find_nearest_query(snapshot.connection, question.q, filters)
    visible = result.pages[start : start + _PAGES]
    return SearchAnswer(
        pages=[_page(page) for page in visible],
        problem=None,
        next=str(start + _PAGES) if len(result.pages) > start + _PAGES else None,
        previous=str(max(0, start - _PAGES)) if start else None,
        counts=_counts(result.counts),
        dropped=dropped,
        nothing=None if nearest is None else nearest.sentence,
        nearest=None if nearest is None else nearest.query,
    )


def _counts(counts: SearchCounts) -> MatchCounts:
    facets = [
        SearchFacet(facet.name, [FacetEntry(entry.value, entry.count) for entry in facet.values], facet.others)
        for facet in counts.facets
    ]
    return MatchCounts(counts.texts, counts.pages, counts.complete, facets)


def _search_dropped(snapshot: DatabaseSnapshot, question: SearchQuestion, filters: SearchFilters) -> DroppedAnswer:
    query = parse_query(question.q)
    dropped: DroppedTexts = find_dropped(
        snapshot.connection,
        query,
        filters,
        snapshot.config,
        seconds=_DROPPED_SECONDS,
        before=question.before,
    )
    hits = [_dropped_hit(dropped_text) for dropped_text in dropped.texts[:_DROPPED_MAX]]
    return DroppedAnswer(hits, dropped.read, dropped.unread, dropped.before)


def _dropped_hit(dropped: DroppedText) -> DroppedHit:
    return DroppedHit(
        excerpt=list(_parts(dropped.excerpt)),
        kind=dropped.kind,
        reason=dropped.reason.value,
        meaning=dropped.reason.meaning,
        count=dropped.count,
        pages=[DroppedPlace(place.page_id, place.url, place.title, place.position) for place in dropped.pages],
    )


def _filters(question: SearchQuestion) -> SearchFilters:
    """Return the filters of a question; raises QueryError for an invalid date."""
    try:
        since = day().read(question.since.strip()) if question.since.strip() else None
    except ValueError as error:
        raise QueryError(f"since is {question.since!r}: {error}") from error
    words = (question.site, question.section, question.language)
    name, section, language = (value.strip() or None for value in words)
    return SearchFilters.of(name, section, language, since, question.kind or None, question.label.strip() or None)


def _page(result: FoundPage) -> SearchedPage:
    return SearchedPage(
        id=result.page_id,
        url=result.url,
        title=result.title,
        site=result.site,
        section=result.section,
        language=result.language,
        published=result.published,
        hits=[_hit(hit) for hit in result.hits],
    )


def _hit(hit: Hit) -> SearchHit:
    parts = list(_parts(hit.excerpt))
    return SearchHit(block=hit.block_id, rank=hit.rank, kind=hit.kind, pages=hit.pages, excerpt=parts)


def _parts(excerpt: Excerpt) -> Iterator[TextPart]:
    """Yield the pieces of an excerpt, which together are its text."""
    last = 0
    for start, end in excerpt.hits:
        if start > last:
            yield TextPart(text=excerpt.text[last:start], hit=False)
        yield TextPart(text=excerpt.text[start:end], hit=True)
        last = end
    if last < len(excerpt.text):
        yield TextPart(text=excerpt.text[last:], hit=False)

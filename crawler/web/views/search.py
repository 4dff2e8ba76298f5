"""Search for pages by the words of their blocks, as `scrapy search` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cleaning.declare import day
from crawler.errors import QueryError
from crawler.reading.search import Rank, SearchFilters, search
from crawler.storage.queries import expect_site
from crawler.web.records import SearchAnswer, SearchedPage, SearchHit, TextPart
from crawler.web.snapshot import number_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawler.reading.search import Excerpt, FoundPage, Hit
    from crawler.web.records import SearchQuestion
    from crawler.web.snapshot import DatabaseSnapshot

_PAGES = 20
_PAGES_MAX = 200  # beyond them, other words find what is meant


def read_search(snapshot: DatabaseSnapshot, question: SearchQuestion) -> SearchAnswer:
    """Return the pages that match, none for an empty query; the answer says what is wrong with a malformed one."""
    if not question.q.strip():
        return SearchAnswer(pages=[], problem=None, next=None)
    try:
        start = min(number_of(question.cursor, 0), _PAGES_MAX)
        limit = min(start + _PAGES + 1, _PAGES_MAX)
        filters = _filters(question)
        results = search(snapshot.connection, question.q, rank=Rank(question.rank), filters=filters, limit=limit)
        if not results and filters.site is not None:
            expect_site(snapshot.connection, filters.site)
    except QueryError as error:
        return SearchAnswer(pages=[], problem=str(error), next=None)
    visible = results[start : start + _PAGES]
    return SearchAnswer(
        pages=[_page(result) for result in visible],
        problem=None,
        next=str(start + _PAGES) if len(results) > start + _PAGES else None,
    )


def _filters(question: SearchQuestion) -> SearchFilters:
    """Return the filters of a question; raises QueryError for an invalid date."""
    try:
        since = day().read(question.since.strip()) if question.since.strip() else None
    except ValueError as error:
        raise QueryError(f"since is {question.since!r}: {error}") from error
    site, section, language = (value.strip() or None for value in (question.site, question.section, question.language))
    return SearchFilters.of(site, section, language, since)


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

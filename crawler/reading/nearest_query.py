"""What to search for in place of a query that finds nothing: most often a question in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cleaning.terms import stop_words
from crawler.reading.query_language import parse_query, split_query
from crawler.reading.search import count_matching_blocks, search, search_with_counts

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from crawler.reading.search_filters import SearchFilters

_WORDS_TRIED_MAX = 16
"""Of a longer question the rarest words are tried: each is a search."""


@dataclass(frozen=True, slots=True)
class NearestQuery:
    """A sentence that says why a query finds nothing, and a query of some of its words that does; None if none does."""

    sentence: str
    query: str | None = None


def find_nearest_query(connection: Connection, query: str, filters: SearchFilters) -> NearestQuery | None:
    """Return the nearest query to one that finds nothing; None for a query of one word.

    It has the rarest word that is found, and each next rarer one that is found beside those before it, without stop
    words: a common word says less of what is meant.
    """
    wanted, unwanted = split_query(query)
    if len(wanted) == 1:
        return None
    told = "all words must occur in one text"
    stop = stop_words()
    counts = {word: count_matching_blocks(connection, parse_query(word)) for word in wanted if word.lower() not in stop}
    chosen: list[str] = []
    for word in sorted((word for word in counts if counts[word]), key=lambda word: counts[word])[:_WORDS_TRIED_MAX]:
        tried = [other for other in wanted if other in {*chosen, word}]
        if search(connection, " ".join([*tried, *unwanted]), filters=filters, limit=1):
            chosen = tried
    if not chosen:
        return NearestQuery(f"{told}, and none of them is found alone")
    nearest = " ".join([*chosen, *unwanted])
    counted = search_with_counts(connection, nearest, filters=filters, limit=1).counts
    pages = f"{counted.pages:,}{'' if counted.complete else '+'} page{'s' * (counted.pages != 1)}"
    return NearestQuery(f"{told}; the nearest query is {nearest} ({pages})", nearest)

"""Relevance feedback: pages like some blocks, by Rocchio's method (1971).

A query and the blocks that a reader likes become one weighted query: each of its terms has the weight

    alpha * (the term is in the query) + beta * mean over the blocks of (1 + ln tf) * ln(N / df)

with the usual alpha = 1 and beta = 0.75. There are no blocks that the reader dislikes. BM25 ranks by it: a term counts
as often as its weight says, at most four times.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select

from cleaning.terms import Phrase, index_tokens, stop_words
from crawler.errors import QueryError
from crawler.reading.query_language import Query, parse_query
from crawler.reading.search import Rank, count_blocks, search
from crawler.reading.search_filters import SearchFilters
from crawler.storage.tables import block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Connection

    from crawler.reading.search import FoundPage

_ALPHA, _BETA = 1.0, 0.75
_TERMS_MAX = 15
# Of each block, the terms that it has most often are looked up in the index.
_LOOKED_UP_MAX = 40
_REPEATS_MAX = 4
_LIKED_MAX = 20
_CHARS_MIN = 2
_ALL_PAGES = SearchFilters()
_TEXTS = select(block.c.id, block.c.text).where(block.c.id.in_(bindparam("ids", expanding=True)))


def search_like(
    connection: Connection,
    block_ids: Sequence[int],
    query: str = "",
    *,
    filters: SearchFilters = _ALL_PAGES,
    limit: int = 10,
) -> list[FoundPage]:
    """Return at most `limit` pages with blocks like those with these ids, the most similar first, without these blocks.

    `query` may name words that matter too. Empty if no other block has a term of them. Raises QueryError for a block
    that is not stored, for more than 20 blocks and for a malformed query.
    """
    expanded = expand_query(connection, block_ids, query)
    if not expanded.wanted:
        return []
    liked = set(block_ids)
    pages = search(connection, expanded, rank=Rank.BM25, filters=filters, limit=limit + len(liked))
    others = (replace(page, hits=tuple(hit for hit in page.hits if hit.block_id not in liked)) for page in pages)
    return [page for page in others if page.hits][:limit]


def expand_query(connection: Connection, block_ids: Sequence[int], query: str = "") -> Query:
    """Return the query for blocks like these: its phrases are alternatives, repeated as often as their weight says."""
    if not 1 <= len(block_ids) <= _LIKED_MAX:
        raise QueryError(f"{len(block_ids)} blocks are liked; name 1 to {_LIKED_MAX}")
    texts = {row.id: row.text for row in connection.execute(_TEXTS, {"ids": list(block_ids)})}
    if missing := set(block_ids).difference(texts):
        raise QueryError(f"there is no block {min(missing)}; scrapy search shows the numbers of blocks")
    parsed = parse_query(query) if query.strip() else Query(())
    weights: defaultdict[Phrase, float] = defaultdict(float, dict.fromkeys(parsed.phrases, _ALPHA))
    stored = count_blocks(connection)
    for text in texts.values():
        for word, weight in _weigh_terms(connection, text, stored).items():
            if (phrase := Phrase.read(word)) is not None:
                weights[phrase] += _BETA * weight / len(texts)
    strongest = sorted(weights.items(), key=lambda item: (-item[1], item[0].words))[:_TERMS_MAX]
    if not strongest:
        return Query(())
    unit = strongest[0][1] / _REPEATS_MAX
    phrases = [phrase for phrase, weight in strongest for _ in range(max(1, round(weight / unit)))]
    return Query((tuple(phrases),), parsed.unwanted, parsed.title)


def _weigh_terms(connection: Connection, text: str, stored: int) -> dict[str, float]:
    """Return the weights of a text's words by TF-IDF; those that no other block has weigh nothing."""
    stop = stop_words("any")
    words = (word for word in index_tokens(text) if len(word) >= _CHARS_MIN and word not in stop and not word.isdigit())
    weights = {}
    for word, count in Counter(words).most_common(_LOOKED_UP_MAX):
        holding = count_blocks(connection, word)
        if 1 < holding < stored:
            weights[word] = (1 + math.log(count)) * math.log(stored / holding)
    return weights

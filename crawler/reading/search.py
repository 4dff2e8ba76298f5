"""Search the stored blocks and the titles of pages by words, phrases and prefixes.

docs/export.md describes the query language.

    from crawler.reading.search import search
    from crawler.storage.database import opened_engine, read_transaction

    with opened_engine("sqlite:///blocks.db", must_exist=True) as engine, read_transaction(engine) as connection:
        for page in search(connection, 'computer "operating system" -games', limit=5):
            print(page.url, [hit.excerpt.text for hit in page.hits])

`search` parses the query, lets the database find and rank blocks and titles (`best_blocks`), and then looks up the
pages that show the best ones. In the index the id of a title is minus the id of its page.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import bindparam, select, text

from cleaning.terms import Phrase, is_unspaced, token_spans
from crawler.reading.facets import COUNTED_TEXTS, SearchCounts, count_matches
from crawler.reading.query_language import Query, parse_query
from crawler.reading.search_filters import TITLE_KIND, PageCriteria, SearchFilters, SqlText
from crawler.storage.search_index import TITLE_SEPARATOR, SearchableBlock
from crawler.storage.tables import TOKENS_INDEX, batched, block, headline, page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from sqlalchemy.engine import Connection

    from cleaning.terms import TokenSpan

_ALL_PAGES = SearchFilters()

_HITS_PER_PAGE = 3
"""Blocks that are returned of one page."""

_EXCERPT_WIDTH = 240

# Ranks blocks of priority 0 by density, after all others.
_PRIORITY_EPSILON = 1e-9

# Pages are looked up for this many blocks per requested page, and for this many times more if those are not enough.
_BLOCKS_PER_PAGE = 4

_GROWTH = 8

_EXCERPT_LEAD = 60  # characters before the first hit

_EXCERPT_MAX_CHARACTERS = 50_000

_ELLIPSIS = "\u2026"

_BM25_K1, _BM25_B = 1.2, 0.75

_RANK_UNITS = 1e12  # BM25 is rounded to this fraction: the last bits of logarithms differ between servers

_IDF_MIN = 1e-6  # as in FTS5, for words in more than half of all blocks


class Rank(StrEnum):
    """The order of the found blocks."""

    PRIORITY = "priority"
    """Bp = Pb x Kd (Kabir et al. 2015, Eq. 4): the block's priority times the share of its words that match."""
    DENSITY = "density"
    """Kd: the share of the block's words that match. Kabir et al. search raw pages and pages cleaned by ENIW by it."""
    BM25 = "bm25"
    """BM25 as in SQLite's FTS5, with k1 = 1.2 and b = 0.75."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a text, on one line. `hits` are the (start, end) positions of the matches in it."""

    text: str
    hits: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """A found block with its rank, its text and the excerpt around the match. `pages` counts the pages that show it.

    If the page's title matches, it is a hit too: of the kind "title", without a block.
    """

    block_id: int | None
    rank: float
    kind: str
    pages: int
    text: str
    excerpt: Excerpt


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page with its matching blocks, the best first."""

    page_id: int
    url: str
    title: str | None
    site: str
    section: str | None
    language: str | None
    published: str | None
    hits: tuple[Hit, ...]


def search(
    connection: Connection,
    query: str | Query,
    *,
    rank: Rank = Rank.PRIORITY,
    filters: SearchFilters = _ALL_PAGES,
    limit: int = 10,
) -> list[FoundPage]:
    """Return at most `limit` pages with matching blocks, the page with the best block first.

    Only blocks that pages show now and that are not boilerplate are found, and titles of pages that are there. A block
    on several pages is found once: on its own page, if that still shows it and meets the filters. Empty if nothing
    matches. Raises QueryError for a malformed query.
    """
    return _search(connection, query, rank, filters, limit).pages


@dataclass(frozen=True, slots=True)
class CountedSearch:
    """The pages that a search finds, and the counts of all that match."""

    pages: list[FoundPage]
    counts: SearchCounts


def search_with_counts(
    connection: Connection,
    query: str,
    *,
    rank: Rank = Rank.PRIORITY,
    filters: SearchFilters = _ALL_PAGES,
    limit: int = 10,
    today: date | None = None,
) -> CountedSearch:
    """Return what `search` returns, with the counts of the best COUNTED_TEXTS texts; `today` is by default that of UTC.

    Raises QueryError as `search` does.
    """
    result = _search(connection, query, rank, filters, limit, COUNTED_TEXTS + 1)
    ids = [block_id for block_id, _ in result.ranked[: COUNTED_TEXTS + 1]]
    counts = count_matches(connection, result.criteria, ids, today or datetime.now(UTC).date())
    return CountedSearch(result.pages, counts)


@dataclass(frozen=True, slots=True)
class _SearchResult:
    """The pages of a search, and the ids and ranks of the best matching texts."""

    pages: list[FoundPage]
    criteria: PageCriteria
    ranked: list[tuple[int, float]]


def _search(
    connection: Connection, query: str | Query, rank: Rank, filters: SearchFilters, limit: int, least: int = 0
) -> _SearchResult:
    """Search; at least `least` texts are ranked, or all matching ones if they are fewer."""
    parsed = query if isinstance(query, Query) else parse_query(query)
    matcher = _MATCHERS[connection.dialect.name]
    criteria = PageCriteria.of(filters, _title_condition(matcher, parsed))
    of_text = filters.text_condition(matcher.block_id)
    pages = _RankedPages(connection, parsed, criteria, limit)
    read = 0
    most = limit * _BLOCKS_PER_PAGE
    ranking = max(most, least)
    ranked = best_blocks(connection, parsed, rank, criteria, ranking, of_text)
    while True:
        pages.add(ranked[read:most], is_priority=rank is Rank.PRIORITY)
        are_all_ranked = len(ranked) < ranking
        if pages.full or (are_all_ranked and most >= len(ranked)):
            return _SearchResult(pages.read(), criteria, ranked)
        read = most
        most *= _GROWTH
        if most > ranking and not are_all_ranked:
            ranking = most
            ranked = best_blocks(connection, parsed, rank, criteria, ranking, of_text)


@dataclass(frozen=True, slots=True)
class _HitPage:
    """The page that a found block is returned with, and the number of pages that show it."""

    page_id: int
    pages: int


class _RankedPages:
    """Collects pages in the order of their best blocks."""

    def __init__(self, connection: Connection, query: Query, criteria: PageCriteria, limit: int) -> None:
        self._connection = connection
        self._query = query
        self._criteria = criteria
        self._limit = limit
        self._hits: dict[int, list[Hit]] = {}

    @property
    def full(self) -> bool:
        return len(self._hits) >= self._limit

    def add(self, ranked: Sequence[tuple[int, float]], *, is_priority: bool) -> None:
        """Add the next best blocks."""
        for batch in batched(ranked):
            ids = [block_id for block_id, _ in batch]
            hit_pages = _shown_on(self._connection, self._criteria, ids)
            texts = _read_texts(self._connection, list(hit_pages))
            for block_id, rank in batch:
                if block_id in hit_pages:
                    match = texts[block_id]
                    exact = rank * match.priority / (match.priority + _PRIORITY_EPSILON) if is_priority else rank
                    stored_id = block_id if block_id > 0 else None
                    pages = hit_pages[block_id].pages
                    self._add(hit_pages[block_id], Hit(stored_id, exact, match.kind, pages, match.text, _NO_EXCERPT))

    def _add(self, hit_page: _HitPage, hit: Hit) -> None:
        hits = self._hits.get(hit_page.page_id)
        if hits is None and not self.full:
            self._hits[hit_page.page_id] = [hit]
        elif hits is not None and len(hits) < _HITS_PER_PAGE and not _is_repeated(hit, hits):
            hits.append(hit)

    def read(self) -> list[FoundPage]:
        """Return the pages with their blocks."""
        rows = {row.id: row for row in self._connection.execute(_SELECT_PAGES, {"ids": list(self._hits)})}
        return [_found_page(rows[page_id], self._with_excerpts(hits)) for page_id, hits in self._hits.items()]

    def _with_excerpts(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        titles = () if self._query.title is None else self._query.title.phrases
        for hit in hits:
            phrases = self._query.phrases if hit.block_id is not None else (*self._query.phrases, *titles)
            yield replace(hit, excerpt=make_excerpt(hit.text, phrases))


_NO_EXCERPT = Excerpt("", ())

_BOUND_IDS: Any = bindparam("ids", expanding=True)

_SELECT_BLOCKS = select(block.c.id, block.c.kind, block.c.text, block.c.priority).where(block.c.id.in_(_BOUND_IDS))

_SELECT_PAGES = select(
    page.c.id, page.c.url, page.c.title, page.c.site, page.c.section, page.c.language, page.c.published
).where(page.c.id.in_(_BOUND_IDS))


_SELECT_TITLES = (
    select(page.c.id, page.c.title, headline.c.headline)
    .select_from(page.outerjoin(headline))
    .where(page.c.id.in_(_BOUND_IDS))
)


@dataclass(frozen=True, slots=True)
class _FoundText:
    """A block or title that matches."""

    kind: str
    text: str
    priority: float


def _read_texts(connection: Connection, ids: Sequence[int]) -> dict[int, _FoundText]:
    """Return the texts with these ids of the index."""
    rows = connection.execute(_SELECT_BLOCKS, {"ids": [number for number in ids if number > 0]})
    texts = {row.id: _FoundText(row.kind, row.text, row.priority) for row in rows}
    pages = [-number for number in ids if number < 0]
    for row in connection.execute(_SELECT_TITLES, {"ids": pages}) if pages else ():
        if (title := SearchableBlock.of_title(row.id, (row.title, row.headline))) is not None:
            texts[title.block_id] = _FoundText(TITLE_KIND, title.text, title.priority)
    return texts


def _is_repeated(hit: Hit, hits: Iterable[Hit]) -> bool:
    """Return True for a title whose heading is among the hits, and for a heading whose title is."""
    others = [other for other in hits if (other.block_id is None) is not (hit.block_id is None)]
    return any(not _names_of(other).isdisjoint(_names_of(hit)) for other in others)


def _names_of(hit: Hit) -> set[str]:
    """Return the text of a block, or the title and the headline of a page, without regard to case."""
    text = hit.text.casefold()
    return {text} if hit.block_id is not None else set(text.split(f" {TITLE_SEPARATOR} "))


def _shown_on(connection: Connection, criteria: PageCriteria, ids: Sequence[int]) -> dict[int, _HitPage]:
    """Return where each block is shown. Blocks that no page shows are left out."""
    titled = [-number for number in ids if number < 0]
    rows = connection.execute(criteria.pages_of_blocks, {"ids": list(ids), "titled": titled, **criteria.values})
    return {row.block_id: _HitPage(row.own_page or row.first_page, row.pages) for row in rows}


def _found_page(row: Any, hits: Iterator[Hit]) -> FoundPage:
    return FoundPage(row.id, row.url, row.title, row.site, row.section, row.language, row.published, tuple(hits))


_COLLECTION_SIZE = text(
    "SELECT CAST(coalesce(sum(blocks), 0) AS bigint), CAST(coalesce(sum(length), 0) AS bigint) FROM search_total"
)

# SQLite counts the rows of a table fast enough, and keeps no totals.
_COUNT_BLOCKS = {
    "sqlite": text("SELECT count(*) FROM block_tokens"),
    "postgresql": text("SELECT coalesce(sum(blocks), 0) FROM search_total"),
}

_VECTOR = "array_to_tsvector(string_to_array(btrim(tokens), '  '))"


def best_blocks(
    connection: Connection, query: Query, rank: Rank, criteria: PageCriteria, most: int, of_text: SqlText | None = None
) -> list[tuple[int, float]]:
    """Return the ids and ranks of at most `most` matching blocks and titles, the best first.

    Only with criteria does the query check that a page shows the block.
    """
    matching = _MATCHERS[connection.dialect.name]
    titles = query.title
    only_titles = not query.wanted and titles is not None
    wanted = Query(titles.wanted, query.unwanted) if only_titles and titles is not None else query
    ranked = matching.ranked(connection, wanted, rank)
    sql = ranked.sql
    if only_titles:
        sql += f" AND {matching.block_id} < 0"
    values = {**ranked.values, **criteria.values, "most": most}
    if of_text is not None:
        sql += f" AND {of_text.sql}"
        values |= of_text.values
    if criteria.conditions:
        sql += f" AND {criteria.condition(matching.block_id)}"
    rows = connection.execute(criteria.bound(f"{sql} ORDER BY 2 DESC, 1 LIMIT :most"), values)
    units = _RANK_UNITS if rank is Rank.BM25 else 1
    return [(row[0], row[1] / units) for row in rows]


def count_blocks(connection: Connection, word: str | None = None) -> int:
    """Return the number of blocks and titles in the index: of all, or of those with a word as the index spells it."""
    if word is None:
        return int(connection.execute(_COUNT_BLOCKS[connection.dialect.name]).scalar_one())
    phrase = Phrase.read(word)
    return 0 if phrase is None else count_matching_blocks(connection, Query(((phrase,),)))


def count_matching_blocks(connection: Connection, query: Query) -> int:
    """Return the number of blocks and titles in the index that match a query, or of titles for one about titles."""
    return _MATCHERS[connection.dialect.name].count(
        connection, query if query.wanted or not query.title else query.title
    )


def _title_condition(matcher: Matcher, query: Query) -> SqlText | None:
    """Return the condition that the title of `page` meets the query's; None if the query says nothing about it."""
    titles = query.title
    if titles is None:
        return None
    parts: list[str] = []
    values: dict[str, Any] = {}
    if titles.wanted:
        wanted = matcher.titled(Query(titles.wanted), "wanted_title")
        parts.append(f"page.id IN ({wanted.sql})")
        values |= wanted.values
    if titles.unwanted:
        unwanted = matcher.titled(Query((titles.unwanted,)), "unwanted_title")
        parts.append(f"page.id NOT IN ({unwanted.sql})")
        values |= unwanted.values
    return SqlText(" AND ".join(parts), values)


class Matcher(Protocol):
    """Finds and ranks blocks in one kind of database. Both kinds give the same blocks in the same order."""

    block_id: str
    """The column of `ranked` with the block's id."""

    def ranked(self, connection: Connection, query: Query, rank: Rank) -> SqlText:
        """Return a statement for the ids and ranks of all matching blocks and titles, in no order."""

    def titled(self, query: Query, name: str) -> SqlText:
        """Return a query for the ids of the pages whose title matches; its parameters begin with `name`."""

    def count(self, connection: Connection, query: Query) -> int:
        """Return the number of blocks and titles that match."""


class SQLiteMatcher:
    """Uses FTS5 to find blocks and for BM25. For the density, occurrences are counted in the tokens."""

    block_id = f"{TOKENS_INDEX}.rowid"

    def ranked(self, connection: Connection, query: Query, rank: Rank) -> SqlText:  # noqa: ARG002 — the protocol's
        match = {"match": _fts5_query(query)}
        if rank is Rank.BM25:
            return SqlText(
                f"SELECT {self.block_id}, CAST(-bm25({TOKENS_INDEX}) * {_RANK_UNITS} + 0.5 AS bigint) "  # noqa: S608 — of constants
                f"FROM {TOKENS_INDEX} WHERE {TOKENS_INDEX} MATCH :match",
                match,
            )
        patterns = _pattern_values(query.phrases)
        occurrences = " + ".join(f"occurrences(block_tokens.tokens, :{name})" for name in patterns)
        return SqlText(
            f"SELECT {self.block_id}, {_density_sql(occurrences, rank)} FROM {TOKENS_INDEX} "  # noqa: S608 — of constants
            f"CROSS JOIN block_tokens ON block_id = {self.block_id} WHERE {TOKENS_INDEX} MATCH :match",
            match | patterns,
        )

    def titled(self, query: Query, name: str) -> SqlText:
        condition = f"{TOKENS_INDEX} MATCH :{name} AND {self.block_id} < 0"
        return SqlText(f"SELECT -{self.block_id} FROM {TOKENS_INDEX} WHERE {condition}", {name: _fts5_query(query)})  # noqa: S608 — of constants

    def count(self, connection: Connection, query: Query) -> int:
        count = text(f"SELECT count(*) FROM {TOKENS_INDEX} WHERE {TOKENS_INDEX} MATCH :match")  # noqa: S608 — of constants
        return int(connection.execute(count, {"match": _fts5_query(query)}).scalar_one())


class PostgreSQLMatcher:
    """Uses a GIN index over tsvector to find blocks with the words. Phrases are then searched in the blocks' tokens."""

    block_id = "block_tokens.block_id"

    def ranked(self, connection: Connection, query: Query, rank: Rank) -> SqlText:
        # For frequent words the planner may choose a scan, but computing the vectors of all blocks takes 30 seconds.
        connection.execute(text("SET LOCAL enable_seqscan = off"))
        condition = _tsquery(query)
        patterns = _pattern_values(query.phrases)
        if rank is Rank.BM25:
            score, more = self._bm25(connection, query)
        else:
            score, more = _density_sql(" + ".join(map(_occurrences_sql, patterns)), rank), {}
        return SqlText(
            f"SELECT {self.block_id}, {score} FROM block_tokens WHERE {condition.sql}",  # noqa: S608 — of constants
            {**condition.values, **patterns, **more},
        )

    def titled(self, query: Query, name: str) -> SqlText:
        condition = _tsquery(query, name)
        sql = f"SELECT -{self.block_id} FROM block_tokens WHERE {condition.sql} AND {self.block_id} < 0"  # noqa: S608 — of constants
        return SqlText(sql, condition.values)

    def count(self, connection: Connection, query: Query) -> int:
        condition = _tsquery(query)
        count = text(f"SELECT count(*) FROM block_tokens WHERE {condition.sql}")  # noqa: S608 — of constants
        return int(connection.execute(count, condition.values).scalar_one())

    def _bm25(self, connection: Connection, query: Query) -> tuple[str, dict[str, Any]]:
        blocks, length = connection.execute(_COLLECTION_SIZE).one()
        values: dict[str, Any] = {"average": length / max(1, blocks)}
        parts = []
        phrases = [phrase for alternatives in query.wanted for phrase in alternatives]
        for number, phrase in enumerate(query.phrases):
            holding = self.count(connection, Query(((phrase,),)))
            idf = max(_IDF_MIN, math.log((blocks - holding + 0.5) / (holding + 0.5)))
            values[f"idf_{number}"] = idf * phrases.count(phrase)
            count_sql = _occurrences_sql(f"pattern_{number}")
            norm = f"{_BM25_K1} * ({1 - _BM25_B} + {_BM25_B} * length / CAST(:average AS double precision))"
            parts.append(
                f"CAST(:idf_{number} AS double precision) * ({count_sql}) * {_BM25_K1 + 1} / (({count_sql}) + {norm})"
            )
        return f"CAST(floor(({' + '.join(parts)}) * {_RANK_UNITS} + 0.5) AS bigint)", values


_MATCHERS: Mapping[str, Matcher] = MappingProxyType({"sqlite": SQLiteMatcher(), "postgresql": PostgreSQLMatcher()})


def _density_sql(occurrences: str, rank: Rank) -> str:
    """Return the SQL of Rank.PRIORITY and Rank.DENSITY."""
    weight = "CAST(1 AS double precision)" if rank is Rank.DENSITY else f"(priority + {_PRIORITY_EPSILON})"
    # "Nelson's" is one word, but "nelson" and "s" for the index: occurrences may outnumber words.
    return f"{weight} * CASE WHEN ({occurrences}) > words THEN 1.0 ELSE ({occurrences}) * 1.0 / words END"


def _pattern_values(phrases: Iterable[Phrase]) -> dict[str, str]:
    return {f"pattern_{number}": phrase.pattern for number, phrase in enumerate(phrases)}


def _occurrences_sql(name: str) -> str:
    """Return PostgreSQL's SQL for the number of occurrences of a pattern in the tokens."""
    without = f"octet_length(replace(tokens, :{name}, ''))"
    return f"(octet_length(tokens) - {without}) / octet_length(CAST(:{name} AS text))"


def _fts5_query(query: Query) -> str:
    """Return a query in FTS5's syntax. Words consist of letters, digits and _, so nothing needs escaping."""
    wanted = " AND ".join(f"({_fts5_any(alternatives)})" for alternatives in query.wanted)
    return f"({wanted}) NOT ({_fts5_any(query.unwanted)})" if query.unwanted else wanted


def _fts5_any(phrases: Iterable[Phrase]) -> str:
    return " OR ".join(f'"{" ".join(phrase.words)}"{" *" * phrase.begins}' for phrase in phrases)


def _tsquery(query: Query, name: str = "row") -> SqlText:
    """Return a query as a condition on `block_tokens`; the names of its parameters begin with `name`.

    All single words form one condition that the index answers alone. Computing a block's vector again to check an
    unwanted word would take longer than everything else.
    """
    without = [phrase for phrase in query.unwanted if len(phrase.words) == 1]
    words = [f"({' | '.join(map(_all_words, alternatives))})" for alternatives in query.wanted]
    words += [f"!{_all_words(phrase)}" for phrase in without]
    wanted = [alternatives for alternatives in query.wanted if any(len(phrase.words) > 1 for phrase in alternatives)]
    unwanted = tuple(phrase for phrase in query.unwanted if phrase not in without)
    rows = dict(enumerate(phrase.pattern for alternatives in (*wanted, unwanted) for phrase in alternatives))
    names = iter(rows)
    conditions = [f"{_VECTOR} @@ CAST(:{name}_words AS tsquery)"]
    conditions += [f"({' OR '.join(_holds_sql(name, next(names)) for _ in alternatives)})" for alternatives in wanted]
    conditions += [f"NOT {_holds_sql(name, next(names))}" for _ in unwanted]
    return SqlText(
        " AND ".join(conditions), {f"{name}_words": " & ".join(words), **{f"{name}_{n}": rows[n] for n in rows}}
    )


def _holds_sql(name: str, number: int) -> str:
    return f"(position(:{name}_{number} in tokens) > 0)"


def _all_words(phrase: Phrase) -> str:
    """Return a phrase's words in PostgreSQL's syntax. As for FTS5, nothing needs escaping."""
    *whole, last = [f"'{word}'" for word in phrase.words]
    return f"({' & '.join([*whole, last + ':*' * phrase.begins])})"


def make_excerpt(text: str, phrases: Iterable[Phrase], width: int = _EXCERPT_WIDTH) -> Excerpt:
    """Return about `width` characters of a text around its hits; a shorter text is returned whole."""
    plain = " ".join(text[:_EXCERPT_MAX_CHARACTERS].split())
    hits = _merge_overlaps(_find_phrases(plain, phrases))
    start, end = _best_window(plain, hits, width)
    before, after = _ELLIPSIS * (start > 0), _ELLIPSIS * (end < len(plain))
    shift = len(before) - start
    inside = tuple((first + shift, min(last, end) + shift) for first, last in hits if start <= first < end)
    return Excerpt(f"{before}{plain[start:end]}{after}", inside)


def _find_phrases(text: str, phrases: Iterable[Phrase]) -> list[tuple[int, int]]:
    """Return the (start, end) positions of phrases in a text, in order. They may overlap."""
    words = list(token_spans(text))
    hits = {hit for phrase in phrases for hit in _find_phrase(words, phrase)}
    return sorted(hits)


def _find_phrase(words: Sequence[TokenSpan], phrase: Phrase) -> Iterator[tuple[int, int]]:
    length = len(phrase.words)
    for number in range(len(words) - length + 1):
        row = words[number : number + length]
        *whole, last = phrase.words
        fits = row[-1].word.startswith(last) if phrase.begins else row[-1].word == last
        if fits and all(place.word == word for place, word in zip(row, whole, strict=False)):
            end = row[-1].start + len(last) if is_unspaced(last) else row[-1].end
            yield row[0].start, end


def _merge_overlaps(hits: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the hits with overlapping ones merged."""
    merged: list[tuple[int, int]] = []
    for start, end in hits:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _best_window(text: str, hits: Sequence[tuple[int, int]], width: int) -> tuple[int, int]:
    """Return the start and end of the part with the most hits. It is cut between words if the text has spaces."""
    if len(text) <= width:
        return 0, len(text)
    starts = [max(0, first - _EXCERPT_LEAD) for first, _ in hits] or [0]
    start = max(
        starts,
        key=lambda place: (sum(place <= first and last <= place + width for first, last in hits), -place),
    )
    start = min(start, len(text) - width)
    if start and (space := text.find(" ", start, start + _EXCERPT_LEAD)) >= 0:
        start = space + 1
    end = min(len(text), start + width)
    if end < len(text) and (space := text.rfind(" ", end - _EXCERPT_LEAD, end)) > 0:
        end = space
    return start, end

"""Which blocks hold what a query asks for, the best first: SQL for each kind of database.

Both give the same blocks in the same order. `priority` is Bp = Pb x Kd (Kabir et al. 2015, Eq. 4): the block's
priority times the share of its words that the query asks for. `bm25` is FTS5's: k1 = 1.2, b = 0.75.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import text

from crawler.search.query import Query
from crawler.storage.models import TOKENS_INDEX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy.engine import Connection

    from crawler.search.filters import Filters
    from crawler.search.query import Phrase


class Rank(StrEnum):
    """What makes one block better than another."""

    PRIORITY = "priority"
    BM25 = "bm25"


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL and the values to bind in it."""

    sql: str
    values: Mapping[str, Any]


class Matching(Protocol):
    """One kind of database."""

    block_id: str
    """How `ranked` names the block."""

    def ranked(self, connection: Connection, query: Query, rank: Rank) -> Statement:
        """Return a statement for the ids of all blocks that match, and their ranks, without an order."""


# Blocks of priority 0 stand after all others, by density.
TRIFLE = 1e-9
_K1, _B = 1.2, 0.75
_UNITS = 1e12  # in whole ones of which BM25 is compared: the last bits of two servers' logarithms make no order
_LEAST_IDF = 1e-6  # FTS5's for what more than half of all blocks hold


class SQLite:
    """FTS5 finds the blocks and ranks by BM25; for the density its finds are counted in the tokens."""

    block_id = f"{TOKENS_INDEX}.rowid"

    def ranked(self, connection: Connection, query: Query, rank: Rank) -> Statement:  # noqa: ARG002 — the protocol's
        match = {"match": _fts5(query)}
        if rank is Rank.BM25:
            return Statement(
                f"SELECT {self.block_id}, CAST(-bm25({TOKENS_INDEX}) * {_UNITS} + 0.5 AS bigint) FROM {TOKENS_INDEX} "  # noqa: S608 — of constants
                f"WHERE {TOKENS_INDEX} MATCH :match",
                match,
            )
        patterns = _patterns(query.phrases)
        found = " + ".join(f"occurrences(block_tokens.tokens, :{name})" for name in patterns)
        return Statement(
            f"SELECT {self.block_id}, {_density(found)} FROM {TOKENS_INDEX} "  # noqa: S608 — of constants
            f"CROSS JOIN block_tokens ON block_id = {self.block_id} WHERE {TOKENS_INDEX} MATCH :match",
            match | patterns,
        )


class PostgreSQL:
    """A GIN index over tsvector finds the blocks that hold the words; rows of words are looked for in their tokens."""

    block_id = "block_tokens.block_id"

    def ranked(self, connection: Connection, query: Query, rank: Rank) -> Statement:
        # Whatever the planner thinks of a word: to make the vectors of all blocks takes half a minute.
        connection.execute(text("SET LOCAL enable_seqscan = off"))
        condition = _tsquery(query)
        patterns = _patterns(query.phrases)
        if rank is Rank.BM25:
            score, more = self._bm25(connection, query)
        else:
            score, more = _density(" + ".join(map(_counted, patterns))), {}
        return Statement(
            f"SELECT {self.block_id}, {score} FROM block_tokens WHERE {condition.sql}",  # noqa: S608 — of constants
            {**condition.values, **patterns, **more},
        )

    def _bm25(self, connection: Connection, query: Query) -> tuple[str, dict[str, Any]]:
        blocks, length = connection.execute(_TOTAL).one()
        values: dict[str, Any] = {"average": length / max(1, blocks)}
        parts = []
        asked = [phrase for alternatives in query.wanted for phrase in alternatives]
        for number, phrase in enumerate(query.phrases):
            condition = _tsquery(Query(((phrase,),)))
            count = text(f"SELECT count(*) FROM block_tokens WHERE {condition.sql}")  # noqa: S608 — of constants
            holding = connection.execute(count, condition.values).scalar_one()
            idf = max(_LEAST_IDF, math.log((blocks - holding + 0.5) / (holding + 0.5)))
            values[f"idf_{number}"] = idf * asked.count(phrase)
            found = _counted(f"pattern_{number}")
            norm = f"{_K1} * ({1 - _B} + {_B} * length / CAST(:average AS double precision))"
            parts.append(f"CAST(:idf_{number} AS double precision) * ({found}) * {_K1 + 1} / (({found}) + {norm})")
        return f"CAST(floor(({' + '.join(parts)}) * {_UNITS} + 0.5) AS bigint)", values


MATCHING: Mapping[str, Matching] = MappingProxyType({"sqlite": SQLite(), "postgresql": PostgreSQL()})

_TOTAL = text(
    "SELECT CAST(coalesce(sum(blocks), 0) AS bigint), CAST(coalesce(sum(length), 0) AS bigint) FROM search_total"
)
_VECTOR = "array_to_tsvector(string_to_array(btrim(tokens), '  '))"


def best(connection: Connection, query: Query, rank: Rank, filters: Filters, most: int) -> list[tuple[int, float]]:
    """Return the ids of the blocks that match, the best first, at most so many, each with its rank.

    Whether a page shows them is asked only where there are filters.
    """
    matching = MATCHING[connection.dialect.name]
    ranked = matching.ranked(connection, query, rank)
    shown = f" AND {filters.condition(matching.block_id)}" if filters.values else ""
    statement = filters.bound(f"{ranked.sql}{shown} ORDER BY 2 DESC, 1 LIMIT :most")
    rows = connection.execute(statement, {**ranked.values, **filters.values, "most": most})
    units = _UNITS if rank is Rank.BM25 else 1
    return [(row[0], row[1] / units) for row in rows]


def _density(found: str) -> str:
    """Return Bp in SQL: the found words' share of the block's, times its priority."""
    return f"(priority + {TRIFLE}) * ({found}) / CASE WHEN words > 0 THEN words ELSE 1 END"


def _patterns(phrases: Iterable[Phrase]) -> dict[str, str]:
    return {f"pattern_{number}": phrase.pattern for number, phrase in enumerate(phrases)}


def _counted(name: str) -> str:
    """Return in PostgreSQL's SQL how often the tokens hold a pattern."""
    without = f"octet_length(replace(tokens, :{name}, ''))"
    return f"(octet_length(tokens) - {without}) / octet_length(CAST(:{name} AS text))"


def _fts5(query: Query) -> str:
    """Return a query in FTS5's language. Words hold nothing but letters, digits and _, so nothing is escaped."""
    wanted = " AND ".join(f"({_fts5_any(alternatives)})" for alternatives in query.wanted)
    return f"({wanted}) NOT ({_fts5_any(query.unwanted)})" if query.unwanted else wanted


def _fts5_any(phrases: Iterable[Phrase]) -> str:
    return " OR ".join(f'"{" ".join(phrase.words)}"{" *" * phrase.begins}' for phrase in phrases)


def _tsquery(query: Query) -> Statement:
    """Return a query as a condition on `block_tokens`.

    All that are single words is one condition, which the index answers alone: to make a block's vector again, to see
    what it does not hold, takes longer than all else.
    """
    without = [phrase for phrase in query.unwanted if len(phrase.words) == 1]
    words = [f"({' | '.join(map(_all_words, alternatives))})" for alternatives in query.wanted]
    words += [f"!{_all_words(phrase)}" for phrase in without]
    wanted = [alternatives for alternatives in query.wanted if any(len(phrase.words) > 1 for phrase in alternatives)]
    unwanted = tuple(phrase for phrase in query.unwanted if phrase not in without)
    rows = dict(enumerate(phrase.pattern for alternatives in (*wanted, unwanted) for phrase in alternatives))
    names = iter(rows)
    conditions = [f"{_VECTOR} @@ CAST(:words AS tsquery)"]
    conditions += [f"({' OR '.join(_holds(next(names)) for _ in alternatives)})" for alternatives in wanted]
    conditions += [f"NOT {_holds(next(names))}" for _ in unwanted]
    return Statement(" AND ".join(conditions), {"words": " & ".join(words), **{f"row_{n}": rows[n] for n in rows}})


def _holds(number: int) -> str:
    return f"(position(:row_{number} in tokens) > 0)"


def _all_words(phrase: Phrase) -> str:
    """Return a phrase's words in PostgreSQL's language; as in FTS5's, nothing is escaped."""
    *whole, last = [f"'{word}'" for word in phrase.words]
    return f"({' & '.join([*whole, last + ':*' * phrase.begins])})"

"""Search the stored blocks: `search` is what the command and programs call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select

from crawler.search.excerpt import Excerpt, excerpt
from crawler.search.filters import Filters
from crawler.search.matching import TRIFLE, Rank, best
from crawler.search.query import read_query
from crawler.storage.batches import batched
from crawler.storage.models import block, page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy.engine import Connection

    from crawler.search.query import Query

HITS = 3
"""Blocks of one page that are shown."""

# Of so many blocks for each page wanted the pages are looked up first, and of so many times more where those are few.
_BLOCKS_A_PAGE = 4
_MORE = 8


@dataclass(frozen=True, slots=True)
class Hit:
    """A block that was found: its rank, its text and what of it was asked for; `pages` show the same block now."""

    block_id: int
    rank: float
    kind: str
    pages: int
    text: str
    excerpt: Excerpt


@dataclass(frozen=True, slots=True)
class Found:
    """A page that shows what was searched for, with its best blocks, the best first."""

    url: str
    title: str | None
    site: str
    section: str | None
    language: str | None
    published: str | None
    hits: tuple[Hit, ...]


def search(
    connection: Connection,
    query: str,
    *,
    rank: Rank = Rank.PRIORITY,
    filters: Filters = Filters(),  # noqa: B008 — frozen
    limit: int = 10,
) -> list[Found]:
    """Return the pages that show what a query asks for, the one with the best block first, at most `limit`.

    Only what pages show now and is no template is found. A block that stands on several pages is found once: on the
    page where it was first stored, if that still shows it and is not filtered out. Empty where nothing matches.
    Raises QueryError for a query that cannot be understood.
    """
    asked = read_query(query)
    pages = _Pages(connection, asked, filters, limit)
    seen, most = 0, limit * _BLOCKS_A_PAGE
    while True:
        ranked = best(connection, asked, rank, filters, most)
        pages.add(ranked[seen:], is_priority=rank is Rank.PRIORITY)
        if pages.full or len(ranked) < most:
            return pages.found()
        seen, most = most, most * _MORE


@dataclass(frozen=True, slots=True)
class _Shown:
    """The page on which a found block is shown, of so many that show it."""

    page_id: int
    pages: int


class _Pages:
    """Pages in the order of their best blocks."""

    def __init__(self, connection: Connection, query: Query, filters: Filters, limit: int) -> None:
        self._connection = connection
        self._query = query
        self._filters = filters
        self._limit = limit
        self._hits: dict[int, list[Hit]] = {}

    @property
    def full(self) -> bool:
        return len(self._hits) >= self._limit

    def add(self, ranked: Sequence[tuple[int, float]], *, is_priority: bool) -> None:
        """Take the next best blocks in."""
        for some in batched(ranked):
            ids = [block_id for block_id, _ in some]
            shown = _shown(self._connection, self._filters, ids)
            blocks = {row.id: row for row in self._connection.execute(_BLOCKS, {"ids": list(shown)})}
            for block_id, rank in some:
                if block_id in shown:
                    row = blocks[block_id]
                    exact = rank * row.priority / (row.priority + TRIFLE) if is_priority else rank
                    self._add(shown[block_id], Hit(row.id, exact, row.kind, shown[block_id].pages, row.text, _NOTHING))

    def _add(self, shown: _Shown, hit: Hit) -> None:
        hits = self._hits.get(shown.page_id)
        if hits is None and not self.full:
            self._hits[shown.page_id] = [hit]
        elif hits is not None and len(hits) < HITS:
            hits.append(hit)

    def found(self) -> list[Found]:
        """Return the pages with their hits."""
        rows = {row.id: row for row in self._connection.execute(_PAGES, {"ids": list(self._hits)})}
        return [_found(rows[page_id], self._with_excerpts(hits)) for page_id, hits in self._hits.items()]

    def _with_excerpts(self, hits: Iterable[Hit]) -> Iterator[Hit]:
        return (replace(hit, excerpt=excerpt(hit.text, self._query.phrases)) for hit in hits)


_NOTHING = Excerpt("", ())
_IDS: Any = bindparam("ids", expanding=True)
_BLOCKS = select(block.c.id, block.c.kind, block.c.text, block.c.priority).where(block.c.id.in_(_IDS))
_PAGES = select(
    page.c.id, page.c.url, page.c.title, page.c.site, page.c.section, page.c.language, page.c.published
).where(page.c.id.in_(_IDS))


def _shown(connection: Connection, filters: Filters, ids: Sequence[int]) -> dict[int, _Shown]:
    """Return where each of the blocks is shown, those that are not shown left out."""
    rows = connection.execute(filters.places, {"ids": list(ids), **filters.values})
    return {row.block_id: _Shown(row.own_page or row.first_page, row.pages) for row in rows}


def _found(row: Any, hits: Iterator[Hit]) -> Found:
    return Found(row.url, row.title, row.site, row.section, row.language, row.published, tuple(hits))

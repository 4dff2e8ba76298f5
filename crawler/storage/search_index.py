"""The words of blocks and titles, by which search finds them: written with the blocks, or all again.

Words are cut in Python, so that both kinds of database find the same in every script. Table `block_tokens` has a row
for each block, and one for the title and headline of each page, under minus the page's id. Triggers keep the full-text
index in step (see schema.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, insert, select, text

from cleaning.leaves import PRIORITY_TENTHS
from cleaning.terms import count_tokens, index_tokens, join_tokens
from crawler.storage.tables import (
    TOKENS_INDEX,
    Rows,
    batched,
    block,
    block_tokens,
    headline,
    insert_rows,
    page,
    search_total,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Self

    from sqlalchemy.engine import Connection

    from cleaning.blocks import Block

# PostgreSQL stores 1.5 times as many bytes, and fails at twice as many. Search finds no words beyond it.
_TOKENS_BYTES_MAX = 500_000
_RENEWED_AT_ONCE = 10_000  # texts: a batch of them in memory, and a line of progress

TITLE_SEPARATOR = "\u00b7"
"""Stands between the title and the headline of a page, where they differ."""

_TITLE_PRIORITY = PRIORITY_TENTHS["title"] / 10


@dataclass(frozen=True, slots=True)
class SearchableBlock:
    """A stored block, or the title of a page under minus the page's id, with the columns that search needs."""

    block_id: int
    text: str
    priority: float

    @classmethod
    def of(cls, block_id: int, content: Block) -> Self:
        """Return a stored block, for search."""
        return cls(block_id, content.text, content.priority)

    @classmethod
    def of_title(cls, page_id: int, texts: Iterable[str | None]) -> Self | None:
        """Return the title and the headline of a page, for search, each once; None if it has neither."""
        known = {tuple(index_tokens(text)): text for text in texts if text}
        text = f" {TITLE_SEPARATOR} ".join(text for words, text in known.items() if words)
        return cls(-page_id, text, _TITLE_PRIORITY) if text else None


_TOKENS_COLUMNS = ("block_id", "words", "priority", "length", "tokens")


def add_tokens(connection: Connection, blocks: Sequence[SearchableBlock]) -> None:
    """Store the words of blocks.

    Before each statement that fires a trigger, FTS5 writes to the file what it has collected in memory: a statement for
    each row takes three times as long.
    """
    for part in batched(blocks):
        rows = Rows(_TOKENS_COLUMNS, [tokens_row(searchable_block) for searchable_block in part])
        insert_rows(connection, block_tokens, rows, at_once=True)


class TokenChanges:
    """The words of the blocks and titles of one batch, collected here and written by `write`, all in one statement."""

    def __init__(self) -> None:
        self._blocks: dict[int, SearchableBlock] = {}
        self._replaced: set[int] = set()

    def put(self, searchable_block: SearchableBlock) -> None:
        """Collect a new block."""
        self._blocks[searchable_block.block_id] = searchable_block

    def replace(self, searchable_block: SearchableBlock) -> None:
        """Collect a block whose text has changed."""
        self._replaced.add(searchable_block.block_id)
        self._blocks[searchable_block.block_id] = searchable_block

    def renew(self, searchable_block: SearchableBlock) -> None:
        """Collect a block again if the batch has added it; triggers refresh the stored ones."""
        if searchable_block.block_id in self._blocks:
            self._blocks[searchable_block.block_id] = searchable_block

    def put_title(self, page_id: int, texts: Iterable[str | None], *, replaces: bool) -> None:
        """Collect the title and headline of a page; `replaces` says that other ones may be stored."""
        title = SearchableBlock.of_title(page_id, texts)
        if replaces:
            self._replaced.add(-page_id)
        self._blocks.pop(-page_id, None)
        if title is not None:
            self._blocks[title.block_id] = title

    def forget_title(self, page_id: int) -> None:
        """Drop the title that was collected for a page that is about to be deleted."""
        self._blocks.pop(-page_id, None)

    def write(self, connection: Connection) -> None:
        """Store the words of all blocks; call it when the blocks are written."""
        for block_ids in batched(sorted(self._replaced)):
            connection.execute(delete(block_tokens).where(block_tokens.c.block_id.in_(block_ids)))
        add_tokens(connection, list(self._blocks.values()))


def tokens_row(searchable_block: SearchableBlock) -> tuple[int, int, float, int, str]:
    """Return the values of a block's row in `block_tokens`, in the order of its columns."""
    words = index_tokens(searchable_block.text)
    tokens = join_tokens(words)
    count = count_tokens(searchable_block.text)
    if len(tokens) * 4 > _TOKENS_BYTES_MAX:  # the longest a character can be in UTF-8
        words = _within_limit(words)
        tokens = join_tokens(words)
    return searchable_block.block_id, count, searchable_block.priority, len(words), tokens


def _within_limit(words: list[str]) -> list[str]:
    size = 0
    for number, word in enumerate(words):
        size += len(word.encode()) + 2
        if size > _TOKENS_BYTES_MAX:
            return words[:number]
    return words


def optimize_search_index(connection: Connection) -> None:
    """Erase the words of removed blocks from SQLite's full-text index, which otherwise only marks them as removed."""
    if connection.dialect.name == "sqlite":
        connection.execute(text(f"INSERT INTO {TOKENS_INDEX} ({TOKENS_INDEX}) VALUES ('optimize')"))  # noqa: S608 — of constants


def renew_search_index(connection: Connection, report: Callable[[str], None]) -> None:
    """Cut the words of all stored blocks and titles anew, without triggers: `cleaning.terms.index_tokens` has changed.

    `report` gets the number of texts that are done.
    """
    connection.execute(delete(block_tokens))
    texts = connection.scalar(select(func.count()).select_from(block)) or 0
    pages = connection.scalar(select(func.count()).select_from(page)) or 0
    for done in _renew_tokens(connection):
        report(f"search index: {done:,} of {texts + pages:,} texts and titles")
    if connection.dialect.name == "sqlite":
        connection.execute(text(f"INSERT INTO {TOKENS_INDEX} ({TOKENS_INDEX}) VALUES ('rebuild')"))  # noqa: S608 — of constants
    else:
        connection.execute(delete(search_total))
        counts = select(func.count(), func.coalesce(func.sum(block_tokens.c.length), 0)).select_from(block_tokens)
        connection.execute(insert(search_total).from_select(["blocks", "length"], counts))


def _renew_tokens(connection: Connection) -> Iterator[int]:
    """Write the words of all blocks and titles; yield, after each part, how many are done."""
    done = 0
    for columns in (
        select(block.c.id, block.c.text, block.c.priority),
        select(page.c.id, page.c.title, headline.c.headline).select_from(page.outerjoin(headline)),
    ):
        last, owner = 0, columns.selected_columns["id"]
        while rows := connection.execute(columns.where(owner > last).order_by(owner).limit(_RENEWED_AT_ONCE)).all():
            if "priority" in columns.selected_columns:
                add_tokens(connection, [SearchableBlock(*row) for row in rows])
            else:
                titles = (SearchableBlock.of_title(row.id, (row.title, row.headline)) for row in rows)
                add_tokens(connection, list(filter(None, titles)))
            last = rows[-1].id
            done += len(rows)
            yield done

"""The words by which blocks are found, in table `block_tokens`: written where a block's text is.

They are cut in Python, so that both kinds of database find the same in every script. The full-text index over them,
and what else there is to keep in step, is the business of triggers: see `triggers.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert

from cleaning.terms import cut
from crawler.storage.batches import batched
from crawler.storage.models import block_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Connection

# PostgreSQL takes half as much again, and twice as much is too much for it: what follows in a block is not found.
MOST_BYTES = 500_000
_INSERT = insert(block_tokens).returning(block_tokens.c.block_id)  # in one statement, whose triggers fire once


@dataclass(frozen=True, slots=True)
class Worded:
    """A stored block with what search needs of it."""

    block_id: int
    text: str
    words: int
    priority: float


def add(connection: Connection, blocks: Sequence[Worded]) -> None:
    """Make stored blocks known to search."""
    for some in batched(blocks):
        connection.execute(_INSERT, [row(one) for one in some]).close()


def renew(connection: Connection, blocks: Sequence[Worded]) -> None:
    """Make search know blocks by the text that they have now."""
    for some in batched(blocks):
        connection.execute(delete(block_tokens).where(block_tokens.c.block_id.in_([one.block_id for one in some])))
    add(connection, blocks)


def row(one: Worded) -> dict[str, Any]:
    """Return a block's row in `block_tokens`."""
    words = _bounded(cut(one.text))
    return {
        "block_id": one.block_id,
        "words": one.words,
        "priority": one.priority,
        "length": len(words),
        "tokens": joined(words),
    }


def joined(words: Sequence[str]) -> str:
    """Return the words, each with a space before and after it: so each can be counted, and each row of them."""
    return f" {'  '.join(words)} " if words else ""


def _bounded(words: list[str]) -> list[str]:
    if sum(len(word) + 1 for word in words) * 4 <= MOST_BYTES:
        return words
    size = 0
    for number, word in enumerate(words):
        size += len(word.encode()) + 2
        if size > MOST_BYTES:
            return words[:number]
    return words

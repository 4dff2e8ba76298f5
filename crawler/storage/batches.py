"""Cut a sequence into parts that one statement can take."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Item = TypeVar("Item")

# SQLite takes 32,766 bound values in a statement, PostgreSQL 65,535.
MOST_VALUES = 10_000


def batched(items: Sequence[Item], size: int = MOST_VALUES) -> Iterator[Sequence[Item]]:
    """Give the items in parts of at most `size`; nothing for no items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]

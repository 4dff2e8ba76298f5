"""The sources of an answer: one state of the database, cached values, and the cursors of lists."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from crawler.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from scrapy.settings import BaseSettings
    from sqlalchemy.engine import Connection

    from crawler.config import Config

_Value = TypeVar("_Value")

ROWS = 50
"""Entries of a list in one answer."""
CUT = 100
"""Entries of a list that has no cursor."""


@dataclass(frozen=True, slots=True)
class DatabaseSnapshot:
    """One state of the database for one answer."""

    connection: Connection
    now: datetime
    config: Config
    settings: BaseSettings


@dataclass(slots=True)
class CachedValue(Generic[_Value]):
    """A value that takes long to compute, such as a count of all rows. It is computed again after `seconds`."""

    seconds: float
    _lock: Lock = field(default_factory=Lock)
    _value: _Value | None = None
    _until: float = 0.0

    def read(self, compute: Callable[[], _Value]) -> _Value:
        """Return the value; other threads wait while it is computed."""
        with self._lock:
            if self._value is None or monotonic() > self._until:
                self._value = compute()
                self._until = monotonic() + self.seconds
            return self._value


def split_page(
    rows: Sequence[Any], cursor_of: Callable[[Any], object], size: int = ROWS
) -> tuple[list[Any], str | None]:
    """Return the first `size` rows, and the cursor of the next page; `rows` has one more if there is a next page."""
    entries = list(rows[:size])
    return entries, str(cursor_of(entries[-1])) if len(rows) > size else None


def number_of(cursor: str | None, default: int) -> int:
    """Return the number that a cursor holds; raises QueryError for a cursor of another list."""
    if cursor is None:
        return default
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > len(str(2**62)):
        raise QueryError(f"the cursor {cursor!r} is not one of this list; leave it out to begin again")
    return int(cursor)

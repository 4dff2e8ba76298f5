"""What an answer is made from: one state of the database; values that are kept for a while; the cursors of lists."""

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
class Kept(Generic[_Value]):
    """A value that takes long, such as a count of all rows: it is made again after so many seconds."""

    seconds: float
    _lock: Lock = field(default_factory=Lock)
    _value: _Value | None = None
    _until: float = 0.0

    def read(self, make: Callable[[], _Value]) -> _Value:
        """Return the value; others wait while it is made."""
        with self._lock:
            if self._value is None or monotonic() > self._until:
                self._value = make()
                self._until = monotonic() + self.seconds
            return self._value


def split_page(
    rows: Sequence[Any], cursor_of: Callable[[Any], object], size: int = ROWS
) -> tuple[list[Any], str | None]:
    """Return the first rows, of which one more than `size` were asked for, and the cursor that continues them."""
    shown = list(rows[:size])
    return shown, str(cursor_of(shown[-1])) if len(rows) > size else None


def number_of(cursor: str | None, default: int) -> int:
    """Return the number that a cursor holds; raises QueryError for a cursor of another list."""
    if cursor is None:
        return default
    if not cursor.isascii() or not cursor.isdecimal() or len(cursor) > len(str(2**62)):
        raise QueryError(f"the cursor {cursor!r} is not one of this list; leave it out to begin again")
    return int(cursor)

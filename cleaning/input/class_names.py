"""Patterns that are searched for in the classes of elements: the elements of a page and of a site share few classes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

_ENTRIES = 1 << 12
_MAX_CHARS = 200


def class_test(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    """Return a test of whether classes, alone or with ids, have a match of the pattern; it remembers short ones.

    Without the compiled core, a page asks thousands of times, and a search takes up to three microseconds.
    """

    @lru_cache(_ENTRIES)
    def remembered(names: str) -> bool:
        return pattern.search(names) is not None

    def test(names: str) -> bool:
        return remembered(names) if len(names) <= _MAX_CHARS else pattern.search(names) is not None

    return test

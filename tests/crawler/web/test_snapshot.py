"""Cached values, and the cursors of lists."""

import pytest

from crawler.errors import QueryError
from crawler.web.snapshot import CachedValue, number_of, split_page


def test_a_cached_value_is_computed_once_until_its_time_is_over():
    values = iter(range(10))
    cached = CachedValue(seconds=1_000.0)
    assert [cached.read(lambda: next(values)) for _ in range(3)] == [0, 0, 0]
    outdated = CachedValue(seconds=-1.0)
    assert [outdated.read(lambda: next(values)) for _ in range(3)] == [1, 2, 3]


def test_the_cursor_is_the_last_entry_that_is_listed():
    assert split_page([1, 2, 3], lambda row: row, size=2) == ([1, 2], "2")
    assert split_page([1, 2], lambda row: row, size=2) == ([1, 2], None)


def test_a_cursor_of_another_list_is_named():
    assert number_of(None, 7) == 7
    assert number_of("12", 7) == 12
    for cursor in ("a.example", "-1", "\u00b2", "9" * 30):
        with pytest.raises(QueryError, match="is not one of this list"):
            number_of(cursor, 7)

"""What a search is restricted to."""

import pytest

from crawler.errors import QueryError
from crawler.reading.search_filters import SearchFilters


def test_filters_are_read_from_what_a_user_types():
    filters = SearchFilters.of("https://www.a.example/x", "Rivers", " EN-us ", None, "heading")
    assert filters == SearchFilters("a.example", "Rivers", "en", None, "heading")
    assert SearchFilters.of().conditions == []


def test_an_unknown_kind_names_the_nearest_one():
    with pytest.raises(QueryError, match=r"there is no kind 'headline'; .*heading"):
        SearchFilters.of(kind="headline")


def test_titles_have_no_row_of_a_block():
    assert SearchFilters(kind="title").text_condition("block_id").sql == "block_id < 0"
    assert SearchFilters().text_condition("block_id") is None

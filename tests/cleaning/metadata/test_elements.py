"""The elements that state something, and those around the heading."""

import pytest

from cleaning import parse
from cleaning.metadata.elements import _elements_above, _elements_below, pure_find_elements

PAGE = "<title>x</title><p id=a>one <b id=b>two</b></p><h1 id=h>Head<i id=i></i></h1><p id=c>three</p><p id=d>four</p>"


def ids(elements):
    return [element.get("id") for element in elements if element.get("id")]


def heading():
    return parse(PAGE).root.find(".//h1")


def test_elements_above_are_in_reading_order():
    assert ids(_elements_above(heading())) == ["a", "b"]


def test_elements_below_begin_inside_the_heading():
    assert ids(_elements_below(heading())) == ["i", "c", "d"]


@pytest.mark.parametrize(("pairs", "count"), [(11_000, 300), (9_000, 9_000)])
def test_a_search_of_a_large_page_finds_the_first(pairs, count):
    root = parse("<p>" + "<b itemprop=name></b><i></i>" * pairs).root
    assert len(pure_find_elements(root).item_properties) == count

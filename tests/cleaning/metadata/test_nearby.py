import time

import pytest

from cleaning import parse
from cleaning.metadata.page import read_metadata
from cleaning.metadata.statements import BoundedSearch, elements_above, elements_below, is_large_page, texts_below

PAGE = "<title>x</title><p id=a>one <b id=b>two</b></p><h1 id=h>Head<i id=i></i></h1><p id=c>three</p><p id=d>four</p>"


def ids(elements):
    return [each.get("id") for each in elements if each.get("id")]


def heading():
    return parse(PAGE).root.find(".//h1")


def test_elements_above_are_in_reading_order():
    assert ids(elements_above(heading())) == ["a", "b"]


def test_elements_below_begin_inside_the_heading():
    assert ids(elements_below(heading())) == ["i", "c", "d"]


def test_texts_below_leave_out_the_heading_itself():
    assert list(texts_below(heading())) == ["three", "four"]
    assert list(texts_below(None)) == []


def test_a_search_of_a_large_page_finds_the_first():
    root = parse("<p>" + "<b itemprop=name></b><i></i>" * 11_000).root
    search = BoundedSearch("*", "@itemprop", "@itemprop")
    assert is_large_page(root)
    assert len(search(root, large=True)) == 300
    assert len(search(root, large=False)) == 11_000


@pytest.mark.parametrize(
    "part",
    [
        "<a rel=author href=/author/x>joe 1</a> ",
        "<i></i><b itemprop=author itemtype=x>x</b> ",
        "<i>2020</i>text 12 May 2020 <b class=author>1</b>",
    ],
)
def test_many_siblings_take_linear_time(part):
    page = parse("<title>x</title><p>" + part * 100_000)
    began = time.process_time()
    read_metadata(page)
    assert time.process_time() - began < 3  # a quadratic search takes 7 and more

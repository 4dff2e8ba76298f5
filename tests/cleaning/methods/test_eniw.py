"""ENIW: PAB's blocks without what lies in discarded tags (pab.txt, section 2)."""

import pytest

from cleaning import Reason, clean

URL = "http://www.example.com/x"
OUT = '<a href="http://other.org/">y</a>'


def blocks(page, method="eniw"):
    return [(one.block.text, one.score, one.reason) for one in clean(page, URL, method=method).decisions]


def reasons(page, method="eniw"):
    return [reason for _, _, reason in blocks(page, method)]


def test_block_with_text_is_informative():
    assert blocks("<title>A title</title><p>t</p>") == [("A title", 1.0, Reason.KEPT), ("t", 1.0, Reason.KEPT)]


def test_neither_priorities_nor_outer_links_matter():
    page = f"<li>plain</li><p>{OUT * 3}</p>"
    assert reasons(page) == [Reason.KEPT, Reason.KEPT]
    assert reasons(page, "pab") == [Reason.NO_PRIORITY, Reason.OUTER_LINKS]


def test_duplicates_stay():
    assert reasons("<p>t</p><p>t</p>") == [Reason.KEPT, Reason.KEPT]


def test_block_without_text_is_noise():
    assert blocks('<p></p><p><img alt="cat"></p>') == [("", 0.0, Reason.EMPTY), ("", 0.0, Reason.EMPTY)]


def test_block_in_a_form_is_counted_and_dropped():
    assert blocks("<form><p>a <b>b</b></p><p></p></form><p>t</p>") == [
        ("a b", 0.0, Reason.FORM),
        ("", 0.0, Reason.EMPTY),
        ("t", 1.0, Reason.KEPT),
    ]


def test_form_in_a_block_is_dropped_from_it():
    page = "<table><tr><td>x<form>y <p>z</p></form></td></tr></table>"
    assert blocks(page) == [("x", 1.0, Reason.KEPT), ("y", 0.0, Reason.FORM), ("z", 0.0, Reason.FORM)]


def test_moving_text_is_dropped_here_and_kept_by_pab():
    page = "<p>x <marquee>y</marquee></p><marquee><p>z</p></marquee>"
    assert blocks(page) == [
        ("x", 1.0, Reason.KEPT),
        ("y", 0.0, Reason.IRRELEVANT),
        ("z", 0.0, Reason.IRRELEVANT),
    ]
    assert [text for text, _, reason in blocks(page, "pab") if reason is Reason.KEPT] == ["x y", "z"]


def test_text_outside_every_block_is_lost_as_in_pab():
    page = "<div>bare<p>para</p>tail</div>"
    assert reasons(page) == reasons(page, "pab") == [Reason.UNBLOCKED, Reason.KEPT, Reason.UNBLOCKED]


def test_page_without_a_block_tag_is_one_informative_block():
    assert blocks("<div>one<div>two</div></div>") == [("one two", 1.0, Reason.KEPT)]


@pytest.mark.parametrize("tag", ["script", "style", "iframe", "object"])
def test_what_no_reader_reads_is_in_no_block(tag):
    assert blocks(f"<p>t</p><{tag}><p>x</p></{tag}>") == [("t", 1.0, Reason.KEPT)]


def test_both_methods_cut_the_same_blocks():
    page = f"<title>A</title><h1>B</h1><p>c <b>d</b></p><ul><li>e</li><li>{OUT}</li></ul>f<table><tr><td>g</table>"
    assert [text for text, _, _ in blocks(page)] == [text for text, _, _ in blocks(page, "pab")]


def test_column_priority_is_the_sum_without_the_rule_of_links():
    assert [one.block.priority for one in clean(f"<p>x{OUT}</p>", URL, method="eniw").decisions] == [0.3]

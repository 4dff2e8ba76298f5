"""The main part of a page."""

from cleaning import parse
from cleaning.features import enclosing, walk
from cleaning.region import find_region

LONG = "<p>" + "word " * 40 + "</p>"


def region(page):
    """Return the first words of the leaves in the main part, each leaf weighing its words."""
    leaves = walk(parse(page).root)
    found = find_region(enclosing(leaves), leaves, lambda leaf: leaf.block.words)
    return [leaf.block.text.split()[0] for leaf in leaves if leaf in found]


def test_smallest_element_with_most_of_the_weight_is_the_main_one():
    assert region(f"<div>before<section>{LONG * 2}</section></div><div>after</div>") == ["word", "word"]


def test_weight_split_over_two_elements_keeps_what_holds_both():
    page = f"<section><div>one {LONG}</div><div>two {LONG}</div></section><footer>end</footer>"
    assert region(page) == ["one", "word", "two", "word"]


def test_main_element_needs_less():
    assert region(f"<main>{LONG}</main><div>{LONG}</div>") == ["word"]
    assert region(f"<div>{LONG}</div><div>{LONG}</div>") == ["word", "word"]


def test_part_of_a_text_is_not_the_main_element():
    assert region(f"<div><ul><li>{'word ' * 40}</li></ul><p>end</p></div>") == ["word", "end"]


def test_region_begins_at_the_last_headline_before_the_main_element():
    page = f"<h1>logo</h1><div><h1>headline</h1><p>lead</p><section>{LONG * 4}</section></div>"
    assert region(page) == ["headline", "lead", "word", "word", "word", "word"]


def test_tables_beside_the_main_element_belong_to_it():
    beside = "<section><p>no</p></section><section><table><td>cell</table></section>"
    assert region(f"<article><section>{LONG * 4}</section>{beside}</article>") == ["word"] * 4 + ["cell"]


def test_nothing_weighs_nothing():
    assert find_region([], [], lambda leaf: leaf.block.words) == set()

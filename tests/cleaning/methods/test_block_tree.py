"""The block tree of VCE: what roots a block, what belongs to none, patterns that repeat, text that is passed up."""

import pytest

from cleaning.leaves import body_of, walk
from cleaning.methods.vce import build_block_tree, measure_blocks

FAR = "5 5 20 20 9"  # differs from any parent here in all but the background


def drawn(page, threshold=3):
    return build_block_tree(body_of(page.root), page.layout.match(page.root), threshold)


def measured(page, threshold=3, most_links=0.5):
    return measure_blocks(drawn(page, threshold), walk(page.root), most_links)


def roots(page, threshold=3):
    return [(area.root.get("id") or area.root.tag, area.parent) for area in drawn(page, threshold).areas]


@pytest.mark.parametrize(
    ("box", "distance"),
    [
        ("0 0 100 100 16 #fff", 0),
        ("0 0 100 100 16", 0),
        ("1 0 100 100 16", 1),
        ("0 1 100 100 16", 1),
        ("0 0 101 100 16", 1),
        ("0 0 100 101 16", 1),
        ("0 0 100 100 15", 1),
        ("0 0 100 100 16 #eee", 1),
        ("1 1 101 101 15 #eee", 6),
    ],
)
def test_distance_counts_the_properties_that_differ(boxed, box, distance):
    page = boxed(f'<body box="0 0 100 100 16 #fff"><div box="{box}">x</div></body>')
    found = {area.root.tag: area.distance for area in drawn(page, 0).areas}
    assert found.get("div", 0) == distance


@pytest.mark.parametrize(("threshold", "blocks"), [(4, 2), (5, 1), (6, 1)])
def test_distance_above_the_threshold_roots_a_block(boxed, threshold, blocks):
    assert len(roots(boxed(f'<div box="{FAR}">x</div>'), threshold)) == blocks


def test_transparent_background_is_that_of_the_parent(boxed):
    page = '<body box="0 0 9 9 16 #fff"><div box="0 0 9 9 16"><p box="0 0 9 9 16 #fff">x</p></div></body>'
    assert roots(boxed(page), 0) == [("body", None)]


@pytest.mark.parametrize(("background", "blocks"), [("rgb(255, 255, 255)", 1), ("rgb(255, 255, 254)", 2)])
def test_page_without_a_background_is_white(boxed, background, blocks):
    assert len(roots(boxed(f'<p box="0 0 1000 1000 16 {background}">x</p>'), 0)) == blocks


def test_background_of_the_html_element_shows_through_the_body(boxed):
    page = '<html box="0 0 9 9 16 #eee"><body box="0 0 9 9 16"><p box="0 0 9 9 16 #eee">x</p></body></html>'
    assert roots(boxed(page), 0) == [("body", None)]


def test_inline_elements_root_no_block(boxed):
    page = f'<p>x<a box="{FAR}">y</a><custom-tag box="{FAR}">z</custom-tag></p><p box="{FAR}">u</p>'
    assert roots(boxed(page)) == [("body", None), ("p", 0)]


@pytest.mark.parametrize("hidden", [f'div box="{FAR} hidden"', 'div box="none"', f'noscript box="{FAR}"'])
def test_invalid_child_and_all_inside_it_is_in_no_block(boxed, hidden):
    page = boxed(f'<p>seen</p><{hidden}><p box="{FAR}">unseen</p></{hidden.split()[0]}>')
    found = drawn(page)
    assert len(found.areas) == 1
    assert {element.tag for element in found.block_of} == {"body", "p"}


def test_root_is_a_block_whatever_the_browser_says(boxed):
    assert roots(boxed(f'<body box="none"><div box="{FAR}">x</div></body>')) == [("body", None), ("div", 0)]
    assert roots(boxed(f'<body box="0 0 0 0 16 hidden"><div box="{FAR}">x</div></body>'))[1] == ("div", 0)


def test_font_size_is_the_mean_over_the_elements_of_a_block(boxed):
    page = '<body box="0 0 9 9 10"><div box="0 0 9 9 20"><i box="0 0 1 1 30">x</i></div></body>'
    assert [area.font_size for area in drawn(boxed(page)).areas] == [20]


def rows(*inner):
    """Return rows of blocks, each with those child blocks."""
    box = iter(range(10, 1000))

    def block(tag, content):
        place = next(box)
        return f'<{tag} box="{place} {place} {place} {place} {place}">{content}</{tag}>'

    return "".join(block("div", "".join(block(tag, "x") for tag in tags.split())) for tags in inner)


@pytest.mark.parametrize(
    ("inner", "repetitions"),
    [
        (["h4 p", "h4 p", "h4 p"], 2),
        (["h4 p", "p h4", "h4 p p"], 0),
        (["h4 p", "p", "p", "h4 p"], 2),
        (["", "", ""], 0),  # a block without child blocks has no pattern
        (["p"], 0),
    ],
)
def test_repetitions_count_patterns_that_a_sibling_has(boxed, inner, repetitions):
    assert drawn(boxed(rows(*inner))).areas[0].repetitions == repetitions


def test_only_children_of_one_element_are_siblings(boxed):
    page = f"<section>{rows('h4 p')}</section><section>{rows('h4 p')}</section>"
    assert drawn(boxed(page)).areas[0].repetitions == 0


def test_text_and_link_text_are_those_of_the_own_elements(boxed):
    page = f'<body>ab\n   cd <a>efg</a> <i>h</i><div box="{FAR}"><a>link</a></div></body>'
    found = measured(boxed(page))
    assert [(block.text_length, block.link_length) for block in found] == [(9, 3), (4, 4)]


@pytest.mark.parametrize(("most_links", "length"), [(0.5, 10), (0.49, 0)])
def test_block_of_few_links_adds_its_text_to_its_parent(boxed, most_links, length):
    page = f'<div box="{FAR}">aaaaa<a>bbbbb</a></div>'
    found = measured(boxed(page), most_links=most_links)
    assert (found[0].text_length, found[0].link_length) == (length, length / 2)
    assert found[1].added == bool(length)


def test_text_is_passed_up_through_the_tree(boxed):
    page = '<div box="5 5 20 20 9"><div box="6 6 19 19 8">xx<div box="7 7 18 18 7">yyy</div></div></div>'
    assert [block.text_length for block in measured(boxed(page))] == [5, 5, 5, 3]


def test_block_without_text_has_no_links(boxed):
    assert measured(boxed(f'<div box="{FAR}"><hr></div>'))[1].link_density == 0

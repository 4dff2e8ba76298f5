"""VCE: the worked layout with all its figures, the block tree, and hostile pages."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import pytest
from cpu_time import bounded_cpu_time
from lxml import etree

from cleaning import Reason, clean, parse
from cleaning.errors import LayoutError, OptionError
from cleaning.layout import Box, Layout
from cleaning.leaves import body_of, walk
from cleaning.methods.vce import _build_block_tree, _find_main_block, _find_means, _measure_blocks


def comment(top):
    heading, text = f'<h4 box="230 {top + 5} 200 15 12 #fff">heading{top % 10}</h4>', f"{top:030}"
    body = f'<p box="230 {top + 20} 740 40 13 #fff">{text}</p>'
    return f'<div id="comment" box="220 {top} 760 60 14 #fff">{heading}{body}</div>'


# A header, a sidebar, an article and comments. Lengths of text are in the names of the figures below.
GOLDEN = (
    '<body box="0 0 1000 1000 16 #fff">'
    f'<div id="header" box="50 0 900 60 14 #ccc">{"<a>abcde</a>" * 3}</div>'
    f'<div id="sidebar" box="0 60 200 700 14 #ccc">{"<a>abcdef</a>" * 4}</div>'
    '<div id="article" box="200 60 800 700 16 #fff">'
    f'<p box="200 60 800 300 16 #fff">{"t" * 190}<a box="200 340 80 20 16">{"l" * 10}</a></p>'
    f'<p box="200 360 800 400 16 #fff">{"u" * 200}</p></div>'
    f'<div id="comments" box="200 760 800 240 14 #eee">{comment(770)}{comment(840)}{comment(910)}</div>'
    "</body>"
)
NAMES = ["body", "header", "sidebar", "article", "comments", *["comment", "h4", "p"] * 3]


def blocks_of(page, threshold=3, most_links=0.5):
    tree = _build_block_tree(body_of(page.root), page.layout.match(page.root), threshold)
    return _measure_blocks(tree, walk(page.root), most_links)


def named(blocks):
    return [block.area.root.get("id") or block.area.root.tag for block in blocks]


@pytest.fixture
def golden(boxed):
    return blocks_of(boxed(GOLDEN))


def test_golden_distances(boxed):
    page = boxed(GOLDEN)
    boxes, distances = page.layout.match(page.root), {}
    for threshold in range(6):
        for area in _build_block_tree(body_of(page.root), boxes, threshold).areas[1:]:
            distances[area.root.get("id") or area.root.tag, area.visual.top] = area.distance
    assert distances == {
        ("header", 0): 5,
        ("sidebar", 60): 5,
        ("article", 60): 4,
        ("p", 60): 1,
        ("p", 360): 2,
        ("comments", 760): 6,
        ("comment", 770): 5,
        ("comment", 840): 5,
        ("comment", 910): 5,
        ("h4", 775): 5,
        ("h4", 845): 5,
        ("h4", 915): 5,
        ("p", 790): 5,
        ("p", 860): 5,
        ("p", 930): 5,
    }


def test_golden_tree(golden):
    assert named(golden) == NAMES
    assert [block.area.parent for block in golden] == [None, 0, 0, 0, 0, 4, 5, 5, 4, 8, 8, 4, 11, 11]


@pytest.mark.parametrize(
    ("place", "lengths", "density", "repetitions", "edges", "font"),
    [
        (0, (514, 10), Fraction(10, 514), 0, (0, 1000), 16),
        (1, (15, 15), 1, 0, (0, 60), 14),
        (2, (24, 24), 1, 0, (60, 760), 14),
        (3, (400, 10), Fraction(1, 40), 0, (60, 760), 16),
        (4, (114, 0), 0, 2, (760, 1000), 14),
        (5, (38, 0), 0, 0, (770, 830), 14),
        (8, (38, 0), 0, 0, (840, 900), 14),
        (11, (38, 0), 0, 0, (910, 970), 14),
        (6, (8, 0), 0, 0, (775, 790), 12),
        (7, (30, 0), 0, 0, (790, 830), 13),
    ],
)
def test_golden_properties(golden, place, lengths, density, repetitions, edges, font):  # noqa: PLR0913, PLR0917 — a row
    block, area = golden[place], golden[place].area
    assert ((block.text_length, block.link_length), block.link_density) == (lengths, float(density))
    assert (area.repetitions, (area.visual.top, block.bottom), area.font_size) == (repetitions, edges, font)


def test_golden_blocks_of_links_are_not_added(golden):
    assert [name for name, block in zip(NAMES, golden, strict=True) if not block.added] == ["body", "header", "sidebar"]


def test_golden_factor_values(golden):
    factors = [block.factor for block in golden[1:5]]
    assert factors == pytest.approx([989, 998, 79040, 1928 / 1520])
    assert [block.numerator for block in golden[1:5]] == [989, 998, 1976, 1928]


def test_golden_factor_values_of_the_comments_are_infinite(golden):
    assert [block.factor for block in golden[5:]] == [math.inf] * 9
    assert [golden[place].numerator for place in (5, 8, 11)] == [1642, 1712, 1782]


def test_golden_means(golden):
    means = _find_means(golden)
    assert (means.text_length, means.width, means.height) == (781 / 13, 600, 2045 / 13)
    assert means.link_density == pytest.approx(81 / 520)


def test_golden_candidates(golden):
    means = _find_means(golden)
    candidates = [block for block in golden[1:] if means.allow(block)]
    assert named(candidates) == ["article", "comments"]


def test_golden_main_block_is_the_article(golden):
    assert NAMES[_find_main_block(golden, _find_means(golden).allow)] == "article"


def test_golden_without_candidates_a_comment_would_win(golden):
    main = _find_main_block(golden, lambda _: True)
    assert (NAMES[main], golden[main].area.visual.top) == ("comment", 910)


def test_golden_page_keeps_the_text_of_the_article(boxed):
    cleaned = clean(boxed(GOLDEN), method="vce")
    assert cleaned.text == f"{'t' * 190}{'l' * 10}\n{'u' * 200}"
    assert cleaned.counts() == {Reason.OUTSIDE: 8, Reason.KEPT: 2}
    assert cleaned.decisions[2].score == pytest.approx(79040)


def test_score_of_an_infinite_factor_is_its_numerator(boxed):
    cleaned = clean(boxed(GOLDEN), method="vce")
    assert [d.score for d in cleaned.decisions if d.block.text.startswith("heading")] == [1010, 1080, 1150]
    json.dumps([d.score for d in cleaned.decisions], allow_nan=False)


def test_first_of_equal_factor_values_is_the_main_block(golden):
    article = golden[3]
    assert _find_main_block([golden[0], article, article], lambda _: True) == 1


def test_children_come_before_their_parent(boxed):
    page = boxed(
        '<body><div id="outer" box="5 5 90 90 9"><p id="inner" box="4 5 90 90 8 #ccc">text</p></div></body>',
    )
    blocks = blocks_of(page, threshold=2)
    # The same text, width and bottom; fonts apart. Made equal, the one that is visited first wins.
    equal = [replace(block, area=replace(block.area, font_size=9)) for block in blocks]
    assert named([equal[_find_main_block(equal, lambda _: True)]]) == ["inner"]


PROSE = "The quick brown fox jumps over the lazy dog. " * 5


def test_child_block_of_links_is_left_out_of_the_main_block(boxed):
    menu = '<div box="20 20 50 50 9 #ccc"><a>All foxes and all dogs</a><div box="21 21 9 9 8">in it</div></div>'
    note = f'<div box="10 70 800 60 9 #eee">{PROSE}</div>'
    page = f'<div box="5 5 900 900 14 #fff">{PROSE}{menu}{note}</div>'
    reasons = [decision.reason for decision in clean(boxed(page), method="vce").decisions]
    assert reasons == [Reason.KEPT, Reason.LINKS, Reason.LINKS, Reason.KEPT]


def test_hidden_text_is_dropped_as_hidden(boxed):
    page = (
        f'<div box="5 5 900 900 14 #fff">{PROSE}<b box="5 5 9 9 hidden">gone</b> seen'
        '<p box="none">unknown<i box="9 9 9 9"> too</i></p></div>'
    )
    decisions = clean(boxed(page), method="vce").decisions
    assert [decision.reason for decision in decisions] == [Reason.KEPT, Reason.HIDDEN, Reason.KEPT, Reason.HIDDEN]
    assert [decisions[place].block.text for place in (1, 2, 3)] == ["gone", "seen", "unknown too"]
    assert decisions[1].score == decisions[3].score == 0


def test_page_of_one_block_has_no_main_block(boxed):
    cleaned = clean(boxed(f"<p>{PROSE}</p><p>{PROSE}</p>"), method="vce")
    assert cleaned.counts() == {Reason.NO_MAIN: 2}
    assert cleaned.text == ""


def test_no_main_block_where_text_and_area_are_never_in_one(boxed):
    page = f'<div box="5 5 90 9 9 #eee">{PROSE}</div><div box="5 20 900 900 9 #ccc">x</div>'
    assert clean(boxed(page), method="vce").counts() == {Reason.NO_MAIN: 2}


def test_equal_shares_of_links_are_not_more_than_their_mean(boxed):
    row = '<div box="{0} {0} 900 90 9 #eee">' + "x" * 69 + "<a>y</a></div>"
    page = boxed("".join(row.format(place) for place in range(1, 50)))
    blocks = blocks_of(page)
    assert sum(map(_find_means(blocks).allow, blocks[1:])) == 49


def test_page_without_text_has_no_blocks(boxed):
    assert clean(boxed('<div box="5 5 90 90 9"><hr></div>'), method="vce").decisions == ()
    assert clean(boxed(""), method="vce").decisions == ()


def test_page_without_a_layout_is_refused():
    with pytest.raises(OptionError, match="layout"):
        clean("<p>x</p>", method="vce")


def test_layout_of_another_page_is_refused(boxed):
    page = replace(boxed("<p>x</p><p>y</p>"), layout=boxed("<p>x</p><div>y</div>").layout)
    with pytest.raises(LayoutError, match="element 3 is <p> on the page and <div> in the layout"):
        clean(page, method="vce")


def test_threshold_and_link_density_are_options(boxed):
    assert clean(boxed(GOLDEN), method="vce", vce_threshold=6).counts() == {Reason.NO_MAIN: 10}
    strict = clean(boxed(GOLDEN), method="vce", vce_threshold=1, vce_link_density=0.01)
    assert strict.text == "u" * 200  # each paragraph is a block now, and the first has too many links


def laid_out(html, box):
    page = parse(html)
    elements = list(page.root.iter(etree.Element))
    boxes = tuple(box(place) for place in range(len(elements)))
    return replace(page, layout=Layout(tuple(element.tag for element in elements), boxes))


def apart(place):
    return Box(place, place, place + 1, place + 1, place + 1.0)


def stepwise(place):
    return Box(5, place, 700, 20, 16.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("html", "box"),
    [
        ("<div>x" * 2_000, apart),
        ("<div>x" * 2_000, stepwise),
        ("<div><p>x</p><p>y</p></div>" * 5_000, apart),
        ("<p>x <a>y</a></p>" * 20_000, apart),
        ("<p>x <a>y</a></p>" * 20_000, stepwise),
    ],
    ids=["levels", "levels in one block", "patterns", "siblings", "siblings in one block"],
)
def test_time_is_bounded(html, box):
    page = laid_out(html, box)
    with bounded_cpu_time():
        cleaned = clean(page, method="vce")
    assert len(cleaned.decisions) > 1_000


def test_tree_and_layout_stay_as_they_are(boxed):
    page = boxed(GOLDEN)
    before = etree.tostring(page.root)
    assert clean(page, method="vce") == clean(page, method="vce")
    assert etree.tostring(page.root) == before


FAR = "5 5 20 20 9"  # differs from any parent here in all but the background


def drawn(page, threshold=3):
    return _build_block_tree(body_of(page.root), page.layout.match(page.root), threshold)


def measured(page, threshold=3, most_links=0.5):
    return _measure_blocks(drawn(page, threshold), walk(page.root), most_links)


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
    distances = {area.root.tag: area.distance for area in drawn(page, 0).areas}
    assert distances.get("div", 0) == distance


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
    tree = drawn(page)
    assert len(tree.areas) == 1
    assert {element.tag for element in tree.block_of} == {"body", "p"}


def test_root_is_always_a_block(boxed):
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
    blocks = measured(boxed(page))
    assert [(block.text_length, block.link_length) for block in blocks] == [(9, 3), (4, 4)]


@pytest.mark.parametrize(("most_links", "length"), [(0.5, 10), (0.49, 0)])
def test_block_of_few_links_adds_its_text_to_its_parent(boxed, most_links, length):
    page = f'<div box="{FAR}">aaaaa<a>bbbbb</a></div>'
    blocks = measured(boxed(page), most_links=most_links)
    assert (blocks[0].text_length, blocks[0].link_length) == (length, length / 2)
    assert blocks[1].added == bool(length)


def test_text_is_passed_up_through_the_tree(boxed):
    page = '<div box="5 5 20 20 9"><div box="6 6 19 19 8">xx<div box="7 7 18 18 7">yyy</div></div></div>'
    assert [block.text_length for block in measured(boxed(page))] == [5, 5, 5, 3]


def test_block_without_text_has_no_links(boxed):
    assert measured(boxed(f'<div box="{FAR}"><hr></div>'))[1].link_density == 0

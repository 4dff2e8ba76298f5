"""Visibility: pieces of a text that no browser shows are left out, and nothing else is."""

import pytest

from cleaning import clean, parse
from cleaning.leaves import walk

PROSE = "The ferry left the harbour at noon, and forty people waved from the quay until it was out of sight."
LEFT_OUT = {
    "label": (f'<p><span class="visually-hidden">Quote: </span>{PROSE}</p>', PROSE),
    "class of a framework": (f'<p><b class="govuk-visually-hidden">Warning</b> {PROSE}</p>', PROSE),
    "hidden by style": (f'<p><span style="color: red; display : NONE">Error 12 </span>{PROSE}</p>', PROSE),
    "hidden by an attribute": ("<p>one <span hidden>two <b>three</b> four</span> five</p>", "one five"),
    "invisible": ("<p>one <em style='visibility:hidden'>two</em> three</p>", "one three"),
    "link for screen readers": (
        "<p><a href=/x>Read on<span class=sr-only> about the ice</span></a> today</p>",
        "Read on today",
    ),
    "anchor of a heading": ("<h2>The plan<a href=#plan aria-hidden=true>#</a></h2>", "The plan"),
    "anchor with a word": ("<h2>The plan<a href=#plan aria-hidden=true>Permalink</a></h2>", "The plan"),
    "separator": ("<p>Monday<span class=sr-only>,</span><span>Tuesday</span></p>", "Monday Tuesday"),
    "before a mark": ("<p>Price<span class=sr-only> in euros</span>: 5</p>", "Price: 5"),
    "two versions": (
        "<p>It costs <b aria-hidden=true>$12.99</b><b class=sr-only>12 dollars</b> now</p>",
        "It costs $12.99 now",
    ),
    "a line break inside": ("<p>one <span hidden>two<br>three</span> five</p>", "one five"),
}


def texts_of(source):
    return [leaf.block.text for leaf in walk(parse(source).root)]


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_piece_that_is_not_shown_is_left_out(name):
    source, expected = LEFT_OUT[name]
    assert " ".join(texts_of(source)) == expected


STAYS = {
    "the only text": (f"<p><span style='display:none'>{PROSE}</span></p>", PROSE),
    "all of a block but a mark": ("<p><span class=sr-only>Price</span>: </p>", "Price:"),
    "what a click opens": ("<p>one <span class=read-more style='display:none'>two</span></p>", "one two"),
    "a text of its own": (f"<p>one <span hidden>{PROSE} {PROSE}</span></p>", f"one {PROSE} {PROSE}"),
    "what a search opens": ("<p>one <span hidden=until-found>two</span></p>", "one two"),
    "shown on wide screens": ("<p>one <span class='sr-only md:not-sr-only'>two</span></p>", "one two"),
    "the first letter": ("<p><b aria-hidden=true>T</b>he ferry</p>", "The ferry"),
    "a formula": ("<p>Let <b class=katex-html aria-hidden=true>x</b> be</p>", "Let x be"),
    "code": ("<pre><span aria-hidden=true>$ </span>ls</pre>", "$ ls"),
    "aria-hidden=false": ("<p>one <span aria-hidden=false>two</span></p>", "one two"),
    "another class": ("<p>one <span class='reader overhidden'>two</span></p>", "one two"),
}


@pytest.mark.parametrize("name", STAYS)
def test_another_piece_stays(name):
    source, expected = STAYS[name]
    assert texts_of(source) == [expected]


def test_a_page_inside_a_hidden_element_is_read():
    for opened, closed in (
        ("<div style='display:none'>", "</div>"),
        ("<span hidden>", "</span>"),
        ("<main aria-hidden=true>", "</main>"),
    ):
        assert texts_of(f"{opened}<p>{PROSE}</p><p>Second <b>text</b>.</p>{closed}") == [PROSE, "Second text."]


def test_structure_leaves_the_same_pieces_out():
    label = "<span class=sr-only>Part 2: </span>"
    heading = f"<h2>{label}The plan<a href=#plan aria-hidden=true>#</a></h2>"
    page = clean(f"<article><h1>Ferry</h1><p>{PROSE}</p>{heading}<p>{label}{PROSE[::-1]}, {PROSE}</p></article>")
    assert "## The plan\n" in page.markdown
    assert "Part 2" not in page.markdown
    assert "Part 2" not in page.text


def test_many_hidden_pieces_take_linear_time():
    source = "<p>word " + "<i hidden>x</i> <b>y</b> " * 20_000
    assert texts_of(source)[0].startswith("word y y y")

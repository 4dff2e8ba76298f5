"""The statements of a page: types, JSON-LD, references, elements around the heading, hostile input in bounded time."""

import json

import pytest
from cpu_time import cpu_growth

from cleaning import parse
from cleaning.metadata.page import read_metadata
from cleaning.metadata.statements import _read_json_ld, read_statements, tidy_text, visible_text


def statements(head="", body="<p>text</p>"):
    return read_statements(parse(f"<html><head>{head}</head><body>{body}</body></html>").root)


def linked(*values):
    return "".join(f'<script type="application/ld+json">{json.dumps(value)}</script>' for value in values)


def test_types_come_from_json_ld_microdata_and_open_graph():
    head = (
        linked({"@type": ["NewsArticle", "https://schema.org/Report"]}) + '<meta property="og:type" content="Article">'
    )
    body = '<div itemscope itemtype="http://schema.org/Product https://schema.org/Offer/">x</div>'
    assert statements(head, body).types == {"newsarticle", "report", "article", "product", "offer"}


def test_silent_page_has_no_statements():
    stated = statements()
    assert (stated.types, stated.article_body, stated.title, stated.metas) == (frozenset(), None, None, {})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"@type": "NewsArticle", "articleBody": "<p>One &amp; two</p>\n<p>three</p>"}, "One & two three"),
        ({"@type": "Product", "description": "A lamp."}, "A lamp."),
        ({"@type": "NewsArticle", "description": "A summary."}, None),
        (
            {"@graph": [{"@type": "Article", "articleBody": "short"}, {"@type": "Article", "text": "the longer"}]},
            "the longer",
        ),
        (
            {"@type": "QAPage", "mainEntity": {"@type": "Question", "text": "Why?", "acceptedAnswer": {"text": "So."}}},
            "Why? So.",
        ),
        ({"@type": "FAQPage", "mainEntity": [{"@type": "Question", "text": "Why?"}]}, None),
        ({"@type": "Article", "articleBody": ["no", "text"]}, None),
    ],
)
def test_article_body_is_the_text_that_json_ld_gives(value, expected):
    assert statements(linked(value)).article_body == expected


def test_longest_body_is_chosen_of_several_scripts():
    short, long = {"@type": "Article", "articleBody": "short"}, {"@type": "Article", "articleBody": "a longer one"}
    assert statements(linked(short, long)).article_body == "a longer one"


def test_references_are_resolved_within_a_graph_and_between_scripts():
    article = {
        "@graph": [{"@type": "Article", "author": {"@id": "#jo"}}, {"@type": "Person", "@id": "#bo", "name": "Bo"}]
    }
    stated = statements(linked(article, {"@type": "Person", "@id": "#jo", "name": "Jo Doe"}))
    assert list(stated.texts("author")) == ["Jo Doe"]


def test_reference_to_nothing_and_to_itself_gives_no_text():
    stated = statements(linked({"@type": "Article", "@id": "#a", "author": [{"@id": "#a"}, {"@id": "#gone"}]}))
    assert list(stated.texts("author")) == []


@pytest.mark.parametrize(
    "script",
    [
        '/* <![CDATA[ */ {"@type": "Article"} /* ]]> */',
        '<!-- {"@type": "Article"} -->',
        '{"@type": "Article",}',
        "{&quot;@type&quot;: &quot;Article&quot;}",
        '{"@type": "Thing"} {"@type": "Article"}',
        '{"@type": "Article"};',
    ],
)
def test_carelessly_written_json_ld_is_read(script):
    assert "article" in [str(node.get("@type")).lower() for node in _read_json_ld([script])]


def test_heading_keeps_its_words_apart():
    heading = parse("<h1>News<br>Product <b>man</b>ager<style>b{}</style><svg><title>x</title></svg></h1>").root.find(
        ".//h1"
    )
    assert visible_text(heading) == "News Product manager"


def test_title_of_a_graphic_is_not_the_pages():
    assert statements(body="<svg><title>Close</title></svg>").title is None


def test_stated_texts_lose_tags_references_and_characters_that_reorder():
    assert tidy_text("\u202eA <b>day</b> &amp; night\u200b\x00") == "A day & night"
    assert tidy_text(" \x00 ") is None


NESTED = '{"@graph":'
# The number of elements, and how a page of as many is made.
HOSTILE = {
    "metas": (96_000, lambda count: "".join(f'<meta name="m{i}" content="{i}">' for i in range(count))),
    "contents of one meta": (96_000, lambda count: '<meta name="author" content="a">' * count),
    "nested json-ld": (9_600, lambda count: f'<script type="application/ld+json">{"[" * count}{"]" * count}</script>'),
    "nested graph": (
        9_600,
        lambda count: f'<script type="application/ld+json">{NESTED * count}1{"}" * count}</script>',
    ),
    "scripts": (
        96_000,
        lambda count: '<script type="application/ld+json">{"@type":"Article","author":"a"}</script>' * count,
    ),
    "wide json-ld": (16_000, lambda count: linked([{"@type": "Article", "author": "a"}] * count)),
    "item types": (
        96_000,
        lambda count: '<b itemscope itemprop="author" itemtype="http://schema.org/Person">x</b>' * count,
    ),
    "headings": (96_000, lambda count: "<h1>one</h1>" * count),
    "deep heading": (1_600, lambda count: "<h1>" + "<b>x" * count),
    "times": (96_000, lambda count: "<time datetime=9999-99-99>x</time>" * count),
    "bylines": (96_000, lambda count: '<b class="author">By</b>' * count),
    "dates": (96_000, lambda count: "<p>20 May 20</p>" * count),
    "blanks": (480_000, lambda count: f'<title>{"a " * count}</title><meta name="author" content="{" " * count}x">'),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_time_of_a_hostile_page_grows_with_its_size(name):
    count, page = HOSTILE[name]
    # A linear search takes 8 times, a quadratic one 64.
    assert cpu_growth(read_metadata, parse(page(count // 8)), parse(page(count))) < 20


PAGE = "<title>x</title><p id=a>one <b id=b>two</b></p><h1 id=h>Head<i id=i></i></h1><p id=c>three</p><p id=d>four</p>"


def heading():
    return parse(PAGE).root.find(".//h1")


@pytest.mark.parametrize(
    "part",
    [
        "<a rel=author href=/author/x>joe 1</a> ",
        "<i></i><b itemprop=author itemtype=x>x</b> ",
        "<i>2020</i>text 12 May 2020 <b class=author>1</b>",
    ],
)
def test_many_siblings_take_linear_time(part):
    small, large = (parse("<title>x</title><p>" + part * times) for times in (12_500, 100_000))
    assert cpu_growth(read_metadata, small, large) < 20  # a linear search takes 8 times, a quadratic one 64

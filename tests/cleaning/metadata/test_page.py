"""What a page says of itself: order of the sources, broken and hostile statements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stated_pages import article, linked, metadata

from cleaning import Metadata, parse
from cleaning.metadata.page import read_metadata

PROSE = "The town library opens again on Monday after two years of repairs, and its reading room has kept its tables."


OPEN_GRAPH = (
    '<meta property="og:title" content="OpenGraph title"><meta name="author" content="Meta Author">'
    '<meta property="article:published_time" content="2022-02-02T10:00:00Z">'
)
MICRODATA = '<b itemprop="author">Micro Author</b><time itemprop="datePublished" datetime="2023-03-03">March</time>'
HEADING = "<h1>Heading on the page</h1>"


def test_json_ld_comes_first():
    stated = article(headline="Linked title", author={"name": "Linked Author"}, datePublished="2021-01-01T08:00+01:00")
    found = metadata(OPEN_GRAPH + stated, MICRODATA + HEADING)
    assert (found.title, found.author, found.published) == ("Linked title", "Linked Author", "2021-01-01")


def test_open_graph_and_meta_come_before_microdata():
    found = metadata(OPEN_GRAPH, MICRODATA + HEADING)
    assert (found.title, found.author, found.published) == ("OpenGraph title", "Meta Author", "2022-02-02")


def test_microdata_comes_before_the_visible_page():
    found = metadata("<title>Title</title>", MICRODATA + '<a rel="author">Page Author</a>')
    assert (found.author, found.published) == ("Micro Author", "2023-03-03")


def test_visible_page_comes_last():
    found = metadata("<title>Title of the page</title>", '<a rel="author nofollow">By Page Author</a>')
    assert (found.title, found.author) == ("Title of the page", "Page Author")


def test_heading_stands_in_for_a_missing_title():
    assert metadata("", HEADING).title == "Heading on the page"


def test_silent_page_has_no_metadata():
    assert metadata() == Metadata()


@pytest.mark.parametrize(
    "source",
    [
        [{"@type": "WebSite", "name": "no"}, {"@type": ["Thing", "BlogPosting"], "headline": "Found"}],
        {"@graph": [{"@type": "Organization"}, {"@type": "Article", "headline": "Found"}]},
        {"@type": "WebPage", "mainEntity": {"@type": "Recipe", "headline": "Found"}},
    ],
)
def test_json_ld_article_is_found_in_lists_and_graphs(source):
    assert metadata(linked(source)).title == "Found"


@pytest.mark.parametrize(
    "author",
    ["Ann Lee, Bo Ek", ["Ann Lee", "Bo Ek"], [{"name": "Ann Lee"}, {"name": "Bo Ek"}, {"name": "Ann Lee"}]],
)
def test_authors_are_joined_and_named_once(author):
    assert metadata(article(author=author)).author == "Ann Lee, Bo Ek"


@pytest.mark.parametrize(
    "broken",
    [
        "{",
        "",
        "null",
        "[" * 100_000,
        '{"@type": "Article", "headline": "x"',
        '{"@type": {"a": 1}, "headline": [[1]]}',
        '{"@type": "Article", "headline": 7, "author": {"name": {"name": 1}}, "datePublished": [null, 5]}',
        '{"@type": "Article", "headline": ' + "1" * 10_000 + "}",
        '{"@type": "Article", "headline": "\\ud800"}',
    ],
)
def test_broken_json_ld_is_passed_over(broken):
    found = metadata(f'<script type="application/ld+json">{broken}</script>{OPEN_GRAPH}')
    assert (found.title, found.author) == ("OpenGraph title", "Meta Author")


def test_json_ld_with_raw_line_breaks_is_read():
    broken = '<script type="application/ld+json">{"@type": "Article", "headline": "two\nlines"}</script>'
    assert metadata(broken).title == "two lines"


@pytest.mark.parametrize(
    "title", ["A day out | The Daily", "A day out - The Daily", "The Daily — A day out", "A day out_The Daily"]
)
def test_name_of_the_site_is_taken_off_the_title(title):
    site = '<meta property="og:site_name" content="The Daily">'
    assert metadata(f"{site}<title>{title}</title>").title == "A day out"


def test_heading_tells_the_title_from_the_rest():
    assert metadata("<title>A day out in town - Travel - Daily</title>", "<h1>A day out in town</h1>").title == (
        "A day out in town"
    )


def test_title_with_a_dash_keeps_it_where_nothing_tells_the_site():
    assert metadata("<title>Berlin - Paris</title>").title == "Berlin - Paris"


def test_title_has_a_bound_and_no_control_characters():
    title = metadata("<title>a\x1b\x00b " + "t" * 300_000 + "</title>").title
    assert title.startswith("ab t")
    assert len(title) == 1_000


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("/news/1", "https://example.org/news/1"),
        ("https://example.org/a?b=1", "https://example.org/a?b=1"),
        (" //example.org/x ", "https://example.org/x"),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("file:///etc/passwd", None),
        ("mailto:a@b.org", None),
        ("http://[broken", None),
        ("", None),
    ],
)
def test_canonical_is_an_absolute_web_address_or_nothing(href, expected):
    assert (
        metadata(f'<link rel="canonical" href="{href}">', url="https://example.org/news/1.html").canonical == expected
    )


def test_relative_canonical_of_a_page_without_address_is_nothing():
    assert metadata('<link rel="canonical" href="/x">', url=None).canonical is None


def test_canonical_falls_back_to_open_graph():
    assert metadata('<meta property="og:url" content="https://example.org/og">').canonical == "https://example.org/og"


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("2024-05-03", "2024-05-03"),
        ("2024-05-03T23:59:59-11:00", "2024-05-03"),
        (" 2024-05-03 10:00", "2024-05-03"),
        ("2024-13-03", None),
        ("2024-02-30", None),
        ("yesterday", None),
    ],
)
def test_date_is_the_day_that_was_stated(date, expected):
    assert metadata(article(datePublished=date)).published == expected


def test_impossible_date_gives_way_to_the_next_source():
    assert metadata(article(datePublished="0000-00-00") + OPEN_GRAPH).published == "2022-02-02"


def test_visible_date_is_found():
    body = f'<h1>Title</h1><time datetime="2020-04-05">5 April 2020</time><p>{PROSE}</p>'
    assert metadata(body=body).published == "2020-04-05"


@pytest.mark.parametrize("control", ["\x1f", "&#31;"])
def test_control_characters_beside_a_script_do_not_stop_the_search_for_a_date(control):
    assert metadata(body=f"<p>one{control}<script>x</script>two</p><p>three</p>").published is None


@pytest.mark.parametrize(
    ("language", "expected"), [("en-GB", "en"), ("DE", "de"), ("zh_CN", "zh"), ("*", None), ("", None)]
)
def test_declared_language_is_its_code(language, expected):
    page = parse(f'<html lang="{language}"><body><p>text</p>')
    assert read_metadata(page).language == expected


def test_language_of_the_text_stands_in_for_a_declared_one():
    assert read_metadata(parse("<p>x</p>"), text=PROSE).language == "en"


def test_section_is_read():
    assert metadata(article(articleSection=["Travel", "Town"])).section == "Travel"
    assert metadata('<meta property="article:section" content="Town">').section == "Town"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["@type", "@graph", "mainEntity", "headline", "author", "name", "datePublished"]), inner
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_json_ld_gives_texts_or_nothing(value):
    found = metadata(linked({"@type": "Article", "headline": value, "author": value, "datePublished": value}))
    for text in (found.title, found.author, found.published, found.section):
        assert text is None or (isinstance(text, str) and text)


def test_a_title_cut_at_its_own_quotation_mark_is_read_from_the_title_element():
    head = '<title>He said "never" again</title><meta property="og:title" content="He said "never" again">'
    page = parse(f"<html><head>{head}</head><body><p>text</p></body></html>")
    assert read_metadata(page).title == 'He said "never" again'

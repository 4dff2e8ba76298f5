"""The compiled search for elements finds what the pure one finds, in linear time."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree, html

from cleaning import parse
from cleaning._native import load_compiled
from cleaning.metadata.elements import (
    LARGE_PAGE_ELEMENTS,
    MAX_ABOVE,
    MAX_BELOW,
    MAX_FIRST,
    MAX_FOUND,
    NEAR,
    find_classed,
    find_elements,
    find_starts,
    find_texts,
    pure_find_classed,
    pure_find_elements,
    pure_find_starts,
    pure_find_texts,
)

compiled = pytest.mark.skipif(
    load_compiled("elements") is None, reason="COMPILER: Blocksieve was installed without its compiled core"
)
TAGS = "a h1 title meta link time script svg o:p div p br b html head body template".split()
ATTRIBUTES = [
    "",
    " itemprop",
    " itemprop=author itemtype='http://schema.org/Person x'",
    ' itemprop="a &amp; b"',
    " ITEMTYPE=é",
    " type=application/ld+json",
    ' type="application/LD&#43;JSON"',
    " type=module",
    " href=/author/x rel=me",
    " href=/AUTHOR/x",
    " href=/autoren/x",
    " href=/automatic",
    ' href="/aut&#104;ors/x"',
    " rel='nofollow author'",
    " rel='license'",
    " href='https://creativecommons.org/licenses/by/4.0/'",
    " rel=AUTHOR",
    " rel",
    " xml:href=/author/x",
    " class=Author",
    ' class="by &#97;uthor"',
    " xml:class=author",
]
pieces = st.one_of(
    st.builds("<{}{}>".format, st.sampled_from(TAGS), st.sampled_from(ATTRIBUTES)),
    st.builds("</{}>".format, st.sampled_from(TAGS)),
    st.sampled_from(["text", "<!-- no -->", "<?php no ?>", "&nbsp;", "20", "2", "0", "\u0662\u0660", "\u0662"]),
)
STARTS = ("te", "2", "\u0662")
PARTS = ("20", "\u0662\u0660")


# Of a larger page, so many are tried as its heading.
HEADINGS = 50


def assert_same(root):
    elements = find_elements(root)
    expected = pure_find_elements(root)
    assert elements == expected
    assert [type(value) for value in elements.item_types] == [str] * len(elements.item_types)
    headings = list(root.iter("h1", "p", "b"))
    for heading in (None, root, *headings[:: 1 + len(headings) // HEADINGS]):
        assert find_classed(root, heading, ("uthor", "by")) == pure_find_classed(root, heading, ("uthor", "by"))
        assert find_texts(root, heading, PARTS) == pure_find_texts(root, heading, PARTS)
        assert find_starts(root, heading, STARTS) == pure_find_starts(root, heading, STARTS)


@compiled
@settings.get_profile("kernel")
@given(st.lists(pieces, max_size=40).map("".join))
def test_same_elements_on_any_page(page):
    assert_same(parse(page).root)


@compiled
def test_same_elements_in_any_tree():
    """Trees of others have comments, name spaces and entities."""
    source = b"""<!DOCTYPE html [<!ENTITY who "/author/x">]><html xmlns:x="urn:x"><x:a href="/author/1"/><!-- <a/> -->
    <?php a ?><a href="&who;" x:itemprop="no">a</a><a class="author" rel="&who;author"/><x:h1 itemprop="name"/>&who;<!--
    --><h1/><b class="&who;">2<![CDATA[0]]></b>2<![CDATA[0]]></html>"""
    root = etree.fromstring(source, etree.XMLParser(resolve_entities=False))
    assert_same(root)
    assert len(find_elements(root).author_links) == 2
    assert_same(root[-1])
    assert_same(html.fromstring("<a rel=author itemprop=x><a rel=author itemprop=y></a></a>"))


@compiled
@pytest.mark.parametrize("more", [-2, 0])
def test_a_large_page_gives_the_first_items(more):
    # Beside the items: html, body, p.
    page = "<p>" + "<b itemprop=name itemtype=x></b>" * (LARGE_PAGE_ELEMENTS - 2 + more)
    root = parse(page).root
    assert_same(root)
    expected = MAX_FOUND if more == 0 else LARGE_PAGE_ELEMENTS - 4
    assert len(find_elements(root).item_types) == len(find_elements(root).item_properties) == expected


@compiled
def test_the_same_number_of_elements_is_searched():
    page = parse("<h1>Title</h1>" + "<p class=author><b></b></p>" * 1_000).root
    middle = page.findall(".//p")[500]
    for heading, most in ((None, MAX_FIRST // 2 - 1), (middle, (MAX_ABOVE + MAX_BELOW) // 2)):
        elements = find_classed(page, heading, ("author",))
        assert elements == pure_find_classed(page, heading, ("author",))
        assert len(elements) == most
    near = find_texts(parse("<h1>Title</h1>" + "<p>2020</p>" * 1_000).root, None, PARTS)
    assert (len(near.above), len(near.below), len(near.further)) == (0, NEAR - 2, MAX_FIRST - NEAR)  # body, h1


@compiled
def test_same_elements_on_saved_pages(data):
    for path in sorted((data / "extraction").glob("*/html/*.html.gz"))[::25]:
        assert_same(parse(gzip.decompress(path.read_bytes()), max_bytes=100_000_000).root)

"""The contract of `clean`, for any page; what each method owes is in methods/test_contract.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree, html

from cleaning import CleanPage, PageError, PageFault, ParseWarning, clean, parse

PROSE = "The town library opens again on Monday after two years of repairs, and its reading room has kept its tables. "
PAGE = (
    "<html lang=en><head><title>Library</title></head><body><nav><a href=/>Home</a> <a href=/news>News</a></nav>"
    f"<article><h1>Library opens</h1><p>{PROSE * 3}</p><p>{PROSE * 2}</p></article>"
    "<footer>Imprint</footer></body></html>"
)
tags = st.sampled_from("div p span a b h1 li ul table tr td br form label nav article script noscript pre x-y".split())
pieces = st.one_of(
    st.text(max_size=20),
    st.just(PROSE),
    st.builds("<{}>".format, tags),
    st.builds("</{}>".format, tags),
    st.sampled_from(
        ["<a href=/>", "<div class=menu>", "<!--", "-->", "<![CDATA[", "&amp;", "&#0;", "&#xD800;", "\x00"]
    ),
)
pages = st.lists(pieces, max_size=30).map("".join)


@given(st.binary(max_size=3_000), st.sampled_from([None, "utf-8", "gb2312", "utf-16", "hex", "x" * 99]))
def test_any_bytes_give_a_page_or_a_page_error(body, encoding):
    try:
        page = clean(body, "https://example.org/", encoding=encoding)
    except PageError as error:
        assert error.cause in PageFault  # noqa: PT017 — either outcome is right
    else:
        assert isinstance(page, CleanPage)


# A text such as {} is JSON, and refused.
@given(st.text(st.characters(exclude_characters="{[")))
def test_any_text_gives_a_page(text):
    assert isinstance(clean(text), CleanPage)


CONTROLS = dict.fromkeys((*range(9), *range(14, 32), 127))  # bytes with many of them are no text


@given(pages)
def test_bytes_text_tree_and_page_give_the_same_decisions(page):
    page = page.encode("utf-8", "ignore").decode().translate(CONTROLS)
    expected = clean(page).decisions
    assert clean(parse(page)).decisions == expected
    assert clean(parse(page).root).decisions == expected
    assert clean(b"\xef\xbb\xbf" + page.encode()).decisions == expected


def test_tree_of_lxml_gives_the_same_decisions_as_bytes():
    tree = html.document_fromstring(PAGE)
    assert clean(tree).decisions == clean(PAGE.encode()).decisions


@pytest.mark.parametrize("source", [b"", "", b" \n ", "<html></html>", "<body><div></div><script>x</script></body>"])
def test_page_without_text_has_no_blocks(source):
    page = clean(source)
    assert (page.decisions, page.kept, page.text, page.counts()) == ((), (), "", {})


def test_empty_page_is_counted_as_an_oddity():
    assert clean(b"").parse_warnings == (ParseWarning.EMPTY,)


def test_text_is_the_kept_texts_one_a_line():
    page = clean(PAGE)
    assert page.text == "\n".join(decision.block.text for decision in page.decisions if decision.kept)


def test_clean_page_has_url_method_encoding_and_metadata():
    page = clean(PAGE.encode(), "https://example.org/x", method="default")
    assert (page.url, page.method, page.encoding) == ("https://example.org/x", "default", "utf-8")
    assert (page.title, page.author, page.published, page.language) == ("Library opens", None, None, "en")
    assert page.title == page.metadata.title


def test_page_above_max_bytes_is_refused():
    with pytest.raises(PageError, match="max_bytes=1000") as caught:
        clean(b"<p>" + b"x" * 1_000, max_bytes=1_000)
    assert caught.value.cause is PageFault.TOO_LARGE


def test_deep_nesting_gives_a_warning():
    page = clean(f"<p>{PROSE}</p>" + "<div>" * 100_000 + "bottom" + "</div>" * 100_000)
    assert page.parse_warnings == (ParseWarning.DEEP_NESTING,)
    assert page.decisions[0].block.text == PROSE.strip()


def test_every_text_can_be_stored():
    page = clean("<title>a\ud800\x00</title><p>b\udfff\x00\x1b[2J</p><pre>c\x07</pre>")
    for text in (page.title, *(decision.block.text for decision in page.decisions)):
        assert text.encode("utf-8")
        assert not set(text) & set("\x00\x07\x1b")


@pytest.mark.parametrize("page", [None, 5, bytearray(b"<p>text</p>"), ["<p>text</p>"], etree.HTML("<title>A</title>")])
def test_what_is_no_page_is_refused_by_its_type(page):
    with pytest.raises(TypeError, match=f"the page is a {type(page).__name__}; it must be bytes, str, a tree of lxml"):
        clean(page)


@pytest.mark.parametrize(
    "head",
    [
        '<link rel=canonical href="https://e.org/forum/ferry-1">',
        '<meta property="og:url" content="https://e.org/forum/ferry-1">',
    ],
)
def test_without_a_url_the_page_has_the_address_that_it_states(head):
    html = f"<head>{head}<title>Ferry</title></head><body><p>{'The ferry left at noon. ' * 9}</p></body>"
    assert clean(html) == clean(html, "https://e.org/forum/ferry-1")
    assert clean(html, "https://other.org/").url == "https://other.org/"


def test_a_relative_address_is_none():
    assert clean('<head><link rel=canonical href="/ferry"></head><p>Ferry</p>').url is None

"""The contract of `clean`, for any page and any method."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree, html

from cleaning import METHODS, CleanPage, Oddity, PageError, PageFault, Reason, clean, parse

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
methods = st.sampled_from(sorted(METHODS))


@given(st.binary(max_size=3_000), methods, st.sampled_from([None, "utf-8", "gb2312", "utf-16", "hex", "x" * 99]))
def test_any_bytes_give_a_page_or_a_page_error(body, method, encoding):
    try:
        page = clean(body, "https://example.org/", method=method, encoding=encoding)
    except PageError as error:
        assert error.cause in PageFault  # noqa: PT017 — either outcome is right
    else:
        assert isinstance(page, CleanPage)


@given(st.text(st.characters()), methods)
def test_any_text_gives_a_page(text, method):
    assert isinstance(clean(text, method=method), CleanPage)


@given(pages, methods)
def test_blocks_in_are_kept_and_each_reason(page, method):
    cleaned = clean(page, method=method)
    assert sum(cleaned.counts().values()) == len(cleaned.decisions)
    assert set(cleaned.counts()) <= set(Reason)
    assert cleaned.counts().get(Reason.KEPT, 0) == len(cleaned.kept)


@given(pages, methods)
def test_positions_follow_one_another(page, method):
    decisions = clean(page, method=method).decisions
    assert [decision.block.position for decision in decisions] == list(range(len(decisions)))


@given(pages, methods)
def test_the_same_page_gives_the_same_decisions(page, method):
    assert clean(page, method=method) == clean(page, method=method)


@given(pages, methods)
def test_tree_is_not_edited(page, method):
    parsed = parse(page)
    before = etree.tostring(parsed.root)
    clean(parsed, method=method)
    assert etree.tostring(parsed.root) == before


@given(pages, methods)
def test_bytes_text_tree_and_page_give_the_same_decisions(page, method):
    page = page.encode("utf-8", "ignore").decode().replace("\x00", "")  # bytes full of NUL are no text
    expected = clean(page, method=method).decisions
    assert clean(parse(page), method=method).decisions == expected
    assert clean(parse(page).root, method=method).decisions == expected
    assert clean(b"\xef\xbb\xbf" + page.encode(), method=method).decisions == expected


@pytest.mark.parametrize("method", METHODS)
def test_tree_of_lxml_gives_the_same_decisions_as_bytes(method):
    tree = html.document_fromstring(PAGE)
    assert clean(tree, method=method).decisions == clean(PAGE.encode(), method=method).decisions


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("source", [b"", "", b" \n ", "<html></html>", "<body><div></div><script>x</script></body>"])
def test_page_without_text_has_no_blocks(source, method):
    page = clean(source, method=method)
    assert (page.decisions, page.kept, page.text, page.counts()) == ((), (), "", {})


def test_empty_page_is_counted_as_an_oddity():
    assert clean(b"").oddities == (Oddity.EMPTY,)


@pytest.mark.parametrize("method", METHODS)
def test_text_is_the_kept_texts_one_a_line(method):
    page = clean(PAGE, method=method)
    assert page.text == "\n".join(decision.block.text for decision in page.decisions if decision.kept)


def test_page_tells_its_address_method_encoding_and_metadata():
    page = clean(PAGE.encode(), "https://example.org/x", method="default")
    assert (page.url, page.method, page.encoding) == ("https://example.org/x", "default", "utf-8")
    assert (page.title, page.author, page.published, page.language) == ("Library", None, None, "en")
    assert page.title == page.metadata.title


@pytest.mark.parametrize("method", METHODS)
def test_blocks_beyond_the_bound_are_dropped_with_their_own_reason(method):
    page = clean("<p>text</p>" * 130, method=method, max_blocks=100)
    assert len(page.decisions) == 130
    assert [decision.reason for decision in page.decisions[100:]] == [Reason.TRUNCATED] * 30
    assert Reason.TRUNCATED not in {decision.reason for decision in page.decisions[:100]}


def test_page_above_max_bytes_is_refused():
    with pytest.raises(PageError, match="max_bytes=1000") as caught:
        clean(b"<p>" + b"x" * 1_000, max_bytes=1_000)
    assert caught.value.cause is PageFault.TOO_LARGE


@pytest.mark.parametrize("method", METHODS)
def test_deep_nesting_is_survived_and_told(method):
    page = clean(f"<p>{PROSE}</p>" + "<div>" * 100_000 + "bottom" + "</div>" * 100_000, method=method)
    assert page.oddities == (Oddity.DEEP_NESTING,)
    assert page.decisions[0].block.text == PROSE.strip()


@pytest.mark.parametrize("method", METHODS)
def test_every_text_can_be_stored(method):
    page = clean("<title>a\ud800\x00</title><p>b\udfff\x00\x1b[2J</p><pre>c\x07</pre>", method=method)
    for text in (page.title, *(decision.block.text for decision in page.decisions)):
        assert text.encode("utf-8")
        assert not set(text) & set("\x00\x07\x1b")

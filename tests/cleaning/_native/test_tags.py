"""The compiled passes over a page's bytes find what the pure ones find; the bound on attributes holds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree, html

from cleaning._native import load_compiled
from cleaning.parse import _FIRST_END, _TagCounter

tags = load_compiled("tags")
pytestmark = pytest.mark.skipif(tags is None, reason="COMPILER: Blocksieve was installed without its compiled core")

PARTS = (
    "<p |<a |<div|</p>|>|/>|<|=|='|=\"|'|\"| |\n|/|a|b=|c='x'|d=\"y\"|e = 1|<script>|</script>|<!--|-->|<title>|"
    "</title>|<textarea |<style>|</style>|<![CDATA[|]]>|<?|&quot;|\x00|\f|é|<plaintext>|f=''g=h|text"
).split("|")


def squares_of(body):
    counted = _TagCounter()
    try:
        etree.fromstring(body, html.HTMLParser(encoding="utf-8", huge_tree=True, target=counted))
    except etree.XMLSyntaxError:
        return 0
    return counted.squares


@settings.get_profile("kernel")
@given(st.lists(st.sampled_from(PARTS), max_size=60).map(lambda parts: "".join(parts).encode()))
def test_the_parser_never_finds_more(body):
    bound, _, _ = tags.scan_tags(body)
    assert bound is None or bound >= squares_of(body)


@pytest.mark.parametrize(
    ("body", "bound"),
    [
        (b"", 0),
        (b"<", 0),
        (b"a < b", 0),
        (b"<p", 0),
        (b"<p>", 0),
        (b"<p a>", 1),
        (b"<p a=1 b='>' c=\"'\"/d = e>f g", 16),
        (b"<p a><b c d>", 5),
        (b"<p ==x>", 1),
        (b"<p a='", 1),
    ],
)
def test_the_bound_of_simple_pages_is_exact(body, bound):
    assert tags.scan_tags(body)[0] == bound
    assert squares_of(body) in {bound, 0}  # a tag that does not end is none


def test_tags_within_tags_are_not_read_for_ever():
    assert tags.scan_tags(b"<a " * 100_000 + b"</body><template>") == (None, 300_000, True)
    assert tags.scan_tags(b"<p title='" + b"<a b>" * 10_000 + b"'>") == (10_001, -1, False)


def replacement_in(body):
    try:
        return "\ufffd" in body.decode("utf-8")
    except UnicodeDecodeError:
        return None


# The bounds of the bytes of a character, and texts with characters of every length.
BYTES = st.one_of(
    st.binary(max_size=4),
    st.just("\ufffd".encode()),
    st.text(max_size=20).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.lists(
        st.sampled_from(list(b"a\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xed\xef\xf0\xf4\xf5\xff")), max_size=6
    ).map(bytes),
)


@settings.get_profile("kernel")
@given(st.lists(BYTES, max_size=6).map(b"".join))
def test_utf_8_and_its_replacement_characters_are_what_python_decodes(body):
    assert tags.has_replacement(body) is replacement_in(body)


@pytest.mark.parametrize("first", [0xDF, 0xE0, 0xED, 0xEF, 0xF0, 0xF4])
def test_every_second_byte_of_utf_8_is_judged_as_python_does(first):
    for second in range(256):
        for more in (b"", b"\x80", b"\x80\x80", b"\x80\x80\x80", b"\xbf\xc0"):
            body = b"eight..." + bytes([first, second]) + more
            assert tags.has_replacement(body) is replacement_in(body)


@settings.get_profile("kernel")
@given(
    st.lists(st.sampled_from("</body>|</BODY |</Body>|</html>|</HTML|</bod|<|<body>|/|text|é".split("|")), max_size=12)
)
def test_the_end_of_a_page_is_found(parts):
    body = "".join(parts).encode()
    match = _FIRST_END.search(body)
    assert tags.scan_tags(body)[1] == (match.start() if match else -1)


@pytest.mark.parametrize("body", [b"<template", b"<b><TEMPLATE shadowrootmode=open>", b"<i title='<Template>'>"])
def test_templates_are_found(body):
    assert tags.scan_tags(body)[2]


def test_a_page_with_the_word_has_no_template():
    assert not tags.scan_tags(b"<p>template</template>< template><templat")[2]

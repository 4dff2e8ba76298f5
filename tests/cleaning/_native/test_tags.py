"""The bound on a page's attributes holds for what the parser finds, and is found in few steps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree, html

from cleaning._native import load_compiled
from cleaning.parse import _AttributeSquares

tags = load_compiled("tags")
pytestmark = pytest.mark.skipif(tags is None, reason="COMPILER: Blocksieve was installed without its compiled core")

PARTS = (
    "<p |<a |<div|</p>|>|/>|<|=|='|=\"|'|\"| |\n|/|a|b=|c='x'|d=\"y\"|e = 1|<script>|</script>|<!--|-->|<title>|"
    "</title>|<textarea |<style>|</style>|<![CDATA[|]]>|<?|&quot;|\x00|\f|é|<plaintext>|f=''g=h|text"
).split("|")


def squares_of(body):
    counted = _AttributeSquares()
    try:
        etree.fromstring(body, html.HTMLParser(encoding="utf-8", huge_tree=True, target=counted))
    except etree.XMLSyntaxError:
        return 0
    return counted.sum


@given(st.lists(st.sampled_from(PARTS), max_size=60).map(lambda parts: "".join(parts).encode()))
def test_the_parser_never_finds_more(body):
    bound = tags.bound_attributes(body)
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
    assert tags.bound_attributes(body) == bound
    assert squares_of(body) in {bound, 0}  # a tag that does not end is none


def test_tags_within_tags_are_not_read_for_ever():
    assert tags.bound_attributes(b"<a " * 100_000) is None
    assert tags.bound_attributes(b"<p title='" + b"<a b>" * 10_000 + b"'>") == 10_001

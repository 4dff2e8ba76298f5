"""The structure that is read in C is that of the pure reading, on any page and with any decisions."""

import gzip
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from cleaning import clean, parse
from cleaning._native import load_compiled
from cleaning.blocks import Page
from cleaning.leaves import MAX_PATH_LEVELS, body_of, walk
from cleaning.structure.inline import Format, Segment, nest
from cleaning.structure.marks import TextMarks, marks_of_decisions
from cleaning.structure.nodes import NodeType, StructureNode
from cleaning.structure.quotes import find_quotes, pure_find_candidates
from cleaning.structure.reader import pure_read_structure

compiled = pytest.mark.skipif(
    load_compiled("structure") is None, reason="COMPILER: Blocksieve was installed without its compiled core"
)
TAGS = (
    "a a a b em code span sup br p p div section ul ol li li li dl dt dd table table tr tr td td th caption thead pre "
    "blockquote h2 h4 figure figcaption img hr math script noscript svg o:p article cite"
).split()
ATTRIBUTES = [
    "",
    "",
    "",
    ' href="/x?a=1&amp;b"',
    ' href="#fn1"',
    ' href="#top"',
    ' href="javascript:x"',
    ' id="fn1"',
    ' id="fnref1"',
    ' class="MathJax_Preview"',
    ' class="katex"',
    ' class="math tex"',
    ' class="language-python hljs"',
    ' class="lineno"',
    ' colspan="2"',
    ' rowspan="3" value="7" start="4"',
    ' src="/i.png" alt="a picture"',
    ' src="/i.png" alt="$x^2$" class="latex"',
    ' alttext="x_1" display="block"',
    ' type="math/tex; mode=display"',
    ' role="presentation"',
    ' style="color: red; font-weight: bold"',
    ' style="font-style: italic"',
    ' class="sr-only"',
    " hidden",
    ' aria-hidden="true"',
    ' class="bbcode_quote"',
    ' class="quote"',
    ' class="quote"',
    ' class="quote-head"',
    ' class="quotebody"',
]
TEXTS = st.sampled_from(
    [
        " ",
        "\n  ",
        "\xa0",
        "\u200b\x01",
        "one",
        " two words ",
        "Ada wrote:",
        "Quote:",
        "1.5",
        "\u4e2d\u6587\u3002",
        "$$x^2$$",
        "\\(a_1\\)",
        "[1]",
        "so\u00adft",
        "\uf005",
        "\u200c",
        "\u0645\u06cc\u200c",
        "\u200f \u0645",
    ]
)
PIECES = st.one_of(
    st.builds("<{}{}>".format, st.sampled_from(TAGS), st.sampled_from(ATTRIBUTES)),
    st.builds("<{}{}>".format, st.sampled_from(TAGS), st.sampled_from(ATTRIBUTES)),
    st.builds("</{}>".format, st.sampled_from(TAGS)),
    TEXTS,
    st.sampled_from(["<!-- no -->", "&amp;", "<script src=mathjax.js></script>", "<br>"]),
)


def assert_same(page, marks):
    document = load_compiled("structure").read_structure(page, marks)
    assert document == pure_read_structure(page, marks)


def marked(root, is_kept):
    blocks = [leaf.block for leaf in walk(root)]
    start = body_of(root)
    assert load_compiled("structure").find_candidates(start) == pure_find_candidates(start)
    kept = bytes(is_kept(number) for number in range(len(blocks)))
    return TextMarks(blocks, kept, find_quotes(start, blocks))


@compiled
@settings.get_profile("kernel")
@given(st.lists(PIECES, max_size=60).map("".join), st.integers(0, 2**32))
def test_same_structure_of_any_page(body, seed):
    page = parse(f"<body>{body}", "https://a.example/x/")
    assert_same(page, marked(page.root, lambda number: zlib.crc32(b"%d %d" % (seed, number)) % 3 > 0))


@compiled
@settings.get_profile("kernel")
@given(st.lists(PIECES, max_size=60).map("".join))
def test_same_structure_of_any_page_that_is_kept_whole(body):
    page = parse(f"<body><p>first{body}", "https://a.example/x/")
    assert_same(page, marked(page.root, lambda _: True))


FORMATS = st.lists(
    st.sampled_from([Format(NodeType.STRONG), Format(NodeType.EMPHASIS), Format(NodeType.LINK, "https://a.example/")]),
    max_size=3,
    unique=True,
).map(tuple)
PARTS = st.one_of(st.text("a b\xa0\n\u200b\u4e2d", max_size=5), st.just(StructureNode(NodeType.FORMULA_SPAN, text="x")))


@compiled
@settings.get_profile("kernel")
@given(st.lists(st.builds(Segment, FORMATS, PARTS), max_size=8))
def test_same_nesting_of_any_segments(segments):
    assert load_compiled("structure").nest(segments) == nest(segments)


@compiled
def test_same_structure_of_any_tree():
    """Trees of others have comments, name spaces and entities."""
    source = b"""<!DOCTYPE html [<!ENTITY who "/x">]><html xmlns:x="urn:x"><x:a href="/1">one</x:a><!-- <a/> -->two
    <?php a ?><a href="&who;">&who; three</a><ul><li id="fn1"><![CDATA[four]]> five</li></ul>
    <x:table><tr><td>six</td></tr></x:table><br>seven</br></html>"""
    root = etree.fromstring(source, etree.XMLParser(resolve_entities=False, strip_cdata=False))
    assert_same(Page(root, "https://a.example/"), marked(root, lambda _: True))


@compiled
def test_a_shell_is_read_with_its_noscript():
    page = parse(f"<body><p>one</p><noscript><p>{'two words ' * 60}</p><p>three</p></noscript>")
    marks = marked(page.root, lambda number: number != 1)
    assert len(marks.blocks) == 3
    assert_same(page, marks)


@compiled
def test_other_marks_than_the_page_has_texts_are_left_to_the_pure_reading():
    page = parse("<p>one<p>two")
    marks = TextMarks(marked(page.root, lambda _: True).blocks[:1], b"\1")
    assert load_compiled("structure").read_structure(page, marks) is None


@compiled
def test_elements_that_nest_too_deep_for_paths_are_left_to_the_pure_reading():
    page = parse("<div>" * (MAX_PATH_LEVELS + 5) + "text")
    marks = marked(page.root, lambda _: True)
    assert load_compiled("structure").read_structure(page, marks) is None


@compiled
def test_same_structure_of_saved_pages(data):
    for path in sorted((data / "extraction").glob("*/html/*.html.gz"))[::60]:
        page = clean(gzip.decompress(path.read_bytes()), "https://a.example/x/", max_bytes=100_000_000)
        assert_same(page.source.page, marks_of_decisions(page.decisions))

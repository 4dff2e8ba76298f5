"""The leaf table in C has the columns of the pure one, on any tree, in linear time."""

import gzip
import re

import numpy as np
import pytest
from cpu_time import bounded_cpu_time
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree, html

from cleaning import parse
from cleaning._native import load_compiled
from cleaning.leaf_table import LeafTable, build_leaf_table, read_leaf_table
from cleaning.leaves import walk

compiled = pytest.mark.skipif(
    load_compiled("leaf_table") is None, reason="COMPILER: Blocksieve was installed without its compiled core"
)
TAGS = (
    "a b strong br p div li ul td table tr pre code blockquote h1 article span img script noscript select svg o:p "
    "x-card nav td section main form body head html".split()
)
TEXTS = [
    "",
    " ",
    "\n  ",
    "\xa0",
    "\u3000",
    "word",
    " two words ",
    "it's 'quoted' rock'n'roll",
    "Ein Überschuß, ja: «so» – 42 %!",
    "这是一个测试。中文，没有空格",
    "日本語テキスト mixed with English",
    "हिन्दी में लिखा गया पाठ।",
    "نص عربي، مُشَكَّل؟",
    "ไทยไม่มีช่องว่าง",
    "e\u0301a\u200db\u200c \u2019tis \U0001f600 \U00020000",
    "a\x85b\x1cc\x0bd\x01e\ufffd",
    "| » · $5 = 3 * 2_x",
    "line one\n  indented\r\n\tline",
    "so\u00adft \u200b\ufeff",
    "\uf005",
    "\u200c",
    "\u0645\u06cc\u200c",
    " \u200d\U0001f680 \u200f\U000e0061",
]
ATTRIBUTES = [
    "",
    ' class="a B"',
    ' id=x class="y z" role=banner',
    ' class=""',
    " hidden",
    ' aria-hidden="true" itemprop=articleBody',
    ' aria-hidden="false"',
    ' style="color: red; DISPLAY : none"',
    ' style="color: red"',
    ' style="" name=é',
    ' class="u-visually-hidden"',
    ' class="sr-only" hidden=until-found',
    ' class="READER screen-reader-text"',
    ' class="overhidden reader"',
    ' class="katex" aria-hidden="true"',
    ' class="read-more" style="visibility:hidden"',
    ' alt="a picture"',
    ' alt="  "',
    ' data-testid="t" data-type="&amp;u" aria-label="menu &lt;1&gt;"',
    f' class="{"long " * 300}"',
]
# All of the planes of scripts, and both ends of the others: what lies between is unassigned, or of private use.
CHARACTERS = [
    *range(0, 0x40000, 0x1000),
    *(plane + place for plane in range(0x40000, 0x110000, 0x10000) for place in (0, 0xF000)),
]
# Other characters are in no tree: no parser puts them there, and lxml refuses them.
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
pieces = st.one_of(
    st.sampled_from(TEXTS),
    st.builds("<{}{}>".format, st.sampled_from(TAGS), st.sampled_from(ATTRIBUTES)),
    st.builds("</{}>".format, st.sampled_from(TAGS)),
    st.sampled_from(["<!-- no -->", "<?php no ?>", "&nbsp;", "&eacute;", "&#x1f600;", "<![CDATA[x]]>"]),
    st.text(max_size=8),
)


def assert_same(root):
    want = build_leaf_table(walk(root))
    table = read_leaf_table(root)
    for name in LeafTable.__dataclass_fields__:
        expected = getattr(want, name)
        column = getattr(table, name)
        if isinstance(expected, np.ndarray):
            assert (column.dtype, column.shape) == (expected.dtype, expected.shape), name
            assert column.tolist() == expected.tolist(), name
        else:
            assert column == expected, name
            assert [type(value) for value in column] == [type(value) for value in expected], name
    assert [repr(block) for block in table.blocks] == [repr(block) for block in want.blocks]
    assert all(hash(block) for block in table.blocks)


@compiled
@settings.get_profile("kernel")
@given(st.lists(pieces, max_size=60).map("".join))
def test_columns_of_any_page_are_the_pure_ones(page):
    assert_same(parse(page).root)


@compiled
@pytest.mark.parametrize("name", ["wcxb-dev", "fundus-dev"])
def test_columns_of_saved_pages_are_the_pure_ones(data, name):
    paths = sorted((data / "extraction" / name / "html").glob("*.html.gz"))
    assert paths
    for path in paths[::30]:  # all take two minutes, most of them in the pure scan
        assert_same(parse(gzip.decompress(path.read_bytes()), max_bytes=100_000_000).root)


@compiled
def test_columns_of_saved_chinese_pages_are_the_pure_ones(data):
    paths = sorted((data / "sites").glob("*/*.html.gz"))
    assert paths
    for path in paths[::5]:
        assert_same(parse(gzip.decompress(path.read_bytes())).root)


@compiled
@pytest.mark.parametrize("character", CHARACTERS)
def test_every_character_counts_as_in_the_pure_table(character):
    root = html.Element("body")
    for start in range(character, character + 0x1000, 64):
        written = [chr(code) for code in range(start, start + 64) if NOT_XML.match(chr(code)) is None]
        for text in ("".join(written), "a" + "a ".join(written) + "'a"):
            paragraph = etree.SubElement(root, "p")
            link = etree.SubElement(paragraph, "a")
            link.text = text
    assert_same(root)


@compiled
@pytest.mark.parametrize(
    "source",
    [
        '<html xmlns="http://www.w3.org/1999/xhtml"><body><p class="x">one</p><p>two</p></body></html>',
        "<body><p>a<!--b-->c<?d e?>f<![CDATA[g]]>h</p><x.y/><x.y>i</x.y>j</body>",
        "<!DOCTYPE p [<!ENTITY e 'text'>]><body><p>a&e;b<b>c&e;</b>d</p></body>",
        '<div xmlns:o="urn:o"><o:p o:class="x" class="y">one</o:p> two <a o:x="1">three</a></div>',
        "<p/>",
        "<a>one<div>two</div>three</a>",
        "<br>one</br>",
        "<pre>  one\n two  </pre>",
    ],
)
def test_columns_of_ready_made_trees_are_the_pure_ones(source):
    assert_same(etree.fromstring(source, etree.XMLParser(resolve_entities=False, strip_cdata=False)))


@compiled
def test_text_nodes_that_an_edit_put_side_by_side_are_one_piece():
    root = html.fromstring("<body><p>one <b>two</b> three</p> four <i>five</i></body>")
    root.find(".//b").drop_tag()
    root.find(".//p").drop_tag()
    assert_same(root)


@compiled
def test_part_of_a_tree_has_paths_from_its_root():
    root = parse("<div><p>one</p></div><div><section><p>two</p><p>three</p></section></div>").root
    assert_same(root.find(".//section"))


@pytest.mark.slow
@compiled
@pytest.mark.parametrize(
    "page",
    [
        "<p>x" * 20_000,
        "<div class=a>" * 2_040 + "<p>deep</p>x" + "</div>" * 2_040,
        "<b>x<i>" * 1_000,
        "".join(f"<x{number}>y<a>z</a>" for number in range(900)),
        "<a>x" * 1_500 + "<p>y</a>" * 1_500,
        "<div><br>" + "word " * 200_000,
        "<p>" + "字" * 500_000,
    ],
)
def test_hostile_pages_give_the_pure_columns(page):
    assert_same(parse(page).root)


@pytest.mark.slow
@compiled
@pytest.mark.parametrize(
    "page", ["<p>x<b>y</b>" * 249_000, "<div>" * 2_000 + "word " * 2_000_000, "<ul>" + "<li>x" * 499_000]
)
def test_hostile_pages_take_a_bounded_time(page):
    root = parse(page, max_bytes=20_000_000).root
    with bounded_cpu_time():
        read_leaf_table(root)

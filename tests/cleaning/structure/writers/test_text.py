"""Plain text with its layout: lines, signs of items, rows of tables; nothing that is kept gets lost."""

import pytest

from cleaning import OptionError, clean
from cleaning.structure.nodes import block_text
from cleaning.structure.writers.text import to_layout_text


def test_each_block_is_a_line_and_each_row_a_line(read):
    document = read(
        "<h1>Ice</h1><p>The harbour<br>was <b>closed</b>.</p><ol start=3><li>a<ul><li>b<li>c</ul><li>d</ol>"
        "<table><caption>Depths<tr><th rowspan=2>x<td>1<tr><td>2</table><dl><dt>term<dd>said</dl>"
        "<pre><code>f()\n  g()\n</code></pre><blockquote>quoted</blockquote><hr><p>end</p>"
    )
    assert to_layout_text(document).split("\n") == [
        "Ice",
        "The harbour",
        "was closed.",
        "3. a",
        "  - b",
        "  - c",
        "4. d",
        "Depths",
        "x | 1",
        "x | 2",
        "term",
        "  said",
        "f()",
        "  g()",
        "quoted",
        "end",
    ]


def test_a_footnote_has_the_sign_of_its_mark(read):
    document = read('<p>Ice<sup><a href="#fn1">1</a></sup> melts.</p><ol><li id="fn1">In May.</li></ol>')
    assert to_layout_text(document) == "Ice[1] melts.\n[1] In May."


def test_a_table_is_whole_and_a_document_without_text_is_empty(read):
    table = "<table><tr><td>a<td>b<tr><td>c<td>d</table>"
    assert to_layout_text(read(table, drop=("b", "c"))) == "a | b\nc | d"
    assert to_layout_text(read("")) == ""


@pytest.mark.parametrize("text", ["- not an item", "a | b", "3. x", "[1] y", "# z", "*star*"])
def test_signs_of_the_page_stay_as_they_are(read, text):
    assert to_layout_text(read(f"<p>{text}</p>")) == text


def test_the_words_are_those_of_the_structure(read):
    document = read("<ul><li>a b<p>c</p><table><tr><td>d<td>e<tr><td>f<td>g</table></ul><figure><p>h</p></figure>")
    signs = str.maketrans("|-", "  ")
    assert to_layout_text(document).translate(signs).split() == block_text(document).split()


def test_a_dropped_headline_stands_first():
    page = clean(
        "<title>Ice</title><h1>Ice</h1><p>The harbour was closed for three weeks in the winter of that year.</p>"
    )
    dropped = [decision.block.text for decision in page.decisions if not decision.kept]
    assert page.to_text(style="layout").split("\n")[0] == "Ice"
    assert page.to_text() == page.text
    assert dropped == [] or "Ice" in dropped


def test_an_unknown_style_is_refused():
    with pytest.raises(OptionError, match="text style is 'layuot'; it takes blocks or layout"):
        clean("<p>x").to_text(style="layuot")

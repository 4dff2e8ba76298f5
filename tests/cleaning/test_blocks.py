"""A clean page: in a notebook, and on its way between the processes of its user."""

import pickle
import re

import pytest
from lxml import html

from cleaning import PageError, PageFault, clean, parse
from cleaning.leaf_table import read_leaf_table

HOSTILE = (
    "<html><head><title>&lt;script&gt;alert(1)&lt;/script&gt;\u202e</title></head><body>"
    "<nav><a href=/>Home</a></nav><article><h1>&lt;img src=x onerror=alert(2)&gt;</h1>"
    "<p>The river &lt;a href='javascript:alert(3)'&gt;rose&lt;/a&gt; in the night, and the old bridge was closed until "
    "the morning, when the mayor came to see it.\u2066 Nobody was hurt.</p></article></body></html>"
)


def test_blocks_have_the_colour_of_their_decision_and_its_reason():
    page = clean(HOSTILE, method="pab")
    tree = html.fromstring(page._repr_html_())
    rows = tree.xpath("./details/div[@style]")
    assert len(rows) == len(page.decisions)
    assert [row.xpath("string(small)").split()[0] for row in rows] == [decision.reason for decision in page.decisions]
    assert ["#009e73" in row.get("style") for row in rows] == [decision.kept for decision in page.decisions]


def test_the_text_stands_first_and_the_theme_decides_its_colours():
    page = clean(HOSTILE, method="pab")
    tree = html.fromstring(page._repr_html_())
    assert [element.tag for element in tree] == ["p", "div", "details"]
    assert [" ".join(text.split()) for text in tree.xpath("./div/p/text()")] == [
        " ".join(re.sub("[\u2066\u202e]", " ", block.text).split()) for block in page.kept
    ]
    styles = ";".join(tree.xpath("//@style"))
    assert not re.search(r"(^|;)color:", styles)
    assert set(re.findall(r"background:[^;]+", styles)) == {"background:rgba(0,158,115,.12)"}


def test_a_hostile_page_is_text():
    markup = clean(HOSTILE, "https://x.example/?<b>", method="pab")._repr_html_()
    elements = {element.tag for element in html.fromstring(markup).iter()}
    assert elements <= {"div", "p", "b", "small", "span", "details", "summary"}
    assert not re.search("[\u202e\u2066]", markup)
    assert "&lt;img src=x onerror=alert(2)&gt;" in markup


def test_a_long_page_and_a_long_block_are_cut():
    paragraphs = "".join(f"<p>Paragraph {n} says that the river rose {'again ' * 300}</p>" for n in range(400))
    markup = clean(f"<article>{paragraphs}</article>", method="pab")._repr_html_()
    assert markup.count("<p>and 100 more</p>") == 2
    assert len(markup) < 300 * 1_000
    texts = html.fromstring(markup).xpath("//p[@dir]/text() | //span/text()")
    assert {text.rpartition(" ")[2] for text in texts} == {"again…"}


def test_an_empty_page_has_no_blocks():
    assert clean("")._repr_html_() == "<div><p><b>page</b> (default: no blocks)</p></div>"


def test_pages_and_their_errors_can_be_pickled():
    page = clean(HOSTILE, method="pab")
    assert pickle.loads(pickle.dumps(page)) == page
    error = pickle.loads(pickle.dumps(PageError(PageFault.TOO_LARGE, "much too large")))
    assert (error.cause, str(error)) == (PageFault.TOO_LARGE, "much too large")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("<p>one two three four five six seven</p>", 0),
        ("<p>one two three four five six seven eight</p>", 8),
        ("<p>one two three four five six seven eight <a>1 2 3 4 5 6 7 8</a></p>", 8),
        ("<p>one two three four five six seven eight <a>1 2 3 4 5 6 7 8 9</a></p>", 0),
        ("<p>\u72d0\u72f8\u6bcf\u5929\u665a\u4e0a\u90fd\u4ece\u6811\u6797\u91cc\u51fa\u6765</p>", 0),
    ],
)
def test_prose_has_eight_words_outside_links_and_no_more_inside(body, words):
    (block,) = read_leaf_table(parse(body).root).blocks
    assert block.prose_words == words


def test_prose_of_another_script_is_counted_by_its_words():
    text = "\u72d0\u72f8\u6bcf\u5929\u665a\u4e0a\u90fd\u4ece\u6811\u6797\u91cc\u51fa\u6765\uff0c\u5728\u8def\u4e0a"
    (block,) = read_leaf_table(parse(f"<p>{text}</p>").root).blocks
    assert block.prose_words == block.words >= 8

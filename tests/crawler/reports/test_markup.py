"""A page rebuilt as rows of texts with the decisions on them."""

import re

import pytest

from cleaning import parse
from cleaning.blocks import Decision, Reason
from cleaning.leaves import walk
from crawler.reports.markup import RebuiltPage, TextValues, reason_words

PAGE = """<html><body><nav><a href=/>Home</a></nav><h1 onclick="x()">Ice &lt;b&gt;</h1>
<p>The harbour was <b>closed</b>, and the ferries stayed in port until noon.</p>
<img src=x alt="a boat"></body></html>"""


@pytest.fixture
def rebuilt():
    """A page of which one method keeps the paragraph alone."""
    page = parse(PAGE, "https://a.example/1")
    leaves = list(walk(page.root))
    decided = [(leaf, Decision(leaf.block, 0.0, _reason(leaf))) for leaf in leaves]
    return RebuiltPage(page.root, leaves, [TextValues(decided)])


def _reason(leaf):
    return Reason.KEPT if leaf.block.text.startswith("The harbour") else Reason.SHORT


def test_rows_have_the_texts_of_the_page_and_the_decisions_on_them(rebuilt):
    rows = [row for row in rebuilt.rows() if row.marked]
    texts = ["".join(text.text for text in row.marked).strip() for row in rows]
    assert texts == ["Home", "Ice <b>", "The harbour was closed, and the ferries stayed in port until noon."]
    assert [row.kept for row in rows] == [[], [], [0]]
    assert [row.dropped for row in rows] == [{0: "short"}, {0: "short"}, {}]


def test_only_our_own_elements_are_written(rebuilt):
    tags = "".join(row.tags for row in rebuilt.rows())
    assert set(re.findall(r"</?(\w+)", tags)) <= {"div", "span", "br"}
    assert "onclick" not in tags
    assert tags.count("<div") == tags.count("</div>")


def test_a_picture_is_a_word_without_a_decision(rebuilt):
    words = [text for row in rebuilt.rows() for text in row.texts if not text.decisions]
    assert any("a boat" in word.text for word in words)


def test_inline_elements_are_styles(rebuilt):
    styles = {text.text.strip(): text.style for row in rebuilt.rows() for text in row.texts}
    assert styles["closed"] == "x-b"


def test_a_text_without_a_decision_is_not_on_the_rendered_page():
    assert reason_words(None) == "not on the rendered page"
    assert reason_words(Reason.SHORT) == "short"

"""FE: blocks by tags, their probability of having text, and the one that is kept."""

import time

import pytest

from cleaning import Reason, clean

FOX = "The quick brown fox jumps over the lazy dog."


def found(page):
    return [(decision.block.text, decision.reason, decision.score) for decision in clean(page, method="fe").decisions]


def scores(page):
    return [score for _, reason, score in found(page) if reason not in {Reason.EMPTY, Reason.UNBLOCKED}]


def test_blocks_are_tables_rows_paragraphs_and_lists_without_what_is_in_inner_ones():
    page = "<table><tr><td>cell<p>para</p><ul><li>item <b>one</b></li><li>two</li></ul>tail</td></tr></table>"
    assert [text for text, _, _ in found(page)] == ["", "cell tail", "para", "item one two"]


def test_text_in_no_block_is_unblocked():
    assert found("<div>bare<p>para</p></div>") == [("bare", Reason.UNBLOCKED, 0), ("para", Reason.KEPT, 1)]


def test_rule_and_empty_table_are_empty_blocks():
    assert found("<p>x</p><hr>")[1] == ("", Reason.EMPTY, 0)


@pytest.mark.parametrize(
    ("inside", "probability"),
    [
        ("four words of text", 1),
        ("four words of text<img>", 0.8),
        ("three words and <a>a link</a>", 0.75),
        ("<a>only a link</a>", 0),
        ("one <input><button></button><object></object><script></script>", 0.2),
        ("two words <i></i><b></b><br><span></span>", 1),
    ],
)
def test_probability_is_the_share_of_words_outside_links_among_features(inside, probability):
    assert scores(f"<p>{inside}</p>") == [probability]


def test_features_of_an_inner_block_are_not_those_of_its_outer():
    assert scores("<table><tr><td>one<p>two<img></p></td></tr></table>") == [1, 0.5]


def test_features_outside_any_block_count_for_none():
    assert scores("<div><img><a>x</a><p>one</p></div>") == [1]


def test_block_of_the_highest_probability_is_kept():
    page = f"<p>{FOX}<a>More</a></p><p>Short text</p><p>{FOX} {FOX}<img></p>"
    assert [(reason, text) for text, reason, _ in found(page) if reason is Reason.KEPT] == [(Reason.KEPT, "Short text")]
    assert [reason for _, reason, _ in found(page)].count(Reason.LOW_SCORE) == 2


def test_longest_of_equally_probable_blocks_is_kept():
    assert clean(f"<p>Short</p><p>{FOX}</p><p>Middle one</p>", method="fe").text == FOX


def test_first_of_equally_long_blocks_is_kept():
    assert clean("<p>abc</p><p>def</p>", method="fe").text == "abc"


def test_page_of_links_keeps_nothing():
    assert found("<p><a>x</a></p><ul><li><a>y</a></li></ul>") == [
        ("x", Reason.LOW_SCORE, 0),
        ("y", Reason.LOW_SCORE, 0),
    ]


def test_page_without_blocks_keeps_nothing():
    assert found("<div>x</div>") == [("x", Reason.UNBLOCKED, 0)]
    assert found("") == []


@pytest.mark.parametrize("page", ["<p>x<img></p>" * 50_000, "<div><ul><li>x" * 1_000, "<p>" + "<b>x" * 2_000])
def test_time_is_bounded(page):
    start = time.perf_counter()
    assert found(page)
    assert time.perf_counter() - start < 20

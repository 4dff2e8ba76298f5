"""Words of elements and short texts, and what they are worth."""

import numpy as np
import pytest

from cleaning.classifier.lexicon import (
    Lexicon,
    TextScores,
    TokenScores,
    any_words,
    element_words,
    inline_words,
    pack_scores,
    text_words,
    unpack_lexicon,
)


def test_words_of_an_element_are_its_tag_its_tokens_and_pairs_of_them():
    assert element_words("div", "articleBody main-text x") == {
        "<div>",
        "article",
        "body",
        "main",
        "text",
        "article_body",
        "body_main",
        "main_text",
    }


def test_capitals_in_a_row_are_one_word_and_digits_part_words():
    assert element_words("p", "HTML5Video col2row") == {
        "<p>",
        "html",
        "video",
        "html_video",
        "col",
        "row",
        "video_col",
        "col_row",
    }


def test_words_of_an_element_are_bounded():
    assert len(element_words("p", " ".join(f"w{'a' * (n % 15)}b" for n in range(5_000)))) <= 2 * 40
    assert element_words("p", "a " + "b" * 21) == {"<p>"}


def test_inline_elements_without_tokens_have_no_words():
    assert inline_words("") == frozenset()
    assert "i:byline" in inline_words("span byline")


def test_words_of_a_short_text_have_numbers_as_one():
    assert text_words("Read 42 more") == {"t:read", "t:0", "t:more"}


@pytest.mark.parametrize("text", ["word " * 15, "x" * 281])
def test_long_text_has_no_words(text):
    assert text_words(text) == frozenset()


def test_scores_are_the_least_the_greatest_and_the_mean_of_known_words():
    lexicon = Lexicon({"<div>": 0.5, "footer": -2.0, "t:menu": -1.0, "i:tag": 3.0})
    assert lexicon.of_element("div", "footer unheard") == TokenScores(-2.0, 0.5, -0.75)
    assert lexicon.of_element("p", "unheard") == TokenScores(0.0, 0.0, 0.0)
    assert lexicon.of_text("Menu") == TokenScores(-1.0, -1.0, -1.0)
    assert lexicon.of_inline("span tag") == TokenScores(3.0, 3.0, 3.0)


def test_words_of_any_text_are_those_of_its_beginning():
    assert any_words("Read 42 more") == {"w:read", "w:0", "w:more"}
    assert any_words("a" * 4_999 + " far away") == {f"w:{'a' * 4_999}"}


def test_words_of_a_text_add_up_each_once():
    lexicon = Lexicon({"w:a": -2.0, "w:b": -1.0, "w:c": 0.5, "w:d": 3.0, "t:e": 9.0})
    assert lexicon.sum_of("a b c d d e") == TextScores(0.5, 4, -2.0, 3.0, -2.5 / 3)
    assert lexicon.sum_of("d") == TextScores(3.0, 1, 3.0, 3.0, 3.0)
    assert lexicon.sum_of("e") == TextScores(0.0, 0, 0.0, 0.0, 0.0)
    assert lexicon.texts(["d", "", "c a"])[1].T.tolist() == [[3, 1, 3, 3, 3], [0] * 5, [-1.5, 2, -2, 0.5, -0.75]]
    assert [rows.shape for rows in lexicon.texts([])] == [(3, 0), (5, 0)]


def test_lexicons_have_separate_caches():
    assert Lexicon({"<p>": 1.0}).of_element("p", "").mean == 1.0
    assert Lexicon({"<p>": 2.0}).of_element("p", "").mean == 2.0


def test_scores_survive_their_arrays():
    scores = {"<p>": 0.25, "本文": -1.5, "t:0": 0.0}
    arrays = pack_scores(scores)
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.uint8), np.dtype(np.float16)}
    assert unpack_lexicon(arrays).scores == scores

"""Gold texts: the labels of blocks, and the score of a text."""

import numpy as np
import pytest

from cleaning.training.gold import (
    CHARACTERS,
    TextScore,
    label_blocks,
    score_text,
    shingles,
    split_characters,
    split_words,
)

FIRST = "The harbour council met on Monday to speak about the new bridge."
SECOND = "Nobody in the town had seen the plans before that evening in March."
OTHER = "Subscribe now and read every story that we publish about boats."


def labelled(texts, gold):
    return [pytest.approx(float(share), abs=0.01) for share in label_blocks(texts, gold)]


def test_long_texts_are_labelled_by_their_runs_of_words():
    assert labelled([FIRST, OTHER, SECOND], f"{FIRST}\n{SECOND}") == [1, 0, 1]


def test_share_of_a_text_is_its_label():
    half = f"{FIRST} {OTHER}"
    (share,) = label_blocks([half], FIRST)
    assert 0.4 < share < 0.5


def test_word_of_a_menu_is_not_taken_for_the_texts_word():
    # "Bridge" stands once in the gold text, where the sure text has claimed it.
    assert labelled(["Bridge", "Council", FIRST], FIRST) == [0, 0, 1]


def test_heading_that_the_gold_text_has_beside_its_sentences_counts():
    assert labelled(["The new bridge", FIRST], f"The new bridge\n{FIRST}") == [1, 1]


def test_of_a_repeated_heading_the_one_nearest_to_the_text_counts():
    texts = ["The new bridge", OTHER, "The new bridge", FIRST]
    assert labelled(texts, f"The new bridge\n{FIRST}") == [0, 0, 1, 1]


def test_repeated_teaser_counts_once():
    texts = [FIRST, SECOND, OTHER, FIRST]
    assert labelled(texts, f"{FIRST}\n{SECOND}") == [1, 1, 0, 0]


def test_teaser_that_the_gold_text_repeats_counts_twice():
    texts = [FIRST, SECOND, FIRST]
    assert labelled(texts, f"{FIRST}\n{SECOND}\n{FIRST}") == [1, 1, 1]


def test_chinese_without_spaces_is_compared_as_a_whole():
    first, second, menu = "港口委员会星期一开会。", "讨论了新桥的计划。", "首页"
    assert labelled([menu, first, second], f"{first}\n{second}") == [0, 1, 1]


def test_chinese_sentence_is_compared_by_its_characters_if_the_set_asks():
    gold = "港口委员会星期一开会,讨论了新桥的计划。"
    texts = ["港口委员会星期一开会，讨论了新桥的计划！", "讨论", "港口委员会星期一没有开会。"]
    assert label_blocks(texts, gold, CHARACTERS).tolist() == [1, 0, pytest.approx(0.6)]
    assert split_characters("新桥 Is open 2月") == ["新", "桥", "is", "open", "2", "月"]
    assert score_text("港口新桥", "新桥港口", 1, CHARACTERS) == TextScore(1.0, 1.0, 1.0)


def test_only_short_texts_need_unclaimed_words():
    assert labelled(["one two", "three", "four"], "one two three") == [1, 1, 0]


@pytest.mark.parametrize(("texts", "gold"), [([FIRST, "|"], ""), (["|", "»"], FIRST)])
def test_nothing_in_common_is_0(texts, gold):
    assert labelled(texts, gold) == [0] * len(texts)


def test_page_without_blocks_has_no_labels():
    labels = label_blocks([], FIRST)
    assert (len(labels), labels.dtype) == (0, np.float32)


def test_words_are_counted_as_in_the_scores():
    assert split_words("It's 42 Überschuß, so!") == ["it", "s", "42", "überschuß", "so"]


def test_each_occurrence_of_a_word_counts():
    assert score_text("a a b", "a b b", 1) == TextScore(pytest.approx(2 / 3), 2 / 3, 2 / 3)


def test_runs_of_words_are_compared():
    assert shingles("A b c. D", 3) == {("a", "b", "c"): 1, ("b", "c", "d"): 1}
    assert score_text("a b c d x", "a b c d", 4) == TextScore(pytest.approx(2 / 3), 0.5, 1.0)


def test_nothing_against_nothing_is_right_and_against_something_wrong():
    assert score_text("", "", 1) == TextScore(1.0, 1.0, 1.0)
    assert score_text("", "a", 1) == score_text("a", "", 1) == TextScore(0.0, 0.0, 0.0)

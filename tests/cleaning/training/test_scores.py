"""The score of a text against the gold one."""

import pytest

from cleaning.training.gold import TextScore, score_text, shingles


def test_words_count_as_often_as_they_stand():
    assert score_text("a a b", "a b b", 1) == TextScore(pytest.approx(2 / 3), 2 / 3, 2 / 3)


def test_runs_of_words_are_compared():
    assert shingles("A b c. D", 3) == {("a", "b", "c"): 1, ("b", "c", "d"): 1}
    assert score_text("a b c d x", "a b c d", 4) == TextScore(pytest.approx(2 / 3), 0.5, 1.0)


def test_nothing_against_nothing_is_right_and_against_something_wrong():
    assert score_text("", "", 1) == TextScore(1.0, 1.0, 1.0)
    assert score_text("", "a", 1) == score_text("a", "", 1) == TextScore(0.0, 0.0, 0.0)

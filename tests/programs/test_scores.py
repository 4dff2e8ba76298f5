"""Scores, and the intervals of their means."""

import bootstrap
import numpy as np
import pytest
from scores import TextScore, difference, score_text, summary

RANDOM = np.random.default_rng(7)


def test_a_text_scores_against_itself_and_against_nothing():
    text = "one two three four five six"
    assert score_text(text, text, 4) == TextScore(1.0, 1.0, 1.0)
    assert score_text("", text, 4) == TextScore(0.0, 0.0, 0.0)
    assert score_text("", "", 1).f1 == 1.0


def test_words_are_counted_as_often_as_they_stand():
    assert score_text("a a b", "a b b", 1) == TextScore(pytest.approx(2 / 3), 2 / 3, 2 / 3)


def test_a_summary_has_means_and_the_share_under_half():
    row = summary([TextScore(0.25, 0.5, 0.75), TextScore(0.75, 1.0, 0.25)], ["a", "b"])
    assert {name: row[name] for name in ("pages", "f1", "precision", "recall", "under_half")} == {
        "pages": 2,
        "f1": 0.5,
        "precision": 0.75,
        "recall": 0.5,
        "under_half": 0.5,
    }
    assert row["intervals"] == dict.fromkeys(("f1", "precision", "recall", "under_half"))  # two hosts say nothing


def test_an_interval_has_the_mean_within_and_is_the_same_each_time():
    values = RANDOM.normal(0.8, 0.1, (400, 1))
    hosts = [f"host {number // 2}" for number in range(400)]
    ((low, high),) = bootstrap.intervals(values, hosts)
    assert low < values.mean() < high
    # The normal approximation for 200 hosts of two independent pages each.
    assert high - low == pytest.approx(2 * 1.96 * 0.1 / 400**0.5, rel=0.15)
    assert bootstrap.intervals(values, hosts) == [[low, high]]


def test_equal_pages_leave_no_doubt():
    assert bootstrap.intervals(np.full((9, 2), 0.5), list("abcdefghi")) == [[0.5, 0.5], [0.5, 0.5]]


def test_pages_of_a_host_are_drawn_together():
    values = np.repeat(RANDOM.normal(0, 1, 50), 8)[:, None]  # the eight pages of a host are alike
    ((low, high),) = bootstrap.intervals(values, np.repeat(np.arange(50), 8))
    ((low_alone, high_alone),) = bootstrap.intervals(values, np.arange(400))
    assert high - low > 2 * (high_alone - low_alone)


def test_a_difference_is_that_of_pairs():
    theirs = [TextScore(f1, f1, f1) for f1 in RANDOM.uniform(0.2, 0.9, 60)]
    ours = [TextScore(score.f1 + 0.1, score.precision + 0.1, score.recall - 0.1) for score in theirs]
    row = difference(ours, theirs, list(range(60)))
    assert (row["f1"], row["recall"]) == (0.1, -0.1)
    assert row["intervals"]["f1"] == [0.1, 0.1]  # however much the pages differ

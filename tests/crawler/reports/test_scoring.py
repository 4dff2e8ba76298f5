"""Scores, intervals and tests, against values counted by hand and by scipy."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from cleaning.text_score import TextScore
from crawler.reports.compare import CompareFailure
from crawler.reports.gold import GoldForm, GoldTexts
from crawler.reports.scoring import (
    GoldScores,
    ScoredPage,
    holm,
    interval,
    latex_table,
    randomisation_test,
    rank_biserial,
    score_rows,
)
from crawler.reports.sources import LoadedPage, ReportFault, UnreadPage


def source(name, site="a.example"):
    return UnreadPage(f"{name}.html", None, site, lambda: LoadedPage(b"<p>body"))


def compared(**texts):
    """Return a compared page on which each method keeps a text."""
    results = {name: SimpleNamespace(kept=[SimpleNamespace(text=text)]) for name, text in texts.items()}
    return SimpleNamespace(results=results, page=SimpleNamespace(encoding="utf-8"))


@pytest.fixture
def gold():
    return GoldTexts(GoldForm.JSONL, by_name={"1": "one two three four", "2": "one two"})


def test_a_page_is_scored_by_its_words(gold):
    scores = GoldScores(gold, ["a", "b"], {"echo": lambda body, _encoding: body.decode()}, seconds=60)
    page = scores.add(source("1"), compared(a="four three two one", b="one two five"))
    assert page.scores["a"] == TextScore(1.0, 1.0, 1.0)
    assert page.scores["b"].precision == pytest.approx(2 / 3)
    assert page.scores["b"].recall == 0.5
    assert page.scores["echo"].f1 == 0
    assert scores.add(source("9"), compared(a="x")) is None
    assert (len(scores.pages), scores.without) == (1, 1)


def test_what_fails_has_scores_of_zero_and_is_counted(gold):
    def fail(_body, _encoding):
        raise ValueError("no page")

    scores = GoldScores(gold, ["a"], {"fails": fail, "silent": lambda _body, _encoding: None}, seconds=60)
    scores.add(source("1"), CompareFailure(ReportFault.EMPTY, "empty"))
    scores.add(source("2"), compared(a="one two"))
    first, fails, silent = scores.means()
    assert (first.f1, first.failed, fails.failed, silent.failed) == (0.5, 1, 2, 2)
    assert scores.failures == {"fails": "ValueError: no page"}


def test_no_pages_have_no_figures(gold):
    scores = GoldScores(gold, ["a", "b"])
    assert scores.means() == scores.tests() == []


def test_an_interval_holds_the_mean_as_often_as_it_says():
    random = np.random.default_rng(0)
    groups = np.arange(60)
    inside = 0
    for _ in range(300):
        low, high = interval(random.normal(0.5, 0.1, 60), groups)
        inside += low <= 0.5 <= high
    assert 0.9 <= inside / 300 <= 0.98


def test_pages_of_a_site_count_as_one_observation():
    values = np.repeat(np.random.default_rng(1).normal(0, 1, 12), 20)
    narrow = np.subtract(*reversed(interval(values, np.arange(240))))
    wide = np.subtract(*reversed(interval(values, np.repeat(np.arange(12), 20))))
    assert wide > 3 * narrow


@pytest.mark.parametrize("shift", [0.0, 0.02, 0.05])
def test_the_randomisation_test_is_that_of_scipy(shift):
    differences = np.random.default_rng(3).normal(shift, 0.1, 40)
    theirs = stats.permutation_test(
        (differences, np.zeros(40)), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=9_999, rng=1
    ).pvalue
    assert randomisation_test(differences, np.arange(40)) == pytest.approx(theirs, abs=0.02)


def test_equal_methods_do_not_differ():
    assert randomisation_test(np.zeros(20), np.arange(20)) == 1.0
    assert rank_biserial(np.zeros(20)) == 0.0


def test_the_effect_is_that_of_the_signed_ranks():
    differences = np.array([0.3, -0.1, 0.2, 0.2, 0.0, -0.4])
    ranks = stats.rankdata(np.abs(differences[differences != 0]))
    signs = np.sign(differences[differences != 0])
    assert rank_biserial(differences) == pytest.approx((ranks * signs).sum() / ranks.sum())
    assert rank_biserial(np.array([0.1, 0.5])) == 1.0
    assert rank_biserial(np.array([-0.1, -0.5])) == -1.0


def test_holm_corrects_step_by_step():
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def make_scores(gold, count=20):
    scores = GoldScores(gold, ["good_one", "poor"])
    for number in range(count):
        values = {"good_one": TextScore(0.9, 0.9, 0.9), "poor": TextScore(0.5 + number / 100, 0.5, 0.5)}
        scores.pages.append(ScoredPage(f"{number}", None, f"{number}.example", values, frozenset()))
    return scores


def test_each_two_methods_are_tested(gold):
    scores = make_scores(gold)
    (test,) = scores.tests()
    assert (test.first, test.second, test.effect) == ("good_one", "poor", 1.0)
    assert test.difference == pytest.approx(0.305)
    assert test.low < test.difference < test.high
    assert test.probability == test.adjusted < 0.001


def test_the_table_for_latex_marks_the_best_and_what_differs(gold):
    scores = make_scores(gold)
    table = latex_table(scores.means(), scores.tests())
    assert r"good\_one & \textbf{0.900}" in table
    assert r"poor$^{\dagger}$ & 0.595" in table
    assert table.startswith(r"\begin{tabular}")


def test_a_row_has_the_scores_of_a_method_on_a_page(gold):
    rows = list(score_rows(make_scores(gold, 2).pages))
    assert rows[0] == ["0", "", "0.example", "good_one", 0.9, 0.9, 0.9]
    assert len(rows) == 4

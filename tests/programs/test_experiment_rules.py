"""The rules of the papers' experiments: verdicts that can go every way, likeness, levels, blocks."""

import numpy as np
import pytest

# The programs in tests/ find each other there.
import similarity
import subtree_levels
import vce_blocks
import verdicts
from findings import Outcome

from cleaning.blocks import Block, Decision, Kind, Reason

UNITS = [str(number) for number in range(20)]


def test_a_larger_mean_is_ahead_a_smaller_one_is_not_and_chance_is_not_judged():
    noise = np.tile([-1.0, 1.0], 10)
    assert verdicts.judge_ahead("x", 3 + noise, UNITS).outcome is Outcome.REPRODUCED
    assert verdicts.judge_ahead("x", noise - 3, UNITS).outcome is Outcome.NOT_REPRODUCED
    assert verdicts.judge_ahead("x", noise, UNITS).outcome is Outcome.UNDECIDED
    assert verdicts.judge_ahead("x", 0 * noise, UNITS).reason == "the same in all 20 cases"
    assert verdicts.judge_ahead("x", [3, 3, 3], UNITS[:3]).outcome is Outcome.UNDECIDED


def test_a_mean_is_reached_if_its_interval_reaches_it():
    values = np.tile([0.0, 1.0], 10)
    assert verdicts.judge_reached("x", values, UNITS, 0.6).outcome is Outcome.REPRODUCED
    assert verdicts.judge_reached("x", values, UNITS, 0.95).outcome is Outcome.NOT_REPRODUCED
    assert verdicts.judge_reached("x", [1], ["0"], 0.5).outcome is Outcome.UNDECIDED


def test_a_figure_is_near_another_within_a_tenth():
    assert verdicts.judge_near("x", 0.91, 1.0).outcome is Outcome.REPRODUCED
    assert verdicts.judge_near("x", 0.89, 1.0).outcome is Outcome.NOT_REPRODUCED


def test_a_spread_is_smaller_beyond_chance_or_not_judged():
    steady, wild = np.arange(7) / 100, np.arange(7) / 10
    assert verdicts.judge_spread("x", steady, wild).outcome is Outcome.REPRODUCED
    assert verdicts.judge_spread("x", wild, steady).outcome is Outcome.NOT_REPRODUCED
    assert verdicts.judge_spread("x", steady, steady * 1.5).outcome is Outcome.UNDECIDED


def test_a_paper_follows_from_itself_or_is_contradicted():
    assert verdicts.judge_follows("x", 0.98, 0.984, 0.005).outcome is Outcome.FOLLOWS
    assert verdicts.judge_follows("x", 0.98, 0.99, 0.005).outcome is Outcome.CONTRADICTED
    assert verdicts.judge_possible("x", 0.95, (0.92, 0.96), 0.005).outcome is Outcome.FOLLOWS
    assert verdicts.judge_possible("x", 0.978, (0.75, 0.862), 0.005).outcome is Outcome.CONTRADICTED
    assert verdicts.judge_possible("x", 0.7, (0.75, 0.862), 0.005).outcome is Outcome.CONTRADICTED
    assert verdicts.judge_less("x", 1, 2).outcome is Outcome.FOLLOWS
    assert verdicts.judge_less("x", 2, 1).outcome is Outcome.CONTRADICTED


SENTENCE = "The ferry left the quiet harbour at dawn with forty passengers who slept below since the storm of Monday"


@pytest.mark.parametrize("name", similarity.LIKENESSES)
def test_the_later_of_two_equal_texts_goes_and_different_ones_stay(name):
    other = "Rain fell on the market square all morning while vendors covered their stalls with blue plastic sheets"
    texts = [SENTENCE, other, "", SENTENCE.upper(), "and the", other + "!"]
    assert similarity.distinct(texts, similarity.LIKENESSES[name]) == [0, 1, 2, 4]


def test_an_edit_that_jaccard_and_minhash_forgive_is_another_text_to_them_when_it_grows():
    terms = [f"word{number}" for number in range(40)]
    few = " ".join(["other", *terms[1:]])
    many = " ".join([f"other{number}" for number in range(20)] + terms[20:])
    for name in ("Jaccard", "MinHash"):
        assert similarity.distinct([" ".join(terms), few, many], similarity.LIKENESSES[name]) == [0, 2]


def test_levels_tell_loss_from_noise():
    page = " ".join(f"word{number}" for number in range(200))
    words = page.split()
    gold = " ".join(words[:100])

    def level(first, end):
        return subtree_levels.Page.of(" ".join(words[first:end]), page, gold).level()

    assert [level(0, 100), level(0, 104), level(0, 140), level(0, 170), level(10, 100)] == ["A", "A", "B", "C", "C"]


def test_kept_content_blocks_are_precision_and_recall():
    def decision(number, text, reason):
        return Decision(Block(number, "/p", Kind.PARAGRAPH, text, len(text.split()), 0, 0.1), 0.0, reason)

    gold = "the ferry left the harbour at dawn\nforty passengers slept below the deck\nnobody had seen the old captain"
    first, second, third = gold.split("\n")
    decisions = [
        decision(0, first, Reason.KEPT),
        decision(1, second, Reason.OUTSIDE),
        decision(2, third, Reason.KEPT),
        decision(3, "subscribe to our newsletter and never miss", Reason.KEPT),
    ]
    assert vce_blocks.score(decisions, gold) == vce_blocks.Block(pytest.approx(2 / 3), 2 / 3, 2 / 3)
    assert vce_blocks.score(decisions[3:], gold) is None
    assert vce_blocks.score(decisions[1:2], gold) == vce_blocks.Block(0, 0, 0)

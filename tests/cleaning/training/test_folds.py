"""Cross-validation: which fold judges a host, and what is made of a page."""

import numpy as np

from cleaning import parse
from cleaning.blocks import PageType
from cleaning.classifier.model import Prediction
from cleaning.classifier.shipped import load_shipped_model
from cleaning.classifier.signals import PageSignals
from cleaning.leaf_table import read_leaf_table
from cleaning.training.data import Example
from cleaning.training.folds import FOLDS, fold_of, hash_inputs, score_blocks, score_page
from cleaning.training.gold import TextScore

GOLD = "The new bridge at the old harbour was opened on Monday morning after nine years of work, and many people came."


def example(source, name="wcxb-dev", gold=GOLD):
    table = read_leaf_table(parse(source).root)
    size = len(table.blocks)
    return Example(
        "7", name, "a.example", None, PageType.FORUM, gold, table, PageSignals(), np.zeros(size), np.ones(size)
    )


def test_hosts_are_spread_over_all_folds():
    times = np.bincount([fold_of(f"{number}.example") for number in range(1_000)])
    assert len(times) == FOLDS
    assert times.min() > 150


def test_page_without_text_has_no_guess_and_no_score():
    outcome = score_page(load_shipped_model(), example("<p></p>"))
    assert (outcome.guess, outcome.confidence, outcome.score) == (None, 0.0, TextScore(0.0, 0.0, 0.0))
    assert (outcome.id, outcome.host, outcome.language, outcome.type) == ("7", "a.example", "en", "forum")
    assert score_page(load_shipped_model(), example("", gold="")).language == "unknown"


def judged(*scores):
    return Prediction(np.array(scores), PageType.ARTICLE, 1.0)


def test_page_is_scored_by_the_text_that_is_kept_as_its_set_is():
    source = f"<p>{GOLD}</p><p>Read more</p>"
    assert score_blocks(example(source), judged(1.0, 0.0)) == TextScore(1.0, 1.0, 1.0)
    words, runs = (score_blocks(example(source, name), judged(1.0, 1.0)) for name in ("wcxb-dev", "fundus-dev"))
    assert words.precision == 21 / 23
    assert runs.precision == 18 / 20


def test_inputs_have_the_data_the_code_and_the_library():
    inputs = hash_inputs({"wcxb-dev": "12"})
    assert inputs.keys() == {"wcxb-dev", "code", "lightgbm"}
    assert hash_inputs({"wcxb-dev": "13"})["code"] == inputs["code"]

"""What features and pages are worth: every column is in one group, and what decides is missed."""

import numpy as np

from cleaning import parse
from cleaning.blocks import PageType
from cleaning.classifier import features, signals
from cleaning.classifier.signals import PageSignals
from cleaning.leaf_table import read_leaf_table
from cleaning.training.ablation import SHARES, WHOLE, _feature_groups, ablate, learning_curve, read_means, write_means
from cleaning.training.data import Example
from cleaning.training.folds import FOLDS

TEXT = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen."
TEXTS = [TEXT.replace("one", word) for word in "red green blue black white grey".split()]


def test_every_column_is_in_one_group():
    columns = [column for _, columns in _feature_groups() for column in columns]
    assert sorted(columns) == list(range(len(features.FIRST_STAGE_NAMES) + len(signals.PAGE_WORD_NAMES)))


def page(random, number):
    """Return a page whose main text is told by its class alone: blocks stand in any order and say much the same."""
    names = random.permutation(["story"] * 3 + ["margin"] * 3)
    source = "".join(f'<div class="{name}">{text}</div>' for name, text in zip(names, TEXTS, strict=True))
    labels = (names == "story").astype(np.float32)
    gold = "\n".join(text for name, text in zip(names, TEXTS, strict=True) if name == "story")
    table = read_leaf_table(parse(source).root)
    host = f"{number}.example"
    return Example(host, "wcxb-dev", host, None, PageType.ARTICLE, gold, table, PageSignals(), labels, np.full(6, 14.0))


def test_group_that_decides_is_missed():
    random = np.random.default_rng(3)
    means = ablate([page(random, number) for number in range(60)])
    assert next(iter(means)) == WHOLE
    assert means[WHOLE] == {"wcxb-dev": 1.0}
    assert means["lexicon"]["wcxb-dev"] < 0.9
    assert means["address"] == means[WHOLE]


def test_learning_curve_judges_by_models_of_fewer_hosts(capsys):
    random = np.random.default_rng(3)
    means = learning_curve([page(random, number) for number in range(160)])
    assert list(means) == [f"{share:.0%}" for share in SHARES]
    assert means["50%"] == {"wcxb-dev": 1.0}
    used = [int(line.split()[-2]) for line in capsys.readouterr().err.splitlines()]
    assert len(used) == 2 * FOLDS
    assert all(20 < quarter < 45 < half < 80 for quarter, half in zip(used[:FOLDS], used[FOLDS:], strict=True))


def test_figures_of_other_data_or_code_are_not_read(tmp_path):
    means = {WHOLE: {"wcxb-dev": 0.5}}
    write_means(tmp_path / "ablation.json", means, {"code": "1"})
    assert read_means(tmp_path / "ablation.json", {"code": "1"}) == means
    assert read_means(tmp_path / "ablation.json", {"code": "2"}) == {}
    assert read_means(tmp_path / "none.json", {"code": "1"}) == {}

"""Training: parts by host, weights of blocks, and a model that has learned."""

from dataclasses import replace

import lightgbm
import numpy as np
import pytest
import training_data

from cleaning import parse
from cleaning.blocks import PageType
from cleaning.classifier.model import probabilities
from cleaning.classifier.signals import PageSignals
from cleaning.leaf_table import read_leaf_table
from cleaning.training.data import Example, hash_sets, read_examples
from cleaning.training.fit import (
    _MAX_BLOCKS,
    PARTS,
    Recipe,
    _sampling_odds,
    convert_model,
    fit_model,
    grow_trees,
    part_of,
    weigh_blocks,
)

SETS = ("fundus-dev", "wcxb-dev")
RECIPE = Recipe(rounds=30, leaves=15, rate=0.1, min_leaf_rows=5)
ALONE = {"num_threads": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return training_data.write(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def examples(folder):
    return read_examples(folder, SETS)


def shares(table, labels):
    """Return the labels as an example has them, and the words of its blocks."""
    return np.array(labels, np.float32), np.array([len(block.text.split()) for block in table.blocks], np.float64)


def make_page(blocks, labels, name="wcxb-dev"):
    table = read_leaf_table(parse("".join(f"<p>{text}</p>" for text in blocks)).root)
    return Example("1", name, "a.example", None, PageType.ARTICLE, "", table, PageSignals(), *shares(table, labels))


def test_part_of_a_host_is_always_the_same():
    assert [part_of(f"{number}.example") for number in range(5)] == [
        part_of(f"{number}.example") for number in range(5)
    ]
    assert {part_of(f"{number}.example") for number in range(200)} == set(range(PARTS))
    assert part_of("www.example.org") == part_of("news.example.co.uk") == part_of("example")


def test_examples_are_read_with_their_groups_and_labels(examples):
    assert [example.set for example in examples] == ["fundus-dev"] * 30 + ["wcxb-dev"] * 30
    assert examples[0].host == "fundus-dev-0.example"
    assert [example.type for example in examples[30:33]] == ["article", "forum", "product"]
    assert {example.type for example in examples[:30]} == {PageType.ARTICLE}
    for example in examples:
        main = np.array([block.path.startswith("/html/body/main") for block in example.table.blocks])
        assert ((example.labels > 0.5) == main).all()
        assert example.labels[main].tolist() == [1] * main.sum()


def test_digest_depends_on_every_page(folder, tmp_path):
    other = training_data.write(tmp_path)
    assert hash_sets(folder, SETS) == hash_sets(other, SETS)
    (other / "extraction" / "wcxb-dev" / "html" / "3.html.gz").write_bytes(b"")
    assert hash_sets(folder, SETS)["fundus-dev"] == hash_sets(other, SETS)["fundus-dev"]
    assert hash_sets(folder, SETS)["wcxb-dev"] != hash_sets(other, SETS)["wcxb-dev"]


def test_weight_of_a_block_is_that_of_its_words_in_its_page():
    weights = weigh_blocks(make_page(["one two three", "one"], [1, 0]))
    assert weights[0] / weights[1] == 2  # words + 1
    assert weights[0] == pytest.approx(4 / (50 + 4 + 0.15 * 6))
    assert weigh_blocks(make_page(["one two three", "one"], [1, 0], "fundus-dev"))[0] == pytest.approx(3 * weights[0])


def test_large_page_is_sampled_and_long_blocks_rather():
    small = make_page(["one"] * _MAX_BLOCKS, [0] * _MAX_BLOCKS)
    assert _sampling_odds(small, _MAX_BLOCKS).tolist() == [1] * _MAX_BLOCKS
    odds = _sampling_odds(make_page(["one"] * 2_000 + ["word " * 200] * 10, [0] * 2_010), _MAX_BLOCKS)
    assert odds.max() <= 1
    assert odds[-1] > 5 * odds[0]
    assert odds.sum() == pytest.approx(_MAX_BLOCKS, rel=0.2)


def test_model_knows_pages_of_the_same_kind_again(examples):
    model = fit_model(examples[:25] + examples[30:55])
    for example in (*examples[25:30], *examples[55:]):
        judged = model.predict(example.table, example.signals)
        assert ((judged.scores > 0.5) == (example.labels > 0.5)).all()
    assert model.lexicon.scores["menu"] < -1 < 0 < model.lexicon.scores["content"]


def test_labels_that_are_not_known_are_not_learned(examples):
    """Half of the pages say nothing but untruths, which are marked as unknown."""
    liars = [
        replace(example, labels=1 - example.labels, known=np.zeros(example.size, bool), type=None)
        for example in examples[:30:2]
    ]
    model = fit_model([*liars, *examples[1:25:2], *examples[30:55]])
    for example in (*examples[25:30], *examples[55:]):
        assert ((model.predict(example.table, example.signals).scores > 0.5) == (example.labels > 0.5)).all()


def test_pages_without_text_are_passed_over(examples):
    empty = make_page([], [])
    with_empty = fit_model([empty, *examples])
    without = fit_model(examples)
    for part in ("types", "first", "second"):
        arrays = getattr(with_empty, part).pack()
        expected = getattr(without, part).pack()
        assert all(np.array_equal(array, expected[name]) for name, array in arrays.items())


def drawn(seed, rows=600, columns=12):
    """Return rows of few and of many values, as features have."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(rows, columns)).astype(np.float32)
    values[:, ::3] = np.round(values[:, ::3])
    return values


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_are_those_of_lightgbm(seed):
    rows = drawn(seed)
    labels = 1 / (1 + np.exp(-rows[:, 0] + rows[:, 1] * rows[:, 2]))
    booster = lightgbm.train(
        RECIPE.parameters | ALONE, lightgbm.Dataset(rows, labels, params={"verbose": -1}), RECIPE.rounds
    )
    trees = convert_model(booster.dump_model(), 1)
    unseen = np.vstack([rows, drawn(seed + 100)])
    assert len(trees.roots) == 30
    np.testing.assert_allclose(probabilities(trees.sums(unseen))[:, 0], booster.predict(unseen), rtol=0, atol=1e-6)


def test_shares_are_those_of_lightgbm():
    rows = drawn(7)
    recipe = replace(RECIPE, outputs=4, rounds=12)
    labels = np.digitize(rows[:, 0] + rows[:, 4], [-1, 0, 1])
    booster = lightgbm.train(
        recipe.parameters | ALONE, lightgbm.Dataset(rows, labels, params={"verbose": -1}), recipe.rounds
    )
    trees = convert_model(booster.dump_model(), 4)
    np.testing.assert_allclose(probabilities(trees.sums(rows)), booster.predict(rows), rtol=0, atol=1e-6)


def test_value_on_a_threshold_goes_the_same_way_as_in_lightgbm():
    rows = np.repeat(np.float32([0.1, 0.2, 0.3, 0.7]), 50)[:, None]
    recipe = Recipe(rounds=5, leaves=4, rate=0.5, min_leaf_rows=5)
    booster = lightgbm.train(
        recipe.parameters | ALONE, lightgbm.Dataset(rows, (rows[:, 0] > 0.2).astype(float), params={"verbose": -1}), 5
    )
    trees = convert_model(booster.dump_model(), 1)
    limits = np.unique(trees.threshold[np.isfinite(trees.threshold)])
    edges = np.concatenate([np.nextafter(limits, np.float32(-9)), limits, np.nextafter(limits, np.float32(9))])[:, None]
    np.testing.assert_allclose(probabilities(trees.sums(edges))[:, 0], booster.predict(edges), rtol=0, atol=1e-6)


def test_trees_grown_twice_are_the_same():
    rows = drawn(1)
    labels = (rows[:, 0] > 0).astype(float)
    weights = np.ones(len(rows))
    first, second = (grow_trees(RECIPE, rows, labels, weights).pack() for _ in range(2))
    assert all(np.array_equal(array, second[name]) for name, array in first.items())


def test_weight_of_a_row_counts():
    rows = np.zeros((200, 1), np.float32)
    labels = np.repeat([0.0, 1.0], 100)
    for weight, mean in ((1.0, 0.5), (3.0, 0.75)):
        weights = np.repeat([1.0, weight], 100)
        share = probabilities(grow_trees(RECIPE, rows, labels, weights).sums(rows[:1]))[0, 0]
        assert share == pytest.approx(mean, abs=0.01)


def test_labels_that_never_change_make_trees_of_one_leaf():
    trees = grow_trees(RECIPE, drawn(2), np.full(600, 0.25), np.ones(600))
    assert trees.depth == 0
    assert probabilities(trees.sums(drawn(3)[:2]))[:, 0].tolist() == pytest.approx([0.25, 0.25], abs=1e-6)

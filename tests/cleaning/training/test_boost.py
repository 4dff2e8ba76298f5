"""Trees of LightGBM as arrays: the same predictions."""

from dataclasses import replace

import lightgbm
import numpy as np
import pytest

from cleaning.classifier.model import probabilities
from cleaning.training.boost import Recipe, convert_model, grow_trees

RECIPE = Recipe(rounds=30, leaves=15, rate=0.1, min_leaf_rows=5)
ALONE = {"num_threads": 1}


def table(seed, rows=600, columns=12):
    """Return rows of few and of many values, as features have."""
    random = np.random.default_rng(seed)
    found = random.normal(size=(rows, columns)).astype(np.float32)
    found[:, ::3] = np.round(found[:, ::3])
    return found


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_are_those_of_lightgbm(seed):
    rows = table(seed)
    labels = 1 / (1 + np.exp(-rows[:, 0] + rows[:, 1] * rows[:, 2]))
    booster = lightgbm.train(
        RECIPE.parameters | ALONE, lightgbm.Dataset(rows, labels, params={"verbose": -1}), RECIPE.rounds
    )
    trees = convert_model(booster.dump_model(), 1)
    unseen = np.vstack([rows, table(seed + 100)])
    assert len(trees.roots) == 30
    np.testing.assert_allclose(probabilities(trees.sums(unseen))[:, 0], booster.predict(unseen), rtol=0, atol=1e-6)


def test_shares_are_those_of_lightgbm():
    rows = table(7)
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
    rows = table(1)
    labels, weights = (rows[:, 0] > 0).astype(float), np.ones(len(rows))
    one, two = (grow_trees(RECIPE, rows, labels, weights).pack() for _ in range(2))
    assert all(np.array_equal(array, two[name]) for name, array in one.items())


def test_weight_of_a_row_counts():
    rows = np.zeros((200, 1), np.float32)
    labels = np.repeat([0.0, 1.0], 100)
    for weight, mean in ((1.0, 0.5), (3.0, 0.75)):
        weights = np.repeat([1.0, weight], 100)
        found = probabilities(grow_trees(RECIPE, rows, labels, weights).sums(rows[:1]))[0, 0]
        assert found == pytest.approx(mean, abs=0.01)


def test_labels_that_never_change_make_trees_of_one_leaf():
    trees = grow_trees(RECIPE, table(2), np.full(600, 0.25), np.ones(600))
    assert trees.depth == 0
    assert probabilities(trees.sums(table(3)[:2]))[:, 0].tolist() == pytest.approx([0.25, 0.25], abs=1e-6)

"""Trees in C give the sums of numpy; nodes outside the table are refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cleaning._native import load_compiled
from cleaning.classifier.model import Trees

FEATURES = 6
# Few values, so that features often equal thresholds.
VALUES = np.array([-np.inf, -1.5, -0.0, 0.0, 0.1, 1.5, 3e38, np.inf, np.nan])
pytestmark = pytest.mark.skipif(
    load_compiled("trees") is None, reason="COMPILER: Blocksieve was installed without its compiled core"
)


def grow(random, trees, outputs, thresholds):
    """Return trees of random shapes, chains and single leaves among them."""
    feature, threshold, left, right, roots, depth = [], [], [], [], [], 0
    for _ in range(trees * outputs):
        roots.append(len(left))
        open_ends = [(add_leaf(left, right), 0)]
        for _ in range(random.integers(0, 12)):
            node, level = open_ends.pop(random.integers(len(open_ends)))
            left[node] = add_leaf(left, right)
            right[node] = add_leaf(left, right)
            open_ends += [(left[node], level + 1), (right[node], level + 1)]
            depth = max(depth, level + 1)
    feature = random.integers(0, FEATURES, len(left)).astype(np.int16)
    threshold = random.choice(VALUES[1:-2], len(left)).astype(thresholds)
    value = random.normal(size=len(left)).astype(np.float32)
    return Trees(
        feature, threshold, np.array(left, np.int32), np.array(right, np.int32), value, np.array(roots), outputs, depth
    )


def add_leaf(left, right):
    left.append(len(left))
    right.append(len(right))
    return len(left) - 1


@settings.get_profile("kernel")
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 9),
    st.sampled_from([1, 3]),
    st.integers(0, 40),
    st.sampled_from([np.float32, np.float64]),
)
def test_sums_are_those_of_numpy(seed, trees, outputs, rows, thresholds):
    random = np.random.default_rng(seed)
    grown = grow(random, trees, outputs, thresholds)
    table = random.choice(VALUES, (rows, FEATURES)).astype(np.float32)
    sums = grown.sums(table)
    assert sums.shape == (rows, outputs)
    np.testing.assert_allclose(sums, grown.pure_sums(table), rtol=1e-12, atol=1e-12)


def test_rows_need_not_lie_in_one_piece():
    random = np.random.default_rng(1)
    grown = grow(random, 5, 1, np.float32)
    table = random.normal(size=(FEATURES, 20)).astype(np.float32).T
    np.testing.assert_allclose(grown.sums(table), grown.pure_sums(table))


@pytest.mark.parametrize(
    ("left", "right", "roots", "feature", "told"),
    [
        ([1, 1, 9], [2, 1, 2], [0], 0, "node 2 of the trees leads outside"),
        ([1, 1, 2], [-2, 1, 2], [0], 0, "node 0 of the trees leads outside"),
        ([1, 1, 2], [2, 1, 2], [3], 0, "the root 3 is outside"),
        ([1, 0, 2], [2, 0, 2], [0], 0, "two of its branches meet"),
        ([1, 1, 2], [2, 1, 2], [0], -1, "asks for feature -1"),
    ],
)
def test_table_that_leads_nowhere_is_refused(left, right, roots, feature, told):
    zeros = np.zeros(3, np.float32)
    trees = Trees(np.full(3, feature), zeros, np.array(left), np.array(right), zeros, np.array(roots), 1, 1)
    with pytest.raises(ValueError, match=told):
        trees.sums(np.zeros((1, FEATURES), np.float32))


def test_rows_of_too_few_features_are_refused():
    trees = grow(np.random.default_rng(3), 9, 1, np.float32)
    with pytest.raises(ValueError, match=f"ask for {FEATURES} features; the rows have 2"):
        trees.sums(np.zeros((1, 2), np.float32))


@pytest.mark.parametrize("chosen", [[7, 0, 3, 3, 19], [4], []])
def test_chosen_rows_give_the_sums_of_these_rows(chosen):
    random = np.random.default_rng(2)
    grown = grow(random, 5, 1, np.float32)
    table = random.normal(size=(20, FEATURES + 1)).astype(np.float32)
    indexes = np.array(chosen, np.intp)
    np.testing.assert_allclose(grown.sums(table, indexes), grown.pure_sums(table[indexes]))


@pytest.mark.parametrize("index", [-1, 20])
def test_a_row_that_is_not_there_is_refused(index):
    grown = grow(np.random.default_rng(2), 5, 1, np.float32)
    with pytest.raises(IndexError, match=f"row {index} of 20"):
        grown.sums(np.zeros((20, FEATURES), np.float32), np.array([3, index]))

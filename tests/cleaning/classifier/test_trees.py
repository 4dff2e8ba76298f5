"""Trees as arrays, summed up by numpy."""

import numpy as np
import pytest

from cleaning.classifier.model import Trees, probabilities


def stump(threshold, below, above):
    """Return one tree of a root and two leaves, on feature 1."""
    return Trees(
        np.array([1, 0, 0], np.int16),
        np.array([threshold, np.inf, np.inf], np.float32),
        np.array([1, 1, 2], np.int32),
        np.array([2, 1, 2], np.int32),
        np.array([0, below, above], np.float32),
        np.array([0], np.int32),
        1,
        1,
    )


def two_outputs():
    """Return two trees of a leaf each, the one for the first output and the other for the second."""
    leaves = np.arange(2, dtype=np.int32)
    values = np.array([1.5, -0.5], np.float32)
    return Trees(np.zeros(2, np.int16), np.full(2, np.inf, np.float32), leaves, leaves, values, leaves, 2, 0)


@pytest.mark.parametrize("sums", [Trees.sums, Trees.pure_sums], ids=["any", "pure"])
def test_row_goes_left_where_its_feature_is_not_above(sums):
    rows = np.array([[9, 0.4], [9, 0.5], [9, 0.6]], np.float32)
    assert sums(stump(0.5, -1, 2), rows).tolist() == [[-1], [-1], [2]]


@pytest.mark.parametrize("sums", [Trees.sums, Trees.pure_sums], ids=["any", "pure"])
def test_trees_take_turns_in_adding_to_outputs(sums):
    assert sums(two_outputs(), np.zeros((3, 1), np.float32)).tolist() == [[1.5, -0.5]] * 3


def test_no_rows_have_no_sums():
    assert stump(0.5, -1, 2).pure_sums(np.zeros((0, 2), np.float32)).shape == (0, 1)


def test_many_rows_are_summed_in_parts():
    rows = np.zeros((5_000, 2), np.float32)
    rows[::2, 1] = 1
    assert stump(0.5, -1, 2).pure_sums(rows)[:, 0].tolist() == [2, -1] * 2_500


def test_trees_survive_their_arrays():
    packed = two_outputs().pack()
    again = Trees.unpack(packed)
    assert (again.outputs, again.depth) == (2, 0)
    assert all(np.array_equal(array, again.pack()[name]) for name, array in packed.items())


def test_probability_is_logistic_and_never_overflows():
    found = probabilities(np.array([[0.0], [np.log(3)], [-1e9], [1e9]]))[:, 0]
    assert found[:2] == pytest.approx([0.5, 0.75])
    assert (found[2] < 1e-20, found[3]) == (True, 1.0)


def test_shares_of_several_outputs_add_up_to_one():
    assert probabilities(np.array([[0.0, np.log(3)], [1e9, 1e9]])).tolist() == [pytest.approx([0.25, 0.75]), [0.5, 0.5]]

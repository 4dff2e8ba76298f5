"""What the second look sees of the first one's scores."""

import numpy as np
import pytest

from cleaning import parse
from cleaning.classifier.features import NEIGHBOUR_NAMES, PageSums, read_neighbours
from cleaning.leaf_table import read_leaf_table

# Four blocks of ten characters each; the second and the third are in one section.
PAGE = "<p>aaaa bbbbb</p><section><p>aaaa ccccc</p><p>aaaa ddddd</p></section><p>aaaa eeeee</p>"
SCORES = np.array([0.1, 0.9, 0.7, 0.3])


def column(name, scores=SCORES):
    rows = read_neighbours(PageSums(read_leaf_table(parse(PAGE).root)), scores)
    return [pytest.approx(float(value), abs=1e-5) for value in rows[:, NEIGHBOUR_NAMES.index(name)]]


def test_neighbours_are_seen_and_0_beyond_the_edges():
    assert column("score") == [0.1, 0.9, 0.7, 0.3]
    assert column("score_-1") == [0, 0.1, 0.9, 0.7]
    assert column("score_+2") == [0.7, 0.3, 0, 0]
    assert column("score_+5") == [0] * 4


def test_elements_have_the_mean_of_what_is_in_them_and_their_part_of_the_page():
    assert column("scores_0") == [0.1, 0.9, 0.7, 0.3]
    assert column("scores_1") == [0.5, 0.8, 0.8, 0.5]
    assert column("part_of_scores_1") == [1, 0.8, 0.8, 1]


def test_windows_and_groups_have_means():
    assert column("scores_within_3") == [0.5] * 4
    assert column("scores_same_path") == [0.2, 0.8, 0.8, 0.2]


def test_order_is_told_from_the_surest_blocks():
    assert column("before") == [0, 0.05, 0.5, 0.85]
    assert column("after") == [0.95, 0.5, 0.15, 0]
    assert column("since_sure") == [-1, 0, 1, 2]
    assert column("until_sure") == [1, 0, -1, -2]


def test_without_a_sure_block_the_page_is_all_between():
    doubtful = np.full(4, 0.4)
    assert column("since_sure", doubtful) == [0, 1, 2, 3]
    assert column("until_sure", doubtful) == [4, 3, 2, 1]


def test_page_is_told_to_every_block():
    assert column("page_scores") == [0.5] * 4
    assert column("page_likely") == [0.5] * 4
    assert column("page_greatest") == [0.9] * 4
    assert column("page_kept") == [np.log(5)] * 4

"""K-FE: clusters of probabilities, and the blocks of the best one."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning import Reason, clean
from cleaning.methods.informative_sections import top_cluster_minimum

FOX = "The quick brown fox jumps over the lazy dog."
PAGE = (
    f"<p>{FOX}</p><p>{FOX} <a>Fox</a></p><p>By <a>a</a> <a>b</a></p><p>In <a>c</a></p>"
    "<ul><li><a>Home</a></li><li><a>News</a></li></ul>"
)


@pytest.mark.parametrize(
    ("values", "clusters", "least"),
    [
        ([0, 0.1, 0.5, 0.55, 0.9, 1], 3, 0.9),
        ([1, 0.55, 0, 0.9, 0.5, 0.1], 3, 0.9),  # in any order
        ([0, 0.1, 0.5, 0.55, 0.9, 1], 2, 0.5),  # centres .1 + .9, then .05 + .7375
        ([0, 0.1, 0.5, 0.55, 0.9, 1], 1, 0),
        ([0, 0.1, 0.5, 0.55, 0.9, 1], 100, 1),
        ([0, 0, 0, 0.9, 1, 1, 1], 2, 0.9),
        ([0.5, 0.5, 0.5], 3, 0.5),
        ([0.2], 3, 0.2),
        ([], 3, 0),
    ],
)
def test_least_value_of_the_top_cluster(values, clusters, least):
    assert top_cluster_minimum(values, clusters) == least


@given(st.lists(st.integers(0, 50).map(lambda n: n / 50), min_size=1, max_size=60), st.integers(1, 8))
def test_top_cluster_begins_at_a_value_and_holds_the_highest(values, clusters):
    least = top_cluster_minimum(values, clusters)
    assert least in values
    assert least <= max(values)
    assert top_cluster_minimum(sorted(values), clusters) == least


@given(st.lists(st.floats(0, 1), min_size=2, max_size=40))
def test_top_cluster_ends_where_neighbouring_means_meet(values):
    least = top_cluster_minimum(values, 2)
    low, high = [v for v in values if v < least], [v for v in values if v >= least]
    if low:
        border = (sum(low) / len(low) + sum(high) / len(high)) / 2
        assert max(low) <= border + 1e-9
        assert min(high) >= border - 1e-9


def test_blocks_of_the_top_cluster_are_kept():
    found = clean(PAGE, method="kfe")
    assert [block.text for block in found.kept] == [FOX, f"{FOX} Fox"]
    assert found.counts() == {Reason.KEPT: 2, Reason.LOW_SCORE: 3}
    assert [decision.score for decision in found.decisions] == pytest.approx([1, 0.9, 1 / 3, 0.5, 0])


def test_clusters_are_an_option():
    assert [len(clean(PAGE, method="kfe", kfe_clusters=k).kept) for k in (1, 2, 5)] == [4, 2, 1]


def test_page_of_links_keeps_nothing():
    assert clean("<p><a>x</a></p><p><a>y</a></p>", method="kfe").counts() == {Reason.LOW_SCORE: 2}


def test_empty_and_unblocked_text_is_in_no_cluster():
    page = f"<div>bare</div><p></p><p>{FOX} <a>Fox</a></p>"
    assert clean(page, method="kfe").counts() == {Reason.UNBLOCKED: 1, Reason.EMPTY: 1, Reason.KEPT: 1}


def test_page_without_blocks_keeps_nothing():
    assert clean("<div>x</div>", method="kfe").text == ""
    assert clean("", method="kfe").decisions == ()


def test_time_is_bounded():
    values = [place / 1e6 for place in range(200_000)]
    start = time.perf_counter()
    assert top_cluster_minimum(values, 100) > 0.19
    assert time.perf_counter() - start < 20

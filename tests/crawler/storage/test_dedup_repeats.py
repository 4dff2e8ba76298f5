"""Which blocks repeat which."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.storage.dedup import ComparedBlock, FingerprintNeighbours, RepeatedBlock


def repeats(*blocks, scope="all", most=3):
    """Repeats among (fingerprint, page, site, gone), whose ids count from 1."""
    fingerprints = np.array([block[0] for block in blocks], np.uint64)
    ids = np.arange(1, len(blocks) + 1)
    turned = np.random.default_rng(len(blocks)).permutation(len(blocks))  # the table's order is another
    neighbours = FingerprintNeighbours(fingerprints[turned], ids[turned], most)
    standings = (ComparedBlock(number, *blocks[number - 1][1:]) for number in neighbours.block_ids)
    return [(repeat.block_id, repeat.original_id) for repeat in neighbours.repeats(standings, scope)]


def on(page, fingerprint, site="a", gone=False):
    return (fingerprint, page, site, gone)


def test_the_first_one_stays_and_the_others_repeat_it():
    assert repeats(on(1, 5), on(2, 5), on(3, 7), on(4, 2**60 - 1)) == [(2, 1), (3, 1)]


def test_the_nearest_of_those_that_stay_is_repeated():
    assert repeats(on(1, 0b0), on(2, 0b11111), on(3, 0b00111)) == [(3, 2)]


def test_what_repeats_itself_is_not_repeated():
    # The third is three bits from the second, which is a sighting of the first by then, and six from that.
    assert repeats(on(1, 0b0), on(2, 0b111), on(3, 0b111111)) == [(2, 1)]


@pytest.mark.parametrize(
    ("scope", "expected"), [("all", [(2, 1), (3, 1), (4, 1)]), ("site", [(2, 1), (4, 3)]), ("page", [(2, 1)])]
)
def test_the_scope_bounds_what_is_compared(scope, expected):
    blocks = on(1, 0), on(1, 0), on(2, 0, "b"), on(3, 0, "b")
    assert repeats(*blocks, scope=scope) == expected


def test_a_block_does_not_repeat_what_its_page_said_before():
    assert repeats(on(1, 0, gone=True), on(1, 1)) == []
    assert repeats(on(1, 0, gone=True), on(1, 1), on(2, 1)) == [(3, 2)]
    assert repeats(on(1, 0, gone=True), on(2, 1)) == [(2, 1)]


@given(
    st.lists(st.tuples(st.integers(0, 1023), st.integers(1, 4), st.sampled_from("ab"), st.booleans()), max_size=25),
    st.integers(0, 3),
)
def test_repeats_are_those_of_one_block_after_the_other(blocks, most):
    staying, expected = [], []
    for number, (bits, page, _, gone) in enumerate(blocks, 1):
        options = [
            ((bits ^ other).bit_count(), first)
            for first, other, of_page, was_gone in staying
            if (bits ^ other).bit_count() <= most and (page != of_page or not (gone or was_gone))
        ]
        if options:
            expected.append((number, min(options)[1]))
        else:
            staying.append((number, bits, page, gone))
    assert repeats(*blocks, most=most) == expected


def test_a_block_that_is_gone_meanwhile_is_passed_over():
    neighbours = FingerprintNeighbours(np.array([1, 1, 1], np.uint64), np.array([1, 2, 3]), 3)
    left = [ComparedBlock(2, 2, "a", gone=False), ComparedBlock(3, 3, "a", gone=False)]
    assert list(neighbours.repeats(left, "all")) == [RepeatedBlock(3, 2)]

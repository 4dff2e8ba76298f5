"""Fingerprints within some bits of each other: all of them are found, against brute force."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning import distance
from cleaning.fingerprint import NearFingerprints, NearMatch

unsigned = st.integers(0, (1 << 64) - 1)
flips = st.sets(st.integers(0, 63), max_size=9)


def flipped(fingerprint, bits):
    for bit in bits:
        fingerprint ^= 1 << bit
    return fingerprint


@given(unsigned, st.lists(flips, max_size=12), st.integers(0, 8))
def test_nearest_is_that_of_brute_force(asked, others, max_distance):
    neighbours = NearFingerprints(max_distance)
    added = [flipped(asked, bits) for bits in others]
    for value in added:
        neighbours.add(value, value)
    best = min((distance(asked, value) for value in added), default=64)
    found = neighbours.nearest(asked)
    assert (found is None) == (best > max_distance)
    assert found is None or found.bits == best == distance(asked, found.item)


@pytest.mark.parametrize("max_distance", [0, 1, 2, 3, 63])
def test_the_bound_itself_is_near_and_one_bit_more_is_not(max_distance):
    neighbours = NearFingerprints(max_distance)
    neighbours.add(0, "zero")
    assert neighbours.nearest((1 << max_distance) - 1) == NearMatch("zero", max_distance)
    assert neighbours.nearest((1 << max_distance + 1) - 1) is None


def test_nothing_is_near_to_nothing():
    assert NearFingerprints(3).nearest(0) is None

"""The self-join against brute force."""

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.storage import dedup

FINGERPRINTS = st.integers(0, 2**64 - 1)
BITS = st.sets(st.integers(0, 63), max_size=5)


def joined(fingerprints, most):
    """Return the pairs of fingerprints, each as often as it is in the list."""
    values = np.array(fingerprints, np.uint64)
    return sorted((int(first), int(second)) for pairs in dedup.near_pairs(values, most) for first, second in pairs)


def brute(fingerprints, most):
    numbered = combinations(enumerate(fingerprints), 2)
    return [(first, second) for (first, a), (second, b) in numbered if (a ^ b).bit_count() <= most]


def mask(bits):
    return sum(1 << bit for bit in bits)


@given(
    st.lists(FINGERPRINTS, max_size=30), st.lists(st.tuples(st.integers(0, 29), BITS), max_size=30), st.integers(0, 3)
)
def test_pairs_are_those_of_brute_force_each_once(strangers, near, most):
    neighbours = [strangers[number % len(strangers)] ^ mask(bits) for number, bits in near if strangers]
    fingerprints = list(dict.fromkeys(strangers + neighbours))
    assert joined(fingerprints, most) == brute(fingerprints, most)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_all_boundary_bits_are_found_up_to_three_and_never_from_four(size):
    base = 0x9234567890ABCDEF
    others = [base ^ mask(bits) for bits in combinations((0, 1, 15, 16, 17, 31, 32, 47, 48, 62, 63), size)]
    pairs = joined([base, *others], 3)
    assert [pair for pair in pairs if pair[0] == 0] == ([(0, n + 1) for n in range(len(others))] if size <= 3 else [])


# Groups above three members are split, and their parts again: as deep as there are bits.
@settings(deadline=None, max_examples=min(30, settings.default.max_examples))
@given(
    st.sets(st.integers(0, 2**10 - 1), max_size=16), st.sampled_from([0, 3, 27, 54]), FINGERPRINTS, st.integers(1, 3)
)
def test_groups_that_are_split_lose_and_repeat_no_pair(values, shift, base, most):
    fingerprints = [base ^ value << shift for value in values]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dedup, "_GROUP_SIZE_MAX", 3)
        assert joined(fingerprints, most) == brute(fingerprints, most)


def test_many_that_share_two_bands_are_joined_in_bounded_memory():
    random = np.random.default_rng(1)
    spread = random.permutation(1 << 16)[:20_000].astype(np.uint64) << np.uint64(20)
    skewed = np.unique(spread | random.integers(0, 1 << 16, 20_000, dtype=np.uint64) << np.uint64(48))
    tracemalloc.start()
    pairs = np.concatenate(list(dedup.near_pairs(skewed, 3)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (
        len(np.unique(pairs, axis=0))
        == len(pairs)
        == sum(int((np.bitwise_count(skewed[n + 1 :] ^ skewed[n]) <= 3).sum()) for n in range(len(skewed)))
    )
    assert peak < 50_000_000


@pytest.mark.parametrize("count", [0, 1])
def test_none_and_one_have_no_pairs(count):
    assert joined([7] * count, 3) == []

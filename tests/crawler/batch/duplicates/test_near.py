"""All near pairs are found, and each once."""

import numpy as np
import pytest

from crawler.batch.duplicates.near import BANDS, near_pairs, near_pairs_of_band


def different_fingerprints(count, seed=1, *, skewed=False):
    """Return different fingerprints in any order, many of them near another one."""
    random = np.random.default_rng(seed)
    fingerprints = random.integers(0, 2**64, count, dtype=np.uint64)
    if skewed:
        fingerprints[: count // 2] &= np.uint64((1 << 40) - 1)
    for bits in range(1, 6):
        source, target = random.integers(0, count, (2, count // 10))
        fingerprints[target] = fingerprints[source]
        for _ in range(bits):
            fingerprints[target] ^= np.uint64(1) << random.integers(0, 64, count // 10).astype(np.uint64)
    fingerprints = np.unique(fingerprints)
    random.shuffle(fingerprints)
    return fingerprints


def by_brute_force(fingerprints, distance):
    pairs = set()
    for place in range(len(fingerprints) - 1):
        bits = np.bitwise_count(fingerprints[place + 1 :] ^ fingerprints[place])
        pairs.update((place, place + 1 + int(other)) for other in np.flatnonzero(bits <= distance))
    return pairs


def as_list(pairs):
    return [tuple(sorted(pair)) for pair in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)]


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("distance", [1, 3])
def test_pairs_are_those_of_brute_force(distance, skewed):
    fingerprints = different_fingerprints(6_000, skewed=skewed)
    pairs = as_list(near_pairs(fingerprints, distance))
    assert len(set(pairs)) == len(pairs) > 100
    assert set(pairs) == by_brute_force(fingerprints, distance)


@pytest.mark.parametrize("skewed", [False, True])
def test_the_bands_together_have_each_pair_once(skewed):
    fingerprints = different_fingerprints(4_000, 2, skewed=skewed)
    pairs = [pair for band in range(BANDS) for pair in as_list(near_pairs_of_band(fingerprints, band, 3))]
    assert len(set(pairs)) == len(pairs)
    assert set(pairs) == by_brute_force(fingerprints, 3)


def test_bits_are_those_that_differ():
    pairs = near_pairs(np.array([0, 0b101, 1 << 63, 0b11111], np.uint64), 3)
    assert sorted(zip(as_list(pairs), pairs.bits.tolist(), strict=True)) == [
        ((0, 1), 2),
        ((0, 2), 1),
        ((1, 2), 3),
        ((1, 3), 3),
    ]


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_have_no_pairs(count):
    assert as_list(near_pairs(np.arange(count, dtype=np.uint64), 3)) == []


def test_many_with_one_bit_pattern_are_compared_in_part():
    """4,096 fingerprints that are equal in 48 bits: their other bits are cut into bands again."""
    fingerprints = different_fingerprints(4_096, 3) & np.uint64((1 << 16) - 1)
    fingerprints = np.unique(fingerprints)
    assert set(as_list(near_pairs(fingerprints, 3))) == by_brute_force(fingerprints, 3)

"""Fingerprints, digests, distances, and the search for near fingerprints."""

import tracemalloc
from fractions import Fraction
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh64_intdigest

from cleaning import digest, distance, fingerprint
from cleaning.fingerprint import (
    SCHEMES,
    WEIGHTINGS,
    NearFingerprints,
    NearMatch,
    _numbered,
    _weights,
    fingerprint_terms,
)

GOLDEN = "a b c d a b a c a b d".split()
words = st.sampled_from("abcdefgh")
sequences = st.lists(words, max_size=40)


def term_weights(sequence, weighting="modified"):
    """Return the weights of the terms; a fingerprint omits the division by their number, which changes no sign."""
    if not sequence:
        return {}
    unique = _numbered(sequence)
    weights = _weights(sequence, unique, weighting) / len(unique)
    return dict(zip(unique, weights.tolist(), strict=True))


def papers_weights(sequence, weighting="modified", unit=Fraction(1)):
    """Return the weights by the loop of weighted.txt (TWC-PFM), positions from 1; `unit=1.0` is quick, not exact."""
    positions = {}
    for position, term in enumerate(sequence, 1):
        positions.setdefault(term, []).append(position)
    weights = {term: len(own) * unit for term, own in positions.items()}
    for term, other in permutations(positions, 2) if weighting != "plain" else ():
        credit = pair_sum(positions[term], positions[other], unit)
        weights[term] += credit
        if weighting == "symmetric":
            weights[other] += credit
    return {term: weight / len(positions) for term, weight in weights.items()}


def pair_sum(first, second, unit):
    """Walk two position lists with two pointers; a pair counts when neither term occurs between them."""
    total, i, j = 0, 0, 0
    while i < len(first) and j < len(second):
        following = first[i + 1] if i + 1 < len(first) else float("inf")
        if first[i] > second[j]:
            j += 1
        elif following < second[j]:
            i += 1
        else:
            total += unit / (second[j] - first[i])
            i += 1
    return total


def papers_fingerprint(weights):
    sums = [0] * 64
    for term, weight in weights.items():
        hashed = xxh64_intdigest(term.encode())
        for bit in range(64):
            sums[bit] += weight if hashed >> bit & 1 else -weight
    return sum(1 << bit for bit in range(64) if sums[bit] > 0)


def as_floats(weights, rel=1e-12):
    return {term: pytest.approx(float(weight), rel=rel) for term, weight in weights.items()}


WORKED = {
    "plain": ("1", "3/4", "1/2", "1/2"),
    "modified": ("7/3", "11/6", "17/12", "15/16"),
    "symmetric": ("79/24", "35/12", "107/48", "89/48"),
}


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_weights_of_the_worked_sequence(weighting):
    expected = {term: Fraction(weight) for term, weight in zip("abcd", WORKED[weighting], strict=True)}
    assert papers_weights(GOLDEN, weighting) == expected
    assert term_weights(GOLDEN, weighting=weighting) == as_floats(expected, rel=1e-14)


def test_hash_is_xxh64_with_seed_0():
    assert fingerprint_terms(["a"]) == xxh64_intdigest(b"a") == 0xD24EC4F1A98C6E5B


def test_each_weighting_has_a_scheme_of_its_own():
    assert len(set(SCHEMES.values())) == len(WEIGHTINGS) == 3
    # Databases hold this one: changing it makes them unreadable.
    assert SCHEMES["modified"] == "modified-simhash;xxh64-0;porter-original;stop-english;bigrams;1"


@pytest.mark.parametrize(
    ("weighting", "expected"),
    [("modified", 0xD24EC0F1888C5EDB), ("plain", 0xD24EC0F1888C5EDB), ("symmetric", 0xD24EC0E188845EDB)],
)
def test_fingerprint_of_the_worked_sequence(weighting, expected):
    assert fingerprint_terms(GOLDEN, weighting=weighting) == expected


@given(sequences, st.sampled_from(WEIGHTINGS))
def test_weights_are_those_of_the_papers_loop(sequence, weighting):
    assert term_weights(sequence, weighting=weighting) == as_floats(papers_weights(sequence, weighting))


@given(sequences, st.sampled_from(WEIGHTINGS))
def test_fingerprint_is_that_of_the_papers_weights_bit_for_bit(sequence, weighting):
    expected = papers_fingerprint(papers_weights(sequence, weighting))
    assert fingerprint_terms(sequence, weighting=weighting) == expected


# One chunk of positions, several, and pairs beyond a chunk's reach: few and many of them.
@settings(max_examples=min(15, settings.default.max_examples), deadline=None)
@given(
    st.one_of(st.integers(250, 270), st.integers(1_100, 1_200), st.integers(1_500, 2_200)),
    st.sampled_from([1, 2, 40, 250]),
    st.sampled_from(["modified", "symmetric"]),
    st.integers(),
)
def test_long_sequences_have_the_papers_weights_and_bits(length, unique, weighting, seed):
    random = Random(seed)
    sequence = [str(int(unique * random.random() ** 3)) for _ in range(length)]
    expected = papers_weights(sequence, weighting, unit=1.0)
    assert term_weights(sequence, weighting=weighting) == as_floats(expected, rel=1e-12)
    assert fingerprint_terms(sequence, weighting=weighting) == papers_fingerprint(expected)


def test_pairs_far_apart_are_summed_as_exactly_as_near_ones():
    length = 5_000
    harmonic = [0.0]
    for gap in range(1, length):
        harmonic.append(harmonic[-1] + 1 / gap)
    weights = list(term_weights([f"w{position}" for position in range(length)]).values())
    assert weights == pytest.approx([(1 + harmonic[length - 1 - place]) / length for place in range(length)], rel=1e-13)


@given(st.text(st.characters()))
def test_any_text_has_a_64_bit_fingerprint(text):
    assert 0 <= fingerprint(text) < 1 << 64
    assert fingerprint(text) == fingerprint(text)


def test_a_text_of_very_many_different_words_has_a_fingerprint_in_bounded_memory():
    sequence = [f"w{number}" for number in range(30_000)]
    tracemalloc.start()
    assert fingerprint_terms(sequence) > 0
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50_000_000


@pytest.mark.parametrize("text", ["", "  ", "the and of", "!?"])
def test_text_without_terms_has_fingerprint_0(text):
    assert fingerprint(text) == 0


def test_case_spaces_and_stop_words_change_nothing():
    assert fingerprint("The quick  brown FOX.") == fingerprint("quick brown fox")
    assert digest("The quick  brown FOX.") == digest("quick brown fox")


def test_one_changed_word_moves_a_long_text_little():
    text = " ".join(f"word{i % 97} thing{i % 31}" for i in range(400))
    assert distance(fingerprint(text), fingerprint(text.replace("word0 ", "other ", 1))) <= 3


def test_order_of_words_changes_the_digest():
    assert digest("brown quick fox") != digest("quick brown fox")


@pytest.mark.parametrize(("a", "b", "bits"), [(0, 0, 0), (0, (1 << 64) - 1, 64), (0b1011, 0b0001, 2)])
def test_distance_counts_the_bits_that_differ(a, b, bits):
    assert distance(a, b) == bits


def test_distances_printed_in_the_paper():
    b2, b3, b7 = 0xB51DC1ACDBAEC307, 0xBA95CC99E2B52ADB, 0xB59DC1ACDB8EC387
    assert (distance(b2, b3), distance(b2, b7)) == (31, 3)


unsigned = st.integers(0, (1 << 64) - 1)


@given(unsigned, unsigned, unsigned)
def test_distance_is_a_metric(a, b, c):
    assert distance(a, b) == distance(b, a)
    assert (distance(a, b) == 0) == (a == b)
    assert distance(a, c) <= distance(a, b) + distance(b, c)


flips = st.sets(st.integers(0, 63), max_size=9)


def flipped(fingerprint, bits):
    for bit in bits:
        fingerprint ^= 1 << bit
    return fingerprint


@given(unsigned, st.lists(flips, max_size=12), st.integers(0, 8))
def test_nearest_is_that_of_brute_force(query, others, max_distance):
    neighbours = NearFingerprints(max_distance)
    added = [flipped(query, bits) for bits in others]
    for value in added:
        neighbours.add(value, value)
    best = min((distance(query, value) for value in added), default=64)
    nearest = neighbours.nearest(query)
    assert (nearest is None) == (best > max_distance)
    assert nearest is None or nearest.bits == best == distance(query, nearest.item)


@pytest.mark.parametrize("max_distance", [0, 1, 2, 3, 63])
def test_the_bound_itself_is_near_and_one_bit_more_is_not(max_distance):
    neighbours = NearFingerprints(max_distance)
    neighbours.add(0, "zero")
    assert neighbours.nearest((1 << max_distance) - 1) == NearMatch("zero", max_distance)
    assert neighbours.nearest((1 << max_distance + 1) - 1) is None


def test_nothing_is_near_to_nothing():
    assert NearFingerprints(3).nearest(0) is None

"""Modified simhash against the worked values and against the paper's own loop."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh64_intdigest

from cleaning import digest, distance, fingerprint
from cleaning.fingerprint import fingerprint_terms, term_weights

GOLDEN = "a b c d a b a c a b d".split()
words = st.sampled_from("abcdefgh")
sequences = st.lists(words, max_size=40)


def papers_weights(sequence, one=Fraction(1)):
    """Return the weights by the loop of weighted.txt (TWC-PFM), positions from 1; `one=1.0` is quick, not exact."""
    positions = {}
    for position, term in enumerate(sequence, 1):
        positions.setdefault(term, []).append(position)
    weights = {}
    for term, own in positions.items():
        sums = [pair_sum(own, theirs, one) for other, theirs in positions.items() if other != term]
        weights[term] = (len(own) + sum(sums)) * one / len(positions)
    return weights


def pair_sum(first, second, one):
    """Walk two position lists with two pointers; a pair counts when neither term occurs between them."""
    total, i, j = 0, 0, 0
    while i < len(first) and j < len(second):
        following = first[i + 1] if i + 1 < len(first) else float("inf")
        if first[i] > second[j]:
            j += 1
        elif following < second[j]:
            i += 1
        else:
            total += one / (second[j] - first[i])
            i += 1
    return total


def papers_fingerprint(weights):
    sums = [0] * 64
    for term, weight in weights.items():
        hashed = xxh64_intdigest(term.encode())
        for bit in range(64):
            sums[bit] += weight if hashed >> bit & 1 else -weight
    return sum(1 << bit for bit in range(64) if sums[bit] > 0)


def as_floats(weights):
    return {term: pytest.approx(float(weight)) for term, weight in weights.items()}


def test_weights_of_the_worked_sequence():
    expected = {"a": 7 / 3, "b": 11 / 6, "c": 17 / 12, "d": 15 / 16}
    assert term_weights(GOLDEN) == {term: pytest.approx(weight, rel=1e-14) for term, weight in expected.items()}


def test_the_papers_loop_gives_the_worked_weights():
    assert papers_weights(GOLDEN) == {
        "a": Fraction(7, 3),
        "b": Fraction(11, 6),
        "c": Fraction(17, 12),
        "d": Fraction(15, 16),
    }


def test_hash_is_xxh64_with_seed_0():
    assert fingerprint_terms(["a"]) == xxh64_intdigest(b"a") == 0xD24EC4F1A98C6E5B


@pytest.mark.parametrize("weighting", ["modified", "plain"])
def test_fingerprint_of_the_worked_sequence(weighting):
    assert fingerprint_terms(GOLDEN, weighting=weighting) == 0xD24EC0F1888C5EDB


@given(sequences)
def test_weights_are_those_of_the_papers_loop(sequence):
    assert term_weights(sequence) == as_floats(papers_weights(sequence))


@given(st.integers(257, 900), st.sampled_from([1, 2, 5, 40, 400]), st.randoms(use_true_random=False))
def test_weights_of_long_sequences_are_those_of_the_papers_loop(length, unique, random):
    sequence = [str(int(unique * random.random())) for _ in range(length)]
    assert term_weights(sequence) == as_floats(papers_weights(sequence, one=1.0))


@given(sequences)
def test_fingerprint_is_that_of_the_papers_weights(sequence):
    assert fingerprint_terms(sequence) == papers_fingerprint(papers_weights(sequence))


@given(sequences)
def test_plain_fingerprint_weighs_by_frequency(sequence):
    frequencies = {term: sequence.count(term) for term in dict.fromkeys(sequence)}
    assert fingerprint_terms(sequence, weighting="plain") == papers_fingerprint(frequencies)


@given(st.text(st.characters()))
def test_any_text_has_a_64_bit_fingerprint(text):
    assert 0 <= fingerprint(text) < 1 << 64
    assert fingerprint(text) == fingerprint(text)


def test_20_000_words_have_a_fingerprint():
    assert fingerprint_terms([f"w{i * i % 3_001}" for i in range(20_000)]) > 0


@pytest.mark.parametrize("text", ["", "  ", "the and of", "!?"])
def test_text_without_terms_has_fingerprint_0(text):
    assert fingerprint(text) == 0
    assert term_weights([]) == {}


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

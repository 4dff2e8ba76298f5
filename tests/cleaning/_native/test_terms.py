"""Terms and fingerprints in C equal the pure ones, on any text and on saved pages."""

from itertools import product

import corpus
import pytest
from cpu_time import bounded_cpu_time
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cleaning import clean
from cleaning._native import load_compiled
from cleaning.fingerprint import WEIGHTINGS, fingerprint_terms, pure_fingerprint_terms
from cleaning.terms import pure_terms, stop_words, terms

pytestmark = pytest.mark.skipif(
    load_compiled("words") is None, reason="COMPILER: Blocksieve was installed without its compiled core"
)
# What the rules of the stemmer look for, and beginnings of every sort to put before it.
ENDINGS = (
    "sses ies ss s eed ed ing at bl iz y ational tional enci anci izer abli alli entli eli ousli ization ation ator "
    "alism iveness fulness ousness aliti iviti biliti icate ative alize iciti ical ful ness al ance ence er ic able "
    "ible ant ement ment ent sion tion ion ou ism ate iti ous ive ize e ll ee"
).split()
BEGINNINGS = [
    "",
    "b",
    "a",
    "y",
    "ay",
    "yy",
    "tr",
    "hop",
    "fizz",
    "fall",
    "oat",
    "troubl",
    "wax",
    "snow",
    "7",
    "_",
    "x'",
]
pieces = st.one_of(st.sampled_from(ENDINGS), st.sampled_from(BEGINNINGS), st.text("abeilnstyY'_1", max_size=3))
words = st.lists(pieces, min_size=1, max_size=6).map("".join)
texts = st.one_of(st.text(st.characters()), st.lists(st.one_of(words, st.text(max_size=4)), max_size=20).map(" ".join))
sequences = st.lists(st.one_of(st.sampled_from("abcdefgh"), words, st.text(st.characters(), max_size=3)), max_size=60)


@settings.get_profile("kernel")
@given(texts)
@example("DYING Skies's 42nd don\u2019t s ss \u212aelvin \u0130 \ud800 汉字 ﬁne")
def test_terms_of_any_text_are_the_pure_ones(text):
    assert terms(text) == pure_terms(text)


def test_every_short_word_and_every_ending_has_nltks_stem():
    short = ("".join(letters) for size in (1, 2, 3, 4) for letters in product("aebdinsty1'", repeat=size))
    text = " ".join(
        [*short, *(begin + middle + end for begin in BEGINNINGS for middle in BEGINNINGS for end in ENDINGS)]
    )
    assert terms(text) == pure_terms(text)
    assert len(set(terms(text))) > 10_000


def test_a_stop_word_is_one_only_as_a_whole_word():
    read = load_compiled("words").TermReader(["the", "don't"]).terms
    assert read("The don't there don the") == ["there", "don"]
    assert load_compiled("words").TermReader([]).terms("s") == [""]  # as NLTK: a last s goes


@settings.get_profile("kernel")
@given(sequences, st.sampled_from(WEIGHTINGS))
def test_fingerprint_of_any_sequence_is_the_pure_one(sequence, weighting):
    bits = fingerprint_terms(sequence, weighting=weighting)
    assert bits == pure_fingerprint_terms(sequence, weighting=weighting)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_sequences_as_long_as_the_core_takes_and_longer_have_the_pure_fingerprint(weighting, more):
    size = load_compiled("words").MAX_SEQUENCE + more
    sequence = [f"w{number * number % 311}" for number in range(size)]
    bits = fingerprint_terms(sequence, weighting=weighting)
    assert bits == pure_fingerprint_terms(sequence, weighting=weighting)


def test_a_longer_sequence_and_what_is_no_text_are_refused():
    words_ = load_compiled("words")
    with pytest.raises(ValueError, match="at most"):
        words_.fingerprint_terms(["a"] * (words_.MAX_SEQUENCE + 1), "modified")
    with pytest.raises(TypeError):
        words_.fingerprint_terms([b"a"], "modified")
    with pytest.raises(TypeError):
        words_.fingerprint_terms(["a", None], "modified")
    with pytest.raises(TypeError):
        words_.fingerprint_terms(["a"], None)
    with pytest.raises(TypeError):
        words_.TermReader(stop_words()).terms(None)


@pytest.mark.parametrize("name", ["wcxb-dev", "fundus-dev", "magic-dev"])
def test_blocks_of_saved_pages_have_the_pure_terms_and_fingerprints(data, name):
    for sample in corpus.pin(corpus.read_samples(name), 20):
        for decision in clean(sample.body, sample.url).decisions:
            sequence = terms(decision.block.text)
            assert sequence == pure_terms(decision.block.text)
            assert fingerprint_terms(sequence) == pure_fingerprint_terms(sequence, weighting="modified")


@pytest.mark.parametrize("word", ["y" * 1_000_000, "ing" * 300_000, "1" * 1_000_000])
def test_a_very_long_word_takes_a_bounded_time(word):
    with bounded_cpu_time():
        assert len(terms(word)) == 1

"""Signatures estimate the Jaccard similarity, and equal bands are as likely as the formula says."""

import math

import numpy as np
import pytest

from cleaning.terms import tokenise
from crawler.batch.duplicates.minhash import MinHashRules


def text_of(words):
    return " ".join(f"w{number}" for number in words)


def jaccard(text, other, length=5):
    one_side, other_side = (
        {tuple(words[place : place + length]) for place in range(len(words) - length + 1)}
        for words in (tokenise(text), tokenise(other))
    )
    return len(one_side & other_side) / len(one_side | other_side)


@pytest.mark.parametrize("edits", [2, 10, 40])
def test_the_share_of_equal_values_is_the_similarity(edits):
    rules = MinHashRules(bands=64, hashes=16)
    random = np.random.default_rng(edits)
    words = random.integers(0, 50_000, 2_000)
    edited = words.copy()
    edited[random.integers(0, len(words), edits)] += 100_000
    texts = text_of(words), text_of(edited)
    share = float((rules.signature(texts[0]) == rules.signature(texts[1])).mean())
    similarity = jaccard(*texts)
    # Four standard errors of a share of 1,024 values.
    assert abs(share - similarity) < 4 * math.sqrt(similarity * (1 - similarity) / 1_024)


def test_pairs_are_found_as_often_as_the_formula_says():
    rules = MinHashRules()
    count, similarities, matches = 400, [], 0
    for seed in range(count):
        random = np.random.default_rng(seed)
        words = random.integers(0, 50_000, 200)
        edited = words.copy()
        edited[random.choice(200, 8, replace=False)] += 100_000
        texts = text_of(words), text_of(edited)
        similarities.append(jaccard(*texts))
        matches += bool((rules.bands_of(texts[0]) == rules.bands_of(texts[1])).any())
    expected = sum(map(rules.find_probability, similarities))
    assert abs(matches - expected) < 4 * math.sqrt(count) / 2
    assert 0.3 < expected / count < 0.9


@pytest.mark.parametrize(
    ("form", "text", "is_short"),
    [
        ("14x8x5w", "one two three four", True),
        ("14x8x5w", "one two three four five", False),
        ("20x13x24c", "twenty-three characters", True),
        ("20x13x24c", "twenty-four characters !", False),
        ("14x8x5w", "", True),
        ("14x8x5w", "日本語の文章です。", False),
    ],
)
def test_a_text_shorter_than_an_ngram_has_no_bands(form, text, is_short):
    rules = MinHashRules.read(form)
    assert str(rules) == form
    assert len(rules.bands_of(text)) == (0 if is_short else rules.bands)


def test_case_and_punctuation_make_no_other_text():
    rules = MinHashRules()
    assert (rules.bands_of("The old mill, by the river.") == rules.bands_of("the OLD mill by the river")).all()


def test_a_long_text_is_read_in_pieces(monkeypatch):
    rules = MinHashRules()
    text = text_of(range(3_000))
    whole = rules.signature(text)
    monkeypatch.setattr("crawler.batch.duplicates.minhash._VALUES_AT_ONCE", 1_000)
    assert (rules.signature(text) == whole).all()


@pytest.mark.parametrize("form", ["", "14x8", "0x8x5w", "14x8x5", "14x8x0w", "100x100x5w", "14 x 8 x 5w", "-1x8x5w"])
def test_another_form_is_refused(form):
    with pytest.raises(ValueError, match="has not the form BANDSxHASHESxLENGTH"):
        MinHashRules.read(form)

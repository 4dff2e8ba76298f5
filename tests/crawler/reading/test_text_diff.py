"""The difference of two texts, word by word."""

import random

from cpu_time import bounded_cpu_time
from hypothesis import given
from hypothesis import strategies as st

from crawler.reading.text_diff import _DIFF_MAX_WORDS, DiffOperation, DiffPart, count_words, dice_similarity, diff_words

TEXTS = st.lists(st.sampled_from("abcd"), max_size=30).map(" ".join)


def test_replaced_added_and_removed_words_are_distinguished():
    assert diff_words("it costs 10 dollars today", "it now costs 20 dollars") == [
        DiffPart(DiffOperation.SAME, "it"),
        DiffPart(DiffOperation.ADDED, "now"),
        DiffPart(DiffOperation.SAME, "costs"),
        DiffPart(DiffOperation.REMOVED, "10"),
        DiffPart(DiffOperation.ADDED, "20"),
        DiffPart(DiffOperation.SAME, "dollars"),
        DiffPart(DiffOperation.REMOVED, "today"),
    ]


def test_empty_texts_do_not_differ():
    assert diff_words("", " ") == []


@given(TEXTS, TEXTS)
def test_both_texts_can_be_restored_from_the_difference(old, new):
    parts = diff_words(old, new)
    assert " ".join(part.text for part in parts if part.change is not DiffOperation.ADDED) == old
    assert " ".join(part.text for part in parts if part.change is not DiffOperation.REMOVED) == new


def test_long_texts_are_compared_up_to_a_limit():
    (same,) = diff_words("word " * 5_000, "word " * 6_000)
    assert len(same.text.split()) == _DIFF_MAX_WORDS


def test_repetitive_texts_are_fast():
    rng = random.Random(1)
    with bounded_cpu_time():
        for old, new in (
            ("x " * _DIFF_MAX_WORDS, "x y " * _DIFF_MAX_WORDS),
            *[[" ".join(rng.choices("ab", k=1_000))] * 2] * 2,
        ):
            diff_words(old, new)
        diff_words("x " * 199, "x y " * 99)


def test_scripts_without_spaces_differ_by_character():
    assert diff_words("渡船今天出发 now", "渡船明天出发 now") == [
        DiffPart(DiffOperation.SAME, "渡船"),
        DiffPart(DiffOperation.REMOVED, "今"),
        DiffPart(DiffOperation.ADDED, "明"),
        DiffPart(DiffOperation.SAME, "天出发 now"),
    ]


def test_dice_similarity_is_the_share_of_common_words():
    assert dice_similarity(count_words("one two three four"), count_words("one two three five")) == 0.75
    assert dice_similarity(count_words(""), count_words(" ")) == 0.0

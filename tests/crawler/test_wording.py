"""Two texts, word by word."""

import random
import time

from hypothesis import given
from hypothesis import strategies as st

from crawler.wording import MOST_WORDS, Change, Words, differences, likeness, words

TEXTS = st.lists(st.sampled_from("abcd"), max_size=30).map(" ".join)


def test_replaced_added_and_removed_words_are_told_apart():
    assert differences("it costs 10 dollars today", "it now costs 20 dollars") == [
        Words(Change.SAME, "it"),
        Words(Change.ADDED, "now"),
        Words(Change.SAME, "costs"),
        Words(Change.REMOVED, "10"),
        Words(Change.ADDED, "20"),
        Words(Change.SAME, "dollars"),
        Words(Change.REMOVED, "today"),
    ]


def test_empty_texts_do_not_differ():
    assert differences("", " ") == []


@given(TEXTS, TEXTS)
def test_both_texts_can_be_read_from_the_differences(old, new):
    found = differences(old, new)
    assert " ".join(one.text for one in found if one.change is not Change.ADDED) == old
    assert " ".join(one.text for one in found if one.change is not Change.REMOVED) == new


def test_long_texts_are_compared_up_to_a_bound():
    (same,) = differences("word " * 5_000, "word " * 6_000)
    assert len(same.text.split()) == MOST_WORDS


def test_repetitive_texts_take_no_long():
    rng = random.Random(1)
    start = time.process_time()
    for old, new in (("x " * MOST_WORDS, "x y " * MOST_WORDS), *[[" ".join(rng.choices("ab", k=1_000))] * 2] * 2):
        differences(old, new)
    differences("x " * 199, "x y " * 99)
    assert time.process_time() - start < 5


def test_scripts_without_spaces_differ_by_character():
    assert differences("渡船今天出发 now", "渡船明天出发 now") == [
        Words(Change.SAME, "渡船"),
        Words(Change.REMOVED, "今"),
        Words(Change.ADDED, "明"),
        Words(Change.SAME, "天出发 now"),
    ]


def test_likeness_is_the_share_of_common_words():
    assert likeness(words("one two three four"), words("one two three five")) == 0.75
    assert likeness(words(""), words(" ")) == 0.0

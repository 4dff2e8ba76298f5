"""Which responses of a host project are pages."""

import pytest

from cleaning.blocks import Metadata, PageType
from cleaning.structure.clean_page import CleanPage
from crawler.cleaning_middleware import PageRule


def cleaned(kind, confidence=0.9):
    return CleanPage("https://a.example/", "default", None, Metadata(), (), type=kind, confidence=confidence)


def test_a_pattern_is_found_anywhere_in_the_url():
    rule = PageRule.of([r"/story/\d+$", "essay"], [])
    assert rule.takes_url("https://a.example/story/12")
    assert rule.takes_url("https://essay.example/")
    assert not rule.takes_url("https://a.example/story/12/comments")


def test_patterns_alone_ask_for_no_type():
    assert not PageRule.of(["a"], []).types


def test_nothing_at_all_asks_for_articles():
    rule = PageRule.of([], [])
    assert rule.takes_type(cleaned(PageType.ARTICLE))
    assert not rule.takes_type(cleaned(PageType.LISTING))
    assert not rule.takes_url("https://a.example/")


def test_a_page_whose_type_nobody_can_tell_is_of_none():
    rule = PageRule.of([], ["article"])
    assert not rule.takes_type(None)
    assert not rule.takes_type(cleaned(None, None))


def test_the_least_confidence_is_enough():
    rule = PageRule.of([], ["forum"])
    assert rule.takes_type(cleaned(PageType.FORUM, 0.5))
    assert not rule.takes_type(cleaned(PageType.FORUM, 0.49))


def test_a_url_longer_than_2000_characters_is_not_searched():
    rule = PageRule.of(["^https://a"], [])
    assert rule.takes_url("https://a" + "b" * 1_991)
    assert not rule.takes_url("https://a" + "b" * 1_992)


@pytest.mark.parametrize(
    ("patterns", "says"),
    [(["["], "not a regular expression"), (["a" * 501], "501 characters"), (["a"] * 101, "101 regular expressions")],
)
def test_patterns_that_cannot_be_are_refused(patterns, says):
    with pytest.raises(ValueError, match=says):
        PageRule.of(patterns, [])

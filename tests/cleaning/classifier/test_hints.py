"""Hints: what tags and the words of class, id and role say of an element."""

import tomllib
from importlib import resources

import pytest

from cleaning import Reason
from cleaning.classifier.decide import Hint, read_hint


@pytest.mark.parametrize(
    ("tag", "signs", "reason"),
    [
        ("nav", "", Reason.NAVIGATION),
        ("ul", "breadcrumb", Reason.NAVIGATION),
        ("footer", "", Reason.FOOTER),
        ("div", "contentinfo", Reason.FOOTER),
        ("div", "cookie-banner", Reason.OVERLAY),
        ("button", "", Reason.FORM),
        ("div", "box ad-300", Reason.ADVERTISEMENT),
        ("section", "RELATED", Reason.RELATED),
        ("div", "share_tools", Reason.SOCIAL),
        ("div", "comments", Reason.COMMENT),
        ("p", "byline", Reason.BYLINE),
        ("figcaption", "", Reason.CAPTION),
        ("aside", "", Reason.ASIDE),
        ("p", "visually-hidden", Reason.HIDDEN),
        ("div", "role dialog", Reason.OVERLAY),
        ("blockquote", "twitter-tweet", Reason.SOCIAL),
        ("li", "customer-review", Reason.COMMENT),
        ("div", "wp-caption", Reason.CAPTION),
    ],
)
def test_tag_or_word_names_the_reason(tag, signs, reason):
    assert read_hint(tag, signs).reason is reason


@pytest.mark.parametrize("word", ["header", "read", "shadow", "download", "canvas", "uncommented", "adverb", "", "12"])
def test_part_of_a_word_says_nothing(word):
    assert read_hint("div", word) is None


@pytest.mark.parametrize("signs", ["cookie-consent", "cookie_consent", "page Cookie Consent"])
def test_two_words_side_by_side_may_say_more_than_each(signs):
    assert read_hint("div", signs).reason is Reason.OVERLAY
    assert read_hint("div", signs).most > read_hint("div", "consent").most > read_hint("div", "cookie").most


def test_word_that_leaves_doubt_overrules_nothing():
    assert read_hint("div", "cookie") == Hint(Reason.OVERLAY, 0)


def test_surest_word_counts_and_of_equals_the_first():
    assert read_hint("div", "comment footer disqus").reason is Reason.COMMENT
    assert read_hint("div", "share colophon").reason is Reason.FOOTER
    assert read_hint("div", "main share footer") == Hint(Reason.SOCIAL, 0)
    assert read_hint("nav", "colophon").reason is Reason.NAVIGATION


def test_word_that_is_a_tags_name_is_not_the_tag():
    assert read_hint("div", "aside") is None
    assert read_hint("div", "nav") == Hint(Reason.NAVIGATION, 0)
    assert read_hint("nav", "").most > 0


def test_every_table_is_a_reason_and_no_word_stands_twice():
    tables = tomllib.loads(resources.files("cleaning").joinpath("data", "hints.toml").read_text("utf-8"))
    words = [word for levels in tables.values() for text in levels.values() for word in text.split()]
    assert set(tables) <= set(Reason)
    assert {level for levels in tables.values() for level in levels} == {"certain", "sure", "likely"}
    assert len(words) == len(set(words))

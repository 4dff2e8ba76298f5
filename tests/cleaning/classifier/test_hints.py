"""Hints: which tag or word gives which reason, and the hints around each element."""

import tomllib
from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning import Reason, parse
from cleaning.classifier.hints import (
    HINT_LEVELS,
    HINT_REASONS,
    Hint,
    Hints,
    count_alike,
    read_hint,
    read_page_hints,
    spread_hints,
)
from cleaning.leaf_table import read_leaf_table


@pytest.mark.parametrize(
    ("tag", "tokens", "reason"),
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
def test_tag_or_word_names_the_reason(tag, tokens, reason):
    assert read_hint(tag, tokens).reason is reason


@pytest.mark.parametrize("word", ["header", "read", "shadow", "download", "canvas", "uncommented", "adverb", "", "12"])
def test_part_of_a_word_gives_no_hint(word):
    assert read_hint("div", word) is None


@pytest.mark.parametrize("tokens", ["cookie-consent", "cookie_consent", "page Cookie Consent"])
def test_two_adjacent_words_can_be_surer_than_each(tokens):
    assert read_hint("div", tokens).reason is Reason.OVERLAY
    assert read_hint("div", tokens).level > read_hint("div", "consent").level > read_hint("div", "cookie").level


def test_surest_word_counts_and_of_equals_the_first():
    assert read_hint("div", "comment footer disqus").reason is Reason.COMMENT
    assert read_hint("div", "share colophon").reason is Reason.FOOTER
    assert read_hint("div", "main share footer") == Hint.of(Reason.SOCIAL, 1)
    assert read_hint("nav", "colophon").reason is Reason.NAVIGATION


def test_word_that_is_a_tags_name_is_not_the_tag():
    assert read_hint("div", "aside") is None
    assert read_hint("div", "nav") == Hint.of(Reason.NAVIGATION, 1)
    assert read_hint("nav", "").level == 2


def test_every_table_is_a_reason_and_words_are_unique():
    tables = tomllib.loads(resources.files("cleaning").joinpath("data", "hints.toml").read_text("utf-8"))
    words = [word for levels in tables.values() for text in levels.values() for word in text.split()]
    assert set(tables) == {*HINT_REASONS}
    assert {level for levels in tables.values() for level in levels} == {*HINT_LEVELS}
    assert len(words) == len(set(words))


def hints_of(rows):
    """Return the hints of elements, given by their numbers."""
    columns = [(number, hint.code, hint.level, hint.entries) for number, hint in rows.items()]
    return Hints(*np.array(columns, np.int32).reshape(-1, 4).T)


def test_hints_of_a_page_are_those_of_its_elements_and_of_the_labels_of_its_blocks():
    source = "<nav>a</nav><p>b</p><p><b class=byline>c</b> d</p>"
    table = read_leaf_table(parse(source).root)
    hints = read_page_hints(table)
    assert [table.tags[number] for number in hints.elements.numbers] == ["nav"]
    assert hints.elements.reasons == [Reason.NAVIGATION]
    assert [column.tolist() for column in hints.inlines] == [[2], [HINT_REASONS.index(Reason.BYLINE)], [2], [1]]


@given(st.lists(st.tuples(st.integers(0, 30), st.none() | st.tuples(st.sampled_from(HINT_REASONS), st.integers(1, 3)))))
def test_hints_around_an_element_are_its_own_and_those_of_the_elements_around_it(rows):
    parent = np.array([-1 if not number else back % number for number, (back, _) in enumerate(rows)], np.int32)
    hints = {number: Hint.of(*hint) for number, (_, hint) in enumerate(rows) if hint}
    around = spread_hints(parent, hints_of(hints))
    for number in range(len(rows)):
        chain = [number]
        while parent[chain[-1]] >= 0:
            chain.append(int(parent[chain[-1]]))
        known = [(hints[outer].level, -outer) for outer in chain if outer in hints]
        assert around.surest[number] == (-max(known)[1] if known else -1)
        for code, reason in enumerate(HINT_REASONS):
            levels = [hints[outer].level for outer in chain if outer in hints and hints[outer].reason is reason]
            assert around.levels[number, code] == max(levels, default=0)


def test_entries_are_the_different_words_and_pairs_that_give_the_surest_reason():
    assert read_hint("div", "comment").entries == 1
    assert read_hint("div", "comment comment").entries == 1
    assert read_hint("div", "consent-overlay cookie-consent dialog footer").entries == 6
    assert read_hint("dialog", "consent").entries == 2


def test_elements_with_the_same_reason_inside_are_counted():
    inner = "<p class=cookie>b</p><p class=share>c</p>"
    source = f"<div class=consent>a{inner}</div><p class=cookie>d</p>"
    table = read_leaf_table(parse(source).root)
    hints = read_page_hints(table).elements
    counts = count_alike(table, hints)
    assert counts[hints.numbers].tolist() == [1, 0, 0, 0]

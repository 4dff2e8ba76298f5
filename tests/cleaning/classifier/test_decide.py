"""Decisions: the best choice by expected F-beta, the hints, and the reasons of dropped blocks."""

import tomllib
from importlib import resources
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cleaning import PageType, Reason, parse
from cleaning.classifier.decide import _MIN_EXPECTED_F1 as LEAST_EXPECTED
from cleaning.classifier.decide import Hint, _HintedElement, _spread, choose_blocks, decide, read_hint
from cleaning.classifier.model import Prediction
from cleaning.leaf_table import read_leaf_table
from cleaning.options import Options

PROSE = "<p>The quick brown fox jumps over the lazy dog, and the cat on the warm stove looks at it.</p>"
OTHERS = [PROSE.replace("fox", beast) for beast in ("hare", "wolf")]
THREE = PROSE + "".join(OTHERS)
chances = st.floats(0, 1).map(lambda value: round(value, 3))


def expected(chosen, scores, weights, beta):
    """Return the ratio of expectations that the choice is to make best."""
    right, kept = (scores * weights)[chosen].sum(), weights[chosen].sum()
    return (1 + beta**2) * right / (kept + beta**2 * (scores * weights).sum() + 1e-9)


@given(
    st.lists(st.tuples(chances, st.integers(1, 60)), min_size=1, max_size=8),
    st.sampled_from([0.5, 1.0, 2.0]),
)
def test_no_choice_of_blocks_is_better(blocks, beta):
    scores, weights = np.array([score for score, _ in blocks]), np.array([float(weight) for _, weight in blocks])
    choices = [np.array(bits, bool) for bits in product([0, 1], repeat=len(blocks))]
    chosen = choose_blocks(scores, weights, beta)
    if max(expected(choice, scores, weights, 1) for choice in choices) < LEAST_EXPECTED:
        assert not chosen.any()
    else:
        best = max(expected(choice, scores, weights, beta) for choice in choices)
        assert expected(chosen, scores, weights, beta) >= best - 1e-9


@given(st.lists(st.tuples(chances, st.integers(1, 60)), min_size=1, max_size=30))
@example([(1.0, 1), *[(0.1, 10)] * 10])
def test_favouring_recall_keeps_all_blocks_that_others_keep(blocks):
    scores, weights = np.array([score for score, _ in blocks]), np.array([float(weight) for _, weight in blocks])
    precise, balanced, complete = (choose_blocks(scores, weights, beta) for beta in (0.5, 1.0, 2.0))
    assert (precise <= balanced).all()
    assert (balanced <= complete).all()


def test_sure_pages_have_a_threshold_near_one_half_and_doubtful_ones_a_lower():
    assert choose_blocks(np.array([1.0, 1.0, 1.0, 0.51, 0.4]), np.ones(5), 1.0).tolist() == [True] * 4 + [False]
    assert choose_blocks(np.array([0.4, 0.3, 0.3]), np.ones(3), 1.0).all()


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([None, "a", "b"])), min_size=1, max_size=20))
def test_blocks_have_the_reason_of_the_outermost_element(rows):
    """Each element has a block of its own and closes some of the elements that are open before it."""
    around, inside, reasons = [], [], [reason for _, reason in rows]
    for number, (closed, _) in enumerate(rows):
        around = [*around[: max(0, len(around) - closed)], number]
        inside.append(around)
    last = [max(block for block, all_ in enumerate(inside) if number in all_) + 1 for number in range(len(rows))]
    elements = [_HintedElement(Hint(Reason.ASIDE, 1), number, end, 0.5) for number, end in enumerate(last)]
    expected = [next((reasons[number] for number in all_ if reasons[number]), None) for all_ in inside]
    assert _spread(len(rows), elements, reasons) == expected


def decided(source, scores, page_type=PageType.ARTICLE, **options):
    """Return the reasons in reading order."""
    found = read_leaf_table(parse(source).root)
    decisions = decide(found, Prediction(np.array(scores, np.float64), page_type, 1.0), Options.read(options))
    assert [decision.block for decision in decisions] == found.blocks  # in = out
    assert [decision.score for decision in decisions] == scores
    return [decision.reason for decision in decisions]


def test_dropped_blocks_have_the_reason_of_the_hint_around_them():
    source = f'<nav>a b</nav><main>{PROSE}</main><div class="related"><p>c</p></div><span class="byline">d</span>'
    assert decided(source, [0.0, 1.0, 0.0, 0.0]) == [Reason.NAVIGATION, Reason.KEPT, Reason.RELATED, Reason.BYLINE]


def test_hint_around_kept_blocks_has_no_effect():
    source = f'<div class="related">{PROSE}<p>no more foxes here today, or any other day</p></div>'
    assert decided(source, [1.0, 0.0]) == [Reason.KEPT, Reason.OUTSIDE]


def test_page_of_which_little_is_expected_keeps_nothing():
    assert set(decided("<p>Loading</p><p>Please wait</p>", [0.1, 0.05])) == {Reason.OUTSIDE}


def test_sure_hint_overrules_the_score():
    source = f'{THREE}<div class="cookie-consent"><p>We like cookies of all sorts and hope you do too.</p></div>'
    assert decided(source, [0.9, 0.9, 0.9, 1.0]) == [Reason.KEPT] * 3 + [Reason.OVERLAY]


def test_sure_hint_around_most_of_the_prose_has_no_effect():
    assert decided(f"<aside>{PROSE}{OTHERS[0]}</aside>{OTHERS[1]}", [1.0, 1.0, 0.0]) == [Reason.KEPT] * 2 + [
        Reason.OUTSIDE
    ]


def test_form_gives_the_reason_without_a_hint():
    link = '<p><a href="/">one two three four five six seven</a></p>'
    long = "<p>one two three four five six seven</p>"
    source = f"{long}{PROSE}{link}<p>one</p>{long}{OTHERS[0]}{link}"
    assert decided(source, [0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]) == [
        Reason.OUTSIDE,
        Reason.KEPT,
        Reason.LINKS,
        Reason.SHORT,
        Reason.LOW_SCORE,
        Reason.KEPT,
        Reason.LINKS,
    ]


def test_comments_with_most_of_the_main_text_are_a_discussion():
    thread = "".join(f'<div class="comment">{each}</div>' for each in OTHERS)
    assert decided(PROSE + thread, [0.1, 0.9, 0.8]) == [Reason.OUTSIDE, Reason.KEPT, Reason.KEPT]
    assert decided(PROSE + thread, [0.9, 0.3, 0.3]) == [Reason.KEPT, Reason.COMMENT, Reason.COMMENT]


def test_option_comments_keeps_comments_with_content():
    source = f'{PROSE}<div id="comments"><p>I like foxes more than dogs, always.</p><p>Reply</p></div>'
    assert decided(source, [1.0, 0.0, 0.0]) == [Reason.KEPT, Reason.COMMENT, Reason.COMMENT]
    assert decided(source, [1.0, 0.0, 0.0], comments=True) == [Reason.KEPT, Reason.KEPT, Reason.COMMENT]


@pytest.mark.parametrize(("favour", "kept"), [("precision", 1), ("balanced", 2), ("recall", 3)])
def test_favour_moves_the_threshold(favour, kept):
    reasons = decided(THREE, [0.99, 0.6, 0.25], favour=favour)
    assert reasons.count(Reason.KEPT) == kept


def test_repeated_text_is_kept_once():
    source = f"{PROSE}{OTHERS[0]}<section>{PROSE}</section><div class='related'>{PROSE}</div>"
    assert decided(source, [0.9, 0.9, 0.9, 0.8]) == [Reason.KEPT] * 2 + [Reason.PAGE_DUPLICATE] * 2
    assert decided(source, [0.0, 0.9, 0.9, 0.0]) == [Reason.OUTSIDE, Reason.KEPT, Reason.KEPT, Reason.RELATED]


def test_refrain_is_kept_each_time():
    song = f"<div>{PROSE}{OTHERS[0]}{PROSE}{OTHERS[1]}{PROSE}</div>"
    assert decided(song, [0.9] * 5) == [Reason.KEPT] * 5


def test_short_texts_cells_and_code_may_repeat():
    row = "<table><tr><td>as long as the others</td></tr></table>"
    repeating = f"<div>{PROSE}<p>Very good</p>{row}<pre>import all of it</pre></div>"
    assert decided(repeating * 2, [1.0] * 8) == [Reason.KEPT] * 4 + [Reason.PAGE_DUPLICATE] + [Reason.KEPT] * 3


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
    assert (
        read_hint("div", tokens).max_share
        > read_hint("div", "consent").max_share
        > read_hint("div", "cookie").max_share
    )


def test_doubtful_word_overrules_nothing():
    assert read_hint("div", "cookie") == Hint(Reason.OVERLAY, 0)


def test_surest_word_counts_and_of_equals_the_first():
    assert read_hint("div", "comment footer disqus").reason is Reason.COMMENT
    assert read_hint("div", "share colophon").reason is Reason.FOOTER
    assert read_hint("div", "main share footer") == Hint(Reason.SOCIAL, 0)
    assert read_hint("nav", "colophon").reason is Reason.NAVIGATION


def test_word_that_is_a_tags_name_is_not_the_tag():
    assert read_hint("div", "aside") is None
    assert read_hint("div", "nav") == Hint(Reason.NAVIGATION, 0)
    assert read_hint("nav", "").max_share > 0


def test_every_table_is_a_reason_and_words_are_unique():
    tables = tomllib.loads(resources.files("cleaning").joinpath("data", "hints.toml").read_text("utf-8"))
    words = [word for levels in tables.values() for text in levels.values() for word in text.split()]
    assert set(tables) <= set(Reason)
    assert {level for levels in tables.values() for level in levels} == {"certain", "sure", "likely"}
    assert len(words) == len(set(words))

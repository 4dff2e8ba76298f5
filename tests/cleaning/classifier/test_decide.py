"""Decisions: the best choice by expected F-beta, the hints, and the reasons of dropped blocks."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cleaning import PageType, Reason, parse
from cleaning.classifier.decide import _MIN_EXPECTED_F1 as LEAST_EXPECTED
from cleaning.classifier.decide import _spread, choose_blocks, decide
from cleaning.classifier.hints import hint_table
from cleaning.classifier.model import Prediction
from cleaning.leaf_table import read_leaf_table
from cleaning.options import Options

PROSE = "<p>The quick brown fox jumps over the lazy dog, and the cat on the warm stove looks at it.</p>"
OTHERS = [PROSE.replace("fox", beast) for beast in ("hare", "wolf")]
THREE = PROSE + "".join(OTHERS)
chances = st.floats(0, 1).map(lambda value: round(value, 3))


def expected(chosen, scores, weights, beta):
    """Return the ratio of expectations that the choice is to make best."""
    right = (scores * weights)[chosen].sum()
    kept = weights[chosen].sum()
    return (1 + beta**2) * right / (kept + beta**2 * (scores * weights).sum() + 1e-9)


@given(
    st.lists(st.tuples(chances, st.integers(1, 60)), min_size=1, max_size=8),
    st.sampled_from([0.5, 1.0, 2.0]),
)
def test_no_choice_of_blocks_is_better(blocks, beta):
    scores = np.array([score for score, _ in blocks])
    weights = np.array([float(weight) for _, weight in blocks])
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
    scores = np.array([score for score, _ in blocks])
    weights = np.array([float(weight) for _, weight in blocks])
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
    spans = [(reason, number, last[number]) for number, reason in enumerate(reasons) if reason is not None]
    expected = [next((reasons[number] for number in all_ if reasons[number]), None) for all_ in inside]
    assert _spread(len(rows), spans) == expected


def decided(source, scores, page_type=PageType.ARTICLE, **options):
    """Return the reasons in reading order."""
    table = read_leaf_table(parse(source).root)
    decisions = decide(table, Prediction(np.array(scores, np.float64), page_type, 1.0), Options.read(options))
    assert [decision.block for decision in decisions] == table.blocks  # in = out
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


def test_hint_around_mostly_dropped_blocks_names_their_reason():
    source = f'<div class="related">{PROSE}<p>{"no more foxes here today, or any other day " * 3}</p></div>'
    assert decided(source, [1.0, 0.0]) == [Reason.KEPT, Reason.RELATED]


@pytest.mark.parametrize("word", sorted(hint_table()))
def test_hint_never_drops_what_the_scores_keep(word):
    tag = word.strip("<>") if word.startswith("<") else "div"
    source = f"{THREE}<{tag} class='{word}'>{PROSE.replace('fox', 'bear')}</{tag}>"
    assert decided(source, [0.9, 0.9, 0.9, 1.0]) == [Reason.KEPT] * 4
    dropped = hint_table()[word].reason
    if tag == "div":
        assert decided(source, [0.9, 0.9, 0.9, 0.0]) == [Reason.KEPT] * 3 + [dropped]


def test_hint_of_a_label_never_drops_its_text():
    labelled = PROSE.replace("<p>", "<p><span class='visually-hidden'>Quote:</span> ")
    reasons = decided(labelled + "".join(OTHERS), [0.9, 0.9, 0.9])
    assert reasons == [Reason.KEPT] * 3


@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ([0.9, 0.3, 0.9], [True, True, True]),
        ([0.9, 0.2, 0.9], [True, False, True]),  # too low
        ([0.9, 0.3, 0.1], [True, False, False]),  # at the end of the main text
        ([0.1, 0.3, 0.9], [False, False, True]),  # at its beginning
    ],
)
def test_code_between_kept_texts_is_kept(scores, kept):
    reasons = decided(f"{OTHERS[0]}<pre>wait --minutes 2</pre>{OTHERS[1]}", scores)
    assert [reason is Reason.KEPT for reason in reasons] == kept


def test_other_text_between_kept_texts_is_kept_by_its_score_alone():
    reasons = decided(f"{OTHERS[0]}<p>wait --minutes 2</p>{OTHERS[1]}", [0.9, 0.3, 0.9])
    assert reasons[1] is not Reason.KEPT


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


def test_sure_hint_names_the_reason_before_an_outer_likely_one():
    source = f'{THREE}<div class="promo"><nav>a b</nav><p>c</p></div>'
    assert decided(source, [1.0, 1.0, 1.0, 0.0, 0.0])[3:] == [Reason.NAVIGATION, Reason.ADVERTISEMENT]


def test_option_comments_keeps_comments_with_content():
    source = f'{PROSE}<div id="comments"><p>I like foxes more than dogs, always.</p><p>Reply</p></div>'
    assert decided(source, [1.0, 0.0, 0.0]) == [Reason.KEPT, Reason.COMMENT, Reason.COMMENT]
    assert decided(source, [1.0, 0.0, 0.0], comments=True) == [Reason.KEPT, Reason.KEPT, Reason.COMMENT]


@pytest.mark.parametrize(("favour", "kept"), [("precision", 1), ("balanced", 2), ("recall", 3)])
def test_favour_moves_the_threshold(favour, kept):
    reasons = decided(THREE, [0.99, 0.6, 0.25], favour=favour)
    assert reasons.count(Reason.KEPT) == kept


LONG = "no more foxes here today, or any other day, said the hare"


def test_list_of_which_most_is_kept_keeps_its_other_items():
    items = f"<ul><li>{LONG} one</li><li>{LONG} two</li><li>{LONG} three</li></ul>"
    assert decided(PROSE + items, [0.9, 0.3, 0.9, 0.9]) == [Reason.KEPT] * 4
    assert decided(PROSE + items, [0.9, 0.1, 0.9, 0.9])[1] is Reason.LOW_SCORE
    assert decided(PROSE + items, [0.9, 0.3, 0.2, 0.9])[1:3] == [Reason.LOW_SCORE] * 2


def test_table_of_short_cells_between_kept_texts_is_kept_whole():
    hours = "<table><tr><td>Mon</td><td>9-17</td></tr><tr><td>Tue</td><td>9-12</td></tr></table>"
    assert decided(OTHERS[0] + hours + OTHERS[1], [0.9, 0.2, 0.2, 0.3, 0.2, 0.9]) == [Reason.KEPT] * 6
    assert decided(OTHERS[0] + hours + OTHERS[1], [0.9, 0.1, 0.1, 0.1, 0.1, 0.9])[1:5] == [Reason.SHORT] * 4
    assert decided(OTHERS[0] + hours + OTHERS[1], [0.9, 0.2, 0.2, 0.3, 0.2, 0.0])[1:5] == [Reason.OUTSIDE] * 4


@pytest.mark.parametrize(
    "opened",
    [
        "<div><button>{}</button><div>{}</div></div>",
        "<details><summary>{}</summary>{}</details>",
        "<section><label>{}</label>{}</section>",
        '<article><header><h2><a href="/">{}</a></h2></header>{}</article>',
        "<x-panel><button>{}</button>{}</x-panel>",
        "<dl><dt>{}</dt><dd>{}</dd></dl>",
    ],
)
def test_openers_of_kept_texts_are_kept(opened):
    source = "".join(opened.format(f"Why foxes {number}", text) for number, text in enumerate(OTHERS))
    assert decided(source, [0.2, 0.9, 0.2, 0.9]) == [Reason.KEPT] * 4
    alone = opened.format("Why foxes", PROSE) + OTHERS[0]
    assert decided(alone, [0.2, 0.9, 0.9])[0] is not Reason.KEPT
    assert decided(source, [0.05, 0.9, 0.2, 0.9])[0] is not Reason.KEPT


def test_subheading_above_a_kept_text_is_kept_below_another_one():
    source = f"<h1>Foxes</h1>{PROSE}<h2>And hares</h2>{OTHERS[0]}"
    assert decided(source, [0.3, 0.9, 0.3, 0.9]) == [Reason.OUTSIDE, Reason.KEPT, Reason.KEPT, Reason.KEPT]
    assert decided(source, [0.3, 0.9, 0.2, 0.9])[2] is Reason.SHORT
    assert decided(source, [0.3, 0.9, 0.3, 0.1])[2] is Reason.OUTSIDE


def test_page_of_which_nothing_is_likely_has_no_text():
    menu = "<ul><li><a href='/'>Home</a></li></ul>"
    assert decided(menu + PROSE, [0.01, 0.29]) == [Reason.LINKS, Reason.KEPT]
    assert decided(menu + PROSE, [0.01, 0.09]) == [Reason.LINKS, Reason.OUTSIDE]


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

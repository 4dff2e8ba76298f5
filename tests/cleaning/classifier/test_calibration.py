"""Calibration: hints on small parts of a page lower doubtful scores, by as much as the data say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning import parse
from cleaning.classifier.calibration import SIGN_NAMES, calibrate, fit_shifts, read_signs
from cleaning.classifier.hints import read_page_hints
from cleaning.leaf_table import read_leaf_table

PROSE = "<p>The ferry was late again, and everybody at the quay had something to say about the old engine.</p>"
BOX = '<div class="author-box"><p>Ann Lee writes about boats.</p></div>'


def signs_of(html, score=0.5):
    table = read_leaf_table(parse(html).root)
    return read_signs(table, read_page_hints(table), np.full(len(table.blocks), score))


def names_at(signs, index):
    return {SIGN_NAMES[column] for column in np.flatnonzero(signs[index]).tolist()}


def test_sure_hint_on_a_small_element_is_a_sign():
    signs = signs_of(PROSE * 6 + BOX)
    assert names_at(signs, 6) == {"byline", "small"}
    assert not signs[:6].any()


def test_likely_hint_is_no_sign():
    assert not signs_of(PROSE * 6 + BOX.replace("author-box", "author")).any()


def test_hint_on_a_large_element_is_no_sign():
    large = f'<div class="author-box">{"<p>Boats and more.</p>" * 5}</div>'
    assert not signs_of(PROSE * 30 + large).any()


def test_hint_at_the_start_of_a_block_is_a_sign():
    signs = signs_of(PROSE * 6 + '<p><span class="promo">Note: </span>Boats.</p>')
    assert names_at(signs, 6) == {"inline"}


@pytest.mark.parametrize("words", [("byline",), ("byline", "legal", "consent", "comments", "advert")])
def test_page_that_has_hints_on_its_main_text_has_no_signs(words):
    paragraphs = [PROSE.replace("<p>", f'<p class="{words[number % len(words)]}">') for number in range(5)]
    assert not signs_of(PROSE * 15 + "".join(paragraphs)).any()


def test_page_without_text_has_no_signs():
    assert signs_of("<p></p>").shape == (0, len(SIGN_NAMES))


def shifts_of(**values):
    shifts = np.zeros(len(SIGN_NAMES))
    for name, value in values.items():
        shifts[SIGN_NAMES.index(name)] = value
    return shifts


def test_shift_is_in_log_odds_and_bounded():
    signs = signs_of(PROSE * 6 + BOX)
    scores = np.full(7, 0.5)
    assert calibrate(scores, signs, shifts_of(byline=-np.log(3)))[6] == pytest.approx(0.25)
    assert calibrate(scores, signs, shifts_of(byline=-9.0, small=-9.0))[6] == pytest.approx(1 / (1 + np.exp(2)))
    assert calibrate(scores, signs, shifts_of(byline=-1.0))[:6].tolist() == [0.5] * 6
    assert scores.tolist() == [0.5] * 7


@given(st.floats(0, 1), st.floats(-9, 0))
def test_calibrated_score_is_a_lower_probability(score, shift):
    signs = np.zeros((1, len(SIGN_NAMES)), bool)
    signs[0, 0] = True
    calibrated = calibrate(np.array([score]), signs, np.full(len(SIGN_NAMES), shift))[0]
    assert 0 <= calibrated <= score + 1e-12


def test_confident_text_is_kept_whatever_the_hint():
    signs = signs_of(PROSE * 6 + BOX)
    assert calibrate(np.full(7, 0.97), signs, np.full(len(SIGN_NAMES), -9.0)).min() > 0.8


def rows(count, sign, share):
    """Return the signs of rows that have one of them, scores of .5, and labels of which a share is main text."""
    signs = np.zeros((count, len(SIGN_NAMES)), bool)
    signs[:, SIGN_NAMES.index(sign)] = True
    return signs, np.full(count, 0.5), (np.arange(count) < share * count).astype(float), np.ones(count)


def test_shifts_are_what_the_labels_say():
    few = rows(1_000, "byline", 0.2)
    many = rows(1_000, "form", 0.9)
    shifts = fit_shifts(*(np.concatenate(columns) for columns in zip(few, many, strict=True)))
    assert shifts[SIGN_NAMES.index("byline")] == pytest.approx(np.log(0.2 / 0.8), abs=0.05)
    assert shifts[SIGN_NAMES.index("form")] == 0.0  # a hint never raises a score


def test_few_rows_shift_little():
    assert -0.5 < fit_shifts(*rows(2, "byline", 0.0))[SIGN_NAMES.index("byline")] < 0
    assert not fit_shifts(np.zeros((3, len(SIGN_NAMES)), bool), np.ones(3), np.ones(3), np.ones(3)).any()

"""Calibration: what a hint on a small part of a page takes from a doubtful score.

The trees learn from pages whose hint words were changed at random, so that no single word decides. On pages as they
are, a small box that is named `author-box` holds main text less often than its score says. A logistic regression on
scores of pages of other hosts tells by how much. A confident score stays high, and a page that is full of hints keeps
its scores, because there they say nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cleaning.classifier.hints import HINT_LEVELS, HINT_REASONS
from cleaning.leaf_table import Column

if TYPE_CHECKING:
    from cleaning.classifier.hints import PageHints
    from cleaning.leaf_table import LeafTable

SIGN_NAMES = (*map(str, HINT_REASONS), "small", "inline")
_SMALL, _INLINE = len(HINT_REASONS), len(HINT_REASONS) + 1
_SURE = HINT_LEVELS["sure"]
_MAX_SMALL_BLOCKS = 4
# Of the words that are expected to be main text. On 240 pages with a hint word on each paragraph, a bound of .2 loses
# 1.0 % of the gold text, and no bound 3.6 %.
_MAX_SHARE = 0.2
_MAX_SHIFT = 2.0  # in log odds: .98 becomes .87
_LEAST_SCORE = 1e-6
_NEWTON_STEPS = 50
_RIDGE = 3.0  # in rows of average weight


def read_signs(table: LeafTable, hints: PageHints, scores: np.ndarray) -> np.ndarray:
    """Return which signs (n x len(SIGN_NAMES), bool) stand at the blocks of a page, given its scores (n).

    The signs are sure hints on elements of at most four blocks, by reason, and hints at the start of a block. There is
    none on a page that has them on more than a fifth of its expected main text.
    """
    signs = np.zeros((len(scores), len(SIGN_NAMES)), bool)
    sure = hints.elements.levels >= _SURE
    numbers = hints.elements.numbers[sure]
    first, last = table.first[numbers], table.last[numbers]
    small = last - first <= _MAX_SMALL_BLOCKS
    codes = hints.elements.codes[sure][small]
    for begin, end, code in zip(first[small].tolist(), last[small].tolist(), codes.tolist(), strict=True):
        signs[begin:end, code] = True
        signs[begin:end, _SMALL] = True
    signs[hints.inlines.numbers, _INLINE] = True
    expected = (table.counts[:, Column.WORDS] + 1) * scores
    if expected[signs.any(axis=1)].sum() > _MAX_SHARE * expected.sum():
        signs[:] = False
    return signs


def calibrate(scores: np.ndarray, signs: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Return the scores (n) shifted by the signs at each block; `shifts` are in log odds and at most 0."""
    indexes = np.flatnonzero(signs.any(axis=1))
    if not len(indexes):
        return scores
    calibrated = scores.copy()
    shift = np.maximum(-_MAX_SHIFT, signs[indexes] @ shifts)
    # The odds of a score, times the factor of its signs.
    odds = scores[indexes] * np.exp(shift)
    calibrated[indexes] = odds / (1 - scores[indexes] + odds)
    return calibrated


def fit_shifts(signs: np.ndarray, scores: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the shift of each sign that makes the scores (n) fit the labels (n, 0 to 1) best.

    A logistic regression whose offset is the score, with a ridge penalty, by Newton's method; a shift is never more
    than 0. Rows without a sign change nothing.
    """
    shifts = np.zeros(signs.shape[1])
    rows = signs.any(axis=1)
    if not rows.any():
        return shifts
    columns = signs[rows].astype(float)
    bounded = np.clip(scores[rows], _LEAST_SCORE, 1 - _LEAST_SCORE)
    offsets = np.log(bounded / (1 - bounded))
    weight = weights[rows] / weights[rows].mean()
    for _ in range(_NEWTON_STEPS):
        likely = 1 / (1 + np.exp(-(offsets + columns @ shifts)))
        slope = columns.T @ (weight * (labels[rows] - likely)) - _RIDGE * shifts
        curvature = (columns * (weight * likely * (1 - likely))[:, None]).T @ columns + _RIDGE * np.eye(len(shifts))
        shifts = np.minimum(0.0, shifts + np.linalg.solve(curvature, slope))
    return shifts

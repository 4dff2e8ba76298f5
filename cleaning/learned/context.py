"""The second look: what the first one thought of a block's neighbours and of the elements around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cleaning.compiled import compiled_rows
from cleaning.learned.counted import LEVELS, running

if TYPE_CHECKING:
    from cleaning.learned.counted import Counted

STEPS = (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)
REACHES = (3, 8, 25)
SURE, _LIKELY = 0.8, 0.5
TINY = 1e-6  # characters: a page's scores may all be 0

NAMES = [
    "score",
    *(f"score_{step:+d}" for step in STEPS),
    *(f"scores_within_{reach}" for reach in REACHES),
    *(f"{name}_{level}" for level in range(LEVELS) for name in ("scores", "part_of_scores")),
    *"scores_alike scores_same_path before after since_sure until_sure".split(),
    *"page_scores page_likely page_greatest page_kept".split(),
]
OF_PAGE = 4  # columns, the last ones


def read_context(counted: Counted, scores: np.ndarray) -> np.ndarray:
    """Return what surrounds each block (n x len(NAMES), float32); `scores` (n) are the first look's, 0 to 1."""
    weights, module = scores * counted.chars, compiled_rows()
    rows = np.empty((counted.size, len(NAMES)), np.float32)
    fill = pure_fill if module is None else module.fill_context
    fill(rows, counted, scores, weights)
    rows[:, -OF_PAGE:] = [
        (np.cumsum(weights)[-1] + TINY) / counted.all_chars,
        (scores > _LIKELY).mean(),
        scores.max(),
        np.log1p(counted.words[scores > _LIKELY].sum()),
    ]
    return rows


def pure_fill(rows: np.ndarray, counted: Counted, scores: np.ndarray, weights: np.ndarray) -> None:
    """Fill all columns but the last OF_PAGE of rows (n x F, float32); `weights` are scores x characters."""
    sums, chars = running(weights), running(counted.chars)
    total = sums[-1] + TINY
    columns = [
        scores,
        *_neighbours(scores),
        *_within(counted, sums, chars),
        *_elements(counted, weights, total),
        *(_mean(groups, weights, counted.chars) for groups in (counted.looks.alike, counted.looks.same_path)),
        sums[:-1] / total,
        1 - sums[1:] / total,
        *_sure(counted, scores),
    ]
    for place, column in enumerate(columns):
        rows[:, place] = column


def _neighbours(scores: np.ndarray) -> list[np.ndarray]:
    margin = max(STEPS)
    padded = np.pad(scores, margin)
    return [padded[margin + step : margin + step + len(scores)] for step in STEPS]


def _within(counted: Counted, sums: np.ndarray, chars: np.ndarray) -> list[np.ndarray]:
    columns = []
    for reach in REACHES:
        first, last = np.maximum(0, counted.places - reach), np.minimum(counted.size, counted.places + reach + 1)
        columns.append((sums[last] - sums[first]) / (chars[last] - chars[first]))
    return columns


def _elements(counted: Counted, weights: np.ndarray, total: float) -> list[np.ndarray]:
    inside = counted.inside(weights)
    both = np.stack([inside / np.maximum(1, counted.inside(counted.chars)), inside / total])
    return list(both[:, counted.chain[:LEVELS]].transpose(1, 0, 2).reshape(-1, counted.size))


def _mean(groups: np.ndarray, weights: np.ndarray, chars: np.ndarray) -> np.ndarray:
    means: np.ndarray = (np.bincount(groups, weights) / np.bincount(groups, chars))[groups]
    return means


def _sure(counted: Counted, scores: np.ndarray) -> list[np.ndarray]:
    sure = np.flatnonzero(scores > SURE)
    first, last = (sure[0], sure[-1]) if len(sure) else (0, counted.size)
    return [counted.places - first, last - counted.places]

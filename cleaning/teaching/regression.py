"""Logistic regression beside given log odds: the smallest weights that make a few corrected blocks likely."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

_STEPS, _INNER_STEPS = 30, 60
_ENOUGH = 1e-6  # of the gradient, in log odds
_HALVINGS = 30


class Observations(NamedTuple):
    """`n` blocks: log odds before (n), what is right (n, 0 or 1), weight (n), and the numbers of their features.

    All blocks have the same number of features: `features` is n x k, int.
    """

    log_odds: np.ndarray
    right: np.ndarray
    weight: np.ndarray
    features: np.ndarray


def fit_residuals(observations: Observations, size: int, shrinkage: float) -> np.ndarray:
    """Return the weights (size) of features 0 to size - 1; zeros without observations.

    They minimise the weighted log loss of `log odds + sum of the features' weights`, plus `shrinkage` / 2 times the
    squares of the weights. The function is convex, and Newton's method with conjugate gradients finds its minimum: the
    same input gives the same weights.
    """
    weights = np.zeros(size)
    loss = _loss(observations, weights, shrinkage)
    for _ in range(_STEPS):
        likely = likelihoods(observations.log_odds + _sums(observations.features, weights))
        gradient = _spread(observations, observations.weight * (likely - observations.right), size)
        gradient += shrinkage * weights
        if np.abs(gradient).max(initial=0.0) < _ENOUGH:
            break
        step = _newton_step(observations, observations.weight * likely * (1 - likely), shrinkage, gradient)
        for _ in range(_HALVINGS):
            lower = _loss(observations, weights + step, shrinkage)
            if lower <= loss:
                break
            step /= 2
        else:
            break
        weights, loss = weights + step, lower
    return weights


def likelihoods(log_odds: np.ndarray) -> np.ndarray:
    """Return the probabilities (0 to 1) of log odds."""
    likely: np.ndarray = 1 / (1 + np.exp(-np.clip(log_odds, -50, 50)))
    return likely


def log_odds_of(scores: np.ndarray | Sequence[float]) -> np.ndarray:
    """Return the log odds of probabilities, at most about 9 in size."""
    bounded = np.clip(np.asarray(scores, np.float64), 1e-4, 1 - 1e-4)
    odds: np.ndarray = np.log(bounded / (1 - bounded))
    return odds


def _sums(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    sums: np.ndarray = weights[features].sum(axis=1)
    return sums


def _spread(observations: Observations, values: np.ndarray, size: int) -> np.ndarray:
    """Return the sum of the blocks' values (n) for each feature (size)."""
    repeated = np.repeat(values, observations.features.shape[1])
    return np.bincount(observations.features.ravel(), repeated, size).astype(np.float64)


def _loss(observations: Observations, weights: np.ndarray, shrinkage: float) -> float:
    odds = observations.log_odds + _sums(observations.features, weights)
    losses = observations.weight * (np.logaddexp(0, odds) - observations.right * odds)
    return float(losses.sum() + shrinkage / 2 * (weights @ weights))


def _newton_step(
    observations: Observations, curvature: np.ndarray, shrinkage: float, gradient: np.ndarray
) -> np.ndarray:
    """Return the step to the minimum of the quadratic form, by conjugate gradients."""
    step = np.zeros(len(gradient))
    rest = -gradient
    direction = rest
    size = rest @ rest
    for _ in range(_INNER_STEPS):
        if size < _ENOUGH**2:
            break
        curved = _spread(observations, curvature * _sums(observations.features, direction), len(gradient))
        curved += shrinkage * direction
        length = size / (direction @ curved)
        step = step + length * direction
        rest = rest - length * curved
        smaller = rest @ rest
        direction = rest + smaller / size * direction
        size = smaller
    return step

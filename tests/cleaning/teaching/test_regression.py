"""The regression behind a site's model, against another way to the same minimum."""

import numpy as np
import pytest

from cleaning.teaching.regression import Observations, fit_residuals, likelihoods, log_odds_of


def observations(seed, size=40, features=9, width=3):
    rng = np.random.default_rng(seed)
    return Observations(
        rng.normal(0, 2, size),
        (rng.random(size) < 0.5).astype(float),
        rng.random(size) * 5,
        rng.integers(0, features, (size, width)),
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shrinkage", [0.1, 2.0, 50.0])
def test_no_small_change_of_the_weights_is_better(seed, shrinkage):
    seen = observations(seed)
    weights = fit_residuals(seen, 9, shrinkage)

    def loss(values):
        odds = seen.log_odds + values[seen.features].sum(axis=1)
        return (seen.weight * (np.logaddexp(0, odds) - seen.right * odds)).sum() + shrinkage / 2 * values @ values

    rng = np.random.default_rng(seed)
    assert all(loss(weights) <= loss(weights + rng.normal(0, 0.01, 9)) for _ in range(50))
    assert fit_residuals(seen, 9, shrinkage).tobytes() == weights.tobytes()


def test_more_shrinkage_gives_smaller_weights_and_no_blocks_give_none():
    seen = observations(1)
    sizes = [np.abs(fit_residuals(seen, 9, shrinkage)).sum() for shrinkage in (0.1, 1, 10, 100)]
    assert sizes == sorted(sizes, reverse=True)
    nothing = Observations(np.zeros(0), np.zeros(0), np.zeros(0), np.zeros((0, 3), int))
    assert fit_residuals(nothing, 4, 1.0).tolist() == [0, 0, 0, 0]


def test_sure_scores_that_are_wrong_are_turned():
    """A score of 1 is bounded, so that a few blocks can move it."""
    seen = Observations(log_odds_of([1.0] * 3), np.zeros(3), np.full(3, 6.0), np.zeros((3, 6), int))
    likely = likelihoods(seen.log_odds + 6 * fit_residuals(seen, 1, 2.0)[0])
    assert (likely < 0.5).all()


def test_log_odds_and_likelihoods_are_inverse():
    scores = np.array([0.001, 0.2, 0.5, 0.99])
    assert likelihoods(log_odds_of(scores)) == pytest.approx(scores)

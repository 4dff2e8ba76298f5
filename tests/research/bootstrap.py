"""Bootstrap intervals of means over pages. Whole hosts are drawn, since the pages of a host are alike."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

DRAWS = 2_000
_SEED = 20_260
_PERCENTILES = (2.5, 97.5)
_FEWEST_HOSTS = 5  # the spread of fewer says nothing


def intervals(columns, hosts):
    """Return [low, high] at 95 % for the mean of each column, one row a page; None where there are under five hosts.

    The same hosts are drawn the same way each time, so that intervals of differences are those of pairs.
    """
    names, of_page = np.unique(hosts, return_inverse=True)
    if len(names) < _FEWEST_HOSTS:
        return [None] * columns.shape[1]
    sums = np.zeros((len(names), columns.shape[1]))
    np.add.at(sums, of_page, columns)
    drawn = draws(len(names))
    means = (drawn @ sums) / (drawn @ np.bincount(of_page).astype(float))[:, None]
    return [[round(float(edge), 4) for edge in edges] for edges in np.percentile(means, _PERCENTILES, axis=0).T]


@lru_cache(maxsize=4)
def draws(hosts):
    """Return how often each host is in each of the draws, of as many hosts as there are, with replacement."""
    return np.random.default_rng(_SEED).multinomial(hosts, np.full(hosts, 1 / hosts), DRAWS).astype(float)

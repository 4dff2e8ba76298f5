"""Bootstrap intervals of means over pages. Whole hosts are drawn, since the pages of a host are alike."""

from __future__ import annotations

import numpy as np

from crawler.reports import scoring


def intervals(columns, hosts):
    """Return [low, high] at 95 % for the mean of each column, one row a page; None where there are under five hosts."""
    names, groups = np.unique(hosts, return_inverse=True)
    if len(names) < scoring.SITES_MIN:
        return [None] * columns.shape[1]
    return [[round(float(edge), 4) for edge in edges] for edges in scoring.intervals(columns, groups)]

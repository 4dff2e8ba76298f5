"""Scores of many pages summed up: means, the share of pages under 0.5, and the intervals of all of them."""

from __future__ import annotations

from dataclasses import astuple

import bootstrap
import numpy as np

from cleaning.text_score import TextScore
from research.training.gold import score_text

__all__ = ["MEASURES", "TextScore", "as_columns", "difference", "score_text", "summary"]

MEASURES = ("f1", "precision", "recall", "under_half")


def summary(scores, hosts):
    """Return the means over pages, the share of pages under 0.5, and the 95 % intervals of all four."""
    columns = as_columns(scores)
    intervals = dict(zip(MEASURES, bootstrap.intervals(columns, hosts), strict=True))
    return {"pages": len(scores), **_means(columns), "intervals": intervals}


def difference(ours, theirs, hosts):
    """Return how far our scores of the same pages are ahead of others, in the shape of `summary`."""
    columns = as_columns(ours) - as_columns(theirs)
    intervals = dict(zip(MEASURES, bootstrap.intervals(columns, hosts), strict=True))
    return {"pages": len(ours), **_means(columns), "intervals": intervals}


def as_columns(scores):
    """Return a row of the four measures for each score."""
    return np.array([(*astuple(score), score.f1 < 0.5) for score in scores], float)


def _means(columns):
    return {name: round(float(mean), 4) for name, mean in zip(MEASURES, columns.mean(axis=0), strict=True)}

"""The rules by which claims are judged; each looks at figures alone and can go every way that it names.

Intervals are those of a bootstrap that draws whole hosts (or rounds, or words), 95 %; under five of them there is none.
"""

from __future__ import annotations

import numpy as np
from bootstrap import intervals
from findings import Outcome, Verdict
from scipy.stats import f as variance_ratio

NEAR = 0.1
_TOO_FEW = "under five hosts, rounds or words were measured, which gives no interval"


def judge_ahead(claim, differences, units, unit=""):
    """Judge that something is larger, by differences between pairs: so if their interval lies above 0.

    Not reproduced where it lies below 0, and not to be judged where it holds 0.
    """
    differences = np.asarray(differences, float)
    ((edges),) = intervals(differences[:, None], units)
    if edges is None:
        return Verdict(claim, Outcome.UNDECIDED, _TOO_FEW)
    said = f"mean difference {differences.mean():+.3g}{unit} [{edges[0]:+.3g}, {edges[1]:+.3g}]"
    if not differences.any():
        return Verdict(claim, Outcome.UNDECIDED, f"the same in all {len(differences)} cases")
    if edges[0] > 0:
        return Verdict(claim, Outcome.REPRODUCED, said)
    if edges[1] < 0:
        return Verdict(claim, Outcome.NOT_REPRODUCED, f"the reverse holds: {said}")
    return Verdict(claim, Outcome.UNDECIDED, f"no difference beyond chance: {said}")


def judge_reached(claim, values, units, stated):
    """Judge that a mean is what is stated: so if its interval reaches that, or lies above it."""
    values = np.asarray(values, float)
    ((edges),) = intervals(values[:, None], units)
    if edges is None:
        return Verdict(claim, Outcome.UNDECIDED, _TOO_FEW)
    outcome = Outcome.REPRODUCED if edges[1] >= stated else Outcome.NOT_REPRODUCED
    return Verdict(claim, outcome, f"ours {values.mean():.3f} [{edges[0]:.3f}, {edges[1]:.3f}], stated {stated:.3f}")


def judge_near(claim, ours, stated, tolerance=NEAR):
    """Judge that a figure is what is stated: so if it lies within a share of it (a tenth unless said otherwise)."""
    reached = abs(ours - stated) <= tolerance * abs(stated)
    outcome = Outcome.REPRODUCED if reached else Outcome.NOT_REPRODUCED
    return Verdict(claim, outcome, f"ours {ours:.3g}, stated {stated:.3g}, {tolerance:.0%} allowed")


def judge_follows(claim, printed, computed, half_unit):
    """Judge that a printed figure follows from others of the paper: so if it differs by rounding alone."""
    outcome = Outcome.FOLLOWS if abs(printed - computed) <= half_unit else Outcome.CONTRADICTED
    return Verdict(claim, outcome, f"printed {printed:g}, from its other figures {computed:.4g}")


def judge_possible(claim, printed, bounds, half_unit):
    """Judge that a printed figure can be, by bounds that others of the paper set: so if it lies between them."""
    low, high = bounds
    outcome = Outcome.FOLLOWS if low - half_unit <= printed <= high + half_unit else Outcome.CONTRADICTED
    return Verdict(claim, outcome, f"printed {printed:g}, by its other figures from {low:.4g} to {high:.4g}")


def judge_less(claim, figure, other_figure):
    """Judge that a figure of the paper is smaller than another, as it says."""
    outcome = Outcome.FOLLOWS if figure < other_figure else Outcome.CONTRADICTED
    return Verdict(claim, outcome, f"{figure:.4g} and {other_figure:.4g}")


def judge_spread(claim, steady, wild):
    """Judge that some values spread less than others, by the F test of their variances at 5 % on both sides."""
    ours = np.var(steady, ddof=1)
    theirs = np.var(wild, ddof=1)
    low, high = variance_ratio.ppf([0.025, 0.975], len(wild) - 1, len(steady) - 1)
    said = f"standard errors {_error(steady):.4f} and {_error(wild):.4f}"
    if theirs > high * ours:
        return Verdict(claim, Outcome.REPRODUCED, said)
    if theirs < low * ours:
        return Verdict(claim, Outcome.NOT_REPRODUCED, f"the reverse holds: {said}")
    return Verdict(claim, Outcome.UNDECIDED, f"no difference beyond chance: {said}")


def _error(values):
    return np.std(values, ddof=1) / len(values) ** 0.5


def undecided(claim, reason):
    return Verdict(claim, Outcome.UNDECIDED, reason)

"""How often a page changes, from visits that see only whether it did.

Several changes between two visits look like one, so changes divided by days is too little for a page that is visited
seldom. Cho and Garcia-Molina (Estimating Frequency of Change, 2003) give the likelihood of a rate; here it has a Gamma
prior, and intervals of the mean length stand for the real ones. docs/schedule.md has the formulas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawler.schedule.kinds import PRIORS

if TYPE_CHECKING:
    from datetime import datetime

    from crawler.schedule.history import History


@dataclass(frozen=True, slots=True)
class Estimate:
    """A Gamma distribution of a page's changes a day of its own clock, as if so many had been seen in so many days."""

    changes: float
    days: float

    @property
    def rate(self) -> float:
        return self.changes / self.days

    def gain(self, own_days: float) -> float:
        """Return the days of freshness that a request now is expected to gain, `own_days` after the latest visit.

        For a page with a known rate r this is (1 - (1 + r t) exp(-r t)) / r, which asks pages that change fast to wait
        for their turn longer than others: a copy of them is soon out of date again. Rates are not known, so it is the
        mean over this distribution. 0 at 0 days; rises with the days.
        """
        # Beside 1 the formula divides 0 by 0; so near to it nothing else changes.
        shape = self.changes if abs(self.changes - 1) > 1e-6 else 1 + 1e-6  # noqa: PLR2004 — as above
        grown = math.log1p(own_days / self.days)
        mean = self.days * math.expm1((1 - shape) * grown) / (1 - shape)
        return max(0.0, mean - own_days * math.exp(-shape * grown))


def rate(history: History, now: datetime) -> float:
    """Return the expected changes a day at a moment: finite and above 0, whatever the history says."""
    return estimate(history).rate * history.pace(now)


def estimate(history: History) -> Estimate:
    """Return what the visits say of the page's changes; its prior where there was only one."""
    prior = PRIORS[history.kind]
    intervals = max(1, history.visits - 1)
    changes = min(max(0, history.changes), intervals)
    length = max(0.0, history.own_days(history.last_seen) - history.own_days(history.first_seen)) / intervals
    seen = prior.changes + changes
    return Estimate(
        seen, seen / _likeliest(prior.changes, changes, prior.days + (intervals - changes) * length, length)
    )


def _likeliest(expected: float, changes: int, quiet_days: float, length: float) -> float:
    """Return the rate that solves rate * quiet_days = expected + changes * x / (exp(x) - 1), x = rate * length."""
    # The right side falls and is convex: Newton's steps from the least possible rate on never pass the solution.
    rate = expected / quiet_days
    for _ in range(50):
        hidden, slope = _hidden(rate * length)
        step = (expected + changes * hidden - rate * quiet_days) / (quiet_days - changes * slope * length)
        rate += step
        if step <= 1e-9 * rate:
            break
    return rate


def _hidden(x: float) -> tuple[float, float]:
    """Return x / (exp(x) - 1) and its slope."""
    if x < 1e-4:  # noqa: PLR2004 — where the series is exact enough and the formula is not
        return 1 - x / 2, -0.5
    if x > 500:  # noqa: PLR2004 — where exp(x) leaves the range of floats
        return 0.0, 0.0
    grown = math.expm1(x)
    return x / grown, (1 - x * (grown + 1) / grown) / grown

"""What is expected of a page before it has been watched, by its kind; time is in days.

An article changes less and less. Its own clock runs at `pace`: 1 when it is published, and slower with its age. By
that clock its changes are evenly spread, so that one estimator serves all kinds. The clocks of other pages are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a page is for: a section leads to pages, an article is read."""

    SECTION = "section"
    ARTICLE = "article"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Prior:
    """A Gamma distribution of change rates: `changes` seen in `days` would say as much."""

    changes: float
    days: float


# Means of 4, 0.5 (at publication) and 0.1 changes a day. Shapes below 1 leave room for pages that never change and for
# pages that change a hundred times as often; a handful of visits outweighs them.
PRIORS = {
    Kind.SECTION: Prior(0.5, 0.125),
    Kind.ARTICLE: Prior(0.3, 0.6),
    Kind.OTHER: Prior(0.3, 3.0),
}
# An article of this age changes about half as often as a new one; however old, it keeps a twentieth, so that a page
# whose date lies, or that goes on changing, is found out by few visits.
_HALF_DAYS = 1.0
_LASTING = 0.05


def pace(kind: Kind, age_days: float) -> float:
    """Return how fast a page's own clock runs at an age: 1 or, for an article, from 1 down to a twentieth."""
    if kind is not Kind.ARTICLE:
        return 1.0
    return _LASTING + (1 - _LASTING) / (1 + age_days / _HALF_DAYS)


def lived(kind: Kind, age_days: float) -> float:
    """Return what a page's own clock shows at an age, in days; 0 at birth."""
    if kind is not Kind.ARTICLE:
        return age_days
    return _LASTING * age_days + (1 - _LASTING) * _HALF_DAYS * math.log1p(age_days / _HALF_DAYS)


def until(kind: Kind, age_days: float, own_days: float) -> float:
    """Return in how many days a page's own clock will have gone on by `own_days`, from an age on."""
    goal = lived(kind, age_days) + own_days
    age = age_days
    # The clock only ever slows down, so Newton's steps approach the goal from below.
    for _ in range(20):
        step = (goal - lived(kind, age)) / pace(kind, age)
        age += step
        if step <= 1e-6 * age:
            break
    return age - age_days

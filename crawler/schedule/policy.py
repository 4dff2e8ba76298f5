"""When to visit a page again, and which of the pages that are due with how many requests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import nlargest
from typing import TYPE_CHECKING

from xxhash import xxh64_intdigest

from crawler.schedule.estimate import Estimate, estimate, rate
from crawler.schedule.kinds import until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawler.schedule.history import History

# Visits in a row that find no page, after which none is tried.
RETIRE_MISSES = 5
# A page is due when it has changed with this probability. With five pages for each request of a day, .2 costs a point
# of freshness and .5 six; .05 gains none (tests/simulations/schedule.py).
_DUE_AT = 0.1
# The share of a budget for the pages that have waited longest, in intervals of their own: gains alone would starve
# some. It costs .1 to .3 points of freshness and takes a third or more off the mean age; a tenth takes no more off.
_FAIR_SHARE = 0.05
# Pages that one crawl found come back within a fifth of their interval, not at once.
_JITTER = 0.1
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most time between two visits to a page; raises ValueError unless 0 < least ≤ most."""

    least_seconds: float = 3_600.0
    most_seconds: float = 30 * _DAY

    def __post_init__(self) -> None:
        if not 0 < self.least_seconds <= self.most_seconds < math.inf:
            raise ValueError(
                f"pages cannot be visited every {self.least_seconds} to {self.most_seconds} seconds: "
                "it takes 0 < least_seconds <= most_seconds"
            )


@dataclass(frozen=True, slots=True)
class Due:
    """A page that waits for a visit; made by `due`."""

    history: History
    since: datetime
    interval_days: float
    estimate: Estimate
    own_days: float  # what the page's own clock showed at the latest visit


def next_visit(history: History, now: datetime, bounds: Bounds) -> datetime:
    """Return when to visit a page again, after a visit that has just ended or found no page.

    Always within the bounds from `now`, and always the same for the same history.
    """
    spread = 1 + _JITTER * (2 * _draw(history.key) - 1)
    seconds = _interval(history, now, bounds) * spread
    return now + timedelta(seconds=min(max(seconds, bounds.least_seconds), bounds.most_seconds))


def retired(history: History) -> bool:
    """Return whether a page was missed so often in a row that it is taken to be gone."""
    return history.misses >= RETIRE_MISSES


def due(history: History, since: datetime, bounds: Bounds) -> Due:
    """Return a page as one that has waited since the moment that `next_visit` gave."""
    days = _interval(history, since, bounds) / _DAY
    return Due(history, since, days, estimate(history), history.own_days(history.last_seen))


def choose(pages: Sequence[Due], budget: int, now: datetime) -> list[Due]:
    """Return which pages to visit with a budget of requests, the most worthwhile first; retired ones never.

    A twentieth of the budget goes to the pages that are most late for their pace, so that each has its turn; the rest
    to those with the greatest gain. No pages or a budget of 0 or less give an empty list.
    """
    gains = {one.history.key: _gain(one, now) for one in pages if not retired(one.history)}
    waiting = [one for one in pages if one.history.key in gains]
    late = nlargest(_fair(budget, now), waiting, lambda one: (_late(one, now), one.history.key))
    taken = {one.history.key for one in late}
    others = [one for one in waiting if one.history.key not in taken]
    best = nlargest(max(0, budget - len(late)), others, lambda one: (gains[one.history.key], one.history.key))
    return sorted(late + best, key=lambda one: (-gains[one.history.key], one.history.key))


def why(history: History, now: datetime, bounds: Bounds) -> str:
    """Return what a page's next visit follows from, as a sentence without its full stop."""
    seen = f"last seen {_span((now - history.last_seen).total_seconds() / _DAY)} ago"
    if retired(history):
        return f"retired: not found at the latest {history.misses} visits; {seen}"
    missing = f"not found at the latest {_count(history.misses, 'visit')}; " if history.misses else ""
    days = 1 / rate(history, now)
    shown = (
        f"about every {_span(days)}"
        if days <= bounds.most_seconds / _DAY
        else f"less often than every {_span(bounds.most_seconds / _DAY)}"
    )
    if history.visits <= 1:
        return f"{missing}visited once; pages of its kind and age change {shown}; {seen}"
    last = f" (last {_span((now - history.last_changed).total_seconds() / _DAY)} ago)" if history.changes else ""
    return (
        f"{missing}changed at {history.changes} of {_count(history.visits - 1, 'later visit')}{last}, {shown}; {seen}"
    )


def _interval(history: History, now: datetime, bounds: Bounds) -> float:
    """Return in how many seconds a page is due; each miss doubles them."""
    own_days = -math.log1p(-_DUE_AT) / estimate(history).rate
    seconds = max(until(history.kind, history.age_days(now), own_days) * _DAY, bounds.least_seconds)
    return min(seconds * 2.0 ** min(max(0, history.misses), RETIRE_MISSES), bounds.most_seconds)


def _gain(one: Due, now: datetime) -> float:
    """Return the days of freshness that a request for a page is expected to gain; each miss halves them."""
    elapsed = max(0.0, one.history.own_days(now) - one.own_days)
    # A page whose clock has slowed down stays fresh for longer.
    return one.estimate.gain(elapsed) / one.history.pace(now) / 2.0 ** max(0, one.history.misses)


def _fair(budget: int, now: datetime) -> int:
    """Return how many requests go to pages that are late: the fair share over many choices, even of small budgets."""
    return math.floor(max(0, budget) * _FAIR_SHARE + _draw(now.isoformat()))


def _draw(text: str) -> float:
    """Return a number from 0 to 1, evenly spread over texts and always the same for one."""
    return xxh64_intdigest(text.encode()) / 2**64


def _late(one: Due, now: datetime) -> float:
    """Return how long a page has been due, in intervals of its own."""
    return (now - one.since).total_seconds() / _DAY / one.interval_days


def _span(days: float) -> str:
    """Return a time in the largest unit that makes it at least 1; a negative one is 0 minutes."""
    minutes = max(0.0, days) * 1440
    for least, unit in ((1440, "day"), (60, "hour")):
        if minutes >= least:
            number = minutes / least
            text = f"{number:.1f}" if number < 10 else f"{number:.0f}"  # noqa: PLR2004 — a second figure is enough
            return f"{text} {unit}s"
    return _count(round(minutes), "minute")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

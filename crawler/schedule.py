"""When to visit a page again: pure functions of what its earlier visits showed; docs/schedule.md has the formulas."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from heapq import nlargest
from typing import TYPE_CHECKING

from xxhash import xxh64_intdigest

if TYPE_CHECKING:
    from collections.abc import Sequence


class PageKind(StrEnum):
    """What a page is for: a section leads to pages, an article is read."""

    SECTION = "section"
    ARTICLE = "article"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ChangePrior:
    """A Gamma distribution of change rates: `changes` seen in `days` would say as much."""

    changes: float
    days: float


# Means of 4, 0.5 (at publication) and 0.1 changes a day. Shapes below 1 leave room for pages that never change and for
# pages that change a hundred times as often; a handful of visits outweighs them.
CHANGE_PRIORS = {
    PageKind.SECTION: ChangePrior(0.5, 0.125),
    PageKind.ARTICLE: ChangePrior(0.3, 0.6),
    PageKind.OTHER: ChangePrior(0.3, 3.0),
}
# An article of this age changes about half as often as a new one; however old, it keeps a twentieth, so that a page
# whose date lies, or that goes on changing, is found out by few visits.
_HALF_DAYS = 1.0
_LASTING = 0.05


def clock_speed(kind: PageKind, age_days: float) -> float:
    """Return how fast a page's own clock runs at an age: 1 or, for an article, from 1 down to a twentieth."""
    if kind is not PageKind.ARTICLE:
        return 1.0
    return _LASTING + (1 - _LASTING) / (1 + age_days / _HALF_DAYS)


def clock_days(kind: PageKind, age_days: float) -> float:
    """Return what a page's own clock shows at an age, in days; 0 at birth."""
    if kind is not PageKind.ARTICLE:
        return age_days
    return _LASTING * age_days + (1 - _LASTING) * _HALF_DAYS * math.log1p(age_days / _HALF_DAYS)


def days_until_clock(kind: PageKind, age_days: float, own_days: float) -> float:
    """Return in how many days a page's own clock will have gone on by `own_days`, from an age on."""
    goal = clock_days(kind, age_days) + own_days
    age = age_days
    # The clock only ever slows down, so Newton's steps approach the goal from below.
    for _ in range(20):
        step = (goal - clock_days(kind, age)) / clock_speed(kind, age)
        age += step
        if step <= 1e-6 * age:
            break
    return age - age_days


_DAY = 86_400.0
# Dates before the web are placeholders.
_EARLIEST_DATE = date(1990, 1, 1)


@dataclass(frozen=True, slots=True)
class VisitHistory:
    """A page as its visits have shown it; `key` is its own among all pages, moments are aware.

    `visits` counts those that found the page, the first one included, and `changes` those at which it had changed.
    `misses` counts the latest visits in a row that found no page. Dates and counts that cannot be are read as the
    nearest that can.
    """

    key: str
    kind: PageKind
    first_seen: datetime
    last_seen: datetime
    last_changed: datetime
    visits: int = 1
    changes: int = 0
    published: date | None = None
    misses: int = 0

    def visited(self, now: datetime, *, changed: bool) -> VisitHistory:
        """Return the history after a visit that found the page."""
        return replace(
            self,
            last_seen=now,
            last_changed=now if changed else self.last_changed,
            visits=self.visits + 1,
            changes=self.changes + int(changed),
            misses=0,
        )

    def missed(self) -> VisitHistory:
        """Return the history after a visit that found no page."""
        return replace(self, misses=self.misses + 1)

    def age_days(self, at: datetime) -> float:
        """Return the page's age; 0 before its birth."""
        return max(0.0, (at - self._born()).total_seconds() / _DAY)

    def own_days(self, at: datetime) -> float:
        """Return what the page's own clock (kinds.py) shows, in days."""
        return clock_days(self.kind, self.age_days(at))

    def pace(self, at: datetime) -> float:
        """Return how fast the page's own clock runs."""
        return clock_speed(self.kind, self.age_days(at))

    def _born(self) -> datetime:
        """Return the end of the day of publication; the first visit where that is later, absurd or not known."""
        if self.published is None or not _EARLIEST_DATE <= self.published < self.first_seen.date():
            return self.first_seen
        return min(self.first_seen, datetime.combine(self.published, time(), UTC) + timedelta(days=1))


@dataclass(frozen=True, slots=True)
class ChangeEstimate:
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


def change_rate(history: VisitHistory, now: datetime) -> float:
    """Return the expected changes a day at a moment: finite and above 0, whatever the history says."""
    return estimate_changes(history).rate * history.pace(now)


def estimate_changes(history: VisitHistory) -> ChangeEstimate:
    """Return what the visits say of the page's changes; its prior where there was only one."""
    prior = CHANGE_PRIORS[history.kind]
    intervals = max(1, history.visits - 1)
    changes = min(max(0, history.changes), intervals)
    length = max(0.0, history.own_days(history.last_seen) - history.own_days(history.first_seen)) / intervals
    seen = prior.changes + changes
    return ChangeEstimate(
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


# Visits in a row that find no page, after which none is tried.
RETIRE_MISSES = 5
# A page is due when it has changed with this probability. With five pages for each request of a day, .2 costs a point
# of freshness and .5 six; .05 gains none (tests/simulations/schedule.py).
_DUE_PROBABILITY = 0.1
# The share of a budget for the pages that have waited longest, in intervals of their own: gains alone would starve
# some. It costs .1 to .3 points of freshness and takes a third or more off the mean age; a tenth takes no more off.
_FAIR_SHARE = 0.05
# Pages that one crawl found come back within a fifth of their interval, not at once.
_JITTER = 0.1


@dataclass(frozen=True, slots=True)
class RevisitBounds:
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
class DuePage:
    """A page that waits for a visit; made by `due`."""

    history: VisitHistory
    since: datetime
    interval_days: float
    estimate: ChangeEstimate
    own_days: float  # what the page's own clock showed at the latest visit


def next_visit(history: VisitHistory, now: datetime, bounds: RevisitBounds) -> datetime:
    """Return when to visit a page again, after a visit that has just ended or found no page.

    Always within the bounds from `now`, and always the same for the same history.
    """
    spread = 1 + _JITTER * (2 * _hash_fraction(history.key) - 1)
    seconds = _interval(history, now, bounds) * spread
    return now + timedelta(seconds=min(max(seconds, bounds.least_seconds), bounds.most_seconds))


def is_retired(history: VisitHistory) -> bool:
    """Return whether a page was missed so often in a row that it is taken to be gone."""
    return history.misses >= RETIRE_MISSES


def due_page(history: VisitHistory, since: datetime, bounds: RevisitBounds) -> DuePage:
    """Return a page as one that has waited since the moment that `next_visit` gave."""
    days = _interval(history, since, bounds) / _DAY
    return DuePage(history, since, days, estimate_changes(history), history.own_days(history.last_seen))


def choose_due_pages(pages: Sequence[DuePage], budget: int, now: datetime) -> list[DuePage]:
    """Return which pages to visit with a budget of requests, the most worthwhile first; retired ones never.

    A twentieth of the budget goes to the pages that are most late for their pace, so that each has its turn; the rest
    to those with the greatest gain. No pages or a budget of 0 or less give an empty list.
    """
    gains = {one.history.key: _gain(one, now) for one in pages if not is_retired(one.history)}
    waiting = [one for one in pages if one.history.key in gains]
    late = nlargest(_fair_requests(budget, now), waiting, lambda one: (_lateness(one, now), one.history.key))
    taken = {one.history.key for one in late}
    others = [one for one in waiting if one.history.key not in taken]
    best = nlargest(max(0, budget - len(late)), others, lambda one: (gains[one.history.key], one.history.key))
    return sorted(late + best, key=lambda one: (-gains[one.history.key], one.history.key))


def explain_next_visit(history: VisitHistory, now: datetime, bounds: RevisitBounds) -> str:
    """Return what a page's next visit follows from, as a sentence without its full stop."""
    seen = f"last seen {_format_days((now - history.last_seen).total_seconds() / _DAY)} ago"
    if is_retired(history):
        return f"retired: not found at the latest {history.misses} visits; {seen}"
    missing = f"not found at the latest {_format_count(history.misses, 'visit')}; " if history.misses else ""
    days = 1 / change_rate(history, now)
    shown = (
        f"about every {_format_days(days)}"
        if days <= bounds.most_seconds / _DAY
        else f"less often than every {_format_days(bounds.most_seconds / _DAY)}"
    )
    if history.visits <= 1:
        return f"{missing}visited once; pages of its kind and age change {shown}; {seen}"
    last = f" (last {_format_days((now - history.last_changed).total_seconds() / _DAY)} ago)" if history.changes else ""
    changes = f"changed at {history.changes} of {_format_count(history.visits - 1, 'later visit')}"
    return f"{missing}{changes}{last}, {shown}; {seen}"


def _interval(history: VisitHistory, now: datetime, bounds: RevisitBounds) -> float:
    """Return in how many seconds a page is due; each miss doubles them."""
    own_days = -math.log1p(-_DUE_PROBABILITY) / estimate_changes(history).rate
    seconds = max(days_until_clock(history.kind, history.age_days(now), own_days) * _DAY, bounds.least_seconds)
    return min(seconds * 2.0 ** min(max(0, history.misses), RETIRE_MISSES), bounds.most_seconds)


def _gain(one: DuePage, now: datetime) -> float:
    """Return the days of freshness that a request for a page is expected to gain; each miss halves them."""
    elapsed = max(0.0, one.history.own_days(now) - one.own_days)
    # A page whose clock has slowed down stays fresh for longer.
    return one.estimate.gain(elapsed) / one.history.pace(now) / 2.0 ** max(0, one.history.misses)


def _fair_requests(budget: int, now: datetime) -> int:
    """Return how many requests go to pages that are late: the fair share over many choices, even of small budgets."""
    return math.floor(max(0, budget) * _FAIR_SHARE + _hash_fraction(now.isoformat()))


def _hash_fraction(text: str) -> float:
    """Return a number from 0 to 1, evenly spread over texts and always the same for one."""
    return xxh64_intdigest(text.encode()) / 2**64


def _lateness(one: DuePage, now: datetime) -> float:
    """Return how long a page has been due, in intervals of its own."""
    return (now - one.since).total_seconds() / _DAY / one.interval_days


def _format_days(days: float) -> str:
    """Return a time in the largest unit that makes it at least 1; a negative one is 0 minutes."""
    minutes = max(0.0, days) * 1440
    for least, unit in ((1440, "day"), (60, "hour")):
        if minutes >= least:
            number = minutes / least
            text = f"{number:.1f}" if number < 10 else f"{number:.0f}"  # noqa: PLR2004 — a second figure is enough
            return f"{text} {unit}s"
    return _format_count(round(minutes), "minute")


def _format_count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# A sitemap that stamps everything with today, or nothing ever, does not get here by chance.
_MIN_RIGHT = 5
_MIN_RIGHT_SHARE = 0.9
_DATE_CHARS = len("2026-03-01")
# Beyond so many, the older half is forgotten: a sitemap that was right for years may break.
_MAX_REMEMBERED = 100


def parse_lastmod(text: str) -> date | None:
    """Return the date, or date and time, that a text in ISO 8601 names; None for one that names no day."""
    text = text.strip()
    try:
        return date.fromisoformat(text) if len(text) <= _DATE_CHARS else datetime.fromisoformat(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class SitemapTrust:
    """How often a host's sitemap was right and wrong about pages that were visited all the same."""

    right: int = 0
    wrong: int = 0

    def learned(self, said: bool | None, *, changed: bool) -> SitemapTrust:
        """Return the trust after a visit to a page that the sitemap said had changed, or had not; None: said nothing.

        Right is who announces a change that is there. "Unchanged" about an unchanged page proves nothing: a sitemap
        whose dates never move says that of every page.
        """
        if said is None or not (said or changed):
            return self
        right, wrong = self.right + int(said and changed), self.wrong + int(said != changed)
        return SitemapTrust(right // 2, wrong // 2) if right + wrong > _MAX_REMEMBERED else SitemapTrust(right, wrong)


def is_trusted(trust: SitemapTrust) -> bool:
    """Return whether a sitemap was right at least five times, and nine times in ten."""
    return trust.right >= _MIN_RIGHT and trust.right >= _MIN_RIGHT_SHARE * (trust.right + trust.wrong)


def lastmod_claims_change(lastmod: date | None, last_seen: datetime) -> bool | None:
    """Return whether a `lastmod` means that the page changed after it was last seen; None where it does not tell.

    A date without a time tells nothing about the day on which the page was seen. A time without a zone is UTC.
    """
    if lastmod is None:
        return None
    if isinstance(lastmod, datetime):
        return lastmod.replace(tzinfo=lastmod.tzinfo or UTC) > last_seen
    day = last_seen.astimezone(UTC).date()
    return None if lastmod == day else lastmod > day


def trusted_claim(trust: SitemapTrust, lastmod: date | None, last_seen: datetime) -> bool | None:
    """Return what `says` returns where the sitemap is believed, else None."""
    return lastmod_claims_change(lastmod, last_seen) if is_trusted(trust) else None

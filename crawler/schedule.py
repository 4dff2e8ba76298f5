"""When to visit a page again: pure functions of what its earlier visits showed.

A page has a clock of its own. An article changes less and less, so the clock of an article slows down as it ages; the
clock of any other page runs evenly. Measured by that clock, a page's changes are spread evenly, so one estimator serves
all kinds of pages. Times are in days unless a name says otherwise.

Visits only show whether a page changed since the visit before. Several changes between two visits look like one, so
changes divided by days is too low for a page that is visited rarely. Cho and Garcia-Molina (Estimating Frequency of
Change, 2003) give the likelihood of a rate; here it has a Gamma prior, and every interval counts with the mean length.

Freshness is greatest if each page with rate r is visited as soon as (1 - (1 + x) exp(-x)) / r, x = r * days since its
visit, reaches a price that is the same for all (Cho and Garcia-Molina, Effective Page Refresh Policies for Web
Crawlers, 2003; Olston and Pandey, Recrawl Scheduling Based on Information Longevity, 2008). r is not known, so the mean
over its distribution counts.
"""

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

# An article of this age changes about half as often as a new one.
_HALF_DAYS = 1.0
# An article's clock never runs slower than this, so that few visits detect a page with a wrong date, or one that keeps
# changing.
_MIN_SPEED = 0.05
_DAY = 86_400.0
# Dates before the web are placeholders.
_EARLIEST_DATE = date(1990, 1, 1)

MIN_REVISITS = 10
# Pages do not go by halves of a site: something else happened to it.
MAX_VANISHED_SHARE = 0.5
"""Fewer visits to stored pages do not show that a site has lost its pages."""

# A page is due when it has changed with this probability. With a budget of one request a day for five pages, .2 costs
# one point of freshness and .5 costs six; .05 gains nothing.
_DUE_PROBABILITY = 0.1
# The share of a budget for the pages that have waited longest relative to their own interval; choosing by gain alone
# would starve some pages. It costs .1 to .3 points of freshness and cuts the mean age by a third or more; a share of a
# tenth does not cut it further.
_FAIR_SHARE = 0.05
# Spreads the next visits of pages found by one crawl over a fifth of their interval.
_JITTER = 0.1
# A sitemap that dates every page today, or never changes a date, does not pass these two by chance.
_MIN_RIGHT = 5
_MIN_RIGHT_SHARE = 0.9
_MAX_DOUBLINGS = 10
_DATE_CHARS = len("2026-03-01")
# Beyond this count the older half is forgotten: a sitemap that was right for years may break.
_MAX_REMEMBERED = 100


class PageKind(StrEnum):
    """The purpose of a page: a section leads to pages, an article is read."""

    SECTION = "section"
    ARTICLE = "article"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ChangePrior:
    """A Gamma distribution of change rates, worth as much evidence as `changes` seen in `days`."""

    changes: float
    days: float


# The means are 4, 0.5 (at publication) and 0.1 changes a day. Shapes below 1 allow for pages that never change and for
# pages that change a hundred times as often. A handful of visits outweighs the prior.
_CHANGE_PRIORS = {
    PageKind.SECTION: ChangePrior(0.5, 0.125),
    PageKind.ARTICLE: ChangePrior(0.3, 0.6),
    PageKind.OTHER: ChangePrior(0.3, 3.0),
}


def clock_speed(kind: PageKind, age_days: float) -> float:
    """Return the speed of a page's own clock at an age: 1, or for an article from 1 down to 0.05."""
    if kind is not PageKind.ARTICLE:
        return 1.0
    return _MIN_SPEED + (1 - _MIN_SPEED) / (1 + age_days / _HALF_DAYS)


def _clock_days(kind: PageKind, age_days: float) -> float:
    """Return the time on a page's own clock at an age; 0 at birth."""
    if kind is not PageKind.ARTICLE:
        return age_days
    return _MIN_SPEED * age_days + (1 - _MIN_SPEED) * _HALF_DAYS * math.log1p(age_days / _HALF_DAYS)


def _days_until_clock(kind: PageKind, age_days: float, own_days: float) -> float:
    """Return the days that a page's own clock takes to advance by `own_days`, starting at an age."""
    goal = _clock_days(kind, age_days) + own_days
    age = age_days
    # The clock only slows down, so Newton's steps approach the goal from below.
    for _ in range(20):
        step = (goal - _clock_days(kind, age)) / clock_speed(kind, age)
        age += step
        if step <= 1e-6 * age:
            break
    return age - age_days


@dataclass(frozen=True, slots=True)
class VisitHistory:
    """The results of the visits to one page; the database keeps exactly these values.

    `key` is unique among all pages, and times have a zone. `visits` counts the visits that found the page, including
    the first; `changes` counts the visits that found it changed. `misses` counts the latest visits in a row that
    did not find the page. Impossible dates and counts are read as the nearest possible ones.
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
        """Return the history after a visit that did not find the page."""
        return replace(self, misses=self.misses + 1)

    def age_days(self, time: datetime) -> float:
        """Return the page's age in days; 0 before its birth."""
        return max(0.0, (time - self._born()).total_seconds() / _DAY)

    def own_days(self, time: datetime) -> float:
        """Return the time on the page's own clock, in days."""
        return _clock_days(self.kind, self.age_days(time))

    def clock_speed(self, time: datetime) -> float:
        """Return the speed of the page's own clock."""
        return clock_speed(self.kind, self.age_days(time))

    def _born(self) -> datetime:
        """Return the end of the publication day, or the first visit if that day is later, absurd or unknown."""
        if self.published is None or not _EARLIEST_DATE <= self.published < self.first_seen.date():
            return self.first_seen
        return min(self.first_seen, datetime.combine(self.published, time(), UTC) + timedelta(days=1))


@dataclass(frozen=True, slots=True)
class RevisitBounds:
    """The shortest and longest time between two visits to a page, and how long it is not found until it is gone.

    If more than a share of a site's pages are not found at once, none of them is gone. Raises ValueError unless
    0 < min ≤ max.
    """

    min_seconds: float = 3_600.0
    max_seconds: float = 30 * _DAY
    gone_after_seconds: float = _DAY

    def __post_init__(self) -> None:
        if not 0 < self.min_seconds <= self.max_seconds < math.inf:
            raise ValueError(
                f"pages cannot be visited every {self.min_seconds} to {self.max_seconds} seconds: "
                "the shortest time must be above 0 and no longer than the longest"
            )

    @property
    def missed_seconds(self) -> float:
        """The time until a page that was not found is visited again: half of what makes it gone, within the bounds."""
        return min(max(self.gone_after_seconds / 2, self.min_seconds), self.max_seconds)

    @property
    def most_misses(self) -> int:
        """The number of visits in a row that must miss a page until it is gone."""
        return 1 + math.ceil(self.gone_after_seconds / self.missed_seconds)


@dataclass(frozen=True, slots=True)
class DuePage:
    """A page that waits for a visit; made by `due_page`. `own_days` is the time on its clock at the latest visit."""

    history: VisitHistory
    since: datetime
    interval_days: float
    estimate: ChangeEstimate
    own_days: float


@dataclass(frozen=True, slots=True)
class ChangeEstimate:
    """A Gamma distribution of a page's changes per day of its own clock: `changes` observed in `days`."""

    changes: float
    days: float

    @property
    def rate(self) -> float:
        return self.changes / self.days

    def gain(self, own_days: float) -> float:
        """Return the days of freshness that a request is expected to gain, `own_days` after the latest visit.

        For a page with a known rate r this is (1 - (1 + r t) exp(-r t)) / r. It lets pages that change fast wait
        longer, because a copy of them is soon out of date again. Rates are not known, so this is the mean over the
        distribution. It is 0 at 0 days and rises with the days.
        """
        # At exactly 1 the formula divides 0 by 0; this close to 1 the result is the same.
        shape = self.changes if abs(self.changes - 1) > 1e-6 else 1 + 1e-6  # noqa: PLR2004 — see above
        grown = math.log1p(own_days / self.days)
        mean = self.days * math.expm1((1 - shape) * grown) / (1 - shape)
        return max(0.0, mean - own_days * math.exp(-shape * grown))


def _change_rate(history: VisitHistory, now: datetime) -> float:
    """Return the expected changes per day at a time: finite and above 0 for every history."""
    return _estimate_changes(history).rate * history.clock_speed(now)


def _estimate_changes(history: VisitHistory) -> ChangeEstimate:
    """Return the estimate from the visits to a page; the prior of its kind after a single visit."""
    prior = _CHANGE_PRIORS[history.kind]
    intervals = max(1, history.visits - 1)
    changes = min(max(0, history.changes), intervals)
    length = max(0.0, history.own_days(history.last_seen) - history.own_days(history.first_seen)) / intervals
    seen = prior.changes + changes
    return ChangeEstimate(
        seen, seen / _likeliest_rate(prior.changes, changes, prior.days + (intervals - changes) * length, length)
    )


def _likeliest_rate(expected: float, changes: int, quiet_days: float, length: float) -> float:
    """Return the rate that solves rate * quiet_days = expected + changes * x / (exp(x) - 1), x = rate * length."""
    # The right side falls and is convex, so Newton's steps from the lowest possible rate never pass the solution.
    rate = expected / quiet_days
    for _ in range(50):
        hidden, slope = _hidden_changes(rate * length)
        step = (expected + changes * hidden - rate * quiet_days) / (quiet_days - changes * slope * length)
        rate += step
        if step <= 1e-9 * rate:
            break
    return rate


def _hidden_changes(x: float) -> tuple[float, float]:
    """Return x / (exp(x) - 1) and its slope."""
    if x < 1e-4:  # noqa: PLR2004 — below, the series is exact enough and the formula is not
        return 1 - x / 2, -0.5
    if x > 500:  # noqa: PLR2004 — above, exp(x) leaves the range of floats
        return 0.0, 0.0
    grown = math.expm1(x)
    return x / grown, (1 - x * (grown + 1) / grown) / grown


def next_visit(history: VisitHistory, now: datetime, bounds: RevisitBounds) -> datetime:
    """Return when to visit a page again, after a visit that has just ended.

    The result is always within the bounds from `now`, and always the same for the same history.
    """
    spread = 1 if history.misses else 1 + _JITTER * (2 * _hash_fraction(history.key) - 1)
    seconds = _interval(history, now, bounds) * spread
    return now + timedelta(seconds=min(max(seconds, bounds.min_seconds), bounds.max_seconds))


def is_gone(history: VisitHistory, bounds: RevisitBounds) -> bool:
    """Return True if a page was missed so often in a row that it counts as gone."""
    return history.misses >= bounds.most_misses


def due_page(history: VisitHistory, since: datetime, bounds: RevisitBounds) -> DuePage:
    """Return a page that has waited since the time that `next_visit` gave."""
    days = _interval(history, since, bounds) / _DAY
    return DuePage(history, since, days, _estimate_changes(history), history.own_days(history.last_seen))


def choose_due_pages(pages: Sequence[DuePage], budget: int, now: datetime) -> list[DuePage]:
    """Return the pages to visit with a budget of requests, those with the greatest gain first.

    A twentieth of the budget goes to the pages that are latest relative to their own interval, so that every page gets
    its turn; the rest goes to the pages with the greatest gain. Without pages, or with a budget of 0 or less, the list
    is empty.
    """
    gains = {page.history.key: _gain(page, now) for page in pages}
    late = nlargest(_fair_requests(budget, now), pages, lambda page: (_lateness(page, now), page.history.key))
    taken = {page.history.key for page in late}
    others = [page for page in pages if page.history.key not in taken]
    best = nlargest(max(0, budget - len(late)), others, lambda page: (gains[page.history.key], page.history.key))
    return sorted(late + best, key=lambda page: (-gains[page.history.key], page.history.key))


def explain_next_visit(history: VisitHistory, now: datetime, bounds: RevisitBounds) -> str:
    """Return the reasons for a page's next visit, as a sentence without its full stop."""
    seen = f"last seen {_format_days((now - history.last_seen).total_seconds() / _DAY)} ago"
    missing = ""
    if history.misses:
        missing = f"not found at the latest {_format_count(history.misses, 'visit')} (gone at {bounds.most_misses}); "
    days = 1 / _change_rate(history, now)
    frequency = (
        f"about every {_format_days(days)}"
        if days <= bounds.max_seconds / _DAY
        else f"less often than every {_format_days(bounds.max_seconds / _DAY)}"
    )
    if history.visits <= 1:
        return f"{missing}visited once; pages of its kind and age change {frequency}; {seen}"
    last = f" (last {_format_days((now - history.last_changed).total_seconds() / _DAY)} ago)" if history.changes else ""
    later = _format_count(history.visits - 1, "later visit")
    return f"{missing}changed at {history.changes} of {later}{last}, {frequency}; {seen}"


def _interval(history: VisitHistory, now: datetime, bounds: RevisitBounds) -> float:
    """Return the seconds until a page is due; those of a missed page double once it could count as gone."""
    if history.misses > 0:
        late = min(max(0, history.misses - bounds.most_misses + 1), _MAX_DOUBLINGS)
        return min(bounds.missed_seconds * 2.0**late, bounds.max_seconds)
    own_days = -math.log1p(-_DUE_PROBABILITY) / _estimate_changes(history).rate
    seconds = max(_days_until_clock(history.kind, history.age_days(now), own_days) * _DAY, bounds.min_seconds)
    return min(seconds, bounds.max_seconds)


def _gain(page: DuePage, now: datetime) -> float:
    """Return the days of freshness that a visit is expected to gain; each miss halves them."""
    elapsed = max(0.0, page.history.own_days(now) - page.own_days)
    # A page whose clock has slowed down stays fresh longer.
    return (
        page.estimate.gain(elapsed)
        / page.history.clock_speed(now)
        / 2.0 ** min(max(0, page.history.misses), _MAX_DOUBLINGS)
    )


def _fair_requests(budget: int, now: datetime) -> int:
    """Return the requests for late pages: over many choices the fair share, even of small budgets."""
    return math.floor(max(0, budget) * _FAIR_SHARE + _hash_fraction(now.isoformat()))


def _hash_fraction(text: str) -> float:
    """Return a number from 0 to 1 that is evenly spread over texts and always the same for one text."""
    return xxh64_intdigest(text.encode()) / 2**64


def _lateness(page: DuePage, now: datetime) -> float:
    """Return how long a page has been due, in multiples of its own interval."""
    return (now - page.since).total_seconds() / _DAY / page.interval_days


def _format_days(days: float) -> str:
    """Return a duration in the largest unit in which it is at least 1; a negative duration is 0 minutes."""
    minutes = max(0.0, days) * 1440
    for unit_minutes, unit in ((1440, "day"), (60, "hour")):
        if minutes >= unit_minutes:
            number = minutes / unit_minutes
            text = f"{number:.1f}" if number < 10 else f"{number:.0f}"  # noqa: PLR2004 — two digits are enough
            return f"{text} {unit}s"
    return _format_count(round(minutes), "minute")


def _format_count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def parse_lastmod(text: str) -> date | None:
    """Return the date, or date and time, of an ISO 8601 text; None for any other text."""
    text = text.strip()
    try:
        return date.fromisoformat(text) if len(text) <= _DATE_CHARS else datetime.fromisoformat(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class SitemapTrust:
    """How often a host's sitemap was right and wrong about pages, as visits to them showed."""

    right: int = 0
    wrong: int = 0

    def learned(self, claimed: bool | None, *, changed: bool) -> SitemapTrust:
        """Return the trust after a visit; `claimed` is what the sitemap said about a change, None if it said nothing.

        A sitemap is right if it announced a change that was there. "Unchanged" about an unchanged page proves nothing,
        because a sitemap whose dates never change says that about every page.
        """
        if claimed is None or not (claimed or changed):
            return self
        right, wrong = self.right + int(claimed and changed), self.wrong + int(claimed != changed)
        return SitemapTrust(right // 2, wrong // 2) if right + wrong > _MAX_REMEMBERED else SitemapTrust(right, wrong)


def _is_trusted(trust: SitemapTrust) -> bool:
    """Return True if a sitemap was right at least five times, and in nine of ten cases."""
    return trust.right >= _MIN_RIGHT and trust.right >= _MIN_RIGHT_SHARE * (trust.right + trust.wrong)


def lastmod_claims_change(lastmod: date | None, last_seen: datetime) -> bool | None:
    """Return True if a `lastmod` says that the page changed after it was last seen; None if it cannot tell.

    A date without a time cannot tell on the day when the page was seen. A time without a zone is UTC.
    """
    if lastmod is None:
        return None
    if isinstance(lastmod, datetime):
        return lastmod.replace(tzinfo=lastmod.tzinfo or UTC) > last_seen
    day = last_seen.astimezone(UTC).date()
    return None if lastmod == day else lastmod > day


def trusted_claim(trust: SitemapTrust, lastmod: date | None, last_seen: datetime) -> bool | None:
    """Return the claim of a `lastmod`, as `lastmod_claims_change` does; None if the sitemap is not trusted."""
    return lastmod_claims_change(lastmod, last_seen) if _is_trusted(trust) else None

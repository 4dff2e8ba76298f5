"""Policies that say which pages to visit now: ours, and those that it is compared with.

Each has `pick(now, budget)`, which returns page numbers, and `see(pages, now, changed)`, told what they showed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
from changing import ARTICLE, NAMES

from crawler.schedule import PageKind, RevisitBounds, VisitHistory, choose_due_pages, due_page, next_visit

_START = datetime(2024, 3, 1, tzinfo=UTC)
BOUNDS = RevisitBounds()
_DAY = 86_400


def most(scores, budget):
    """Return the numbers of the highest scores; minus infinity is never among them."""
    if budget < len(scores):
        best = np.argpartition(-scores, budget)[:budget]
        return best[scores[best] > -np.inf]
    return np.flatnonzero(scores > -np.inf)


class Ranked:
    """Visits the pages with the highest score of true rate and time since the last visit."""

    def __init__(self, web, score):
        self._web, self._score, self._last = web, score, web.entered.copy()

    def pick(self, now, budget):
        here = self._web.entered <= now
        scores = np.where(here, self._score(self._web.rates(now), now - self._last), -np.inf)
        return most(scores, budget)

    def see(self, pages, now, _changed):
        self._last[pages] = now


def uniform(_rates, waited):
    """Each page as often as any other."""
    return waited


def proportional(rates, waited):
    """Each page as often as it changes."""
    return np.where(rates > 0, rates * waited, -np.inf)


def optimum(rates, waited):
    """Each page when (1 - (1 + x) exp(-x)) / rate, x = rate × waited, has come to a price that is the same for all."""
    known = np.maximum(rates, 1e-12)
    x = known * waited
    return np.where(rates > 0, (-np.expm1(-x) - x * np.exp(-x)) / known, -np.inf)


class Nutch:
    """Nutch's AdaptiveFetchSchedule with the rates of its nutch-default.xml and our bounds.

    Its generator would leave requests unspent where too few pages are due; here it takes those that are due next. It
    begins with the interval at which the budget lasts for all pages, which suits it better than its 30 days.
    """

    LONGER, SHORTER, SYNC = 0.4, 0.2, 0.3

    def __init__(self, web, start_days, *, sync):
        self._web, self._sync = web, self.SYNC if sync else None
        self._interval = np.full(len(web), start_days)
        self._modified = web.entered.copy()
        self._next = web.entered + start_days

    def pick(self, now, budget):
        return most(np.where(self._web.entered <= now, -self._next, -np.inf), budget)

    def see(self, pages, now, changed):
        self._modified[pages[changed]] = now
        interval = self._interval[pages] * np.where(changed, 1 - self.SHORTER, 1 + self.LONGER)
        from_when = now
        if self._sync is not None:
            delta = now - self._modified[pages]
            interval = np.maximum(interval, delta)
            from_when = now - self._sync * delta
        interval = np.clip(interval, BOUNDS.min_seconds / _DAY, BOUNDS.max_seconds / _DAY)
        self._interval[pages] = interval
        self._next[pages] = from_when + interval


class Ours:
    """The crawler's own functions, given what its database would hold."""

    def __init__(self, web):
        self._next = np.zeros(len(web))
        self._due = []
        for page, (kind, born, entered) in enumerate(zip(web.kind, web.born, web.entered, strict=True)):
            seen = _moment(entered)
            published = _moment(born).date() if kind == ARTICLE else None
            history = VisitHistory(str(page), PageKind(NAMES[kind]), seen, seen, seen, published=published)
            self._due.append(self._planned(history, seen))

    def pick(self, now, budget):
        waiting = [self._due[page] for page in np.flatnonzero(self._next <= now)]
        return np.array([int(due.history.key) for due in choose_due_pages(waiting, budget, _moment(now))], dtype=int)

    def see(self, pages, now, changed):
        moment = _moment(now)
        for page, is_changed in zip(pages, changed, strict=True):
            history = self._due[page].history.visited(moment, changed=bool(is_changed))
            self._due[page] = self._planned(history, moment)

    def _planned(self, history, now):
        next_moment = next_visit(history, now, BOUNDS)
        self._next[int(history.key)] = (next_moment - _START) / timedelta(days=1)
        return due_page(history, next_moment, BOUNDS)


def _moment(days):
    return _START + timedelta(days=float(days))


# What each is called, with * where it knows the true rates, and how it is made of a web and a daily budget.
RIVALS = {
    "optimum*": lambda web, _: Ranked(web, optimum),
    "ours": lambda web, _: Ours(web),
    "uniform": lambda web, _: Ranked(web, uniform),
    "Nutch": lambda web, budget: Nutch(web, len(web) / budget, sync=True),
    "Nutch, no sync": lambda web, budget: Nutch(web, len(web) / budget, sync=False),
    "proportional*": lambda web, _: Ranked(web, proportional),
}

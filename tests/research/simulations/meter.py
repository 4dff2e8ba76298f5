"""How fresh a policy keeps a web's copies: exact, from the times of changes and visits, without sampling."""

from __future__ import annotations

import numpy as np
from changing import NAMES


class Meter:
    """Follows all copies; a copy is fresh until its page changes, and stale from then until the next visit."""

    def __init__(self, web):
        self._web = web
        self._last = web.entered.copy()
        self._fresh = np.zeros(len(web))
        self._aged = np.zeros(len(web))
        self._daily = np.zeros(web.days)
        self._there = np.zeros(web.days)
        _spread(self._there, web.entered, np.full(len(web), float(web.days)))
        self.visits = np.zeros(len(web), dtype=int)
        self.found = 0

    def visit(self, pages, now):
        """Visit pages and return which have changed."""
        changed = self._account(pages, now)
        self.visits[pages] += 1
        self.found += int(changed.sum())
        return changed

    def close(self):
        """Account for the time after the last visits."""
        self._account(np.arange(len(self._web)), self._web.days)

    def result(self):
        """Return the figures of a closed meter; `wasted` is the share of visits that found nothing new."""
        present = np.maximum(self._web.days - self._web.entered, 1e-9)
        visits = int(self.visits.sum())
        return {
            "freshness": float(self._fresh.sum() / present.sum()),
            "age_days": float(self._aged.sum() / present.sum()),
            "wasted": 1 - self.found / visits if visits else 0.0,
            "visits": visits,
            "daily_freshness": (self._daily / self._there).round(4).tolist(),
            "kind_freshness": {
                name: float(self._fresh[of_kind].sum() / present[of_kind].sum())
                for kind, name in enumerate(NAMES)
                if (of_kind := self._web.kind == kind).any()
            },
        }

    def _account(self, pages, now):
        """Close the time between each page's last visit and now."""
        last = self._last[pages]
        change = self._web.next_change(pages, last)
        changed = change <= now
        until = np.where(changed, change, now)
        self._fresh[pages] += until - last
        self._aged[pages] += (now - until) ** 2 / 2
        _spread(self._daily, last, until)
        self._last[pages] = now
        return changed


def _spread(days, start, end):
    """Add each span from start to end to the days on which it lies."""
    for day in range(int(start.min(initial=len(days))), min(len(days), int(np.ceil(end.max(initial=0))))):
        days[day] += np.clip(np.minimum(end, day + 1) - np.maximum(start, day), 0, None).sum()


def simulate(web, policy, crawls):
    """Return the meter after a policy has visited a web for all its days; `crawls` yields moments and requests."""
    meter = Meter(web)
    for now, requests in crawls:
        pages = policy.pick(now, requests)
        policy.see(pages, now, meter.visit(pages, now))
    meter.close()
    return meter


def best_possible(web, budget):
    """Return the freshness of Cho and Garcia-Molina's optimum for the true rates, solved anew for each day.

    It is that of a steady state: pages that stay out of date are so from the beginning.
    """
    fresh = present = 0.0
    for day in range(web.days):
        here = web.entered <= day + 0.5
        fresh += _lagrange(web.rates(day + 0.5)[here], budget).sum()
        present += here.sum()
    return float(fresh / present)


def _lagrange(rates, budget):
    """Return each page's freshness where 1 - (1 + x) exp(-x) = price × rate, x = rate / visits a day."""
    x = np.geomspace(1e-6, 60, 4_000)
    priced = -np.expm1(-x) - x * np.exp(-x)
    changing = rates > 0

    def visits(price):
        wanted = price * rates[changing]
        solved = np.where(wanted < priced[-1], np.interp(wanted, priced, x), np.inf)
        return rates[changing] / solved

    low, high = 1e-9, 1e9
    for _ in range(80):
        price = np.sqrt(low * high)
        low, high = (price, high) if visits(price).sum() > budget else (low, price)
    visits_of_pages = visits(high)
    x = np.divide(
        rates[changing], visits_of_pages, out=np.full(len(visits_of_pages), np.inf), where=visits_of_pages > 0
    )
    fresh = np.ones(len(rates))
    fresh[changing] = -np.expm1(-x) / x
    return fresh

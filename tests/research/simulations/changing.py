"""A web that changes at known rates, and what a visitor could know of it; time is in days from the first crawl on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SECTION, ARTICLE, OTHER = range(3)
NAMES = ("section", "article", "other")
_SHARES = (0.03, 0.57, 0.40)
# Median and spread of the log-normal change rates, a day; articles at publication.
_RATES = ((4.0, 1.2), (0.6, 1.0), (0.05, 1.5))
# Half of the articles and four in ten other pages never change.
_NEVER = (0.0, 0.5, 0.4)


@dataclass(frozen=True, slots=True)
class Web:
    """Pages with their change times; `entered` is when the crawler first reads one, which no policy pays for."""

    days: int
    kind: np.ndarray
    born: np.ndarray
    entered: np.ndarray
    first_rate: np.ndarray
    last_rate: np.ndarray
    fading_days: np.ndarray
    starts: np.ndarray  # where each page's changes begin among all, and where the last one's end
    changes: np.ndarray  # ordered by page and time, each with its page's offset
    offset: float  # between two pages' times

    def __len__(self):
        return len(self.kind)

    def rates(self, now):
        """Return the true rates at a moment, a day."""
        return rates(self.first_rate, self.last_rate, np.maximum(0, now - self.born) / self.fading_days)

    def next_change(self, pages, after):
        """Return when each page changes next after its moment; infinity where it does not."""
        places = np.searchsorted(self.changes, pages * self.offset + after, side="right")
        there = places < self.starts[pages + 1]
        times = np.full(len(pages), np.inf)
        times[there] = self.changes[places[there]] - pages[there] * self.offset
        return times


def rates(first, last, ages):
    """Return rates that fall from the first to the last, exponentially with the ages."""
    return last + (first - last) * np.exp(-ages)


def web(pages, days, seed):
    """Return a web of its own for each seed.

    Articles are published at all times, from `days` before the first crawl to its last day, and fade exponentially,
    each at its own speed, to a rest that differs too. crawler/schedule assumes another law, and other rates.
    """
    random = np.random.default_rng(seed)
    kind = random.choice(3, pages, p=_SHARES)
    median, spread = np.array(_RATES)[kind].T
    first = random.lognormal(np.log(median), spread)
    first[random.random(pages) < np.array(_NEVER)[kind]] = 0
    article = kind == ARTICLE
    last = np.where(article, np.minimum(first, first * random.lognormal(np.log(0.02), 1, pages)), first)
    fading = random.lognormal(np.log(2), 0.7, pages)
    born = np.where(article, random.uniform(-days, days, pages), 0.0)
    entered = np.where(born > 0, np.minimum(days, born + random.exponential(0.1, pages)), 0.0)
    count, times = _poisson(random, first, np.maximum(born, 0), days)
    owner = np.repeat(np.arange(pages), count)
    # Thinned: a change at the first rate stays with the share that the rate has by then.
    falls = rates(first[owner], last[owner], (times - born[owner]) / fading[owner])
    stays = random.random(len(times)) * first[owner] < falls
    owner, times = owner[stays], times[stays]
    offset = 4.0 * days
    order = np.lexsort((times, owner))
    starts = np.searchsorted(owner[order], np.arange(pages + 1))
    return Web(days, kind, born, entered, first, last, fading, starts, (times + owner * offset)[order], offset)


def _poisson(random, rate, start, end):
    """Return how many events each process has from its start to the end, and when, process by process."""
    count = random.poisson(rate * (end - start))
    return count, np.repeat(start, count) + random.random(count.sum()) * np.repeat(end - start, count)

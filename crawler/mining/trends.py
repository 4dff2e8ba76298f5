"""Trends: the terms that more documents of the last weeks have than of the weeks before."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from math import log
from typing import TYPE_CHECKING

import numpy as np

from crawler.errors import MiningError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawler.mining.term_counts import TermCounts

_WEEK = timedelta(days=7)
# 3.84 is the 5 % point of chi-squared with one degree of freedom, 10.83 the 0.1 % point: many terms are compared.
_RATIO_MIN = 10.83


@dataclass(frozen=True, slots=True)
class RisingTerm:
    """A term, the documents that have it in each week, and how sure its rise is (Dunning's log-likelihood ratio).

    `times` is its share of the documents of the last weeks over that of the weeks before, with half a document added to
    each number.
    """

    word: str
    documents: list[int]
    times: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Trends:
    """The terms that rise, the surest first; `weeks` are the Mondays, and `documents` counts those of each week."""

    weeks: list[date]
    documents: list[int]
    recent_weeks: int
    rising: list[RisingTerm]
    left_out: dict[str, int]


def find_trends(
    counts: TermCounts, *, weeks: int = 12, recent_weeks: int = 1, until: date | None = None, limit: int = 20
) -> Trends:
    """Compare the documents of the last `recent_weeks` weeks with those of the weeks before, `weeks` in all.

    A document belongs to the week of its date, or of the day on which it was first seen. The last week is that of
    `until`, or of the latest document. A term rises if its log-likelihood ratio is above 10.83, the 0.1 % point. Raises
    MiningError if either part has no document.
    """
    if not 1 <= recent_weeks < weeks:
        raise MiningError(f"recent_weeks is {recent_weeks} and weeks {weeks}; 1 <= recent_weeks < weeks must hold")
    moments = [None if document.moment is None else _monday(document.moment.date()) for document in counts.documents]
    known = [monday for monday in moments if monday is not None]
    if not known:
        raise MiningError("no document has a date")
    last = _monday(until) if until else max(known)
    mondays = [last - _WEEK * back for back in range(weeks - 1, -1, -1)]
    rows = {monday: [row for row, own in enumerate(moments) if own == monday] for monday in mondays}
    sizes = [len(rows[monday]) for monday in mondays]
    recent = sum(sizes[-recent_weeks:])
    before = sum(sizes[:-recent_weeks])
    if not recent or not before:
        raise MiningError(
            f"{before:,} documents are of the {weeks - recent_weeks} weeks before {mondays[-recent_weeks]}, and "
            f"{recent:,} of those since; both must have some: choose other weeks"
        )
    series = _series(counts, [rows[monday] for monday in mondays])
    rising = []
    for word, weekly in zip(counts.words, series, strict=True):
        now = sum(weekly[-recent_weeks:])
        earlier = sum(weekly[:-recent_weeks])
        if (ratio := _ratio(now, recent, earlier, before)) > _RATIO_MIN:
            times = ((now + 0.5) / (recent + 1)) / ((earlier + 0.5) / (before + 1))
            rising.append(RisingTerm(word, weekly, times, ratio))
    rising.sort(key=lambda term: (-term.ratio, term.word))
    dated = Counter(monday is None for monday in moments)
    left_out = {"no_date": dated[True], "other_weeks": dated[False] - sum(sizes)}
    return Trends(mondays, sizes, recent_weeks, rising[:limit], left_out)


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _series(counts: TermCounts, weeks: Sequence[list[int]]) -> list[list[int]]:
    """Return for each term the number of documents of each week that have it."""
    presence = counts.presence
    columns = [np.asarray(presence[rows].sum(axis=0)).ravel().astype(int) for rows in weeks]
    series: list[list[int]] = np.stack(columns, axis=1).tolist()
    return series


def _ratio(now: int, recent: int, earlier: int, before: int) -> float:
    """Return Dunning's log-likelihood ratio of a term that has become more frequent, 0 for one that has not.

    `now` of the `recent` documents have it, and `earlier` of those `before`.
    """
    if now * before <= earlier * recent:
        return 0.0
    share = (now + earlier) / (recent + before)
    cells: list[tuple[int, float]] = [
        (now, recent * share),
        (recent - now, recent * (1 - share)),
        (earlier, before * share),
        (before - earlier, before * (1 - share)),
    ]
    return 2 * sum((observed * log(observed / expected) for observed, expected in cells if observed), 0.0)

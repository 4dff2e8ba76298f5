"""The figures of all pages together; memory does not grow with the pages but for one number a page and method."""

from __future__ import annotations

import heapq
from array import array
from collections import Counter
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import TYPE_CHECKING

from crawler.compare.run import Compared, Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawler.compare.targets import Source

_MOST_SHOWN = 5


@dataclass(slots=True)
class MethodFigures:
    """What a method did on all the pages it worked on; `page_words` are those of these pages."""

    pages: int = 0
    blocks: int = 0
    kept: int = 0
    words: int = 0
    page_words: int = 0
    milliseconds: array[float] = field(default_factory=lambda: array("d"))
    reasons: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    last_failure: str | None = None

    @property
    def share(self) -> float | None:
        """Words kept by words of the pages; None for pages without a word."""
        return self.words / self.page_words if self.page_words else None

    @property
    def median_ms(self) -> float | None:
        return median(self.milliseconds) if self.milliseconds else None

    @property
    def mean_ms(self) -> float | None:
        return fmean(self.milliseconds) if self.milliseconds else None


@dataclass(frozen=True, slots=True, order=True)
class Disagreement:
    """A page on which methods agree little."""

    agreement: float
    number: int
    name: str


class Figures:
    """Sums over the pages as they come."""

    def __init__(self, methods: Sequence[str]) -> None:
        self.methods = {name: MethodFigures() for name in methods}
        self.pages = 0
        self.compared = 0
        self.blocks = 0
        self.words = 0
        self.parse_ms: array[float] = array("d")
        self.render_ms: array[float] = array("d")
        self.parse_warnings: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.failed: list[tuple[str, Failure]] = []
        self._agreement: dict[tuple[str, str], tuple[float, int]] = {}
        self._least: list[tuple[float, int, str]] = []

    def add(self, source: Source, found: Compared | Failure) -> None:
        """Count a page; `pages` is its number afterwards, from 1."""
        self.pages += 1
        if isinstance(found, Failure):
            self.failures[found.reason] += 1
            if len(self.failed) < _MOST_SHOWN:
                self.failed.append((source.name, found))
            return
        self.compared += 1
        self.blocks += len(found.leaves)
        self.words += found.words
        self.parse_ms.append(found.parse_ms)
        if found.render_ms is not None:
            self.render_ms.append(found.render_ms)
        self.parse_warnings.update(map(str, found.page.parse_warnings))
        self._add_methods(found)
        self._add_agreement(found)

    def agreement(self, one: str, other: str) -> float | None:
        """Return the mean over the pages on which both methods worked; None where there was none."""
        total, pages = self._agreement.get((one, other)) or self._agreement.get((other, one)) or (0.0, 0)
        return total / pages if pages else None

    def most_disagreed(self) -> list[Disagreement]:
        """Return the few pages on which methods agree least, worst first; pages of full agreement are none."""
        worst = sorted(((-negative, -number, name) for negative, number, name in self._least))
        return [Disagreement(*one) for one in worst if one[0] < 1]

    def _add_methods(self, found: Compared) -> None:
        for name, outcome in found.outcomes.items():
            figures = self.methods[name]
            if isinstance(outcome, Failure):
                figures.failures[outcome.reason] += 1
                figures.last_failure = outcome.message
                continue
            figures.pages += 1
            figures.blocks += len(outcome.judged)
            figures.kept += len(outcome.kept)
            figures.words += outcome.words
            figures.page_words += found.words
            figures.milliseconds.append(outcome.ms)
            figures.reasons.update(outcome.reasons)

    def _add_agreement(self, found: Compared) -> None:
        for pair, value in found.agreement.items():
            total, pages = self._agreement.get(pair, (0.0, 0))
            self._agreement[pair] = (total + value, pages + 1)
        mean = found.mean_agreement
        if mean is not None:
            # A heap has its least item first: the page of most agreement leaves it, of equal ones the later page.
            heapq.heappush(self._least, (-mean, -self.pages, found.source.name))
            if len(self._least) > _MOST_SHOWN:
                heapq.heappop(self._least)

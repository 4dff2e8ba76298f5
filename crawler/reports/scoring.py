"""Scores of methods on pages with gold texts: means, intervals, and tests of each two methods on the same pages.

- F1, precision and recall of a page are those of its words as multisets.
- An interval holds 95 % of the means of 2,000 bootstrap samples (Efron, 1979). Whole sites are drawn, because the
  pages of a site are alike; below five sites, pages are drawn.
- A test of two methods draws signs for the differences of whole sites 10,000 times (Fisher's randomisation test).
  `p` is the share of draws whose mean is at least as far from zero: the test is two-sided. Holm's procedure (1979)
  corrects for the number of pairs.
- The effect size is the matched-pairs rank-biserial correlation (Kerby, 2014): the share of rank sums in favour of the
  first method less the share in favour of the second, from -1 to 1.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from cleaning.text_score import TextScore, score_bags, split_characters
from crawler.reports.compare import CompareFailure
from crawler.time_limit import time_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from crawler.reports.compare import ComparedPage
    from crawler.reports.gold import GoldTexts
    from crawler.reports.sources import UnreadPage

_BOOTSTRAPS, _SIGN_DRAWS = 2_000, 10_000
_BOOTSTRAP_SEED, _SIGN_SEED = 20_260, 1_979
_PERCENTILES = (2.5, 97.5)
_LATEX_SIGNS = re.compile(r"[&%$#_{}]")
SITES_MIN = 5
"""The spread of fewer sites says nothing."""

_NO_TEXT = TextScore(0.0, 0.0, 0.0)


def _words(text: str) -> Counter[str]:
    return Counter(split_characters(text))


@dataclass(frozen=True, slots=True)
class ScoredPage:
    """The scores of all methods on a page with a gold text; a method that failed has scores of 0."""

    name: str
    url: str | None
    site: str
    scores: dict[str, TextScore]
    failed: frozenset[str]


@dataclass(frozen=True, slots=True)
class MethodScore:
    """The means of a method over all pages, and the 95 % interval of its mean F1."""

    method: str
    f1: float
    precision: float
    recall: float
    low: float
    high: float
    failed: int


@dataclass(frozen=True, slots=True)
class ScoreTest:
    """How far the first of two methods is ahead in F1, and whether that may be chance.

    `probability` is by Fisher's randomisation test, and `adjusted` the same after Holm's correction.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    probability: float
    adjusted: float
    effect: float


@dataclass(slots=True)
class GoldScores:
    """Collects the scores of pages. `without` counts the pages that have no gold text.

    `names` are the methods, and `peers` are the extractors that are scored beside them; each has `seconds` for a page.
    """

    gold: GoldTexts
    names: list[str]
    peers: Mapping[str, Callable[..., str | None]] = field(default_factory=dict)
    seconds: float = 0.0
    pages: list[ScoredPage] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    without: int = 0

    def add(self, source: UnreadPage, result: ComparedPage | CompareFailure) -> ScoredPage | None:
        """Score a page; a page that could not be compared has scores of 0. None for a page without a gold text."""
        text = self.gold.find(source)
        if text is None:
            self.without += 1
            return None
        gold = _words(text)
        outcomes = {} if isinstance(result, CompareFailure) else result.results
        texts = {name: "\n".join(block.text for block in outcome.kept) for name, outcome in outcomes.items()}
        if not isinstance(result, CompareFailure):
            texts |= self._peer_texts(source, result)
        scores = {name: score_bags(_words(texts[name]), gold) if name in texts else _NO_TEXT for name in self.methods}
        page = ScoredPage(source.name, source.url, source.site, scores, frozenset(self.methods) - texts.keys())
        self.pages.append(page)
        return page

    @property
    def methods(self) -> list[str]:
        """The names of all that is scored."""
        return [*self.names, *self.peers]

    def _peer_texts(self, source: UnreadPage, page: ComparedPage) -> dict[str, str]:
        """Return the texts of the extractors that find one in time; `failures` has the last failure of the others."""
        body = source.load().body
        texts = {}
        for name, extract in self.peers.items():
            try:
                with time_limit(self.seconds):
                    text = extract(body, page.page.encoding or "utf-8")
            except Exception as error:  # noqa: BLE001 — whatever an extractor raises is its failure, counted and named
                self.failures[name] = f"{type(error).__name__}: {error}"
                continue
            if text:
                texts[name] = text
        return texts

    def means(self) -> list[MethodScore]:
        """Return the figures of each method, in their order; none without pages."""
        if not self.pages:
            return []
        groups = self._groups()
        return [self._mean(name, groups) for name in self.methods]

    def tests(self) -> list[ScoreTest]:
        """Return a test for each two methods, in their order; none without pages."""
        if not self.pages:
            return []
        groups = self._groups()
        tests = [self._test(first, second, groups) for first, second in combinations(self.methods, 2)]
        adjusted = holm([test.probability for test in tests])
        return [replace(test, adjusted=value) for test, value in zip(tests, adjusted, strict=True)]

    def _mean(self, name: str, groups: NDArray[np.int64]) -> MethodScore:
        scores = [page.scores[name] for page in self.pages]
        values = np.array([score.f1 for score in scores])
        low, high = interval(values, groups)
        precision = float(np.mean([score.precision for score in scores]))
        recall = float(np.mean([score.recall for score in scores]))
        failed = sum(name in page.failed for page in self.pages)
        return MethodScore(name, float(values.mean()), precision, recall, low, high, failed)

    def _test(self, first: str, second: str, groups: NDArray[np.int64]) -> ScoreTest:
        differences = np.array([page.scores[first].f1 - page.scores[second].f1 for page in self.pages])
        low, high = interval(differences, groups)
        probability = randomisation_test(differences, groups)
        return ScoreTest(
            first, second, float(differences.mean()), low, high, probability, probability, rank_biserial(differences)
        )

    def _groups(self) -> NDArray[np.int64]:
        """Return a number for each page, equal for the pages of a site; with few sites each page has its own."""
        names, groups = np.unique([page.site for page in self.pages], return_inverse=True)
        return groups.astype(np.int64) if len(names) >= SITES_MIN else np.arange(len(self.pages))


def interval(values: NDArray[np.float64], groups: NDArray[np.int64]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean of some values (n); whole groups (n) are drawn."""
    ((low, high),) = intervals(values[:, np.newaxis], groups)
    return float(low), float(high)


def intervals(columns: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the 95 % bootstrap interval (k, 2) of the mean of each column (n, k); whole groups (n) are drawn.

    The same groups are drawn in the same way each time, so intervals of differences are those of pairs.
    """
    sizes = np.bincount(groups).astype(np.float64)
    sums = np.zeros((len(sizes), columns.shape[1]))
    np.add.at(sums, groups, columns)
    drawn = _bootstraps(len(sizes))
    edges: NDArray[np.float64] = np.percentile((drawn @ sums) / (drawn @ sizes)[:, np.newaxis], _PERCENTILES, axis=0).T
    return edges


@lru_cache(maxsize=4)
def _bootstraps(groups: int) -> NDArray[np.float64]:
    """Return how often each group is in each of the samples, of as many groups as there are, with replacement."""
    random = np.random.default_rng(_BOOTSTRAP_SEED)
    return random.multinomial(groups, np.full(groups, 1 / groups), _BOOTSTRAPS).astype(np.float64)


def randomisation_test(differences: NDArray[np.float64], groups: NDArray[np.int64]) -> float:
    """Return the two-sided probability (0 to 1) of a mean difference (n) as large, if the sign of each group is chance.

    The draw that was observed counts too, so the result is never 0 (Phipson and Smyth, 2010).
    """
    sums = np.bincount(groups, differences)
    random = np.random.default_rng(_SIGN_SEED)
    observed = abs(sums.sum())
    as_far = 0
    for _ in range(0, _SIGN_DRAWS, 1_000):
        signs = random.integers(0, 2, (1_000, len(sums))) * 2 - 1
        as_far += int((np.abs(signs @ sums) >= observed - 1e-12).sum())
    return (as_far + 1) / (_SIGN_DRAWS + 1)


def rank_biserial(differences: NDArray[np.float64]) -> float:
    """Return the matched-pairs rank-biserial correlation (-1 to 1) of some differences; 0 if all are 0."""
    differing = differences[differences != 0]
    if not len(differing):
        return 0.0
    _, places, counts = np.unique(np.abs(differing), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[places]
    return float((ranks * np.sign(differing)).sum() / ranks.sum())


def holm(probabilities: list[float]) -> list[float]:
    """Return probabilities that Holm's step-down procedure has corrected, in their order."""
    count = len(probabilities)
    adjusted = [0.0] * count
    highest = 0.0
    for rank, place in enumerate(sorted(range(count), key=probabilities.__getitem__)):
        highest = max(highest, min(1.0, (count - rank) * probabilities[place]))
        adjusted[place] = highest
    return adjusted


def score_rows(pages: list[ScoredPage]) -> Iterator[list[str | float]]:
    """Yield a row for each page and method: page, address, site, method, F1, precision, recall."""
    for page in pages:
        for method, score in page.scores.items():
            yield [page.name, page.url or "", page.site, method, score.f1, score.precision, score.recall]


def latex_table(means: list[MethodScore], tests: list[ScoreTest]) -> str:
    """Return a table of the means for LaTeX, with `booktabs`; a dagger marks methods that differ from the best one.

    A method differs if Holm's corrected probability is below 0.05.
    """
    best = max(means, key=lambda mean: mean.f1).method
    differing = {
        method
        for test in tests
        if best in {test.first, test.second} and test.adjusted < 0.05  # noqa: PLR2004 — the usual level
        for method in (test.first, test.second)
    } - {best}
    lines = [
        r"\begin{tabular}{lrrrr}",
        r"\toprule",
        r"method & F1 & 95\,\% interval & precision & recall \\",
        r"\midrule",
    ]
    for mean in means:
        name = _LATEX_SIGNS.sub(lambda sign: f"\\{sign[0]}", mean.method)
        mark = r"$^{\dagger}$" if mean.method in differing else ""
        f1 = rf"\textbf{{{mean.f1:.3f}}}" if mean.method == best else f"{mean.f1:.3f}"
        lines.append(
            rf"{name}{mark} & {f1} & {mean.low:.3f}--{mean.high:.3f} & {mean.precision:.3f} & {mean.recall:.3f} \\"
        )
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])

"""What the three experiments of weighted.txt have in common: 300 news pages, and how many a method gets right.

The paper's authors compared by hand whether a page was "correctly extracted". Here a page is right if the words that
are left agree with its gold text at F1 >= .9.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from findings import Panel
from report import Figures
from scores import score_text
from stand_ins import ARTICLES, articles, read
from verdicts import judge_ahead, judge_follows, judge_reached

PAGES = (100, 200, 300)
RIGHT = 0.9
_HALF_OF_LAST_DIGIT = 0.005  # per cent
NOTE = (
    f"A page is right where the words that are left agree with its gold text at F1 >= {RIGHT:g}; the paper's authors "
    "compared by hand. A smaller number of pages is part of the larger one, as it may be in the paper."
)


@dataclass(frozen=True, slots=True)
class Paper:
    """A table of the paper: for each method the pages right of 100, 200 and 300, and the average that it prints."""

    place: str
    right: dict
    printed: dict
    proposed: str
    readings: tuple = ()  # methods that the paper hardly describes: ours are one reading of it

    def label(self, method):
        return f"{method} (our reading)" if method in self.readings else method

    def mean(self, method):
        """Return the mean of the three percentages."""
        return float(np.mean([100 * right / pages for right, pages in zip(self.right[method], PAGES, strict=True)]))

    def pooled(self, method):
        """Return the sum of right pages over the sum of pages, as the text defines the average."""
        return 100 * sum(self.right[method]) / sum(PAGES)


@dataclass(frozen=True, slots=True)
class Scored:
    """The F1 of each page, by method, and the pages' hosts; `sizes` stand for the paper's 100, 200 and 300."""

    f1: dict
    hosts: list

    @property
    def sizes(self):
        return [max(1, len(self.hosts) * size // PAGES[-1]) for size in PAGES]

    def right(self, method):
        return self.f1[method] >= RIGHT

    def counts(self, method):
        return [int(self.right(method)[:size].sum()) for size in self.sizes]

    def mean(self, method):
        """Return the mean of the three percentages of right pages, as the paper's average is."""
        return float(np.mean([100 * count / size for count, size in zip(self.counts(method), self.sizes, strict=True)]))


def load(limit):
    return articles(PAGES[-1], limit)


def measure(samples, extract):
    """Return the scores of what `extract` makes of each page: texts by method."""
    f1_by_method = {}
    for sample in samples:
        for method, text in extract(read(sample)).items():
            f1_by_method.setdefault(method, []).append(score_text(text, sample.text, 1).f1)
    return Scored({method: np.array(f1) for method, f1 in f1_by_method.items()}, [sample.host for sample in samples])


def describe(samples):
    return f"{len(samples)} {ARTICLES}, for 300 pages of 30 news sites in English"


def table(paper, scored):
    """Return the paper's rows and ours, method by method."""
    names = dict.fromkeys((*paper.right, *scored.f1))
    rows = [row for name in names for row in (_printed(paper, name), _ours(paper, scored, name)) if row]
    sizes = " / ".join(map(str, scored.sizes))
    head = ("method", "whose", "right of 100 / 200 / 300", "average, %", "sum/sum, %", "mean F1")
    return Figures(f"{paper.place}; ours of {sizes}", head, rows)


def _printed(paper, name):
    if name not in paper.right:
        return None
    counts = " / ".join(map(str, paper.right[name]))
    return [name, "paper", counts, f"{paper.printed[name]:.2f}", f"{paper.pooled(name):.2f}", ""]


def _ours(paper, scored, name):
    if name not in scored.f1:
        return None
    counts, pooled = scored.counts(name), 100 * sum(scored.counts(name)) / sum(scored.sizes)
    mean = f"{scored.mean(name):.2f}"
    return [
        paper.label(name),
        "ours",
        " / ".join(map(str, counts)),
        mean,
        f"{pooled:.2f}",
        f"{scored.f1[name].mean():.3f}",
    ]


def verdicts(paper, scored, without):
    """Judge that the proposed method is ahead of each rival, that it is as good as printed, and the paper's sums.

    `without` is what is left where the step that the experiment is about is left out: one more rival.
    """
    ours = paper.proposed
    rivals = [name for name in (*paper.right, without) if name != ours and name in scored.f1]
    stated = paper.printed[ours]
    return (
        *(_ahead(paper, scored, rival) for rival in rivals),
        *(_ahead_by_f1(paper, scored, rival) for rival in rivals),
        judge_reached(f"{ours}: {stated} % of pages are right", scored.right(ours), scored.hosts, stated / 100),
        *(_average_follows(paper, name) for name in paper.right),
    )


def _ahead(paper, scored, rival):
    difference = scored.right(paper.proposed).astype(float) - scored.right(rival)
    claim = f"{paper.proposed} gets more pages right than {paper.label(rival)}"
    return judge_ahead(claim, 100 * difference, scored.hosts, " points")


def _ahead_by_f1(paper, scored, rival):
    claim = f"{paper.proposed} leaves a better text than {paper.label(rival)}, by mean F1"
    return judge_ahead(claim, scored.f1[paper.proposed] - scored.f1[rival], scored.hosts)


def _average_follows(paper, name):
    claim = f"{name}: the printed average is sum over sum, as the text says"
    return judge_follows(claim, paper.printed[name], paper.pooled(name), _HALF_OF_LAST_DIGIT)


def panels(paper, scored):
    names = tuple(dict.fromkeys((*paper.right, *scored.f1)))
    right = {
        "paper": [paper.printed.get(name) for name in names],
        "ours": [scored.mean(name) if name in scored.f1 else None for name in names],
    }
    f1 = {"ours": [float(scored.f1[name].mean()) if name in scored.f1 else None for name in names]}
    return Panel("pages right, average", names, right, "%"), Panel("mean F1 of the words left", names, f1, "F1")

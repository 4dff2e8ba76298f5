"""Blocks that PAB and ENIW keep and drop, and the time that they take (pab.txt, 4.1)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from findings import Finding, Panel
from report import Figures
from stand_ins import ARTICLE_SETS, ARTICLES, articles, read
from timing import garbage_frozen, timed
from verdicts import judge_ahead, judge_near, undecided

from cleaning import METHODS
from cleaning.blocks import Reason
from cleaning.clean import decide_leaves
from cleaning.options import Options

PAGES = 500
TOTAL = 120_237
_COUNTED = (
    "Blocks are counted as the paper defines them. PAB takes forms and the like away before it cuts the page "
    "(3.1.1), its noise is the blocks with priority 0.0 (3.1.3), and merged blocks are informative ones (algorithm "
    "3.2.2). ENIW's noise is elements without text and text in the tags that it discards (section 2). Text outside "
    "any block tag is in no block."
)
_READ = (
    "The paper does not say whether an element without text is a block. So there are two readings: blocks with text"
    " only, and elements without text too, which PAB's priorities divide like other blocks."
)
_SAME = (
    "Our ENIW takes PAB's blocks, because the paper prints one total for both methods. So equal blocks are our "
    "reading and no result. Only the texts in forms and the like make the two totals differ."
)
_TIME = (
    "Time is the CPU time of our code for parse and method together. The methods take turns on each page in two "
    "rounds, and the better round counts; only ratios are given."
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of table 4.1.1."""

    informative: int
    noise: int
    seconds: float


PAPER = {"pab": Row(111_918, 8_319, 89.56), "eniw": Row(113_624, 6_613, 95.58)}
# What is noise: priority 0.0 (3.1.3), and what is in discarded tags (section 2). Elements without text are apart.
NOISE = {"pab": (Reason.NO_PRIORITY, Reason.OUTER_LINKS), "eniw": (Reason.FORM, Reason.IRRELEVANT)}
WITH_TEXT, WITH_EMPTY = "blocks with text", "elements without text too"
READINGS = (WITH_TEXT, WITH_EMPTY)
_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Counted:
    """The blocks of a page, or of several: informative ones and noise."""

    informative: int
    noise: int

    @property
    def blocks(self):
        return self.informative + self.noise

    @property
    def share(self):
        return self.noise / max(1, self.blocks)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a method did on each page: its blocks by reason, the empty ones that are noise, and its CPU seconds.

    The seconds have the parse in them.
    """

    method: str
    pages: list
    empty: list
    seconds: list

    @property
    def reasons(self):
        return sum(self.pages, Counter())

    def count(self, reading):
        """Return the blocks of all pages together."""
        pages = self.count_pages(reading)
        return Counted(sum(page.informative for page in pages), sum(page.noise for page in pages))

    def count_pages(self, reading):
        return [self._count(*page, reading) for page in zip(self.pages, self.empty, strict=True)]

    def noise(self, reading):
        return np.array([page.noise for page in self.count_pages(reading)])

    def _count(self, reasons, empty, reading):
        informative = reasons[Reason.KEPT] + reasons[Reason.PAGE_DUPLICATE]
        noise = sum(reasons[reason] for reason in NOISE[self.method])
        if reading == WITH_TEXT:
            return Counted(informative, noise)
        return Counted(informative + reasons[Reason.EMPTY] - empty, noise + empty)


def run(limit=None):
    samples = articles(PAGES, limit)
    measured = measure(samples)
    return Finding(
        "Blocks kept and dropped, and time: PAB and ENIW",
        "Kabir et al. 2015, section 4.1, table 4.1.1",
        f"{len(samples)} {ARTICLES}, for 500 pages of ezinearticles, which are not available",
        (_table(measured), _reasons(measured)),
        _panels(measured),
        _verdicts(measured, [sample.host for sample in samples]),
        tuple(PAPER),
        ARTICLE_SETS,
        notes=(_COUNTED, _READ, _SAME, _TIME),
    )


def _verdicts(measured_by_method, hosts):
    pab, eniw = measured_by_method["pab"], measured_by_method["eniw"]
    faster = 1000 * (np.array(eniw.seconds) - np.array(pab.seconds))
    more = {reading: pab.noise(reading) - eniw.noise(reading) for reading in READINGS}
    return (
        undecided(
            "both methods cut the pages into the same blocks", "our ENIW takes PAB's blocks; this is not a result"
        ),
        *(
            judge_ahead(f"PAB drops more blocks than ENIW: {reading}", more[reading], hosts, " a page")
            for reading in READINGS
        ),
        *(_share_verdict(measured, reading) for measured in measured_by_method.values() for reading in READINGS),
        judge_ahead("PAB takes less time than ENIW", faster, hosts, " ms a page"),
        judge_near(
            "PAB's time is 94 % of ENIW's",
            sum(pab.seconds) / sum(eniw.seconds),
            PAPER["pab"].seconds / PAPER["eniw"].seconds,
        ),
    )


def _share_verdict(measured, reading):
    stated = _share(PAPER[measured.method])
    claim = f"{measured.method.upper()} drops {100 * stated:.1f} % of all blocks: {reading}"
    return judge_near(claim, measured.count(reading).share, stated)


def measure(samples):
    """Return what both methods do on the pages."""
    measured = {method: Measured(method, [], [], []) for method in PAPER}
    with garbage_frozen():
        for sample in samples:
            _measure(sample, measured)
    return measured


def _measure(sample, measured):
    parse_seconds, page = timed(lambda: read(sample))
    best = {}
    for turn in range(_ROUNDS * len(measured)):
        method = list(measured)[turn % len(measured)]
        seconds, judged = timed(lambda method=method: decide_leaves(page, METHODS[method], Options()))
        best[method] = min(best.get(method, seconds), seconds)
        if turn < len(measured):
            decisions = [leaf.decision for leaf in judged]
            measured[method].pages.append(Counter(decision.reason for decision in decisions))
            measured[method].empty.append(sum(_is_empty_noise(method, decision) for decision in decisions))
    for method, seconds in best.items():
        measured[method].seconds.append(parse_seconds + seconds)


def _is_empty_noise(method, decision):
    """Return True for an element without text that is noise: each for ENIW, those with priority 0.0 for PAB."""
    return decision.reason is Reason.EMPTY and (method == "eniw" or decision.block.priority == 0)


def _share(row):
    return row.noise / (row.informative + row.noise)


def _table(measured):
    slowest = PAPER["eniw"].seconds, sum(measured["eniw"].seconds)
    rows = []
    for method, printed in PAPER.items():
        ours = measured[method]
        times = printed.seconds / slowest[0], sum(ours.seconds) / slowest[1]
        rows.append([method, "paper", *_cells(Counted(printed.informative, printed.noise)), f"{times[0]:.3f}"])
        rows += [[method, f"ours: {reading}", *_cells(ours.count(reading)), f"{times[1]:.3f}"] for reading in READINGS]
    head = ("method", "whose", "blocks", "informative", "noise", "share of noise", "time, ENIW = 1")
    return Figures("Table 4.1.1", head, rows)


def _cells(counted):
    return [f"{counted.blocks:,}", f"{counted.informative:,}", f"{counted.noise:,}", f"{counted.share:.1%}"]


def _reasons(measured_by_method):
    names = dict.fromkeys(reason for measured in measured_by_method.values() for reason in measured.reasons)
    rows = [
        [str(reason), *(f"{measured.reasons[reason]:,}" for measured in measured_by_method.values())]
        for reason in names
    ]
    return Figures("Ours by reason, with what is not a block", ("reason", *measured_by_method), rows)


def _panels(measured_by_method):
    shares = {
        "paper": [100 * _share(row) for row in PAPER.values()],
    } | {
        f"ours: {reading}": [100 * measured.count(reading).share for measured in measured_by_method.values()]
        for reading in READINGS
    }
    times = {
        "paper": [row.seconds / PAPER["eniw"].seconds for row in PAPER.values()],
        "ours": [
            sum(measured.seconds) / sum(measured_by_method["eniw"].seconds) for measured in measured_by_method.values()
        ],
    }
    ticks = tuple(PAPER)
    return Panel("blocks dropped as noise", ticks, shares, "%"), Panel("time", ticks, times, "ENIW = 1")

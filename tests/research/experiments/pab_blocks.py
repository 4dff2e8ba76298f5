"""Blocks that PAB and ENIW keep and drop, and the time that they take (pab.txt, 4.1)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from findings import Finding, Panel
from report import Figures
from stand_ins import ARTICLES, articles, read
from timing import settled, timed
from verdicts import judge_ahead, judge_equal, judge_near

from cleaning import METHODS
from cleaning.blocks import Reason
from cleaning.clean import decide_leaves
from cleaning.options import Options

PAGES = 500
TOTAL = 120_237
_NOTE = (
    "Time is CPU time of parse and method together, of the method the better of two rounds on each page, in which the "
    "methods take turns; only ratios are given. Text outside any block is not counted: the paper has no block for it; "
    "of what PAB removes with its contents, as forms, it begins none either, so that each of these texts counts as one."
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of table 4.1.1."""

    informative: int
    noise: int
    seconds: float


PAPER = {"pab": Row(111_918, 8_319, 89.56), "eniw": Row(113_624, 6_613, 95.58)}
# Texts outside any block, for which the paper has no block.
LOOSE = frozenset({Reason.UNBLOCKED})
_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Measured:
    """What a method did on each page: its blocks by reason, and its CPU seconds, parse included."""

    pages: list
    seconds: list

    @property
    def reasons(self):
        return sum(self.pages, Counter())

    @property
    def seen(self):
        return sum(count for reason, count in self.reasons.items() if reason not in LOOSE)

    @property
    def kept(self):
        return self.reasons[Reason.KEPT]

    @property
    def noise(self):
        return self.seen - self.kept

    @property
    def noise_of_pages(self):
        return np.array([_noise(page) for page in self.pages])


def _noise(page):
    return sum(count for reason, count in page.items() if reason is not Reason.KEPT and reason not in LOOSE)


def run(limit=None):
    samples = articles(PAGES, limit)
    found = measure(samples)
    hosts = [sample.host for sample in samples]
    pab, eniw = found["pab"], found["eniw"]
    drops = [one.noise / max(1, one.seen) for one in (pab, eniw)]
    faster = 1000 * (np.array(eniw.seconds) - np.array(pab.seconds))
    return Finding(
        "Blocks kept and dropped, and time: PAB and ENIW",
        "Kabir et al. 2015, section 4.1, table 4.1.1",
        f"{len(samples)} {ARTICLES}, for 500 pages of ezinearticles, which are not to be had",
        (_table(found), _reasons(found)),
        _panels(found),
        (
            judge_equal("both methods cut the pages into the same blocks", pab.seen, eniw.seen),
            judge_ahead("PAB drops more blocks than ENIW", pab.noise_of_pages - eniw.noise_of_pages, hosts, " a page"),
            judge_near("PAB drops 6.9 % of all blocks", drops[0], _share(PAPER["pab"])),
            judge_near("ENIW drops 5.5 % of all blocks", drops[1], _share(PAPER["eniw"])),
            judge_ahead("PAB takes less time than ENIW", faster, hosts, " ms a page"),
            judge_near(
                "PAB's time is 94 % of ENIW's",
                sum(pab.seconds) / sum(eniw.seconds),
                PAPER["pab"].seconds / PAPER["eniw"].seconds,
            ),
        ),
        notes=(_NOTE,),
    )


def measure(samples):
    """Return what both methods do on the pages."""
    found = {method: Measured([], []) for method in PAPER}
    with settled():
        for sample in samples:
            _measure(sample, found)
    return found


def _measure(sample, found):
    parse_seconds, page = timed(lambda: read(sample))
    best = {}
    for turn in range(_ROUNDS * len(found)):
        method = list(found)[turn % len(found)]
        seconds, judged = timed(lambda method=method: decide_leaves(page, METHODS[method], Options()))
        best[method] = min(best.get(method, seconds), seconds)
        if turn < len(found):
            found[method].pages.append(Counter(one.decision.reason for one in judged))
    for method, seconds in best.items():
        found[method].seconds.append(parse_seconds + seconds)


def _share(row):
    return row.noise / (row.informative + row.noise)


def _table(found):
    slowest = PAPER["eniw"].seconds, sum(found["eniw"].seconds)
    rows = []
    for method, printed in PAPER.items():
        ours = found[method]
        times = printed.seconds / slowest[0], sum(ours.seconds) / slowest[1]
        rows.append([method, "paper", *_cells(TOTAL, printed.informative, printed.noise), f"{times[0]:.3f}"])
        rows.append([method, "ours", *_cells(ours.seen, ours.kept, ours.noise), f"{times[1]:.3f}"])
    head = ("method", "whose", "blocks", "informative", "noise", "share of noise", "time, ENIW = 1")
    return Figures("Table 4.1.1", head, rows)


def _cells(seen, kept, noise):
    return [f"{seen:,}", f"{kept:,}", f"{noise:,}", f"{noise / max(1, seen):.1%}"]


def _reasons(found):
    names = dict.fromkeys(reason for one in found.values() for reason in one.reasons)
    rows = [[str(reason), *(f"{one.reasons[reason]:,}" for one in found.values())] for reason in names]
    return Figures("Ours by reason, texts outside any block too", ("reason", *found), rows)


def _panels(found):
    shares = {
        "paper": [100 * _share(row) for row in PAPER.values()],
        "ours": [100 * one.noise / max(1, one.seen) for one in found.values()],
    }
    times = {
        "paper": [row.seconds / PAPER["eniw"].seconds for row in PAPER.values()],
        "ours": [sum(one.seconds) / sum(found["eniw"].seconds) for one in found.values()],
    }
    ticks = tuple(PAPER)
    return Panel("blocks dropped as noise", ticks, shares, "%"), Panel("time", ticks, times, "ENIW = 1")

"""A sweep of the thresholds of each method: how far the text depends on the values that papers give or leave out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from chinese import articles as chinese_articles
from evaluation import LARGEST_PAGE
from findings import Finding, Outcome, Panel, Verdict
from report import Figures
from scores import score_text
from stand_ins import ARTICLE_SETS, ARTICLES, articles, decide, read, text_of
from vce_blocks import SECONDS, render, score
from verdicts import judge_ahead

from cleaning.options import Options
from crawler.fetching.render.browser import Browser

PAGES, RENDERED = 100, 30
ENGLISH, CHINESE, LAID_OUT = "English", "Chinese", "laid out"
PAPER, OURS = "paper", "ours: the paper has no figure"
TRIED = "ours: tried"


@dataclass(frozen=True, slots=True)
class Sweep:
    """The values of an option that are tried; `whose` says who gave the default, `pages` where they are tried."""

    option: str
    values: tuple
    whose: str
    pages: str = ENGLISH

    @property
    def method(self):
        return self.option.partition("_")[0]

    @property
    def default(self):
        return getattr(Options(), self.option)

    def options(self, value):
        """Return the options with this value; the weights of `weighted` sum to 1."""
        if self.option != "weighted_gamma":
            return replace(Options(), **{self.option: value})
        rest = (1 - value) / 2
        return replace(Options(), weighted_alpha=rest, weighted_beta=rest, weighted_gamma=value)


_SUBTREE = (
    ("subtree_generations", (1, 2, 3, 4), PAPER),
    ("subtree_alpha", (10, 20, 40, 80, 160), PAPER),
    ("subtree_beta", (25, 50, 100, 200, 400), PAPER),
    ("subtree_gamma", (0.1, 0.2, 0.3, 0.5, 0.7), PAPER),
)
SWEEPS = (
    Sweep("weighted_gamma", (0.34, 0.4, 0.6, 0.8, 1.0), PAPER),
    Sweep("weighted_distance", (0, 1, 3, 5, 7), PAPER),
    Sweep("weighted_small_words", (0, 5, 10, 20, 40), OURS),
    Sweep("pab_outer_share", (0.0, 0.25, 0.5, 0.75, 1.0), PAPER),
    Sweep("coreex_link_ratio", (0.5, 0.7, 0.8, 0.9, 0.95), OURS),
    Sweep("coreex_weight", (0.5, 0.8, 0.9, 0.99, 1.0), OURS),
    Sweep("econ_min_marks", (1, 2, 4, 8), OURS),
    *(Sweep(*sweep, pages) for pages in (CHINESE, ENGLISH) for sweep in _SUBTREE),
    Sweep("vce_threshold", (0, 1, 2, 3, 4, 5), OURS, LAID_OUT),
    Sweep("vce_link_density", (0.1, 0.3, 0.5, 0.7, 0.9), OURS, LAID_OUT),
    Sweep("kfe_clusters", (2, 3, 4, 6, 8), OURS, LAID_OUT),
)
_NOTE = (
    "One option is changed at a time, the others keep their defaults. F1 is that of the kept words; for pages that a "
    "browser lays out it is that of blocks, as in `vce`. γ of `weighted` is tried with α = β, so that they sum to 1. "
    "`eniw`, `tags`, `fe` and `informative_sections` have no threshold. `default` has none either: it is learned. "
    "`weighted` names CoreEx without its figures, so ours are those that its own paper is known for."
)
_BEST_NOTE = (
    "The best of the tried values was chosen on the pages it is judged on. That favours it, so `not reproduced` says "
    "less than elsewhere, and `reproduced` says that no tried value is ahead."
)


def run(limit=None):
    """Return the finding; raises RenderError where there is no browser."""
    pages = {ENGLISH: articles(PAGES, limit), CHINESE: chinese_articles()[:limit], LAID_OUT: articles(RENDERED, limit)}
    parsed = {name: [(read(sample), sample) for sample in pages[name]] for name in (ENGLISH, CHINESE)}
    with Browser(seconds=SECONDS, max_bytes=LARGEST_PAGE) as browser:
        parsed[LAID_OUT] = list(render(pages[LAID_OUT], browser))
    scores = {sweep: measure(sweep, parsed[sweep.pages]) for sweep in SWEEPS}
    hosts = {name: [sample.host for _, sample in samples] for name, samples in parsed.items()}
    return Finding(
        "How far the text depends on the thresholds",
        "The parameters of all four papers and of the methods that they compare with",
        f"{len(parsed[ENGLISH])} {ARTICLES}; {len(parsed[CHINESE])} Chinese articles of magic-dev; "
        f"{len(parsed[LAID_OUT])} of the English ones as a browser lays them out",
        (_table(scores),),
        _panels(scores),
        tuple(judge(sweep, of_values, hosts[sweep.pages]) for sweep, of_values in scores.items()),
        tuple(dict.fromkeys(sweep.method for sweep in SWEEPS)),
        (*ARTICLE_SETS, "magic-dev"),
        notes=(_NOTE, _BEST_NOTE),
    )


def measure(sweep, pages):
    """Return the F1 of each page by value."""
    return {
        value: np.array(
            [_f1(sweep, decide(page, sweep.method, sweep.options(value)), sample) for page, sample in pages]
        )
        for value in sweep.values
    }


def _f1(sweep, decisions, sample):
    if sweep.pages != LAID_OUT:
        return score_text(text_of(decisions), sample.text, 1).f1
    blocks = score(decisions, sample.text)
    return blocks.f if blocks else 0.0


def judge(sweep, f1_by_value, hosts):
    """Judge that no tried value is ahead of the default."""
    claim = f"{sweep.option} = {sweep.default:g}: no tried value leaves a better text ({sweep.pages})"
    best = max(f1_by_value, key=lambda value: f1_by_value[value].mean())
    if f1_by_value[best].mean() <= f1_by_value[sweep.default].mean():
        return Verdict(claim, Outcome.REPRODUCED, f"mean F1 {f1_by_value[best].mean():.3f} is the highest")
    ahead = judge_ahead(claim, f1_by_value[best] - f1_by_value[sweep.default], hosts)
    outcome = Outcome.NOT_REPRODUCED if ahead.outcome == Outcome.REPRODUCED else Outcome.UNDECIDED
    return Verdict(claim, outcome, f"{best:g}: {ahead.reason}")


def _table(scores):
    rows = []
    for sweep, f1_by_value in scores.items():
        for value, f1 in f1_by_value.items():
            whose = sweep.whose if value == sweep.default else TRIED
            rows.append([sweep.pages, sweep.option, f"{value:g}", whose, f"{f1.mean():.3f}"])
    return Figures("Mean F1", ("pages", "option", "value", "whose", "F1"), rows)


def _panels(scores):
    return tuple(
        Panel(
            f"{sweep.option} ({sweep.pages})",
            tuple(f"{value:g}" for value in f1_by_value),
            {"F1": [float(f1.mean()) for f1 in f1_by_value.values()]},
            "mean F1",
            lines=True,
            bounds=(0.0, 1.0),
        )
        for sweep, f1_by_value in scores.items()
    )

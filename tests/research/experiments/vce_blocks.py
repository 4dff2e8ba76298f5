"""Blocks rightly extracted: VCE beside K-FE, on pages as a browser lays them out (vce.txt, section 3, table 1)."""

from __future__ import annotations

import sys
from dataclasses import astuple, dataclass

import numpy as np
from evaluation import LARGEST_PAGE
from findings import Finding, Panel
from report import Figures
from stand_ins import ARTICLE_SETS, ARTICLES, articles, decide
from verdicts import judge_ahead, judge_possible, judge_reached

from cleaning import PageError
from cleaning.training.gold import label_blocks
from crawler.errors import RenderError
from crawler.fetching.render.browser import Browser

PAGES = 30
SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Block:
    """Block F-measure, recall and precision, in the order in which the paper prints them."""

    f: float
    recall: float
    precision: float


# Table 1.
PAPER = {
    "vce": {
        "ABC": Block(1, 1, 1),
        "BBC": Block(0.98, 1, 0.98),
        "CBS": Block(1, 1, 1),
        "CNN": Block(1, 1, 1),
        "FOX23": Block(1, 1, 1),
        "MSNBC": Block(1, 1, 1),
    },
    "kfe": {
        "ABC": Block(1, 1, 1),
        "BBC": Block(1, 1, 1),
        "CBS": Block(0.978, 0.77, 0.98),
        "CNN": Block(0.98, 0.98, 0.98),
        "FOX23": Block(1, 1, 1),
        "MSNBC": Block(0.95, 1, 0.92),
    },
}
_CONTENT = 0.5  # of a block's words in the gold text, from which on it is content
_HALF_OF_LAST_DIGIT = 0.005
_NOTE = (
    f"A block is content if at least {_CONTENT:.0%} of it belongs to the gold text. Precision is the share of the "
    "kept blocks that are content, recall the share of the content that is kept, each page by itself; each method is"
    " judged by its own blocks of the rendered page. The pages are laid out without scripts and with the network "
    "denied: style sheets and pictures of other files are missing, which a browser that visits a page has. Of five "
    "of the six sites pages are saved, without gold texts; of FOX23 there is none. The paper prints MSNBS for MSNBC."
)


def run(limit=None):
    """Return the finding; raises RenderError where there is no browser."""
    samples = articles(PAGES, limit)
    with Browser(seconds=SECONDS, max_bytes=LARGEST_PAGE) as browser:
        scored = measure(samples, browser)
    return Finding(
        "Blocks rightly extracted",
        "Sivakumar and Parvathi, section 3, table 1",
        f"{len(scored)} {ARTICLES}, for a data set of over 5,000 pages, of which the table shows six sites",
        (_table(scored),),
        _panels(scored),
        _verdicts(scored),
        tuple(PAPER),
        ARTICLE_SETS,
        notes=(
            _NOTE,
            f"{len(samples) - len(scored)} of {len(samples)} pages could not be rendered, or have no content.",
        ),
    )


def measure(samples, browser):
    """Return the scores of both methods by page, those left out that cannot be rendered or have no content block."""
    scores_of_samples = {}
    for sample in samples:
        try:
            page = browser.render(sample.body, sample.url)
        except (RenderError, PageError) as error:
            print(f"{sample.id}: {error}", file=sys.stderr)
            continue
        scores = {method: score(decide(page, method), sample.text) for method in PAPER}
        if all(scores.values()):
            scores_of_samples[sample] = scores
    return scores_of_samples


def score(decisions, gold):
    """Return the score of a page's blocks; None where none is content."""
    kept = np.array([decision.kept for decision in decisions], bool)
    content = label_blocks([decision.block.text for decision in decisions], gold) >= _CONTENT
    if not content.any():
        return None
    right = int((kept & content).sum())
    recall, precision = right / int(content.sum()), right / max(1, int(kept.sum()))
    return Block(harmonic(recall, precision), recall, precision)


def harmonic(recall, precision):
    return 2 * recall * precision / (recall + precision) if recall + precision else 0.0


def _verdicts(scored):
    hosts = [sample.host for sample in scored]
    f1 = {method: np.array([scores[method].f for scores in scored.values()]) for method in PAPER}
    worst = min(site.f for site in PAPER["vce"].values())
    return (
        judge_reached(f"VCE's block F is {worst:g} or more on every site", f1["vce"], hosts, worst),
        judge_ahead("VCE's block F is above K-FE's", f1["vce"] - f1["kfe"], hosts),
        *(_can_be(method, name, site) for method, sites in PAPER.items() for name, site in sites.items()),
    )


def _can_be(method, name, site):
    """Judge that F can be the mean of the pages', whose means of recall and precision are printed.

    It is largest where all pages are alike, F being concave, and smallest where each is wholly right or wholly wrong.
    """
    claim = f"{method}, {name}: the printed F can be, with this recall and precision"
    bounds = (max(0.0, site.recall + site.precision - 1), harmonic(site.recall, site.precision))
    return judge_possible(claim, site.f, bounds, _HALF_OF_LAST_DIGIT)


def _table(scored):
    rows = [_row(method, name, site) for method, sites in PAPER.items() for name, site in sites.items()]
    for method in PAPER:
        means = [f"{mean:.3f}" for mean in _means(scored, method)]
        rows += [[method, f"ours: {len(scored)} pages", *means, ""]]
    return Figures("Table 1", ("method", "whose", "F", "recall", "precision", "2PR/(P+R)"), rows)


def _row(method, name, site):
    printed = [f"{value:g}" for value in astuple(site)]
    return [method, f"paper: {name}", *printed, f"{harmonic(site.recall, site.precision):.3f}"]


def _means(scored, method):
    """Return the means of F, recall and precision over the pages; 0 where there is none."""
    values = [astuple(scores[method]) for scores in scored.values()]
    return np.mean(values, axis=0).tolist() if values else [0.0, 0.0, 0.0]


def _panels(scored):
    sites = tuple(PAPER["vce"])
    paper = {method: [site.f for site in of_sites.values()] for method, of_sites in PAPER.items()}
    ours = {method: _means(scored, method) for method in PAPER}
    return (
        Panel("paper: block F", sites, paper, "F"),
        Panel(f"ours: means over {len(scored)} pages", ("F", "recall", "precision"), ours, ""),
    )

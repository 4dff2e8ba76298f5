"""Blocks rightly extracted: VCE beside K-FE, on pages as a browser lays them out (vce.txt, section 3, table 1)."""

from __future__ import annotations

import sys
from dataclasses import astuple, dataclass

import numpy as np
from evaluation import LARGEST_PAGE
from findings import Finding, Panel
from report import Figures
from stand_ins import ARTICLES, LEAST_STYLES, STYLED_SETS, articles, articles_with_styles, decide
from verdicts import judge_ahead, judge_possible, judge_reached

from cleaning import PageError
from crawler.errors import RenderError
from crawler.fetching.render.browser import Browser
from research.training.gold import label_blocks

PAGES = 30
WITHOUT, WITH = "without linked styles", "with all their styles"
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
    "denied: style sheets and pictures of other files are missing, which a browser that visits a page has. Five of "
    "the six sites have saved pages, without gold texts; FOX23 has no saved page. The paper prints MSNBS for MSNBC."
)
_STYLES_NOTE = (
    f"`{WITH}` are pages that link to no style sheet and have {LEAST_STYLES:,} characters or more of their own. "
    "So they look as they do to a visitor, but for pictures and what scripts change."
)


def run(limit=None):
    """Return the finding; raises RenderError where there is no browser."""
    samples = {WITHOUT: articles(PAGES, limit), WITH: articles_with_styles(limit)}
    with Browser(seconds=SECONDS, max_bytes=LARGEST_PAGE) as browser:
        groups = {name: measure(group, browser) for name, group in samples.items()}
    count = sum(map(len, samples.values()))
    return Finding(
        "Blocks rightly extracted",
        "Sivakumar and Parvathi, section 3, table 1",
        f"{len(groups[WITHOUT])} {ARTICLES}, and the {len(groups[WITH])} articles of {', '.join(STYLED_SETS)} that "
        "hold all their style sheets, for a data set of over 5,000 pages, of which the table shows six sites",
        (_table(groups),),
        _panels(groups),
        _verdicts(groups),
        tuple(PAPER),
        STYLED_SETS,
        notes=(
            _NOTE,
            _STYLES_NOTE,
            f"{count - sum(map(len, groups.values()))} of {count} pages could not be rendered, or have no content.",
        ),
    )


def measure(samples, browser):
    """Return the scores of both methods by page, those left out that cannot be rendered or have no content block."""
    scores_of_samples = {}
    for page, sample in render(samples, browser):
        scores = {method: score(decide(page, method), sample.text) for method in PAPER}
        if all(scores.values()):
            scores_of_samples[sample] = scores
    return scores_of_samples


def render(samples, browser):
    """Yield the pages as the browser lays them out, each with its sample; what cannot be rendered is left out."""
    for sample in samples:
        try:
            page = browser.render(sample.body, sample.url)
        except (RenderError, PageError) as error:
            print(f"{sample.id}: {error}", file=sys.stderr)
            continue
        yield page, sample


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


def _verdicts(groups):
    ours = (verdict for name, scored in groups.items() for verdict in _verdicts_of(name, scored))
    return (*ours, *(_can_be(method, name, site) for method, sites in PAPER.items() for name, site in sites.items()))


def _verdicts_of(name, scored):
    hosts = [sample.host for sample in scored]
    f1 = {method: np.array([scores[method].f for scores in scored.values()]) for method in PAPER}
    worst = min(site.f for site in PAPER["vce"].values())
    return (
        judge_reached(f"VCE's block F is {worst:g} or more on every site: {name}", f1["vce"], hosts, worst),
        judge_ahead(f"VCE's block F is above K-FE's: {name}", f1["vce"] - f1["kfe"], hosts),
    )


def _can_be(method, name, site):
    """Judge that F can be the mean of the pages', whose means of recall and precision are printed.

    It is largest where all pages are alike, F being concave, and smallest where each is wholly right or wholly wrong.
    """
    claim = f"{method}, {name}: the printed F can be, with this recall and precision"
    bounds = (max(0.0, site.recall + site.precision - 1), harmonic(site.recall, site.precision))
    return judge_possible(claim, site.f, bounds, _HALF_OF_LAST_DIGIT)


def _table(groups):
    rows = [_row(method, name, site) for method, sites in PAPER.items() for name, site in sites.items()]
    for name, scored in groups.items():
        for method in PAPER:
            means = [f"{mean:.3f}" for mean in _means(scored, method)]
            rows.append([method, f"ours: {len(scored)} pages {name}", *means, ""])
    return Figures("Table 1", ("method", "whose", "F", "recall", "precision", "2PR/(P+R)"), rows)


def _row(method, name, site):
    printed = [f"{value:g}" for value in astuple(site)]
    return [method, f"paper: {name}", *printed, f"{harmonic(site.recall, site.precision):.3f}"]


def _means(scored, method):
    """Return the means of F, recall and precision over the pages; 0 where there is none."""
    values = [astuple(scores[method]) for scores in scored.values()]
    return np.mean(values, axis=0).tolist() if values else [0.0, 0.0, 0.0]


def _panels(groups):
    sites = tuple(PAPER["vce"])
    paper = {method: [site.f for site in of_sites.values()] for method, of_sites in PAPER.items()}
    ours = (
        Panel(
            f"ours: {len(scored)} pages {name}",
            ("F", "recall", "precision"),
            {method: _means(scored, method) for method in PAPER},
            "",
        )
        for name, scored in groups.items()
    )
    return (Panel("paper: block F", sites, paper, "F"), *ours)

"""The pages that stand in for those of the papers, which are not available, and what methods decide on them."""

from __future__ import annotations

from functools import cache

import corpus
from evaluation import LARGEST_PAGE

from cleaning import METHODS, parse
from cleaning.clean import decide_page
from cleaning.metadata.languages import identify_language
from cleaning.metadata.statements import read_statements
from cleaning.options import Options

ARTICLE_SETS = ("wcxb-dev", "fundus-dev")
STYLED_SETS = ("wcxb-dev", "fundus-dev", "magic-dev")
LEAST_STYLES = 5_000  # characters
ARTICLES = "English articles of wcxb-dev and English news of fundus-dev, chosen by their hashes"


def articles(most, limit):
    """Return English articles with their gold texts: `most` of them, or `limit` where that is fewer."""
    return corpus.pin(_english(), limited(most, limit))


@cache
def _english():
    articles = [sample for sample in corpus.read_samples("wcxb-dev") if sample.type == "article"]
    return articles + [sample for sample in corpus.read_samples("fundus-dev") if identify_language(sample.text) == "en"]


def articles_with_styles(limit):
    """Return articles whose pages hold all their style sheets: they link to none, and their own are long."""
    samples = (sample for name in STYLED_SETS for sample in corpus.read_samples(name) if sample.type == "article")
    return corpus.pin(filter(_holds_its_styles, samples), limit)


def _holds_its_styles(sample):
    root = read(sample).root
    linked = any("stylesheet" in link.get("rel", "").lower() for link in root.iter("link"))
    return not linked and sum(len(style.text or "") for style in root.iter("style")) >= LEAST_STYLES


def limited(most, limit):
    return most if limit is None else min(most, limit)


def read(sample):
    return parse(sample.body, sample.url, max_bytes=LARGEST_PAGE)


def decide(page, method, options=None):
    """Return a method's decisions on a page, with its default options if none are given."""
    return decide_page(page, read_statements(page.root), METHODS[method], options or Options()).decisions


def text_of(decisions, reasons=None):
    """Return the kept texts, a line each; or those of all decisions with one of these reasons."""
    chosen = (decision for decision in decisions if (decision.kept if reasons is None else decision.reason in reasons))
    return "\n".join(decision.block.text for decision in chosen)

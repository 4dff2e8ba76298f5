"""Texts of a page beside what it states of itself: which are of the article's text, which are like a description."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cleaning.compiled import compiled_words
from cleaning.learned.facts import RUN, runs
from cleaning.terms import tokenise

if TYPE_CHECKING:
    from cleaning.learned.facts import Facts

# Lengths in characters of the texts that are compared at all, with the article's text, and with descriptions.
FEWEST_CHARS = 20
BODY_CHARS = 30
MOST_SUMMARY_CHARS = 600


def compare(texts: list[str], facts: Facts) -> np.ndarray:
    """Return two figures of each text (2 x n, float64).

    The first is the share of its runs of words that are in the stated body, -1 where that cannot be told; the second
    the greatest share of words that it has in common with a description, of the words of both; 0 without descriptions.
    """
    module = compiled_words()
    if module is None:
        return np.array([_compare(text, facts) for text in texts], np.float64).reshape(-1, 2).T
    found: np.ndarray = module.compare(texts, facts)
    return found


def _compare(text: str, facts: Facts) -> tuple[float, float]:
    in_body = len(text) >= BODY_CHARS and bool(facts.body)
    in_summaries = len(text) <= MOST_SUMMARY_CHARS and bool(facts.summaries)
    words = tokenise(text) if in_body or in_summaries else []
    share, likeness = -1.0, 0.0
    if in_body and len(words) >= RUN:
        found = list(runs(words))
        share = sum(map(facts.body.__contains__, found)) / len(found)
    if in_summaries:
        seen = set(words)
        likeness = max(len(seen & one) / max(1, len(seen | one)) for one in facts.summaries)
    return share, likeness

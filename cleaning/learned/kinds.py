"""What sort of page it is, an article, a forum, a product: from the page as a whole and the words of its address."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from cleaning.blocks import PageType
from cleaning.learned.lexicon import element_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cleaning.learned.facts import Facts
    from cleaning.scan import Scan

TYPES = tuple(PageType)
NAMES = [f"words_of_{each}" for each in TYPES]
_WORD = re.compile("[a-z]+")
_OUTER = 2  # the outermost elements, whose signs are often about the page


def page_words(scan: Scan, facts: Facts) -> frozenset[str]:
    """Return the words that may tell a page's type: of its address, its stated types and its outermost elements."""
    found = {f"u:{word}" for word in _WORD.findall(facts.path.lower())}
    found |= {f"h:{word}" for word in _WORD.findall(facts.host.lower())}
    found |= {f"y:{name}" for name in facts.types}
    for tag, signs in zip(scan.tags[:_OUTER], scan.node_signs[:_OUTER], strict=True):
        found |= {f"b:{word}" for word in element_words(tag, signs)}
    return frozenset(found)


def word_sums(words: frozenset[str], scores: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return for each of TYPES the sum of the words' scores; 0 where none is known."""
    found = [scores[word] for word in sorted(words) if word in scores]
    sums: np.ndarray = np.sum(found, axis=0) if found else np.zeros(len(TYPES))
    return sums

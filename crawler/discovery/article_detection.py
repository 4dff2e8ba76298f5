"""Decide whether a cleaned page is an article, by the running text that cleaning kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from cleaning.blocks import PageType

if TYPE_CHECKING:
    from cleaning.structure.clean_page import CleanPage

LONG_BLOCK_WORDS = 20
"""A block of this many words or more is running text; a shorter one may be a headline or a teaser."""

DETECTION_METHOD = "default"
"""The cleaning method whose pages can be judged. Some of the other methods keep little of whole articles."""

# Set on 162 articles and 24 section pages of news portals, and on 225 articles and 94 listings of wcxb-dev. Higher
# values lose more short articles than they exclude listings with summaries (research/discovery.py --outcomes).
_LONG_WORDS_MIN = 100
_LONG_SHARE_MIN = 0.3
_LISTING_CONFIDENCE_MIN = 0.5


@dataclass(frozen=True, slots=True)
class RunningText:
    """The number of words that were kept of a page, and how many of them are in long blocks."""

    words: int
    long_words: int

    @classmethod
    def of(cls, cleaned: CleanPage) -> Self:
        """Return the word counts of a cleaned page."""
        words = [block.words for block in cleaned.kept]
        return cls(sum(words), sum(count for count in words if count >= LONG_BLOCK_WORDS))

    @property
    def is_article(self) -> bool:
        """True if enough words, and a large enough share of them, are in long blocks; False for an empty page."""
        return self.long_words >= max(_LONG_WORDS_MIN, _LONG_SHARE_MIN * self.words)


def is_article(cleaned: CleanPage) -> bool | None:
    """Return True for an article, False for any other page, and None for a page cleaned by another method.

    An article has running text, and the page type model does not take it for a listing. The other page types are
    ignored: the model saw few Chinese pages and often takes Chinese articles for collections.
    """
    if cleaned.method != DETECTION_METHOD:
        return None
    if cleaned.type is PageType.LISTING and (cleaned.confidence or 0.0) >= _LISTING_CONFIDENCE_MIN:
        return False
    return RunningText.of(cleaned).is_article

"""Decide whether a cleaned page is an article, by the running text that cleaning kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from cleaning.blocks import PageType

if TYPE_CHECKING:
    from cleaning.blocks import CleanPage


LONG_BLOCK_WORDS = 20
"""Words from which on a block is running text, and no headline or teaser."""

DETECTION_METHOD = "default"
"""The method whose blocks are judged. Others keep by other rules, some of them nothing of a whole article."""

# Set on 162 articles and 24 section pages saved from portals, 225 articles and 94 listings of wcxb-dev: more words, or
# a larger share, cost more short articles than they find listings with summaries. docs/discovery.md has the figures.
_LONG_WORDS_MIN = 100
_LONG_SHARE_MIN = 0.3
_LISTING_CONFIDENCE_MIN = 0.5


@dataclass(frozen=True, slots=True)
class RunningText:
    """How many words were kept of a page, and how many of them stand in long blocks."""

    words: int
    long_words: int

    @classmethod
    def of(cls, cleaned: CleanPage) -> Self:
        """Return the prose of a cleaned page."""
        words = [block.words for block in cleaned.kept]
        return cls(sum(words), sum(count for count in words if count >= LONG_BLOCK_WORDS))

    @property
    def is_article(self) -> bool:
        """Whether it reads like a story, a report or a post; an empty page does not."""
        return self.long_words >= max(_LONG_WORDS_MIN, _LONG_SHARE_MIN * self.words)


def is_article(cleaned: CleanPage) -> bool | None:
    """Tell whether a cleaned page is an article: it has prose, and is not told to be a listing with confidence.

    None where it was not cleaned by `JUDGED_METHOD`.
    Of page types only that one is asked: on pages in Chinese, of which the model saw few, articles are often taken for
    collections.
    """
    if cleaned.method != DETECTION_METHOD:
        return None
    if cleaned.type is PageType.LISTING and (cleaned.confidence or 0.0) >= _LISTING_CONFIDENCE_MIN:
        return False
    return RunningText.of(cleaned).is_article

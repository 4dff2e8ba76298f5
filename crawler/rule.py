"""Which responses of a project of others are pages: by their URL, or by the type that cleaning finds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cleaning.blocks import PageType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from cleaning.blocks import CleanPage

_MOST_PATTERNS = 100
_LONGEST_PATTERN = 500
# A pattern that tries again and again takes longer on longer texts, and the URLs are not ours.
_LONGEST_URL = 2_000


@dataclass(frozen=True, slots=True)
class PageRule:
    """A URL that one of the patterns finds is a page's; so is a page of one of the types, where that is sure enough."""

    patterns: tuple[re.Pattern[str], ...]
    types: frozenset[str]
    least_confidence: float

    @classmethod
    def of(cls, patterns: Sequence[str], types: Sequence[str], least_confidence: float) -> Self:
        """Return the rule; without patterns and types it asks for articles.

        Raises ValueError for too many patterns, one that is too long, and one that is no regular expression.
        """
        if len(patterns) > _MOST_PATTERNS:
            raise ValueError(f"{len(patterns)} regular expressions; it takes {_MOST_PATTERNS} at most")
        wanted = frozenset(types) if patterns or types else frozenset({PageType.ARTICLE})
        return cls(tuple(_compiled(text) for text in patterns), wanted, least_confidence)

    def takes_url(self, url: str) -> bool:
        """Tell whether what stands at this URL is a page; one of more than 2,000 characters is no page's."""
        return len(url) <= _LONGEST_URL and any(pattern.search(url) for pattern in self.patterns)

    def takes_type(self, cleaned: CleanPage | None) -> bool:
        """Tell whether a cleaned page is of a type that is asked for."""
        if cleaned is None or cleaned.type is None:
            return False
        return cleaned.type in self.types and (cleaned.confidence or 0.0) >= self.least_confidence


def _compiled(text: str) -> re.Pattern[str]:
    if len(text) > _LONGEST_PATTERN:
        raise ValueError(f"a regular expression of {len(text)} characters; it takes {_LONGEST_PATTERN} at most")
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{text!r} is no regular expression ({error})") from error

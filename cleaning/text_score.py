"""How well an extracted text agrees with a gold text: precision, recall and F1 of their words as multisets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cleaning.terms import UNSPACED

if TYPE_CHECKING:
    from collections import Counter

_CHARACTER = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class TextScore:
    """F1, precision and recall of a text against the gold text (0 to 1)."""

    f1: float
    precision: float
    recall: float


def split_characters(text: str) -> list[str]:
    """Return the words of a text, and each character of a script without spaces as a word."""
    return _CHARACTER.findall(text.lower())


def score_bags(ours: Counter[Any], theirs: Counter[Any]) -> TextScore:
    """Return the score of a text's words, or other parts, against those of the gold text; 1 if neither has any."""
    if not ours and not theirs:
        return TextScore(1.0, 1.0, 1.0)
    common = (ours & theirs).total()
    precision, recall = common / max(1, ours.total()), common / max(1, theirs.total())
    return TextScore(2 * precision * recall / (precision + recall) if common else 0.0, precision, recall)

"""How well a text agrees with the gold one: F1, precision and recall over multisets of shingles."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from cleaning.training.labels import split_words


@dataclass(frozen=True, slots=True)
class Score:
    """Shares of 0 to 1."""

    f1: float
    precision: float
    recall: float


def score(found: str, gold: str, size: int) -> Score:
    """Return the score of a text against the gold one, over shingles of so many words; 1 where both have none."""
    ours, theirs = shingles(found, size), shingles(gold, size)
    common = (ours & theirs).total()
    if not ours and not theirs:
        return Score(1.0, 1.0, 1.0)
    precision, recall = common / max(1, ours.total()), common / max(1, theirs.total())
    return Score(2 * precision * recall / (precision + recall) if common else 0.0, precision, recall)


def shingles(text: str, size: int) -> Counter[tuple[str, ...]]:
    """Return how often each run of so many words stands in a text; nothing for a shorter one."""
    words = split_words(text)
    return Counter(zip(*(words[place:] for place in range(size)), strict=False))

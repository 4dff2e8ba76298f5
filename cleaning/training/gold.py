"""Gold texts: which blocks of a page belong to one, and how well an extracted text agrees with it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cleaning.classifier.signals import word_runs

if TYPE_CHECKING:
    from collections.abc import Sequence


_WORD = re.compile(r"\w+")  # as the scores of extraction count words
_LONG = 6  # words; a shorter text may stand in the gold text by chance
_MOSTLY = 0.5
_COVERED = 0.8  # of a doubtful block's words must still be missing


def split_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def label_blocks(texts: Sequence[str], gold: str) -> np.ndarray:
    """Return for each text the share of it (n, float32, 0 to 1) that belongs to the gold text.

    Long texts that stand once on the page are told by their runs of three words. Short and repeated ones are doubtful:
    from those nearest to a sure one on, each counts while the gold text has words that nothing has claimed yet, so
    that a word of a menu is not taken for the same word in the text.
    """
    words = [split_words(text) for text in texts]
    shares = _shares(words, gold)
    times = Counter(texts)
    long = np.array([len(of_text) >= _LONG for of_text in words], bool)
    once = np.array([times[text] == 1 for text in texts], bool)
    sure = long & once & (shares >= _MOSTLY)
    left = Counter(split_words(gold))
    for place in np.flatnonzero(sure):
        left.subtract(words[place])
    labels = np.where(sure | (long & (shares < _MOSTLY)), shares, 0.0)
    for doubtful in _nearest_first(np.flatnonzero(sure), np.flatnonzero(~sure & (shares >= _MOSTLY))):
        missing = sum(min(count, max(0, left[word])) for word, count in Counter(words[doubtful]).items())
        if missing >= _COVERED * len(words[doubtful]):
            labels[doubtful] = shares[doubtful]
            left.subtract(words[doubtful])
    return labels.astype(np.float32)


def _shares(words: Sequence[list[str]], gold: str) -> np.ndarray:
    gold_words = split_words(gold)
    known, joined = set(word_runs(gold_words)), f" {' '.join(gold_words)} "
    return np.array([_share_of(of_text, known, joined) for of_text in words], np.float64)


def _share_of(words: list[str], known: set[tuple[str, ...]], joined: str) -> float:
    if not words:
        return 0.0
    if len(words) < _LONG:
        return float(f" {' '.join(words)} " in joined)
    found = list(word_runs(words))
    return sum(run in known for run in found) / len(found)


def _nearest_first(sure: np.ndarray, doubtful: np.ndarray) -> list[int]:
    if not len(sure):
        return [int(place) for place in doubtful]
    after = np.searchsorted(sure, doubtful)
    before, after = sure[np.maximum(after - 1, 0)], sure[np.minimum(after, len(sure) - 1)]
    distances = np.minimum(np.abs(doubtful - before), np.abs(doubtful - after))
    return [int(doubtful[index]) for index in np.argsort(distances, kind="stable")]


@dataclass(frozen=True, slots=True)
class TextScore:
    """Shares of 0 to 1."""

    f1: float
    precision: float
    recall: float


def score_text(found: str, gold: str, size: int) -> TextScore:
    """Return the score of a text against the gold one, over shingles of so many words; 1 where both have none."""
    ours, theirs = shingles(found, size), shingles(gold, size)
    common = (ours & theirs).total()
    if not ours and not theirs:
        return TextScore(1.0, 1.0, 1.0)
    precision, recall = common / max(1, ours.total()), common / max(1, theirs.total())
    return TextScore(2 * precision * recall / (precision + recall) if common else 0.0, precision, recall)


def shingles(text: str, size: int) -> Counter[tuple[str, ...]]:
    """Return how often each run of so many words stands in a text; nothing for a shorter one."""
    words = split_words(text)
    return Counter(zip(*(words[place:] for place in range(size)), strict=False))

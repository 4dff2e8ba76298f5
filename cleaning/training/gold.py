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
_LONG_WORDS = 6  # a shorter text can be in the gold text by chance
_MOSTLY = 0.5
_MIN_UNCLAIMED = 0.8  # share of a doubtful block's words that the gold text must still have unclaimed


def split_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def label_blocks(texts: Sequence[str], gold: str) -> np.ndarray:
    """Return for each text its share (n, float32, 0 to 1) that belongs to the gold text.

    A long text that occurs once on the page is decided by its runs of three words. Short and repeated texts are
    doubtful: in the order of their distance to a sure text, each counts while the gold text has unclaimed words for it.
    So a word in a menu does not count for the same word in the text.
    """
    words = [split_words(text) for text in texts]
    shares = _shares(words, gold)
    times = Counter(texts)
    long = np.array([len(of_text) >= _LONG_WORDS for of_text in words], bool)
    once = np.array([times[text] == 1 for text in texts], bool)
    sure = long & once & (shares >= _MOSTLY)
    left = Counter(split_words(gold))
    for index in np.flatnonzero(sure):
        left.subtract(words[index])
    labels = np.where(sure | (long & (shares < _MOSTLY)), shares, 0.0)
    for doubtful in _nearest_first(np.flatnonzero(sure), np.flatnonzero(~sure & (shares >= _MOSTLY))):
        missing = sum(min(count, max(0, left[word])) for word, count in Counter(words[doubtful]).items())
        if missing >= _MIN_UNCLAIMED * len(words[doubtful]):
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
    if len(words) < _LONG_WORDS:
        return float(f" {' '.join(words)} " in joined)
    found = list(word_runs(words))
    return sum(run in known for run in found) / len(found)


def _nearest_first(sure: np.ndarray, doubtful: np.ndarray) -> list[int]:
    if not len(sure):
        return [int(index) for index in doubtful]
    after = np.searchsorted(sure, doubtful)
    before, after = sure[np.maximum(after - 1, 0)], sure[np.minimum(after, len(sure) - 1)]
    distances = np.minimum(np.abs(doubtful - before), np.abs(doubtful - after))
    return [int(doubtful[index]) for index in np.argsort(distances, kind="stable")]


@dataclass(frozen=True, slots=True)
class TextScore:
    """F1, precision and recall of a text against the gold text (0 to 1)."""

    f1: float
    precision: float
    recall: float


def score_text(found: str, gold: str, size: int) -> TextScore:
    """Return the score of a text against the gold text, over shingles of `size` words; 1 if neither has any."""
    ours, theirs = shingles(found, size), shingles(gold, size)
    common = (ours & theirs).total()
    if not ours and not theirs:
        return TextScore(1.0, 1.0, 1.0)
    precision, recall = common / max(1, ours.total()), common / max(1, theirs.total())
    return TextScore(2 * precision * recall / (precision + recall) if common else 0.0, precision, recall)


def shingles(text: str, size: int) -> Counter[tuple[str, ...]]:
    """Return the count of each run of `size` words in a text; empty for a shorter text."""
    words = split_words(text)
    return Counter(zip(*(words[index:] for index in range(size)), strict=False))

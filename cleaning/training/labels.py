"""Which blocks of a page are its gold text, told by comparing the words."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from cleaning.learned.facts import runs

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORD = re.compile(r"\w+")  # as the scores of extraction count words
_LONG = 6  # words; a shorter text may stand in the gold text by chance
_MOSTLY = 0.5
_COVERED = 0.8  # of a doubtful block's words must still be missing


def split_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def label(texts: Sequence[str], gold: str) -> np.ndarray:
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
    known, joined = set(runs(gold_words)), f" {' '.join(gold_words)} "
    return np.array([_share(of_text, known, joined) for of_text in words], np.float64)


def _share(words: list[str], known: set[tuple[str, ...]], joined: str) -> float:
    if not words:
        return 0.0
    if len(words) < _LONG:
        return float(f" {' '.join(words)} " in joined)
    found = list(runs(words))
    return sum(run in known for run in found) / len(found)


def _nearest_first(sure: np.ndarray, doubtful: np.ndarray) -> list[int]:
    if not len(sure):
        return [int(place) for place in doubtful]
    after = np.searchsorted(sure, doubtful)
    before, after = sure[np.maximum(after - 1, 0)], sure[np.minimum(after, len(sure) - 1)]
    distances = np.minimum(np.abs(doubtful - before), np.abs(doubtful - after))
    return [int(doubtful[index]) for index in np.argsort(distances, kind="stable")]

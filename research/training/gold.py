"""Gold texts and snippets: which blocks of a page belong to them, and how well an extracted text agrees with them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cleaning.classifier.signals import word_runs
from cleaning.terms import count_words, normalise
from cleaning.text_score import TextScore, score_bags, split_characters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


_WORD = re.compile(r"\w+")  # as the scores of extraction count words
_LONG_WORDS = 6  # a shorter text can be in the gold text by chance
_MOSTLY = 0.5
_MIN_UNCLAIMED = 0.8  # share of a doubtful block's words that the gold text must still have unclaimed


def split_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@dataclass(frozen=True, slots=True)
class WordRule:
    """What counts as a word in labels and scores: how a text is split, and how long it is for a reader."""

    split: Callable[[str], list[str]]
    count: Callable[[str], int]


# As the authors of collections count: a sentence in a script without spaces is a word.
WORDS = WordRule(split_words, lambda text: len(split_words(text)))
CHARACTERS = WordRule(split_characters, count_words)


def label_blocks(texts: Sequence[str], gold: str, rule: WordRule = WORDS) -> np.ndarray:
    """Return for each text its share (n, float32, 0 to 1) that belongs to the gold text.

    A long text that occurs once on the page is decided by its runs of three words. Short and repeated texts are
    doubtful: in the order of their distance to a sure text, each counts while the gold text has unclaimed words for it.
    So a word in a menu does not count for the same word in the text.
    """
    words = [rule.split(text) for text in texts]
    long = np.array([rule.count(text) >= _LONG_WORDS for text in texts], bool)
    shares = _shares(words, long, rule.split(gold))
    times = Counter(texts)
    once = np.array([times[text] == 1 for text in texts], bool)
    sure = long & once & (shares >= _MOSTLY)
    left = Counter(rule.split(gold))
    for index in np.flatnonzero(sure):
        left.subtract(words[index])
    labels = np.where(sure | (long & (shares < _MOSTLY)), shares, 0.0)
    for doubtful in _nearest_first(np.flatnonzero(sure), np.flatnonzero(~sure & (shares >= _MOSTLY))):
        missing = sum(min(count, max(0, left[word])) for word, count in Counter(words[doubtful]).items())
        if missing >= _MIN_UNCLAIMED * len(words[doubtful]):
            labels[doubtful] = shares[doubtful]
            left.subtract(words[doubtful])
    return labels.astype(np.float32)


def _shares(words: Sequence[list[str]], long: np.ndarray, gold: list[str]) -> np.ndarray:
    known, joined = set(word_runs(gold)), f" {' '.join(gold)} "
    shares = [_share_of(of_text, is_long, known, joined) for of_text, is_long in zip(words, long.tolist(), strict=True)]
    return np.array(shares, np.float64)


def _share_of(words: list[str], long: bool, known: set[tuple[str, ...]], joined: str) -> float:
    if not words:
        return 0.0
    if not long:
        return float(f" {' '.join(words)} " in joined)
    runs = list(word_runs(words)) or [tuple(words)]
    return sum(run in known for run in runs) / len(runs)


def _nearest_first(sure: np.ndarray, doubtful: np.ndarray) -> list[int]:
    if not len(sure):
        return [int(index) for index in doubtful]
    after = np.searchsorted(sure, doubtful)
    before, after = sure[np.maximum(after - 1, 0)], sure[np.minimum(after, len(sure) - 1)]
    distances = np.minimum(np.abs(doubtful - before), np.abs(doubtful - after))
    return [int(doubtful[index]) for index in np.argsort(distances, kind="stable")]


def score_text(text: str, gold: str, size: int, rule: WordRule = WORDS) -> TextScore:
    """Return the score of a text against the gold text, over shingles of `size` words; 1 if neither has any."""
    return score_bags(shingles(text, size, rule), shingles(gold, size, rule))


def shingles(text: str, size: int, rule: WordRule = WORDS) -> Counter[tuple[str, ...]]:
    """Return the count of each run of `size` words in a text; empty for a shorter text."""
    words = rule.split(text)
    return Counter(zip(*(words[index:] for index in range(size)), strict=False))


@dataclass(frozen=True, slots=True)
class Snippets:
    """Pieces of a page's text: those that must be kept, and those that must be dropped."""

    kept: tuple[str, ...]
    dropped: tuple[str, ...]

    @classmethod
    def of_truth(cls, truth: Mapping[str, Any]) -> Snippets | None:
        """Return the snippets of a line of truth.jsonl; None for a page with a gold text."""
        if truth["text"] or "with" not in truth:
            return None
        return cls(tuple(truth["with"]), tuple(truth["without"]))


@dataclass(frozen=True, slots=True, eq=False)
class PartialLabels:
    """The labels (n, float32, 0 to 1) of a page's blocks, and which of them are known (n, bool)."""

    labels: np.ndarray
    known: np.ndarray


def label_by_snippets(texts: Sequence[str], snippets: Snippets) -> PartialLabels:
    """Return labels from snippets: 1 for a text that alone has a snippet to keep, 0 for each with one to drop.

    The label of a text is unknown if it has no snippet, snippets of both kinds, or only snippets to keep that other
    texts have too.
    """
    tidy = [normalise(text) for text in texts]
    keep = np.zeros(len(texts), bool)
    drop = np.zeros(len(texts), bool)
    for snippet in map(normalise, snippets.kept):
        places = [index for index, text in enumerate(tidy) if snippet in text]
        if len(places) == 1:
            keep[places] = True
    for snippet in map(normalise, snippets.dropped):
        drop |= np.array([snippet in text for text in tidy], bool)
    return PartialLabels(keep.astype(np.float32), keep ^ drop)


def score_snippets(text: str, snippets: Snippets) -> TextScore:
    """Return the score of a text by its snippets; precision is the share of its snippets that must be kept."""
    tidy = normalise(text)
    kept = sum(normalise(snippet) in tidy for snippet in snippets.kept)
    wrong = sum(normalise(snippet) in tidy for snippet in snippets.dropped)
    precision, recall = kept / max(1, kept + wrong), kept / max(1, len(snippets.kept))
    return TextScore(2 * kept / max(1, kept + wrong + len(snippets.kept)), precision, recall)

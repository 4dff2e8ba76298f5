"""Scores of words around blocks, in texts and in addresses, learned from labelled pages."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from cleaning.classifier.lexicon import any_words, element_words, inline_words, text_words
from cleaning.classifier.signals import PAGE_TYPES, page_type_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cleaning.training.data import Example


_FEWEST_HOSTS = 5  # a word of fewer sites says something of these alone
_PRIOR = 0.5  # pages' worth of what is usual, added to what a word was seen with
_TEXT_WEIGHT = 10.0  # of all short texts of a page together
# Words of all texts: a page counts for more beside the prior, and what its words say is compared with what is usual on
# these pages themselves. There are many such words, so that more sites must have one.
_ANY_WEIGHT = 50.0
_FEWEST_OF_ANY = 8  # hosts
_ANY = "w:"
WordSums = dict[str, np.ndarray]


@cache
def count_page_words(example: Example) -> WordSums:
    """Return for each word of a page how much text it stands around: (main text, all text, main text by chance).

    A page's whole is 1; of words of texts it is _TEXT_WEIGHT or _ANY_WEIGHT, and each text counts once for each word.
    By chance: the page's share of main text, of all that the word stands around; for words of all texts alone.
    """
    scan, labels = example.scan, example.labels.astype(np.float64)
    if not example.size:
        return {}
    weights = scan.counts[:, 0] + 1.0
    weights /= weights.sum()
    sums = np.zeros((example.size + 1, 3))
    np.cumsum(np.stack([weights * labels, weights, np.zeros(example.size)], axis=1), axis=0, out=sums[1:])
    totals: WordSums = defaultdict(lambda: np.zeros(3))
    for word, spans in _spans(example).items():
        totals[word] += _covered(spans, sums)
    each = _TEXT_WEIGHT / max(3, example.size)
    roots = np.sqrt(weights)  # a long text has more words, each of which says less of it
    roots *= _ANY_WEIGHT / roots.sum()
    chance = (roots * labels).sum() / _ANY_WEIGHT
    for place, block in enumerate(scan.blocks):
        share, beside = np.array([labels[place], 1.0, 0.0]), np.array([labels[place], 1.0, chance])
        for word in inline_words(scan.signs[place]):
            totals[word] += weights[place] * share
        for word in text_words(block.text):
            totals[word] += each * share
        for word in any_words(block.text):
            totals[word] += roots[place] * beside
    return dict(totals)


def _spans(example: Example) -> dict[str, list[tuple[int, int]]]:
    scan = example.scan
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for tag, signs, first, last in zip(scan.tags, scan.node_signs, scan.first, scan.last, strict=True):
        for word in element_words(tag, signs):
            spans[word].append((int(first), int(last)))
    return spans


def _covered(spans: Iterable[tuple[int, int]], sums: np.ndarray) -> np.ndarray:
    """Return the sum over the blocks in any of the spans, each once."""
    found, end = np.zeros(3), 0
    for first, last in sorted(spans):
        if last > end:
            found += sums[last] - sums[max(first, end)]
            end = last
    return found


class WordTotals:
    """The totals of the pages by fold, so that scores can leave folds out."""

    def __init__(self, examples: Sequence[Example], folds: np.ndarray) -> None:
        counted = [count_page_words(example) for example in examples]
        hosts: dict[str, set[str]] = defaultdict(set)
        for example, totals in zip(examples, counted, strict=True):
            for word in totals:
                hosts[word].add(example.host)
        self._words = sorted(word for word, of_word in hosts.items() if len(of_word) >= _min_hosts(word))
        self._of_any = np.array([word.startswith(_ANY) for word in self._words], bool)
        places = {word: place for place, word in enumerate(self._words)}
        self._sums = np.zeros((int(folds.max()) + 1, len(places), 3))
        for fold, totals in zip(folds, counted, strict=True):
            for word, total in totals.items():
                if word in places:
                    self._sums[fold, places[word]] += total
        # The folds' shares of main text are alike; one prior serves them all.
        self._usual = float(
            np.mean([np.average(each.labels, weights=each.scan.counts[:, 0] + 1) for each in examples if each.size])
        )

    def scores(self, without: Iterable[int]) -> dict[str, float]:
        """Return the words' scores learned without these folds; rounded as the model file stores them."""
        kept = [fold for fold in range(len(self._sums)) if fold not in set(without)]
        main, everything, chance = self._sums[kept].sum(axis=0).T
        by_chance = np.where(self._of_any, chance, self._usual * everything)
        found = self._log_odds(main, everything) - self._log_odds(by_chance, everything)
        return dict(zip(self._words, found.astype(np.float16).tolist(), strict=True))

    def _log_odds(self, main: np.ndarray, everything: np.ndarray) -> np.ndarray:
        prior = _PRIOR * self._usual, _PRIOR * (1 - self._usual)
        odds: np.ndarray = np.log((main + prior[0]) / (everything - main + prior[1]))
        return odds


def _min_hosts(word: str) -> int:
    return _FEWEST_OF_ANY if word.startswith(_ANY) else _FEWEST_HOSTS


def score_type_words(examples: Sequence[Example]) -> dict[str, np.ndarray]:
    """Return for each word of pages how much it speaks for each of TYPES (float32), learned from these pages."""
    times: Mapping[str, np.ndarray] = defaultdict(lambda: np.zeros(len(PAGE_TYPES)))
    hosts: dict[str, set[str]] = defaultdict(set)
    whole = np.ones(len(PAGE_TYPES))
    for example in examples:
        place = PAGE_TYPES.index(example.type)
        whole[place] += 1
        for word in page_type_words(example.scan, example.facts):
            times[word][place] += 1
            hosts[word].add(example.host)
    usual = whole / whole.sum()
    return {
        word: np.log((found + usual) / (found.sum() + 1) / usual).astype(np.float16).astype(np.float32)
        for word, found in times.items()
        if len(hosts[word]) >= _FEWEST_HOSTS
    }

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

    from research.training.data import Example


_MIN_HOSTS = 5  # a word on fewer hosts only tells about these
_PRIOR = 0.5  # weight of the usual share of main text, in pages
_TEXT_WEIGHT = 10.0  # of all short texts of a page together
# Words of all texts: a page weighs more beside the prior, and the words' scores are relative to the usual share on the
# pages that have them. There are many such words, so more hosts must have one.
_ANY_WEIGHT = 50.0
_MIN_HOSTS_OF_ANY = 8
_ANY = "w:"
WordSums = dict[str, np.ndarray]


@cache
def count_page_words(example: Example) -> WordSums:
    """Return for each word of a page the amount of text around it: (main text, all text, expected main text).

    The page's total is 1, for words of texts _TEXT_WEIGHT or _ANY_WEIGHT; each text counts once for each word. The
    expected main text applies the page's share of main text to the text around the word, for words of all texts only.
    Texts without a known label count for nothing.
    """
    table, labels, known = example.table, example.labels.astype(np.float64), example.known_labels
    if not known.any():
        return {}
    weights = table.counts[:, 0] + 1.0
    weights /= weights.sum()
    roots = np.sqrt(weights)  # a long text has more words, and each tells less
    weights *= known
    sums = np.zeros((example.size + 1, 3))
    np.cumsum(np.stack([weights * labels, weights, np.zeros(example.size)], axis=1), axis=0, out=sums[1:])
    totals: WordSums = defaultdict(lambda: np.zeros(3))
    for word, spans in _spans(example).items():
        totals[word] += _covered(spans, sums)
    text_weight = _TEXT_WEIGHT / max(3, example.size)
    roots *= _ANY_WEIGHT / roots.sum()
    chance = (roots * labels)[known].sum() / _ANY_WEIGHT / (roots[known].sum() / roots.sum())
    for index in np.flatnonzero(known).tolist():
        block = table.blocks[index]
        share = np.array([labels[index], 1.0, 0.0])
        beside = np.array([labels[index], 1.0, chance])
        for word in inline_words(table.inline_tokens[index]):
            totals[word] += weights[index] * share
        for word in text_words(block.text):
            totals[word] += text_weight * share
        for word in any_words(block.text):
            totals[word] += roots[index] * beside
    return {word: total for word, total in totals.items() if total[1]}


def _spans(example: Example) -> dict[str, list[tuple[int, int]]]:
    table = example.table
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for tag, tokens, first, last in zip(table.tags, table.node_tokens, table.first, table.last, strict=True):
        for word in element_words(tag, tokens):
            spans[word].append((int(first), int(last)))
    return spans


def _covered(spans: Iterable[tuple[int, int]], sums: np.ndarray) -> np.ndarray:
    """Return the sum over the blocks in any of the spans, each block once."""
    covered = np.zeros(3)
    end = 0
    for first, last in sorted(spans):
        if last > end:
            covered += sums[last] - sums[max(first, end)]
            end = last
    return covered


class WordTotals:
    """The sums of the pages' words by fold, so that scores can leave folds out."""

    def __init__(self, examples: Sequence[Example], folds: np.ndarray) -> None:
        counted = [count_page_words(example) for example in examples]
        hosts: dict[str, set[str]] = defaultdict(set)
        for example, totals in zip(examples, counted, strict=True):
            for word in totals:
                hosts[word].add(example.host)
        self._words = sorted(word for word, of_word in hosts.items() if len(of_word) >= _min_hosts(word))
        self._of_any = np.array([word.startswith(_ANY) for word in self._words], bool)
        indexes = {word: index for index, word in enumerate(self._words)}
        self._sums = np.zeros((int(folds.max()) + 1, len(indexes), 3))
        for fold, totals in zip(folds, counted, strict=True):
            for word, total in totals.items():
                if word in indexes:
                    self._sums[fold, indexes[word]] += total
        # The folds have similar shares of main text, so one prior serves them all. Snippets do not tell a page's share.
        whole = [example for example in examples if example.size and not example.snippets]
        self._usual = float(np.mean([_share_of_main(example) for example in whole]))

    def scores(self, without: Iterable[int]) -> dict[str, float]:
        """Return the words' scores learned without these folds, rounded as in the model file."""
        kept = [fold for fold in range(len(self._sums)) if fold not in set(without)]
        main, everything, chance = self._sums[kept].sum(axis=0).T
        by_chance = np.where(self._of_any, chance, self._usual * everything)
        log_odds = self._log_odds(main, everything) - self._log_odds(by_chance, everything)
        return dict(zip(self._words, log_odds.astype(np.float16).tolist(), strict=True))

    def _log_odds(self, main: np.ndarray, everything: np.ndarray) -> np.ndarray:
        prior = _PRIOR * self._usual, _PRIOR * (1 - self._usual)
        odds: np.ndarray = np.log((main + prior[0]) / (everything - main + prior[1]))
        return odds


def _share_of_main(example: Example) -> float:
    words = (example.table.counts[:, 0] + 1) * example.known_labels
    return float(np.average(example.labels, weights=words)) if words.any() else 0.0


def _min_hosts(word: str) -> int:
    return _MIN_HOSTS_OF_ANY if word.startswith(_ANY) else _MIN_HOSTS


def score_type_words(examples: Sequence[Example]) -> dict[str, np.ndarray]:
    """Return for each word of pages its score for each of PAGE_TYPES (float32), learned from these pages."""
    times: Mapping[str, np.ndarray] = defaultdict(lambda: np.zeros(len(PAGE_TYPES)))
    hosts: dict[str, set[str]] = defaultdict(set)
    whole = np.ones(len(PAGE_TYPES))
    for example in examples:
        if example.type is None:
            continue
        index = PAGE_TYPES.index(example.type)
        whole[index] += 1
        for word in page_type_words(example.table, example.signals):
            times[word][index] += 1
            hosts[word].add(example.host)
    usual = whole / whole.sum()
    return {
        word: np.log((counts + usual) / (counts.sum() + 1) / usual).astype(np.float16).astype(np.float32)
        for word, counts in times.items()
        if len(hosts[word]) >= _MIN_HOSTS
    }

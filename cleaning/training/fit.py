"""Training: examples to a model, each step on scores that were made without the page's own site."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cleaning.classifier import features, signals
from cleaning.classifier.features import read_neighbours, read_vocabulary
from cleaning.classifier.lexicon import Lexicon
from cleaning.classifier.model import Model, probabilities
from cleaning.classifier.signals import PageSignals
from cleaning.training.boost import Recipe, grow_trees
from cleaning.training.word_scores import WordTotals, score_type_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cleaning.classifier.features import FirstStage
    from cleaning.classifier.model import Trees
    from cleaning.training.data import Example

PARTS = 10  # of the hosts
INNER_PARTS = 5  # parts of the training pages whose first look is made without them
TYPE_RECIPE = Recipe(rounds=40, leaves=7, rate=0.1, least_rows=15, outputs=len(signals.PAGE_TYPES))
FIRST_STAGE = Recipe(rounds=120, leaves=31, rate=0.08, least_rows=40)
SECOND_STAGE = Recipe(rounds=150, leaves=31, rate=0.06, least_rows=40)
_NEWS_WEIGHT = 3.0  # news pages are few; they are to count as a third of the articles
_BARE = 6  # of so many pages one is also trained on without signs
_SAMPLED = 200  # blocks of one page that are trained on; of larger pages a sample, weighted


def part_of(host: str) -> int:
    """Return the part of the hosts (0 to PARTS - 1) that a host is in; always the same."""
    return zlib.crc32(host.encode()) % PARTS


def fit_model(examples: Sequence[Example]) -> Model:
    """Return the model trained on these pages, and on some of them once more without signs."""
    seen = [example for example in examples if example.size]
    return Training(
        [*seen, *(without_signals(each) for each in seen if zlib.crc32(each.id.encode()) % _BARE == 0)]
    ).run()


def without_signals(example: Example) -> Example:
    """Return a page without the words of its elements and without what it states: old and hand-made pages are so."""
    scan = example.scan
    unsigned = replace(scan, signs=[""] * len(scan.signs), node_signs=[""] * len(scan.node_signs))
    return replace(example, scan=unsigned, facts=PageSignals())


class Training:
    """What is trained on some pages, all of which have blocks."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self._examples = examples
        self._parts = np.array([part_of(example.host) % INNER_PARTS for example in examples])
        totals = WordTotals(examples, self._parts)
        self._lexicon = Lexicon(totals.scores(()))
        self._without = [Lexicon(totals.scores((part,))) for part in range(INNER_PARTS)]

    def run(self) -> Model:
        page_lexicon = score_type_words(self._examples)
        seen = self._features()
        types, shares = self._types(seen)
        rows = _with_shares(seen, shares)
        first, scores = self._first(rows)
        rows = [
            np.hstack([of_page, read_vocabulary(of.counted, self._without[part]), read_neighbours(of.counted, score)])
            for of_page, of, score, part in zip(rows, seen, scores, self._parts, strict=True)
        ]
        second = self.grow(SECOND_STAGE, rows, np.ones(len(rows), bool))
        return Model(self._lexicon, page_lexicon, types, first, second)

    def first_rows(self) -> list[np.ndarray]:
        """Return what the first look sees of each page: features made without its own site."""
        seen = self._features()
        return _with_shares(seen, self._types(seen)[1])

    def _features(self) -> list[FirstStage]:
        return [
            features.read_first_stage(example.scan, example.facts, self._without[part])
            for example, part in zip(self._examples, self._parts, strict=True)
        ]

    def _types(self, seen: Sequence[FirstStage]) -> tuple[Trees, np.ndarray]:
        """Return the trees for page types, and each page's shares as trees say that never saw its site."""
        words = [signals.page_type_words(example.scan, example.facts) for example in self._examples]
        labels = np.array([signals.PAGE_TYPES.index(example.type) for example in self._examples], np.float64)
        rows, shares = (
            np.empty((len(seen), len(features.PAGE_FEATURE_NAMES) + len(signals.PAGE_WORD_NAMES)), np.float32),
            np.empty((len(seen), len(signals.PAGE_TYPES))),
        )
        for part in range(INNER_PARTS):
            inside = self._parts == part
            scores = score_type_words(
                [each for each, left_out in zip(self._examples, inside, strict=True) if not left_out]
            )
            for place in np.flatnonzero(inside).tolist():
                rows[place] = np.concatenate([seen[place].page, signals.sum_word_scores(words[place], scores)])
        weights = np.ones(len(seen))
        for part in range(INNER_PARTS):
            inside = self._parts == part
            trees = grow_trees(TYPE_RECIPE, rows[~inside], labels[~inside], weights[~inside])
            shares[inside] = probabilities(trees.sums(rows[inside]))
        return grow_trees(TYPE_RECIPE, rows, labels, weights), shares

    def _first(self, rows: Sequence[np.ndarray]) -> tuple[Trees, list[np.ndarray]]:
        """Return the trees of the first look, and each page's scores by trees that never saw its site."""
        scores: list[np.ndarray] = [np.empty(0)] * len(rows)
        for part in range(INNER_PARTS):
            inside = self._parts == part
            trees = self.grow(FIRST_STAGE, rows, ~inside)
            for place in np.flatnonzero(inside).tolist():
                scores[place] = probabilities(trees.sums(rows[place]))[:, 0]
        return self.grow(FIRST_STAGE, rows, np.ones(len(rows), bool)), scores

    def grow(self, recipe: Recipe, rows: Sequence[np.ndarray], chosen: np.ndarray) -> Trees:
        """Return trees grown on the rows of the chosen pages (bool)."""
        random = np.random.default_rng(1)
        picked, labels, weights = [], [], []
        for place in np.flatnonzero(chosen).tolist():
            example = self._examples[place]
            odds = _sampling_odds(example)
            taken = random.random(example.size) < odds
            picked.append(rows[place][taken])
            labels.append(example.labels[taken])
            weights.append((weigh_blocks(example) / odds)[taken])
        weight = np.concatenate(weights)
        return grow_trees(recipe, np.concatenate(picked), np.concatenate(labels), weight / weight.mean())


def _with_shares(seen: Sequence[FirstStage], shares: np.ndarray) -> list[np.ndarray]:
    rows = (np.hstack([of.rows, np.tile(share, (len(of.rows), 1))]) for of, share in zip(seen, shares, strict=True))
    return [each.astype(np.float32) for each in rows]


def weigh_blocks(example: Example) -> np.ndarray:
    """Return how much each block counts: by its words, as in the page's score; pages with little text not too much."""
    words = example.words + 1
    gold = (words * example.labels).sum()
    times = _NEWS_WEIGHT if example.set == "fundus-dev" else 1.0
    weights: np.ndarray = times * words / (50 + gold + 0.15 * words.sum())
    return weights


def _sampling_odds(example: Example) -> np.ndarray:
    """Return how likely each block is trained on: all of a page with few, of others the longer ones rather."""
    if example.size <= _SAMPLED:
        return np.ones(example.size)
    words = example.words + 1
    odds: np.ndarray = np.minimum(1.0, _SAMPLED / 2 * (1 / example.size + words / words.sum()))
    return odds

"""Training: from examples to a model. Each step learns from scores that were made without the page's own host."""

from __future__ import annotations

import zlib
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cleaning.classifier import features, signals
from cleaning.classifier.features import read_neighbours, read_vocabulary
from cleaning.classifier.lexicon import Lexicon
from cleaning.classifier.model import DOUBTFUL_SCORE, Model, probabilities
from cleaning.classifier.signals import PageSignals
from cleaning.domains import registered_domain
from cleaning.training.boost import Recipe, grow_trees
from cleaning.training.word_scores import WordTotals, score_type_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cleaning.classifier.features import FirstStage
    from cleaning.classifier.model import Trees
    from cleaning.training.data import Example

PARTS = 10  # of the hosts
INNER_PARTS = 5  # each is scored by a first stage that was trained on the others
TYPE_RECIPE = Recipe(rounds=40, leaves=7, rate=0.1, min_leaf_rows=15, outputs=len(signals.PAGE_TYPES))
FIRST_STAGE = Recipe(rounds=120, leaves=31, rate=0.08, min_leaf_rows=40)
SECOND_STAGE = Recipe(rounds=300, leaves=47, rate=0.06, min_leaf_rows=40)
_NEWS_WEIGHT = 3.0  # makes the few news pages count as a third of the articles
_WITHOUT_SIGNALS = 6  # one in this many pages is also trained on without signals
_MAX_BLOCKS = 200  # of one page; a larger page gives a weighted sample


@lru_cache(maxsize=1 << 13)
def part_of(host: str) -> int:
    """Return the part of the hosts (0 to PARTS - 1) that a host is in; it never changes.

    All hosts of a site are in one part: those with one registered domain, whatever its public suffix.
    """
    domain = registered_domain(f"//{host}") if "." in host else host
    return zlib.crc32((domain or host).partition(".")[0].encode()) % PARTS


def fit_model(examples: Sequence[Example]) -> Model:
    """Return the model trained on these pages, and on some of them again without signals."""
    seen = [example for example in examples if example.size]
    return Training(
        [*seen, *(without_signals(each) for each in seen if zlib.crc32(each.id.encode()) % _WITHOUT_SIGNALS == 0)]
    ).run()


def without_signals(example: Example) -> Example:
    """Return a page without attribute tokens and stated texts, as in old and handmade pages."""
    table = example.table
    bare = replace(table, inline_tokens=[""] * len(table.inline_tokens), node_tokens=[""] * len(table.node_tokens))
    return replace(example, table=bare, signals=PageSignals())


class Training:
    """Training on pages that all have blocks."""

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
            np.hstack([of_page, read_vocabulary(of), read_neighbours(of.totals, score)])
            for of_page, of, score in zip(rows, seen, scores, strict=True)
        ]
        doubtful = [score >= DOUBTFUL_SCORE for score in scores]
        second = self.grow(SECOND_STAGE, rows, np.ones(len(rows), bool), doubtful)
        return Model(self._lexicon, page_lexicon, types, first, second)

    def first_rows(self) -> list[np.ndarray]:
        """Return each page's features of the first stage, made without its own host."""
        seen = self._features()
        return _with_shares(seen, self._types(seen)[1])

    def _features(self) -> list[FirstStage]:
        return [
            features.read_first_stage(example.table, example.signals, self._without[part])
            for example, part in zip(self._examples, self._parts, strict=True)
        ]

    def _types(self, seen: Sequence[FirstStage]) -> tuple[Trees, np.ndarray]:
        """Return the trees for page types, and each page's type probabilities by trees without its host.

        They learn from the pages whose type is labelled.
        """
        words = [signals.page_type_words(example.table, example.signals) for example in self._examples]
        typed = np.array([example.type is not None for example in self._examples], bool)
        labels = np.array(
            [signals.PAGE_TYPES.index(each.type) if each.type else 0 for each in self._examples], np.float64
        )
        rows, shares = (
            np.empty((len(seen), len(features.PAGE_FEATURE_NAMES) + len(signals.PAGE_WORD_NAMES)), np.float32),
            np.empty((len(seen), len(signals.PAGE_TYPES))),
        )
        for part in range(INNER_PARTS):
            inside = self._parts == part
            scores = score_type_words(
                [each for each, left_out in zip(self._examples, inside, strict=True) if not left_out]
            )
            for index in np.flatnonzero(inside).tolist():
                rows[index] = np.concatenate([seen[index].page, signals.sum_word_scores(words[index], scores)])
        weights = np.ones(len(seen))
        for part in range(INNER_PARTS):
            inside = self._parts == part
            known = ~inside & typed
            trees = grow_trees(TYPE_RECIPE, rows[known], labels[known], weights[known])
            shares[inside] = probabilities(trees.sums(rows[inside]))
        return grow_trees(TYPE_RECIPE, rows[typed], labels[typed], weights[typed]), shares

    def _first(self, rows: Sequence[np.ndarray]) -> tuple[Trees, list[np.ndarray]]:
        """Return the trees of the first stage, and each page's scores by trees without its host."""
        scores: list[np.ndarray] = [np.empty(0)] * len(rows)
        for part in range(INNER_PARTS):
            inside = self._parts == part
            trees = self.grow(FIRST_STAGE, rows, ~inside)
            for index in np.flatnonzero(inside).tolist():
                scores[index] = probabilities(trees.sums(rows[index]))[:, 0]
        return self.grow(FIRST_STAGE, rows, np.ones(len(rows), bool)), scores

    def grow(
        self, recipe: Recipe, rows: Sequence[np.ndarray], chosen: np.ndarray, wanted: Sequence[np.ndarray] | None = None
    ) -> Trees:
        """Return trees grown on the rows of the chosen pages (a mask); `wanted`, a mask a page, selects their rows."""
        random = np.random.default_rng(1)
        picked, labels, weights = [], [], []
        for index in np.flatnonzero(chosen).tolist():
            example = self._examples[index]
            odds = _sampling_odds(example)
            taken = (random.random(example.size) < odds) & example.known_labels
            if wanted is not None:
                taken &= wanted[index]
            picked.append(rows[index][taken])
            labels.append(example.labels[taken])
            weights.append((weigh_blocks(example) / odds)[taken])
        weight = np.concatenate(weights)
        return grow_trees(recipe, np.concatenate(picked), np.concatenate(labels), weight / weight.mean())


def _with_shares(seen: Sequence[FirstStage], shares: np.ndarray) -> list[np.ndarray]:
    rows = (np.hstack([of.rows, np.tile(share, (len(of.rows), 1))]) for of, share in zip(seen, shares, strict=True))
    return [each.astype(np.float32) for each in rows]


def weigh_blocks(example: Example) -> np.ndarray:
    """Return the blocks' weights: by their words, as in the page's score, with a bound for pages with little text."""
    words = example.words + 1
    gold = (words * example.labels).sum()  # labels that are not known are 0
    times = _NEWS_WEIGHT if example.set == "fundus-dev" else 1.0
    weights: np.ndarray = times * words / (50 + gold + 0.15 * words.sum())
    return weights


def _sampling_odds(example: Example) -> np.ndarray:
    """Return the blocks' probabilities to be in the sample: 1 on a small page, higher for longer blocks elsewhere."""
    if example.size <= _MAX_BLOCKS:
        return np.ones(example.size)
    words = example.words + 1
    odds: np.ndarray = np.minimum(1.0, _MAX_BLOCKS / 2 * (1 / example.size + words / words.sum()))
    return odds

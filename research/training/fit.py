"""Training: from examples to a model of boosted trees, grown by LightGBM and converted to plain arrays.

Each step learns from scores that were made without the page's own host.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import lightgbm
import numpy as np

from cleaning.classifier import features, signals
from cleaning.classifier.calibration import fit_shifts, read_signs
from cleaning.classifier.features import read_neighbours, read_vocabulary
from cleaning.classifier.lexicon import Lexicon
from cleaning.classifier.model import DOUBTFUL_SCORE, Model, Trees, probabilities
from cleaning.classifier.signals import PageSignals
from cleaning.domains import registered_domain
from research.training.variants import find_parts, vary
from research.training.word_scores import WordTotals, score_type_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cleaning.classifier.features import FirstStage
    from research.training.data import Example

_SEED = 1
_THREADS = 2
_MIN_THREADED_ROWS = 5_000  # on fewer rows threads mostly wait for each other; the result is the same


@dataclass(frozen=True, slots=True)
class Recipe:
    """The parameters of growing trees."""

    rounds: int
    leaves: int
    rate: float
    min_leaf_rows: int
    depth: int = 10
    outputs: int = 1

    @property
    def parameters(self) -> dict[str, Any]:
        objective = {"objective": "multiclass", "num_class": self.outputs} if self.outputs > 1 else {}
        return {
            "objective": "cross_entropy",  # labels are shares from 0 to 1
            "num_leaves": self.leaves,
            "max_depth": self.depth,
            "learning_rate": self.rate,
            "min_data_in_leaf": self.min_leaf_rows,
            "lambda_l2": 5.0,
            "feature_fraction": 0.35,
            "bagging_fraction": 0.7,
            "bagging_freq": 1,
            "max_bin": 63,
            "seed": _SEED,
            "deterministic": True,
            "force_row_wise": True,
            "verbose": -1,
            **objective,
        }


PARTS = 10  # of the hosts
INNER_PARTS = 3  # each is scored by a first stage that was trained on the others
TYPE_RECIPE = Recipe(rounds=40, leaves=7, rate=0.1, min_leaf_rows=15, outputs=len(signals.PAGE_TYPES))
FIRST_STAGE = Recipe(rounds=120, leaves=31, rate=0.08, min_leaf_rows=40)
SECOND_STAGE = Recipe(rounds=300, leaves=47, rate=0.06, min_leaf_rows=40)
_NEWS_WEIGHT = 3.0  # makes the few news pages count as a third of the articles
_WITHOUT_SIGNALS = 6  # one in this many pages is also trained on without signals
_MAX_BLOCKS, _MAX_COPIED_BLOCKS = 200, 120  # of one page; a larger page gives a weighted sample
_COPY_WEIGHT = 0.7  # of a changed copy beside its page


@lru_cache(maxsize=1 << 13)
def part_of(host: str) -> int:
    """Return the part of the hosts (0 to PARTS - 1) that a host is in; it never changes.

    All hosts of a site are in one part: those with one registered domain, whatever its public suffix.
    """
    domain = registered_domain(f"//{host}") if "." in host else host
    return zlib.crc32((domain or host).partition(".")[0].encode()) % PARTS


def fit_model(examples: Sequence[Example]) -> Model:
    """Return the model trained on these pages, on a variant of each, and on some of them again without signals."""
    seen = [example for example in examples if example.size]
    chosen = [example for example in seen if zlib.crc32(example.id.encode()) % _WITHOUT_SIGNALS == 0]
    bare = [without_signals(example) for example in chosen]
    parts = find_parts(seen)
    return Training(seen, [*bare, *(vary(example, parts) for example in seen)]).run()


def without_signals(example: Example) -> Example:
    """Return a page without attribute tokens and stated texts, as in old and handmade pages."""
    table = example.table
    bare = replace(table, inline_tokens=[""] * len(table.inline_tokens), node_tokens=[""] * len(table.node_tokens))
    return replace(example, table=bare, signals=PageSignals())


class Training:
    """Training on pages that all have blocks, and on changed copies of them; the words' scores leave out the copies."""

    def __init__(self, examples: Sequence[Example], copies: Sequence[Example] = ()) -> None:
        self._examples = [*examples, *copies]
        self._copied = np.arange(len(self._examples)) >= len(examples)
        self._parts = np.array([part_of(example.host) % INNER_PARTS for example in self._examples])
        totals = WordTotals(examples, self._parts[: len(examples)])
        self._lexicon = Lexicon(totals.scores(()))
        self._without = [Lexicon(totals.scores((part,))) for part in range(INNER_PARTS)]

    def run(self) -> Model:
        page_lexicon = score_type_words(self._originals())
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
        return Model(self._lexicon, page_lexicon, types, first, second, self._shifts(seen, scores))

    def _originals(self, without: int | None = None) -> list[Example]:
        """Return the pages that are no copies, without those of a part."""
        chosen = ~self._copied & (self._parts != without)
        return [self._examples[index] for index in np.flatnonzero(chosen).tolist()]

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
            [signals.PAGE_TYPES.index(example.type) if example.type else 0 for example in self._examples], np.float64
        )
        columns = len(features.PAGE_FEATURE_NAMES) + len(signals.PAGE_WORD_NAMES)
        rows = np.empty((len(seen), columns), np.float32)
        shares = np.empty((len(seen), len(signals.PAGE_TYPES)))
        for part in range(INNER_PARTS):
            inside = self._parts == part
            scores = score_type_words(self._originals(without=part))
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

    def _shifts(self, seen: Sequence[FirstStage], scores: Sequence[np.ndarray]) -> np.ndarray:
        """Return the shifts of the calibration, from the first scores of the pages that are no copies."""
        signs, known_scores, labels, weights = [], [], [], []
        for index in np.flatnonzero(~self._copied).tolist():
            example = self._examples[index]
            known = example.known_labels & (scores[index] >= DOUBTFUL_SCORE)
            signs.append(read_signs(example.table, seen[index].hints, scores[index])[known])
            known_scores.append(scores[index][known])
            labels.append(example.labels[known])
            weights.append(weigh_blocks(example)[known])
        return fit_shifts(*map(np.concatenate, (signs, known_scores, labels, weights)))

    def grow(
        self, recipe: Recipe, rows: Sequence[np.ndarray], chosen: np.ndarray, wanted: Sequence[np.ndarray] | None = None
    ) -> Trees:
        """Return trees grown on the rows of the chosen pages (a mask); `wanted`, a mask a page, selects their rows."""
        random = np.random.default_rng(1)
        picked, labels, weights = [], [], []
        for index in np.flatnonzero(chosen).tolist():
            example = self._examples[index]
            copied = self._copied[index]
            odds = _sampling_odds(example, _MAX_COPIED_BLOCKS if copied else _MAX_BLOCKS)
            taken = (random.random(example.size) < odds) & example.known_labels
            if wanted is not None:
                taken &= wanted[index]
            picked.append(rows[index][taken])
            labels.append(example.labels[taken])
            weights.append((weigh_blocks(example) * (_COPY_WEIGHT if copied else 1.0) / odds)[taken])
        weight = np.concatenate(weights)
        return grow_trees(recipe, np.concatenate(picked), np.concatenate(labels), weight / weight.mean())


def _with_shares(seen: Sequence[FirstStage], shares: np.ndarray) -> list[np.ndarray]:
    rows = (np.hstack([of.rows, np.tile(share, (len(of.rows), 1))]) for of, share in zip(seen, shares, strict=True))
    return [page_rows.astype(np.float32) for page_rows in rows]


def weigh_blocks(example: Example) -> np.ndarray:
    """Return the blocks' weights: by their words, as in the page's score, with a bound for pages with little text."""
    words = example.words + 1
    gold = (words * example.labels).sum()  # labels that are not known are 0
    times = _NEWS_WEIGHT if example.set == "fundus-dev" else 1.0
    weights: np.ndarray = times * words / (50 + gold + 0.15 * words.sum())
    return weights


def _sampling_odds(example: Example, size: int) -> np.ndarray:
    """Return the blocks' probabilities to be in the sample: 1 on a small page, higher for longer blocks elsewhere."""
    if example.size <= size:
        return np.ones(example.size)
    words = example.words + 1
    odds: np.ndarray = np.minimum(1.0, size / 2 * (1 / example.size + words / words.sum()))
    return odds


def grow_trees(recipe: Recipe, rows: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Trees:
    """Return trees grown on rows of features (n x f, float32), their labels (n) and weights (n, mean about 1)."""
    data = lightgbm.Dataset(rows, labels, weight=weights, params={"max_bin": 63, "verbose": -1})
    threads = {"num_threads": 1 if len(rows) < _MIN_THREADED_ROWS else _THREADS}
    booster = lightgbm.train(recipe.parameters | threads, data, num_boost_round=recipe.rounds)
    return convert_model(booster.dump_model(), recipe.outputs)


def convert_model(dumped: Mapping[str, Any], outputs: int) -> Trees:
    """Return a dumped LightGBM model as arrays; its first trees include its initial score."""
    nodes = _Nodes()
    roots = [nodes.add(tree["tree_structure"], 0) for tree in dumped["tree_info"]]
    return Trees(
        np.array(nodes.feature, np.int16),
        np.array(nodes.threshold, np.float32),
        np.array(nodes.left, np.int32),
        np.array(nodes.right, np.int32),
        np.array(nodes.value, np.float32),
        np.array(roots, np.int32),
        outputs,
        nodes.depth,
    )


class _Nodes:
    """Collects the nodes of all trees."""

    def __init__(self) -> None:
        self.feature: list[int] = []
        self.threshold: list[np.float32] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.value: list[float] = []
        self.depth = 0

    def add(self, node: Mapping[str, Any], depth: int) -> int:
        """Add a node with all nodes below it; return its number. Recursive: the recipe bounds the depth."""
        number = len(self.feature)
        leaf = "split_feature" not in node
        self.depth = max(self.depth, depth)
        self.feature.append(0 if leaf else node["split_feature"])
        self.threshold.append(np.float32(np.inf) if leaf else _rounded_down(node["threshold"]))
        self.left.append(number)
        self.right.append(number)
        self.value.append(node["leaf_value"] if leaf else 0.0)
        if not leaf:
            self.left[number] = self.add(node["left_child"], depth + 1)
            self.right[number] = self.add(node["right_child"], depth + 1)
        return number


def _rounded_down(threshold: float) -> np.float32:
    """Return the largest float32 up to the threshold: float32 features compare with it as with the float64."""
    rounded = np.float32(threshold)
    return np.nextafter(rounded, np.float32(-np.inf)) if rounded > threshold else rounded

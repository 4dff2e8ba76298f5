"""Boosted trees, trained by LightGBM and converted to plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import lightgbm
import numpy as np

from cleaning.classifier.model import Trees

if TYPE_CHECKING:
    from collections.abc import Mapping

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

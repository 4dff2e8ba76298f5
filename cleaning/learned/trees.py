"""Boosted trees as plain arrays, and their sums for many rows at once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cleaning.compiled import compiled_trees

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cleaning._trees import Forest

# Rows that are judged at once: bounds the memory of a page with many blocks.
_ROWS = 2_048


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """The nodes of all trees in one table: a row goes left where its `feature` is not above the `threshold`.

    A leaf leads to itself; its `value` is what the tree adds. `roots` are the numbers of the trees' first nodes; tree
    `i` adds to output `i % outputs`. `depth` is the longest way from a root to a leaf.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    roots: np.ndarray
    outputs: int
    depth: int

    def sums(self, rows: np.ndarray) -> np.ndarray:
        """Return what the trees add up to (n x outputs, float64) for n rows of features (float32)."""
        forest = _forest(self)
        if forest is None:
            return self.pure_sums(rows)
        found: np.ndarray = forest.sums(rows)
        return found

    def pure_sums(self, rows: np.ndarray) -> np.ndarray:
        """Return what `sums` does, counted by numpy."""
        parts = [self._sums(rows[start : start + _ROWS]) for start in range(0, len(rows), _ROWS)]
        return np.concatenate(parts) if parts else np.zeros((0, self.outputs))

    def _sums(self, rows: np.ndarray) -> np.ndarray:
        at = np.broadcast_to(self.roots, (len(rows), len(self.roots)))
        numbers = np.arange(len(rows))[:, None]
        for _ in range(self.depth):
            right = rows[numbers, self.feature[at]] > self.threshold[at]
            at = np.where(right, self.right[at], self.left[at])
        values: np.ndarray = self.value[at].reshape(len(rows), -1, self.outputs).sum(axis=1, dtype=np.float64)
        return values

    def pack(self) -> dict[str, np.ndarray]:
        """Return the arrays by name, the two figures among them."""
        return {each.name: np.asarray(getattr(self, each.name)) for each in fields(self)}

    @classmethod
    def unpack(cls, arrays: Mapping[str, np.ndarray]) -> Trees:
        """Return the trees that `pack` made arrays of."""
        return cls(
            arrays["feature"],
            arrays["threshold"],
            arrays["left"],
            arrays["right"],
            arrays["value"],
            arrays["roots"],
            int(arrays["outputs"]),
            int(arrays["depth"]),
        )


@lru_cache(maxsize=8)  # a model has three
def _forest(trees: Trees) -> Forest | None:
    module = compiled_trees()
    if module is None:
        return None
    columns = trees.feature, trees.threshold, trees.left, trees.right, trees.value, trees.roots
    forest: Forest = module.Forest(*columns, trees.outputs)
    return forest


def probabilities(sums: np.ndarray) -> np.ndarray:
    """Return the logistic function of sums; of several outputs, shares that add up to 1."""
    if sums.shape[1] == 1:
        odds: np.ndarray = np.exp(-np.clip(sums, -50, 50))
        likely: np.ndarray = 1 / (1 + odds)
        return likely
    powers: np.ndarray = np.exp(sums - sums.max(axis=1, keepdims=True))
    shares: np.ndarray = powers / powers.sum(axis=1, keepdims=True)
    return shares

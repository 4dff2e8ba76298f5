"""The trained model: boosted trees and word scores, read from a file whose hash must match."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cleaning._native import load_compiled
from cleaning.classifier.calibration import SIGN_NAMES, calibrate, read_signs
from cleaning.classifier.features import (
    FIRST_STAGE_NAMES,
    NEIGHBOUR_NAMES,
    VOCABULARY_NAMES,
    read_first_stage,
    read_neighbours,
    read_vocabulary,
)
from cleaning.classifier.lexicon import Lexicon, pack_scores, unpack_lexicon, unpack_scores
from cleaning.classifier.signals import PAGE_TYPES, PAGE_WORD_NAMES, page_type_words, sum_word_scores
from cleaning.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cleaning._native.trees import Forest
    from cleaning.blocks import PageType
    from cleaning.classifier.hints import PageHints
    from cleaning.classifier.signals import PageSignals
    from cleaning.leaf_table import LeafTable

_MODEL_FORMAT = 3
# A block whose first score is lower keeps that score: the second stage neither learns from it nor reads it.
DOUBTFUL_SCORE = 0.02
# The columns of a row after those of the first stage's features: the page types, which both stages read, and the two
# groups that only the second one reads.
_TYPES = slice(len(FIRST_STAGE_NAMES), len(FIRST_STAGE_NAMES) + len(PAGE_TYPES))
_VOCABULARY = slice(_TYPES.stop, _TYPES.stop + len(VOCABULARY_NAMES))
_NEIGHBOURS = slice(_VOCABULARY.stop, _VOCABULARY.stop + len(NEIGHBOUR_NAMES))
_MORE_COLUMNS = _NEIGHBOURS.stop - _TYPES.start
# Rows in one step of numpy: the columns of a step stay in the processor's cache.
_ROWS_AT_ONCE = 512


class Prediction(NamedTuple):
    """The probabilities of a page's blocks to be main text (n), its page type and the probability of the type.

    `hints` are the page's hints if they were read on the way.
    """

    scores: np.ndarray
    type: PageType
    confidence: float
    hints: PageHints | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """The trees for page types and for the two stages of block scores, and the word scores that they use.

    `shifts` are what each sign of `calibration` takes from a score, in log odds.
    """

    lexicon: Lexicon
    page_lexicon: Mapping[str, np.ndarray]
    types: Trees
    first: Trees
    second: Trees
    shifts: np.ndarray

    def predict(self, table: LeafTable, signals: PageSignals) -> Prediction:
        """Return the prediction for a page with blocks."""
        first_stage = read_first_stage(table, signals, self.lexicon, more=_MORE_COLUMNS)
        rows = first_stage.rows  # of both stages
        shares = self.type_shares(first_stage.page, page_type_words(table, signals))
        likeliest = int(shares.argmax())
        rows[:, _TYPES] = shares
        first_scores = probabilities(self.first.sums(rows))[:, 0]
        doubtful = np.flatnonzero(first_scores >= DOUBTFUL_SCORE)
        rows[:, _VOCABULARY] = read_vocabulary(first_stage)
        rows[:, _NEIGHBOURS] = read_neighbours(first_stage.totals, first_scores)
        scores = first_scores.copy()
        scores[doubtful] = probabilities(self.second.sums(rows, doubtful))[:, 0]
        scores = calibrate(scores, read_signs(table, first_stage.hints, scores), self.shifts)
        return Prediction(scores, PAGE_TYPES[likeliest], float(shares[likeliest]), first_stage.hints)

    def type_shares(self, page: np.ndarray, words: frozenset[str]) -> np.ndarray:
        """Return the probabilities of the page types, in the order of PAGE_TYPES."""
        row = np.concatenate([page, sum_word_scores(words, self.page_lexicon)]).astype(np.float32)
        shares: np.ndarray = probabilities(self.types.sums(row[None, :]))[0]
        return shares

    def write(self, path: Path) -> None:
        """Write the model to a file of plain arrays, and beside it its hash in the format of `sha256sum --check`."""
        parts = {"lexicon": pack_scores(self.lexicon.scores), "pages": pack_scores(self.page_lexicon)}
        parts |= {"types": self.types.pack(), "first": self.first.pack(), "second": self.second.pack()}
        arrays = {f"{part}.{name}": array for part, packed in parts.items() for name, array in packed.items()}
        arrays["shifts"] = self.shifts
        arrays["names"] = np.frombuffer(_column_names().encode(), np.uint8)
        arrays["format"] = np.asarray(_MODEL_FORMAT)
        packed = io.BytesIO()
        np.savez_compressed(packed, allow_pickle=False, **arrays)
        path.write_bytes(packed.getvalue())
        _hash_file(path).write_text(f"{hash_of(packed.getvalue())}  {path.name}\n", "utf-8")

    @classmethod
    def load(cls, path: Path, sha256: str | None = None) -> Model:
        """Return the model in a file.

        Raises ModelError if the file is missing, if its hash is not `sha256` (default: the hash in the file beside it),
        or if the model is of another version or has other features.
        """
        arrays = _read_arrays(path, sha256)
        if int(arrays["format"]) != _MODEL_FORMAT or arrays["names"].tobytes().decode() != _column_names():
            raise ModelError(f"the model {path} was trained for another version of Blocksieve; train it again")
        types, first, second = (Trees.unpack(_part(arrays, part)) for part in ("types", "first", "second"))
        lexicon = unpack_lexicon(_part(arrays, "lexicon"))
        return cls(lexicon, unpack_scores(_part(arrays, "pages")), types, first, second, arrays["shifts"])


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """Boosted trees, with the nodes of all trees in one table.

    A row goes left if its `feature` is at most the `threshold`. A leaf leads to itself, and adds its `value`.
    `roots` are the numbers of the trees' first nodes; tree `i` adds to output `i % outputs`. `depth` is the length of
    the longest path from a root to a leaf.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    roots: np.ndarray
    outputs: int
    depth: int

    def sums(self, rows: np.ndarray, indexes: np.ndarray | None = None) -> np.ndarray:
        """Return the sums of the trees' values (n x outputs, float64) for n rows of features (float32).

        With `indexes` (n, intp), only these of the rows count.
        """
        forest = _compiled_forest(self)
        if forest is None:
            return self.pure_sums(rows if indexes is None else rows[indexes])
        sums: np.ndarray = forest.sums(rows, indexes)
        return sums

    def pure_sums(self, rows: np.ndarray) -> np.ndarray:
        """Return the same as `sums`, in numpy."""
        parts = [self._sums(rows[start : start + _ROWS_AT_ONCE]) for start in range(0, len(rows), _ROWS_AT_ONCE)]
        return np.concatenate(parts) if parts else np.zeros((0, self.outputs))

    def _sums(self, rows: np.ndarray) -> np.ndarray:
        nodes = _wide_nodes(self)
        values = rows.ravel()
        reached = np.tile(nodes.roots, len(rows))
        first = np.repeat(np.arange(len(rows)) * rows.shape[1], len(self.roots))
        spare = np.empty_like(reached)
        value = np.empty(len(reached), rows.dtype)
        threshold = np.empty(len(reached), self.threshold.dtype)
        for _ in range(self.depth):
            np.add(nodes.feature.take(reached, out=spare, mode="clip"), first, out=spare)
            values.take(spare, out=value, mode="clip")
            nodes.threshold.take(reached, out=threshold, mode="clip")
            reached += reached
            reached += value > threshold
            nodes.then.take(reached, out=spare, mode="clip")
            reached, spare = spare, reached
        sums: np.ndarray = self.value[reached].reshape(len(rows), -1, self.outputs).sum(axis=1, dtype=np.float64)
        return sums

    def pack(self) -> dict[str, np.ndarray]:
        """Return the fields by name, the two numbers as arrays too."""
        return {column.name: np.asarray(getattr(self, column.name)) for column in fields(self)}

    @classmethod
    def unpack(cls, arrays: Mapping[str, np.ndarray]) -> Trees:
        """Return the trees of the arrays that `pack` returns."""
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


def probabilities(sums: np.ndarray) -> np.ndarray:
    """Return the logistic function of sums; for several outputs, the softmax."""
    if sums.shape[1] == 1:
        odds: np.ndarray = np.exp(-np.clip(sums, -50, 50))
        likely: np.ndarray = 1 / (1 + odds)
        return likely
    powers: np.ndarray = np.exp(sums - sums.max(axis=1, keepdims=True))
    shares: np.ndarray = powers / powers.sum(axis=1, keepdims=True)
    return shares


@lru_cache(maxsize=8)  # a model has three
def _compiled_forest(trees: Trees) -> Forest | None:
    module = load_compiled("trees")
    if module is None:
        return None
    columns = trees.feature, trees.threshold, trees.left, trees.right, trees.value, trees.roots
    forest: Forest = module.Forest(*columns, trees.outputs)
    return forest


class _WideNodes(NamedTuple):
    """The nodes of trees in the types that numpy indexes by. Node i leads left to `then[2 * i]`, right to the next."""

    feature: np.ndarray
    threshold: np.ndarray
    then: np.ndarray
    roots: np.ndarray


@lru_cache(maxsize=8)  # a model has three
def _wide_nodes(trees: Trees) -> _WideNodes:
    then = np.stack([trees.left, trees.right], axis=1).astype(np.intp).ravel()
    return _WideNodes(trees.feature.astype(np.intp), np.asarray(trees.threshold), then, trees.roots.astype(np.intp))


def _column_names() -> str:
    return " ".join([*FIRST_STAGE_NAMES, *PAGE_WORD_NAMES, *VOCABULARY_NAMES, *NEIGHBOUR_NAMES, *SIGN_NAMES])


def _hash_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def hash_of(packed: bytes) -> str:
    """Return the SHA-256 of a model's file, in hexadecimal."""
    return hashlib.sha256(packed).hexdigest()


def _read_arrays(path: Path, sha256: str | None) -> dict[str, np.ndarray]:
    try:
        packed = path.read_bytes()
        stated = sha256 or _hash_file(path).read_text("utf-8").split()[0]
    except (OSError, IndexError) as error:
        raise ModelError(f"the model {path}, or the hash beside it, cannot be read: {error}") from error
    digest = hash_of(packed)
    if digest != stated:
        raise ModelError(f"the model {path} is damaged: its SHA-256 is {digest}, not {stated}; install it again")
    with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _part(arrays: Mapping[str, np.ndarray], part: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(f"{part}."): array for name, array in arrays.items() if name.startswith(f"{part}.")}

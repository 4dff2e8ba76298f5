"""Ablation: the F1 of the first stage without each group of its features."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from cleaning.blocks import PageType
from cleaning.classifier import features, signals
from cleaning.classifier.model import Prediction, probabilities
from cleaning.training.fit import FIRST_STAGE, INNER_PARTS, Training, part_of
from cleaning.training.folds import score_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cleaning.training.data import Example

WHOLE = "all features"
_TEST_PART = 0  # the part of the hosts that is measured
Ablation = dict[str, dict[str, float]]


def ablate(examples: Sequence[Example]) -> Ablation:
    """Return for each group of features the mean F1 by set of a first stage without it; WHOLE comes first.

    Trained on four fifths of the hosts, measured on the others. A feature that is always 0 counts as removed.
    """
    used = [example for example in examples if example.size]
    training = Training(used)
    rows = training.first_rows()
    tested = np.array([part_of(example.host) % INNER_PARTS == _TEST_PART for example in used])
    found: Ablation = {}
    for name, columns in _feature_groups():
        sys.stderr.write(f"ablation: {name}\n")
        reduced = [_without_columns(each, columns) for each in rows]
        trees = training.grow(FIRST_STAGE, reduced, ~tested)
        scores = {index: probabilities(trees.sums(reduced[index]))[:, 0] for index in np.flatnonzero(tested).tolist()}
        found[name] = _mean_f1([used[index] for index in scores], list(scores.values()))
    return found


def write_ablation(path: Path, found: Ablation, inputs: dict[str, str]) -> None:
    """Write an ablation with the hashes of its inputs."""
    path.write_text(json.dumps({"of": inputs, "found": found}, indent=2) + "\n", "utf-8")


def read_ablation(path: Path, inputs: dict[str, str]) -> Ablation:
    """Return the ablation in this file; empty if there is none of the same data and code."""
    if not path.exists():
        return {}
    written = json.loads(path.read_text("utf-8"))
    found: Ablation = written["found"] if written["of"] == inputs else {}
    return found


def _feature_groups() -> Iterator[tuple[str, list[int]]]:
    yield WHOLE, []
    for name, members in features.FEATURE_GROUPS.items():
        yield name, [features.FIRST_STAGE_NAMES.index(member) for member in members]
    yield "page type", [len(features.FIRST_STAGE_NAMES) + index for index in range(len(signals.PAGE_TYPES))]


def _without_columns(rows: np.ndarray, columns: list[int]) -> np.ndarray:
    reduced = rows.copy()
    reduced[:, columns] = 0
    return reduced


def _mean_f1(examples: Sequence[Example], scores: Sequence[np.ndarray]) -> dict[str, float]:
    found: dict[str, list[float]] = defaultdict(list)
    for example, of_blocks in zip(examples, scores, strict=True):
        found[example.set].append(
            score_blocks(example, Prediction(of_blocks, example.type or PageType.ARTICLE, 1.0)).f1
        )
    return {name: float(np.mean(of_set)) for name, of_set in found.items()}

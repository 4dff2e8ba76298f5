"""What the first look at blocks loses without a group of its features."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import numpy as np

from cleaning.classifier import features, signals
from cleaning.classifier.model import Prediction, probabilities
from cleaning.training.data import SETS
from cleaning.training.fit import FIRST_STAGE, INNER_PARTS, Training, part_of
from cleaning.training.folds import score_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cleaning.training.data import Example

WHOLE = "all features"
_LEFT_OUT = 0  # the part of the hosts whose pages are judged
Ablation = dict[str, dict[str, float]]


def ablate(examples: Sequence[Example]) -> Ablation:
    """Return for each group of features the mean F1 by set of a first look without it; WHOLE stands first.

    Trained on four fifths of the hosts, measured on the others. A feature that is always 0 is one that is not there.
    """
    used = [example for example in examples if example.size]
    training = Training(used)
    rows = training.first_rows()
    judged = np.array([part_of(example.host) % INNER_PARTS == _LEFT_OUT for example in used])
    found: Ablation = {}
    for name, columns in _groups():
        sys.stderr.write(f"ablation: {name}\n")
        blind = [_without(each, columns) for each in rows]
        trees = training.grow(FIRST_STAGE, blind, ~judged)
        scores = {place: probabilities(trees.sums(blind[place]))[:, 0] for place in np.flatnonzero(judged).tolist()}
        found[name] = _means([used[place] for place in scores], list(scores.values()))
    return found


def write_ablation(path: Path, found: Ablation, stamped: dict[str, str]) -> None:
    """Write an ablation and the hashes of what it depends on."""
    path.write_text(json.dumps({"of": stamped, "found": found}, indent=2) + "\n", "utf-8")


def read_ablation(path: Path, stamped: dict[str, str]) -> Ablation:
    """Return the ablation written there; empty where there is none of the same data and code."""
    if not path.exists():
        return {}
    written = json.loads(path.read_text("utf-8"))
    found: Ablation = written["found"] if written["of"] == stamped else {}
    return found


def _groups() -> Iterator[tuple[str, list[int]]]:
    yield WHOLE, []
    for name, members in features.FEATURE_GROUPS.items():
        yield name, [features.FIRST_STAGE_NAMES.index(member) for member in members]
    yield "page type", [len(features.FIRST_STAGE_NAMES) + place for place in range(len(signals.PAGE_TYPES))]


def _without(rows: np.ndarray, columns: list[int]) -> np.ndarray:
    blind = rows.copy()
    blind[:, columns] = 0
    return blind


def _means(examples: Sequence[Example], scores: Sequence[np.ndarray]) -> dict[str, float]:
    found: dict[str, list[float]] = {name: [] for name in SETS}
    for example, of_blocks in zip(examples, scores, strict=True):
        found[example.set].append(score_blocks(example, Prediction(of_blocks, example.type, 1.0)).f1)
    return {name: float(np.mean(of_set)) for name, of_set in found.items() if of_set}

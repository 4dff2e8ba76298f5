"""What features and pages are worth: F1 without each group of features, and F1 after training on fewer hosts."""

from __future__ import annotations

import json
import sys
import zlib
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from cleaning.blocks import PageType
from cleaning.classifier import features, signals
from cleaning.classifier.model import Prediction, probabilities
from cleaning.domains import registered_domain
from research.training.fit import FIRST_STAGE, INNER_PARTS, Training, fit_model, part_of
from research.training.folds import FOLDS, fold_of, score_blocks, score_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from research.training.data import Example

WHOLE = "all features"
_BESIDE = "least_sign_beside"  # a score of words that stands among the hints
_TEST_PART = 0  # the part of the hosts that is measured
SHARES = (0.25, 0.5)  # of the hosts that a fold's model is trained on
Means = dict[str, dict[str, float]]  # the mean F1 by set, by what was changed


def ablate(examples: Sequence[Example]) -> Means:
    """Return for each group of features the mean F1 by set of a first stage without it; WHOLE comes first.

    Trained on four fifths of the hosts, measured on the others. A group is removed by setting its columns to 0.
    """
    used = [example for example in examples if example.size]
    training = Training(used)
    rows = training.first_rows()
    tested = np.array([part_of(example.host) % INNER_PARTS == _TEST_PART for example in used])
    means: Means = {}
    for name, columns in _feature_groups():
        sys.stderr.write(f"ablation: {name}\n")
        reduced = [_without_columns(page_rows, columns) for page_rows in rows]
        trees = training.grow(FIRST_STAGE, reduced, ~tested)
        scores = {index: probabilities(trees.sums(reduced[index]))[:, 0] for index in np.flatnonzero(tested).tolist()}
        means[name] = _mean_f1([used[index] for index in scores], list(scores.values()))
    return means


def learning_curve(examples: Sequence[Example]) -> Means:
    """Return for each of SHARES the mean F1 by set of models trained on that share of the hosts, by cross-validation.

    A smaller share is part of a larger one. The key is the share in percent.
    """
    means: Means = {}
    for share in SHARES:
        scores: dict[str, list[float]] = defaultdict(list)
        for fold in range(FOLDS):
            known = [example for example in examples if fold_of(example.host) != fold and _place(example.host) < share]
            sys.stderr.write(f"learning curve: {share:.0%} of the hosts, fold {fold}: {len(known)} pages\n")
            model = fit_model(known)
            for example in examples:
                if fold_of(example.host) == fold:
                    scores[example.set].append(score_page(model, example).score.f1)
        means[f"{share:.0%}"] = {name: float(np.mean(of_set)) for name, of_set in scores.items()}
    return means


def write_means(path: Path, means: Means, inputs: dict[str, str]) -> None:
    """Write mean scores with the hashes of their inputs."""
    path.write_text(json.dumps({"of": inputs, "means": means}, indent=2) + "\n", "utf-8")


def read_means(path: Path, inputs: dict[str, str]) -> Means:
    """Return the mean scores in this file; empty if there are none of the same data and code."""
    if not path.exists():
        return {}
    written = json.loads(path.read_text("utf-8"))
    means: Means = written["means"] if written["of"] == inputs else {}
    return means


def _place(host: str) -> float:
    """Return the place of a host (0 to 1) in the order in which hosts join the training."""
    return zlib.crc32(f"learning curve {registered_domain(f'//{host}') or host}".encode()) / 2**32


def _feature_groups() -> Iterator[tuple[str, list[int]]]:
    yield WHOLE, []
    for name, members in features.FEATURE_GROUPS.items():
        columns = [features.FIRST_STAGE_NAMES.index(member) for member in members if member != _BESIDE]
        yield name, columns + ([features.FIRST_STAGE_NAMES.index(_BESIDE)] if name == "lexicon" else [])
    yield "page type", [len(features.FIRST_STAGE_NAMES) + index for index in range(len(signals.PAGE_TYPES))]


def _without_columns(rows: np.ndarray, columns: list[int]) -> np.ndarray:
    reduced = rows.copy()
    reduced[:, columns] = 0
    return reduced


def _mean_f1(examples: Sequence[Example], scores: Sequence[np.ndarray]) -> dict[str, float]:
    f1_by_set: dict[str, list[float]] = defaultdict(list)
    for example, of_blocks in zip(examples, scores, strict=True):
        f1_by_set[example.set].append(
            score_blocks(example, Prediction(of_blocks, example.type or PageType.ARTICLE, 1.0)).f1
        )
    return {name: float(np.mean(of_set)) for name, of_set in f1_by_set.items()}

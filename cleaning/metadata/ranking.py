"""Choose one of several answers by a log-linear model: each answer has features, and each feature a trained weight.

The probability of an answer is the softmax of the sums of its features' weights. No answer is one of the answers; its
key is None. `python -m cleaning.training.metadata` trains the weights.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from math import log
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from enum import StrEnum

WEIGHTS_FILE = "metadata-weights.txt"


class Candidate(Protocol):
    """A place where an answer stands: its source, and the signs of that place."""

    @property
    def source(self) -> StrEnum: ...

    @property
    def signs(self) -> frozenset[str]: ...


def source_features(candidates: Iterable[Candidate]) -> Iterator[str]:
    """Yield the sources of an answer's candidates, and each sign with its source: `byline`, `byline:above`."""
    for candidate in candidates:
        yield candidate.source.value
        for sign in candidate.signs:
            yield f"{candidate.source.value}:{sign}"


def score_options(
    options: Mapping[str | None, Collection[str]], weights: Mapping[str, float]
) -> dict[str | None, float]:
    """Return the sum of the weights of each option's features.

    Sums are rounded: the order of a set's names, which differs between runs, must decide between no two options.
    """
    return {key: round(sum([weights[name] for name in names if name in weights]), 2) for key, names in options.items()}


def choose_answer(scores: Mapping[str | None, float], min_likelihood: float) -> str | None:
    """Return the key with the highest score; None if its likelihood beside no answer is below the minimum."""
    best = max((key for key in scores if key is not None), key=scores.__getitem__, default=None)
    if best is None or scores[best] - scores[None] < log(min_likelihood / (1 - min_likelihood)):
        return None
    return best


@cache
def load_weights(field: str) -> Mapping[str, float]:
    """Return the trained weights of a field's features: those of `published`, `authors` or `title`."""
    source = resources.files("cleaning").joinpath("data", WEIGHTS_FILE).read_text("utf-8")
    return parse_weights(source).get(field, {})


def parse_weights(source: str) -> dict[str, dict[str, float]]:
    """Return the weights by field and feature of a text with a line for each: field, weight, feature."""
    fields: dict[str, dict[str, float]] = {}
    for line in source.splitlines():
        if line and not line.startswith("#"):
            field, weight, name = line.split("\t")
            fields.setdefault(field, {})[name] = float(weight)
    return fields

"""Corrected titles, authors and dates: the right one among the answers that a page has, and what that teaches.

An answer is chosen among the options of a page by the sums of the trained weights of their features
(`cleaning/metadata/ranking.py`). A correction names the right option. The weights of the site are added to the trained
ones, so that the sources of the right options win on the other pages too.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cleaning.errors import AnnotationError
from cleaning.metadata import authors, dates, titles
from cleaning.metadata.author_names import split_names
from cleaning.metadata.date_candidates import collect_dates
from cleaning.metadata.languages import stated_language
from cleaning.metadata.ranking import load_weights, read_evidence
from cleaning.metadata.site_names import letters_of
from cleaning.metadata.statements import read_statements
from cleaning.metadata.title_candidates import collect_titles

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cleaning.blocks import Page
    from cleaning.metadata.ranking import Evidence

# By choice on the 26 sites of `wcxb-dev` with four pages or more: titles are noted there in two ways, and teach little.
_SHRINKAGE = {titles.FIELD: 3.0, authors.FIELD: 1.0, dates.FIELD: 1.0}
FIELDS = tuple(_SHRINKAGE)
"""The fields that can be corrected: `title`, `authors` and `published`."""

_STEPS = 40
_ENOUGH = 1e-4
_HALVINGS = 30
_TINY = 1e-300  # the logarithm of 0 is none
_MIN_WEIGHT = 0.05
_DAY = re.compile(r"\d{4}-\d\d(-\d\d)?")


class CorrectedField(NamedTuple):
    """The options of a page for a field, by key with their features, and the key of the right one.

    The key None stands for no answer. `answer` is what the reader wrote, empty for none.
    """

    options: Mapping[str | None, Collection[str]]
    right: str | None
    answer: str = ""


def correct_field(page: Page, field: str, answer: str) -> CorrectedField:
    """Return the correction of a field of a page; an empty answer says that the page has none.

    `answer` is a title, names (`Ann Lee, Bo Ek`) or an ISO date. Raises AnnotationError for another field, and for an
    answer that the page does not have: no source could be learned from it.
    """
    if field not in FIELDS:
        raise AnnotationError(f"the field {field!r} cannot be corrected; {', '.join(FIELDS)} can")
    evidence = read_evidence(page.root, read_statements(page.root), page.url)
    options = _read_options(evidence, field)
    wanted = " ".join(answer.split())
    if not wanted:
        return CorrectedField(options, None)
    if field == dates.FIELD and not _DAY.fullmatch(wanted):
        raise AnnotationError(f"the day {wanted!r} is not an ISO date, such as 2026-05-01")
    matching = [key for key in options if key is not None and _means(field, key, wanted)]
    if not matching:
        known = ", ".join(repr(key) for key in options if key is not None)[:300]
        raise AnnotationError(f"the page states no {field} {wanted!r}; it has {known or 'none at all'}")
    return CorrectedField(options, matching[0], wanted)


def learn_field(
    field: str, corrected: Sequence[CorrectedField], trained: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Return what is added to the trained weights of a field's features; nothing for no corrections.

    `trained` are those that come with the package, unless others are given. The weights make the right options likely
    beside them, and are shrunk towards 0: the minimum of a convex function, by Newton's method.
    """
    names = sorted({name for fixed in corrected for features in fixed.options.values() for name in features})
    trained = load_weights(field) if trained is None else trained
    choices = [_Choice.of(fixed, names, trained) for fixed in corrected if fixed.right in fixed.options]
    if not choices:
        return {}
    weights = _fit(choices, len(names), _SHRINKAGE[field])
    rounded = zip(names, np.round(weights, 2).tolist(), strict=True)
    return {name: weight for name, weight in rounded if abs(weight) >= _MIN_WEIGHT}


def _fit(choices: Sequence[_Choice], size: int, shrinkage: float) -> np.ndarray:
    """Return the weights (size) with the least negative log-likelihood of the right options, shrunk towards 0."""
    weights = np.zeros(size)
    loss = _loss(choices, weights, shrinkage)
    for _ in range(_STEPS):
        gradient = shrinkage * weights
        curvature = shrinkage * np.eye(size)
        for choice in choices:
            shares = choice.shares(weights)
            gradient += choice.features.T @ (shares - choice.right)
            curvature += choice.features.T @ ((np.diag(shares) - np.outer(shares, shares)) @ choice.features)
        if np.abs(gradient).max() < _ENOUGH:
            break
        step = np.linalg.solve(curvature, -gradient)
        for _ in range(_HALVINGS):
            lower = _loss(choices, weights + step, shrinkage)
            if lower <= loss:
                break
            step /= 2
        else:
            break
        weights = weights + step
        loss = lower
    return weights


def _loss(choices: Sequence[_Choice], weights: np.ndarray, shrinkage: float) -> float:
    likelihoods = [float(choice.shares(weights) @ choice.right) for choice in choices]
    return shrinkage / 2 * float(weights @ weights) - sum(math.log(max(likely, _TINY)) for likely in likelihoods)


def taught_weights(
    field: str, added: Mapping[str, float], trained: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Return the trained weights of a field (by default those of the package) with those of a site."""
    trained = load_weights(field) if trained is None else trained
    return {**trained, **{name: trained.get(name, 0.0) + weight for name, weight in added.items()}}


class _Choice(NamedTuple):
    """The n options of a page in columns: features (n x m), trained score (n) and which one is right (n)."""

    features: np.ndarray
    trained: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, corrected: CorrectedField, names: Sequence[str], trained: Mapping[str, float]) -> _Choice:
        columns = {name: column for column, name in enumerate(names)}
        features = np.zeros((len(corrected.options), len(names)))
        for row, of_option in enumerate(corrected.options.values()):
            features[row, [columns[name] for name in of_option]] = 1
        scores = [sum(trained.get(name, 0.0) for name in of_option) for of_option in corrected.options.values()]
        right = [float(key == corrected.right) for key in corrected.options]
        return cls(features, np.array(scores, np.float64), np.array(right))

    def shares(self, weights: np.ndarray) -> np.ndarray:
        """Return the likelihood of each option."""
        scores = self.trained + self.features @ weights
        odds = np.exp(scores - scores.max())
        likely: np.ndarray = odds / odds.sum()
        return likely


def _read_options(evidence: Evidence, field: str) -> dict[str | None, set[str]]:
    if field == titles.FIELD:
        return titles.describe_titles(list(collect_titles(evidence)), evidence)
    if field == authors.FIELD:
        return authors.describe_authors(authors.group_authors(evidence), evidence)
    language = stated_language(evidence.root, evidence.stated)
    return dates.describe_days(list(collect_dates(evidence, language)), evidence)


def _means(field: str, key: str, answer: str) -> bool:
    """Return True if the key of an option stands for the answer."""
    if field == titles.FIELD:
        return key == letters_of(answer) or key == answer
    if field == authors.FIELD:
        return split_names(key) == split_names(answer)
    return key == answer

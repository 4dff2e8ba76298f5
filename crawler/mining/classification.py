"""Classify documents by a column: Naive Bayes and a linear model, judged by documents that they do not know."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from crawler.errors import MiningError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawler.mining.documents import Document
    from crawler.mining.term_counts import TermCounts

_TERMS_PER_LABEL = 12
_SEED = 0
_LABELS_MAX = 200
_FEWEST_LABELS = 2


@dataclass(frozen=True, slots=True)
class ModelScore:
    """How well a model does on documents that it does not know: the means over the folds, and their standard errors."""

    name: str
    accuracy: float
    accuracy_error: float
    macro_f1: float
    macro_f1_error: float


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """The label of a document, and that of the best model that was trained without it with its probability.

    `label` is None for a document without one, or with a rare one.
    """

    document: Document
    label: str | None
    predicted: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Classification:
    """How well documents can be told apart by their terms.

    `baseline` is the accuracy of always naming the most frequent label. `confusion` counts the documents of each label
    (rows) by the label that the best model predicted (columns). `terms` has the words that tell for each label.
    `left_out` counts the documents without a label, or with a rare one. `unlabelled` has what the best model, trained
    on all others, predicts for them.
    """

    by: str
    labels: list[str]
    models: list[ModelScore]
    baseline: float
    confusion: list[list[int]]
    terms: dict[str, list[str]]
    predictions: list[JudgedDocument] = field(repr=False)
    left_out: dict[str, int]
    unlabelled: list[JudgedDocument] = field(default_factory=list, repr=False)

    @property
    def best(self) -> ModelScore:
        return max(self.models, key=lambda model: model.accuracy)


def classify(
    counts: TermCounts,
    by: str = "section",
    *,
    level: int | None = None,
    folds: int = 10,
    min_documents: int = 10,
    group: str | None = None,
) -> Classification:
    """Train models to tell the values of a column, on all folds of the documents but one, and judge them by that one.

    `naive Bayes` is the multinomial model (Kibriya et al. 2004, which the PAB paper uses), `linear` logistic regression
    on TF-IDF. Labels of fewer than `min_documents` documents are left out; `level` cuts labels such as `news/a` to
    their first parts. `group` names a column whose values are never divided between folds: with `site`, a model is
    judged by sites that it has not seen. The standard errors are those of the folds, which share training documents, so
    they are somewhat too small. Raises MiningError if fewer than two labels are left.
    """
    if folds < 2:  # noqa: PLR2004 — one to learn from, one to judge by
        raise MiningError(f"folds is {folds}; it must be 2 or more")
    rows, labels, left_out = _labelled(counts, by, level, max(min_documents, folds if group is None else 2))
    names = sorted(set(labels))
    groups = [counts.documents[row].label(group) or "" for row in rows] if group else None
    splits = _splits(labels, groups, folds)
    matrix = counts.matrix[rows]
    judged = {name: _judge(model, matrix, labels, splits) for name, model in _models().items()}
    scores = [_score(name, labels, predicted, splits) for name, (predicted, _) in judged.items()]
    best = max(scores, key=lambda score: score.accuracy).name
    predicted, confidence = judged[best]
    documents = [counts.documents[row] for row in rows]
    return Classification(
        by,
        names,
        scores,
        max(Counter(labels).values()) / len(labels),
        _confusion(labels, predicted, names),
        _telling_terms(counts, matrix, labels, names),
        [JudgedDocument(*values) for values in zip(documents, labels, predicted, map(float, confidence), strict=True)],
        left_out,
        _predict_others(counts, best, rows, labels),
    )


def _predict_others(counts: TermCounts, best: str, rows: list[int], labels: list[str]) -> list[JudgedDocument]:
    """Return what a model that was trained on the labelled rows predicts for the others."""
    known = set(rows)
    others = [row for row in range(len(counts.documents)) if row not in known]
    if not others:
        return []
    fitted = _models()[best].fit(counts.matrix[rows], labels)
    shares = fitted.predict_proba(counts.matrix[others])
    chosen = shares.argmax(axis=1)
    return [
        JudgedDocument(counts.documents[row], None, str(fitted.classes_[label]), float(own[label]))
        for row, label, own in zip(others, chosen, shares, strict=True)
    ]


def _labelled(
    counts: TermCounts, by: str, level: int | None, min_documents: int
) -> tuple[list[int], list[str], dict[str, int]]:
    known = counts.documents[0].columns
    if by not in known:
        raise MiningError(f"the documents have no column {by!r}; they have {', '.join(known)}")
    labels = [document.label(by, level) for document in counts.documents]
    sizes = Counter(label for label in labels if label)
    frequent = {label for label, size in sizes.items() if size >= min_documents}
    rows = [row for row, label in enumerate(labels) if label in frequent]
    if not _FEWEST_LABELS <= len(frequent) <= _LABELS_MAX:
        raise MiningError(
            f"the column {by!r} has {len(frequent)} values with at least {min_documents} documents "
            f"({len(sizes)} in all, {labels.count(None):,} documents have none); classifying needs "
            f"{_FEWEST_LABELS} to {_LABELS_MAX}: choose another column, a level, or a smaller number of documents"
        )
    left_out = {"no_label": sum(not label for label in labels)}
    left_out["rare_label"] = len(labels) - len(rows) - left_out["no_label"]
    return rows, [str(labels[row]) for row in rows], left_out


def _models() -> dict[str, Any]:
    linear = make_pipeline(TfidfTransformer(sublinear_tf=True), LogisticRegression(C=10, max_iter=1_000))
    return {"naive Bayes": MultinomialNB(), "linear": linear}


def _splits(labels: Sequence[str], groups: list[str] | None, folds: int) -> list[tuple[Any, Any]]:
    if groups is None:
        return list(StratifiedKFold(folds, shuffle=True, random_state=_SEED).split(labels, labels))
    if len(set(groups)) < folds:
        raise MiningError(f"there are {len(set(groups))} groups for {folds} folds; choose fewer folds")
    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=_SEED)
    return [(train, test) for train, test in splitter.split(labels, labels, groups) if len(test)]


def _judge(
    model: Any, matrix: Any, labels: Sequence[str], splits: Sequence[tuple[Any, Any]]
) -> tuple[list[str], np.ndarray[Any, Any]]:
    """Return the label that a model predicts for each document, trained without its fold, and its probability."""
    truth = np.array(labels, dtype=object)
    predicted = truth.copy()
    confidence = np.zeros(len(labels))
    for train, test in splits:
        fitted = clone(model).fit(matrix[train], truth[train].astype(str))
        shares = fitted.predict_proba(matrix[test])
        best = shares.argmax(axis=1)
        predicted[test] = fitted.classes_[best]
        confidence[test] = shares[np.arange(len(test)), best]
    return predicted.tolist(), confidence


def _score(name: str, labels: Sequence[str], predicted: Sequence[str], splits: Sequence[tuple[Any, Any]]) -> ModelScore:
    truth = np.array(labels)
    answers = np.array(predicted)
    figures = np.array(
        [
            (
                accuracy_score(truth[test], answers[test]),
                f1_score(truth[test], answers[test], labels=sorted(set(truth[test])), average="macro", zero_division=0),
            )
            for _, test in splits
        ]
    )
    means = figures.mean(axis=0)
    errors = figures.std(axis=0, ddof=1) / sqrt(len(figures)) if len(figures) > 1 else (0.0, 0.0)
    return ModelScore(name, float(means[0]), float(errors[0]), float(means[1]), float(errors[1]))


def _confusion(labels: Sequence[str], predicted: Sequence[str], names: list[str]) -> list[list[int]]:
    pairs = Counter(zip(labels, predicted, strict=True))
    return [[pairs[label, answer] for answer in names] for label in names]


def _telling_terms(counts: TermCounts, matrix: Any, labels: Sequence[str], names: list[str]) -> dict[str, list[str]]:
    """Return the words that are most typical of each label: the difference in the log odds of a word, by all others.

    Without those that a label has in one document only.
    """
    truth = np.array(labels)
    totals = np.asarray(matrix.sum(axis=0)).ravel()
    terms: dict[str, list[str]] = {}
    for name in names:
        own = matrix[np.flatnonzero(truth == name)]
        inside = np.asarray(own.sum(axis=0)).ravel()
        weights = (_log_shares(inside) - _log_shares(totals - inside)) * np.log1p(inside)
        weights[np.asarray((own > 0).sum(axis=0)).ravel() < 2] = -np.inf  # noqa: PLR2004 — one document
        order = np.argsort(-weights, kind="stable")[:_TERMS_PER_LABEL]
        terms[name] = [counts.words[number] for number in order if weights[number] > 0]
    return terms


def _log_shares(totals: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    shares: np.ndarray[Any, Any] = np.log((totals + 1) / (totals.sum() + len(totals)))
    return shares

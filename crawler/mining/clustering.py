"""Cluster documents by topic: k-means on TF-IDF, with the number of clusters chosen by the silhouette."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import normalize

from crawler.errors import MiningError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawler.mining.documents import Document
    from crawler.mining.term_counts import TermCounts

_SEED = 0
_DIMENSIONS = 100
_TRIED = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
_SAMPLED_MAX = 5_000
_RUNS = 5
_TERMS_PER_CLUSTER = 10
_NEAREST_PER_CLUSTER = 5
_FEWEST_DOCUMENTS = 4


@dataclass(frozen=True, slots=True)
class Member:
    """A document of a cluster and its similarity to the cluster's centre, from -1 to 1."""

    document: Document
    cluster: int
    similarity: float


@dataclass(frozen=True, slots=True)
class TopicCluster:
    """A cluster: its number from 1, the largest first, its size, its most typical words and its nearest documents."""

    number: int
    size: int
    terms: list[str]
    nearest: list[Member]

    @property
    def name(self) -> str:
        """The three most typical words."""
        return " ".join(self.terms[:3])


@dataclass(frozen=True, slots=True)
class Clustering:
    """The clusters of documents. `silhouettes` has the value of each number of clusters that was tried.

    A silhouette is the mean over the documents of (b - a) / max(a, b), with the mean distances a to the other documents
    of its cluster and b to those of the nearest other one (Rousseeuw 1987): 1 is well apart, 0 is no structure.
    """

    clusters: list[TopicCluster]
    members: list[Member] = field(repr=False)
    silhouettes: dict[int, float]


def cluster(counts: TermCounts, clusters: int | None = None, *, clusters_max: int = 30) -> Clustering:
    """Divide documents into clusters by their terms, in the same way each time.

    Terms are weighed by TF-IDF, reduced to 100 dimensions (latent semantic analysis) and divided by k-means. Without
    `clusters`, the number up to `clusters_max` with the largest silhouette is taken; of more than 5,000 documents a
    sample is measured. Raises MiningError for fewer than four documents.
    """
    count = len(counts.documents)
    if count < _FEWEST_DOCUMENTS:
        raise MiningError(f"{count} documents have terms; clustering needs {_FEWEST_DOCUMENTS} or more")
    if clusters is not None and not 2 <= clusters < count:  # noqa: PLR2004 — one cluster is no division
        raise MiningError(f"clusters is {clusters}; it takes a number from 2 to {count - 1}, the documents less one")
    weights, vectors = _vectors(counts)
    different = len(np.unique(vectors.round(9), axis=0))
    largest = min(clusters_max, count - 1, different) if clusters is None else clusters
    tried = [number for number in _TRIED if number <= largest] if clusters is None else [clusters]
    if not tried or largest > different:
        raise MiningError(
            f"{largest} clusters were asked for, and {different} of {count:,} documents differ; 2 or more are needed"
        )
    models = {number: _divide(vectors, number) for number in tried}
    silhouettes = {number: _silhouette(vectors, model.labels_) for number, model in models.items()}
    best = max(tried, key=lambda number: (silhouettes[number], -number))
    return _describe(counts, weights, vectors, models[best], silhouettes)


def _vectors(counts: TermCounts) -> tuple[Any, np.ndarray[Any, Any]]:
    """Return the TF-IDF weights of documents, and their unit vectors of few dimensions."""
    weights = TfidfTransformer(sublinear_tf=True).fit_transform(counts.matrix)
    dimensions = min(_DIMENSIONS, min(weights.shape) - 1)
    if dimensions < 2:  # noqa: PLR2004 — nothing to reduce
        return weights, weights.toarray()
    reduced = TruncatedSVD(dimensions, random_state=_SEED).fit_transform(weights)
    vectors: np.ndarray[Any, Any] = normalize(reduced)
    return weights, vectors


def _divide(vectors: np.ndarray[Any, Any], number: int) -> Any:
    return KMeans(number, n_init=_RUNS, random_state=_SEED).fit(vectors)


def _silhouette(vectors: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> float:
    size = _SAMPLED_MAX if len(labels) > _SAMPLED_MAX else None
    return float(silhouette_score(vectors, labels, metric="cosine", sample_size=size, random_state=_SEED))


def _describe(
    counts: TermCounts, weights: Any, vectors: np.ndarray[Any, Any], model: Any, silhouettes: dict[int, float]
) -> Clustering:
    centres = model.cluster_centers_ / np.maximum(np.linalg.norm(model.cluster_centers_, axis=1, keepdims=True), 1e-12)
    sizes = np.bincount(model.labels_, minlength=len(centres))
    order = [int(old) for old in np.argsort(-sizes, kind="stable") if sizes[old]]
    numbers = {old: number for number, old in enumerate(order, 1)}
    similarities = (vectors * centres[model.labels_]).sum(axis=1)
    members = [
        Member(document, numbers[int(old)], float(similarity))
        for document, old, similarity in zip(counts.documents, model.labels_, similarities, strict=True)
    ]
    overall = np.asarray(weights.mean(axis=0)).ravel()
    clusters = [
        TopicCluster(
            numbers[old],
            int(sizes[old]),
            _typical(counts, weights[np.flatnonzero(model.labels_ == old)], overall),
            _nearest([member for member in members if member.cluster == numbers[old]]),
        )
        for old in order
    ]
    return Clustering(clusters, members, silhouettes)


def _typical(counts: TermCounts, weights: Any, overall: np.ndarray[Any, Any]) -> list[str]:
    """Return the words with the largest mean weight above that of all documents."""
    above = np.asarray(weights.mean(axis=0)).ravel() - overall
    order = np.argsort(-above, kind="stable")[:_TERMS_PER_CLUSTER]
    return [counts.words[number] for number in order if above[number] > 0]


def _nearest(members: Sequence[Member]) -> list[Member]:
    return sorted(members, key=lambda member: (-member.similarity, member.document.id))[:_NEAREST_PER_CLUSTER]

"""K-FE: FE's blocks, sorted by their probability of having text; k-means finds those that have most."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from cleaning.blocks import Decision, Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cleaning.blocks import Page
    from cleaning.features import Leaf
    from cleaning.options import Options

# Numbers on a line settle within a few rounds; a bound, because floats could also swing for ever.
_MOST_ROUNDS = 100


def decide(
    page: Page,  # noqa: ARG001 — as every method
    leaves: Sequence[Leaf],
    scores: Sequence[float],
    options: Options,
) -> list[Decision]:
    """Keep the blocks of the cluster with the highest probabilities, none where none has text outside links."""
    least = top_cluster(
        [found for leaf, found in zip(leaves, scores, strict=True) if not leaf.dropped], options.kfe_clusters
    )
    return [
        Decision(leaf.block, found, leaf.dropped or (Reason.KEPT if found >= least and found > 0 else Reason.LOW_SCORE))
        for leaf, found in zip(leaves, scores, strict=True)
    ]


def top_cluster(values: Sequence[float], clusters: int) -> float:
    """Return the least value of the highest of that many clusters by k-means; 0 for no values.

    The first centres are evenly spaced among the sorted distinct values, of which each cluster needs one, so the
    result is always the same. A value between two centres, as near to either, goes to the higher.
    """
    if not values:
        return 0.0
    ordered = sorted(values)
    centres = _first_centres(ordered, clusters)
    starts: list[int] = []
    for _ in range(_MOST_ROUNDS):
        found = [0, *(bisect_left(ordered, (low + high) / 2) for low, high in pairwise(centres))]
        if found == starts:
            break
        starts = found
        centres = _means(ordered, starts, centres)
    return ordered[min(starts[-1], len(ordered) - 1)]


def _first_centres(ordered: Sequence[float], clusters: int) -> list[float]:
    distinct = list(dict.fromkeys(ordered))
    count = min(clusters, len(distinct))
    return [distinct[(2 * place + 1) * len(distinct) // (2 * count)] for place in range(count)]


def _means(ordered: Sequence[float], starts: Sequence[int], centres: Sequence[float]) -> list[float]:
    """Return the mean of each cluster, which begins where `starts` says; one without values stays where it was."""
    sums = [0.0, *accumulate(ordered)]
    bounds = pairwise([*starts, len(ordered)])
    return [
        (sums[end] - sums[start]) / (end - start) if end > start else centre
        for (start, end), centre in zip(bounds, centres, strict=True)
    ]

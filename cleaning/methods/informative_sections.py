"""FE, K-FE and CE: the three extractors of informative sections (Debnath, Mitra, Pal & Giles 2005)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from lxml import etree
from xxhash import xxh64_intdigest

from cleaning.blocks import Decision, Reason
from cleaning.errors import OptionError
from cleaning.leaves import body_of, walk
from cleaning.options import Options
from cleaning.segments import regroup
from cleaning.terms import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Page
    from cleaning.leaves import Leaf

_BLOCK_TAGS = frozenset({"table", "tr", "p", "hr", "ul"})
# Features of a block other than text, each element counted once: links, images, controls, embedded objects, programs.
_FEATURE_TAGS = frozenset(
    "a applet audio button canvas embed iframe img input map object script select style svg textarea video".split()
)
# K-means on a line settles within a few rounds; the bound is for floats that could swing for ever.
_MAX_ROUNDS = 100
_MIN_PAGES = 2


def segment(page: Page, options: Options) -> list[Leaf]:  # noqa: ARG001 — all methods share this signature
    """Return the page's tables, rows, paragraphs, rules and lists; inner blocks' text is not part of outer blocks."""
    return regroup(walk(page.root), page.root, _begins_block, nested=True)


def score_by_features(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — all methods share this signature
    """Return FE's score, the probability of having text: words outside links / (these + other features), 0 to 1."""
    others = _count_features(page.root)
    return [_text_probability(leaf, others.get(leaf.node.element, 0)) for leaf in leaves]


def keep_best_block(
    page: Page,  # noqa: ARG001 — all methods share this signature
    leaves: Sequence[Leaf],
    scores: Sequence[float],
    options: Options,  # noqa: ARG001 — all methods share this signature
) -> list[Decision]:
    """Keep the block with the highest probability (FE); the longest of equal ones, then the first.

    No block is kept if none has text outside links.
    """
    best = max(range(len(leaves)), key=lambda index: (scores[index], len(leaves[index].block.text)))
    kept = best if scores[best] > 0 else None
    return [
        Decision(leaf.block, score, leaf.dropped or (Reason.KEPT if index == kept else Reason.LOW_SCORE))
        for index, (leaf, score) in enumerate(zip(leaves, scores, strict=True))
    ]


def keep_top_cluster(
    page: Page,  # noqa: ARG001 — all methods share this signature
    leaves: Sequence[Leaf],
    scores: Sequence[float],
    options: Options,
) -> list[Decision]:
    """Keep the cluster of blocks with the highest probabilities (K-FE); none if no block has text outside links."""
    least = _top_cluster_minimum(
        [score for leaf, score in zip(leaves, scores, strict=True) if not leaf.dropped], options.kfe_clusters
    )
    return [
        Decision(leaf.block, score, leaf.dropped or (Reason.KEPT if score >= least and score > 0 else Reason.LOW_SCORE))
        for leaf, score in zip(leaves, scores, strict=True)
    ]


def score_by_length(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — all methods share this signature
    """Return CE's score, the length of each block's text in characters; 0 for a block that is dropped already."""
    return [0.0 if leaf.dropped else float(len(leaf.block.text)) for leaf in leaves]


def keep_longest_new_block(
    page: Page,
    leaves: Sequence[Leaf],
    scores: Sequence[float],
    options: Options,  # noqa: ARG001 — all methods share this signature
) -> list[Decision]:
    """Keep the longest block whose pattern is not in the site's template (CE); the first of equally long ones."""
    template = page.template or frozenset()
    reasons = [leaf.dropped or (Reason.TEMPLATE if _block_pattern(leaf) in template else None) for leaf in leaves]
    candidates = [index for index, reason in enumerate(reasons) if reason is None]
    main = max(candidates, key=lambda index: scores[index], default=None)
    return [
        Decision(leaf.block, score, reason or (Reason.KEPT if index == main else Reason.OUTSIDE))
        for index, (leaf, score, reason) in enumerate(zip(leaves, scores, reasons, strict=True))
    ]


def learn_template(pages: Iterable[Page], least_pages: int = _MIN_PAGES) -> frozenset[int]:
    """Return the patterns of the blocks that at least `least_pages` of the pages have: CE's template of a site.

    A pattern is the unsigned 64-bit hash of a block's text and tags. A page given twice counts as two pages. Raises
    OptionError if `least_pages` is less than 2, since one page shows no repetition.
    """
    if least_pages < _MIN_PAGES:
        raise OptionError(f"least_pages is {least_pages}; a pattern repeats on {_MIN_PAGES} pages at least")
    counts: Counter[int] = Counter()
    for page in pages:
        counts.update({_block_pattern(leaf) for leaf in segment(page, Options()) if not leaf.dropped})
    return frozenset(pattern for pattern, count in counts.items() if count >= least_pages)


def _block_pattern(leaf: Leaf) -> int:
    """Return the hash of a block's text on one line, its tag and the tags around its text nodes, in order."""
    tags = (piece.element.tag for piece in leaf.pieces if not piece.text.isspace())
    shape = " ".join([leaf.node.tag, *tags])  # no tag has white space in it
    return xxh64_intdigest(f"{shape}\n{normalise(leaf.block.text)}".encode(errors="replace"))


def _begins_block(element: HtmlElement) -> bool:
    return element.tag in _BLOCK_TAGS


def _count_features(root: HtmlElement) -> dict[HtmlElement, int]:
    """Return the number of each block's own features other than text, by the block's element."""
    counts: dict[HtmlElement, int] = {}
    block_of: dict[HtmlElement, HtmlElement | None] = {}
    start = body_of(root)
    for element in start.iter(etree.Element):
        inside = None if element is start else block_of.get(element.getparent())
        block = block_of[element] = element if _begins_block(element) else inside
        if block is not None and element.tag in _FEATURE_TAGS:
            counts[block] = counts.get(block, 0) + 1
    return counts


def _text_probability(leaf: Leaf, others: int) -> float:
    if leaf.dropped:
        return 0.0
    words = leaf.block.words - leaf.block.link_words
    return words / (words + others) if words else 0.0


def _top_cluster_minimum(values: Sequence[float], clusters: int) -> float:
    """Return the least value in the highest of that many k-means clusters; 0 without values.

    The initial centres are evenly spaced among the sorted distinct values, one a cluster at most, so the result is
    deterministic. A value halfway between two centres belongs to the higher one.
    """
    if not values:
        return 0.0
    ordered = sorted(values)
    centres = _first_centres(ordered, clusters)
    starts: list[int] = []
    for _ in range(_MAX_ROUNDS):
        next_starts = [0, *(bisect_left(ordered, (low + high) / 2) for low, high in pairwise(centres))]
        if next_starts == starts:
            break
        starts = next_starts
        centres = _cluster_means(ordered, starts, centres)
    return ordered[min(starts[-1], len(ordered) - 1)]


def _first_centres(ordered: Sequence[float], clusters: int) -> list[float]:
    distinct = list(dict.fromkeys(ordered))
    count = min(clusters, len(distinct))
    return [distinct[(2 * index + 1) * len(distinct) // (2 * count)] for index in range(count)]


def _cluster_means(ordered: Sequence[float], starts: Sequence[int], centres: Sequence[float]) -> list[float]:
    """Return the mean of each cluster; `starts` are their first indexes, and an empty cluster keeps its centre."""
    sums = [0.0, *accumulate(ordered)]
    bounds = pairwise([*starts, len(ordered)])
    return [
        (sums[end] - sums[start]) / (end - start) if end > start else centre
        for (start, end), centre in zip(bounds, centres, strict=True)
    ]

"""Our own method: prose shows where the main text is; hints, links and distance from prose say what is not part of it."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from functools import cache, lru_cache
from importlib import resources
from itertools import islice
from typing import TYPE_CHECKING

from cleaning.blocks import Decision, Reason
from cleaning.features import enclosing, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cleaning.blocks import Page
    from cleaning.features import Leaf, Node
    from cleaning.options import Options

# Swept on both development sets; halving or doubling the distance of a share from 0 or 1 costs less than .005 F1.
_NEAR_LEVELS = 5  # elements around a block whose prose speaks for it
_MOST_PROSE = {"sure": 0.9, "likely": 0.4}  # a hint that covers more of the page's prose is not believed
_MAIN_SHARE = 0.8  # of the prose: the smallest element with so much is the main one; <main> needs half of it
_LISTING_PROSE = 0.4  # of the words outside links: a page with less prose lists things, and its links are content
_SHORT_PROSE, _SHORT_SHARE = 100, 0.3  # words of prose, and share of all words, that make a listing too
_LINKED_WORDS = 3  # an element with no more words than these is not dropped for its links


def segment(page: Page) -> list[Leaf]:
    return walk(page.root)


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — as every method
    """Return for each leaf the highest share of prose (0 to 1) in the words of one of the elements around it."""
    return [max(n.prose / (n.words or 1) for n in islice(leaf.node.chain(), _NEAR_LEVELS)) for leaf in leaves]


def decide(leaves: Sequence[Leaf], scores: Sequence[float], options: Options) -> list[Decision]:
    """Keep what lies in the main element, is excluded by no hint and no list of links, and has prose near it."""
    nodes = enclosing(leaves)
    reasons: dict[Node, Reason] = {}
    for level in _MOST_PROSE:
        reasons = _spread(nodes, reasons, _hinted(nodes, leaves, level, reasons))
    clear = [leaf for leaf in leaves if leaf.node not in reasons]
    listing = _is_listing(clear)
    if not listing:
        reasons = _spread(nodes, reasons, _linked(nodes, options.max_link_share))
    reasons = _outside(nodes, clear, listing=listing) | reasons
    least = 0.0 if listing else options.min_prose_share
    return [
        Decision(leaf.block, found, reasons.get(leaf.node) or (Reason.SHORT if found < least else Reason.KEPT))
        for leaf, found in zip(leaves, scores, strict=True)
    ]


def _spread(nodes: Iterable[Node], known: dict[Node, Reason], new: dict[Node, Reason]) -> dict[Node, Reason]:
    """Return all the reasons, each also for what lies inside its element; the outermost counts."""
    spread: dict[Node, Reason] = {}
    for node in nodes:
        above = spread.get(node.parent) if node.parent else None
        reason = known.get(node) or above or new.get(node)
        if reason:
            spread[node] = reason
    return spread


def _hinted(
    nodes: Iterable[Node], leaves: Iterable[Leaf], level: str, known: dict[Node, Reason]
) -> dict[Node, Reason]:
    prose = max(1, sum(leaf.prose for leaf in leaves if leaf.node not in known))
    hinted = {node: _hints(level, node.tag, node.hints) for node in nodes if node not in known}
    covered: Counter[str] = Counter()
    above: dict[Node | None, frozenset[str]] = {}
    for node, found in hinted.items():
        outer = above.get(node.parent, frozenset())
        above[node] = outer.union(found) if found else outer
        for word in found.keys() - outer:
            covered[word] += node.prose
    return {
        node: reason
        for node, found in hinted.items()
        for word, reason in found.items()
        if covered[word] < _MOST_PROSE[level] * prose
    }


def _is_listing(leaves: Sequence[Leaf]) -> bool:
    words = sum(leaf.block.words for leaf in leaves)
    unlinked = words - sum(leaf.block.link_words for leaf in leaves)
    prose = sum(leaf.prose for leaf in leaves)
    return prose < _LISTING_PROSE * unlinked or prose < min(_SHORT_PROSE, _SHORT_SHARE * words)


def _linked(nodes: Iterable[Node], most: float) -> dict[Node, Reason]:
    linked = (node for node in nodes if node.words > _LINKED_WORDS and node.link_words > most * node.words)
    return dict.fromkeys(linked, Reason.LINKS)


def _outside(nodes: Sequence[Node], leaves: Iterable[Leaf], *, listing: bool) -> dict[Node, Reason]:
    weights: Counter[Node] = Counter()
    for leaf in leaves:
        weights[leaf.node] += leaf.block.words if listing else leaf.prose
    for node in reversed(nodes):
        if node.parent:
            weights[node.parent] += weights[node]
    main, inside = nodes[0], set()
    for node in nodes:
        least = weights[nodes[0]] * (_MAIN_SHARE if node.tag != "main" and "main" not in node.hints.split() else 0.4)
        if node.parent is main and weights[node] >= least > 0:
            main = node
    for node in nodes:
        if node is main or node.parent in inside:
            inside.add(node)
    return dict.fromkeys((node for node in nodes if node not in inside), Reason.OUTSIDE)


@lru_cache(maxsize=1 << 14)
def _hints(level: str, tag: str, hints: str) -> dict[str, Reason]:
    words = [f"<{tag}>", *re.findall("[a-z]+", hints)]
    return {word: _table()[level, word] for word in words if (level, word) in _table()}


@cache
def _table() -> dict[tuple[str, str], Reason]:
    source = resources.files("cleaning").joinpath("data", "hints.toml").read_text("utf-8")
    tables = tomllib.loads(source).items()
    return {(level, word): Reason(name) for name, table in tables for level in table for word in table[level].split()}

"""Our own method: prose shows where the main text is; hints, links and distance from prose, what is not part of it."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from cleaning.blocks import Decision, Kind, Reason
from cleaning.features import HEADINGS, enclosing, walk
from cleaning.hints import read_hints, spread
from cleaning.terms import stop_words, tokenise

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cleaning.blocks import Page
    from cleaning.features import Leaf, Node
    from cleaning.options import Options

# Swept on both development sets, halves by host looked at apart; a step either way costs less than .003 F1.
_NEAR_LEVELS = 5  # elements around a block whose prose speaks for it
_LABEL_WORDS, _LABEL_STOP_SHARE = 15, 0.25  # a line with no more of both that ends no sentence is a label
_LISTING_PROSE = 0.4  # of the words outside links: a page with less prose lists things, and its links are content
_LITTLE_PROSE, _LITTLE_SHARE = 100, 0.3  # words of prose, and their share of all words, that make a listing too
_ITEM_WORDS = 3  # a list item or cell with no more words may be a link
_MAIN_SHARE, _MARKED_SHARE = 0.8, 0.4  # of the prose: the smallest element with more is the main one
_HEADLINE_BLOCKS = 30  # from the headline to the main element
_SENTENCE = re.compile(r"(?<!\d)[.!?](?!\w)|[。！？…।؟]")
_ITEMS = {"li", "td", "th", "dt", "dd"}


def segment(page: Page) -> list[Leaf]:
    return walk(page.root)


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — as every method
    """Return the share of prose (0 to 1) in the best of the elements around each leaf; 0 for a label."""
    stop = stop_words("any")
    return [
        0.0 if _is_label(leaf, stop) else max(n.prose / (n.words or 1) for n in islice(leaf.node.chain(), _NEAR_LEVELS))
        for leaf in leaves
    ]


def decide(leaves: Sequence[Leaf], scores: Sequence[float], options: Options) -> list[Decision]:
    """Keep what is in the main part of the page, has no hint against it, is in no list of links and has prose near."""
    nodes = enclosing(leaves)
    reasons = read_hints(nodes)
    clear = [leaf for leaf in leaves if leaf.node not in reasons]
    listing = _is_listing(clear)
    if not listing:
        linked = (node for node in nodes if _is_linked(node, options.max_link_share))
        reasons = spread(nodes, reasons | dict.fromkeys(linked, Reason.LINKS))
    main = _main(nodes, clear, listing=listing)
    least = 0.0 if listing else options.min_prose_share
    decisions = []
    for leaf, found in zip(leaves, scores, strict=True):
        reason = Reason.OUTSIDE if leaf not in main else Reason.SHORT if found < least else Reason.KEPT
        decisions.append(Decision(leaf.block, found, reasons.get(leaf.node, reason)))
    return decisions


def _is_label(leaf: Leaf, stop: frozenset[str]) -> bool:
    block = leaf.block
    if block.kind is not Kind.PARAGRAPH or block.words > _LABEL_WORDS or _SENTENCE.search(block.text):
        return False
    tokens = tokenise(block.text)
    return sum(token in stop for token in tokens) <= _LABEL_STOP_SHARE * len(tokens)


def _is_listing(leaves: Sequence[Leaf]) -> bool:
    words = sum(leaf.block.words for leaf in leaves)
    unlinked = words - sum(leaf.block.link_words for leaf in leaves)
    prose = sum(leaf.prose for leaf in leaves)
    return prose < _LISTING_PROSE * unlinked or prose < min(_LITTLE_PROSE, _LITTLE_SHARE * words)


def _is_linked(node: Node, most: float) -> bool:
    allowed = node.tag in HEADINGS or (node.tag in _ITEMS and node.words <= _ITEM_WORDS)
    return not allowed and node.link_words > most * node.words


def _main(nodes: Sequence[Node], leaves: Sequence[Leaf], *, listing: bool) -> set[Leaf]:
    """Return the leaves of the main element, those between the headline and it, and tables beside it."""
    weights: Counter[Node] = Counter()
    for leaf in leaves:
        weights[leaf.node] += leaf.block.words if listing else leaf.prose
    for node in reversed(nodes):
        if node.parent:
            weights[node.parent] += weights[node]
    main = nodes[0]
    for node in nodes:
        marked = node.tag in {"main", "article"} or "main" in node.hints.split()
        share = _MARKED_SHARE if marked else _MAIN_SHARE
        if node.parent is main and weights[node] > share * weights[nodes[0]]:
            main = node
    inside = {main}
    for node in nodes:
        if node.parent in inside:
            inside.add(node)
    places = [place for place, leaf in enumerate(leaves) if leaf.node in inside]
    headline = max((place for place in range(places[0]) if leaves[place].node.tag == "h1"), default=places[0])
    return {*leaves[headline:places[0]], *(leaves[p] for p in places)}

"""Our own method: prose shows where the main text is; hints, links and distance from prose, what is not part of it."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from cleaning.blocks import Decision, Kind, Reason
from cleaning.features import HEADINGS, enclosing, is_label, walk
from cleaning.hints import read_hints, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cleaning.blocks import Page
    from cleaning.features import Leaf, Node
    from cleaning.options import Options

# Swept on both development sets, looking at two halves of the hosts; a step either way costs less than .003 F1.
_NEAR_LEVELS = 5  # elements around a block whose prose speaks for it
_LISTING_PROSE = 0.4  # of the words outside links: a page with less prose lists things, and its links are content
_LITTLE_PROSE, _LITTLE_SHARE = 100, 0.3  # words of prose, and their share of all words, that make a listing too
_LISTING_WORDS = 30  # a page with fewer holds nothing
_FEW_WORDS = 5  # a list item or cell with no more may be a link; a link with no more beside text leads away from it
_MAIN_SHARE, _MARKED_SHARE = 0.8, 0.4  # of the prose: the smallest element with more is the main one
_ITEMS = HEADINGS | {"li", "td", "th", "dt", "dd"}


def segment(page: Page) -> list[Leaf]:
    return walk(page.root)


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — as every method
    """Return the share of prose (0 to 1) in the best of the elements around each leaf; 0 for a label."""
    shares = (max(n.prose / (n.words or 1) for n in islice(leaf.node.chain(), _NEAR_LEVELS)) for leaf in leaves)
    return [0.0 if is_label(leaf) else share for leaf, share in zip(leaves, shares, strict=True)]


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
    return [
        Decision(leaf.block, found, reasons.get(leaf.node) or _reason(leaf, main, short=found < least))
        for leaf, found in zip(leaves, scores, strict=True)
    ]


def _is_listing(leaves: Sequence[Leaf]) -> bool:
    words = sum(leaf.block.words for leaf in leaves)
    unlinked = words - sum(leaf.block.link_words for leaf in leaves)
    prose = sum(leaf.prose for leaf in leaves)
    little = prose < _LISTING_PROSE * unlinked or prose < min(_LITTLE_PROSE, _LITTLE_SHARE * words)
    return little and words >= _LISTING_WORDS


def _is_linked(node: Node, most: float) -> bool:
    allowed = node.tag in HEADINGS or (node.tag in _ITEMS and node.words <= _FEW_WORDS)
    return not allowed and node.link_words > most * node.words


def _reason(leaf: Leaf, main: set[Leaf], *, short: bool) -> Reason:
    if leaf not in main:
        return Reason.OUTSIDE
    only_link = leaf.node.words > leaf.block.words == leaf.block.link_words <= _FEW_WORDS
    return Reason.LINKS if only_link else Reason.SHORT if short else Reason.KEPT


def _main(nodes: Sequence[Node], leaves: Sequence[Leaf], *, listing: bool) -> set[Leaf]:
    """Return the leaves of the main element, those from the headline to it, and those of tables beside it."""
    weights: Counter[Node] = Counter()
    tables: set[Node] = {leaf.node for leaf in leaves if leaf.block.kind is Kind.TABLE_CELL}
    for leaf in leaves:
        weights[leaf.node] += leaf.block.words if listing else leaf.prose
    for node in reversed(nodes):
        if node.parent:
            weights[node.parent] += weights[node]
            tables |= {node.parent} if node in tables else set()
    main = nodes[0] if nodes else None
    for node in nodes:
        share = _MARKED_SHARE if node.tag == "main" or "main" in node.hints.split() else _MAIN_SHARE
        if node.parent is main and weights[node] > share * weights[nodes[0]]:
            main = node
    inside = set()
    for node in nodes:
        beside = node in tables and main and main.parent and node.parent is main.parent is not nodes[0]
        if node is main or node.parent in inside or beside:
            inside.add(node)
    places = [place for place, leaf in enumerate(leaves) if leaf.node in inside]
    first = places[0] if places else 0
    headlines = [place for place in range(first) if leaves[place].node.tag == "h1"]
    return {leaves[place] for place in (*range(max(headlines, default=first), first), *places)}

"""Our own method: prose shows where the main text is; hints, links and distance from prose, what is not part of it."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from cleaning.blocks import Decision, Kind, Reason
from cleaning.features import HEADINGS, enclosing, walk
from cleaning.hints import read_hints, spread
from cleaning.region import find_region
from cleaning.terms import stop_words, tokenise

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
# A line with no more words outside links, and no larger a share of stop words, that ends no sentence is a label.
_LABEL_WORDS, _LABEL_STOP_SHARE = 12, 0.25
_SENTENCE_END = re.compile(r"(?<!\d)[.!?](?!\w)|[\u3002\uff01\uff1f\u2026\u0964\u061f]")
_ITEMS = HEADINGS | {"li", "td", "th", "dt", "dd"}


def segment(page: Page, options: Options) -> list[Leaf]:  # noqa: ARG001 — as every method
    return walk(page.root)


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — as every method
    """Return the share of prose (0 to 1) in the best of the elements around each leaf; 0 for a label."""
    shares = (max(n.prose / (n.words or 1) for n in islice(leaf.node.chain(), _NEAR_LEVELS)) for leaf in leaves)
    return [0.0 if _is_label(leaf) else share for leaf, share in zip(leaves, shares, strict=True)]


def decide(
    page: Page,  # noqa: ARG001 — as every method
    leaves: Sequence[Leaf],
    scores: Sequence[float],
    options: Options,
) -> list[Decision]:
    """Keep what is in the main part of the page, has no hint against it, is in no list of links and has prose near."""
    nodes = enclosing(leaves)
    reasons = read_hints(nodes)
    clear = [leaf for leaf in leaves if leaf.node not in reasons]
    listing = _is_listing(clear)
    region = find_region(nodes, clear, (lambda leaf: leaf.block.words) if listing else (lambda leaf: leaf.prose))
    if not listing:
        linked = (node for node in nodes if _is_linked(node, options.max_link_share))
        reasons = spread(nodes, reasons | dict.fromkeys(linked, Reason.LINKS))
    decisions = []
    for leaf, found in zip(leaves, scores, strict=True):
        reason = reasons.get(leaf.node) or (Reason.OUTSIDE if leaf not in region else Reason.KEPT)
        if reason is Reason.KEPT and not listing:
            reason = _judge(leaf, found, options.min_prose_share)
        decisions.append(Decision(leaf.block, found, reason))
    return decisions


def _judge(leaf: Leaf, found: float, least: float) -> Reason:
    """Judge a leaf of the main part by itself."""
    words = leaf.block.words
    if leaf.block.link_words == words <= _FEW_WORDS and leaf.node.words > words:
        return Reason.LINKS
    return Reason.SHORT if found < least else Reason.KEPT


def _is_listing(leaves: Sequence[Leaf]) -> bool:
    words = sum(leaf.block.words for leaf in leaves)
    unlinked = words - sum(leaf.block.link_words for leaf in leaves)
    prose = sum(leaf.prose for leaf in leaves)
    little = prose < _LISTING_PROSE * unlinked or prose < min(_LITTLE_PROSE, _LITTLE_SHARE * words)
    return little and words >= _LISTING_WORDS


def _is_linked(node: Node, most: float) -> bool:
    allowed = node.tag in HEADINGS or (node.tag in _ITEMS and node.words <= _FEW_WORDS)
    return not allowed and node.link_words > most * node.words


def _is_label(leaf: Leaf) -> bool:
    """Tell whether a leaf is a short line that stands and says nothing by itself: a name, a date, a button's text."""
    block, node = leaf.block, leaf.node
    among_others = node.leaves > 1  # a line of verse, an address
    long = block.words - block.link_words > _LABEL_WORDS
    if long or among_others or block.kind is not Kind.PARAGRAPH or "title" in node.hints:
        return False
    tokens, stop = tokenise(block.text), stop_words("any")
    stops = sum(token in stop for token in tokens)
    return stops <= _LABEL_STOP_SHARE * len(tokens) and not _SENTENCE_END.search(block.text)

"""Weighted block scoring (weighted.txt: Saravanan & Sathya Bama 2020), to the letter.

`segment` takes the paper's steps up to the distinct blocks, `score` gives equation 4, `decide` the threshold. The steps
before the score need the whole page, so the bound on blocks changes neither the counts nor the threshold.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from cleaning.blocks import Decision, Reason
from cleaning.features import Leaf, body_of
from cleaning.fingerprint import fingerprint_terms
from cleaning.neighbours import Neighbours
from cleaning.tagrules import BLOCKS, is_linked, separate
from cleaning.terms import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lxml.html import HtmlElement

    from cleaning.blocks import Page
    from cleaning.options import Options

# "comma, periods" (section 3.2), and the marks that end or part clauses in other scripts; not those that mark menus.
_PUNCTUATION = re.compile("[,.;:!?\u3002\uff0c\u3001\uff1b\uff1a\uff01\uff1f]")
# Terms of a block that its fingerprint is made of. The time of equation 3 grows with terms × distinct terms: 200,000 of
# them in one block, which a page of 10 MB can hold, would take a minute.
_MOST_COMPARED = 5_000


class Counts(NamedTuple):
    """The occurrences in a block of title words, link words and content words."""

    title: int
    link: int
    content: int


class Totals(NamedTuple):
    """The divisors of equations 5 to 7: distinct title, link and content words of the page."""

    title: int
    link: int
    content: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Distinct(Leaf):
    """A block that is left after steps 1 to 6, with what its score and its threshold are made of."""

    counts: Counts
    totals: Totals
    threshold: float


@dataclass(frozen=True, slots=True)
class _Worded:
    """The terms of a block by class, in order: title words, words in links, others (section 3.4)."""

    title: list[str]
    link: list[str]
    content: list[str]
    fingerprint: int | None
    """None for a block without terms, which is never compared."""


def segment(page: Page, options: Options) -> list[Leaf]:
    """Return a block for each `div` and `td`: the distinct ones counted, the others dropped by the step's reason."""
    leaves = separate(page)
    left = [leaf for leaf in leaves if leaf.dropped is None]
    plain = unpunctuated(within(minimum_subtree(page.root, left), left), options.weighted_small_words)
    dropped = dict.fromkeys(plain, Reason.PUNCTUATION)
    title = frozenset(terms(_title(page.root)))
    worded = {leaf: _classify(leaf, title) for leaf in left if leaf not in dropped}
    dropped |= dict.fromkeys(_repeated(worded, options.weighted_distance), Reason.PAGE_DUPLICATE)
    distinct = {leaf: words for leaf, words in worded.items() if leaf not in dropped}
    totals = _totals(title, distinct.values())
    threshold = len(distinct) / max(1, _count_blocks(page.root))
    counted = {leaf: _counted(leaf, words, totals, threshold) for leaf, words in distinct.items()}
    return [
        counted[leaf] if leaf in counted else replace(leaf, dropped=dropped.get(leaf, leaf.dropped)) for leaf in leaves
    ]


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — as every method
    """Return the block score (equation 4) of each distinct block, 0 for the others."""
    return [block_score(leaf.counts, leaf.totals, options) if isinstance(leaf, Distinct) else 0.0 for leaf in leaves]


def decide(
    page: Page,  # noqa: ARG001 — as every method
    leaves: Sequence[Leaf],
    scores: Sequence[float],
    options: Options,  # noqa: ARG001 — as every method
) -> list[Decision]:
    """Keep each distinct block whose score is above the share of distinct blocks among all."""
    return [Decision(leaf.block, found, _judge(leaf, found)) for leaf, found in zip(leaves, scores, strict=True)]


def block_score(counts: Counts, totals: Totals, options: Options) -> float:
    """Return 1 - (alpha T + beta L + gamma C): equation 4, with 5 to 7; a ratio to 0 is 0.

    It is 1 at most and has no lower bound: a block counts its words, the page its distinct ones.
    """
    weights = (options.weighted_alpha, options.weighted_beta, options.weighted_gamma)
    ratios = (count / total if total else 0.0 for count, total in zip(counts, totals, strict=True))
    return 1 - sum(weight * ratio for weight, ratio in zip(weights, ratios, strict=True))


def minimum_subtree(root: HtmlElement, leaves: Iterable[Leaf]) -> HtmlElement:
    """Return the deepest element that holds all text of the leaves; the body where there is none.

    Section 3.2: "none of its subtree wraps the entire content".
    """
    start = body_of(root)
    held = Counter(piece.element for leaf in leaves for piece in leaf.pieces if not piece.text.isspace())
    entire = held.total()
    for element in reversed(list(start.iter(etree.Element))):
        if element is not start and held[element]:
            held[element.getparent()] += held[element]
    subtree: HtmlElement | None = start
    deepest = start
    while entire and subtree is not None:
        deepest = subtree
        subtree = next((child for child in subtree.iterchildren(etree.Element) if held[child] == entire), None)
    return deepest


def within(subtree: HtmlElement, leaves: Iterable[Leaf]) -> list[Leaf]:
    """Return the leaves that have text in the subtree; of the minimum one, that is all that have text."""
    inside = set(subtree.iter(etree.Element))
    return [leaf for leaf in leaves if any(piece.element in inside for piece in leaf.pieces)]


def unpunctuated(leaves: Sequence[Leaf], small: int) -> list[Leaf]:
    """Return the blocks without a punctuation mark; one with fewer words than `small` is judged with the next block.

    A run of small blocks is judged with the block after it, the last run of a page with the one before it.
    """
    groups: list[list[Leaf]] = [[]]
    for leaf in leaves:
        groups[-1].append(leaf)
        if leaf.block.words >= small:
            groups.append([])
    last = groups.pop()
    if last and groups:
        groups[-1].extend(last)
    elif last:
        groups.append(last)
    plain = (group for group in groups if not any(_PUNCTUATION.search(leaf.block.text) for leaf in group))
    return [leaf for group in plain for leaf in group]


def _title(root: HtmlElement) -> str:
    found = root.find("head/title")
    return "" if found is None else found.text_content()


def _count_blocks(root: HtmlElement) -> int:
    """Return how many blocks the page has before anything is removed, those without text among them."""
    start = body_of(root)
    return sum(element is not start for element in start.iter(*BLOCKS))


def _classify(leaf: Leaf, title: frozenset[str]) -> _Worded:
    """Return a block's terms by class; a word ends where a link begins or ends."""
    sequence: list[str] = []
    found: dict[str, list[str]] = {"title": [], "link": [], "content": []}
    for linked, pieces in groupby(leaf.pieces, key=is_linked):
        for term in terms("".join(piece.text for piece in pieces)):
            sequence.append(term)
            found["title" if term in title else "link" if linked else "content"].append(term)
    return _Worded(**found, fingerprint=fingerprint_terms(sequence[:_MOST_COMPARED]) if sequence else None)


def _repeated(worded: Mapping[Leaf, _Worded], most_bits: int) -> Iterator[Leaf]:
    """Yield the blocks that are near-duplicates of an earlier one which stays."""
    earlier: Neighbours[Leaf] = Neighbours(most_bits)
    for leaf, words in worded.items():
        if words.fingerprint is None:
            continue
        if earlier.nearest(words.fingerprint):
            yield leaf
        else:
            earlier.add(words.fingerprint, leaf)


def _totals(title: frozenset[str], distinct: Iterable[_Worded]) -> Totals:
    """Return the divisors: content words are distinct within each block and summed, as in table 4 (227)."""
    links: set[str] = set()
    content = 0
    for words in distinct:
        links.update(words.link)
        content += len(set(words.content))
    return Totals(len(title), len(links), content)


def _counted(leaf: Leaf, words: _Worded, totals: Totals, threshold: float) -> Distinct:
    counts = Counts(len(words.title), len(words.link), len(words.content))
    return Distinct(leaf.block, leaf.node, leaf.prose, leaf.pieces, counts=counts, totals=totals, threshold=threshold)


def _judge(leaf: Leaf, found: float) -> Reason:
    if not isinstance(leaf, Distinct):
        assert leaf.dropped is not None
        return leaf.dropped
    return Reason.KEPT if found > leaf.threshold else Reason.LOW_SCORE

"""CE: what several pages of a site share is noise; of the rest, the block with most text (Debnath et al. 2005)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xxhash import xxh64_intdigest

from cleaning.blocks import Decision, Reason
from cleaning.errors import OptionError
from cleaning.methods import fe
from cleaning.options import Options
from cleaning.terms import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cleaning.blocks import Page
    from cleaning.features import Leaf

_FEWEST_PAGES = 2


def learn(pages: Iterable[Page], least_pages: int = _FEWEST_PAGES) -> frozenset[int]:
    """Return the patterns of the blocks that at least that many pages of a class have; none from fewer pages.

    A pattern is the unsigned 64-bit hash of a block's text and tags. A page given twice is two pages, and all its
    blocks are noise. Raises OptionError for less than 2 pages: what one page has is no repetition.
    """
    if least_pages < _FEWEST_PAGES:
        raise OptionError(f"least_pages is {least_pages}; a pattern repeats on {_FEWEST_PAGES} pages at least")
    counts: Counter[int] = Counter()
    for page in pages:
        counts.update({pattern(leaf) for leaf in fe.segment(page, Options()) if not leaf.dropped})
    return frozenset(found for found, count in counts.items() if count >= least_pages)


def pattern(leaf: Leaf) -> int:
    """Return the hash of a block's text on one line, its tag and the tags that hold its texts, in order."""
    tags = (piece.element.tag for piece in leaf.pieces if not piece.text.isspace())
    shape = " ".join([leaf.node.tag, *tags])  # no tag has white space in it
    return xxh64_intdigest(f"{shape}\n{normalise(leaf.block.text)}".encode(errors="replace"))


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — as every method
    """Return the length of each block's text in characters; 0 for one that was dropped before."""
    return [0.0 if leaf.dropped else float(len(leaf.block.text)) for leaf in leaves]


def decide(
    page: Page,
    leaves: Sequence[Leaf],
    scores: Sequence[float],
    options: Options,  # noqa: ARG001 — as every method
) -> list[Decision]:
    """Keep the longest of the blocks whose pattern does not repeat on the site, the first of equally long ones."""
    template = page.template or frozenset()
    reasons = [leaf.dropped or (Reason.TEMPLATE if pattern(leaf) in template else None) for leaf in leaves]
    left = [place for place, reason in enumerate(reasons) if reason is None]
    main = max(left, key=lambda place: scores[place], default=None)
    return [
        Decision(leaf.block, found, reason or (Reason.KEPT if place == main else Reason.OUTSIDE))
        for place, (leaf, found, reason) in enumerate(zip(leaves, scores, reasons, strict=True))
    ]

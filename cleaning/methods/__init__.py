"""The methods, as one table: how each segments, scores and decides, and where it was published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cleaning.methods import default

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cleaning.blocks import Decision, Page
    from cleaning.features import Leaf
    from cleaning.options import Options


@dataclass(frozen=True, slots=True)
class Method:
    """A cleaning method in three steps.

    `segment` cuts the page into leaves, `score` gives each a number on the method's own scale, `decide` says of
    each whether it is kept and why.
    """

    segment: Callable[[Page], list[Leaf]]
    score: Callable[[Page, Sequence[Leaf], Options], list[float]]
    decide: Callable[[Sequence[Leaf], Sequence[float], Options], list[Decision]]
    citation: str


METHODS: dict[str, Method] = {
    "default": Method(default.segment, default.score, default.decide, "Blocksieve's own; see cleaning/README.md"),
}

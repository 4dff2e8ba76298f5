"""The methods, as one table: how each segments, scores and decides, and where it was published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cleaning.methods import default

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cleaning.blocks import Decision, Page
    from cleaning.features import Leaf
    from cleaning.options import Options


@dataclass(frozen=True, slots=True)
class Method:
    """A cleaning method in three steps.

    `segment` cuts the page into leaves, in = out: each text of the page is in one of them. `score` gives each a
    number on the method's own scale, `decide` says of each whether it is kept and why; both see at most `max_blocks`
    leaves, and are not called for a page without any. `needs` names the field of `Page` without which the method
    cannot work.
    """

    segment: Callable[[Page, Options], list[Leaf]]
    score: Callable[[Page, Sequence[Leaf], Options], list[float]]
    decide: Callable[[Page, Sequence[Leaf], Sequence[float], Options], list[Decision]]
    citation: str
    needs: Literal["layout", "template"] | None = None


METHODS: dict[str, Method] = {
    "default": Method(default.segment, default.score, default.decide, "Blocksieve's own; see cleaning/README.md"),
}

# What a method may need beside the tree, and where it comes from.
NEEDS = {
    "layout": "crawl with -s RENDER=true, or render the page by crawler.render",
    "template": "learn it from several pages of the site by cleaning.methods.ce.learn",
}

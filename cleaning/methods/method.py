"""A cleaning method, and its result on a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cleaning.blocks import Decision, Page, PageType
    from cleaning.leaves import Leaf
    from cleaning.metadata.statements import Statements
    from cleaning.options import Options


class MethodResult(NamedTuple):
    """A method's decisions on a page; `type` and `confidence` (0 to 1) are None for methods that tell no page type."""

    decisions: list[Decision]
    type: PageType | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """A cleaning method in three steps.

    `segment` cuts the page into leaves: each text of the page is in exactly one of them. `score` gives each leaf a
    number on the method's own scale. `decide` keeps each leaf or says why not. The last two see at most `max_blocks`
    leaves, and are not called for a page without leaves. `needs` names a field of `Page` that the method cannot do
    without. `decide_page`, if any, is a faster way to the same decisions.
    """

    segment: Callable[[Page, Options], list[Leaf]]
    score: Callable[[Page, Sequence[Leaf], Options], list[float]]
    decide: Callable[[Page, Sequence[Leaf], Sequence[float], Options], list[Decision]]
    citation: str
    needs: Literal["layout", "template"] | None = None
    decide_page: Callable[[Page, Statements, Options], MethodResult] | None = None

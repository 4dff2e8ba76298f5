"""What a cleaning method is."""

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
    """What a method decided on a page; `type` and `confidence` (0 to 1) are None where it has no opinion."""

    decisions: list[Decision]
    type: PageType | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """A cleaning method in three steps.

    `segment` cuts the page into leaves, in = out: each text of the page is in one of them. `score` gives each a
    number on the method's own scale, `decide` says of each whether it is kept and why; both see at most `max_blocks`
    leaves, and are not called for a page without any. `needs` names the field of `Page` without which the method
    cannot work. `judge` does the three at once, with the same decisions, where a method can do so faster.
    """

    segment: Callable[[Page, Options], list[Leaf]]
    score: Callable[[Page, Sequence[Leaf], Options], list[float]]
    decide: Callable[[Page, Sequence[Leaf], Sequence[float], Options], list[Decision]]
    citation: str
    needs: Literal["layout", "template"] | None = None
    judge: Callable[[Page, Statements, Options], MethodResult] | None = None

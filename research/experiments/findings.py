"""What an experiment gives: tables and panels with the paper's figures beside ours, and verdicts on its claims."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from report import Figures


class Outcome(StrEnum):
    """What became of a claim; the last two are of a paper's figures among themselves, without any of ours."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    UNDECIDED = "cannot be judged"
    FOLLOWS = "follows"
    CONTRADICTED = "contradicted by the paper itself"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim of the paper, what became of it, and the figures that say so."""

    claim: str
    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One part of a plot: a value of each series at each tick, as bars or as lines; None where there is none.

    `errors` are half the lengths of error bars, for lines that have them. `bounds` are those of the axis of values, for
    panels whose differences are to be compared.
    """

    title: str
    ticks: tuple
    series: dict
    unit: str
    lines: bool = False
    errors: dict = field(default_factory=dict)
    bounds: tuple | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of an experiment.

    `place` says where in which paper it stands, `pages` what stands in for the paper's pages, and `absent` why a method
    of the paper's table was not measured. `methods` and `data` are the methods and the sets that were measured.
    """

    title: str
    place: str
    pages: str
    tables: tuple[Figures, ...]
    panels: tuple[Panel, ...]
    verdicts: tuple[Verdict, ...]
    methods: tuple[str, ...]
    data: tuple[str, ...]
    absent: dict = field(default_factory=dict)
    notes: tuple[str, ...] = ()

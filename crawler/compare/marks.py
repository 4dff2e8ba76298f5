"""Which method keeps which text node: the common ground of methods that cut a page into different blocks."""

from __future__ import annotations

from collections import deque
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from cleaning.terms import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from cleaning.blocks import Decision, Reason
    from cleaning.clean import DecidedLeaf
    from cleaning.leaves import Leaf, Piece
    from crawler.compare.run import Compared

Marks = tuple["Reason | None", ...]


class Run(NamedTuple):
    """Neighbouring text nodes of a leaf that share all marks: a reason for each method, None where it has none."""

    text: str
    linked: bool
    marks: Marks


class Marked(NamedTuple):
    """A leaf of the shared walk, cut where a mark changes."""

    leaf: Leaf
    runs: list[Run]


def mark(compared: Compared, most_leaves: int) -> Iterator[Marked]:
    """Yield the page's first leaves with the reasons that the methods in `results` gave their text nodes.

    A text node of a rendered page is found by its text: the n-th of that text on one page is the n-th on the other.
    One that only the rendered page has is not shown, and one that it lacks has the mark None.
    """
    found = [Decisions(result.judged, by_text=result.rendered) for result in compared.results.values()]
    for leaf in compared.leaves[:most_leaves]:
        yield Marked(leaf, _runs(leaf.pieces, found))


class Decisions:
    """A method's decisions by text node, each to be asked for once, in reading order.

    `by_text` finds a text node of another tree of the same page, by what it says.
    """

    def __init__(self, judged: Iterable[DecidedLeaf], *, by_text: bool = False) -> None:
        self._key: Callable[[Piece], Hashable] = _by_text if by_text else _by_place
        self._waiting: dict[Hashable, deque[Decision]] = {}
        for leaf, decision in judged:
            for piece in leaf.pieces:
                if not piece.text.isspace():
                    self._waiting.setdefault(self._key(piece), deque()).append(decision)

    def next(self, piece: Piece) -> Decision | None:
        """Return the decision on this text node; None for one that the method knows nothing of."""
        waiting = self._waiting.get(self._key(piece))
        return waiting.popleft() if waiting else None


def _by_place(piece: Piece) -> Hashable:
    # A method may reorder blocks, but not the texts of one element.
    return piece.element, piece.text


def _by_text(piece: Piece) -> Hashable:
    return normalise(piece.text)


def _runs(pieces: Sequence[Piece], found: Sequence[Decisions]) -> list[Run]:
    marked: list[Run] = []
    for piece in pieces:
        if piece.text.isspace() and marked:
            marked.append(marked[-1]._replace(text=piece.text))
        elif not piece.text.isspace():
            marks = tuple(_reason(decisions.next(piece)) for decisions in found)
            marked.append(Run(piece.text, piece.link is not None, marks))
    groups = groupby(marked, lambda run: run[1:])
    return [Run("".join(run.text for run in group), *shared) for shared, group in groups]


def _reason(decision: Decision | None) -> Reason | None:
    return None if decision is None else decision.reason

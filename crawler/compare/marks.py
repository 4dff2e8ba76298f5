"""Which method keeps which text node: the common ground of methods that cut a page into different blocks."""

from __future__ import annotations

from collections import deque
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from cleaning.terms import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from cleaning.blocks import Reason
    from cleaning.features import Leaf, Piece
    from crawler.compare.run import Compared, Result

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
    found = [_Reasons(result) for result in compared.results.values()]
    for leaf in compared.leaves[:most_leaves]:
        yield Marked(leaf, _runs(leaf.pieces, found))


class _Reasons:
    """A method's reasons by text node, each to be asked for once, in reading order."""

    def __init__(self, result: Result) -> None:
        self._key: Callable[[Piece], Hashable] = _by_text if result.rendered else _by_place
        self._waiting: dict[Hashable, deque[Reason]] = {}
        for leaf, decision in result.judged:
            for piece in leaf.pieces:
                if not piece.text.isspace():
                    self._waiting.setdefault(self._key(piece), deque()).append(decision.reason)

    def next(self, piece: Piece) -> Reason | None:
        waiting = self._waiting.get(self._key(piece))
        return waiting.popleft() if waiting else None


def _by_place(piece: Piece) -> Hashable:
    # A method may reorder blocks, but not the texts of one element.
    return piece.element, piece.text


def _by_text(piece: Piece) -> Hashable:
    return normalise(piece.text)


def _runs(pieces: Sequence[Piece], found: Sequence[_Reasons]) -> list[Run]:
    marked: list[Run] = []
    for piece in pieces:
        if piece.text.isspace() and marked:
            marked.append(marked[-1]._replace(text=piece.text))
        elif not piece.text.isspace():
            marks = tuple(reasons.next(piece) for reasons in found)
            marked.append(Run(piece.text, piece.link is not None, marks))
    groups = groupby(marked, lambda run: run[1:])
    return [Run("".join(run.text for run in group), *shared) for shared, group in groups]

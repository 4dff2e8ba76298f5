"""Which texts of a page are kept: the decisions of a method, by the path of the element that holds each text."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from cleaning.blocks import Kind, Reason
from cleaning.metadata.titles import letters_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cleaning.blocks import Block, Decision
    from cleaning.leaves import Leaf


class TextMarks:
    """The decisions on the texts of the walk (`cleaning.leaves.walk`), in reading order.

    `blocks` has the path and the words of each text, and the position of the page's block that it belongs to. `kept`
    has a 1 for a kept text and a 0 for a dropped one. The paths are read when they are needed.
    """

    def __init__(self, blocks: Sequence[Block], kept: bytearray) -> None:
        self.blocks = blocks
        self.kept = kept

    @cached_property
    def by_path(self) -> Mapping[str, list[int]]:
        """The numbers of the texts by the path of the element that holds the text directly."""
        found: dict[str, list[int]] = {}
        for number, block in enumerate(self.blocks):
            found.setdefault(block.path, []).append(number)
        return found

    @cached_property
    def kept_paths(self) -> frozenset[str]:
        """The paths of the elements that hold a kept text directly."""
        return frozenset(block.path for block, kept in zip(self.blocks, self.kept, strict=True) if kept)

    @cached_property
    def around(self) -> Mapping[str, int]:
        """The paths of the elements that hold a kept text, and those around them: with its number."""
        found: dict[str, int] = {}
        for number, block in enumerate(self.blocks):
            outer = block.path if self.kept[number] else ""
            while outer and outer not in found:
                found[outer] = number
                outer = outer.rpartition("/")[0]
        return found


# A heading, code or quote: the path of the element that holds it, and its own.
_INSIDE = re.compile(r"(.*?/)(?:blockquote|pre|h[1-6])\[\d+\]")
# The definition list around a term.
_TERM = re.compile(r"(.*/dl\[\d+\]/)(?:div\[\d+\]/)?dt\[")
_H1 = re.compile(r"/h1\[[^/]*$")
# The kept text after it is among so many texts; a quote may have several.
_MAX_LOOK_AHEAD = 4
_MAX_LOOK_AHEAD_OF_QUOTES = 12
_KEPT, _DUPLICATE, _LINKS = Reason.KEPT, Reason.PAGE_DUPLICATE, Reason.LINKS
_HEADING, _QUOTE = Kind.HEADING, Kind.QUOTE
_PARAGRAPH, _ITEM, _CELL = Kind.PARAGRAPH, Kind.LIST_ITEM, Kind.TABLE_CELL
_NEVER_KEPT = frozenset([Reason.HIDDEN, Reason.TRUNCATED])
_SOURCES = frozenset([Reason.SHORT, Reason.LOW_SCORE, Reason.BYLINE])


def marks_of_decisions(decisions: Sequence[Decision]) -> TextMarks:
    """Return the marks of a method whose blocks are the leaves of the walk, one for each.

    A dropped heading, quote or piece of code counts as kept if the kept texts before and after it stand beside it. A
    quote that repeats a text of the page needs one of them. A text of a quote whose neighbour in it is kept, such as
    the name of the speaker, needs none. A term of a definition list counts as kept if its description is.
    """
    blocks = [one.block for one in decisions]
    marks = TextMarks(blocks, bytearray([one.reason is _KEPT for one in decisions]))
    if 1 not in marks.kept:
        return marks
    looked, last = 0, -1
    for number, block in enumerate(blocks):
        kind = block.kind
        if marks.kept[number] or kind is _PARAGRAPH or kind is _CELL:
            continue
        if kind is _ITEM:
            marks.kept[number] = "/dt[" in block.path and _is_described(decisions, marks, number)
            continue
        before = marks.kept.rfind(1, looked, number)
        looked, last = number, last if before < 0 else before
        marks.kept[number] = _belongs(decisions, marks, number, last)
    return marks


def _is_described(decisions: Sequence[Decision], marks: TextMarks, number: int) -> bool:
    """Return True for a dropped term whose description is kept."""
    found = None if decisions[number].reason in _NEVER_KEPT else _TERM.match(marks.blocks[number].path)
    after = marks.kept.find(1, number + 1, number + 1 + _MAX_LOOK_AHEAD)
    return found is not None and after >= 0 and marks.blocks[after].path.startswith(found[1])


def _belongs(decisions: Sequence[Decision], marks: TextMarks, number: int, before: int) -> bool:
    """Return True for a dropped text that belongs to the kept ones; `before` is the last of them, or -1."""
    blocks, reason = marks.blocks, decisions[number].reason
    found = None if reason in _NEVER_KEPT else _INSIDE.match(blocks[number].path)
    if found is None:
        return False
    own, outer, is_quote = found[0], found[1], blocks[number].kind is _QUOTE
    if reason is _LINKS and is_quote and number and blocks[number - 1].path.startswith(own):
        return False  # below a quote: "Click to expand"
    ahead = _MAX_LOOK_AHEAD_OF_QUOTES if is_quote else _MAX_LOOK_AHEAD
    after = marks.kept.find(1, number + 1, number + 1 + ahead)
    beside = [at >= 0 and f"{blocks[at].path}/".startswith(outer) for at in (before, after)]
    if all(beside) or (is_quote and reason is _DUPLICATE and any(beside)):
        return True
    return (
        is_quote
        and reason in _SOURCES
        and any(
            0 <= at < len(blocks)
            and blocks[at].path.startswith(own)
            and (marks.kept[at] or decisions[at].reason is _DUPLICATE)
            for at in (number - 1, number + 1)
        )
    )


def mark_headline(marks: TextMarks, title: str | None) -> None:
    """Count the page's headline as kept: the last dropped heading before the kept texts whose letters are the title's.

    After the first kept text, only an `h1` is a headline. Nothing changes if a kept heading is the title, or if nothing
    is kept. A method may drop the headline, because the title says the same.
    """
    wanted, first = letters_of(title or ""), marks.kept.find(1)
    if not wanted or first < 0:
        return
    found = -1
    for number, block in enumerate(marks.blocks):
        if block.kind is not _HEADING or letters_of(block.text) != wanted:
            continue
        if marks.kept[number]:
            return
        if number < first or (found < 0 and _H1.search(block.path)):
            found = number
    if found >= 0:
        marks.kept[found] = 1


def marks_of_leaves(walked: Sequence[Leaf], decided: Iterable[tuple[Leaf, Decision]]) -> TextMarks:
    """Return the marks of a method that cuts the page's texts into other blocks than the walk.

    A text of the walk whose parts are in several blocks counts as the block that has most of its characters.
    """
    blocks: dict[object, list[Decision]] = {}
    for leaf, decision in decided:
        for piece in leaf.pieces:
            if not piece.text.isspace():
                blocks.setdefault(piece.element, []).append(decision)
    seen: dict[object, int] = {}
    positioned, marked = [], bytearray()
    for leaf in walked:
        sizes: dict[int, int] = {}
        parts: dict[int, Decision] = {}
        for piece in leaf.pieces:
            if piece.text.isspace():
                continue
            number = seen[piece.element] = seen.get(piece.element, -1) + 1
            of_element = blocks.get(piece.element, [])
            if number < len(of_element):
                decision = of_element[number]
                key = decision.block.position
                parts[key] = decision
                sizes[key] = sizes.get(key, 0) + len(piece.text)
        most = max(sizes, key=lambda key: sizes[key], default=None)
        marked.append(most is not None and parts[most].kept)
        positioned.append(leaf.block if most is None else replace(leaf.block, position=most))
    return TextMarks(positioned, marked)

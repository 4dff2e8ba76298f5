"""Which texts of a page are kept: the decisions of a method, by the path of the element that holds each text."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from cleaning.blocks import Kind, Reason
from cleaning.metadata.site_names import letters_of
from cleaning.structure.quotes import NO_QUOTES, introduces_quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cleaning.blocks import Block, Decision
    from cleaning.leaves import Leaf
    from cleaning.structure.quotes import Quotes


class TextMarks:
    """The decisions on the texts of the walk (`cleaning.leaves.walk`), in reading order.

    `blocks` has the path and the words of each text, and the position of the page's block that it belongs to. `kept`
    has a 1 for a kept text and a 0 for a dropped one. `quotes` are the quotes without a `blockquote`. The paths are
    read when they are needed.
    """

    def __init__(self, blocks: Sequence[Block], kept: bytearray, quotes: Quotes = NO_QUOTES) -> None:
        self.blocks = blocks
        self.kept = kept
        self.quotes = quotes

    @property
    def quote_heads(self) -> frozenset[int]:
        """The numbers of the texts above a quote with kept texts that name its speaker."""
        heads = self.quotes.heads.items()
        return frozenset([number for number, quote in heads if self.kept.find(1, number + 1, quote.last + 1) >= 0])

    @cached_property
    def by_path(self) -> Mapping[str, list[int]]:
        """The numbers of the texts by the path of the element that holds the text directly."""
        numbers: dict[str, list[int]] = {}
        for number, block in enumerate(self.blocks):
            numbers.setdefault(block.path, []).append(number)
        return numbers

    @cached_property
    def kept_paths(self) -> frozenset[str]:
        """The paths of the elements that hold a kept text directly."""
        return frozenset(block.path for block, kept in zip(self.blocks, self.kept, strict=True) if kept)

    @cached_property
    def around(self) -> Mapping[str, int]:
        """The paths of the elements that hold a kept text, and those around them: with its number."""
        numbers: dict[str, int] = {}
        for number, block in enumerate(self.blocks):
            outer = block.path if self.kept[number] else ""
            while outer and outer not in numbers:
                numbers[outer] = number
                outer = outer.rpartition("/")[0]
        return numbers


# A heading, code or quote: the path of the element that holds it, and its own.
_INSIDE = re.compile(r"(.*?/)(?:blockquote|pre|h[1-6])\[\d+\]")
# The definition list around a term.
_TERM = re.compile(r"(.*/dl\[\d+\]/)(?:div\[\d+\]/)?dt\[")
# The list around an item with its text, or paragraphs of text, directly in it.
_LIST = re.compile(r"(.*/(ol|ul)\[\d+\]/)li\[\d+\](?:/p\[\d+\])?$")
# A heading that is a button: it opens and closes what is below it.
_ACCORDION = re.compile(r"/h[1-6]\[\d+\]/(?:[^/]+/)?button\[[^/]*$")
_H1 = re.compile(r"/h1\[[^/]*$")
_LETTER = re.compile(r"[^\W_]")
# How many texts after a heading, or after a quote, are searched for a kept one; a quote may have several texts.
_MAX_LOOK_AHEAD = 4
_MAX_LOOK_AHEAD_OF_QUOTES = 12
_MAX_WRAPPERS = 4
_MAX_SOURCE_WORDS = 8
_KEPT, _DUPLICATE, _LINKS, _SOCIAL = Reason.KEPT, Reason.PAGE_DUPLICATE, Reason.LINKS, Reason.SOCIAL
_SHORT, _HIDDEN, _TRUNCATED = Reason.SHORT, Reason.HIDDEN, Reason.TRUNCATED
_HEADING, _CODE = Kind.HEADING, Kind.CODE
_PARAGRAPH, _ITEM, _CELL = Kind.PARAGRAPH, Kind.LIST_ITEM, Kind.TABLE_CELL
# "Pros" and "Cons" in each section of a page: a heading above a kept text says what the text is about.
_REPEATED = frozenset([_SHORT, _DUPLICATE])
# Embedded posts and links below quotes stay dropped in an element of their own.
_NEVER_WRAPPED = frozenset([_SOCIAL, _LINKS])
_SOURCES = frozenset([_SHORT, Reason.LOW_SCORE, Reason.BYLINE])
# A quote directly above a kept text, its answer; some are fieldsets. Advertisements have other reasons.
_ANSWERED = frozenset([_SHORT, Reason.LOW_SCORE, Reason.ASIDE, Reason.FORM])


class _Place(NamedTuple):
    """Where a quote or code stands: the numbers of its first and last text, and the paths of elements around it.

    `around` holds it directly. `outer` holds it with its wrappers, which end with the text number `stop`. Both paths
    end with a slash. `linked`: every word of it is in a link.
    """

    around: str
    first: int
    last: int
    linked: bool
    outer: str
    stop: int


def marks_of_decisions(decisions: Sequence[Decision], quotes: Quotes = NO_QUOTES) -> TextMarks:
    """Return the marks of a method whose blocks are the leaves of the walk, one for each.

    A dropped heading, quote or piece of code counts as kept if the kept texts before and after it stand beside it. A
    short or repeated heading, or one that is a button, needs a kept text directly below it. A quote that repeats a text
    of the page needs one of them, and a quote with a low score one directly below it. A text of a quote whose neighbour
    in it is kept, such as the name of the speaker, needs none. A term of a definition list counts as kept if its
    description is, and an item that repeats a text if the items around it are.
    """
    blocks = [decision.block for decision in decisions]
    marks = TextMarks(blocks, bytearray([decision.reason is _KEPT for decision in decisions]), quotes)
    if 1 not in marks.kept:
        return marks
    kept = marks.kept
    looked, last = 0, -1
    place = None
    for number, decision in enumerate(decisions):
        reason = decision.reason
        if reason is _KEPT or reason is _HIDDEN or reason is _TRUNCATED:
            continue
        kind = decision.block.kind
        is_quoted = number in quotes.outermost
        if (kind is _PARAGRAPH or kind is _CELL) and not is_quoted:
            continue
        if kind is _ITEM and not is_quoted and "/blockquote[" not in decision.block.path:
            if "/dt[" in decision.block.path:
                kept[number] = _is_described(marks, number)
            elif reason is _DUPLICATE:
                kept[number] = _is_listed(marks, number)
            continue
        before = kept.rfind(1, looked, number)
        looked, last = number, last if before < 0 else before
        if kind is _HEADING:
            kept[number] = _heading_belongs(decisions, marks, number, last)
            continue
        if place is None or number > place.last:
            place = _place_of(marks, number)
        kept[number] = place is not None and _belongs(decisions, marks, number, last, place)
    return marks


def _is_described(marks: TextMarks, number: int) -> bool:
    """Return True for a dropped term whose description is kept."""
    term = _TERM.match(marks.blocks[number].path)
    after = marks.kept.find(1, number + 1, number + 1 + _MAX_LOOK_AHEAD)
    return term is not None and _is_in(marks.blocks, after, term[1])


def _is_listed(marks: TextMarks, number: int) -> bool:
    """Return True for an item that repeats a text, if the kept texts before and after it are in its list.

    In a numbered list, one of them is enough.
    """
    item = _LIST.match(marks.blocks[number].path)
    if item is None:
        return False
    before = marks.kept.rfind(1, max(number - _MAX_LOOK_AHEAD, 0), number)
    after = marks.kept.find(1, number + 1, number + 1 + _MAX_LOOK_AHEAD)
    beside = [_is_in(marks.blocks, index, item[1]) for index in (before, after)]
    return all(beside) or (item[2] == "ol" and any(beside))


def _heading_belongs(decisions: Sequence[Decision], marks: TextMarks, number: int, before: int) -> bool:
    """Return True for a dropped heading that belongs to the kept texts; `before` is the last of them, or -1."""
    blocks = marks.blocks
    after = marks.kept.find(1, number + 1, number + 1 + _MAX_LOOK_AHEAD)
    inside = _INSIDE.match(blocks[number].path) if after >= 0 else None
    if inside is None or not _is_in(blocks, after, inside[1]):
        return False
    return _is_in(blocks, before, inside[1]) or (
        after == number + 1
        and (decisions[number].reason in _REPEATED or _ACCORDION.search(blocks[number].path) is not None)
    )


def _place_of(marks: TextMarks, number: int) -> _Place | None:
    """Return the place of the quote or code that holds a text.

    Elements that hold nothing else but a dropped short text, such as the name of the speaker, are passed over: forums
    and highlighters wrap quotes and code in them. Below a quote, the text may be an answer to it, but not in a figure
    or an aside.
    """
    blocks = marks.blocks
    inside = _INSIDE.match(blocks[number].path)
    quote = marks.quotes.outermost.get(number)
    if quote is not None and (inside is None or len(quote.around) < len(inside[1])):
        around, first, last = quote.around, quote.first, quote.last
    elif inside is not None:
        around = inside[1]
        first = _reach(blocks, number, -1, inside[0])
        last = _reach(blocks, number, 1, inside[0])
    else:
        return None
    start, stop, outer = first, last, around
    for _ in range(_MAX_WRAPPERS):
        more = [index for index in (start - 1, start - 2, stop + 1, stop + 2) if _is_in(blocks, index, outer)]
        if len(more) > 1 or any(marks.kept[index] or blocks[index].words > _MAX_SOURCE_WORDS for index in more):
            break
        parent, _, step = outer[:-1].rpartition("/")
        if more and more[0] > stop and not step.startswith(("figure[", "aside[")):
            break
        start = min([start, *more])
        stop = max([stop, *more])
        outer = f"{parent}/"
    linked = all(block.link_words >= block.words for block in blocks[first : last + 1])
    return _Place(around, first, last, linked, outer, stop)


def _reach(blocks: Sequence[Block], number: int, step: int, outer: str) -> int:
    """Return the number of the last text in a direction that is in an element."""
    while _is_in(blocks, number + step, f"{outer}/"):
        number += step
    return number


def _is_in(blocks: Sequence[Block], number: int, outer: str) -> bool:
    """Return True for the number of a text that is in an element; the path of the element ends with a slash."""
    return 0 <= number < len(blocks) and f"{blocks[number].path}/".startswith(outer)


def _belongs(decisions: Sequence[Decision], marks: TextMarks, number: int, before: int, place: _Place) -> bool:
    """Return True for a dropped text of a quote or code that belongs to the kept ones; `before` as for headings."""
    blocks, reason = marks.blocks, decisions[number].reason
    is_quote = blocks[number].kind is not _CODE
    if is_quote and reason is _LINKS:
        if _is_named(blocks[number], number, place):
            reason = _SHORT
        elif number > place.first:
            return False  # below a quote: "Click to expand"
    outer = place.around if reason in _NEVER_WRAPPED else place.outer
    ahead = _MAX_LOOK_AHEAD_OF_QUOTES if is_quote else _MAX_LOOK_AHEAD
    after = marks.kept.find(1, number + 1, number + 1 + ahead)
    beside = _is_in(blocks, before, outer), _is_in(blocks, after, outer)
    if not is_quote:
        return all(beside)
    if all(beside):
        return reason is not _SOCIAL or not place.linked  # an embedded post: "View this post"
    return (
        (reason is _DUPLICATE and any(beside))
        or (reason in _ANSWERED and _is_in(blocks, place.stop + 1, outer) and marks.kept[place.stop + 1] == 1)
        or (reason in _SOURCES and _is_source(decisions, marks, number, place))
    )


def _is_named(block: Block, number: int, place: _Place) -> bool:
    """Return True for links of a quote that name its speaker ("Ada said:") or its source ("From The Times")."""
    if number == place.first:
        return number < place.last and introduces_quote(block.text)
    return block.link_words < block.words <= _MAX_SOURCE_WORDS


def _is_source(decisions: Sequence[Decision], marks: TextMarks, number: int, place: _Place) -> bool:
    """Return True for a text of a quote whose neighbour in it is kept."""
    return any(
        place.first <= index <= place.last and (marks.kept[index] or decisions[index].reason is _DUPLICATE)
        for index in (number - 1, number + 1)
    )


def mark_headline(marks: TextMarks, title: str | None) -> None:
    """Count the page's headline as kept: the last dropped heading before the kept texts whose letters are the title's.

    An `h1` there may go on after the title, which ends at a dash. After the first kept text, only an `h1` is a
    headline. Nothing changes if a kept heading is the title, or if nothing is kept. A method may drop the headline,
    because the title says the same.
    """
    wanted = letters_of(title or "")
    first = marks.kept.find(1)
    if not wanted or first < 0:
        return
    headline = -1
    for number, block in enumerate(marks.blocks):
        if block.kind is not _HEADING or not _begins_with(block.text, wanted[0]):
            continue
        letters = letters_of(block.text)
        if letters != wanted and (number > first or not letters.startswith(wanted) or not _H1.search(block.path)):
            continue
        if marks.kept[number]:
            return
        if number < first or (headline < 0 and _H1.search(block.path)):
            headline = number
    if headline >= 0:
        marks.kept[headline] = 1


def _begins_with(text: str, letter: str) -> bool:
    """Return True if `letters_of(text)` begins with this letter; most headings are told from the title by it."""
    match = _LETTER.search(text)
    return match is not None and match[0].casefold()[0] == letter


def marks_of_leaves(
    walked: Sequence[Leaf], decided: Iterable[tuple[Leaf, Decision]], quotes: Quotes = NO_QUOTES
) -> TextMarks:
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
    return TextMarks(positioned, marked, quotes)

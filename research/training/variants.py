"""Variants of training pages: the same text with other words, tags and links around it, so that no single one decides.

A site may call anything by any word: the section of a manual `comments`, every paragraph `promo`. Saved pages are too
few to show it, so each page is trained on a second time with some of its words and tags changed at random. A changed
word stands around main text and other text alike.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cleaning.blocks import Kind, Reason
from cleaning.classifier.hints import hint_table, read_page_hints
from cleaning.leaf_table import Column, LeafTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from research.training.data import Example

_MAIN = 0.5  # the least label of a block of the main text
_PROSE_WORDS = 8
_SECTION_WORDS = 80
_MAX_SECTION_SHARE = 0.7  # of the page's words
_WRAPPER_SHARE = 0.8  # of the words of the main text
_EVEN = 0.5
_RENAMED_SHARES = (0.2, 0.5, 1.0)
_JUNK_WORDS = 40
_WRAPPING_TAGS = frozenset("div section main article".split())
_WRAPPER_TAGS = "div section main article aside footer figure form".split()
_PARAGRAPH_TAGS = "p div li figcaption td dd blockquote section".split()
_OPENER_TAGS = "button summary label dt div span p".split()
_MAX_SHORT_PARAGRAPHS = 3
_GRAFTED = (
    Reason.OVERLAY,
    Reason.ADVERTISEMENT,
    Reason.FORM,
    Reason.SOCIAL,
    Reason.RELATED,
    Reason.COMMENT,
    Reason.ASIDE,
)
_GRAFTED_ODDS = 0.6
_MAX_GRAFTS = 3
_MAX_PART_BLOCKS = 30
_LABELLED_SHARE = 0.2


class Part(NamedTuple):
    """An element of a page, by its number, that holds no main text: a notice, a box, an advertisement."""

    page: Example
    number: int


Parts = Mapping[Reason, Sequence[Part]]  # by the reason of their hints


def find_parts(examples: Sequence[Example]) -> Parts:
    """Return the elements with a hint of one of these reasons and some sentences, none of them main text."""
    parts: dict[Reason, list[Part]] = {reason: [] for reason in _GRAFTED}
    for example in examples:
        for reason, number in _parts_of(example):
            parts[reason].append(Part(example, number))
    return {reason: of_reason for reason, of_reason in parts.items() if of_reason}


def _parts_of(example: Example) -> list[tuple[Reason, int]]:
    table = example.table
    words = table.counts[:, Column.WORDS] - table.counts[:, Column.LINK_WORDS]
    main = (example.labels > 0) | ~example.known_labels
    numbers: list[tuple[Reason, int]] = []
    end = 0
    hints = read_page_hints(table).elements
    for number, reason in zip(hints.numbers.tolist(), hints.reasons, strict=True):
        first = int(table.first[number])
        last = int(table.last[number])
        fitting = first >= end and last - first <= _MAX_PART_BLOCKS and reason in _GRAFTED
        if fitting and words[first:last].max() > _PROSE_WORDS and not main[first:last].any():
            numbers.append((reason, number))
            end = last
    return numbers


def vary(example: Example, parts: Parts) -> Example:
    """Return a page with some words, tags and links changed at random, at times with parts of other pages in it.

    The same page and parts give the same variant.
    """
    random = np.random.default_rng(zlib.crc32(f"{example.set}/{example.id}".encode()))
    grafted = example
    if parts and random.random() < _GRAFTED_ODDS:
        for _ in range(random.integers(1, _MAX_GRAFTS + 1)):
            of_reason = parts[list(parts)[int(random.integers(len(parts)))]]
            grafted = graft(grafted, of_reason[int(random.integers(len(of_reason)))], random)
    draft = _Draft(grafted, random)
    for change, odds in _CHANGES:
        if draft.random.random() < odds:
            change(draft)
    return draft.example()


def graft(example: Example, part: Part, random: np.random.Generator) -> Example:
    """Return a page with a part of another page before one of its elements: in the main text, or anywhere."""
    table, source = example.table, part.page.table
    longer = (example.labels > _MAIN) & (example.words > _PROSE_WORDS)
    places = np.flatnonzero(longer if longer.any() and random.random() < _EVEN else table.last[table.node] > 0)
    number = int(table.node[random.choice(places)])
    if table.parent[number] < 0:
        return example
    begin = int(source.first[part.number])
    end = int(source.last[part.number])
    subtree = [part.number]
    for inner in range(part.number + 1, len(source.tags)):
        if source.parent[inner] < part.number:
            break
        subtree.append(inner)
    return _spliced(example, number, part.page, subtree, slice(begin, end))


def _spliced(example: Example, number: int, other: Example, subtree: list[int], span: slice) -> Example:
    """Return a page with other elements, a whole subtree with its blocks (a span), before an element (a number)."""
    table, source = example.table, other.table
    place = int(table.first[number])
    size = span.stop - span.start
    count = len(subtree)
    around = np.zeros(len(table.tags), bool)  # the elements that get the part inside
    outer = int(table.parent[number])
    while outer >= 0:
        around[outer] = True
        outer = int(table.parent[outer])
    first = np.where(~around & (table.first >= place), table.first + size, table.first)
    last = np.where(around | (table.last > place), table.last + size, table.last)
    moved = np.where(table.parent >= number, table.parent + count, table.parent)
    parents = np.where(np.arange(count) == 0, table.parent[number], source.parent[subtree] - subtree[0] + number)
    spliced = LeafTable(
        [*table.blocks[:place], *source.blocks[span], *table.blocks[place:]],
        np.concatenate([table.counts[:place], source.counts[span], table.counts[place:]]),
        _between(
            np.where(table.node >= number, table.node + count, table.node),
            source.node[span] - subtree[0] + number,
            place,
        ),
        [*table.inline_tokens[:place], *source.inline_tokens[span], *table.inline_tokens[place:]],
        [*table.tags[:number], *(source.tags[inner] for inner in subtree), *table.tags[number:]],
        _between(moved, parents, number),
        [*table.node_tokens[:number], *(source.node_tokens[inner] for inner in subtree), *table.node_tokens[number:]],
        _between(first, source.first[subtree] - span.start + place, number),
        _between(last, source.last[subtree] - span.start + place, number),
    )
    known = None if example.known is None else np.insert(example.known, place, np.ones(size, bool))
    return replace(
        example,
        table=spliced,
        labels=np.insert(example.labels, place, np.zeros(size, np.float32)),
        words=np.insert(example.words, place, other.words[span]),
        known=known,
    )


def _between(values: np.ndarray, added: np.ndarray, place: int) -> np.ndarray:
    return np.concatenate([values[:place], added, values[place:]]).astype(np.int32)


class _Draft:
    """A page whose columns are being changed."""

    def __init__(self, example: Example, random: np.random.Generator) -> None:
        table = example.table
        self.random = random
        self.source = example
        self.tags = list(table.tags)
        self.tokens = list(table.node_tokens)
        self.inlines = list(table.inline_tokens)
        self.parent = table.parent.copy()
        self.node = table.node.copy()
        self.counts = table.counts.copy()
        self.first = table.first.copy()
        self.last = table.last.copy()
        self.main = example.labels > _MAIN
        self.words = table.counts[:, Column.WORDS] + 1.0
        self.blocks = np.ones(example.size, bool)  # those that stay

    def even(self) -> bool:
        return bool(self.random.random() < _EVEN)

    def word(self) -> str:
        return str(self.random.choice(_hint_words()))

    def inside(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the blocks' values in each element."""
        sums = np.concatenate([[0.0], np.cumsum(values)])
        total: np.ndarray = sums[self.last] - sums[self.first]
        return total

    def add_word(self, number: int, word: str) -> None:
        """Add a word to the tokens of an element, before or after them."""
        own = self.tokens[number]
        self.tokens[number] = f"{word} {own}".strip() if self.even() else f"{own} {word}".strip()

    def paragraphs(self) -> np.ndarray:
        """Return the indexes of the longer blocks: of the main text, or of all text."""
        long = self.words > _PROSE_WORDS
        return np.flatnonzero(long & self.main if self.even() else long)

    def wrap(self, first: int, last: int, tag: str) -> int:
        """Return the number of a new element around the children first to last (numbers) of one element."""
        children = [number for number in range(first, last + 1) if self.parent[number] == self.parent[first]]
        end = self.last[children].max()
        self.tags.insert(first, tag)
        self.tokens.insert(first, "")
        self.parent[self.parent >= first] += 1
        self.parent = np.insert(self.parent, first, self.parent[first])
        self.parent[[number + 1 for number in children]] = first
        self.node[self.node >= first] += 1
        self.first = np.insert(self.first, first, self.first[children].min()).astype(np.int32)
        self.last = np.insert(self.last, first, end).astype(np.int32)
        return first

    def example(self) -> Example:
        """Return the changed page."""
        source, table = self.source, self.source.table
        changed = LeafTable(
            table.blocks,
            self.counts,
            self.node.astype(np.int32),
            self.inlines,
            self.tags,
            self.parent.astype(np.int32),
            self.tokens,
            self.first,
            self.last,
        )
        if self.blocks.all():
            return replace(source, table=changed)
        rest = self.blocks
        known = None if source.known is None else source.known[rest]
        return replace(
            source,
            table=_select(changed, rest),
            labels=source.labels[rest],
            words=source.words[rest],
            known=known,
            signals=replace(source.signals, body="", body_words=0, summaries=()),
        )


def _select(table: LeafTable, rest: np.ndarray) -> LeafTable:
    """Return the table of some blocks (a mask, n), without the elements that have no more text."""
    before = np.concatenate([[0], np.cumsum(rest)]).astype(np.int32)
    first, last = before[table.first], before[table.last]
    stay = np.flatnonzero(last > first)
    numbers = np.full(len(table.tags) + 1, -1, np.int32)  # the last entry is the parent of the outermost element
    numbers[stay] = np.arange(len(stay))
    blocks = [block for block, stays in zip(table.blocks, rest.tolist(), strict=True) if stays]
    inlines = [tokens for tokens, stays in zip(table.inline_tokens, rest.tolist(), strict=True) if stays]
    return LeafTable(
        blocks,
        table.counts[rest],
        numbers[table.node[rest]],
        inlines,
        [table.tags[number] for number in stay.tolist()],
        numbers[table.parent[stay]],
        [table.node_tokens[number] for number in stay.tolist()],
        first[stay],
        last[stay],
    )


def _rename(draft: _Draft) -> None:
    """Give a share of the attribute tokens other words, the same on the whole page; or none."""
    share = draft.random.choice(_RENAMED_SHARES)
    names: dict[str, str] = {"": ""}
    for tokens in dict.fromkeys((*draft.tokens, *draft.inlines)):
        if tokens and draft.random.random() < share:
            names[tokens] = "" if draft.even() else f"x{_letters(draft.random.integers(_JUNK_WORDS))}"
    draft.tokens = [names.get(tokens, tokens) for tokens in draft.tokens]
    draft.inlines = [names.get(tokens, tokens) for tokens in draft.inlines]


def _letters(number: np.integer) -> str:
    return f"{chr(97 + int(number) // 7)}q{chr(97 + int(number) % 7)}"


def _name_wrapper(draft: _Draft) -> None:
    """Add a word to an element around nearly all of the main text, or make another tag of its tag."""
    weights = draft.words * draft.main
    wrappers = np.flatnonzero(draft.inside(weights) >= _WRAPPER_SHARE * max(1.0, weights.sum()))
    if not len(wrappers):
        return
    number = int(draft.random.choice(wrappers))
    draft.add_word(number, draft.word())
    if draft.tags[number] in _WRAPPING_TAGS and draft.even():
        draft.tags[number] = str(draft.random.choice(_WRAPPER_TAGS))


def _name_sections(draft: _Draft) -> None:
    """Add words to some elements around parts of the text, or put new elements around such parts."""
    for _ in range(draft.random.integers(1, 4)):
        inside = draft.inside(draft.words)
        main = draft.inside(draft.words * draft.main)
        fitting = (inside >= _SECTION_WORDS) & (inside <= _MAX_SECTION_SHARE * draft.words.sum())
        if draft.random.random() < 2 / 3:
            fitting &= main >= _WRAPPER_SHARE * inside
        sections = np.flatnonzero(fitting & (draft.parent >= 0))
        paragraphs = draft.paragraphs()
        if len(sections) and draft.even():
            draft.add_word(int(draft.random.choice(sections)), draft.word())
        elif len(paragraphs):
            number = _wrap_run(draft, int(draft.node[draft.random.choice(paragraphs)]))
            if draft.inside(draft.words)[number] >= _SECTION_WORDS:
                draft.add_word(number, draft.word())


def _wrap_run(draft: _Draft, number: int) -> int:
    """Return a new element around this one and some of the elements after it, all inside the same element."""
    if draft.parent[number] < 0:
        return number
    siblings = np.flatnonzero(draft.parent == draft.parent[number])
    place = int(np.searchsorted(siblings, number))
    last = siblings[min(len(siblings) - 1, place + int(draft.random.integers(2, 12)))]
    return draft.wrap(number, int(last), str(draft.random.choice(["div", "section"])))


def _name_paragraphs(draft: _Draft) -> None:
    """Add a word to each paragraph: the same to all of them, or one of its own to each."""
    numbers = np.unique(draft.node[draft.paragraphs()])
    word = draft.word()
    same = draft.even()
    for number in numbers.tolist():
        draft.add_word(number, word if same else draft.word())


def _label_paragraphs(draft: _Draft) -> None:
    """Begin paragraphs with an inline element that has a word: all of them, or some."""
    word = draft.word()
    same = draft.even()
    every = draft.even()
    for index in draft.paragraphs().tolist():
        if every or draft.random.random() < _LABELLED_SHARE:
            tokens = f"{draft.random.choice(['span', 'strong', 'a'])} {word if same else draft.word()}"
            draft.inlines[index] = f"{tokens} {draft.inlines[index]}".strip()


def _retag_paragraphs(draft: _Draft) -> None:
    """Make other tags of the paragraphs' tags, as in slideshows whose text stands in captions."""
    numbers = np.unique(draft.node[draft.paragraphs()])
    tag = str(draft.random.choice(_PARAGRAPH_TAGS))
    for number in numbers.tolist():
        if draft.tags[number] in _PARAGRAPH_TAGS:
            draft.tags[number] = tag


def _retag_headings(draft: _Draft) -> None:
    """Make buttons, labels or plain elements of headings in the main text, as in accordions."""
    tag = str(draft.random.choice(_OPENER_TAGS))
    every = draft.even()
    for index in _openers(draft):
        number = draft.node[index]
        if draft.tags[number][:1] == "h" and draft.last[number] - draft.first[number] == 1 and (every or draft.even()):
            draft.tags[number] = tag


def _link_openers(draft: _Draft) -> None:
    """Make links of headings and short items of the main text, as on the index of a blog."""
    every = draft.even()
    for index in _openers(draft):
        if every or draft.even():
            counts = draft.counts[index]
            counts[Column.LINK_WORDS], counts[Column.LINK_CHARS] = counts[Column.WORDS], counts[Column.CHARS]
            counts[Column.LINKS] = max(1, counts[Column.LINKS])


def _openers(draft: _Draft) -> list[int]:
    """Return the indexes of the main text's headings, and at times of its short list items."""
    kinds = {Kind.HEADING} if draft.even() else {Kind.HEADING, Kind.LIST_ITEM}
    blocks = draft.source.table.blocks
    return [index for index in np.flatnonzero(draft.main).tolist() if blocks[index].kind in kinds]


def _shorten(draft: _Draft) -> None:
    """Leave out all paragraphs of the main text but the first ones, so that other text outweighs it."""
    prose = np.flatnonzero(draft.main & (draft.words > _PROSE_WORDS))
    most = int(draft.random.integers(1, _MAX_SHORT_PARAGRAPHS + 1))
    if draft.source.known is None and len(prose) > most:
        draft.blocks = ~draft.main
        draft.blocks[: prose[most]] = True


# What happens to a page, in this order, and how likely each change is.
_CHANGES: tuple[tuple[Callable[[_Draft], None], float], ...] = (
    (_rename, 0.3),
    (_retag_paragraphs, 0.1),
    (_retag_headings, 0.25),
    (_link_openers, 0.35),
    (_name_wrapper, 0.3),
    (_name_paragraphs, 0.25),
    (_label_paragraphs, 0.25),
    (_name_sections, 0.35),
    (_shorten, 0.3),
)


@cache
def _hint_words() -> list[str]:
    return [word for word in hint_table() if not word.startswith("<")]

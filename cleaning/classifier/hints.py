"""Hints: tags and words of class, id and role that often stand around text that is no main text.

A hint names the reason of the blocks that the model drops, and is evidence for the model. It never drops a
block by itself.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from importlib import resources
from itertools import chain, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cleaning._native import load_compiled
from cleaning.blocks import Reason

if TYPE_CHECKING:
    from cleaning._native.words import HintWords
    from cleaning.leaf_table import LeafTable

_LETTERS = re.compile("[a-z]+")
_MOST_ENTRIES = 255
HINT_LEVELS = {"certain": 3, "sure": 2, "likely": 1}
HINT_REASONS = (
    Reason.OVERLAY,
    Reason.NAVIGATION,
    Reason.FOOTER,
    Reason.FORM,
    Reason.ADVERTISEMENT,
    Reason.RELATED,
    Reason.SOCIAL,
    Reason.COMMENT,
    Reason.BYLINE,
    Reason.CAPTION,
    Reason.ASIDE,
    Reason.HIDDEN,
)


class Hint(NamedTuple):
    """Why an element is probably no content, how sure that is (one of HINT_LEVELS), and how many entries say so.

    `code` is the place of the reason in HINT_REASONS: an enum's own hash is slow. `entries` is the number of the
    table's different entries for this reason in the element's tag and tokens.
    """

    reason: Reason
    level: int
    code: int
    entries: int

    @classmethod
    def of(cls, reason: Reason, level: int, entries: int = 1) -> Hint:
        """Return a hint with the code of its reason."""
        return cls(reason, level, HINT_REASONS.index(reason), entries)


class Hints(NamedTuple):
    """The hints of those elements or texts of a page that have one.

    `numbers` (k, int32, ascending) are the elements or texts. `codes`, `levels` and `entries` (k, int32) are the fields
    of `Hint`.
    """

    numbers: np.ndarray
    codes: np.ndarray
    levels: np.ndarray
    entries: np.ndarray

    @property
    def reasons(self) -> list[Reason]:
        """The reason of each hint."""
        return [HINT_REASONS[code] for code in self.codes.tolist()]


class PageHints(NamedTuple):
    """The hints of a page's elements, by their numbers, and of the inline elements at the start of its blocks."""

    elements: Hints
    inlines: Hints


class HintsAround(NamedTuple):
    """The hints of each of m elements and of the elements around it.

    `levels` (m x len(HINT_REASONS), uint8) are the greatest levels by reason, 0 for none. `entries` (as levels) are the
    numbers of the table's entries by reason, 255 at most. `surest` (m, int32) is the element with the greatest level,
    the outermost of equal ones; -1 for none.
    """

    levels: np.ndarray
    entries: np.ndarray
    surest: np.ndarray


def read_page_hints(table: LeafTable) -> PageHints:
    """Return the hints of a page's elements and blocks."""
    indexes = np.array([index for index, tokens in enumerate(table.inline_tokens) if tokens], np.int32)
    labels = read_hints([""] * len(indexes), [tokens for tokens in table.inline_tokens if tokens])
    return PageHints(read_hints(table.tags, table.node_tokens), labels._replace(numbers=indexes[labels.numbers]))


def spread_hints(parent: np.ndarray, hints: Hints) -> HintsAround:
    """Return the hints around each element, given the numbers of their parents (m, int32)."""
    rows = {number: hint for number, *hint in zip(*(column.tolist() for column in hints), strict=True)}
    # An element without a hint has the levels and entries of the one around it: they stand once.
    levels, entries = [[0] * len(HINT_REASONS)], [[0] * len(HINT_REASONS)]
    places: list[int] = []
    surest: list[int] = []
    for number, outer in enumerate(parent.tolist()):
        place, best = (places[outer], surest[outer]) if outer >= 0 else (0, -1)
        if number in rows:
            code, level, count = rows[number]
            levels.append(levels[place].copy())
            entries.append(entries[place].copy())
            place = len(levels) - 1
            levels[place][code] = max(levels[place][code], level)
            entries[place][code] = min(_MOST_ENTRIES, entries[place][code] + count)
            if best < 0 or rows[best][1] < level:
                best = number
        places.append(place)
        surest.append(best)
    return HintsAround(
        np.array(levels, np.uint8)[places], np.array(entries, np.uint8)[places], np.array(surest, np.int32)
    )


def count_alike(table: LeafTable, hints: Hints) -> np.ndarray:
    """Return for each element (m, int32) how many elements in it have a hint with the same reason as its own."""
    alike = np.zeros(len(table.tags), np.int32)
    for code in np.flatnonzero(np.bincount(hints.codes)):
        numbers = hints.numbers[hints.codes == code]
        # Elements are in reading order: those in an element follow it, and begin before its last block ends.
        ends = np.searchsorted(table.first[numbers], table.last[numbers])
        alike[numbers] = ends - np.arange(1, len(numbers) + 1)
    return alike


def read_hints(tags: list[str], tokens: list[str]) -> Hints:
    """Return the hints of elements, given all tags and attribute tokens."""
    known = _compiled_hints()
    if known is not None:
        return Hints(*known.read(tags, tokens))
    hints = enumerate(map(read_hint, tags, tokens))
    rows = [(number, hint.code, hint.level, hint.entries) for number, hint in hints if hint is not None]
    return Hints(*np.array(rows, np.int32).reshape(-1, len(Hints._fields)).T)


@lru_cache(maxsize=1 << 13)
def read_hint(tag: str, tokens: str) -> Hint | None:
    """Return the surest hint of an element's tag and the words of its tokens; None if they give none."""
    known = hint_table()
    own = known.get(f"<{tag}>")
    words = _LETTERS.findall(tokens.lower())
    if _first_words().isdisjoint(words):
        return own
    pairs = (f"{first}-{second}" for first, second in pairwise(words))
    entries = dict.fromkeys(word for word in chain((f"<{tag}>",), words, pairs) if word in known)
    hints = [known[entry] for entry in entries]
    surest = max(hints, key=attrgetter("level"), default=None)
    return surest and surest._replace(entries=sum(hint.reason is surest.reason for hint in hints))


@cache
def _compiled_hints() -> HintWords | None:
    module = load_compiled("words")
    if module is None:
        return None
    hints: HintWords = module.HintWords(hint_table())
    return hints


@cache
def _first_words() -> frozenset[str]:
    """Return the first words of the table's entries."""
    return frozenset(word.partition("-")[0] for word in hint_table())


@cache
def hint_table() -> dict[str, Hint]:
    """Return the hint of each tag (`<nav>`), word (`footer`) and pair of words (`ad-slot`)."""
    source = resources.files("cleaning").joinpath("data", "hints.toml").read_text("utf-8")
    return {
        word: Hint.of(Reason(reason), HINT_LEVELS[level])
        for reason, levels in tomllib.loads(source).items()
        for level, words in levels.items()
        for word in words.split()
    }

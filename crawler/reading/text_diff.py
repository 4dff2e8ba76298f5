"""Word-level comparison of two texts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


# Comparing takes more than twice as long for twice as many.
DIFF_MAX_WORDS = 1_000
# Of scripts without spaces each character, with what parts it from the next one.
_WORD = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+)(\s*)")


class DiffOperation(StrEnum):
    """What became of some words."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class DiffPart:
    """Some words in a row that share a fate."""

    change: DiffOperation
    text: str


def diff_words(old: str, new: str) -> list[DiffPart]:
    """Return what turns one text into the other, in order; texts are compared up to their first 1,000 words."""
    before, after = (_WORD.findall(text)[:DIFF_MAX_WORDS] for text in (old, new))
    return list(_diff_parts(before, after))


def count_words(text: str) -> Counter[str]:
    """Return the words of a text, and how often each is there."""
    return Counter(word for word, _ in _WORD.findall(text))


def dice_similarity(one: Counter[str], other: Counter[str]) -> float:
    """Return the share of the words of two texts that both have, from 0 to 1."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def _diff_parts(before: Sequence[tuple[str, str]], after: Sequence[tuple[str, str]]) -> Iterator[DiffPart]:
    # Where a text is long, its most frequent words are no anchors: with them a hostile one takes minutes.
    matcher = SequenceMatcher(None, [word for word, _ in before], [word for word, _ in after], autojunk=True)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            yield DiffPart(DiffOperation.SAME, _join_words(before[start:end]))
            continue
        if end > start:
            yield DiffPart(DiffOperation.REMOVED, _join_words(before[start:end]))
        if new_end > new_start:
            yield DiffPart(DiffOperation.ADDED, _join_words(after[new_start:new_end]))


def _join_words(parted: Sequence[tuple[str, str]]) -> str:
    return "".join(f"{word} " if space else word for word, space in parted).rstrip()

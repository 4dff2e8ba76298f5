"""Word-level comparison of two texts, and how the difference is shown on a terminal."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from typing import TYPE_CHECKING

from rich.text import Text

from crawler.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Doubling the number of words more than doubles the time of a comparison.
_DIFF_MAX_WORDS = 1_000
# A word with the space after it. In scripts without spaces each character is a word.
_WORD = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+)(\s*)")


class DiffOperation(StrEnum):
    """The fate of a run of words."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class DiffPart:
    """A run of words that were all kept, all removed or all added."""

    change: DiffOperation
    text: str


_STYLES = {DiffOperation.SAME: "", DiffOperation.REMOVED: "red strike", DiffOperation.ADDED: "green"}
# For files, and for terminals without colours.
_BRACKETS = {DiffOperation.SAME: ("", ""), DiffOperation.REMOVED: ("[-", "-]"), DiffOperation.ADDED: ("{+", "+}")}


def diff_words(old: str, new: str) -> list[DiffPart]:
    """Return the parts that turn `old` into `new`, in order. Only the first 1,000 words of each text are compared."""
    before, after = (_WORD.findall(text)[:_DIFF_MAX_WORDS] for text in (old, new))
    return list(_diff_parts(before, after))


def diff_line(parts: Sequence[DiffPart], *, brackets: bool, unchanged_max_chars: int | None = None) -> Text:
    """Return a difference as one line: removed words struck out, added words in colour, both in `brackets` if asked.

    Unchanged runs longer than twice `unchanged_max_chars` lose their middle.
    """
    line = Text()
    for part in parts:
        before, after = _BRACKETS[part.change] if brackets else ("", "")
        text = printable(part.text)
        if part.change is DiffOperation.SAME and unchanged_max_chars is not None:
            text = _without_middle(text, unchanged_max_chars)
        line.append(f"{before}{text}{after}", style=_STYLES[part.change]).append(" ")
    return line


def count_words(text: str) -> Counter[str]:
    """Return how often each word occurs in a text."""
    return Counter(word for word, _ in _WORD.findall(text))


def dice_similarity(first: Counter[str], second: Counter[str]) -> float:
    """Return the Dice coefficient of two word counts, from 0 to 1; 0 for two empty ones."""
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 0.0


def _diff_parts(before: Sequence[tuple[str, str]], after: Sequence[tuple[str, str]]) -> Iterator[DiffPart]:
    # `autojunk` ignores the most frequent words of long texts. Without it a hostile text takes minutes.
    matcher = SequenceMatcher(None, [word for word, _ in before], [word for word, _ in after], autojunk=True)
    for operation, start, end, new_start, new_end in matcher.get_opcodes():
        if operation == "equal":
            yield DiffPart(DiffOperation.SAME, _join_words(before[start:end]))
            continue
        if end > start:
            yield DiffPart(DiffOperation.REMOVED, _join_words(before[start:end]))
        if new_end > new_start:
            yield DiffPart(DiffOperation.ADDED, _join_words(after[new_start:new_end]))


def _join_words(words: Sequence[tuple[str, str]]) -> str:
    return "".join(f"{word} " if space else word for word, space in words).rstrip()


def _without_middle(text: str, chars: int) -> str:
    """Return both ends of a text, `chars` characters each, unless it is hardly longer than that."""
    return text if len(text) <= 2 * chars + len(" ... ") else f"{text[:chars]} ... {text[-chars:]}"

"""Measures of a page's text by which corpora of training texts are filtered, and the rules that use them.

The rules are those of two published corpora, for texts in words that spaces separate. They say nothing of a text in
Chinese, Japanese or Thai, except for repeated lines. A line of a page is the text of a block.

- Gopher: Rae et al., "Scaling language models" (2021), tables A1 and A2: length, symbols, stop words, repetition.
- C4: Raffel et al., "Exploring the limits of transfer learning" (2020), section 2.2: ends of lines, code, filler.

C4 drops lines; here the share of the lines that it would keep is a measure, and no text is changed. Its list of bad
words and its filter for English are left out: the language is a column of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from cleaning.terms import UNSPACED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Measures = dict[str, float | int | str | None]
"""The values of QUALITY_COLUMNS."""

_TOP_SIZES = (2, 3, 4)
_REPEATED_SIZES = range(5, 11)

QUALITY_COLUMNS: Mapping[str, str] = {
    "mean_word_length": "mean number of characters of a word",
    "symbol_share": "number signs and ellipses, for each word",
    "bullet_line_share": "share of the lines that begin with a bullet",
    "ellipsis_line_share": "share of the lines that end with an ellipsis",
    "letter_word_share": "share of the words that have a letter",
    "stop_words": "how many of the eight most common English words occur",
    "closed_line_share": "share of the lines that C4 keeps: at least five words, with a mark at their end",
    "sentences": "number of sentences in these lines",
    "repeated_line_share": "share of the lines that repeat an earlier one",
    "repeated_line_char_share": "share of the characters that are in such lines",
    **{f"top_{size}gram_share": f"share of the characters in the most frequent {size}-gram" for size in _TOP_SIZES},
    **{f"repeated_{size}gram_share": f"share of the characters in repeated {size}-grams" for size in _REPEATED_SIZES},
    "gopher": "the first rule of Gopher that the page breaks; null if it breaks none",
    "c4": "the first rule of C4 for pages that the page breaks; null if it breaks none",
}
"""The measures with their meanings. A share lies between 0 and 1, and is 0 for a page without a text."""

_STOP_WORDS = frozenset("the be to of and that have with".split())
_BULLETS = ("•", "‣", "▪", "◦", "●", "- ", "* ", "– ")
_ELLIPSES = ("...", "…")
_CLOSING = (".", "!", "?", '"', "”")
_LETTER = re.compile(r"[^\W\d_]")
_SENTENCE_END = re.compile(r"[.!?]+(?=\s|$)")
_UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")
_CLOSED_LINE_WORDS = 5
_LEFT_OUT_BY_C4 = (
    "javascript",
    "terms of use",
    "privacy policy",
    "cookie policy",
    "uses cookies",
    "use of cookies",
    "use cookies",
)
_MOST_UNSPACED = 0.3

# What a page may have at most, by measure; table A1 of Gopher.
_GOPHER_REPETITION: Mapping[str, float] = {
    "repeated_line_share": 0.3,
    "repeated_line_char_share": 0.2,
    "top_2gram_share": 0.2,
    "top_3gram_share": 0.18,
    "top_4gram_share": 0.16,
    "repeated_5gram_share": 0.15,
    "repeated_6gram_share": 0.14,
    "repeated_7gram_share": 0.13,
    "repeated_8gram_share": 0.12,
    "repeated_9gram_share": 0.11,
    "repeated_10gram_share": 0.1,
}
# The rules of section A1.1 of Gopher, in its order.
_GOPHER_QUALITY: Mapping[str, Callable[[Mapping[str, float]], bool]] = {
    "words": lambda measures: 50 <= measures["words"] <= 100_000,  # noqa: PLR2004 — as published
    "mean_word_length": lambda measures: 3 <= measures["mean_word_length"] <= 10,  # noqa: PLR2004 — as published
    "symbol_share": lambda measures: measures["symbol_share"] <= 0.1,  # noqa: PLR2004 — as published
    "bullet_line_share": lambda measures: measures["bullet_line_share"] <= 0.9,  # noqa: PLR2004 — as published
    "ellipsis_line_share": lambda measures: measures["ellipsis_line_share"] <= 0.3,  # noqa: PLR2004 — as published
    "letter_word_share": lambda measures: measures["letter_word_share"] >= 0.8,  # noqa: PLR2004 — as published
    "stop_words": lambda measures: measures["stop_words"] >= 2,  # noqa: PLR2004 — as published
}
_C4_SENTENCES = 3


def measure_quality(text: str) -> Measures:
    """Return the measures of a page's text, a line for each block."""
    lines = [line for line in text.split("\n") if line.strip()]
    words = text.split()
    closed = list(filter(_is_closed, lines))
    measures: dict[str, float] = {
        "mean_word_length": _mean(map(len, words)),
        "symbol_share": _share(text.count("#") + sum(map(text.count, _ELLIPSES)), len(words)),
        "bullet_line_share": _share(sum(line.startswith(_BULLETS) for line in lines), len(lines)),
        "ellipsis_line_share": _share(sum(line.endswith(_ELLIPSES) for line in lines), len(lines)),
        "letter_word_share": _share(sum(_LETTER.search(word) is not None for word in words), len(words)),
        "stop_words": len(_STOP_WORDS & {word.lower() for word in words}),
        "closed_line_share": _share(len(closed), len(lines)),
        "sentences": sum(len(_SENTENCE_END.findall(line)) or 1 for line in closed),
        **_repetition(lines, words),
    }
    lines_only = {name: value if "line" in name else 0 for name, value in measures.items()}
    has_spaces = len(_UNSPACED_CHARACTER.findall(text)) <= _MOST_UNSPACED * len(text)
    return {
        **measures,
        "gopher": _gopher(measures, len(words)) if has_spaces else next(iter(_repeating(lines_only)), None),
        "c4": _c4(text, measures) if has_spaces else None,
    }


def _is_closed(line: str) -> bool:
    """Return True for a line that C4 keeps."""
    lower = line.lower()
    return (
        line.endswith(_CLOSING)
        and not line.endswith(_ELLIPSES)
        and len(line.split()) >= _CLOSED_LINE_WORDS
        and not any(phrase in lower for phrase in _LEFT_OUT_BY_C4)
    )


def _repetition(lines: Sequence[str], words: Sequence[str]) -> dict[str, float]:
    repeated = [line for line, count in Counter(lines).items() for _ in range(count - 1)]
    chars = sum(map(len, words))
    return {
        "repeated_line_share": _share(len(repeated), len(lines)),
        "repeated_line_char_share": _share(sum(map(len, repeated)), sum(map(len, lines))),
        **{f"top_{size}gram_share": _share(_top_chars(words, size), chars) for size in _TOP_SIZES},
        **{f"repeated_{size}gram_share": _share(_repeated_chars(words, size), chars) for size in _REPEATED_SIZES},
    }


def _top_chars(words: Sequence[str], size: int) -> int:
    """Return the number of characters in all places of the most frequent n-gram, if it occurs more than once."""
    counts = Counter(zip(*(words[start:] for start in range(size)), strict=False))
    most = max(counts.values(), default=0)
    return max((sum(map(len, gram)) * count for gram, count in counts.items() if count == most > 1), default=0)


def _repeated_chars(words: Sequence[str], size: int) -> int:
    """Return the number of characters of the words that are in an n-gram that occurs more than once; each counts once.

    Gopher: characters in overlapping n-grams are not counted twice.
    """
    grams = list(zip(*(words[start:] for start in range(size)), strict=False))
    counts = Counter(grams)
    inside: set[int] = set()
    for start, gram in enumerate(grams):
        if counts[gram] > 1:
            inside.update(range(start, start + size))
    return sum(len(words[place]) for place in inside)


def _gopher(measures: Mapping[str, float], words: int) -> str | None:
    """Return the first rule that a page breaks."""
    quality = {"words": words, **measures}
    broken = [name for name, holds in _GOPHER_QUALITY.items() if not holds(quality)]
    return next(iter([*broken, *_repeating(measures)]), None)


def _repeating(measures: Mapping[str, float]) -> Iterable[str]:
    return (name for name, most in _GOPHER_REPETITION.items() if measures[name] > most)


def _c4(text: str, measures: Mapping[str, float]) -> str | None:
    """Return the first rule for pages that a page breaks."""
    if measures["sentences"] < _C4_SENTENCES:
        return "sentences"
    if "lorem ipsum" in text.lower():
        return "lorem_ipsum"
    return "curly_bracket" if "{" in text else None


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _mean(numbers: Iterable[int]) -> float:
    values = list(numbers)
    return _share(sum(values), len(values))

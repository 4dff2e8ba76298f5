"""The part of a text that shows best why it was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cleaning.terms import Place, is_unspaced, places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from crawler.search.query import Phrase

WIDTH = 240
_LEAD = 60  # what stands before the first hit
_MOST_CHARACTERS = 50_000
_ELLIPSIS = "\u2026"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a text, on one line; `hits` are the places of what was asked for, as (start, end) within it."""

    text: str
    hits: tuple[tuple[int, int], ...]


def excerpt(text: str, phrases: Iterable[Phrase], width: int = WIDTH) -> Excerpt:
    """Return about `width` characters of the text around its hits; a shorter text whole, an empty one empty."""
    plain = " ".join(text[:_MOST_CHARACTERS].split())
    hits = _merged(find(plain, phrases))
    start, end = _window(plain, hits, width)
    before, after = _ELLIPSIS * (start > 0), _ELLIPSIS * (end < len(plain))
    shift = len(before) - start
    inside = tuple((first + shift, min(last, end) + shift) for first, last in hits if start <= first < end)
    return Excerpt(f"{before}{plain[start:end]}{after}", inside)


def find(text: str, phrases: Iterable[Phrase]) -> list[tuple[int, int]]:
    """Return where phrases stand in a text, in order; they may overlap."""
    words = list(places(text))
    found = {hit for phrase in phrases for hit in _find(words, phrase)}
    return sorted(found)


def _find(words: Sequence[Place], phrase: Phrase) -> Iterator[tuple[int, int]]:
    length = len(phrase.words)
    for number in range(len(words) - length + 1):
        row = words[number : number + length]
        *whole, last = phrase.words
        fits = row[-1].word.startswith(last) if phrase.begins else row[-1].word == last
        if fits and all(place.word == word for place, word in zip(row, whole, strict=False)):
            end = row[-1].start + len(last) if is_unspaced(last) else row[-1].end
            yield row[0].start, end


def _merged(hits: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the hits without overlaps."""
    merged: list[tuple[int, int]] = []
    for start, end in hits:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _window(text: str, hits: Sequence[tuple[int, int]], width: int) -> tuple[int, int]:
    """Return the part with the most hits, cut between words where there are any."""
    if len(text) <= width:
        return 0, len(text)
    starts = [max(0, first - _LEAD) for first, _ in hits] or [0]
    start = max(starts, key=lambda one: (sum(one <= first and last <= one + width for first, last in hits), -one))
    start = min(start, len(text) - width)
    if start and (space := text.find(" ", start, start + _LEAD)) >= 0:
        start = space + 1
    end = min(len(text), start + width)
    if end < len(text) and (space := text.rfind(" ", end - _LEAD, end)) > 0:
        end = space
    return start, end

"""The query language: words that must all be there, "a phrase", begin*, -without, one OR another.

A query is read into a flat value, from which each kind of database gets its own words: so all understand the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cleaning.terms import cut, is_unspaced
from crawler.errors import QueryError
from crawler.storage.tokens import joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_CHARACTERS = 1_000
MOST_WORDS = 64

# Word processors put other quotation marks than those that are typed.
_QUOTES = str.maketrans("\u201c\u201d\u201e\u00ab\u00bb", '"' * 5)
_PART = re.compile(r'(?P<minus>(?<!\S)-)?(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s"*]+))?(?P<star>\*+)?')
_FILTERS = ("site", "section", "language", "since", "limit", "rank", "format")
_FILTER = re.compile(rf"(?:{'|'.join(_FILTERS)}):", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in a row, often a single one; where `begins`, the last one is only the beginning of a word."""

    words: tuple[str, ...]
    begins: bool = False

    @classmethod
    def read(cls, text: str, *, begins: bool = False) -> Phrase | None:
        """Return the words of a text as they are indexed; None where it has none."""
        words = cut(text)
        if not words:
            return None
        last = words[-1]
        if is_unspaced(last):
            # `cut` ends a run with its last character; in a text the run may go on there.
            if len(words) > 1 and len(words[-2]) > 1 and is_unspaced(words[-2]):
                words.pop()
            else:
                begins = True
        return cls(tuple(words), begins)

    @property
    def pattern(self) -> str:
        """What a text's joined words hold where they hold the phrase."""
        whole = joined(self.words)
        return whole.rstrip(" ") if self.begins else whole


@dataclass(frozen=True, slots=True)
class Query:
    """What a text must hold, one of each alternatives, and what it must not hold."""

    wanted: tuple[tuple[Phrase, ...], ...]
    unwanted: tuple[Phrase, ...] = ()

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        """All that count in a text's rank, each once."""
        return tuple(dict.fromkeys(phrase for alternatives in self.wanted for phrase in alternatives))


def read_query(text: str) -> Query:
    """Return what a query asks for; raises QueryError for one that cannot be understood, or asks for nothing."""
    if len(text) > MOST_CHARACTERS:
        raise QueryError(f"the query has {len(text):,} characters; {MOST_CHARACTERS:,} is the most")
    plain = text.translate(_QUOTES)
    if plain.count('"') % 2:
        raise QueryError('the query has a quotation mark (") without its partner')
    query = _Reader().read(_parts(plain))
    words = sum(len(phrase.words) for phrase in (*query.phrases, *query.unwanted))
    if words > MOST_WORDS:
        raise QueryError(f"the query has {words} words; {MOST_WORDS} is the most (two Chinese characters are a word)")
    if not query.wanted:
        what = "says only what is unwanted" if query.unwanted else "holds no word"
        raise QueryError(f'the query {text!r} {what}; it takes words, "a phrase", begin*, -without, one OR another')
    return query


def _parts(text: str) -> Iterator[re.Match[str]]:
    return (match for match in _PART.finditer(text) if match.group())


class _Reader:
    """Takes a query's parts in order."""

    def __init__(self) -> None:
        self._wanted: list[tuple[Phrase, ...]] = []
        self._unwanted: list[Phrase] = []
        self._joins = False  # an OR waits for its right side

    def read(self, parts: Iterable[re.Match[str]]) -> Query:
        for part in parts:
            self._take(part)
        if self._joins:
            raise QueryError("OR stands between two words or phrases; nothing follows the last one")
        return Query(tuple(self._wanted), tuple(self._unwanted))

    def _take(self, part: re.Match[str]) -> None:
        minus, plain, star = part["minus"], part["plain"], part["star"]
        if plain in {"OR", "NOT"} and not minus and not star:
            self._join(plain)
            return
        if plain and _FILTER.match(plain):
            name = plain.partition(":")[0].lower()
            raise QueryError(f"{name}: is no part of a query; there is the option --{name}, and quotation marks")
        phrase = Phrase.read(plain or part["quoted"] or "", begins=bool(star))
        if star and (phrase is None or part.string[part.end() :][:1].strip()):
            raise QueryError("* stands at the end of the beginning of a word (comput*)")
        if phrase is not None:
            self._add(phrase, without=bool(minus))

    def _join(self, word: str) -> None:
        if word == "NOT":
            raise QueryError('what is unwanted is written -word; the word itself is "NOT"')
        if not self._wanted or self._joins:
            raise QueryError("OR stands between two words or phrases; nothing precedes it")
        self._joins = True

    def _add(self, phrase: Phrase, *, without: bool) -> None:
        if without and self._joins:
            raise QueryError("OR stands between two words or phrases that are wanted; -without cannot be one")
        if without:
            self._unwanted.append(phrase)
        elif self._joins:
            self._wanted[-1] = (*self._wanted[-1], phrase)
        else:
            self._wanted.append((phrase,))
        self._joins = False

"""The language of searches: words that must all occur, phrases, prefixes, exclusions, alternatives and titles.

docs/export.md describes it for its users.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cleaning.terms import Phrase, index_tokens, join_tokens
from crawler.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_QUERY_MAX_CHARACTERS = 1_000

_QUERY_MAX_WORDS = 64

# Word processors replace typed quotation marks with these.
_QUOTES = str.maketrans("\u201c\u201d\u201e\u00ab\u00bb", '"' * 5)

_QUERY_PART = re.compile(
    r'(?P<minus>(?<!\S)-)?(?P<field>(?:(?<!\S)|(?<=\s-)|(?<=^-))[A-Za-z_]\w*:(?=["\w*]))?'
    r'(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s"*]+))?(?P<star>\*+)?'
)

_OPTION_NAMES = ("site", "section", "language", "since", "kind", "limit", "rank", "format")

_LANGUAGE = 'a query has words, "a phrase", begin*, -without, one OR another, and title:word'

_OPERATORS = {
    "OR": "",
    "AND": 'words need no AND, all must occur; to search for AND itself, write "AND"',
    "NOT": 'to exclude a word, write -word; to search for NOT itself, write "NOT"',
}


@dataclass(frozen=True, slots=True)
class Query:
    """A search: of each group of alternatives a block must contain one, and it may contain none of `unwanted`.

    The title of its page must meet `title`, which has no title of its own. A query for titles only finds titles.
    """

    wanted: tuple[tuple[Phrase, ...], ...]
    unwanted: tuple[Phrase, ...] = ()
    title: Query | None = None

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        """The wanted phrases, each once. They determine a block's rank."""
        return tuple(dict.fromkeys(phrase for alternatives in self.wanted for phrase in alternatives))

    @property
    def words(self) -> int:
        """The number of words in all phrases."""
        own = sum(len(phrase.words) for phrase in (*self.phrases, *self.unwanted))
        return own + (0 if self.title is None else self.title.words)

    def matches(self, text: str) -> bool:
        """Return True if a text meets the query, apart from what it says of titles."""
        joined = join_tokens(index_tokens(text))
        wanted = all(any(phrase.pattern in joined for phrase in alternatives) for alternatives in self.wanted)
        return wanted and not any(phrase.pattern in joined for phrase in self.unwanted)


def parse_query(text: str) -> Query:
    """Return a parsed query: words that must all occur, "a phrase", prefix*, -without, one OR another, title:word.

        parse_query('ferry OR boat "northern lake" harb* -winter title:late')

    The result does not depend on the kind of database. Raises QueryError for a query that is malformed or has no wanted
    word.
    """
    if len(text) > _QUERY_MAX_CHARACTERS:
        raise QueryError(f"the query has {len(text):,} characters; {_QUERY_MAX_CHARACTERS:,} is the most")
    plain = text.translate(_QUOTES)
    if plain.count('"') % 2:
        raise QueryError('the query has a quotation mark (") without its partner')
    query = _QueryParser().read(_split_query(plain))
    if query.words > _QUERY_MAX_WORDS:
        raise QueryError(
            f"the query has {query.words} words; {_QUERY_MAX_WORDS} is the most (two Chinese characters are a word)"
        )
    if not query.wanted and not (query.title and query.title.wanted):
        what = "has unwanted words only" if query.words else "has no words"
        raise QueryError(f"the query {text!r} {what}; {_LANGUAGE}")
    return query


def split_query(text: str) -> tuple[list[str], list[str]]:
    """Return the parts of a query that must occur, each with its alternatives, and those that must not."""
    wanted: list[str] = []
    unwanted: list[str] = []
    is_alternative = False
    for part in _split_query(text.translate(_QUOTES)):
        if part["plain"] in _OPERATORS and not part["field"]:
            is_alternative = True
        elif Phrase.read(part["plain"] or part["quoted"] or "") is None:
            continue
        elif part["minus"]:
            unwanted.append(part.group())
        elif is_alternative:
            wanted[-1] += f" OR {part.group()}"
            is_alternative = False
        else:
            wanted.append(part.group())
    return wanted, unwanted


def _split_query(text: str) -> Iterator[re.Match[str]]:
    return (match for match in _QUERY_PART.finditer(text) if match.group())


@dataclass(slots=True)
class _Groups:
    """The phrases of a query, or of its titles, that were read so far."""

    wanted: list[tuple[Phrase, ...]] = field(default_factory=list)
    unwanted: list[Phrase] = field(default_factory=list)

    def query(self, title: Query | None = None) -> Query:
        return Query(tuple(self.wanted), tuple(self.unwanted), title)


class _QueryParser:
    """Builds a query from its parts, in order."""

    def __init__(self) -> None:
        self._texts = _Groups()
        self._titles = _Groups()
        self._last: _Groups | None = None  # that of the last wanted phrase
        self._joins = False  # True between an OR and its right side

    def read(self, parts: Iterable[re.Match[str]]) -> Query:
        for part in parts:
            self._take(part)
        if self._joins:
            raise QueryError(f"OR stands between two words or phrases; nothing follows the last one ({_LANGUAGE})")
        titles = self._titles.query()
        return self._texts.query(titles if titles.words else None)

    def _take(self, part: re.Match[str]) -> None:
        minus, plain, star = part["minus"], part["plain"], part["star"]
        groups = self._texts if part["field"] is None else self._groups_of(part)
        if plain in _OPERATORS and not minus and not star and not part["field"]:
            self._join(plain)
            return
        phrase = Phrase.read(plain or part["quoted"] or "", begins=bool(star))
        if star and (phrase is None or part.string[part.end() :][:1].strip()):
            raise QueryError("* must follow the beginning of a word (comput*)")
        if phrase is not None:
            self._add(groups, phrase, without=bool(minus))

    def _groups_of(self, part: re.Match[str]) -> _Groups:
        """Return the groups of a part with a field; raises QueryError for a field that is not known."""
        name = part["field"].rstrip(":").lower()
        if name == "title":
            return self._titles
        if name in _OPTION_NAMES:
            raise QueryError(f"{name}: is not part of a query; use the option --{name}, or quotation marks")
        whole = part.group().removeprefix("-")
        quoted = f'; to search for the text itself, write "{whole}"' if '"' not in whole else ""
        raise QueryError(f"{name}: is not a field{quoted} ({_LANGUAGE})")

    def _join(self, word: str) -> None:
        if _OPERATORS[word]:
            raise QueryError(f"{_OPERATORS[word]} ({_LANGUAGE})")
        if self._last is None or self._joins:
            raise QueryError(f"OR stands between two words or phrases; nothing precedes it ({_LANGUAGE})")
        self._joins = True

    def _add(self, groups: _Groups, phrase: Phrase, *, without: bool) -> None:
        if without and self._joins:
            raise QueryError("OR stands between two wanted words or phrases; -word is not one")
        if without:
            groups.unwanted.append(phrase)
            return
        if self._joins and groups is not self._last:
            raise QueryError("OR cannot stand between a title and a word; search for each of them alone")
        if self._joins:
            groups.wanted[-1] = (*groups.wanted[-1], phrase)
        else:
            groups.wanted.append((phrase,))
        self._last = groups
        self._joins = False

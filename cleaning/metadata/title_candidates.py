"""Collect the titles that a page may have: those that it states, its headings, and their parts between separators."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from cleaning.metadata.elements import find_classed
from cleaning.metadata.site_names import letters_of
from cleaning.metadata.statements import text_of_value, tidy_text, type_names, visible_text
from cleaning.terms import tokenise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cleaning.metadata.ranking import Evidence
    from cleaning.metadata.statements import Statements

# An underline between small letters is a part of a name: rustc_codegen.
_SEPARATOR = re.compile(
    r"(\s+(?:[|\u2013\u2014\u00bb\u00ab\u2039\u203a\u00b7\u2022~_/-]|::)\s+"
    r"|\s*(?:[|\uff5c\u3163]|(?<![a-z0-9])_|_(?![a-z0-9]))\s*|::)"
)
_PERMALINK = re.compile(r"[\s\u00b6#\uf000-\uf8ff]+$")
_MAX_RUNS = 3  # parts that a title is cut at, from either end
_MAX_TEXTS = 4  # of one source
_MAX_SUBHEADINGS = 4
_MAX_SHOWN_CHARS = 300
_LAST_LETTER = 3  # shorter words are in any two titles
_MAX_WORDS = 40
_CLASS_PARTS = ("title", "Title", "headline", "heading")
_NAMED_TYPES = frozenset("product book recipe course event movie videoobject softwareapplication webpage".split())


class TitleSource(StrEnum):
    """Where a page states or shows a title."""

    JSON_LD = "json-ld"
    NAME = "name"
    """The name of the object that JSON-LD describes the page as."""
    OPEN_GRAPH = "og"
    TWITTER = "twitter"
    LIBRARY = "library"
    META = "meta"
    ITEM = "microdata"
    TITLE = "title"
    HEADING = "h1"
    SUBHEADING = "h2"
    CLASS = "class"


_METAS = (
    ("og:title", TitleSource.OPEN_GRAPH),
    ("twitter:title", TitleSource.TWITTER),
    ("citation_title", TitleSource.LIBRARY),
    ("dc.title", TitleSource.LIBRARY),
    ("dcterms.title", TitleSource.LIBRARY),
    ("parsely-title", TitleSource.LIBRARY),
    ("sailthru.title", TitleSource.LIBRARY),
    ("title", TitleSource.META),
)
HEADINGS = frozenset({TitleSource.HEADING, TitleSource.SUBHEADING, TitleSource.CLASS})


@dataclass(frozen=True, slots=True)
class TitleCandidate:
    """A title, or a run of its parts: `removed` has the other parts, `ends` its first and last part if it has several.

    `key` has the letters of the text, or the text itself if it has none. `signs` are features of the ranking.
    """

    text: str
    key: str
    source: TitleSource
    origin: str
    signs: frozenset[str] = frozenset()
    removed: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()


class _Place(NamedTuple):
    """A whole title, where it stands, and the signs of that place."""

    text: str
    source: TitleSource
    origin: str
    signs: frozenset[str]


class _Run(NamedTuple):
    """A title or a run of its parts, as in `TitleCandidate`."""

    text: str
    key: str
    signs: frozenset[str]
    removed: tuple[str, ...]
    ends: tuple[str, ...]


def collect_titles(evidence: Evidence) -> Iterator[TitleCandidate]:
    """Yield the titles of a page, by source; the same one may come several times."""
    runs: dict[str, list[_Run]] = {}
    for text, source, origin, signs in _whole_titles(evidence):
        if text not in runs:
            runs[text] = list(_runs(text))
        for run in runs[text]:
            yield TitleCandidate(run.text, run.key, source, origin, run.signs or signs, run.removed, run.ends)


def _whole_titles(evidence: Evidence) -> Iterator[_Place]:
    stated = evidence.stated
    for number, text in enumerate(islice(stated.texts("headline"), _MAX_TEXTS)):
        yield _whole(text, TitleSource.JSON_LD, "json-ld headline", f"rank-{min(number, 2)}")
    yield from _names(stated)
    for meta, source in _METAS:
        if meta in stated.metas and (content := next(filter(None, map(tidy_text, stated.metas[meta])), None)):
            yield _whole(_uncut(content, stated.title), source, f"meta {meta}")
    for number, element in enumerate(islice(stated.items("headline"), _MAX_TEXTS)):
        if not evidence.is_reply(element) and (label := tidy_text(element.get("content")) or visible_text(element)):
            yield _whole(label, TitleSource.ITEM, "microdata headline", f"rank-{min(number, 2)}")
    if stated.title:
        yield _whole(stated.title, TitleSource.TITLE, "title element")
    for number, text in enumerate(stated.headings):
        yield _whole(text, TitleSource.HEADING, "h1", f"rank-{min(number, 3)}", f"of-{min(len(stated.headings), 3)}")
    if not _has_matching_heading(stated):
        yield from _other_headings(evidence)


def _whole(text: str, source: TitleSource, origin: str, *signs: str) -> _Place:
    return _Place(_PERMALINK.sub("", text) or text, source, origin, frozenset((*signs, "whole")))


def _names(stated: Statements) -> Iterator[_Place]:
    for node in stated.ranked[:_MAX_TEXTS]:
        types = [name for name in type_names(node) if name in _NAMED_TYPES]
        text = text_of_value(node.get("name"))
        if types and text:
            yield _whole(text, TitleSource.NAME, "json-ld name", *types)


def _uncut(text: str, title: str | None) -> str:
    """Return the title element in place of a value that ended early, at a quotation mark inside the title."""
    return title if title is not None and title.startswith((f'{text}"', f'{text} "')) else text


def _has_matching_heading(stated: Statements) -> bool:
    title = letters_of(stated.title or next(stated.meta("og:title"), ""))
    letters = (letters_of(text) for text in stated.headings)
    return any(plain and plain in title and len(plain) * 3 >= len(title) for plain in letters)


def _other_headings(evidence: Evidence) -> Iterator[_Place]:
    """Yield the first headings of the second level and short texts with a class about a title.

    Those without a word of the stated titles are left out: they are messages and names of parts.
    """
    stated = evidence.stated
    titles = (stated.title, *stated.texts("headline"), *map(tidy_text, stated.meta("og:title")))
    known = {word for title in titles if title for word in title_words(title)}
    for candidate in _shown_headings(evidence):
        if not known or not known.isdisjoint(title_words(candidate.text)):
            yield candidate


def _shown_headings(evidence: Evidence) -> Iterator[_Place]:
    for number, element in enumerate(evidence.stated.subheadings[:_MAX_SUBHEADINGS]):
        if (text := visible_text(element)) and len(text) <= _MAX_SHOWN_CHARS:
            yield _whole(text, TitleSource.SUBHEADING, "h2", f"rank-{number}")
    classed = find_classed(evidence.root, evidence.stated.heading, _CLASS_PARTS)
    for number, element in enumerate(classed[:_MAX_SUBHEADINGS]):
        if element.tag not in {"h1", "h2"} and (text := visible_text(element)) and len(text) <= _MAX_SHOWN_CHARS:
            yield _whole(text, TitleSource.CLASS, "class about a title", f"rank-{number}")


def split_title(title: str) -> list[str]:
    """Return the parts of a title with the separators between them."""
    return _SEPARATOR.split(title)


def title_words(title: str) -> list[str]:
    """Return the words of a title that are long enough to tell titles apart."""
    return [word for word in tokenise(title)[:_MAX_WORDS] if word[_LAST_LETTER:] or not word.isascii()]


def _runs(title: str) -> Iterator[_Run]:
    """Yield a title, then the runs of its parts at the beginning and at the end."""
    parts = split_title(title)
    yield _run(title, parts, frozenset(), ())
    for cut in range(1, min(len(parts) // 2, _MAX_RUNS) + 1):  # separators stand between the parts
        for place, kept, removed in (
            ("first", parts[: -2 * cut], parts[-2 * cut + 1 :: 2]),
            ("last", parts[2 * cut :], parts[: 2 * cut : 2]),
        ):
            if text := "".join(kept).strip():
                yield _run(text, kept, frozenset({place, f"{place}-cut-{cut}"}), tuple(removed))


def _run(text: str, parts: list[str], signs: frozenset[str], removed: tuple[str, ...]) -> _Run:
    ends = (parts[0], parts[-1]) if len(parts) > 1 else ()
    return _Run(text, letters_of(text) or text, signs, removed, ends)

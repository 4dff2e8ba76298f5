"""Collect the titles that a page may have: those that it states, its headings, and their parts between separators."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING

from cleaning.metadata.elements import find_classed
from cleaning.metadata.site_names import letters_of
from cleaning.metadata.statements import is_reply, text_of_value, tidy_text, type_names, visible_text
from cleaning.terms import tokenise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

    from cleaning.metadata.statements import Statements

_SEPARATOR = re.compile(r"(\s+(?:[|\u2013\u2014\u00bb\u00ab\u2039\u203a\u00b7\u2022~_/-]|::)\s+|\s*[|_\uff5c]\s*|::)")
_PERMALINK = re.compile(r"[\s\u00b6#\uf000-\uf8ff]+$")
_MAX_RUNS = 3  # parts that a title is cut at, from either end
_MAX_TEXTS = 4  # of one source
_MAX_SUBHEADINGS = 4
_MAX_SHOWN_CHARS = 300
_MIN_WORD_LETTERS = 4  # shorter words are in any two titles
_MAX_WORDS = 40
_METAS = (
    ("og:title", "og"),
    ("twitter:title", "twitter"),
    ("citation_title", "library"),
    ("dc.title", "library"),
    ("dcterms.title", "library"),
    ("parsely-title", "library"),
    ("sailthru.title", "library"),
    ("title", "meta"),
)
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


HEADINGS = frozenset({TitleSource.HEADING, TitleSource.SUBHEADING, TitleSource.CLASS})


@dataclass(frozen=True, slots=True)
class TitleCandidate:
    """A title, or a run of its parts: `removed` has the other parts, `ends` its first and last part if it has several.

    `signs` are features of the ranking.
    """

    text: str
    source: TitleSource
    origin: str
    signs: frozenset[str] = frozenset()
    removed: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The letters of the text; the text itself if it has none."""
        return letters_of(self.text) or self.text


def collect_titles(root: HtmlElement, stated: Statements) -> Iterator[TitleCandidate]:
    """Yield the titles of a page, by source; the same one may come several times."""
    for candidate in _whole_titles(root, stated):
        parts = split_title(candidate.text)
        yield candidate if len(parts) == 1 else replace(candidate, ends=(parts[0], parts[-1]))
        yield from _runs(candidate, parts)


def _whole_titles(root: HtmlElement, stated: Statements) -> Iterator[TitleCandidate]:
    for number, text in enumerate(islice(stated.texts("headline"), _MAX_TEXTS)):
        yield _whole(text, TitleSource.JSON_LD, "json-ld headline", f"rank-{min(number, 2)}")
    yield from _names(stated)
    for meta, source in _METAS:
        for text in islice(filter(None, map(tidy_text, stated.meta(meta))), 1):
            yield _whole(_uncut(text, stated.title), TitleSource(source), f"meta {meta}")
    for number, element in enumerate(islice(stated.items("headline"), _MAX_TEXTS)):
        if not is_reply(element) and (content := tidy_text(element.get("content")) or visible_text(element)):
            yield _whole(content, TitleSource.ITEM, "microdata headline", f"rank-{min(number, 2)}")
    if stated.title:
        yield _whole(stated.title, TitleSource.TITLE, "title element")
    for number, text in enumerate(stated.headings):
        yield _whole(text, TitleSource.HEADING, "h1", f"rank-{min(number, 3)}", f"of-{min(len(stated.headings), 3)}")
    if not _has_matching_heading(stated):
        yield from _other_headings(root, stated)


def _whole(text: str, source: TitleSource, origin: str, *signs: str) -> TitleCandidate:
    return TitleCandidate(_PERMALINK.sub("", text) or text, source, origin, frozenset((*signs, "whole")))


def _names(stated: Statements) -> Iterator[TitleCandidate]:
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


def _other_headings(root: HtmlElement, stated: Statements) -> Iterator[TitleCandidate]:
    """Yield the first headings of the second level and short texts with a class about a title.

    Those without a word of the stated titles are left out: they are messages and names of parts.
    """
    titles = (stated.title, *stated.texts("headline"), *map(tidy_text, stated.meta("og:title")))
    known = {word for title in titles if title for word in title_words(title)}
    for candidate in _shown_headings(root, stated):
        if not known or not known.isdisjoint(title_words(candidate.text)):
            yield candidate


def _shown_headings(root: HtmlElement, stated: Statements) -> Iterator[TitleCandidate]:
    for number, element in enumerate(stated.subheadings[:_MAX_SUBHEADINGS]):
        if (text := visible_text(element)) and len(text) <= _MAX_SHOWN_CHARS:
            yield _whole(text, TitleSource.SUBHEADING, "h2", f"rank-{number}")
    classed = find_classed(root, stated.heading, _CLASS_PARTS)
    for number, element in enumerate(classed[:_MAX_SUBHEADINGS]):
        if element.tag not in {"h1", "h2"} and (text := visible_text(element)) and len(text) <= _MAX_SHOWN_CHARS:
            yield _whole(text, TitleSource.CLASS, "class about a title", f"rank-{number}")


def split_title(title: str) -> list[str]:
    """Return the parts of a title with the separators between them."""
    return _SEPARATOR.split(title)


def title_words(title: str) -> list[str]:
    """Return the words of a title that are long enough to tell titles apart."""
    return [word for word in tokenise(title)[:_MAX_WORDS] if len(word) >= _MIN_WORD_LETTERS or not word.isascii()]


def _runs(candidate: TitleCandidate, parts: list[str]) -> Iterator[TitleCandidate]:
    """Yield the runs of parts at the beginning and at the end of a title."""
    count = len(parts) // 2  # separators
    for cut in range(1, min(count, _MAX_RUNS) + 1):
        for place, kept, removed in (
            ("first", parts[: -2 * cut], parts[-2 * cut + 1 :: 2]),
            ("last", parts[2 * cut :], parts[: 2 * cut : 2]),
        ):
            text = "".join(kept).strip()
            if text:
                signs = frozenset({place, f"{place}-cut-{cut}"})
                ends = (kept[0], kept[-1]) if len(kept) > 1 else ()
                yield TitleCandidate(text, candidate.source, candidate.origin, signs, tuple(removed), ends)

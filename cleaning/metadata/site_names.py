"""The names of a site: those that its pages state, and the labels of its host."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cleaning.metadata.statements import Statement, text_of_value, tidy_text, type_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cleaning.metadata.statements import Statements

_MIN_SITE_LETTERS = 3  # common beginning of the site's name and a part of the title
_MIN_LABEL_LETTERS = 4  # of a host's label in a part of the title, or of a part in a label
_MAX_NAME_CHARS = 100
_NO_LETTER = re.compile(r"[\W_]+")
_ASCII_SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())
_SITE_TYPES = frozenset("website organization newsmediaorganization corporation onlinestore blog".split())
_SITE_METAS = ("og:site_name", "application-name", "apple-mobile-web-app-title", "al:ios:app_name")
_NO_LABEL = frozenset("www m com co org net gov edu ac".split())


@dataclass(frozen=True, slots=True)
class Site:
    """A site's names: the letters of its stated names, of the labels of its host, and of the host and its domains.

    `hyphenated` has the words of the labels with hyphens.
    """

    names: frozenset[str]
    labels: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    hyphenated: tuple[tuple[str, ...], ...] = ()

    def is_name(self, plain: str) -> bool:
        """Return True if these letters are only the site's name, as in a logo."""
        return plain in self.names or plain in self.labels or plain in self.domains

    def is_part(self, text: str, plain: str) -> bool:
        """Return True if a part at the start or end of a title names the site; `plain` has its letters."""
        if plain in self.names or any(_begin_alike(plain, name) for name in self.names):
            return True
        if _initials(text) in self.labels or any(_is_short_for(label, text) for label in self.hyphenated):
            return True
        return any(
            (len(label) >= _MIN_LABEL_LETTERS and label in plain)
            or (len(plain) >= _MIN_LABEL_LETTERS and plain in label)
            for label in self.labels
        )


def read_site(stated: Statements, url: str | None) -> Site:
    """Return the names of the site of a page."""
    names = frozenset(filter(None, map(letters_of, _stated_names(stated))))
    labels = _host_labels(url)
    words = frozenset(letters_of(label) for label in labels[:-1] if label not in _NO_LABEL)
    domains = frozenset(letters_of("".join(labels[place:])) for place in range(len(labels) - 1))
    return Site(names, words, domains, tuple(tuple(label.split("-")) for label in labels[:-1] if "-" in label))


def read_site_name(stated: Statements) -> Statement | None:
    """Return the name of the site that the page states; None if it states none."""
    return next((name for name in _site_names(stated) if len(name.text) <= _MAX_NAME_CHARS), None)


def _site_names(stated: Statements) -> Iterator[Statement]:
    for node in stated.objects:
        if "website" in type_names(node) and (text := text_of_value(node)):
            yield Statement(text, "json-ld WebSite")
    for meta in ("og:site_name", "application-name"):
        for text in filter(None, map(tidy_text, stated.meta(meta))):
            yield Statement(text, f"meta {meta}")
    for text in stated.texts("publisher"):
        yield Statement(text, "json-ld publisher")


def letters_of(text: str) -> str:
    """Return only the letters and digits of a text, case-folded: equal for two spellings of a name."""
    if text.isascii():
        return text.encode("ascii").translate(None, _ASCII_SIGNS).decode("ascii").lower()
    return _NO_LETTER.sub("", text).casefold()


def _stated_names(stated: Statements) -> Iterator[str]:
    """Yield the names of the site and its publisher that the page states."""
    yield from filter(None, map(tidy_text, stated.meta(*_SITE_METAS)))
    yield from stated.texts("publisher")
    for node in stated.objects:
        if not _SITE_TYPES.isdisjoint(type_names(node)) and (name := text_of_value(node)):
            yield name


def _host_labels(url: str | None) -> list[str]:
    try:
        host = urlsplit(url or "").hostname or ""
    except ValueError:
        return []
    return host[:253].split(".")


def _begin_alike(part: str, name: str) -> bool:
    return min(len(part), len(name)) >= _MIN_SITE_LETTERS and (part.startswith(name) or name.startswith(part))


def _is_short_for(label: Sequence[str], text: str) -> bool:
    """Return True if a text has each word of a label, or its initials: mrc-reading for Model Rail Club Reading."""
    words = frozenset(text[:_MAX_NAME_CHARS].casefold().split())
    initials = _initials(text)
    return bool(words) and all(word and (word in words or word in initials) for word in label)


def _initials(text: str) -> str:
    """Return the first letters of the words with capitals: `osha` for Occupational Safety and Health Administration."""
    words = text[:_MAX_NAME_CHARS].split()
    if len(words) < _MIN_SITE_LETTERS:
        return ""
    letters = "".join([word[0] for word in words if word[0].isupper()])
    return letters.casefold() if len(letters) >= _MIN_SITE_LETTERS else ""

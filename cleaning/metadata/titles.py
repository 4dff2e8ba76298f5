"""A page's title without its site's name, and the site's name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cleaning.metadata.statements import text_of_value, tidy_text, type_names
from cleaning.terms import tokenise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cleaning.metadata.statements import Statements


_SEPARATOR = re.compile(r"(\s+(?:[|\u2013\u2014\u00bb\u00ab\u2039\u203a\u00b7\u2022~_-]|::)\s+|\s*[|_\uff5c]\s*|::)")
_MIN_SHOWN_CHARS = 15  # shorter parts of a title are in the text by chance
_MIN_SITE_LETTERS = 3  # common beginning of the site's name and a part of the title
_MIN_LABEL_LETTERS = 4  # of a host's label in a part of the title, or of a part in a label
_MIN_TITLE_SHARE = 1 / 3  # letters of a stated title that a heading must have to be the same title
_MIN_WORD_LETTERS = 4  # shorter words are in any two titles
# A slogan shares fewer words with the stated titles. Titles found on half of wcxb-dev: .2 568, .34 574, .5 572 of 696.
_MIN_RELATED_SHARE = 0.34
_MIN_LABELLED_SHARE = 1 / 2  # letters of a heading with a label that are the title
_MAX_NAME_CHARS = 100
_NO_LETTER = re.compile(r"[\W_]+")
_SITE_TYPES = frozenset("website organization newsmediaorganization corporation onlinestore blog".split())
_SITE_METAS = ("og:site_name", "application-name", "apple-mobile-web-app-title", "al:ios:app_name")
# Headings and parts of titles that say nothing about the page.
_GENERIC = frozenset(
    "home homepage homesite index welcome menu mainmenu search news untitled startseite accueil inicio início"
    " 主页 首页 首頁 ホーム главная strona főoldal hjem forside hem etusivu anasayfa".split()
)
_NO_LABEL = frozenset("www m com co org net gov edu ac".split())


@dataclass(frozen=True, slots=True)
class _Site:
    """The site's names: the letters of its stated names, and the labels of its host."""

    names: frozenset[str]
    labels: frozenset[str]

    def is_heading(self, text: str) -> bool:
        """Return True if a heading is only the site's name, as in a logo."""
        plain = letters_of(text)
        return plain in self.names or plain in self.labels or any(_is_domain(plain, label) for label in self.labels)

    def is_part(self, text: str) -> bool:
        """Return True if a part at the start or end of a title names the site."""
        plain = letters_of(text)
        if plain in self.names or any(_begin_alike(plain, name) for name in self.names):
            return True
        if _initials(text) in self.labels:
            return True
        return any(
            (len(label) >= _MIN_LABEL_LETTERS and label in plain)
            or (len(plain) >= _MIN_LABEL_LETTERS and plain in label)
            for label in self.labels
        )


def read_title(stated: Statements, url: str | None, text: str = "") -> str | None:
    """Return the page's title without the site's name; None for a page without title.

    A heading that agrees with a stated title wins over it, since stated titles are written for search engines. `text`
    is the page's kept text: it tells which part is the title if nothing names the site.
    """
    site = _site_of(stated, url)
    titles = list(dict.fromkeys(_stated_titles(stated)))
    headings = [heading for heading in stated.headings if not site.is_heading(heading)]
    if not titles:
        return next(iter([*filter(says_something, headings), *headings, *stated.headings]), None)
    bare = [_without_site(title, site, text) for title in titles]
    bare = list(filter(says_something, bare)) or headings or bare
    heading = _matching_heading(headings, titles) or _related_heading(headings, bare, front=is_front_page(url))
    return _without_label(_without_site(heading, site, text), bare) if heading else bare[0]


def read_headline(stated: Statements, url: str | None) -> str | None:
    """Return the heading that the page shows: the first `h1` that agrees with a stated title, or the first one at all.

    None if the page has none, or only the site's name.
    """
    site = _site_of(stated, url)
    headings = [heading for heading in stated.headings if says_something(heading) and not site.is_heading(heading)]
    titles = list(_stated_titles(stated))
    front = is_front_page(url)
    return (
        _matching_heading(headings, titles)
        or _related_heading(headings, titles, front=front)
        or next(iter(headings), None)
    )


def read_stated_title(stated: Statements) -> str | None:
    """Return the text of the title element, or of what else states a title; None for a page without any."""
    return stated.title or next(_stated_titles(stated), None)


def read_site_name(stated: Statements) -> str | None:
    """Return the name of the site that the page states; None if it states none."""
    named = (text_of_value(each) for each in stated.objects if "website" in type_names(each))
    metas = map(tidy_text, stated.meta("og:site_name", "application-name"))
    found = (name for names in (named, metas, stated.texts("publisher")) for name in names)
    return next((name for name in found if name and len(name) <= _MAX_NAME_CHARS), None)


def _site_of(stated: Statements, url: str | None) -> _Site:
    return _Site(frozenset(_site_letters(stated)), frozenset(_labels(url)))


def letters_of(text: str) -> str:
    """Return only the letters and digits of a text, case-folded: equal for two spellings of a name."""
    return _NO_LETTER.sub("", text).casefold()


def site_names(stated: Statements) -> Iterator[str]:
    """Yield the names of the site and its publisher that the page states."""
    yield from filter(None, map(tidy_text, stated.meta(*_SITE_METAS)))
    yield from stated.texts("publisher")
    for each in stated.objects:
        if not _SITE_TYPES.isdisjoint(type_names(each)) and (name := text_of_value(each)):
            yield name


def _site_letters(stated: Statements) -> Iterator[str]:
    return filter(None, map(letters_of, site_names(stated)))


def _labels(url: str | None) -> Iterator[str]:
    try:
        host = urlsplit(url or "").hostname or ""
    except ValueError:
        return
    for label in host[:253].split(".")[:-1]:
        if label not in _NO_LABEL:
            yield letters_of(label)


def _is_domain(plain: str, label: str) -> bool:
    return plain.startswith(label) and plain[len(label) :] in _NO_LABEL


def _begin_alike(part: str, name: str) -> bool:
    return min(len(part), len(name)) >= _MIN_SITE_LETTERS and (part.startswith(name) or name.startswith(part))


def _stated_titles(stated: Statements) -> Iterator[str]:
    """Yield the titles that the page states, in the order of trust."""
    yield from stated.texts("headline")
    for title in filter(None, map(tidy_text, stated.meta("og:title", "twitter:title"))):
        shown = stated.title or ""
        # The attribute's value ended early, at a quotation mark inside the title.
        cut = shown.startswith((f'{title}"', f'{title} "'))
        yield shown if cut else title
    if stated.title:
        yield stated.title


def _matching_heading(headings: Iterable[str], titles: Iterable[str]) -> str | None:
    """Return the first heading that is all or a large part of a stated title."""
    known = [letters_of(title) for title in titles]
    for heading in filter(says_something, headings):
        plain = letters_of(heading)
        if any(plain in title and len(plain) >= _MIN_TITLE_SHARE * len(title) for title in known):
            return heading
    return None


def _related_heading(headings: Iterable[str], titles: Iterable[str], *, front: bool) -> str | None:
    """Return the first heading with so many words of the stated titles that it is no slogan; None on a front page.

    The headings of a front page are slogans and the titles of its news.
    """
    known = {word for title in titles for word in _words(title)}
    for heading in () if front else headings:
        words = set(_words(heading))
        if words and len(words & known) >= _MIN_RELATED_SHARE * len(words):
            return heading
    return None


def _without_label(heading: str, titles: Iterable[str]) -> str:
    """Return a heading without the date or label before a stated title at its end."""
    shortest = max(_MIN_SHOWN_CHARS, _MIN_LABELLED_SHARE * len(heading))
    ends = (title for title in titles if heading.endswith(title) and len(title) >= shortest)
    return next(ends, heading)


def says_something(text: str) -> bool:
    """Return True if a text has letters and is more than the name of a front page or a menu."""
    plain = letters_of(text)
    return not plain.isdigit() and plain not in _GENERIC and plain != ""


def is_front_page(url: str | None) -> bool:
    """Return True for the address of a site's front page."""
    try:
        return url is not None and urlsplit(url).path in {"", "/"}
    except ValueError:
        return False


def _initials(text: str) -> str:
    """Return the first letters of the words with capitals: `osha` for Occupational Safety and Health Administration."""
    found = "".join(word[0] for word in text[:_MAX_NAME_CHARS].split() if word[0].isupper())
    return found.casefold() if len(found) >= _MIN_SITE_LETTERS else ""


def _words(title: str) -> Iterator[str]:
    return (word for word in tokenise(title) if len(word) >= _MIN_WORD_LETTERS or not word.isascii())


def _without_site(title: str, site: _Site, text: str) -> str:
    """Return the title without the site's name at either end, found by that name or by the page's text."""
    parts = _SEPARATOR.split(title)
    count = len(parts)
    if count == 1:
        return title
    while len(parts) > 1 and site.is_part(parts[-1]) and says_something(parts[0]):
        del parts[-2:]
    while len(parts) > 1 and (site.is_part(parts[0]) or not says_something(parts[0])):
        del parts[:2]
    if len(parts) == count > 1:
        shown = [part for part in parts[::2] if len(part) >= _MIN_SHOWN_CHARS and part in text]
        if len(shown) == 1:
            return shown[0]
    return "".join(parts).strip() or title

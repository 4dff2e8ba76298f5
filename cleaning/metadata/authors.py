"""A page's authors: the stated names, or the visible byline."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from lxml import etree

from cleaning.metadata.elements import find_classed, texts_below
from cleaning.metadata.statements import is_reply, text_of_value, tidy_text
from cleaning.metadata.titles import letters_of, site_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.html import HtmlElement

    from cleaning.metadata.statements import Statements


_MAX_AUTHORS = 20
_MAX_CANDIDATES = 40  # elements with a class about an author
_MAX_LINKED = 5  # authors of one page
_MIN_NAME_CHARS = 2  # a shorter text replaces a picture
# Accounts, and labels beside the name in an author's box.
_ACCOUNTS = frozenset("admin administrator root webmaster author authors topicauthor abouttheauthor post".split())
_MAX_NAME_CHARS = 60
_MAX_NAME_WORDS = 6
_MAX_BYLINE_CHARS = 100
_MAX_TEXT_CHARS = 200  # with the white space around it
_BYLINE_NODES = 60  # text nodes after the heading that are searched for a byline
_METAS = (
    "author",
    "article:author",
    "citation_author",
    "citation_authors",
    "dc.creator",
    "dcterms.creator",
    "parsely-author",
    "sailthru.author",
    "og:author",
    "article_author",
    "article-author",
    "bc:authors",
    "byl",
    "creator",
)
_OTHER_MARK = re.compile(r"uthor(?:i[sz]|ity)|comment", re.IGNORECASE)  # authorisation, comment-author
_ITEM_NAME = etree.XPath('.//*[@itemprop="name"]')
# Words before a name in a byline. The languages: English, German, French, Spanish, Portuguese,
# Italian, Dutch, the Scandinavian ones, Polish, Czech, Russian, Ukrainian, Turkish, Arabic, Hindi, Chinese, Japanese.
_BYLINE_WORDS = (
    "written by|authored by|posted by|post by|published by|reviewed by|words by|story by|text by|authors|author|by"
    "|geschrieben von|ein beitrag von|autorin|autor|von|écrit par|publié par|auteur|par"
    "|escrito por|publicado por|autora|por|scritto da|autore|di|geschreven door|door"
    "|skrevet af|skrevet av|skriven av|av|af|tekst|napisał|napisała|napsal|автор|автори|текст|yazan|yazar"
    "|بقلم|كتبه|كتب|लेखक|द्वारा|作者|文|记者|記者|撰文|著者|執筆者|執筆|ライター|文責"
)
_BYLINE = re.compile(rf"(?:{_BYLINE_WORDS})(?:\s*[:\uff1a/]\s*|\s+|$)", re.IGNORECASE)
_PARTICLE = re.compile(r"(?:von|di|door|av|af)\s", re.IGNORECASE)  # also the beginning of family names
_PART = re.compile(r" ?[|•·–—»/(\[] ?| - | ?\b(?=\d{1,4}[./-]\d|\d{4}年)|, ?(?=\d)| (?=\d{1,2}\.? \S{1,20} \d{4})")
_NAME_SEPARATOR = re.compile(
    r"\s*(?:[,;&、\uff0c\uff1b]|\s(?:and|und|et|y|e|och|og|en|i|и|та|ve|و|और|和|与)\s)\s*",
    re.IGNORECASE,
)
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# The last alternative is a key of a template that was never filled in.
_NO_NAME = re.compile(r"https?:|www\.|@\S+\.|\d{4}|[{}<>=\\]|^\W*$|(?:^|\s)\d{1,2}(?:$|[\s.,])|^\w+(?:\.\w+){2,}$")
_COMPANY = re.compile(
    r"\W+(?:inc|ltd|llc|gmbh|ag|sa|co|team|staff|editors|editorial team|redaktion)\W*$", re.IGNORECASE
)
_LABEL = re.compile(rf"(?:{_BYLINE_WORDS})[:\s]*", re.IGNORECASE)


def read_authors(root: HtmlElement, stated: Statements) -> tuple[str, ...]:
    """Return the names of a page's authors, each once, in the order of their source; empty if the page names nobody.

    A source that names only the site is used if no other source names a person.
    """
    sites = {letters_of(name) for name in site_names(stated)}
    spare: tuple[str, ...] = ()
    for source in _sources(root, stated):
        names = tuple(dict.fromkeys(name for text in source for name in split_names(text)))[:_MAX_AUTHORS]
        others = tuple(name for name in names if letters_of(_COMPANY.sub("", name)) not in sites)
        if others:
            return others
        spare = spare or names
    return spare


def _sources(root: HtmlElement, stated: Statements) -> Iterator[Iterable[str]]:
    """Yield the bylines of each source; a later source is read only if the earlier ones name nobody."""
    yield _from_linked_data(stated)
    yield _from_metas(stated)
    yield _from_items(stated)
    yield _from_links(stated)
    yield _from_marks(root, stated)
    yield _from_byline(stated)


def split_names(text: str) -> list[str]:
    """Return the names in a byline, without the words before them; empty for a text that is no name (a URL, a date)."""
    bare = _without_byline_words(text).strip(' ,;:|-\u2013\u2014"\u201c\u201d')
    parts = [part for part in _NAME_SEPARATOR.split(bare) if part]
    # A part of one word is a title, a family name before the first name, or a part of a company's name.
    if not all(" " in part or _UNSPACED.search(part) for part in parts):
        parts = [bare]
    return [part for part in parts if _is_name(part)]


def _is_name(text: str) -> bool:
    if not 0 < len(text) <= _MAX_NAME_CHARS or _NO_NAME.search(text) or _LABEL.fullmatch(text):
        return False
    return letters_of(text) not in _ACCOUNTS


def _without_byline_words(text: str) -> str:
    """Return a byline without the words before the name (`By`, `Written by`)."""
    for _ in range(2):
        match = _BYLINE.match(text)
        if match is None or (_PARTICLE.match(text) and " " not in text[match.end() :]):
            break
        text = text[match.end() :]
    return text


def _from_linked_data(stated: Statements) -> list[str]:
    groups = ([name for name in map(text_of_value, values) if name] for values in stated.linked("author", "creator"))
    return next(filter(None, groups), [])


def _from_metas(stated: Statements) -> list[str]:
    groups = ([name for name in map(tidy_text, stated.meta(meta)) if name and split_names(name)] for meta in _METAS)
    return next(filter(None, groups), [])


def _from_items(stated: Statements) -> Iterator[str]:
    """Yield the names of the first author in microdata and of the authors beside it."""
    first = None
    for element in islice(stated.items("author"), _MAX_CANDIDATES):
        if (first is None or element.getparent() is first) and not is_reply(element):
            inner = _ITEM_NAME(element)
            name = _first_name(inner[0] if inner else element) or (inner and tidy_text(inner[0].get("content")))
            if name:
                first = element.getparent()
                yield name


def _from_links(stated: Statements) -> list[str]:
    """Return the text of the link to the author; empty for a page with many such links, a list of other pages."""
    names = [name for link in stated.author_links if (name := _first_name(link)) and not is_reply(link)]
    return names[:1] if len(set(names)) <= _MAX_LINKED else []


def _from_marks(root: HtmlElement, stated: Statements) -> Iterator[str]:
    """Yield the name in the first element near the heading with a class about an author."""
    marked = (
        each for each in find_classed(root, stated.heading, "uthor") if not _OTHER_MARK.search(each.get("class", ""))
    )
    for element in islice(marked, _MAX_CANDIDATES):
        if not is_reply(element) and (name := _first_name(element)):
            yield name
            return


def _from_byline(stated: Statements) -> Iterator[str]:
    """Yield the name in the first byline below the page's heading."""
    texts = _short_texts(texts_below(stated.heading))
    for text in texts:
        if (match := _BYLINE.match(text)) and len(text) <= _MAX_BYLINE_CHARS:
            name = _leading_name(tidy_text(text[match.end() :] or next(texts, "")) or "")
            # A sentence can begin with the same word. Names begin with capitals, in scripts that have them.
            if name and not any(name.split()[index][0].islower() for index in (0, -1)):
                yield name
            return


def _first_name(element: HtmlElement) -> str | None:
    """Return the first text in an element that is a name; None if there is none."""
    for text in islice(element.itertext(), _MAX_CANDIDATES):
        if (plain := tidy_text(text)) and (name := _leading_name(plain)):
            return name
    return None


def _leading_name(text: str) -> str | None:
    """Return the name at the beginning of a visible text; None if there is none."""
    name = _PART.split(_without_byline_words(text).strip(), maxsplit=1)[0].strip(" ,;:|-")
    fits = len(name) >= _MIN_NAME_CHARS and len(name.split()) <= _MAX_NAME_WORDS
    return name if fits and _is_name(name) else None


def _short_texts(texts: Iterable[str]) -> Iterator[str]:
    """Yield the first texts that are short enough for a byline."""
    fitting = (text.strip() for text in texts if len(text) < _MAX_TEXT_CHARS and not text.isspace())
    return islice(fitting, _BYLINE_NODES)

"""Collect the candidates for the authors of a page: stated names, and names in bylines."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from lxml import etree

from cleaning.metadata.author_names import (
    BYLINE_WORDS,
    fold_name,
    leading_names,
    match_byline,
    read_names,
    read_shown_names,
)
from cleaning.metadata.elements import find_classed, find_starts
from cleaning.metadata.site_names import letters_of
from cleaning.metadata.statements import text_of_value, tidy_text, type_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lxml.html import HtmlElement

    from cleaning.metadata.ranking import Evidence
    from cleaning.metadata.site_names import Site
    from cleaning.metadata.statements import Statements

_MAX_CANDIDATES = 12  # of one source
_MAX_GROUPED = 20
_MAX_BYLINE_CHARS = 120
_PIECES = 24
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
    "twitter:creator",
)
_CATALOGUES = ("citation_", "dc.", "dcterms.", "dc:")
_LABELLED_METAS = (("twitter:label1", "twitter:data1"), ("twitter:label2", "twitter:data2"))
_TIME_WORDS = re.compile(r"time|zeit|temps|tiempo|tempo|tid|czas|minute", re.IGNORECASE)
_CLASS_PARTS = (
    *("uthor", "yline", "username", "userName", "user-name", "user_name", "ostUser", "nickname"),
    *("creator", "writer", "contributor", "autor", "erfasser", "auteur"),
)
_CLASS = re.compile(
    r"(?<![a-z])(?:[a-z]*author|byline|byLine|[a-z]*user[-_]?name|postUser|nickname|creator|writer|contributor|autor|verfasser|auteur)",
    re.IGNORECASE,
)
_OTHER_CLASS = re.compile(r"uthor(?:i[sz]|ity)|comment|avatar|image|photo", re.IGNORECASE)  # authorisation
_CLASS_SIGNS = (
    ("name", re.compile(r"name", re.IGNORECASE)),
    ("byline", re.compile(r"byline", re.IGNORECASE)),
    ("user", re.compile(r"username", re.IGNORECASE)),
    ("box", re.compile(r"box|bio|about|card|info|desc", re.IGNORECASE)),
)
_ITEM_NAME = etree.XPath('.//*[@itemprop="name"]')
_STARTS = tuple(
    dict.fromkeys(
        form for word in BYLINE_WORDS if " " not in word for form in (word, word[:1].upper() + word[1:], word.upper())
    )
)
_BYLINE_STARTS = (
    *_STARTS,
    *("Written", "Posted", "Published", "Story", "Words", "Geschrieben", "Verfasst", "Eingestellt"),
    *(
        "Veröffentlicht",
        "Ein Beitrag",
        "Beitrag",
        "Gastbeitrag",
        "Ein Gastbeitrag",
        "Écrit",
        "Publié",
        "Rédigé",
        "Propos",
    ),
    *(
        "Escrito",
        "Publicado",
        "Postado",
        "Scritto",
        "Pubblicato",
        "A cura",
        "Geschreven",
        "Geplaatst",
        "Skrevet",
        "Skriven",
    ),
    *(
        "Text",
        "TEXT",
        "Texte",
        "Tekst",
        "Interview",
        "Opublikowane",
        "Dodano",
        "Текст",
        "posted",
        "written",
        "erstellt",
    ),
    *"Kolumne Kommentar Bericht Reportage Analyse Essay Rezension Redaktion Column Opinion Analysis Commentary".split(),
    *"Review Report Chronique Tribune Entretien Artículo Columna Crónica Intervista Recensione".split(),
    *("Eine Kolumne", "Ein Interview", "Ein Kommentar", "Ein Bericht", "Eine Reportage", "Eine Analyse", "Ein Essay"),
    *("Un article", "Une chronique", "Une tribune", "Un artículo", "Un articolo"),
)


_PICTURES = re.compile(
    r"\b(?:photos?|photographs|photography|pictures|images|illustrations?|fotos?|bilder|illustrationen|fotografie|fotografías)"
    r"(?:\s*:|\s+(?:by|von|par|por|di|de)\b)\s*",
    re.IGNORECASE,
)


class AuthorSource(StrEnum):
    """Where a page states or shows its authors."""

    JSON_LD = "json-ld"
    META = "meta"
    ITEM = "microdata"
    LINK = "link"
    CLASS = "class"
    BYLINE = "byline"


@dataclass(frozen=True, slots=True)
class AuthorCandidate:
    """Names that stand together: `origin` says in words where, `signs` are the features of the ranking.

    `key` has the names as they are compared, in order of the alphabet.
    """

    names: tuple[str, ...]
    key: str
    source: AuthorSource
    origin: str
    signs: frozenset[str] = frozenset()


def collect_authors(evidence: Evidence) -> Iterator[AuthorCandidate]:
    """Yield the authors of a page, by source; the same names may come several times.

    The site's name is left out beside the names of others.
    """
    sources = (
        _from_linked_data(evidence.stated),
        _from_metas(evidence.stated),
        _from_items(evidence),
        _from_links(evidence),
        _from_classes(evidence),
        _from_bylines(evidence),
    )
    for candidate in chain.from_iterable(sources):
        yield candidate if len(candidate.names) == 1 else _without_site(candidate, evidence.site)


def _without_site(candidate: AuthorCandidate, site: Site) -> AuthorCandidate:
    others = tuple([name for name in candidate.names if not site.is_name(letters_of(name))])
    return replace(candidate, names=others, key=_key(map(fold_name, others))) if others else candidate


def _key(folded_names: Iterable[str]) -> str:
    return "; ".join(sorted(folded_names))


def _candidate(
    names: Iterable[str], source: AuthorSource, origin: str, signs: Iterable[str] = ()
) -> Iterator[AuthorCandidate]:
    unique: dict[str, str] = {}
    for name in islice(names, _MAX_GROUPED):
        unique.setdefault(fold_name(name), name)
    if unique:
        yield AuthorCandidate(tuple(unique.values()), _key(unique), source, origin, frozenset(signs))


def _from_linked_data(stated: Statements) -> Iterator[AuthorCandidate]:
    number = 0
    for key in ("author", "creator"):
        for values in stated.linked(key):
            people = list(islice(_flat(stated, values), _MAX_GROUPED))
            signs = {f"rank-{min(number, 2)}", *(f"type-{name}" for person in people for name in _types(person))}
            names = (name for person in people for name in read_names(text_of_value(person) or ""))
            for candidate in _candidate(names, AuthorSource.JSON_LD, f"json-ld {key}", signs):
                number += 1
                yield candidate


def _flat(stated: Statements, values: Iterable[Any]) -> Iterator[Any]:
    """Yield the values of a list and of the lists in it; references are resolved."""
    for value in values:
        if isinstance(value, list):
            for part in value[:_MAX_GROUPED]:
                yield stated.resolve(part)
        else:
            yield value


def _types(person: Any) -> list[str]:
    names = type_names(person) if isinstance(person, dict) else ["text"]
    return [name if name in {"person", "organization", "text"} else "other" for name in names]


def _from_metas(stated: Statements) -> Iterator[AuthorCandidate]:
    for meta in _METAS:
        if meta in stated.metas:
            texts = [text for content in stated.metas[meta] if (text := tidy_text(content))]
            if meta.startswith(_CATALOGUES):
                texts = [_in_order(part) for text in texts for part in text.split(";")]
            names = [name for text in texts for name in read_names(text)]
            yield from _candidate(names, AuthorSource.META, f"meta {meta}", {meta})
    for label, data in _LABELLED_METAS:
        if label in stated.metas and not _TIME_WORDS.search(stated.metas[label][0]):
            for text in islice(filter(None, map(tidy_text, stated.meta(data))), 1):
                yield from _candidate(read_names(text), AuthorSource.META, f"meta {data}", {"labelled"})


def _in_order(name: str) -> str:
    """Return a name that a catalogue writes as `Lee, Ann` as it is read."""
    family, comma, given = name.partition(",")
    return f"{given.strip()} {family.strip()}" if comma and "," not in given else name


def _from_items(evidence: Evidence) -> Iterator[AuthorCandidate]:
    items = islice(evidence.stated.items("author", "creator"), _MAX_GROUPED)
    elements = [element for element in items if not evidence.is_reply(element)]
    for number, group in enumerate(islice(_groups(elements), _MAX_CANDIDATES)):
        names = [name for element in group for name in _item_names(element)]
        yield from _candidate(names, AuthorSource.ITEM, "microdata author", {f"rank-{min(number, 3)}"})


def _item_names(element: HtmlElement) -> list[str]:
    named: list[HtmlElement] = _ITEM_NAME(element)
    names = [name for inner in named[:_MAX_GROUPED] for name in _named(inner)]
    return names or _named(element)


def _named(element: HtmlElement) -> list[str]:
    return read_shown_names(element.itertext()) or read_names(tidy_text(element.get("content")) or "")


def _groups(elements: Sequence[HtmlElement]) -> Iterator[list[HtmlElement]]:
    """Yield the elements that stand beside each other, with the same parent or grandparent, together."""
    group: list[HtmlElement] = []
    for element in elements:
        if group and not _are_beside(group[-1], element):
            yield group
            group = []
        group.append(element)
    if group:
        yield group


def _are_beside(first: HtmlElement, second: HtmlElement) -> bool:
    if first.tag != second.tag or first.get("class") != second.get("class"):
        return False
    parent = first.getparent()
    other = second.getparent()
    if parent is other:
        return True
    return (
        parent is not None and other is not None and parent.tag == other.tag and parent.getparent() is other.getparent()
    )


def _from_links(evidence: Evidence) -> Iterator[AuthorCandidate]:
    links = [link for link in evidence.stated.elements.author_links if not evidence.is_reply(link)]
    several = len({link.get("href") for link in links}) > 5  # noqa: PLR2004 — a list of other pages
    for number, group in enumerate(islice(_groups(links), _MAX_CANDIDATES)):
        names = [name for link in group for name in read_shown_names(link.itertext())]
        signs = {f"rank-{min(number, 3)}", *(["rel"] if "author" in group[0].get("rel", "") else ["profile"])}
        if several:
            signs.add("several")
        yield from _candidate(names, AuthorSource.LINK, "link of an author", signs)


def _from_classes(evidence: Evidence) -> Iterator[AuthorCandidate]:
    heading = evidence.stated.heading
    elements = [
        element
        for element in find_classed(evidence.root, heading, _CLASS_PARTS)
        if _CLASS.search(marks := _marks(element)) and not _OTHER_CLASS.search(marks)
    ]
    number = 0
    for group in islice(_groups(elements[:40]), 2 * _MAX_CANDIDATES):
        if evidence.is_reply(group[0]):
            continue
        names = [name for element in group[:_MAX_GROUPED] for name in read_shown_names(element.itertext())]
        marks = _marks(group[0])
        signs = {f"rank-{min(number, 3)}", *(sign for sign, pattern in _CLASS_SIGNS if pattern.search(marks))}
        if heading is None:
            signs.add("no-heading")
        for candidate in _candidate(names, AuthorSource.CLASS, "class about an author", signs):
            number += 1
            yield candidate


def _marks(element: HtmlElement) -> str:
    return f"{element.get('class', '')} {element.get('id', '')}"


def _from_bylines(evidence: Evidence) -> Iterator[AuthorCandidate]:
    heading = evidence.stated.heading
    near = find_starts(evidence.root, heading, _BYLINE_STARTS)
    for place, elements in near._replace(above=near.above[::-1])._asdict().items():
        ranks: Counter[str] = Counter()
        for element in elements[:_MAX_CANDIDATES]:
            for text, pieces in _starts(element):
                names = [name for name in _byline_names(text, pieces) if not _PICTURES.match(name)]
                if not names or evidence.is_reply(element):
                    continue
                label = place if heading is not None else f"no-heading-{place}"
                signs = {label, f"{label}-{min(ranks[place], 2)}"}
                ranks[place] += 1
                yield from _candidate(names, AuthorSource.BYLINE, "byline", signs)
                if pictured := _picture_names(element):
                    yield from _candidate([*names, *pictured], AuthorSource.BYLINE, "byline", {"with-pictures"})


def _starts(element: HtmlElement) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the texts of an element that may begin a byline, with the texts that follow it."""
    following = chain.from_iterable(sibling.itertext() for sibling in islice(element.itersiblings("*"), 3))
    if element.text and match_byline(element.text.strip()):
        yield element.text, islice(chain(element.itertext(), [element.tail or ""], following), _PIECES)
    if element.tail and match_byline(element.tail.strip()):
        yield element.tail, islice(chain([element.tail], following), _PIECES)


def _picture_names(element: HtmlElement) -> list[str]:
    """Return the names of those who made the pictures, in a byline that names them after its authors."""
    text = " ".join(chain.from_iterable(map(str.split, islice(element.itertext(), _PIECES))))
    match = _PICTURES.search(text, 0, 2 * _MAX_BYLINE_CHARS)
    return [] if match is None else leading_names(text[match.end() :])


def _byline_names(text: str, pieces: Iterator[str]) -> list[str]:
    """Return the names of a byline that begins with this text; empty for a sentence that begins with the same word."""
    if len(text.strip()) > _MAX_BYLINE_CHARS:
        return []
    names = read_shown_names(pieces)
    # Names begin with capitals, in scripts that have them.
    capitals = all(not name.split()[place][0].islower() for name in names for place in (0, -1))
    return names if capitals else []

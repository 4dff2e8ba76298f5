"""What a page states of itself, read once: meta tags, JSON-LD, type names, title, headings, dated elements."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape
from itertools import islice
from typing import TYPE_CHECKING, Any

from lxml import etree

from cleaning.linked_data import body_text, last_part, read_objects, type_names
from cleaning.nearby import Search, is_large
from cleaning.terms import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lxml.html import HtmlElement

_MOST_METAS = 2_000
_MOST_CONTENTS = 50  # of the meta tags of one name
_LONGEST_NAME = 100  # characters
_MOST_SCRIPTS = 200
_MOST_ITEM_TYPES = 200
_MOST_HEADINGS = 10
_MOST_TIMES = 30
_MOST_PARTS = 200  # elements of a heading
_LONGEST = 1_000  # characters of a field; a page's title may be its whole text
_READ_TAGS = ("meta", "script", "link", "title", "h1", "time")
_ITEM_TYPES = Search("*", "@itemtype", "@itemtype")
_ITEM_PROPERTIES = Search("*", "@itemprop", "@itemprop")
_KEPT_PROPERTIES = frozenset("author headline datePublished dateCreated dateModified articleSection image".split())
_MOST_PROPERTIES = 2_000
_IN_GRAPHIC = etree.XPath("boolean(ancestor::svg)")
# An article's own object comes before that of the page around it; objects of other types say nothing of the page.
_ARTICLE = re.compile(r"(?:article|posting|report|recipe|question|review|course|book|event)$")
_AROUND = re.compile(r"(?:page|product|productgroup|video|videoobject|creativework|podcastepisode)$")
_NAME_PARTS = ("givenName", "familyName")
_REPLY = re.compile(r"\bcomments?\b|\bcomment[_-]|\brelated\b|testimonial|/(?:Comment|Answer)\b", re.IGNORECASE)
_MOST_LEVELS = 20
_SEPARATING = frozenset("br p div h2 h3 li tr td table ul ol section".split())
_UNSEEN = frozenset("script style svg noscript template".split())
# Bidirectional overrides and isolates reorder the text of whatever the value is shown in; the rest has no width.
_INVISIBLE = re.compile("[\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")


@dataclass(frozen=True, slots=True)
class Statements:
    """What a page states of itself; every part is empty where the page is silent.

    `metas` holds the contents of meta tags by their lower-cased property, name, itemprop or http-equiv, `objects` the
    JSON-LD objects that say what the page is, `ranked` those of articles and then those of the pages around them,
    `named` those with an `@id` by it. `types` are the names of the JSON-LD and microdata types and `og:type`,
    lower-cased. `article_body` is the longest text that JSON-LD gives as that of the article, post or product,
    without tags, on one line. `title` is the title element's text, `headings` those of the h1 elements, `heading`
    the first of these elements that has a text, `links` the first address of each `rel`, `times` the time elements,
    `properties` the elements of microdata by their itemprop. `large` tells that
    searches over all elements need a bound.
    """

    metas: Mapping[str, list[str]]
    objects: tuple[Mapping[str, Any], ...]
    ranked: tuple[Mapping[str, Any], ...]
    named: Mapping[str, Mapping[str, Any]]
    types: frozenset[str]
    article_body: str | None = None
    title: str | None = None
    headings: tuple[str, ...] = ()
    heading: HtmlElement | None = None
    links: Mapping[str, str] = field(default_factory=dict)
    times: tuple[HtmlElement, ...] = ()
    properties: Mapping[str, list[HtmlElement]] = field(default_factory=dict)
    large: bool = False

    def meta(self, *names: str) -> Iterator[str]:
        """Yield the contents of these meta tags, in the order of the names."""
        for name in names:
            yield from self.metas.get(name, ())

    def linked(self, *keys: str) -> Iterator[list[Any]]:
        """Yield what each JSON-LD object states under these keys, never empty: articles first, then pages around."""
        for each in self.ranked:
            yield from (self._resolved(each[key]) for key in keys if each.get(key))

    def texts(self, *keys: str) -> Iterator[str]:
        """Yield the texts that JSON-LD states under these keys: strings, or the names of objects."""
        for values in self.linked(*keys):
            yield from filter(None, map(name_of, values))

    def items(self, *names: str) -> Iterator[HtmlElement]:
        """Yield the elements that microdata gives these properties."""
        for name in names:
            yield from self.properties.get(name, ())

    def _resolved(self, value: Any) -> list[Any]:
        values = value[:_MOST_CONTENTS] if isinstance(value, list) else [value]
        return [self._resolve(each) for each in values]

    def _resolve(self, value: Any) -> Any:
        """Return the object that a reference (`{"@id": …}`) names, where the page has it."""
        if isinstance(value, dict) and "name" not in value and isinstance(value.get("@id"), str):
            return self.named.get(value["@id"], value)
        return value


@dataclass(slots=True)
class _Reading:
    """What has been met so far."""

    metas: dict[str, list[str]] = field(default_factory=dict)
    scripts: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    title: str | None = None
    headings: list[str] = field(default_factory=list)
    heading: HtmlElement | None = None
    times: list[HtmlElement] = field(default_factory=list)


def read_statements(root: HtmlElement) -> Statements:
    """Return what a page states of itself, in bounded time whatever the page; broken parts are passed over."""
    read = _Reading()
    for element in root.iter(*_READ_TAGS):
        _ADD[element.tag](read, element)
    objects = list(read_objects(read.scripts))
    large = is_large(root)
    return Statements(
        read.metas,
        tuple(objects),
        tuple(_ranked(objects)),
        {each["@id"]: each for each in reversed(objects) if isinstance(each.get("@id"), str) and len(each) > 1},
        frozenset(_types(_ITEM_TYPES(root, large=large), read.metas, objects)),
        max(map(body_text, objects), key=len, default="") or None,
        read.title,
        tuple(read.headings),
        read.heading,
        read.links,
        tuple(read.times),
        _properties(_ITEM_PROPERTIES(root, large=large)),
        large,
    )


def tidy(text: str | None) -> str | None:
    """Return a stated text on one line of at most 1,000 characters, without tags, references or invisible marks.

    None for an empty one.
    """
    if not text:
        return None
    text = text[: 4 * _LONGEST]
    if "&" in text:
        text = unescape(text)
    if "<" in text:
        text = _TAG.sub("", text)
    return normalise(text if text.isascii() else _INVISIBLE.sub("", text))[:_LONGEST].strip() or None


def name_of(value: Any) -> str | None:
    """Return the text of a JSON-LD value: a string, or the name of an object; None for any other."""
    if isinstance(value, dict):
        value = value.get("name") or " ".join(value[key] for key in _NAME_PARTS if isinstance(value.get(key), str))
    if isinstance(value, list):
        value = value[0] if value else None
    return tidy(value) if isinstance(value, str) else None


def shown_text(element: HtmlElement) -> str | None:
    """Return an element's text on one line as readers see it, words parted where lines are; None for none."""
    if not len(element):
        return _tidy_shown(element.text)
    parts: list[str] = []
    skipped = None
    for place, (event, node) in enumerate(etree.iterwalk(element, events=("start", "end"))):
        if place > 2 * _MOST_PARTS or sum(map(len, parts[-3:])) > _LONGEST:
            break
        if skipped is None and node.tag in _SEPARATING:
            parts.append(" ")
        if event == "start":
            skipped = node if skipped is None and node.tag in _UNSEEN else skipped
            parts.append((node.text or "") if skipped is None else "")
        else:
            skipped = None if skipped is node else skipped
            parts.append((node.tail or "") if skipped is None and node is not element else "")
    return _tidy_shown("".join(parts))


def is_reply(element: HtmlElement) -> bool:
    """Tell whether an element stands in a reader's comment, an answer, or a teaser of another page."""
    for each in islice((element, *element.iterancestors()), _MOST_LEVELS):
        marks = f"{each.get('class', '')} {each.get('id', '')} {each.get('itemtype', '')}"
        if each.tag != "body" and _REPLY.search(marks):
            return True
    return False


def _tidy_shown(text: str | None) -> str | None:
    return normalise(_INVISIBLE.sub("", text[: 4 * _LONGEST]))[:_LONGEST].strip() or None if text else None


def _add_meta(read: _Reading, element: HtmlElement) -> None:
    name = element.get("property") or element.get("name") or element.get("itemprop") or element.get("http-equiv")
    content = element.get("content")
    if name and content and len(read.metas) < _MOST_METAS and not content.isspace():
        contents = read.metas.setdefault(name[:_LONGEST_NAME].strip().lower(), [])
        if len(contents) < _MOST_CONTENTS:
            contents.append(content)


def _add_script(read: _Reading, element: HtmlElement) -> None:
    if len(read.scripts) < _MOST_SCRIPTS and "ld+json" in (element.get("type") or "").lower():
        read.scripts.append(element.text or "")


def _add_link(read: _Reading, element: HtmlElement) -> None:
    if (href := element.get("href")) and len(read.links) < _MOST_METAS:
        for name in (element.get("rel") or "")[:_LONGEST_NAME].lower().split():
            read.links.setdefault(name, href)


def _add_title(read: _Reading, element: HtmlElement) -> None:
    if read.title is None and not _IN_GRAPHIC(element):
        read.title = _tidy_shown(element.text_content())


def _add_heading(read: _Reading, element: HtmlElement) -> None:
    if len(read.headings) < _MOST_HEADINGS and (text := shown_text(element)):
        read.headings.append(text)
        read.heading = element if read.heading is None else read.heading


def _add_time(read: _Reading, element: HtmlElement) -> None:
    if len(read.times) < _MOST_TIMES:
        read.times.append(element)


_ADD = {
    "meta": _add_meta,
    "script": _add_script,
    "link": _add_link,
    "title": _add_title,
    "h1": _add_heading,
    "time": _add_time,
}


def _ranked(objects: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for pattern in (_ARTICLE, _AROUND):
        for each in objects:
            if any(map(pattern.search, type_names(each))):
                yield each


def _properties(values: list[Any]) -> dict[str, list[HtmlElement]]:
    found: dict[str, list[HtmlElement]] = {}
    for value in values[:_MOST_PROPERTIES]:
        for name in value[:_LONGEST_NAME].split():
            if name in _KEPT_PROPERTIES:
                found.setdefault(name, []).append(value.getparent())
    return found


def _types(items: list[str], metas: Mapping[str, list[str]], objects: list[dict[str, Any]]) -> set[str]:
    found = {name for each in objects for name in type_names(each)}
    for value in items[:_MOST_ITEM_TYPES]:
        found.update(map(last_part, value[:_LONGEST].split()))
    found.update(map(last_part, metas.get("og:type", ())))
    return found - {""}

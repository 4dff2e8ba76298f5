"""The statements of a page about itself, read once: meta tags, JSON-LD, microdata, title, headings, time elements."""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass
from functools import cached_property, lru_cache
from html import unescape
from itertools import chain, islice, starmap
from typing import TYPE_CHECKING, Any, NamedTuple

from lxml import etree

from cleaning.input.class_names import class_test
from cleaning.leaves import is_ornament
from cleaning.metadata.elements import find_elements
from cleaning.terms import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lxml.html import HtmlElement

    from cleaning.metadata.elements import FoundElements

_MAX_METAS = 2_000
_MAX_CONTENTS = 50  # of the meta tags with one name
_MAX_NAME_CHARS = 100
_MAX_SCRIPTS = 200
_MAX_ITEM_TYPES = 200
_MAX_HEADINGS = 10
_MAX_SUBHEADINGS = 30
_MAX_TIMES = 30
_MAX_PARTS = 200  # elements of a heading
_MAX_FIELD_CHARS = 1_000  # a page's title can be its whole text
_KEPT_PROPERTIES = frozenset(
    "author creator headline datePublished dateCreated dateModified articleSection image isAccessibleForFree".split()
)
_MAX_PROPERTIES = 2_000
_IN_GRAPHIC = etree.XPath("boolean(ancestor::svg)")
# Objects of articles come first, then objects of the page around them; other types do not describe the page.
_ARTICLE_TYPE = re.compile(r"(?:article|posting|report|recipe|question|review|course|book|event)$")
_PAGE_TYPE = re.compile(r"(?:page|product|productgroup|video|videoobject|creativework|podcastepisode)$")
_NAME_PARTS = ("givenName", "familyName")
_IS_REPLY = class_test(
    re.compile(
        r"\bcomments?\b|\bcomment[_-]|\brelated\b|testimonial|/(?:comment|answer)\b"
        r"|\breviews?[-_]+(?:list|item|card|intro|author|body|rating|container)|(?:customer|user|featured|product)[-_]?reviews?\b"
    )
)
_MAX_VALUE_LEVELS = 8
_LINE_TAGS = frozenset("br p div h2 h3 li tr td table ul ol section".split())
_UNSEEN_TAGS = frozenset(
    "script style svg noscript template button select rt rp rtc".split()
)  # controls are not part of a title
# Bidirectional overrides and isolates reorder the text around a value that is shown.
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_STATED_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")


class Statement(NamedTuple):
    """A text that a page states, and in words where."""

    text: str
    source: str


# Without slots: what only the metadata needs is read from the elements when it is first asked for, and kept.
@dataclass(frozen=True)
class Statements:
    """The statements of a page about itself; a part that the page does not state is empty."""

    metas: Mapping[str, list[str]]
    """The contents of meta tags by their property, name, itemprop or http-equiv in lower case."""
    objects: tuple[Mapping[str, Any], ...]
    """The JSON-LD objects that describe the page."""
    types: frozenset[str]
    """The type names of JSON-LD and microdata, and `og:type`, in lower case."""
    article_body: str | None
    """The longest main text in JSON-LD (of an article, post or product), on one line and without tags."""
    title: str | None
    """The text of the title element."""
    elements: FoundElements
    """The elements that state the rest."""

    @cached_property
    def ranked(self) -> tuple[Mapping[str, Any], ...]:
        """The objects that describe articles, then those that describe the pages around them."""
        return tuple(_ranked(self.objects))

    @cached_property
    def named(self) -> Mapping[str, Mapping[str, Any]]:
        """The objects with an `@id`, by it."""
        objects = reversed(self.objects)
        return {node["@id"]: node for node in objects if isinstance(node.get("@id"), str) and len(node) > 1}

    @cached_property
    def headings(self) -> tuple[str, ...]:
        """The texts of the h1 elements."""
        return tuple(heading.text for heading in self._headings)

    @cached_property
    def heading(self) -> HtmlElement | None:
        """The first h1 element that agrees with the title element, else such an h2 element, else the first h1 element.

        Others are labels of a menu, a search form or a logo.
        """
        title = (self.title or "").casefold()
        agreeing = (heading.element for heading in self._headings if _agrees(heading.text, title))
        below = (element for element in self.subheadings if _agrees(visible_text(element) or "", title))
        return next(chain(agreeing, below, (heading.element for heading in self._headings)), None)

    @cached_property
    def subheadings(self) -> tuple[HtmlElement, ...]:
        """The first h2 elements."""
        seen = (element for element in self.elements.by_tag["h2"] if not _is_inert(element))
        return tuple(islice(seen, _MAX_SUBHEADINGS))

    @cached_property
    def links(self) -> Mapping[str, str]:
        """The first URL of each `rel`."""
        links: dict[str, str] = {}
        for element in self.elements.by_tag["link"]:
            if (href := element.get("href")) and len(links) < _MAX_METAS:
                for name in (element.get("rel") or "")[:_MAX_NAME_CHARS].lower().split():
                    links.setdefault(name, href)
        return links

    @cached_property
    def times(self) -> tuple[HtmlElement, ...]:
        """The time elements, and the abbr elements with a title or moment, which older pages have in their place."""
        elements = self.elements.by_tag["time"]
        return tuple(
            islice(
                (node for node in elements if node.tag == "time" or node.get("title") or node.get("data-utime")),
                _MAX_TIMES,
            )
        )

    @cached_property
    def properties(self) -> Mapping[str, list[HtmlElement]]:
        """The microdata elements by their itemprop."""
        return _properties(self.elements.item_properties)

    @cached_property
    def _headings(self) -> tuple[_Heading, ...]:
        elements = (element for element in self.elements.by_tag["h1"] if not _is_inert(element))
        headings = ((text, element) for element in elements if (text := visible_text(element)))
        return tuple(islice(starmap(_Heading, headings), _MAX_HEADINGS))

    def meta(self, *names: str) -> Iterator[str]:
        """Yield the contents of these meta tags, in the order of the names."""
        for name in names:
            if name in self.metas:
                yield from self.metas[name]

    def linked(self, *keys: str) -> Iterator[list[Any]]:
        """Yield the non-empty values of these keys in the ranked JSON-LD objects, each as a list."""
        for node in self.ranked:
            yield from (self._resolved(node[key]) for key in keys if node.get(key))

    def texts(self, *keys: str) -> Iterator[str]:
        """Yield the texts of these keys in JSON-LD: strings, or the names of objects."""
        for values in self.linked(*keys):
            yield from filter(None, map(text_of_value, values))

    def items(self, *names: str) -> Iterator[HtmlElement]:
        """Yield the microdata elements with these properties."""
        for name in names:
            yield from self.properties.get(name, ())

    def _resolved(self, value: Any) -> list[Any]:
        values = value[:_MAX_CONTENTS] if isinstance(value, list) else [value]
        return [self.resolve(entry) for entry in values]

    def resolve(self, value: Any) -> Any:
        """Return the object that a reference (`{"@id": …}`) names, or the reference if the page does not have it."""
        if isinstance(value, dict) and "name" not in value and isinstance(value.get("@id"), str):
            return self.named.get(value["@id"], value)
        return value


def read_statements(root: HtmlElement) -> Statements:
    """Return the statements of a page, in bounded time for any page; broken parts are skipped."""
    elements = find_elements(root)
    metas = _read_metas(elements.by_tag["meta"])
    scripts = (element for element in elements.by_tag["script"] if "ld+json" in (element.get("type") or "").lower())
    objects = tuple(_read_json_ld(script.text or "" for script in islice(scripts, _MAX_SCRIPTS)))
    titles = (element for element in elements.by_tag["title"] if not _IN_GRAPHIC(element))
    title_texts = filter(None, (_tidy_visible(title.text_content()) for title in titles))
    return Statements(
        metas,
        objects,
        frozenset(_types(elements.item_types, metas, objects)),
        max(map(_main_text_of, objects), key=len, default="") or None,
        next(title_texts, None),
        elements,
    )


class _Heading(NamedTuple):
    text: str
    element: HtmlElement


def _read_metas(elements: Iterable[HtmlElement]) -> dict[str, list[str]]:
    metas: dict[str, list[str]] = {}
    for element in elements:
        name = element.get("property") or element.get("name") or element.get("itemprop") or element.get("http-equiv")
        content = element.get("content")
        if name and content and len(metas) < _MAX_METAS and not content.isspace():
            contents = metas.setdefault(name[:_MAX_NAME_CHARS].strip().lower(), [])
            if len(contents) < _MAX_CONTENTS:
                contents.append(content)
    return metas


def _is_inert(element: HtmlElement) -> bool:
    """Return True in a template, which no browser shows. What stands in `noscript` is the text of some pages."""
    return next(element.iterancestors("template"), None) is not None


def _agrees(heading: str, title: str) -> bool:
    return heading != "" and heading.casefold() in title and len(heading) * 3 >= len(title)


def _ranked(objects: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for pattern in (_ARTICLE_TYPE, _PAGE_TYPE):
        for node in objects:
            if any(map(pattern.search, type_names(node))):
                yield node


def _properties(items: list[tuple[str, HtmlElement]]) -> dict[str, list[HtmlElement]]:
    elements: dict[str, list[HtmlElement]] = {}
    for value, element in items[:_MAX_PROPERTIES]:
        for name in value[:_MAX_NAME_CHARS].split():
            if name in _KEPT_PROPERTIES:
                elements.setdefault(name, []).append(element)
    return elements


def _types(items: list[str], metas: Mapping[str, list[str]], objects: Iterable[Mapping[str, Any]]) -> set[str]:
    types = {name for node in objects for name in type_names(node)}
    for value in items[:_MAX_ITEM_TYPES]:
        types.update(map(_short_type_name, value[:_MAX_FIELD_CHARS].split()))
    types.update(map(_short_type_name, metas.get("og:type", ())))
    return types - {""}


def tidy_text(text: str | None) -> str | None:
    """Return a stated text on one line of at most 1,000 characters, without tags, references or invisible characters.

    None for an empty text.
    """
    if not text:
        return None
    text = text[: 4 * _MAX_FIELD_CHARS]
    if "&" in text:
        text = unescape(text)
    if "<" in text:
        text = _STATED_TAG.sub("", text)
    return normalise(text if text.isascii() else _REORDERING.sub("", text))[:_MAX_FIELD_CHARS].strip() or None


def text_of_value(value: Any) -> str | None:
    """Return the text of a JSON-LD value: a string, a value object, or the name of an object; None for another value.

    Of a list it is that of the first value. A name can be an object itself.
    """
    for _ in range(_MAX_VALUE_LEVELS):
        if isinstance(value, str):
            return tidy_text(value)
        if isinstance(value, dict):
            value = value.get("@value") or value.get("name") or _joined_name(value)
        elif isinstance(value, list):
            value = value[0] if value else None
        else:
            break
    return tidy_text(value) if isinstance(value, str) else None


def _joined_name(person: Mapping[str, Any]) -> str:
    parts = (person.get(key) for key in _NAME_PARTS)
    return " ".join(part for part in parts if isinstance(part, str))


def visible_text(element: HtmlElement) -> str | None:
    """Return an element's visible text on one line, with a space where a new line begins; None if there is none."""
    if not len(element):
        return _tidy_visible(element.text)
    parts: list[str] = []
    skipped = None
    for index, (event, node) in enumerate(etree.iterwalk(element, events=("start", "end"))):
        if index > 2 * _MAX_PARTS or sum(map(len, parts[-3:])) > _MAX_FIELD_CHARS:
            break
        if skipped is None and node.tag in _LINE_TAGS:
            parts.append(" ")
        if event == "start":
            if skipped is None and (node.tag in _UNSEEN_TAGS or (node is not element and is_ornament(node))):
                skipped = node
            parts.append((node.text or "") if skipped is None else "")
        else:
            skipped = None if skipped is node else skipped
            parts.append((node.tail or "") if skipped is None and node is not element else "")
    return _tidy_visible("".join(parts))


def is_marked_as_reply(element: HtmlElement) -> bool:
    """Return True if the marks of an element say that it is a comment, an answer, or a teaser of another page."""
    marks = f"{element.get('class', '')} {element.get('id', '')} {element.get('itemtype', '')}"
    return element.tag != "body" and _IS_REPLY(marks.lower())


def _tidy_visible(text: str | None) -> str | None:
    return (
        normalise(_REORDERING.sub("", text[: 4 * _MAX_FIELD_CHARS]))[:_MAX_FIELD_CHARS].strip() or None
        if text
        else None
    )


_MAX_JSON_CHARS = 1_000_000  # of all scripts together
_MAX_OBJECTS = 2_000
_MAX_TYPES = 50
_MAX_TYPE_CHARS = 100
_MAX_BODY_CHARS = 200_000
_MAX_POSTS = 500
_JSON_START = re.compile(r"(?<!CDATA)[\[{](?!CDATA)")
_TRAILING_COMMA = re.compile(r",(?=\s{0,99}[}\]])")
_DECODER = json.JSONDecoder(strict=False)
_BODY_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,1000}>|<!--|-->")
# Objects under these keys describe the page too; objects under other keys are its author, publisher or parts.
_INNER_KEYS = ("@graph", "mainEntity", "mainEntityOfPage")
_POST_TYPES = frozenset({"question", "discussionforumposting", "socialmediaposting", "answer", "comment"})
_REPLY_KEYS = ("acceptedAnswer", "suggestedAnswer", "comment")
# Types whose description is the page's main text; the description of an article is only a summary.
_DESCRIBED_TYPES = frozenset(
    "product productgroup individualproduct service softwareapplication event jobposting course book movie recipe"
    " localbusiness hotel restaurant place touristattraction vacationrental".split()
)


def _read_json_ld(scripts: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects of JSON-LD scripts that describe the page, breadth first; broken scripts are skipped."""
    queue: deque[Any] = deque()
    left = _MAX_JSON_CHARS
    for script in scripts:
        if len(script) <= left:
            left -= len(script)
            queue.extend(_json_documents(script))
    for _ in range(_MAX_OBJECTS):
        if not queue:
            return
        node = queue.popleft()
        if isinstance(node, list):
            queue.extend(node[:_MAX_OBJECTS])
        elif isinstance(node, dict):
            yield node
            if "faqpage" not in type_names(node):  # its questions are not posts, and seldom the page's text
                queue.extend(node[key] for key in _INNER_KEYS if key in node)


def type_names(node: Mapping[str, Any]) -> list[str]:
    """Return an object's type names in lower case, without the vocabulary's URL; empty if it has none."""
    types = node.get("@type")
    names = types if isinstance(types, list) else [types]
    return [_short_type_name(name) for name in names[:_MAX_TYPES] if isinstance(name, str)]


def _short_type_name(name: str) -> str:
    """Return the last part of a type's URL in lower case: `newsarticle` for `https://schema.org/NewsArticle`."""
    return _last_part(name[-_MAX_TYPE_CHARS:])


@lru_cache(maxsize=1_000)  # pages name few types, often
def _last_part(name: str) -> str:
    return name.strip().rstrip("/").rpartition("/")[2].lower()


def _main_text_of(node: Mapping[str, Any]) -> str:
    """Return the page's main text according to an object, on one line and without tags; "" if it has none."""
    types = frozenset(type_names(node))
    if types & _POST_TYPES:
        return _plain_body(" ".join(_post_texts(node)))
    texts = [_string(node.get("articleBody")), _string(node.get("text"))]
    if types & _DESCRIBED_TYPES:
        texts.append(_string(node.get("description")))
    return _plain_body(max(texts, key=len))


def _json_documents(script: str) -> Iterator[Any]:
    """Yield the JSON documents of a script; many pages wrap them in comments, escape them or leave trailing commas."""
    start = _JSON_START.search(script)
    if start is None:
        return
    try:
        document, end = _DECODER.raw_decode(script, start.start())
    except (ValueError, RecursionError):
        yield from _repaired_json(script[start.start() :])
        return
    yield document
    if following := _JSON_START.search(script, end):
        yield from _decoded_json(script[following.start() :])


def _repaired_json(script: str) -> Iterator[Any]:
    mended = _TRAILING_COMMA.sub("", unescape(script) if "&quot;" in script else script)
    if mended != script:
        yield from _decoded_json(mended)


def _decoded_json(script: str) -> Iterator[Any]:
    try:
        yield _DECODER.raw_decode(script)[0]
    except (ValueError, RecursionError):
        return


def _post_texts(post: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a post and its replies, in order."""
    stack: list[Any] = [post]
    for _ in range(_MAX_POSTS):
        if not stack:
            return
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(reversed(node[:_MAX_POSTS]))
        elif isinstance(node, dict):
            yield _string(node.get("articleBody")) or _string(node.get("text"))
            stack.extend(node[key] for key in reversed(_REPLY_KEYS) if key in node)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _plain_body(text: str) -> str:
    text = text[:_MAX_BODY_CHARS]
    if "&" in text:
        text = unescape(text)
    return normalise(_BODY_TAG.sub(" ", text) if "<" in text else text)

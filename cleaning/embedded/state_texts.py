"""The article in a state: the object that holds the page's text, and its texts as HTML."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape, unescape
from typing import Any

from cleaning.metadata.site_names import letters_of
from cleaning.terms import count_words

_MAX_NODES = 400_000
_MAX_LEVELS = 100
_MAX_TEXT_CHARS = 1_000_000
_MAX_HTML_CHARS = 400_000
_MAX_PARTS = 2_000
_MIN_PROSE_WORDS = 8
_MIN_ARTICLE_WORDS = 40
# An object with a smaller share of the prose around it is a part of the article, not the article.
_MAIN_SHARE = 0.6
_REFERENCE_KEYS = ("__ref", "id")
_MAX_REFERENCE_KEYS = 4

_HTML_TAG = re.compile(
    r"</?(?:p|br|div|h[1-6]|li|ul|ol|blockquote|table|figure|section|article)\b[^<>]{0,500}>", re.IGNORECASE
)
_ESCAPED_TAG = re.compile(r"&lt;/?(?:p|br|div|h[1-6]|li|ul|ol|blockquote)\b", re.IGNORECASE)
_PARAGRAPH_END = re.compile(r"\s*\n\s*")
# Values that are not texts: code, addresses, style sheets, data in other forms.
_NOT_TEXT = re.compile(
    r"^\s*(?:https?:|data:|function\b|\(\(|@media|\.[\w-]+\s*\{|[{\[])|[{};]\s*\n\s*[\w.#}]|\bvar \w+ ?="
)
_TITLE_KEYS = ("title", "headline", "name", "heading")
_TEXT_KEYS = frozenset("text content value html body paragraph heading quote".split())
_TYPE_KEYS = ("type", "nodeType", "_type", "__typename", "blockType", "kind", "component")
# Texts about the article, or about the site.
_ASIDE_KEYS = re.compile(
    r"desc|summary|excerpt|seo|meta|alt$|teaser|dek$|keyword|copyright|bio$|author|cookie|consent|privacy|translat|i18n|"
    r"locale|messages|related|recommend|trending|popular|comment|advert|newsletter|footer|navigation|menu|newest|sidebar|"
    r"config|settings|errors|tags$|caption|credit",
    re.IGNORECASE,
)
_LINK_KEYS = ("url", "href", "slug", "link", "path", "uri", "permalink")
_BLOCK_TYPE = re.compile(r"(?:^|[-_])(?:p|paragraph|text-?block|block)$|paragraph$", re.IGNORECASE)
_HEADING_TYPE = re.compile(r"heading|subhead|^h[1-6]$|headline", re.IGNORECASE)
_ITEM_TYPE = re.compile(r"list-?item$|^li$", re.IGNORECASE)
_QUOTE_TYPE = re.compile(r"quote", re.IGNORECASE)


@dataclass(slots=True)
class _Container:
    """An object or a list of the state: its value, the words of prose in it, and if it has the page's title."""

    value: Any
    parent: int
    words: int = 0
    is_titled: bool = False


def article_html(state: Any, title: str) -> str:
    """Return the page's article in a state as HTML; "" if there is none.

    It is the object with the page's title that has most prose, else the innermost one with most of all prose.
    """
    cache = _Cache(state)
    containers = _containers_of(state, letters_of(title), cache)
    if not containers[0].words:  # objects that only name each other
        cache = _Cache(None)
        containers = _containers_of(state, letters_of(title), cache)
    titled = [
        number
        for number, container in enumerate(containers)
        if container.is_titled and container.words >= _MIN_ARTICLE_WORDS
    ]
    inner = {containers[number].parent for number in titled}
    chosen = max(
        [number for number in titled if number not in inner] or [0], key=lambda number: containers[number].words
    )
    return _Writer(cache).write(_main_part(containers, chosen))


def html_of_text(text: str) -> str:
    """Return a text as HTML: as it is, if it is HTML or escaped HTML, else a paragraph for each of its lines."""
    if _HTML_TAG.search(text):
        return text
    if _ESCAPED_TAG.search(text):
        return unescape(text)
    return "".join(f"<p>{escape(part)}</p>\n" for part in _PARAGRAPH_END.split(text.strip()))


class _Cache:
    """The objects that a state names in other places, as Apollo stores them: at its top or one level below."""

    def __init__(self, state: Any) -> None:
        top = state if isinstance(state, dict) else {}
        levels = [top, *(inner for inner in top.values() if isinstance(inner, dict))]
        named = {
            key: entry
            for level in levels
            for key, entry in level.items()
            if ":" in str(key) and isinstance(entry, dict)
        }
        self._objects = {name: named[name] for name in _reference_names(state) if name in named} if named else {}

    def items(self, value: dict[Any, Any]) -> list[tuple[str, Any]]:
        """Return the items of an object, without those that another place of the state names."""
        return [
            (str(key), entry) for key, entry in value.items() if self._objects.get(key) is not entry or entry is None
        ]

    def resolved(self, value: Any, seen: set[str]) -> Any:
        """Return the object that a value names, the first time; else the value."""
        name = _reference_name(value)
        if name is None or name not in self._objects or name in seen:
            return value
        seen.add(name)
        return self._objects[name]


def _reference_names(state: Any) -> set[str]:
    names: set[str] = set()
    stack = [state]
    for _ in range(_MAX_NODES):
        if not stack:
            break
        value = stack.pop()
        if (name := _reference_name(value)) is not None:
            names.add(name)
        inner = value.values() if isinstance(value, dict) else value or ()
        stack.extend(child for child in inner if isinstance(child, dict | list))
    return names


def _reference_name(value: Any) -> str | None:
    if not isinstance(value, dict) or len(value) > _MAX_REFERENCE_KEYS:
        return None
    return next((value[key] for key in _REFERENCE_KEYS if isinstance(value.get(key), str)), None)


def _containers_of(state: Any, title: str, cache: _Cache) -> list[_Container]:
    """Return the objects and lists of a state, outer ones first, with the words of prose inside."""
    containers: list[_Container] = []
    stack: list[tuple[Any, int, int]] = [(state, -1, 0)]
    seen: set[str] = set()
    while stack and len(containers) < _MAX_NODES:
        value, parent, level = stack.pop()
        number = len(containers)
        containers.append(_Container(value, parent))
        items = cache.items(value) if isinstance(value, dict) else [("", child) for child in value]
        for key, named in items:
            inner = cache.resolved(named, seen)
            if isinstance(inner, str):
                containers[number].words += _prose_words(key, inner)
                containers[number].is_titled |= key in _TITLE_KEYS and _agree(letters_of(inner[:1_000]), title)
            elif isinstance(inner, dict | list) and level < _MAX_LEVELS and not _ASIDE_KEYS.search(key[:100]):
                stack.append((inner, number, level + 1))
    for container in reversed(containers[1:]):
        containers[container.parent].words += container.words
    return containers


def _agree(letters: str, title: str) -> bool:
    """Return True if one of two titles begins with the other; the site's name may follow."""
    return len(letters) >= 8 and bool(title) and (title.startswith(letters) or letters.startswith(title))  # noqa: PLR2004


def _main_part(containers: list[_Container], chosen: int) -> Any:
    """Return the innermost value inside a container with most of its prose."""
    inside: dict[int, list[int]] = {}
    for number, container in enumerate(containers):
        inside.setdefault(container.parent, []).append(number)
    while True:
        heaviest = max(inside.get(chosen, ()), key=lambda number: containers[number].words, default=None)
        if heaviest is None or containers[heaviest].words < max(
            _MIN_ARTICLE_WORDS, _MAIN_SHARE * containers[chosen].words
        ):
            return containers[chosen].value
        chosen = heaviest


def _prose_words(key: str, text: str) -> int:
    if len(text) > _MAX_TEXT_CHARS or _ASIDE_KEYS.search(key[:100]) or (" " not in text and text.isascii()):
        return 0
    words = 0 if _NOT_TEXT.search(text[:2_000]) else count_words(text)
    return words if words >= _MIN_PROSE_WORDS else 0


class _Writer:
    """Writes the texts of a value as HTML, in order; each object of the cache once."""

    def __init__(self, cache: _Cache) -> None:
        self._cache = cache
        self._written: set[str] = set()
        self._parts: list[str] = []
        self._chars = 0

    def write(self, article: Any) -> str:
        stack: list[tuple[str, Any, int]] = [("", article, 0)]
        for _ in range(_MAX_NODES):
            if not stack or self._chars > _MAX_HTML_CHARS or len(self._parts) > _MAX_PARTS:
                break
            key, value, level = stack.pop()
            value = self._cache.resolved(value, self._written)
            if isinstance(value, str):
                self._add(key, value)
            elif level > _MAX_LEVELS:
                continue
            elif isinstance(value, dict):
                if (tag := _tag_of(value)) and not _has_blocks(value):
                    self._append(f"<{tag}>{_inline_html(value)}</{tag}>")
                elif level == 0 or not _is_teaser(value):
                    items = self._cache.items(value)
                    inner = [(name, child, level + 1) for name, child in items if not _ASIDE_KEYS.search(name[:100])]
                    stack.extend(reversed(inner))
            elif isinstance(value, list):
                stack.extend((key, child, level + 1) for child in reversed(value))
        return "".join(self._parts)

    def _add(self, key: str, text: str) -> None:
        is_label = key in _TEXT_KEYS and " " in text.strip() and not _NOT_TEXT.search(text)
        if _HTML_TAG.search(text) or _ESCAPED_TAG.search(text) or is_label or _prose_words(key, text):
            self._append(html_of_text(text))

    def _append(self, part: str) -> None:
        self._parts.append(part)
        self._chars += len(part)


def _tag_of(value: dict[str, Any]) -> str | None:
    """Return the tag of a block of text, as rich-text editors store them; None for any other object."""
    for key in _TYPE_KEYS:
        kind = value.get(key)
        if not isinstance(kind, str) or len(kind) > 100:  # noqa: PLR2004
            continue
        if _HEADING_TYPE.search(kind):
            return "h2"
        if _ITEM_TYPE.search(kind):
            return "li"
        if _QUOTE_TYPE.search(kind):
            return "blockquote"
        if _BLOCK_TYPE.search(kind):
            return "p"
    return None


def _has_blocks(value: dict[str, Any]) -> bool:
    """Return True for a block whose parts are blocks themselves."""
    lists = (child for child in value.values() if isinstance(child, list))
    return any(isinstance(child, dict) and _tag_of(child) for parts in lists for child in parts[:100])


def _inline_html(value: Any) -> str:
    """Return the texts of a block, joined as they are."""
    parts: list[str] = []
    stack: list[tuple[str, Any, int]] = [("", value, 0)]
    for _ in range(10_000):
        if not stack:
            break
        key, part, level = stack.pop()
        if isinstance(part, str) and (key in _TEXT_KEYS or key == "children"):
            parts.append(part if _HTML_TAG.search(part) else escape(unescape(part) if "&" in part else part))
        elif level < _MAX_LEVELS and isinstance(part, dict):
            stack.extend(reversed([(str(name), inner, level + 1) for name, inner in part.items()]))
        elif level < _MAX_LEVELS and isinstance(part, list):
            stack.extend((key, inner, level + 1) for inner in reversed(part))
    return "".join(parts)


def _is_teaser(value: dict[str, Any]) -> bool:
    """Return True for an object that leads to another page: it has a title and an address."""
    return any(isinstance(value.get(key), str) for key in _TITLE_KEYS) and any(
        isinstance(value.get(key), str) for key in _LINK_KEYS
    )

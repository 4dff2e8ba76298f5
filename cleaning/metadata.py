"""What a page says of itself: title, author, date, language, section, canonical URL.

Sources in order of trust: JSON-LD, OpenGraph and other meta tags, microdata, the visible page.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from htmldate import find_date

from cleaning.blocks import Metadata
from cleaning.language import identify
from cleaning.terms import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

    from cleaning.blocks import Page

_ARTICLE_TYPES = re.compile(r"(?:Article|Posting|Report|Page|Recipe|Product)$")
_ISO_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_TITLE_SEPARATOR = re.compile(r"\s+[|\u2013\u2014\u00bb\u00b7_-]\s+|\s*[|_]\s*")
_SHORTEST_TITLE = 15  # characters; shorter parts of a title stand in the text by chance
_BYLINE = re.compile(r"^(?:by|von|por|par|di)\s+", re.IGNORECASE)
_LANGUAGE = re.compile(r"[a-z]{2,3}(?=$|[-_])")
_LONGEST = 1_000  # characters of a field; a page's title may be its whole text
_MOST_JSON_CHARS = 500_000
_MOST_JSON_NODES = 2_000
# htmldate copies and serialises the whole tree; beyond this many elements it costs more than all of cleaning.
_MOST_DATED_ELEMENTS = 3_000


@dataclass(frozen=True, slots=True)
class _Statements:
    """What the machine-readable parts of a page state: meta tags by lower-cased name, and its JSON-LD objects."""

    metas: dict[str, str]
    objects: list[dict[str, Any]]

    def meta(self, *names: str) -> str | None:
        return next((self.metas[name] for name in names if self.metas.get(name)), None)

    def linked(self, *keys: str) -> Iterator[Any]:
        """Yield what the article-like JSON-LD objects hold under these keys."""
        for key in keys:
            yield from (found[key] for found in self.objects if found.get(key))


def read_metadata(page: Page, text: str = "") -> Metadata:
    """Return a page's metadata; fields stay None where it is silent.

    `text` is the page's kept text: its language is recognised where the page does not declare one.
    """
    stated = _Statements(_metas(page.root), list(_article_objects(page.root)))
    return Metadata(
        title=_title(page.root, stated, text),
        author=_author(page.root, stated),
        published=_published(page, stated),
        language=_language(page.root, stated, text),
        section=_tidy(next(_names(stated.linked("articleSection")), None))
        or _tidy(stated.meta("article:section", "og:article:section")),
        canonical=_canonical(page, stated),
    )


def _metas(root: HtmlElement) -> dict[str, str]:
    metas: dict[str, str] = {}
    for element in root.iter("meta"):
        name = element.get("property") or element.get("name") or element.get("itemprop")
        content = element.get("content")
        if name and content and content.strip():
            metas.setdefault(name.strip().lower(), content)
    return metas


def _article_objects(root: HtmlElement) -> Iterator[dict[str, Any]]:
    for script in root.iter("script"):
        if "ld+json" not in (script.get("type") or "") or not script.text or len(script.text) > _MOST_JSON_CHARS:
            continue
        try:
            parsed = json.loads(script.text, strict=False)
        except (ValueError, RecursionError):  # pages ship broken JSON; other sources remain
            continue
        yield from _objects_of(parsed)


def _objects_of(parsed: Any) -> Iterator[dict[str, Any]]:
    """Yield the article-like objects of a JSON-LD document, at its top or in its graph."""
    queue = [parsed]
    for _ in range(_MOST_JSON_NODES):
        if not queue:
            return
        node = queue.pop(0)
        if isinstance(node, list):
            queue.extend(node)
        elif isinstance(node, dict):
            types = node.get("@type")
            names = types if isinstance(types, list) else [types]
            if any(isinstance(name, str) and _ARTICLE_TYPES.search(name) for name in names):
                yield node
            queue.extend(node[key] for key in ("@graph", "mainEntity") if key in node)


def _names(values: Iterator[Any]) -> Iterator[str]:
    """Yield the texts in JSON-LD values: strings, objects with a name, lists of either."""
    for value in values:
        for entry in value if isinstance(value, list) else [value]:
            name = entry.get("name") if isinstance(entry, dict) else entry
            if isinstance(name, str):
                yield name


def _title(root: HtmlElement, stated: _Statements, text: str) -> str | None:
    headline = next(filter(None, map(_tidy, _names(stated.linked("headline")))), None)
    shown = _first_text(root, "title")
    whole = headline or _tidy(stated.meta("og:title", "twitter:title")) or shown
    if whole and shown and shown.startswith((f'{whole}"', f'{whole} "')):
        whole = shown  # the tag's value ended early, at a quotation mark of the title's own
    heading = _first_text(root, "h1")
    if whole is None or (heading and len(heading) > len(whole) / 3 and heading.lower() in whole.lower()):
        return heading
    return _without_site(whole, _tidy(stated.meta("og:site_name", "application-name")), text)


def _without_site(title: str, site: str | None, text: str) -> str:
    """Return the title without the site's name at either end, where that name or the page's text tells it apart."""
    parts = _TITLE_SEPARATOR.split(title)
    if site:
        others = [part for part in parts if part.lower() != site.lower()]
        if 0 < len(others) < len(parts):
            return max(others, key=len)
    shown = [part for part in parts if len(part) >= _SHORTEST_TITLE and part in text]
    return shown[0] if len(shown) == 1 else title


def _author(root: HtmlElement, stated: _Statements) -> str | None:
    names = list(dict.fromkeys(filter(None, map(_tidy, _names(stated.linked("author", "creator"))))))
    if names:
        return ", ".join(names[:5])
    found = _tidy(stated.meta("author", "article:author", "dc.creator", "parsely-author", "sailthru.author"))
    if found and not found.startswith("http"):
        return _BYLINE.sub("", found)
    for path in ('.//*[@itemprop="author"]', './/a[contains(@rel, "author")]'):
        for element in root.iterfind(path) if "contains" not in path else root.xpath(path):
            name = _tidy(element.text_content())
            if name:
                return _BYLINE.sub("", name)
    return None


def _published(page: Page, stated: _Statements) -> str | None:
    names = (
        "article:published_time",
        "og:article:published_time",
        "datepublished",
        "date",
        "dc.date",
        "dc.date.issued",
        "pubdate",
        "parsely-pub-date",
        "sailthru.date",
    )
    texts = [*_names(stated.linked("datePublished", "uploadDate")), stated.meta(*names) or ""]
    elements = page.root.iterfind('.//*[@itemprop="datePublished"]')
    texts.extend(element.get("content") or element.get("datetime") or "" for element in elements)
    found = next(filter(None, map(_iso_date, texts)), None)
    return found or _search_date(page)


def _iso_date(text: str) -> str | None:
    match = _ISO_DATE.match(text.strip())
    if match is None:
        return None
    try:
        return date(*map(int, match.groups())).isoformat()
    except ValueError:
        return None


def _search_date(page: Page) -> str | None:
    elements = sum(1 for _ in page.root.iter())
    if elements > _MOST_DATED_ELEMENTS or elements < 3:  # noqa: PLR2004 — html, body, one element: no date there
        return None
    try:
        found: str | None = find_date(
            page.root, extensive_search=False, original_date=True, url=page.url, deferred_url_extractor=True
        )
    except ValueError:  # it edits a copy of the tree, where lxml refuses text with control characters
        return None
    return found


def _language(root: HtmlElement, stated: _Statements, text: str) -> str | None:
    declared = root.get("lang") or stated.meta("og:locale", "content-language", "language") or ""
    match = _LANGUAGE.match(declared.strip().lower())
    if match:
        return match[0]
    return identify(text)


def _canonical(page: Page, stated: _Statements) -> str | None:
    links = (
        link.get("href") for link in page.root.iter("link") if "canonical" in (link.get("rel") or "").lower().split()
    )
    href = next(filter(None, links), None) or stated.meta("og:url")
    if not href:
        return None
    try:
        absolute = urljoin(page.url or "", href.strip())
    except ValueError:
        return None
    return absolute if absolute.startswith(("http://", "https://")) else None


def _first_text(root: HtmlElement, tag: str) -> str | None:
    return next(filter(None, (_tidy(element.text_content()) for element in root.iter(tag))), None)


def _tidy(text: str | None) -> str | None:
    return normalise(text)[:_LONGEST] or None if text else None

"""Statements of a page about its content and its use: description, keywords, licence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cleaning.metadata.statements import Statement, text_of_value, tidy_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

    from cleaning.metadata.statements import Statements

_DESCRIPTIONS = ("og:description", "description", "twitter:description", "dc.description", "dcterms.description")
_KEYWORDS = ("keywords", "news_keywords", "parsely-tags", "citation_keywords", "dc.subject", "article:tag")
_LICENSES = (
    "dcterms.license",
    "dc.rights.license",
    "dcterms.rights",
    "dc.rights",
    "citation_license",
    "copyright_license",
)
_MAX_KEYWORDS = 50
_MAX_KEYWORD_CHARS = 100
_BETWEEN_KEYWORDS = re.compile(r"\s*[,;\uff0c\uff1b\u3001\u060c]\s*")
_ADDRESS = re.compile(r"https?://\S{1,500}")
_ACCESS_KEY = "isAccessibleForFree"
_ACCESS_BY_FLAG = {"true": "free", "false": "paid"}
_ACCESS_META = "article:content_tier"
_ACCESS_BY_TIER = {"free": "free", "metered": "metered", "locked": "paid"}
_COMMONS = re.compile(r"//(?:www\.)?creativecommons\.org/(?:licenses|publicdomain)/[\w-]+", re.IGNORECASE)
# A picture's licence is not the page's.
_PICTURE_TAGS = ("figure", "figcaption", "picture")


def read_description(stated: Statements) -> Statement | None:
    """Return the description of a page; None if it states none."""
    for text in stated.texts("description"):
        return Statement(text, "json-ld description")
    return _first_meta(stated, *_DESCRIPTIONS)


def read_keywords(stated: Statements) -> list[Statement]:
    """Return the keywords of a page, each once, all from one source; empty if it states none."""
    for values in stated.linked("keywords"):
        texts = [text for value in values if (text := text_of_value(value))]
        if keywords := _keywords(texts, "json-ld keywords"):
            return keywords
    for name in _KEYWORDS:
        texts = [text for content in stated.meta(name) if (text := tidy_text(content))]
        if keywords := _keywords(texts, f"meta {name}"):
            return keywords
    return []


def read_license(stated: Statements) -> Statement | None:
    """Return the licence of a page, its address if the page states one; None if it states none."""
    for values in stated.linked("license"):
        for value in values:
            if text := _license_text(value):
                return Statement(text, "json-ld license")
    return next(_licenses_of_links(stated), None) or next(_licenses_of_metas(stated), None)


def read_access(stated: Statements) -> Statement | None:
    """Return whether a reader must pay: `free`, `metered` (some pages are free) or `paid`; None if the page is silent.

    It is only what the page states; a page that states `paid` may show its whole text.
    """
    for node in stated.ranked:
        if access := _ACCESS_BY_FLAG.get(str(node.get(_ACCESS_KEY)).lower().rpartition("/")[2]):
            return Statement(access, f"json-ld {_ACCESS_KEY}")
    for text in stated.meta(_ACCESS_META):
        if access := _ACCESS_BY_TIER.get(text.strip().lower()):
            return Statement(access, f"meta {_ACCESS_META}")
    for element in stated.items(_ACCESS_KEY):
        text = element.get("content") or element.get("href") or element.text or ""
        if access := _ACCESS_BY_FLAG.get(text.strip().lower().rpartition("/")[2]):
            return Statement(access, f"microdata {_ACCESS_KEY}")
    return None


def _licenses_of_links(stated: Statements) -> Iterator[Statement]:
    if address := stated.links.get("license"):
        yield Statement(address.strip(), "link rel=license")
    links = [link for link in stated.elements.license_links if not _is_of_picture(link)]
    for link in links:
        if "license" in link.get("rel", "").lower().split():
            yield Statement(link.get("href", "").strip(), "link rel=license")
    commons = {link.get("href", "").strip() for link in links if _COMMONS.search(link.get("href", ""))}
    if len(commons) == 1:  # of several, each is of a part of the page
        yield Statement(commons.pop(), "link to Creative Commons")


def _licenses_of_metas(stated: Statements) -> Iterator[Statement]:
    for name in _LICENSES:
        for text in stated.meta(name):
            if match := _ADDRESS.search(text):
                yield Statement(match[0], f"meta {name}")


def _license_text(value: Any) -> str | None:
    if isinstance(value, dict):
        value = value.get("@id") or value.get("url") or value.get("name")
    return tidy_text(value) if isinstance(value, str) else None


def _is_of_picture(link: HtmlElement) -> bool:
    return next(link.iterancestors(*_PICTURE_TAGS), None) is not None


def _first_meta(stated: Statements, *names: str) -> Statement | None:
    for name in names:
        for content in stated.meta(name):
            if text := tidy_text(content):
                return Statement(text, f"meta {name}")
    return None


def _keywords(texts: list[str], source: str) -> list[Statement]:
    parts = [part.strip() for text in texts for part in _BETWEEN_KEYWORDS.split(text)]
    unique: dict[str, str] = {}
    for part in parts:
        if 0 < len(part) <= _MAX_KEYWORD_CHARS:
            unique.setdefault(part.casefold(), part)
    return [Statement(part, source) for part in unique.values()][:_MAX_KEYWORDS]

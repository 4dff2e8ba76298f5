"""The tag analysis of weighted.txt, section 3.2: which elements, attributes and blocks of a page are noise.

What a rule looks for stands in data/tagrules.toml.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib import resources
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from lxml import etree

from cleaning.blocks import Reason
from cleaning.domains import Addresses
from cleaning.features import body_of, walk
from cleaning.segments import regroup
from cleaning.terms import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.html import HtmlElement

    from cleaning.blocks import Page
    from cleaning.features import Leaf, Piece

BLOCKS = frozenset({"div", "td"})
PLUGINS = frozenset({"embed", "object", "audio", "video"})
_BACKED = frozenset({"td", "tr", "table", "div", "body"})
_BACKGROUND = re.compile(r"(?<![\w-])background(-image)?\s*:", re.IGNORECASE)
_NAMED = ("id", "class", "name", "src", "href")
_ADDRESSES = ("src", "href", "data", "action", "poster")
_SIDE = re.compile(r"\s*(\d{1,5})(?:\.0*)?\s*(?:px)?\s*")
# Between words: what is no letter, and where the case changes ("topAd", "ADBanner").
_BETWEEN_WORDS = re.compile(r"[\W\d_]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Rule(StrEnum):
    """The rules of section 3.2, in its order."""

    BACKGROUND = "background"
    FOREIGN_IMAGE = "foreign_image"
    AD_PROVIDER = "ad_provider"
    AD_KEYWORD = "ad_keyword"
    BANNER_SIZE = "banner_size"
    PLUGIN = "plugin"
    LEGAL = "legal"
    SEARCH = "search"
    SOCIAL = "social"


# The element goes, with all inside it.
REMOVED = {
    Rule.FOREIGN_IMAGE: Reason.ADVERTISEMENT,
    Rule.AD_PROVIDER: Reason.ADVERTISEMENT,
    Rule.AD_KEYWORD: Reason.ADVERTISEMENT,
    Rule.BANNER_SIZE: Reason.ADVERTISEMENT,
    Rule.PLUGIN: Reason.PLUGIN,
}
# The block around the element goes: its own text, not the blocks inside it.
CONDEMNED = {Rule.LEGAL: Reason.LEGAL, Rule.SEARCH: Reason.FORM, Rule.SOCIAL: Reason.SOCIAL}
# Under BACKGROUND no text goes: the rule strips an attribute or property, or a `style` element, which holds no text.


class Finding(NamedTuple):
    """An element that a rule speaks against; for the rules of CONDEMNED it is the block."""

    element: HtmlElement
    rule: Rule


@dataclass(frozen=True, slots=True)
class _Lists:
    """The data of the rules."""

    keywords: frozenset[str]
    providers: frozenset[str]
    banners: frozenset[str]
    social: frozenset[str]
    legal_links: re.Pattern[str]
    legal_text: re.Pattern[str]
    search_words: frozenset[str]
    search_fields: frozenset[str]


def is_block(element: HtmlElement) -> bool:
    return element.tag in BLOCKS


def separate(page: Page) -> list[Leaf]:
    """Return the blocks of a page, one for each `div` and `td`, with the reason where a tag rule drops them.

    What lies in no block, and what lies in a removed part of one, comes as leaves of its own. Empty for a page without
    blocks and text.
    """
    findings = analyse(page)
    # Reversed, so that the first rule that speaks against an element gives the reason.
    removed = {found.element: REMOVED[found.rule] for found in reversed(findings) if found.rule in REMOVED}
    condemned = {found.element: CONDEMNED[found.rule] for found in reversed(findings) if found.rule in CONDEMNED}
    leaves = regroup(walk(page.root), page.root, is_block, nested=True, removed=removed)
    return [leaf if leaf.dropped else _judged(leaf, condemned.get(leaf.node.element)) for leaf in leaves]


def analyse(page: Page) -> list[Finding]:
    """Return what the rules find in the tags inside the body, in reading order.

    Nothing more is looked for in an element that goes, nor inside it. The texts of blocks and of their links are
    judged apart (see `separate`). The body itself never goes.
    """
    return list(_Analysis(page).run())


class _Analysis:
    """One pass over the tags inside the body, outer ones first."""

    def __init__(self, page: Page) -> None:
        self._start = body_of(page.root)
        self._addresses = Addresses(page.url)
        self._lists = _lists()

    def run(self) -> Iterator[Finding]:
        block_of: dict[HtmlElement | None, HtmlElement | None] = {}
        gone: set[HtmlElement | None] = set()
        for element in self._start.iter(etree.Element):
            inside = element is not self._start
            parent = element.getparent() if inside else None
            if parent in gone:
                gone.add(element)
                continue
            block = block_of[element] = element if inside and is_block(element) else block_of.get(parent)
            for rule in self._broken(element):
                if rule is Rule.BACKGROUND:
                    yield Finding(element, rule)
                elif rule in CONDEMNED and block is not None:
                    yield Finding(block, rule)
                elif rule in REMOVED and inside:
                    gone.add(element)
                    yield Finding(element, rule)
                    break

    def _broken(self, element: HtmlElement) -> Iterator[Rule]:
        tag = element.tag
        if tag == "style":
            yield Rule.BACKGROUND
        if tag in PLUGINS or (tag == "iframe" and element.get("src") is not None):
            yield Rule.PLUGIN
        if not element.attrib:
            return
        if tag in _BACKED and _has_background(element):
            yield Rule.BACKGROUND
        yield from self._advertised(element)
        if tag == "img":
            yield from self._pictured(element)
        elif tag == "a":
            yield from self._linked(element.get("href"))
        elif self._is_search(element):
            yield Rule.SEARCH

    def _advertised(self, element: HtmlElement) -> Iterator[Rule]:
        urls = (element.get(name) for name in _ADDRESSES)
        if any(url and self._addresses.lead_to(url, self._lists.providers) for url in urls):
            yield Rule.AD_PROVIDER
        if any(has_word(element.get(name), self._lists.keywords) for name in _NAMED):
            yield Rule.AD_KEYWORD

    def _pictured(self, image: HtmlElement) -> Iterator[Rule]:
        if self._addresses.are_foreign(image.get("src") or ""):
            yield Rule.FOREIGN_IMAGE
        sides = [_SIDE.fullmatch(image.get(name) or "") for name in ("width", "height")]
        if "x".join(str(int(side[1])) for side in sides if side) in self._lists.banners:
            yield Rule.BANNER_SIZE

    def _linked(self, url: str | None) -> Iterator[Rule]:
        if url is None:
            return
        if self._lists.legal_links.search(" ".join(words(_path(url)))):
            yield Rule.LEGAL
        if self._addresses.lead_to(url, self._lists.social):
            yield Rule.SOCIAL

    def _is_search(self, element: HtmlElement) -> bool:
        if element.get("role") == "search":
            return True
        if element.tag not in {"form", "input"}:
            return False
        named = any(
            has_word(element.get(name), self._lists.search_words) for name in ("id", "class", "name", "action", "type")
        )
        return named or (element.tag == "input" and element.get("name") in self._lists.search_fields)


def words(text: str) -> list[str]:
    """Return the words of an attribute, lower-cased, parted at what is no letter and where the case changes."""
    return [word.lower() for word in _BETWEEN_WORDS.split(text) if word]


def has_word(value: str | None, listed: frozenset[str]) -> bool:
    """Tell whether an attribute holds one of the words, whole; never for a `data:` URL, whose letters are no words."""
    if value is None or value.lstrip()[:5].lower() == "data:":
        return False
    return not listed.isdisjoint(words(value))


def is_linked(piece: Piece) -> bool:
    """Tell whether a text is inside a link; an `a` without `href` is none."""
    return piece.link is not None and piece.link.get("href") is not None


def _judged(leaf: Leaf, condemned: Reason | None) -> Leaf:
    """Return the leaf, dropped where its tags condemn it or its own text or links hold what the link rule names."""
    reason = condemned or (Reason.LEGAL if _is_legal(leaf) else None)
    return replace(leaf, dropped=reason) if reason else leaf


def _is_legal(leaf: Leaf) -> bool:
    lists = _lists()
    links = groupby(filter(is_linked, leaf.pieces), key=attrgetter("link"))
    linked = (normalise("".join(piece.text for piece in pieces)).lower() for _, pieces in links)
    return bool(lists.legal_text.search(leaf.block.text.lower())) or any(map(lists.legal_links.search, linked))


def _has_background(element: HtmlElement) -> bool:
    return element.get("background") is not None or bool(_BACKGROUND.search(element.get("style") or ""))


def _path(url: str) -> str:
    try:
        return urlsplit(url.strip()).path
    except ValueError:
        return ""


@cache
def _lists() -> _Lists:
    data = tomllib.loads(resources.files("cleaning").joinpath("data", "tagrules.toml").read_text("utf-8"))
    advertisement, banners, social, legal, search = (
        data[name] for name in ("advertisement", "banners", "social", "legal", "search")
    )
    return _Lists(
        keywords=frozenset(advertisement["keywords"]),
        providers=frozenset(advertisement["providers"].split()),
        banners=frozenset([*banners["printed"], *banners["ours"].split()]),
        social=frozenset(f"{social['printed']} {social['ours']}".split()),
        legal_links=_phrases(legal["links"]),
        legal_text=_phrases(legal["text"]),
        search_words=frozenset(search["words"]),
        search_fields=frozenset(search["fields"]),
    )


def _phrases(listed: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds the phrases as whole words; signs such as © need no bounds."""
    whole = (rf"\b{re.escape(phrase)}\b" if phrase[0].isalnum() else re.escape(phrase) for phrase in listed)
    return re.compile("|".join(whole))

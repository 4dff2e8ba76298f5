"""A publisher's wishes besides robots.txt: directives of a page, in its header or its HTML.

    X-Robots-Tag: noindex, nofollow         also for one crawler only: `blocksieve: noindex`
    <meta name="robots" content="noindex">  also by a crawler's name: `<meta name="blocksieve" ...>`
    tdm-reservation: 1                      header and meta element of the W3C's TDM Reservation Protocol

`crawler/fetching/reservations.py` reads the protocol's file, which holds for a whole host. Rules without a setting,
such as `nosnippet` and `noimageai`, concern search results and images: a crawl stores neither.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from html import unescape
from typing import TYPE_CHECKING

from crawler.config import Config, config_of
from crawler.context import context_of
from crawler.fetching.response_filter import PageResponse, Rejection
from crawler.monitoring.exit_status import NOARCHIVE_STAT
from crawler.visit import Outcome, UnparsedPage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Self

    from lxml.html import HtmlElement
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from cleaning.blocks import Page
    from crawler.fetching.reservations import Reservations
    from crawler.visit import FetchedPage


class Directive(StrEnum):
    """A wish that a setting obeys, see `DirectiveReader`."""

    NOINDEX = "noindex"
    """Also an `unavailable_after` whose time has passed."""
    NOFOLLOW = "nofollow"
    NOARCHIVE = "noarchive"
    NOAI = "noai"
    TDM_RESERVATION = "tdm-reservation"


_SETTINGS: Mapping[Directive, str] = {
    Directive.NOINDEX: "OBEY_NOINDEX",
    Directive.NOFOLLOW: "OBEY_NOFOLLOW",
    Directive.NOARCHIVE: "OBEY_NOARCHIVE",
    Directive.NOAI: "OBEY_NOAI",
    Directive.TDM_RESERVATION: "OBEY_TDM_RESERVATION",
}

# Of a page with several directives, the first one is the outcome of its visit.
_OUTCOMES: Mapping[Directive, Outcome] = {
    Directive.NOINDEX: Outcome.NOINDEX,
    Directive.NOAI: Outcome.NOAI,
    Directive.TDM_RESERVATION: Outcome.TDM_RESERVED,
}

_OUR_NAME = "blocksieve"
_ROBOTS_HEADER = "X-Robots-Tag"
_TDM_NAME = "tdm-reservation"
_RULES: Mapping[str, tuple[Directive, ...]] = {
    "noindex": (Directive.NOINDEX,),
    "nofollow": (Directive.NOFOLLOW,),
    "none": (Directive.NOINDEX, Directive.NOFOLLOW),
    "noarchive": (Directive.NOARCHIVE,),
    "nocache": (Directive.NOARCHIVE,),
    "noai": (Directive.NOAI,),
}
_EXPIRY = "unavailable_after"
# Rules with a value. Any other word before a colon is the name of a crawler.
_VALUED_RULES = frozenset({_EXPIRY, "max-snippet", "max-image-preview", "max-video-preview"})
# Dates may begin with the day of the week and a comma, which otherwise separates rules.
_WEEKDAY = re.compile(r"\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\s*,\s*", re.IGNORECASE)
_META_START = re.compile(rb"<meta(?![a-z0-9])", re.IGNORECASE)
# A meta tag that every parser reads in the same way.
_META_TAG = re.compile(rb"<meta(?:[\s/]|[^\s\"'>/=]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'>]+))?)*+>", re.IGNORECASE)
_META_NAMES = ("robots", _TDM_NAME)
_META_WORDS = (*_RULES, _EXPIRY, _TDM_NAME)
# The standard separator is the comma.
_SEPARATOR = re.compile("[,;]")
# Only a broken or hostile page has more than a few.
_MAX_ELEMENTS = 500
_MAX_CHARS = 2_000


class DirectiveReader:
    """Reads the directives of a response that this crawl obeys; see the settings OBEY_NOINDEX and its neighbours.

    Without a crawler no files of hosts are read.
    """

    def __init__(self, config: Config, names: frozenset[str], crawler: Crawler | None = None) -> None:
        self._obeyed = frozenset(directive for directive, name in _SETTINGS.items() if getattr(config, name.lower()))
        self._names = names
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(config_of(crawler), crawler_names(crawler.settings), crawler)

    def read(self, response: Response, page: Page | UnparsedPage | None = None) -> dict[Directive, str]:
        """Return the directives that this crawl obeys, each with the place where it is stated."""
        return self.obeyed(self.read_stated(response, page))

    def obeyed(self, directives: Mapping[Directive, str]) -> dict[Directive, str]:
        """Return those of some directives that this crawl obeys."""
        return {directive: place for directive, place in directives.items() if directive in self._obeyed}

    def read_stated(self, response: Response, page: Page | UnparsedPage | None = None) -> dict[Directive, str]:
        """Return all directives, each with the place where it is stated.

        They are read from the header, from the tree of the page if there is one, and from the host's tdmrep.json. A TDM
        reservation in the page wins over the header, and the header over the file. A page that is not parsed yet is
        parsed only if its bytes look like a directive.
        """
        if page is None and isinstance(response, PageResponse):
            page = response.source
        if isinstance(page, UnparsedPage):
            page = page.tree if page.is_parsed or _may_state_directives(response.body, self._names) else None
        elements = [] if page is None else list(_meta_elements(page.root))
        places = dict(_read_robots(response, elements, self._names))
        reservation = self._find_reservation(response, elements)
        if reservation is not None:
            places[Directive.TDM_RESERVATION] = reservation
        return places

    def obey(self, page: FetchedPage, response: Response) -> FetchedPage | Rejection:
        """Return a page as its publisher wants it left, counted if its HTML must not be kept; or its rejection."""
        directives = self.read(response, page.source)
        if rejection := reject_unwanted(directives):
            return rejection
        if Directive.NOARCHIVE not in directives:
            return page
        if self._crawler is not None:
            self._crawler.stats.inc_value(NOARCHIVE_STAT)
        return replace(page, noarchive=True)

    def _find_reservation(self, response: Response, elements: Iterable[tuple[str, str, str]]) -> str | None:
        """Return where the rights for text and data mining are reserved, None if they are not."""
        stated = _read_reservation(content for kind, name, content in elements if (kind, name) == ("name", _TDM_NAME))
        if stated is not None:
            return f"<meta name={_TDM_NAME}>" if stated else None
        stated = _read_reservation(value.decode("latin-1") for value in response.headers.getlist(_TDM_NAME))
        if stated is not None:
            return f"the header {_TDM_NAME}" if stated else None
        reservations: Reservations | None = None if self._crawler is None else context_of(self._crawler).reservations
        return reservations.file if reservations is not None and reservations.covers(response.url) else None


def reject_unwanted(directives: Mapping[Directive, str]) -> Rejection | None:
    """Return the rejection of a page whose publisher asks that it be left alone, None for other pages."""
    for directive, outcome in _OUTCOMES.items():
        if directive in directives:
            return Rejection(outcome, f"{directives[directive]} (setting {_SETTINGS[directive]})")
    return None


def crawler_names(settings: BaseSettings) -> frozenset[str]:
    """Return the names, in lower case, by which a publisher addresses this crawl: `*`, ours, and its own."""
    agent: str = settings["ROBOTSTXT_USER_AGENT"] or settings["USER_AGENT"] or ""
    return frozenset({"*", _OUR_NAME, agent.partition("/")[0].strip().lower()})


def _read_robots_rules(text: str, names: frozenset[str], now: datetime) -> Iterator[Directive]:
    """Yield the directives of an X-Robots-Tag header or a robots meta element.

    A crawler's name before a colon holds until the next name; rules for other crawlers are left out. As Google
    documents it, `index` and `follow` take nothing back.
    """
    is_meant = True
    for part in _SEPARATOR.split(_WEEKDAY.sub("", text[:_MAX_CHARS]).lower()):
        before, colon, after = part.partition(":")
        if colon and before.strip() not in _VALUED_RULES:
            is_meant, part = before.strip() in names, after  # noqa: PLW2901 — the name is taken off
        if not is_meant:
            continue
        name, colon, value = part.partition(":")
        if colon:
            if name.strip() == _EXPIRY and _is_past(value, now):
                yield Directive.NOINDEX
        else:
            for rule in part.split():
                yield from _RULES.get(rule, ())


def _may_state_directives(body: bytes, names: frozenset[str]) -> bool:
    """Return False if no meta element of a page can state a directive to crawlers of these names, as its bytes show."""
    for start in _META_START.finditer(body):
        tag = _META_TAG.match(body, start.start())
        if tag is None:
            return True
        text = unescape(tag[0].decode("latin-1")).lower()
        if any(name in text for name in (*_META_NAMES, *(names - {"*"}))) and any(word in text for word in _META_WORDS):
            return True
    return False


def _read_reservation(values: Iterable[str]) -> bool | None:
    """Return whether the values of `tdm-reservation` reserve rights, None if none of them is 0 or 1."""
    stated = {word.strip() for value in values for word in value.split(",")}
    return True if "1" in stated else False if "0" in stated else None


def _read_robots(
    response: Response, elements: Iterable[tuple[str, str, str]], names: frozenset[str]
) -> Iterator[tuple[Directive, str]]:
    now = datetime.now(UTC)
    for value in response.headers.getlist(_ROBOTS_HEADER):
        for directive in _read_robots_rules(value.decode("latin-1"), names, now):
            yield directive, f"the header {_ROBOTS_HEADER}"
    for kind, name, content in elements:
        if (kind == "name" and name in {"robots", *names}) or (kind, name) == ("http-equiv", _ROBOTS_HEADER.lower()):
            for directive in _read_robots_rules(content, names, now):
                yield directive, f"<meta {kind}={name}>"


def _meta_elements(root: HtmlElement) -> Iterator[tuple[str, str, str]]:
    """Yield attribute (`name` or `http-equiv`), name and content of each meta element, the name in lower case."""
    for number, element in enumerate(root.iter("meta")):
        if number >= _MAX_ELEMENTS:
            return
        for attribute in ("name", "http-equiv"):
            name = element.get(attribute)
            if name:
                yield attribute, name.strip().lower(), element.get("content") or ""


def _is_past(text: str, now: datetime) -> bool:
    """Return True if a date, as RFC 822, RFC 850 or ISO 8601 write it, has passed; False for any other text."""
    written = text.strip()
    for read in (parsedate_to_datetime, lambda date: datetime.fromisoformat(date.upper())):
        try:
            date = read(written)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        return (date if date.tzinfo else date.replace(tzinfo=UTC)) <= now
    return False

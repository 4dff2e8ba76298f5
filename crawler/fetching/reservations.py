"""The file /.well-known/tdmrep.json, by which a host reserves the rights for text and data mining of its pages.

It is part of the W3C's TDM Reservation Protocol: a JSON array of rules, each with the pattern of a path (`location`)
and `tdm-reservation`, 0 or 1. The first rule whose pattern matches counts. A page's own header and meta element win
over the file (`crawler/fetching/directives.py`).
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from scrapy import Request
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http.request import NO_CALLBACK

from crawler.config import config_of
from crawler.context import context_of

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

TDMREP_PATH = "/.well-known/tdmrep.json"

_MAX_BYTES = 500_000
# A host that does not send the file in this time counts as one without it; DOWNLOAD_TIMEOUT may be shorter.
_MAX_SECONDS = 10.0
_MAX_REDIRECTS = 5
_PRIORITY = 1_000  # as Scrapy requests robots.txt
_ABSENT_STATUSES = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# Characters that are compared as they stand. `$` and `*` are not among them: a pattern that means them has %24 and %2A.
_KEPT = "!%&'()+,/:;=?@"
_SHOWN_CHARS = 200


class ReservationError(ValueError):
    """A tdmrep.json is not what the protocol says."""


@dataclass(frozen=True, slots=True)
class ReservationRule:
    """The paths that begin with the first of `parts` and have the others after it, in order, as between `*`.

    With `to_end` they end there. `reserved` is None for a value that the protocol does not know: it states nothing.
    """

    parts: tuple[str, ...]
    to_end: bool
    reserved: bool | None

    @classmethod
    def read(cls, entry: object) -> Self | None:
        """Return the rule of an entry in the file, None for an entry without a location."""
        location = entry.get("location") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(location, str) or not location.strip():
            return None
        pattern = _pattern(location.strip())
        parts = pattern.removesuffix("$").split("*")
        value = entry.get("tdm-reservation")
        reserved = True if value in (1, "1") else False if value in (0, "0") else None
        return cls(tuple(_normalised(part) for part in parts), pattern.endswith("$"), reserved)

    def matches(self, path: str) -> bool:
        """Return True if the rule covers a path with its query, normalised. The time grows with their lengths only."""
        first, *others = self.parts
        if not path.startswith(first):
            return False
        end = len(first)
        last = others.pop() if others and self.to_end else None
        for part in others:
            index = path.find(part, end)
            if index < 0:
                return False
            end = index + len(part)
        if not self.to_end:
            return True
        return path == first if last is None else path.endswith(last) and len(path) - len(last) >= end


@dataclass(frozen=True, slots=True)
class ReservationRules:
    """The rules of a host, in the order of its file; `left_out` counts entries without a location."""

    rules: tuple[ReservationRule, ...] = ()
    left_out: int = 0

    @classmethod
    def parse(cls, body: bytes) -> Self:
        """Return the rules of a file; an object in place of the array counts as its only rule.

        Raises ReservationError for a file that is not JSON, and for one without an array.
        """
        try:
            document = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise ReservationError("it is not JSON") from error
        entries = [document] if isinstance(document, dict) else document
        if not isinstance(entries, list):
            raise ReservationError("it has no array of rules")
        rules = [rule for rule in map(ReservationRule.read, entries) if rule is not None]
        return cls(tuple(rules), len(entries) - len(rules))

    def reserve(self, url: str) -> bool:
        """Return True if the rights for the page at a URL are reserved."""
        parts = urlsplit(url)
        path = _normalised((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        return next((rule.reserved or False for rule in self.rules if rule.matches(path)), False)


class Reservations:
    """The tdmrep.json of each host, requested once per crawl and process, before the first page of the host.

    A file that is missing, too large, too slow or malformed reserves nothing, as the protocol says. Each is counted:
    `tdmrep/found`, `tdmrep/absent`, `tdmrep/failed`, `tdmrep/malformed`.
    """

    file = TDMREP_PATH

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._seconds = min(_MAX_SECONDS, crawler.settings.getfloat("DOWNLOAD_TIMEOUT"))
        self._loading: dict[str, asyncio.Task[ReservationRules]] = {}
        context_of(crawler).reservations = self

    async def load(self, url: str) -> None:
        """Wait until the file of a URL's host is read; at once if it was read before."""
        origin = _origin(url)
        if origin is None:
            return
        if origin not in self._loading:
            self._loading[origin] = asyncio.ensure_future(self._read(origin))
        await asyncio.shield(self._loading[origin])

    def covers(self, url: str) -> bool:
        """Return True if the host's file, as loaded, reserves the rights for the page at a URL."""
        loading = self._loading.get(_origin(url) or "")
        if loading is None or not loading.done() or loading.cancelled():
            return False
        return loading.result().reserve(url)

    async def _read(self, origin: str) -> ReservationRules:
        request = Request(
            origin + TDMREP_PATH,
            callback=NO_CALLBACK,
            priority=_PRIORITY,
            meta={
                "dont_obey_robotstxt": True,
                "dont_retry": True,
                "download_maxsize": _MAX_BYTES,
                "download_timeout": self._seconds,
                "redirect_ttl": _MAX_REDIRECTS,
            },
        )
        assert self._crawler.engine is not None
        try:
            response = await self._crawler.engine.download_async(request)
        except IgnoreRequest:
            return self._without_file("failed")  # the pages of the host are refused for the same reason
        except Exception as error:  # noqa: BLE001 — whatever keeps the file away, the crawl goes on without it
            logger.warning("%s could not be read, so it reserves nothing: %s", request.url, _shown(error))
            return self._without_file("failed")
        return self._parse(response)

    def _parse(self, response: Response) -> ReservationRules:
        if response.status != HTTPStatus.OK:
            return self._without_file("absent" if response.status in _ABSENT_STATUSES else "failed")
        try:
            rules = ReservationRules.parse(response.body)
        except ReservationError as error:
            logger.warning("%s is malformed, so it reserves nothing: %s", response.url, error)
            return self._without_file("malformed")
        self._count("found")
        if rules.left_out:
            self._count("malformed")
            logger.warning("%s has %d entries without a location, which are left out", response.url, rules.left_out)
        return rules

    def _without_file(self, event: str) -> ReservationRules:
        self._count(event)
        return ReservationRules()

    def _count(self, event: str) -> None:
        assert self._crawler.stats
        self._crawler.stats.inc_value(f"tdmrep/{event}")


class ReservationsMiddleware:
    """Downloader middleware that reads a host's tdmrep.json before the first page of the host is requested."""

    def __init__(self, crawler: Crawler) -> None:
        if not config_of(crawler).obey_tdm_reservation:
            raise NotConfigured
        self._reservations = Reservations(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        # Requests of Scrapy's own, and those for feeds and sitemaps, bring no page.
        if request.callback is not NO_CALLBACK and request.meta.get("judge", True):
            await self._reservations.load(request.url)


def _origin(url: str) -> str | None:
    """Return scheme, host and port of a URL, None for a URL that is not http or https."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in {"http", "https"} and parts.netloc else None


def _pattern(location: str) -> str:
    """Return a location as a pattern of paths: without scheme and host, and with a slash or `*` in front."""
    if location.startswith(("http://", "https://")):
        location = "/" + location.partition("://")[2].partition("/")[2]
    return location if location.startswith(("/", "*")) else f"/{location}"


def _normalised(path: str) -> str:
    """Return a path with escapes of unreserved characters decoded, and all others but `_KEPT` escaped."""
    return quote(_ESCAPE.sub(_unescape, path), safe=_KEPT)


def _unescape(escape: re.Match[str]) -> str:
    char = chr(int(escape[1], 16))
    return char if char in _UNRESERVED else escape[0].upper()


def _shown(error: Exception) -> str:
    return " ".join(str(error).split())[:_SHOWN_CHARS] or type(error).__name__

"""Parse RSS and Atom feeds and sitemaps: bytes in, entries out. No network, and no clock but a time limit.

`read_listing` recognises a feed or sitemap by its bytes, because servers declare feeds as `text/html` and send
`application/xml` for anything.
"""

from __future__ import annotations

import codecs
import gzip
import re
import sys
import zlib
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from heapq import heappush, heapreplace
from io import BytesIO
from itertools import chain, islice
from time import struct_time
from typing import TYPE_CHECKING, Any

import feedparser
from lxml import etree

from cleaning.parse import NOT_XML
from crawler.discovery.feed_dates import read_feed_date
from crawler.errors import TimeLimitError
from crawler.schedule import parse_lastmod
from crawler.time_limit import time_limit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy.http import Response

_SITEMAP_MAX_BYTES = 50_000_000
"""Unpacked bytes that are read of a sitemap. The sitemap protocol allows about as many."""

_FEED_MAX_BYTES = 5_000_000
# feedparser takes some 25 microseconds for a tag; a feed of a thousand podcasts has 40,000.
_FEED_MAX_TAGS = 100_000
_TAG = re.compile(rb"<|/>")  # the start of a tag, or the end of an empty element
# feedparser takes quadratic time in both.
_FEED_MAX_ATTRIBUTES = 1_000
_FEED_MAX_LEVELS = 250
# No page on the web is older, and most wrong clocks are off by less than the tolerance.
_YEAR_MIN = 1990
_CLOCK_TOLERANCE = timedelta(days=1)
_URL_MAX_CHARS = 2_083  # Scrapy's default for URLLENGTH_LIMIT

_CHUNK_BYTES = 1 << 16
# A numeric reference; the bytes that are kept for the next chunk of a document in case that one begins at its end.
_REFERENCE = re.compile(rb"&#([xX][0-9a-fA-F]+|[0-9]+);?")
_REFERENCE_MAX_BYTES = 1_000
_REFERENCE_DIGITS = 8  # no character has as many
_GZIP_MAGIC = b"\x1f\x8b"
_SNIFFED_BYTES = 4_096
# The first element, after an XML declaration, comments and a document type with or without its own declarations.
# The groups are possessive: with backtracking, a head made of comments would take exponential time.
_ROOT_ELEMENT = re.compile(
    r"^[\s\ufeff]*+(?:(?><\?.{0,500}?\?>|<!--.{0,1000}?-->|<!doctype\s[^<>\[]{0,500}(?:\[.{0,3000}?\]\s*)?>)\s*+){0,8}+"
    r"<(?:[\w-]{1,20}:)?(\w{1,20})",
    re.IGNORECASE | re.DOTALL,
)
_HTML_DOCTYPE = re.compile(r"^[\s\ufeff]*(?:<!--.{0,1000}?-->\s*)?<!doctype\s+html", re.IGNORECASE | re.DOTALL)
_HTML_ROOTS = frozenset({"html", "head", "body", "title", "meta", "script", "div", "p", "h1", "center"})
_FEED_ROOTS = frozenset({"rss", "feed", "rdf", "channel"})
_SITEMAP_ROOTS = frozenset({"urlset", "sitemapindex"})
_URL_LINE = re.compile(r"^[\s\ufeff]*https?://\S")


class FeedKind(StrEnum):
    """The kind of a document that lists addresses."""

    FEED = "feed"
    SITEMAP = "sitemap"
    INDEX = "index"
    """A sitemap of sitemaps."""


class FeedProblem(StrEnum):
    """Why a document cannot be read as a feed or sitemap; the spider's stats use these words."""

    EMPTY = "empty"
    HTML = "html"
    """A web page: an error page, a login form, or the site's own view of the feed."""
    UNKNOWN = "unknown"
    """Neither RSS, Atom nor a sitemap."""
    DAMAGED = "damaged"
    """The bytes cannot be unpacked, or begin like a feed and cannot be parsed as one."""
    TOO_LARGE = "too_large"
    """A feed with more attributes in one element, or more elements inside each other, than any real one."""
    TIMEOUT = "timeout"
    """A document that takes longer than CLEANING_SECONDS."""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """A listed address, the day of its publication and the day of its last change."""

    url: str
    published: date | None = None
    changed: date | None = None

    @property
    def newest(self) -> date | None:
        """The day of publication; if that is not stated, the day of the last change."""
        return _latest_day(self.published) or _latest_day(self.changed)


@dataclass(frozen=True, slots=True)
class FeedListing:
    """The entries of a feed or sitemap, newest first, then the undated ones in document order.

    `left_out` counts the entries beyond the limit, `doubtful` the dates that cannot be true, and `too_long` the entries
    whose address is too long. `cut` is True if the document has more bytes than are read.
    """

    kind: FeedKind
    entries: tuple[FeedEntry, ...]
    left_out: int = 0
    doubtful: int = 0
    cut: bool = False
    too_long: int = 0


def read_listing(response: Response, now: datetime, most: int, seconds: float) -> FeedListing | FeedProblem:
    """Return the newest `most` entries of a feed, a sitemap or a sitemap index, or the reason why it has no entries.

    The time is proportional to the number of bytes, up to some seconds for _SITEMAP_MAX_BYTES, and never longer than
    `seconds`: in a crawl, call it in a thread.
    """
    try:
        with time_limit(seconds):
            return _read_document(response, now, most)
    except TimeLimitError:
        return FeedProblem.TIMEOUT


def _read_document(response: Response, now: datetime, most: int) -> FeedListing | FeedProblem:
    unpacked = _UnpackedChunks(response.body)
    chunks = _replace_references(_recode(unpacked))
    head = next(chunks, b"")
    if not head.strip():
        return FeedProblem.DAMAGED if unpacked.damaged else FeedProblem.EMPTY
    text = head[:_SNIFFED_BYTES].decode("utf-8", "replace")
    newest = _NewestEntries(most, now)
    match = _ROOT_ELEMENT.match(text)
    root = match[1].lower() if match else ""
    if root in _SITEMAP_ROOTS:
        # White space before the XML declaration is an error in XML, and common.
        kind = _parse_sitemap(chain([head.lstrip()], chunks), newest)
    elif root in _FEED_ROOTS:
        return _feed_listing(response, chain([head], chunks), newest, unpacked)
    elif _URL_LINE.match(text):
        _parse_text_sitemap(chain([head], chunks), newest)
        kind = FeedKind.SITEMAP
    else:
        return FeedProblem.HTML if root in _HTML_ROOTS or _HTML_DOCTYPE.match(text) else FeedProblem.UNKNOWN
    return newest.listing(kind, cut=unpacked.cut)


def _latest_day(*times: date | None) -> date | None:
    """Return the latest of some days; None if no day is known."""
    return max((_utc_day(time) for time in times if time), default=None)


@dataclass(slots=True)
class _NewestEntries:
    """Takes entries one by one and keeps the newest `most`, so that memory does not grow with the document."""

    most: int
    now: datetime
    seen: int = 0
    doubtful: int = 0
    too_long: int = 0
    _heap: list[tuple[date, int, FeedEntry]] = field(default_factory=list)

    def add(self, url: str, published: date | None, changed: date | None) -> None:
        """Add an entry, unless its URL is not an http address or too long."""
        if not url.startswith(("http://", "https://")):
            return
        if len(url) > _URL_MAX_CHARS:
            self.too_long += 1
            return
        published = self._checked(published)
        changed = self._checked(changed)
        self.seen += 1
        # Of two entries with the same day, the first in the document counts as newer.
        rank = (_latest_day(published, changed) or date.min, -self.seen)
        if len(self._heap) < self.most:
            heappush(self._heap, (*rank, FeedEntry(url, published, changed)))
        elif rank > self._heap[0][:2]:
            heapreplace(self._heap, (*rank, FeedEntry(url, published, changed)))

    def listing(self, kind: FeedKind, *, cut: bool) -> FeedListing:
        """Return the entries that were kept."""
        entries = tuple(entry for *_, entry in sorted(self._heap, reverse=True))
        return FeedListing(kind, entries, self.seen - len(entries), self.doubtful, cut, self.too_long)

    def _checked(self, stated: date | None) -> date | None:
        """Return a date if it can be true, otherwise count it as doubtful and return None."""
        if stated is None:
            return None
        if stated.year >= _YEAR_MIN and _utc_day(stated) <= _utc_day(self.now + _CLOCK_TOLERANCE):
            return stated
        self.doubtful += 1
        return None


def _utc_day(time: date) -> date:
    """Return the day in UTC. A time without a zone is taken as UTC."""
    if isinstance(time, datetime):
        return (time if time.tzinfo is None else time.astimezone(UTC)).date()
    return time


class _UnpackedChunks:
    """The document in chunks, unpacked if it is gzipped. It ends at _SITEMAP_MAX_BYTES, so a gzip bomb is harmless."""

    def __init__(self, body: bytes) -> None:
        self._file = gzip.GzipFile(fileobj=BytesIO(body)) if body.startswith(_GZIP_MAGIC) else BytesIO(body)
        self._left = _SITEMAP_MAX_BYTES
        self.damaged = self.cut = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            chunk = self._file.read(_CHUNK_BYTES)
        except (EOFError, OSError, zlib.error):
            self.damaged = self.cut = True
            chunk = b""
        if not chunk:
            raise StopIteration
        if self._left <= 0:
            self.cut = True
            raise StopIteration
        self._left -= len(chunk)
        return chunk


def _recode(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the chunks of a document whose markup is ASCII: UTF-16 with a byte order mark becomes UTF-8 with one."""
    first = next(chunks, b"")
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        decoder = codecs.getincrementaldecoder("utf-16")("replace")
        yield codecs.BOM_UTF8 + decoder.decode(first).lstrip().encode()
        yield from (decoder.decode(chunk).encode() for chunk in chunks)
    else:
        yield from chain([first], chunks)


def _replace_references(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the chunks of a document with U+FFFD for each numeric reference that names no character of XML.

    lxml gives half a surrogate pair to its target as an error that ends the document, and feedparser raises an error
    for numbers above 10FFFF. A missing semicolon, at which lxml leaves out a part of the document, is added.
    """
    rest = b""
    for chunk in chunks:
        text = rest + chunk
        start = text.rfind(b"&", -_REFERENCE_MAX_BYTES)  # it may end in the next chunk
        rest = text[start:] if start >= 0 else b""
        yield _REFERENCE.sub(_known_reference, text[: len(text) - len(rest)])
    yield _REFERENCE.sub(_known_reference, rest)


def _known_reference(reference: re.Match[bytes]) -> bytes:
    digits = reference[1].lstrip(b"xX0")
    code = int(digits or b"0", 16 if reference[1][:1] in b"xX" else 10) if len(digits) < _REFERENCE_DIGITS else 0
    return b"&#%d;" % code if code <= sys.maxunicode and not NOT_XML.match(chr(code)) else b"&#xFFFD;"


# RSS and Atom.


def _feed_listing(
    response: Response, chunks: Iterable[bytes], newest: _NewestEntries, unpacked: _UnpackedChunks
) -> FeedListing | FeedProblem:
    parts, size = [], 0
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size > _FEED_MAX_BYTES:
            break
    declared = response.headers.get("Content-Type")
    content_type = declared.decode("latin-1") if declared else None
    whole = b"".join(parts).lstrip()
    body = _first_tags(whole, _FEED_MAX_TAGS)
    if _is_overloaded(body):
        return FeedProblem.TOO_LARGE
    try:
        is_feed = _parse_feed(body, content_type, response.url, newest)
    except ValueError:
        return FeedProblem.DAMAGED
    if not is_feed:
        return FeedProblem.UNKNOWN
    return newest.listing(FeedKind.FEED, cut=unpacked.cut or size > _FEED_MAX_BYTES or len(body) < len(whole))


def _first_tags(body: bytes, most: int) -> bytes:
    """Return the beginning of a document with at most this number of tags; an empty element counts as two."""
    if body.count(b"<") + body.count(b"/>") <= most:
        return body
    cut = next(islice(_TAG.finditer(body), most, None))
    return body[: cut.start()]


def _is_overloaded(body: bytes) -> bool:
    """Return True if an element has too many attributes or elements around it."""
    parser = etree.XMLParser(
        target=_LoadCheck(), recover=True, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True
    )
    try:
        parser.feed(body)
        parser.close()
    except _OverloadedError:
        return True
    except etree.XMLSyntaxError:
        pass  # a document without elements; feedparser says what it is
    return False


class _OverloadedError(Exception):
    """An element has too many attributes or elements around it."""


class _LoadCheck:
    """lxml's parser target: raises _OverloadedError at the first element that is too much for feedparser."""

    def __init__(self) -> None:
        self._level = 0

    def start(self, _tag: str, attributes: Mapping[str, str]) -> None:
        self._level += 1
        if len(attributes) > _FEED_MAX_ATTRIBUTES or self._level > _FEED_MAX_LEVELS:
            raise _OverloadedError

    def end(self, _tag: str) -> None:
        self._level -= 1

    def close(self) -> None:
        """Do nothing. lxml requires the method."""


def _parse_feed(body: bytes, content_type: str | None, url: str, newest: _NewestEntries) -> bool:
    """Add a feed's entries with absolute URLs to `newest`; return False if it is neither RSS nor Atom.

    Raises ValueError for bytes on which feedparser fails: an encoding name that is not text, a namespace with blanks.

    feedparser removes the declarations of a document type, so no entity expands, and it reads malformed XML too. The
    texts of the entries are not used.
    """
    parsed = feedparser.parse(
        BytesIO(body),
        response_headers={"content-location": url, "content-type": content_type or "application/xml"},
        resolve_relative_uris=False,
        sanitize_html=False,
    )
    language = str(parsed.feed.get("language") or "")
    for entry in parsed.entries:
        newest.add(
            str(entry.get("link") or "").strip(),
            _feed_time(entry, "published", language),
            # Without `updated`, feedparser returns `published` for it.
            _feed_time(entry, "updated", language) if "updated" in entry else None,
        )
    return bool(parsed.version) or bool(parsed.entries)


def _feed_time(entry: Mapping[str, Any], name: str, language: str) -> datetime | None:
    """Return a time of an entry in UTC; None for one that is not understood.

    feedparser knows English names and standard formats. It reads "2025年11月5日" as the first of the month.
    """
    text = str(entry.get(name) or "")
    parsed = entry.get(f"{name}_parsed")
    if not isinstance(parsed, struct_time) or not text.isascii():
        stated = read_feed_date(text, language)
        if stated is not None or not isinstance(parsed, struct_time):
            return stated
    try:
        return datetime(*parsed[:6], tzinfo=UTC)
    except ValueError:
        return None


# Sitemaps and their indexes, in XML or one address a line. They are parsed as they are unpacked and no tree is built,
# so a sitemap of a million entries needs no more memory than one of ten. Scrapy's `Sitemap` builds a tree and does not
# read the dates of the news extension.

_ENTRY_ELEMENTS = {"url": FeedKind.SITEMAP, "sitemap": FeedKind.INDEX}
_FIELD_ELEMENTS = frozenset({"loc", "lastmod", "publication_date"})
_FIELD_MAX_CHARS = 3_000
_LINE_MAX_BYTES = 10_000


def _parse_sitemap(chunks: Iterable[bytes], newest: _NewestEntries) -> FeedKind:
    """Add the entries of an XML sitemap to `newest`, skipping damaged parts, and return its kind."""
    target = _SitemapTarget(newest)
    # Entities are not resolved, so an entity bomb does not expand, and nothing is loaded from outside.
    parser = etree.XMLParser(
        target=target, recover=True, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    try:
        for chunk in chunks:
            parser.feed(chunk)
        parser.close()
    except etree.XMLSyntaxError:
        pass  # the entries before the error are already in `newest`
    return target.kind


def _parse_text_sitemap(chunks: Iterable[bytes], newest: _NewestEntries) -> None:
    """Add the addresses of a text sitemap, one a line, to `newest`."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            _add_line(line, newest)
        # A line that never ends must not grow with the file.
        rest = rest[:_LINE_MAX_BYTES]
    _add_line(rest, newest)


def _add_line(line: bytes, newest: _NewestEntries) -> None:
    newest.add(line.decode("utf-8", "replace").strip("\ufeff \t"), None, None)


class _SitemapTarget:
    """lxml's parser target: receives elements and texts, and adds each finished entry."""

    def __init__(self, newest: _NewestEntries) -> None:
        self.kind = FeedKind.SITEMAP
        self._newest = newest
        self._path: list[str] = []
        self._field: str | None = None
        self._parts: list[str] = []
        self._chars = 0
        self._fields: dict[str, str] = {}

    def start(self, tag: str, _attributes: Mapping[str, str]) -> None:
        name = _local_name(tag)
        # Images and videos have a `loc` of their own in some extensions: only that of an entry counts.
        is_field = name in _FIELD_ELEMENTS and (
            name != "loc" or (bool(self._path) and self._path[-1] in _ENTRY_ELEMENTS)
        )
        self._field, self._parts, self._chars = (name if is_field else None), [], 0
        if name in _ENTRY_ELEMENTS:
            self.kind, self._fields = _ENTRY_ELEMENTS[name], {}
        self._path.append(name)

    def data(self, text: str) -> None:
        if self._field is not None and self._chars < _FIELD_MAX_CHARS:
            self._parts.append(text)
            self._chars += len(text)

    def end(self, tag: str) -> None:
        name = _local_name(tag)
        if self._path:
            self._path.pop()
        if self._field is not None:
            self._fields.setdefault(self._field, "".join(self._parts).strip())
            self._field = None
        if name in _ENTRY_ELEMENTS and self._fields:
            fields, self._fields = self._fields, {}
            self._newest.add(
                fields.get("loc", ""),
                parse_lastmod(fields.get("publication_date", "")),
                parse_lastmod(fields.get("lastmod", "")),
            )

    def close(self) -> None:
        """Do nothing. lxml requires the method."""


def _local_name(tag: str) -> str:
    return tag.rpartition("}")[2].rpartition(":")[2]

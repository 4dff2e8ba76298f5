"""Parse RSS and Atom feeds and sitemaps: bytes in, entries out. No network, no clock."""

from __future__ import annotations

import gzip
import re
import zlib
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from heapq import heappush, heapreplace
from io import BytesIO
from itertools import chain
from time import struct_time
from typing import TYPE_CHECKING, Any

import feedparser
from lxml import etree

from crawler.schedule import parse_lastmod

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy.http import Response


# The web is no older, and clocks that are wrong are mostly wrong by less.
_YEAR_MIN = 1990
_CLOCK_TOLERANCE = timedelta(days=1)
_URL_MAX_CHARS = 2_000


class FeedKind(StrEnum):
    """What an address listed; a closed set."""

    FEED = "feed"
    SITEMAP = "sitemap"
    INDEX = "index"
    """A sitemap of sitemaps."""


class FeedProblem(StrEnum):
    """Why there is nothing to read; counted under these words."""

    EMPTY = "empty"
    HTML = "html"
    """A page in place of a feed or sitemap: of an error, a log-in, or a reader's."""
    UNKNOWN = "unknown"
    """Neither RSS, Atom nor a sitemap."""
    DAMAGED = "damaged"
    """Bytes that cannot be unpacked, or be read as the feed that they say they are."""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """An address with what is said of it: when it was published, and when it was changed last."""

    url: str
    published: date | None = None
    changed: date | None = None

    @property
    def newest(self) -> date | None:
        """The later one of both days, None where neither is known."""
        return latest_day(self.published, self.changed)


@dataclass(frozen=True, slots=True)
class FeedListing:
    """What a feed or sitemap lists, the newest first, undated entries last and as they stand there.

    `left_out` counts entries beyond the limit, `doubtful` dates that cannot be. `cut` says that there was more than is
    ever read.
    """

    kind: FeedKind
    entries: tuple[FeedEntry, ...]
    left_out: int = 0
    doubtful: int = 0
    cut: bool = False


@dataclass(slots=True)
class NewestEntries:
    """Takes entries one after the other and keeps the newest `most`, in memory for no more than these."""

    most: int
    now: datetime
    seen: int = 0
    doubtful: int = 0
    _kept: list[tuple[date, int, FeedEntry]] = field(default_factory=list)

    def add(self, url: str, published: date | None, changed: date | None) -> None:
        """Take an entry; one without an http address is none."""
        if not url.startswith(("http://", "https://")) or len(url) > _URL_MAX_CHARS:
            return
        published, changed = self._believed(published), self._believed(changed)
        self.seen += 1
        # Of two with the same day, the one that stood first.
        rank = (latest_day(published, changed) or date.min, -self.seen)
        if len(self._kept) < self.most:
            heappush(self._kept, (*rank, FeedEntry(url, published, changed)))
        elif rank > self._kept[0][:2]:
            heapreplace(self._kept, (*rank, FeedEntry(url, published, changed)))

    def listed(self, kind: FeedKind, *, cut: bool) -> FeedListing:
        """Return what was kept."""
        entries = tuple(entry for *_, entry in sorted(self._kept, reverse=True))
        return FeedListing(kind, entries, self.seen - len(entries), self.doubtful, cut)

    def _believed(self, said: date | None) -> date | None:
        if said is None:
            return None
        if said.year >= _YEAR_MIN and _utc_day(said) <= _utc_day(self.now + _CLOCK_TOLERANCE):
            return said
        self.doubtful += 1
        return None


def latest_day(*moments: date | None) -> date | None:
    """Return the latest of some days, None where none is known."""
    return max((_utc_day(moment) for moment in moments if moment), default=None)


def _utc_day(moment: date) -> date:
    """Return the day in UTC; a time without a zone is UTC."""
    if isinstance(moment, datetime):
        return (moment if moment.tzinfo is None else moment.astimezone(UTC)).date()
    return moment


def parse_feed(body: bytes, content_type: str | None, url: str, newest: NewestEntries) -> bool:
    """Let `newest` have a feed's entries, addresses made absolute; False where it is neither RSS nor Atom.

    Raises ValueError for bytes on which feedparser fails (a charset whose name is no text, a namespace with blanks).

    feedparser takes out what a document type declares, so no entity unfolds, and reads what is no XML all the same. The
    texts of the entries are not looked at.
    """
    found = feedparser.parse(
        BytesIO(body),
        response_headers={"content-location": url, "content-type": content_type or "application/xml"},
        resolve_relative_uris=False,
        sanitize_html=False,
    )
    for entry in found.entries:
        newest.add(
            str(entry.get("link") or "").strip(),
            _feed_time(entry.get("published_parsed")),
            # What feedparser gives in its place where there is none would be `published` again.
            _feed_time(entry.get("updated_parsed") if "updated" in entry else None),
        )
    return bool(found.version) or bool(found.entries)


def _feed_time(parsed: Any) -> datetime | None:
    """Return feedparser's time, which is UTC; None for one that cannot be."""
    if not isinstance(parsed, struct_time):
        return None
    try:
        return datetime(*parsed[:6], tzinfo=UTC)
    except ValueError:
        return None


_ENTRY_ELEMENTS = {"url": FeedKind.SITEMAP, "sitemap": FeedKind.INDEX}
_FIELD_ELEMENTS = frozenset({"loc", "lastmod", "publication_date"})
# Of images and videos, which have a `loc` of their own in some extensions.
_FIELD_MAX_CHARS = 3_000
_LINE_MAX_BYTES = 10_000


def parse_sitemap(chunks: Iterable[bytes], newest: NewestEntries) -> FeedKind:
    """Let `newest` have the entries of an XML sitemap, damaged parts left out, and return what it was."""
    target = _SitemapTarget(newest)
    # Entities are not resolved, so a bomb of them stays what it is; nothing outside is ever loaded.
    parser = etree.XMLParser(
        target=target, recover=True, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    try:
        for chunk in chunks:
            parser.feed(chunk)
        parser.close()
    except etree.XMLSyntaxError:
        pass  # what stood before it was read
    return target.kind


def parse_text_sitemap(chunks: Iterable[bytes], newest: NewestEntries) -> None:
    """Let `newest` have the addresses of a text sitemap, one a line."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            _add_line(line, newest)
        # A line without an end is no address, and is not to grow with the file.
        rest = rest[:_LINE_MAX_BYTES]
    _add_line(rest, newest)


def _add_line(line: bytes, newest: NewestEntries) -> None:
    newest.add(line.decode("utf-8", "replace").strip("\ufeff \t"), None, None)


class _SitemapTarget:
    """What lxml tells of elements and texts."""

    def __init__(self, newest: NewestEntries) -> None:
        self.kind = FeedKind.SITEMAP
        self._newest = newest
        self._path: list[str] = []
        self._field: str | None = None
        self._parts: list[str] = []
        self._chars = 0
        self._said: dict[str, str] = {}

    def start(self, tag: str, _attributes: Mapping[str, str]) -> None:
        name = _local_name(tag)
        own = name in _FIELD_ELEMENTS and (name != "loc" or (bool(self._path) and self._path[-1] in _ENTRY_ELEMENTS))
        self._field, self._parts, self._chars = (name if own else None), [], 0
        if name in _ENTRY_ELEMENTS:
            self.kind, self._said = _ENTRY_ELEMENTS[name], {}
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
            self._said.setdefault(self._field, "".join(self._parts).strip())
            self._field = None
        if name in _ENTRY_ELEMENTS and self._said:
            said, self._said = self._said, {}
            self._newest.add(
                said.get("loc", ""),
                parse_lastmod(said.get("publication_date", "")),
                parse_lastmod(said.get("lastmod", "")),
            )

    def close(self) -> None:
        """Nothing is left to do; lxml asks for it."""


def _local_name(tag: str) -> str:
    return tag.rpartition("}")[2].rpartition(":")[2]


SITEMAP_MAX_BYTES = 50_000_000
"""Unpacked bytes of a sitemap that are read, which is about what the protocol allows."""

_FEED_MAX_BYTES = 5_000_000
_CHUNK_BYTES = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"
_SNIFFED_BYTES = 4_096
# Behind a declaration, comments and a document type with or without declarations in it. Each is matched in one way
# only: to try others would take for ever on a head made of them.
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


def read_listing(response: Response, now: datetime, most: int) -> FeedListing | FeedProblem:
    """Return what a response lists: the newest `most` entries of a feed, a sitemap or an index of sitemaps.

    It takes time in proportion to the bytes, up to some seconds for MOST_BYTES: in a crawl, call it in a thread.
    """
    unpacked = _UnpackedChunks(response.body)
    head = next(unpacked, b"")
    if not head.strip():
        return FeedProblem.DAMAGED if unpacked.damaged else FeedProblem.EMPTY
    text, newest = _decode(head[:_SNIFFED_BYTES]), NewestEntries(most, now)
    match = _ROOT_ELEMENT.match(text)
    root = match[1].lower() if match else ""
    if root in _SITEMAP_ROOTS:
        # A declaration that does not stand at the very start is an error to XML, and common.
        kind = parse_sitemap(chain([head.lstrip()], unpacked), newest)
    elif root in _FEED_ROOTS:
        return _feed_listing(response, head, unpacked, newest)
    elif _URL_LINE.match(text):
        parse_text_sitemap(chain([head], unpacked), newest)
        kind = FeedKind.SITEMAP
    else:
        return FeedProblem.HTML if root in _HTML_ROOTS or _HTML_DOCTYPE.match(text) else FeedProblem.UNKNOWN
    return newest.listed(kind, cut=unpacked.cut)


class _UnpackedChunks:
    """The bytes, unpacked a chunk at a time and up to MOST_BYTES, whatever a bomb would unfold to."""

    def __init__(self, body: bytes) -> None:
        self._file = gzip.GzipFile(fileobj=BytesIO(body)) if body.startswith(_GZIP_MAGIC) else BytesIO(body)
        self._left = SITEMAP_MAX_BYTES
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


def _feed_listing(
    response: Response, head: bytes, unpacked: _UnpackedChunks, newest: NewestEntries
) -> FeedListing | FeedProblem:
    parts, size = [head], len(head)
    for chunk in unpacked:
        parts.append(chunk)
        size += len(chunk)
        if size > _FEED_MAX_BYTES:
            break
    declared = response.headers.get("Content-Type")
    content_type = declared.decode("latin-1") if declared else None
    try:
        known = parse_feed(b"".join(parts).lstrip(), content_type, response.url, newest)
    except ValueError:
        return FeedProblem.DAMAGED
    if not known:
        return FeedProblem.UNKNOWN
    return newest.listed(FeedKind.FEED, cut=unpacked.cut or size > _FEED_MAX_BYTES)


def _decode(body: bytes) -> str:
    """Return bytes as text, for looking at their markup and addresses: UTF-16 where it has its mark, else UTF-8."""
    encoding = "utf-16" if body[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8"
    return body.decode(encoding, "replace")

"""What an address lists, told by its bytes: servers say `text/html` of feeds, and `application/xml` of anything."""

from __future__ import annotations

import gzip
import re
import zlib
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING

from crawler.feeds.entry import Fault, Kind, Listed, Newest
from crawler.feeds.feed import read_feed
from crawler.feeds.sitemap import read_lines, read_xml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from scrapy.http import Response

MOST_BYTES = 50_000_000
"""Unpacked bytes of a sitemap that are read, which is about what the protocol allows."""

_MOST_FEED_BYTES = 5_000_000
_CHUNK_BYTES = 1 << 16
_GZIP = b"\x1f\x8b"
_SNIFFED_BYTES = 4_096
# Behind a declaration, comments and a document type with or without declarations in it. Each is matched in one way
# only: to try others would take for ever on a head made of them.
_ROOT = re.compile(
    r"^[\s\ufeff]*+(?:(?><\?.{0,500}?\?>|<!--.{0,1000}?-->|<!doctype\s[^<>\[]{0,500}(?:\[.{0,3000}?\]\s*)?>)\s*+){0,8}+"
    r"<(?:[\w-]{1,20}:)?(\w{1,20})",
    re.IGNORECASE | re.DOTALL,
)
_HTML_DOCTYPE = re.compile(r"^[\s\ufeff]*(?:<!--.{0,1000}?-->\s*)?<!doctype\s+html", re.IGNORECASE | re.DOTALL)
_HTML_ROOTS = frozenset({"html", "head", "body", "title", "meta", "script", "div", "p", "h1", "center"})
_FEED_ROOTS = frozenset({"rss", "feed", "rdf", "channel"})
_SITEMAP_ROOTS = frozenset({"urlset", "sitemapindex"})
_ADDRESS = re.compile(r"^[\s\ufeff]*https?://\S")


def read(response: Response, now: datetime, most: int) -> Listed | Fault:
    """Return what a response lists: the newest `most` entries of a feed, a sitemap or an index of sitemaps.

    It takes time in proportion to the bytes, up to some seconds for MOST_BYTES: in a crawl, call it in a thread.
    """
    unpacked = _Unpacked(response.body)
    head = next(unpacked, b"")
    if not head.strip():
        return Fault.DAMAGED if unpacked.damaged else Fault.EMPTY
    text, newest = _text(head[:_SNIFFED_BYTES]), Newest(most, now)
    match = _ROOT.match(text)
    root = match[1].lower() if match else ""
    if root in _SITEMAP_ROOTS:
        # A declaration that does not stand at the very start is an error to XML, and common.
        kind = read_xml(chain([head.lstrip()], unpacked), newest)
    elif root in _FEED_ROOTS:
        return _read_feed(response, head, unpacked, newest)
    elif _ADDRESS.match(text):
        read_lines(chain([head], unpacked), newest)
        kind = Kind.SITEMAP
    else:
        return Fault.HTML if root in _HTML_ROOTS or _HTML_DOCTYPE.match(text) else Fault.UNKNOWN
    return newest.listed(kind, cut=unpacked.cut)


class _Unpacked:
    """The bytes, unpacked a chunk at a time and up to MOST_BYTES, whatever a bomb would unfold to."""

    def __init__(self, body: bytes) -> None:
        self._file = gzip.GzipFile(fileobj=BytesIO(body)) if body.startswith(_GZIP) else BytesIO(body)
        self._left = MOST_BYTES
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


def _read_feed(response: Response, head: bytes, unpacked: _Unpacked, newest: Newest) -> Listed | Fault:
    parts, size = [head], len(head)
    for chunk in unpacked:
        parts.append(chunk)
        size += len(chunk)
        if size > _MOST_FEED_BYTES:
            break
    declared = response.headers.get("Content-Type")
    content_type = declared.decode("latin-1") if declared else None
    try:
        known = read_feed(b"".join(parts).lstrip(), content_type, response.url, newest)
    except ValueError:
        return Fault.DAMAGED
    if not known:
        return Fault.UNKNOWN
    return newest.listed(Kind.FEED, cut=unpacked.cut or size > _MOST_FEED_BYTES)


def _text(body: bytes) -> str:
    """Return bytes as text, for looking at their markup and addresses: UTF-16 where it has its mark, else UTF-8."""
    encoding = "utf-16" if body[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8"
    return body.decode(encoding, "replace")

"""Sitemaps and their indexes, XML or a line for each address, read as they are unpacked.

Scrapy's `Sitemap` reads neither the news extension's dates nor a file without having it as a tree: here nothing is
built, so that a sitemap of a million entries, or of a million other elements, needs no more memory than one of ten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

from crawler.feeds.entry import Kind
from crawler.schedule import moment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from crawler.feeds.entry import Newest

_ENTRIES = {"url": Kind.SITEMAP, "sitemap": Kind.INDEX}
_FIELDS = frozenset({"loc", "lastmod", "publication_date"})
# Of images and videos, which have a `loc` of their own in some extensions.
_LONGEST_TEXT = 3_000
_LONGEST_LINE = 10_000


def read_xml(chunks: Iterable[bytes], newest: Newest) -> Kind:
    """Let `newest` have the entries of an XML sitemap, damaged parts left out, and return what it was."""
    target = _Target(newest)
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


def read_lines(chunks: Iterable[bytes], newest: Newest) -> None:
    """Let `newest` have the addresses of a text sitemap, one a line."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            _add_line(line, newest)
        # A line without an end is no address, and is not to grow with the file.
        rest = rest[:_LONGEST_LINE]
    _add_line(rest, newest)


def _add_line(line: bytes, newest: Newest) -> None:
    newest.add(line.decode("utf-8", "replace").strip("\ufeff \t"), None, None)


class _Target:
    """What lxml tells of elements and texts."""

    def __init__(self, newest: Newest) -> None:
        self.kind = Kind.SITEMAP
        self._newest = newest
        self._path: list[str] = []
        self._field: str | None = None
        self._parts: list[str] = []
        self._chars = 0
        self._said: dict[str, str] = {}

    def start(self, tag: str, _attributes: Mapping[str, str]) -> None:
        name = _local(tag)
        own = name in _FIELDS and (name != "loc" or (bool(self._path) and self._path[-1] in _ENTRIES))
        self._field, self._parts, self._chars = (name if own else None), [], 0
        if name in _ENTRIES:
            self.kind, self._said = _ENTRIES[name], {}
        self._path.append(name)

    def data(self, text: str) -> None:
        if self._field is not None and self._chars < _LONGEST_TEXT:
            self._parts.append(text)
            self._chars += len(text)

    def end(self, tag: str) -> None:
        name = _local(tag)
        if self._path:
            self._path.pop()
        if self._field is not None:
            self._said.setdefault(self._field, "".join(self._parts).strip())
            self._field = None
        if name in _ENTRIES and self._said:
            said, self._said = self._said, {}
            self._newest.add(
                said.get("loc", ""), moment(said.get("publication_date", "")), moment(said.get("lastmod", ""))
            )

    def close(self) -> None:
        """Nothing is left to do; lxml asks for it."""


def _local(tag: str) -> str:
    return tag.rpartition("}")[2].rpartition(":")[2]

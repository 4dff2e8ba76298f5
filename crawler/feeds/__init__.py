"""Feeds and sitemaps: bytes in, entries out, whatever the bytes are. No network, no clock."""

from crawler.feeds.entry import Entry, Fault, Kind, Listed
from crawler.feeds.read import MOST_BYTES, read

__all__ = ["MOST_BYTES", "Entry", "Fault", "Kind", "Listed", "read"]

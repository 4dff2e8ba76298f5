"""RSS and Atom, by feedparser."""

from __future__ import annotations

from datetime import UTC, datetime
from io import BytesIO
from time import struct_time
from typing import TYPE_CHECKING, Any

import feedparser

if TYPE_CHECKING:
    from crawler.feeds.entry import Newest


def read_feed(body: bytes, content_type: str | None, url: str, newest: Newest) -> bool:
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
            _moment(entry.get("published_parsed")),
            # What feedparser gives in its place where there is none would be `published` again.
            _moment(entry.get("updated_parsed") if "updated" in entry else None),
        )
    return bool(found.version) or bool(found.entries)


def _moment(parsed: Any) -> datetime | None:
    """Return feedparser's time, which is UTC; None for one that cannot be."""
    if not isinstance(parsed, struct_time):
        return None
    try:
        return datetime(*parsed[:6], tzinfo=UTC)
    except ValueError:
        return None

"""The rows of table `page`: found by key, inserted, brought up to date."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, select, update
from xxhash import xxh64_intdigest

from cleaning.terms import normalise
from crawler import urls
from crawler.storage.models import page

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from crawler.visit import Fetched, Visit

# On saved news pages level 1 takes under half the time of level 6, for a sixth more bytes.
_ZLIB_LEVEL = 1

_FIND = select(page.c.id, page.c.body_hash, page.c.page_fingerprint, page.c.html.is_not(None).label("has_html")).where(
    page.c.url_key == bindparam("key")
)
_INSERT = insert(page)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one visit reads on a page: ready to be stored."""

    at: datetime
    crawl_id: int
    fetched: Fetched
    columns: dict[str, Any]

    @property
    def key(self) -> str:
        return str(self.columns["url_key"])

    @property
    def site(self) -> str:
        return str(self.columns["site"])


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page that is in the database already."""

    page_id: int
    body_hash: int
    fingerprint: int | None
    has_html: bool


def read(visit: Visit, crawl_id: int, scheme: str) -> Reading | None:
    """Return a page's columns, None for a visit without one; what the spider stated wins over what the page says."""
    fetched, cleaned = visit.fetched, visit.cleaned
    if fetched is None or cleaned is None:
        return None
    metadata = fetched.stated.filled_from(cleaned.metadata)
    columns = {
        "url": urls.without_credentials(fetched.url),
        "url_key": urls.url_key(fetched.url, metadata.canonical),
        "site": urls.site(fetched.url),
        "section": _plain(metadata.section),
        "title": _plain(metadata.title),
        "author": _plain(metadata.author),
        "published": _plain(metadata.published),
        "language": _plain(metadata.language),
        "last_seen": visit.at,
        "crawl_id": crawl_id,
        "etag": _plain(fetched.etag),
        "last_modified": _plain(fetched.last_modified),
        "body_hash": xxh64_intdigest(fetched.body),
        "page_fingerprint": visit.fingerprint,
        "method": cleaned.method,
        "scheme": scheme,
        "encoding": cleaned.encoding,
    }
    return Reading(visit.at, crawl_id, fetched, columns)


def find(connection: Connection, key: str) -> StoredPage | None:
    """Return the page stored under a key, None if there is none."""
    row = connection.execute(_FIND, {"key": key}).first()
    return None if row is None else StoredPage(row.id, row.body_hash, row.page_fingerprint, bool(row.has_html))


def add(connection: Connection, reading: Reading, *, keep_html: bool) -> int:
    """Insert a page at its first visit and return its id."""
    values = reading.columns | {
        "first_seen": reading.at,
        "last_changed": reading.at,
        "visits": 1,
        "changes": 0,
        "html": _compressed(reading.fetched.body) if keep_html else None,
    }
    key = connection.execute(_INSERT, values).inserted_primary_key
    assert key is not None  # one row, always
    return int(key[0])


def refresh(connection: Connection, stored: StoredPage, reading: Reading, *, changed: bool, keep_html: bool) -> None:
    """Bring a page up to date at a later visit; its HTML is written only where it is another."""
    values = dict(reading.columns)
    if changed:
        values["last_changed"] = reading.at
    if stored.body_hash != values["body_hash"] or stored.has_html != keep_html:
        values["html"] = _compressed(reading.fetched.body) if keep_html else None
    counts = {"visits": page.c.visits + 1, "changes": page.c.changes + int(changed)}
    connection.execute(update(page).where(page.c.id == stored.page_id).values(values | counts))


def html(compressed: bytes) -> bytes:
    """Return a page's body from what column `html` holds."""
    return zlib.decompress(compressed)


def _compressed(body: bytes) -> bytes:
    return zlib.compress(body, _ZLIB_LEVEL)


def _plain(text: str | None) -> str | None:
    return None if text is None else normalise(text)

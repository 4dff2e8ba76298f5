"""The rows of table `page`: found by key, inserted, brought up to date."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, select, update
from xxhash import xxh64_intdigest

from cleaning.terms import normalise
from crawler import urls
from crawler.schedule import History, Kind, next_visit
from crawler.storage.models import page
from crawler.storage.revisits import is_repeatable, provenance
from crawler.visit import Outcome

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from crawler.schedule import Bounds
    from crawler.storage.revisits import Origin
    from crawler.visit import Fetched, Visit

# On saved news pages level 1 takes under half the time of level 6, for a sixth more bytes.
_ZLIB_LEVEL = 1

HISTORY = (
    page.c.url_key,
    page.c.published,
    page.c.first_seen,
    page.c.last_seen,
    page.c.last_changed,
    page.c.visits,
    page.c.changes,
    page.c.misses,
)
"""The columns that `history` reads."""

_DESCRIPTION = ("url", "site", "section", "title", "author", "published", "language")
_FIND = select(
    page.c.id,
    *(page.c[name] for name in _DESCRIPTION if name != "published"),  # HISTORY has that
    page.c.body_hash,
    page.c.page_fingerprint,
    page.c.lastmod,
    page.c.html.is_not(None).label("has_html"),
    page.c.spider.is_not(None).label("has_origin"),
    page.c.retired_at.is_not(None).label("retired"),
    *HISTORY,
).where(page.c.url_key == bindparam("key"))
_INSERT = insert(page)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one visit reads on a page: ready to be stored. Its next visit is not sooner or later than `bounds` say."""

    at: datetime
    fetched: Fetched
    columns: dict[str, Any]
    bounds: Bounds

    @property
    def key(self) -> str:
        return str(self.columns["url_key"])

    @property
    def site(self) -> str:
        return str(self.columns["site"])

    @property
    def description(self) -> tuple[object, ...]:
        """What the page says of itself, as exports show it."""
        return tuple(self.columns[name] for name in _DESCRIPTION)

    @property
    def has_origin(self) -> bool:
        """Whether it is known how to visit the page again."""
        return "spider" in self.columns


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page that is in the database already; with an origin it is known how to visit it again."""

    page_id: int
    url: str
    site: str
    body_hash: int
    fingerprint: int | None
    lastmod: str | None  # what a sitemap has said since the last visit
    has_html: bool
    has_origin: bool
    retired: bool
    history: History
    description: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """The crawl that a page is read by: where it comes from, if it is to be visited again, and how it reads."""

    crawl_id: int
    scheme: str
    bounds: Bounds
    origin: Origin | None = None
    options_hash: int | None = None


def read(visit: Visit, source: Source) -> Reading | None:
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
        "crawl_id": source.crawl_id,
        "etag": _plain(fetched.etag),
        "last_modified": _plain(fetched.last_modified),
        "body_hash": xxh64_intdigest(fetched.body),
        "page_fingerprint": visit.fingerprint,
        "method": cleaned.method,
        "scheme": source.scheme,
        "encoding": cleaned.encoding,
        "children": _children(visit),
        "options_hash": source.options_hash,
    }
    return Reading(visit.at, fetched, columns | _provenance(visit, source.origin), source.bounds)


def find(connection: Connection, key: str) -> StoredPage | None:
    """Return the page stored under a key, None if there is none."""
    row = connection.execute(_FIND, {"key": key}).first()
    if row is None:
        return None
    return StoredPage(
        page_id=row.id,
        url=row.url,
        site=row.site,
        body_hash=row.body_hash,
        fingerprint=row.page_fingerprint,
        lastmod=row.lastmod,
        has_html=bool(row.has_html),
        has_origin=bool(row.has_origin),
        retired=bool(row.retired),
        history=history(row),
        description=tuple(getattr(row, name) for name in _DESCRIPTION),
    )


def history(row: Any) -> History:
    """Return the history that a page's columns hold; one with a date is an article."""
    published = _day(row.published)
    return History(
        key=row.url_key,
        kind=Kind.OTHER if published is None else Kind.ARTICLE,
        first_seen=row.first_seen,
        last_seen=row.last_seen,
        last_changed=row.last_changed,
        visits=row.visits,
        changes=row.changes,
        published=published,
        misses=row.misses,
    )


def add(connection: Connection, reading: Reading, *, keep_html: bool) -> int:
    """Insert a page at its first visit and return its id."""
    published = _day(reading.columns["published"])
    kind = Kind.OTHER if published is None else Kind.ARTICLE
    begun = History(reading.key, kind, reading.at, reading.at, reading.at, published=published)
    values = reading.columns | {
        "first_seen": reading.at,
        "last_changed": reading.at,
        "visits": 1,
        "changes": 0,
        "next_visit": next_visit(begun, reading.at, reading.bounds) if reading.has_origin else None,
        "html": _compressed(reading.fetched.body) if keep_html else None,
    }
    key = connection.execute(_INSERT, values).inserted_primary_key
    assert key is not None  # one row, always
    return int(key[0])


def refresh(connection: Connection, stored: StoredPage, reading: Reading, *, changed: bool, keep_html: bool) -> None:
    """Bring a page up to date at a later visit; its HTML is written only where it is another.

    A retired page is back.
    """
    after = stored.history.visited(reading.at, changed=changed)
    values = reading.columns | {
        "last_changed": after.last_changed,
        "visits": after.visits,
        "changes": after.changes,
        "misses": 0,
        "retired_at": None,
        "lastmod": None,
    }
    if stored.has_origin or reading.has_origin:
        values["next_visit"] = next_visit(after, reading.at, reading.bounds)
    if stored.body_hash != values["body_hash"] or stored.has_html != keep_html:
        values["html"] = _compressed(reading.fetched.body) if keep_html else None
    connection.execute(update(page).where(page.c.id == stored.page_id).values(values))


def html(compressed: bytes) -> bytes:
    """Return a page's body from what column `html` holds."""
    return zlib.decompress(compressed)


def _children(visit: Visit) -> int | None:
    """Return what the callback yielded beside the page; None where it failed, so that nobody knows what it would."""
    if visit.outcome is Outcome.CALLBACK_FAILED:
        return None
    return visit.children + visit.items + visit.parts - 1


def _provenance(visit: Visit, origin: Origin | None) -> dict[str, Any]:
    """Return how a page is visited again; nothing where it was not at the address that was asked for, or posted to."""
    asked = visit.request
    if asked is None or origin is None or not is_repeatable(asked):
        return {}
    return provenance(asked, origin) if visit.parts == 1 or visit.url == asked.url else {}


def _day(published: str | None) -> date | None:
    """Return the day that a stored date names; None where it names none."""
    try:
        return None if published is None else date.fromisoformat(published[:10])
    except ValueError:
        return None


def _compressed(body: bytes) -> bytes:
    return zlib.compress(body, _ZLIB_LEVEL)


def _plain(text: str | None) -> str | None:
    return None if text is None else normalise(text)

"""What is stored of pages and sections, and how they are visited again."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from xxhash import xxh64_intdigest

from cleaning.terms import normalise
from crawler import urls
from crawler.redact import redact_arguments
from crawler.schedule import (
    PageKind,
    SitemapTrust,
    VisitHistory,
    is_retired,
    lastmod_claims_change,
    next_visit,
    trusted_claim,
)
from crawler.schedule import parse_lastmod as parse_lastmod_
from crawler.storage.tables import batched, page, section, sitemap_trust
from crawler.urls import host_of, url_key, without_credentials
from crawler.visit import METHOD_META_KEY, Outcome, ProcessedPage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from typing import Any, Self

    from sqlalchemy.engine import Connection, Row

    from crawler.schedule import RevisitBounds
    from crawler.storage.requests import LeasedRequest
    from crawler.visit import RequestRecord, Visit


REVISIT_KEY = "frontier_revisited"
"""Where a request of a re-crawl carries, in its meta, the key of the page or section that it is for."""

LASTMOD_KEY = "lastmod"
"""Where a request carries, in its meta, what a sitemap says of its page: when it changed (ISO 8601)."""

_TRANSIENT_META = frozenset(
    {REVISIT_KEY, LASTMOD_KEY, "redirect_reasons", "redirect_times", "redirect_ttl", "redirect_urls", "retry_times"}
)
_REVISITED_PAGES = select(
    page.c.url_key,
    page.c.url,
    page.c.etag,
    page.c.last_modified,
    page.c.body_hash,
    page.c.method,
    page.c.html.is_not(None).label("has_html"),
    page.c.spider,
    page.c.callback,
    page.c.cb_kwargs,
    page.c.arguments,
    page.c.children,
    page.c.options_hash,
    page.c.retired_at,
).where(page.c.url_key.in_(bindparam("keys", expanding=True)))


@dataclass(frozen=True, slots=True)
class PageOrigin:
    """Which crawls a page comes from: of this spider with these arguments, secrets masked."""

    spider: str
    arguments: Mapping[str, Any]

    @classmethod
    def of(cls, spider: str, arguments: Mapping[str, Any]) -> Self:
        """Return a crawl's origin; arguments that begin with `_` are other programs' business."""
        own = {name: value for name, value in arguments.items() if not name.startswith("_")}
        return cls(spider, json.loads(json.dumps(redact_arguments(own))))  # as it is read back


@dataclass(frozen=True, slots=True)
class ReadPolicy:
    """How a crawl reads pages; a page that it would read in another way than before is to be fetched whole."""

    origin: PageOrigin
    method: str
    options_hash: int
    keep_html: bool


@dataclass(frozen=True, slots=True)
class PageValidators:
    """What a stored page's last visit found, by which an unchanged one is recognised."""

    body_hash: int
    etag: str | None
    last_modified: str | None


def target_key(wanted: RequestRecord) -> str:
    """Return the key of the page or section that a request is for."""
    return str(wanted.meta.get(REVISIT_KEY) or url_key(wanted.url))


def is_repeatable(wanted: RequestRecord) -> bool:
    """Tell whether a request can be made again from what is stored of it: one with a body cannot."""
    return wanted.method == "GET" and not wanted.body


def origin_columns(wanted: RequestRecord, origin: PageOrigin) -> dict[str, Any]:
    """Return the columns of page and section by which they are visited again; who referred to them is left out."""
    return {
        "spider": origin.spider,
        "arguments": dict(origin.arguments),
        "callback": wanted.callback,
        "cb_kwargs": dict(wanted.cb_kwargs),
        "headers": {name: values for name, values in wanted.headers.items() if name.lower() != "referer"},
        "meta": {name: value for name, value in wanted.meta.items() if name not in _TRANSIENT_META},
    }


def find_validators(
    connection: Connection, reader: ReadPolicy, leased: Sequence[LeasedRequest]
) -> dict[int, PageValidators]:
    """Return, by the request's id, the stored pages that an answer of "not modified" would do for."""
    asked = [one for one in leased if is_repeatable(one.record) and not one.attempts]
    keys = {one.lease_token.request_id: target_key(one.record) for one in asked}
    found = connection.execute(_REVISITED_PAGES, {"keys": list(keys.values())}) if keys else ()
    stored = {row.url_key: row for row in found}
    pairs = ((one, stored.get(keys[one.lease_token.request_id])) for one in asked)
    return {
        one.lease_token.request_id: PageValidators(row.body_hash, row.etag, row.last_modified)
        for one, row in pairs
        if row is not None and _can_reuse(row, one.record, reader)
    }


def keys_not_due(connection: Connection, wanted: Sequence[RequestRecord], now: datetime) -> frozenset[str]:
    """Return the keys of requests for what is visited when its own time comes, and not because something leads there.

    That are pages and sections which have a next visit. Who was retired has returned where something leads there, but
    is not asked about before its next visit would be due.
    """
    asked = {one.key: target_key(one) for one in wanted if is_repeatable(one)}
    found: set[str] = set()
    for table in (page, section) if asked else ():
        waits = table.c.retired_at.is_(None) | (table.c.next_visit > now)
        columns = select(table.c.url_key).where(table.c.url_key.in_(set(asked.values())), table.c.spider.is_not(None))
        found.update(connection.scalars(columns.where(table.c.next_visit.is_not(None), waits)))
    return frozenset(request_key for request_key, key in asked.items() if key in found)


def _can_reuse(row: Row[Any], wanted: RequestRecord, reader: ReadPolicy) -> bool:
    """Tell whether a visit that found the page unchanged would lead to nothing else than the one before it."""
    return (
        row.children == 0
        and row.retired_at is None
        and row.url == without_credentials(wanted.url)
        and (row.spider, row.arguments) == (reader.origin.spider, reader.origin.arguments)
        and (row.callback, row.cb_kwargs) == (wanted.callback, wanted.cb_kwargs)
        and (row.method, row.options_hash) == (wanted.meta.get(METHOD_META_KEY, reader.method), reader.options_hash)
        and bool(row.has_html) == reader.keep_html
    )


# On saved news pages level 1 takes under half the time of level 6, for a sixth more bytes.
_ZLIB_LEVEL = 1

PAGE_HISTORY = (
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
_FIND_PAGE = select(
    page.c.id,
    *(page.c[name] for name in _DESCRIPTION if name != "published"),  # HISTORY has that
    page.c.body_hash,
    page.c.page_fingerprint,
    page.c.lastmod,
    page.c.html.is_not(None).label("has_html"),
    page.c.spider.is_not(None).label("has_origin"),
    page.c.retired_at.is_not(None).label("retired"),
    *PAGE_HISTORY,
).where(page.c.url_key == bindparam("key"))
_INSERT_PAGE = insert(page)


@dataclass(frozen=True, slots=True)
class PageRecord:
    """What one visit reads on a page: ready to be stored. Its next visit is not sooner or later than `bounds` say."""

    at: datetime
    page: ProcessedPage
    columns: dict[str, Any]
    bounds: RevisitBounds

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
    history: VisitHistory
    description: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class PageSource:
    """The crawl that a page is read by: where it comes from, if it is to be visited again, and how it reads."""

    crawl_id: int
    scheme: str
    bounds: RevisitBounds
    origin: PageOrigin | None = None
    options_hash: int | None = None


def page_record(visit: Visit, source: PageSource) -> PageRecord | None:
    """Return a page's columns, None for a visit without one; what the spider stated wins over what the page says."""
    page = visit.page
    if not isinstance(page, ProcessedPage):
        return None
    fetched, cleaned = page.fetched, page.cleaned
    metadata = fetched.stated.filled_from(cleaned.metadata)
    columns = {
        "url": urls.without_credentials(fetched.url),
        "url_key": urls.url_key(fetched.url, metadata.canonical),
        "site": urls.site_of(fetched.url),
        "section": _normalised(metadata.section),
        "title": _normalised(metadata.title),
        "author": _normalised(metadata.author),
        "published": _normalised(metadata.published),
        "language": _normalised(metadata.language),
        "last_seen": visit.at,
        "crawl_id": source.crawl_id,
        "etag": _normalised(fetched.etag),
        "last_modified": _normalised(fetched.last_modified),
        "body_hash": xxh64_intdigest(fetched.body),
        "page_fingerprint": page.fingerprint,
        "method": cleaned.method,
        "scheme": source.scheme,
        "encoding": cleaned.encoding,
        "children": _count_children(visit),
        "options_hash": source.options_hash,
    }
    return PageRecord(visit.at, page, columns | _record_origin(visit, source.origin), source.bounds)


def find_page(connection: Connection, key: str) -> StoredPage | None:
    """Return the page stored under a key, None if there is none."""
    row = connection.execute(_FIND_PAGE, {"key": key}).first()
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
        history=page_history(row),
        description=tuple(getattr(row, name) for name in _DESCRIPTION),
    )


def page_history(row: Any) -> VisitHistory:
    """Return the history that a page's columns hold; one with a date is an article."""
    published = _published_day(row.published)
    return VisitHistory(
        key=row.url_key,
        kind=PageKind.OTHER if published is None else PageKind.ARTICLE,
        first_seen=row.first_seen,
        last_seen=row.last_seen,
        last_changed=row.last_changed,
        visits=row.visits,
        changes=row.changes,
        published=published,
        misses=row.misses,
    )


def add_page(connection: Connection, reading: PageRecord, *, keep_html: bool) -> int:
    """Insert a page at its first visit and return its id."""
    published = _published_day(reading.columns["published"])
    kind = PageKind.OTHER if published is None else PageKind.ARTICLE
    begun = VisitHistory(reading.key, kind, reading.at, reading.at, reading.at, published=published)
    values = reading.columns | {
        "first_seen": reading.at,
        "last_changed": reading.at,
        "visits": 1,
        "changes": 0,
        "next_visit": next_visit(begun, reading.at, reading.bounds) if reading.has_origin else None,
        "html": _compress(reading.page.fetched.body) if keep_html else None,
    }
    key = connection.execute(_INSERT_PAGE, values).inserted_primary_key
    assert key is not None  # one row, always
    return int(key[0])


def update_page(
    connection: Connection, stored: StoredPage, reading: PageRecord, *, changed: bool, keep_html: bool
) -> None:
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
        values["html"] = _compress(reading.page.fetched.body) if keep_html else None
    connection.execute(update(page).where(page.c.id == stored.page_id).values(values))


def decompress_html(compressed: bytes) -> bytes:
    """Return a page's body from what column `html` holds."""
    return zlib.decompress(compressed)


def _count_children(visit: Visit) -> int | None:
    """Return what the callback yielded beside the page; None where it failed, so that nobody knows what it would."""
    if visit.outcome is Outcome.CALLBACK_FAILED:
        return None
    return visit.children + visit.items + visit.parts - 1


def _record_origin(visit: Visit, origin: PageOrigin | None) -> dict[str, Any]:
    """Return how a page is visited again; nothing where it was not at the address that was asked for, or posted to."""
    asked = visit.request
    if asked is None or origin is None or not is_repeatable(asked):
        return {}
    return origin_columns(asked, origin) if visit.parts == 1 or visit.url == asked.url else {}


def _published_day(published: str | None) -> date | None:
    """Return the day that a stored date names; None where it names none."""
    try:
        return None if published is None else date.fromisoformat(published[:10])
    except ValueError:
        return None


def _compress(body: bytes) -> bytes:
    return zlib.compress(body, _ZLIB_LEVEL)


def _normalised(text: str | None) -> str | None:
    return None if text is None else normalise(text)


SECTION_HISTORY = (
    section.c.id,
    section.c.url_key,
    section.c.first_seen,
    section.c.last_seen,
    section.c.last_changed,
    section.c.visits,
    section.c.changes,
    section.c.misses,
    section.c.links_hash,
    section.c.retired_at,
)
_FIND_SECTION = select(*SECTION_HISTORY).where(section.c.url_key == bindparam("key"))


def record_section(
    connection: Connection, visit: Visit, wanted: RequestRecord, origin: PageOrigin, bounds: RevisitBounds
) -> None:
    """Note what a section has led to, in place of what it led to before; a page that never led to anything is none."""
    key = target_key(wanted)
    stored = connection.execute(_FIND_SECTION, {"key": key}).first()
    if not is_repeatable(wanted) or (stored is None and not visit.requests):
        return
    links = links_hash(visit.requests)
    if stored is None:
        history = VisitHistory(key, PageKind.SECTION, visit.at, visit.at, visit.at)
    else:
        history = section_history(stored).visited(visit.at, changed=stored.links_hash != links)
    values = origin_columns(wanted, origin) | {
        "url": urls.without_credentials(visit.url),
        "site": urls.site_of(visit.url),
        "last_seen": visit.at,
        "last_changed": history.last_changed,
        "visits": history.visits,
        "changes": history.changes,
        "next_visit": next_visit(history, visit.at, bounds),
        "links_hash": links,
        "misses": 0,
        "retired_at": None,
    }
    if stored is None:
        connection.execute(insert(section), values | {"url_key": key, "first_seen": visit.at})
    else:
        _update_section(connection, stored.id, values)


def record_section_absence(
    connection: Connection, key: str, at: datetime, bounds: RevisitBounds, *, for_good: bool
) -> None:
    """Note that a section was not found; it is retired after as many misses as a page."""
    stored = connection.execute(_FIND_SECTION, {"key": key}).first()
    if stored is None:
        return
    history = section_history(stored).missed()
    values: dict[str, Any] = {"misses": history.misses, "next_visit": next_visit(history, at, bounds)}
    if stored.retired_at is None and (for_good or is_retired(history)):
        values["retired_at"] = at
    _update_section(connection, stored.id, values)


def defer_section(connection: Connection, key: str, at: datetime, bounds: RevisitBounds) -> None:
    """Note that a visit to a section told nothing: the next one is when it would be after one that did."""
    stored = connection.execute(_FIND_SECTION, {"key": key}).first()
    if stored is not None:
        _update_section(connection, stored.id, {"next_visit": next_visit(section_history(stored), at, bounds)})


def links_hash(requests: Iterable[RequestRecord]) -> int:
    """Return the hash of what requests lead to, whatever their order and number."""
    keys = {one.key.partition("+")[0] for one in requests}  # without what sets equal requests apart
    return xxh64_intdigest("\n".join(sorted(keys)).encode())


def section_history(row: Any) -> VisitHistory:
    """Return the history that a section's columns hold."""
    return VisitHistory(
        key=row.url_key,
        kind=PageKind.SECTION,
        first_seen=row.first_seen,
        last_seen=row.last_seen,
        last_changed=row.last_changed,
        visits=row.visits,
        changes=row.changes,
        misses=row.misses,
    )


def _update_section(connection: Connection, section_id: int, values: dict[str, Any]) -> None:
    connection.execute(update(section).where(section.c.id == section_id).values(values))


_LASTMOD_LENGTH_MAX = 40  # characters of a date and time with its zone
_SET_LASTMOD = update(page).where(page.c.id == bindparam("page")).values(lastmod=bindparam("said"))


@dataclass(frozen=True, slots=True)
class SitemapEvidence:
    """A visit to a page of which a sitemap had said something."""

    host: str
    said: bool
    changed: bool


def parse_lastmod(lastmod: object) -> date | None:
    """Return the date, or date and time, that a `<lastmod>` names; None for one that names none."""
    return parse_lastmod_(lastmod) if isinstance(lastmod, str) and len(lastmod.strip()) <= _LASTMOD_LENGTH_MAX else None


def sitemap_evidence(stored: StoredPage, *, changed: bool) -> SitemapEvidence | None:
    """Return what a visit to a page shows of its sitemap; None where that has said nothing since the last one."""
    said = lastmod_claims_change(parse_lastmod(stored.lastmod), stored.history.last_seen)
    return None if said is None else SitemapEvidence(host_of(stored.url), said, changed)


def announced_changes(connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]]) -> set[int]:
    """Return the ids of those pages of which a sitemap that is believed says that they changed since they were seen.

    The rows have columns `id`, `url`, `last_seen` and `lastmod` of pages.
    """
    told = [(row, host_of(row.url)) for row in rows if row.lastmod]
    trusts = _read_trusts(connection, {name for _, name in told})
    return {
        row.id
        for row, name in told
        if trusted_claim(trusts.get(name, SitemapTrust()), parse_lastmod(row.lastmod), row.last_seen)
    }


def record_sitemap_evidence(connection: Connection, proofs: Sequence[SitemapEvidence]) -> None:
    """Note what visits have shown."""
    names = sorted({proof.host for proof in proofs})
    if not names:
        return
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    new = insert(sitemap_trust).on_conflict_do_nothing(index_elements=["host"])
    connection.execute(new, [{"host": name, "right": 0, "wrong": 0} for name in names])
    trusts = _read_trusts(connection, names, lock=True)
    for proof in proofs:
        trusts[proof.host] = trusts[proof.host].learned(proof.said, changed=proof.changed)
    for name in names:
        values = {"right": trusts[name].right, "wrong": trusts[name].wrong}
        connection.execute(update(sitemap_trust).where(sitemap_trust.c.host == name).values(values))


def record_lastmods(connection: Connection, wanted: Sequence[RequestRecord], now: datetime) -> None:
    """Keep what sitemaps say of the requests' pages; those that changed, by one that is believed, are due now."""
    said = {
        target_key(one): one.meta[LASTMOD_KEY]
        for one in wanted
        if is_repeatable(one) and parse_lastmod(one.meta.get(LASTMOD_KEY))
    }
    pages = {row.id: row.url_key for part in batched(list(said)) for row in _lock_free_pages(connection, part)}
    if not pages:
        return
    connection.execute(_SET_LASTMOD, [{"page": row_id, "said": said[key]} for row_id, key in pages.items()])
    for part in batched(list(pages)):
        columns = select(page.c.id, page.c.url, page.c.last_seen, page.c.lastmod)
        waiting = connection.execute(columns.where(page.c.id.in_(part), page.c.next_visit > now)).all()
        changed = announced_changes(connection, waiting)
        connection.execute(update(page).where(page.c.id.in_(changed)).values(next_visit=now))


def _lock_free_pages(connection: Connection, keys: Sequence[str]) -> Iterator[Row[int, str]]:
    """Give id and key of the stored pages with these keys, locked; without those that are being visited just now."""
    live = select(page.c.id, page.c.url_key).where(page.c.url_key.in_(keys), page.c.retired_at.is_(None))
    yield from connection.execute(live.order_by(page.c.id).with_for_update(skip_locked=True))


def _read_trusts(connection: Connection, names: Collection[str], *, lock: bool = False) -> dict[str, SitemapTrust]:
    columns = select(sitemap_trust).where(sitemap_trust.c.host.in_(names)).order_by(sitemap_trust.c.host)
    statement = columns.with_for_update() if lock else columns
    return {row.host: SitemapTrust(row.right, row.wrong) for row in connection.execute(statement)} if names else {}

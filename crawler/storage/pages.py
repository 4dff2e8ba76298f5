"""Stored pages and sections: the columns that a visit writes, and how they are visited again.

A page is content. A section is a listing, which is visited again for the links on it. Both know the crawl and the
request that found them, so that a re-crawl can repeat the request. The caller owns the transaction.

A spider that reads a sitemap passes each `<lastmod>` on with the page's request, as `meta={"lastmod": "2026-03-01"}`.
It is stored with the page until the next visit, which shows whether it was right. Where a host's dates were right often
enough (`crawler.schedule.trusted_claim`), a page with a new date is due at once.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, bindparam, exists, select, union, update
from xxhash import xxh64_intdigest

from crawler import schedule
from crawler.config import CLEANING_SETTINGS
from crawler.discovery.live_coverage import is_live
from crawler.redact import redact_arguments
from crawler.schedule import PageKind, SitemapTrust, VisitHistory, next_visit
from crawler.storage.headlines import EarlierVisits, PageNames, StatedMetadata, own_version
from crawler.storage.page_columns import PAGE_COLUMN_NAMES, describe, normalised
from crawler.storage.tables import (
    address,
    batched,
    empty_address,
    headline,
    insert_on_conflict,
    page,
    page_structure,
    section,
    sitemap_trust,
)
from crawler.urls import host_of, is_respelled, plain_url, url_key
from crawler.visit import METHOD_META_KEY, MISSING_OUTCOMES, Outcome, ProcessedPage

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import datetime
    from typing import Self

    from sqlalchemy import Select
    from sqlalchemy.engine import Connection, Row

    from crawler.schedule import RevisitBounds
    from crawler.storage.page_columns import Value
    from crawler.storage.requests import LeasedRequest
    from crawler.visit import RequestRecord, Visit

REVISIT_KEY = "frontier_revisited"
"""The key in a re-crawl request's meta that holds the key of the page or section to visit again."""

LASTMOD_KEY = "lastmod"
"""The key in a request's meta that holds its page's date of change from a sitemap (ISO 8601)."""

# Not stored with a page: the next visit sets its own.
_TRANSIENT_META = frozenset(
    {REVISIT_KEY, LASTMOD_KEY, "redirect_reasons", "redirect_times", "redirect_ttl", "redirect_urls", "retry_times"}
)
# On 400 saved pages of 150 kB, zstd takes 0.28 ms at level 3 and leaves 18.0 % of the bytes, 0.67 ms and 16.9 % at
# level 5; zlib takes 0.73 ms and leaves 21.8 % at level 1, 1.8 ms and 18.2 % at level 6.
_ZSTD_OPTIONS: dict[int, int] = {
    zstd.CompressionParameter.compression_level: 3,
    zstd.CompressionParameter.checksum_flag: 1,
}
_EMPTY_DAYS = 7
"""Days after which an address that gave no page is due; twice as many after each further visit without a page."""
_EMPTY_DAYS_MAX = 180
_LASTMOD_LENGTH_MAX = 40  # characters of a date and time with its zone

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
"""The columns that `page_history` reads."""

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
"""The columns that `section_history` reads, and those that decide about a section."""

# EXISTS, not IN: at each look-up PostgreSQL would read the list of all pages with a structure.
HAS_STRUCTURE = exists().where(page_structure.c.page_id == page.c.id).label("has_structure")
"""Whether a page has a stored structure."""

_FIND_PAGES = (
    select(
        page.c.id,
        *(page.c[name] for name in PAGE_COLUMN_NAMES if name != "published"),  # PAGE_HISTORY has it
        page.c.body_hash,
        page.c.page_fingerprint,
        page.c.lastmod,
        page.c.next_visit,
        page.c.method,
        page.c.options_hash,
        page.c.settings,
        page.c.html.is_not(None).label("has_html"),
        page.c.spider.is_not(None).label("has_origin"),
        page.c.retired_at.is_not(None).label("retired"),
        HAS_STRUCTURE,
        *PAGE_HISTORY,
        headline.c.page_id.label("names_of"),
        headline.c.headline,
        headline.c.stated_title,
        headline.c.version,
    )
    .select_from(page.outerjoin(headline))
    .where(page.c.url_key.in_(bindparam("keys", expanding=True)))
)
# All rows of a statement have the same columns.
_NO_ORIGIN: dict[str, Any] = dict.fromkeys(
    ("spider", "arguments", "callback", "cb_kwargs", "headers", "meta", "settings")
)
_KNOWN_KEYS = union(
    *(
        select(table.c.url_key).where(table.c.url_key.in_(bindparam("keys", expanding=True)))
        for table in (page, address)
    )
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
    page.c.settings,
    page.c.retired_at,
).where(page.c.url_key.in_(bindparam("keys", expanding=True)))
_SET_LASTMOD = update(page).where(page.c.id == bindparam("page")).values(lastmod=bindparam("date"))


@dataclass(frozen=True, slots=True)
class PageOrigin:
    """The crawls that a page comes from: the spider, its arguments without secrets, and how it reads pages.

    `settings` has the values of `crawler.config.PAGE_SETTINGS`.
    """

    spider: str
    arguments: Mapping[str, Any]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, spider: str, arguments: Mapping[str, Any], settings: Mapping[str, Any]) -> Self:
        """Return the origin of a crawl; arguments that begin with `_` are internal and left out."""
        own = {name: value for name, value in arguments.items() if not name.startswith("_")}
        return cls(spider, json.loads(json.dumps(redact_arguments(own))), settings)  # as the database returns it


@dataclass(frozen=True, slots=True)
class PageSource:
    """The crawl that reads a page, and how it reads it; with an `origin` the page can be visited again.

    `settings` has values of `crawler.config.PAGE_SETTINGS`.
    """

    crawl_id: int
    scheme: str
    bounds: RevisitBounds
    origin: PageOrigin | None = None
    options_hash: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PageRecord:
    """The page of one visit, as columns to store. `bounds` limit the time until its next visit."""

    visit_time: datetime
    page: ProcessedPage
    columns: dict[str, Any]
    bounds: RevisitBounds
    names: PageNames = field(default_factory=PageNames)

    @property
    def key(self) -> str:
        return str(self.columns["url_key"])

    @property
    def own_key(self) -> str:
        """The key of the page's own address, whatever address the page states."""
        return url_key(str(self.columns["url"]))

    @property
    def is_restated(self) -> bool:
        """Whether the page states another address than its own, and not only another spelling of it."""
        return not is_respelled(self.key, self.own_key)

    @property
    def site(self) -> str:
        return str(self.columns["site"])

    @property
    def description(self) -> tuple[object, ...]:
        """The values that exports show of the page."""
        return tuple(self.columns[name] for name in PAGE_COLUMN_NAMES)

    @property
    def metadata(self) -> StatedMetadata:
        """The metadata that the visit found on the page."""
        return _stated_metadata(self.names, self.columns)

    @property
    def title_texts(self) -> tuple[str | None, str | None]:
        """The title and headline, by which search finds the page besides its texts."""
        return self.columns["title"], self.names.headline

    @property
    def has_origin(self) -> bool:
        """Whether the page can be visited again."""
        return "spider" in self.columns

    def next_visit(self, history: VisitHistory) -> datetime:
        """Return when to visit the page again: as soon as may be while its live coverage goes on."""
        if is_live(self.page.fetched, self.visit_time):
            return self.visit_time + timedelta(seconds=self.bounds.min_seconds)
        return next_visit(history, self.visit_time, self.bounds)

    def at_own_address(self) -> Self:
        """Return the page under the key of its own address; the address that it states is doubted."""
        return replace(self, columns=self.columns | {"url_key": self.own_key, "doubted_canonical": self.key})


@dataclass(frozen=True, slots=True)
class ImportedPage:
    """A page that was cleaned elsewhere, as a visit; of its HTML only the hash is known.

    `description` has the values of page columns as they were written there.
    """

    visit: Visit
    key: str
    body_hash: int
    description: Mapping[str, Value]
    doubted_canonical: str | None = None

    @property
    def own_key(self) -> str:
        """The key of the page's own address, whatever address the page states."""
        return url_key(self.visit.url)

    def record(self, source: PageSource) -> PageRecord | None:
        """Return the columns to store."""
        record = page_record(self.visit, source)
        own = {"url_key": self.key, "body_hash": self.body_hash, "doubted_canonical": self.doubted_canonical}
        return record and replace(record, columns={**record.columns, **self.description, **own})


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page in the database; one with an origin can be visited again."""

    page_id: int
    url: str
    site: str
    body_hash: int
    options_hash: int | None
    fingerprint: int | None
    lastmod: str | None  # from a sitemap, since the last visit
    next_visit: datetime | None
    has_html: bool
    has_origin: bool
    retired: bool
    has_structure: bool
    history: VisitHistory
    title: str | None
    description: tuple[object, ...]
    metadata: StatedMetadata

    @property
    def method(self) -> str:
        return self.metadata.method

    def has_bytes_of(self, record: PageRecord) -> bool:
        """Return True if a visit found the same bytes; False for a retired page, which was not there meanwhile."""
        return not self.retired and self.body_hash == record.columns["body_hash"]

    def is_read_like(self, record: PageRecord) -> bool:
        """Return True unless another method, other options, or another version of Blocksieve read the page now."""
        versions = {record.names.version}
        if self.metadata.names is not None:
            versions.add(self.metadata.names.version)
        reader = (record.columns["method"], record.columns["options_hash"])
        return (self.method, self.options_hash) == reader and len(versions - {None}) <= 1

    @property
    def earlier_visits(self) -> EarlierVisits:
        return EarlierVisits(self.history.visits, self.history.first_seen, self.history.last_seen)


@dataclass(frozen=True, slots=True)
class PageAbsence:
    """A page, or section, that was not found at its URL; `for_good` if its server says so.

    It is `hidden`, and never gone, where few words stand in its place: a wall. It is `withdrawn` if it is there, but
    its publisher asks that it be left alone: that is for good too. With `moved_to`, its URL redirects there for good.
    """

    key: str
    url: str
    visit_time: datetime
    moved_to: str | None = None
    for_good: bool = False
    withdrawn: bool = False
    hidden: bool = False


def page_record(visit: Visit, source: PageSource) -> PageRecord | None:
    """Return the page of a visit, None if it has none; the spider's own metadata wins over the page's."""
    page = visit.page
    if not isinstance(page, ProcessedPage):
        return None
    columns = describe_page(page) | {
        "record_id": visit.record_id,
        "last_seen": visit.at,
        "crawl_id": source.crawl_id,
        "scheme": source.scheme,
        "children": _count_children(visit),
        "options_hash": source.options_hash,
        "doubted_canonical": None,
        "settings": _cleaning_settings(source.settings, page.cleaned.method),
    }
    columns |= _record_origin(visit, source.origin, page.cleaned.method)
    return PageRecord(visit.at, page, columns, source.bounds, page_names(page))


def page_names(page: ProcessedPage) -> PageNames:
    """Return the names of a page; a title that the spider states stands for the page's own."""
    metadata = page.fetched.describe(page.cleaned.metadata)
    stated_title = page.fetched.stated.title or metadata.stated_title
    return PageNames(normalised(metadata.headline), normalised(stated_title), own_version())


def _stated_metadata(names: PageNames | None, columns: Mapping[str, Any]) -> StatedMetadata:
    values = {name: columns[name] for name in ("title", "author", "published")}
    return StatedMetadata(names, values, columns["method"])


def _stored_metadata(row: Any) -> StatedMetadata:
    names = None if row.names_of is None else PageNames(row.headline, row.stated_title, row.version)
    return _stated_metadata(names, {name: getattr(row, name) for name in ("title", "author", "published", "method")})


def _cleaning_settings(settings: Mapping[str, Any], method: str) -> dict[str, Any] | None:
    """Return what `scrapy reclean` needs of the settings by which a page was read; None if they are not known."""
    if not settings:
        return None
    own = {name: settings[name] for name in CLEANING_SETTINGS if name in settings}
    return own | {"CLEANING_METHOD": method}


def describe_page(page: ProcessedPage) -> dict[str, Any]:
    """Return the columns of a page that depend on the page alone."""
    fetched, cleaned = page.fetched, page.cleaned
    metadata = fetched.describe(cleaned.metadata)
    return {
        **describe(fetched.url, replace(cleaned, known_metadata=metadata)),
        "url_key": url_key(fetched.url, metadata.canonical),
        "etag": normalised(fetched.etag),
        "last_modified": normalised(fetched.last_modified),
        "body_hash": xxh64_intdigest(fetched.body),
        "page_fingerprint": page.fingerprint,
        "method": cleaned.method,
        "encoding": cleaned.encoding,
    }


def read_page_rows(connection: Connection, keys: Collection[str]) -> list[SimpleNamespace]:
    """Return the rows of the pages stored under these keys, for `stored_page`."""
    parts = (connection.execute(_FIND_PAGES, {"keys": part}) for part in batched(sorted(keys)))
    return [SimpleNamespace(**row._mapping) for part in parts for row in part]  # noqa: SLF001 — SQLAlchemy's public name


def stored_page(row: SimpleNamespace) -> StoredPage:
    """Return a page from its row."""
    return StoredPage(
        page_id=row.id,
        url=row.url,
        site=row.site,
        body_hash=row.body_hash,
        options_hash=row.options_hash,
        fingerprint=row.page_fingerprint,
        lastmod=row.lastmod,
        next_visit=row.next_visit,
        has_html=bool(row.has_html),
        has_origin=bool(row.has_origin),
        retired=bool(row.retired),
        has_structure=bool(row.has_structure),
        history=page_history(row),
        title=row.title,
        description=tuple(getattr(row, name) for name in PAGE_COLUMN_NAMES),
        metadata=_stored_metadata(row),
    )


def other_method(stored: StoredPage | None, record: PageRecord) -> str | None:
    """Return the method that cleaned a page before; None for a new page, and if the same one cleans it now."""
    return None if stored is None or stored.method == record.columns["method"] else stored.method


def page_history(row: Any) -> VisitHistory:
    """Return the visit history from a page's columns; a page with a date is an article."""
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


def new_page(record: PageRecord, *, keep_html: bool) -> dict[str, Any]:
    """Return the columns of a page at its first visit."""
    published = _published_day(record.columns["published"])
    kind = PageKind.OTHER if published is None else PageKind.ARTICLE
    history = VisitHistory(
        record.key, kind, record.visit_time, record.visit_time, record.visit_time, published=published
    )
    return (
        _NO_ORIGIN
        | record.columns
        | {
            "first_seen": record.visit_time,
            "last_changed": record.visit_time,
            "visits": 1,
            "changes": 0,
            "misses": 0,
            "retired_at": None,
            "lastmod": None,
            "next_visit": record.next_visit(history) if record.has_origin else None,
            "html": compress(record.page.fetched.body) if keep_html and not record.page.fetched.noarchive else None,
        }
    )


def changed_columns(
    stored: StoredPage, record: PageRecord, settings: Mapping[str, Any], *, changed: bool, keep_html: bool
) -> dict[str, Any]:
    """Return the columns that a later visit changes; HTML only if it differs. A retired page becomes active again.

    `settings` are those by which the page was read before.
    """
    after = stored.history.visited(record.visit_time, changed=changed)
    keep_html = keep_html and not record.page.fetched.noarchive
    values = record.columns | {
        "last_changed": after.last_changed,
        "visits": after.visits,
        "changes": after.changes,
        "misses": 0,
        "retired_at": None,
        "lastmod": None,
    }
    if stored.has_origin or record.has_origin:
        values["next_visit"] = record.next_visit(after)
    if not record.has_origin and (own := values.pop("settings")) is not None:
        # A replay or an import: the page is visited again in its own way, but cleaned by the new method.
        values["settings"] = {**settings, **own}
    if stored.body_hash != values["body_hash"] or stored.has_html != keep_html:
        values["html"] = compress(record.page.fetched.body) if keep_html else None
    return values


def compress(body: bytes) -> bytes:
    """Return bytes as the columns `html` and `nodes` hold them."""
    return zstd.compress(body, options=_ZSTD_OPTIONS)


UNREADABLE = zstd.ZstdError
"""The exception of `decompress` for damaged bytes."""


def decompress(compressed: bytes) -> bytes:
    """Return the bytes of a compressed column."""
    return zstd.decompress(compressed)


def _count_children(visit: Visit) -> int | None:
    """Return how much the callback yielded besides the page; None if it failed, since the rest is unknown."""
    if visit.outcome is Outcome.CALLBACK_FAILED:
        return None
    return visit.children + visit.items + visit.parts - 1


def _published_day(published: str | None) -> date | None:
    try:
        return None if published is None else date.fromisoformat(published[:10])
    except ValueError:
        return None


def target_key(record: RequestRecord) -> str:
    """Return the key of the page or section that a request is for."""
    return str(record.meta.get(REVISIT_KEY) or url_key(record.url))


def visit_key(visit: Visit, record: PageRecord | None) -> str:
    """Return the key of the page or section that a visit was for."""
    if visit.request is not None and REVISIT_KEY in visit.request.meta:
        return target_key(visit.request)
    return url_key(visit.url) if record is None else record.key


def is_repeatable(record: RequestRecord) -> bool:
    """Return True if a request can be made again from its stored columns: one with a body cannot."""
    return record.method == "GET" and not record.body


def origin_columns(record: RequestRecord, origin: PageOrigin) -> dict[str, Any]:
    """Return the columns that a re-crawl visits a page or section by; the Referer header is left out."""
    return {
        "spider": origin.spider,
        "arguments": dict(origin.arguments),
        "callback": record.callback,
        "cb_kwargs": dict(record.cb_kwargs),
        "headers": {name: values for name, values in record.headers.items() if name.lower() != "referer"},
        "meta": {name: value for name, value in record.meta.items() if name not in _TRANSIENT_META},
        "settings": dict(origin.settings),
    }


def _record_origin(visit: Visit, origin: PageOrigin | None, method: str) -> dict[str, Any]:
    """Return the origin columns of a page; {} if it was not at the requested address, or the request had a body."""
    requested = visit.request
    if requested is None or origin is None or not is_repeatable(requested):
        return {}
    if visit.parts > 1 and visit.url != requested.url:
        return {}
    columns = origin_columns(requested, origin)
    # A request may ask for another method than that of its crawl.
    return columns | {"settings": columns["settings"] | {"CLEANING_METHOD": method}}


@dataclass(frozen=True, slots=True)
class ReadPolicy:
    """How a crawl reads pages. It fetches a page whole if an earlier crawl read it differently."""

    origin: PageOrigin
    method: str
    keep_html: bool


@dataclass(frozen=True, slots=True)
class PageValidators:
    """The validators of a stored page: an unchanged page is recognised by them."""

    body_hash: int
    etag: str | None
    last_modified: str | None


def find_validators(
    connection: Connection, policy: ReadPolicy, leased: Sequence[LeasedRequest]
) -> dict[int, PageValidators]:
    """Return, by request id, the validators of the stored pages that need not be read again if they are unchanged.

    An unchanged page is not read, and its callback not called. So the stored page must be what this crawl would store:
    from the same address, spider, arguments and callback, cleaned in the same way; and its callback yielded nothing
    else.
    """
    candidates = [
        leased_request
        for leased_request in leased
        if is_repeatable(leased_request.record) and not leased_request.attempts
    ]
    keys = {leased_request.lease_token.request_id: target_key(leased_request.record) for leased_request in candidates}
    rows = connection.execute(_REVISITED_PAGES, {"keys": list(keys.values())}) if keys else ()
    stored = {row.url_key: row for row in rows}
    pairs = ((leased_request, stored.get(keys[leased_request.lease_token.request_id])) for leased_request in candidates)
    return {
        leased_request.lease_token.request_id: PageValidators(row.body_hash, row.etag, row.last_modified)
        for leased_request, row in pairs
        if row is not None and _can_reuse(row, leased_request.record, policy)
    }


def mark_known(connection: Connection, leased: Sequence[LeasedRequest]) -> list[LeasedRequest]:
    """Return the requests, with those marked whose addresses are those of stored pages, or lead to one."""
    if not leased:
        return []
    known = set(connection.scalars(_KNOWN_KEYS, {"keys": [target_key(request.record) for request in leased]}))
    return [replace(request, is_known=target_key(request.record) in known) for request in leased]


def _can_reuse(row: Row[Any], record: RequestRecord, policy: ReadPolicy) -> bool:
    method = record.meta.get(METHOD_META_KEY, policy.method)
    return (
        row.children == 0
        and row.retired_at is None
        and row.url == plain_url(record.url)
        and (row.spider, row.arguments) == (policy.origin.spider, policy.origin.arguments)
        and (row.callback, row.cb_kwargs) == (record.callback, record.cb_kwargs)
        and row.method == method
        and _agree(row.settings, {**policy.origin.settings, "CLEANING_METHOD": method})
        and bool(row.has_html) == policy.keep_html
    )


def _agree(stored: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Return True if a page was read by these settings; one that an earlier version did not store agrees."""
    return all(stored.get(name, value) == value for name, value in settings.items())


def keys_not_due(
    connection: Connection, records: Sequence[RequestRecord], now: datetime, bounds: RevisitBounds
) -> frozenset[str]:
    """Return the keys of the requests for pages and sections that have a next visit: a re-crawl does not follow them.

    Nor does it follow links to other addresses where nothing was found lately. A retired page or section is visited
    when a link leads to it, but not before its own next visit would be due.
    """
    key_by_request = {record.key: target_key(record) for record in records if is_repeatable(record)}
    target_by_key = read_addresses(connection, set(key_by_request.values())) if key_by_request else {}
    targets = {*key_by_request.values(), *target_by_key.values()}
    scheduled_keys: set[str] = set()
    unknown_keys = set(targets)
    for table in (page, section) if key_by_request else ():
        latest = now + timedelta(seconds=bounds.max_seconds)
        waits = table.c.retired_at.is_(None) | table.c.next_visit.between(now, latest)
        is_scheduled = and_(table.c.spider.is_not(None), table.c.next_visit.is_not(None), waits).label("is_scheduled")
        rows = connection.execute(select(table.c.url_key, is_scheduled).where(table.c.url_key.in_(targets))).all()
        scheduled_keys.update(row.url_key for row in rows if row.is_scheduled)
        unknown_keys.difference_update(row.url_key for row in rows)
    scheduled_keys |= absent_keys(connection, unknown_keys, now)
    return frozenset(
        request_key
        for request_key, key in key_by_request.items()
        if scheduled_keys & {key, target_by_key.get(key, key)}
    )


def absent_keys(connection: Connection, keys: Collection[str], now: datetime) -> set[str]:
    """Return the keys where the last visits found nothing, and which are not due to be tried again."""
    missing = empty_address.c.outcome.in_(MISSING_OUTCOMES)
    columns = (empty_address.c.url_key, empty_address.c.last_visit, empty_address.c.visits)
    return {
        row.url_key
        for part in batched(sorted(keys))
        for row in connection.execute(select(*columns).where(empty_address.c.url_key.in_(part), missing))
        if not is_empty_due(row.last_visit, row.visits, now)
    }


def is_empty_due(last_visit: datetime, visits: int, now: datetime) -> bool:
    """Return True if an address without a page is to be tried again; a time in the future comes from a wrong clock."""
    days = min(_EMPTY_DAYS * 2 ** min(visits - 1, 10), _EMPTY_DAYS_MAX)
    return not now - timedelta(days=days) < last_visit <= now + timedelta(days=1)


def read_addresses(connection: Connection, keys: Collection[str]) -> dict[str, str]:
    """Return the keys of the pages and sections that these addresses lead to; a page's own address is left out."""
    known = select(address.c.url_key, address.c.leads_to).where(address.c.url_key.in_(keys))
    return {row.url_key: row.leads_to for row in connection.execute(known)}


def target_of(key: str) -> Select[str]:
    """Select the key of the page or section that an address leads to; nothing for the address of a stored page."""
    own = select(page.c.id).where(page.c.url_key == key).exists()
    return select(address.c.leads_to).where(address.c.url_key == key, ~own)


def counts_miss(misses: int, next_visit: datetime | None, visit_time: datetime) -> bool:
    """Return True if a visit counts that did not find a page: one before its time says no more than the last one."""
    return not misses or next_visit is None or visit_time >= next_visit


def section_history(row: Any) -> VisitHistory:
    """Return the visit history from a section's columns."""
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


@dataclass(frozen=True, slots=True)
class SitemapEvidence:
    """A visit to a page with a sitemap's date: whether the sitemap claimed a change, and whether there was one."""

    host: str
    claimed: bool
    changed: bool


def _read_lastmod(lastmod: object) -> date | None:
    """Return the date, or date and time, of a `<lastmod>`; None if it has none."""
    if not isinstance(lastmod, str) or len(lastmod.strip()) > _LASTMOD_LENGTH_MAX:
        return None
    return schedule.parse_lastmod(lastmod)


def sitemap_evidence(stored: StoredPage, *, changed: bool) -> SitemapEvidence | None:
    """Return what a visit shows about the host's sitemaps; None if they have said nothing since the last visit."""
    claimed = schedule.lastmod_claims_change(_read_lastmod(stored.lastmod), stored.history.last_seen)
    return None if claimed is None else SitemapEvidence(host_of(stored.url), claimed, changed)


def announced_changes(connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]]) -> set[int]:
    """Return the ids of the pages that a trusted sitemap says have changed since their last visit.

    The rows have the columns `id`, `url`, `last_seen` and `lastmod` of pages.
    """
    dated = [(row, host_of(row.url)) for row in rows if row.lastmod]
    trusts = _read_trusts(connection, {name for _, name in dated})
    return {
        row.id
        for row, name in dated
        if schedule.trusted_claim(trusts.get(name, SitemapTrust()), _read_lastmod(row.lastmod), row.last_seen)
    }


def record_sitemap_evidence(connection: Connection, evidence: Sequence[SitemapEvidence]) -> None:
    """Update the trust in the sitemaps of the hosts."""
    names = sorted({claim.host for claim in evidence})
    if not names:
        return
    new = insert_on_conflict(connection, sitemap_trust).on_conflict_do_nothing(index_elements=["host"])
    connection.execute(new, [{"host": name, "right": 0, "wrong": 0} for name in names])
    trusts = _read_trusts(connection, names, lock=True)
    for claim in evidence:
        trusts[claim.host] = trusts[claim.host].learned(claim.claimed, changed=claim.changed)
    for name in names:
        values = {"right": trusts[name].right, "wrong": trusts[name].wrong}
        connection.execute(update(sitemap_trust).where(sitemap_trust.c.host == name).values(values))


def record_lastmods(connection: Connection, records: Sequence[RequestRecord], now: datetime) -> None:
    """Store the sitemap dates of the requests' pages; a page that a trusted sitemap says has changed is due now."""
    dates = {
        target_key(record): record.meta[LASTMOD_KEY]
        for record in records
        if is_repeatable(record) and _read_lastmod(record.meta.get(LASTMOD_KEY))
    }
    pages = {row.id: row.url_key for part in batched(list(dates)) for row in _lock_free_pages(connection, part)}
    if not pages:
        return
    connection.execute(_SET_LASTMOD, [{"page": row_id, "date": dates[key]} for row_id, key in pages.items()])
    for part in batched(list(pages)):
        columns = select(page.c.id, page.c.url, page.c.last_seen, page.c.lastmod)
        waiting = connection.execute(columns.where(page.c.id.in_(part), page.c.next_visit > now)).all()
        changed = announced_changes(connection, waiting)
        connection.execute(update(page).where(page.c.id.in_(changed)).values(next_visit=now))


def _lock_free_pages(connection: Connection, keys: Sequence[str]) -> Iterator[Row[int, str]]:
    """Lock the stored pages with these keys, except those already locked, and yield their ids and keys."""
    live = select(page.c.id, page.c.url_key).where(page.c.url_key.in_(keys), page.c.retired_at.is_(None))
    yield from connection.execute(live.order_by(page.c.id).with_for_update(skip_locked=True))


def _read_trusts(connection: Connection, names: Collection[str], *, lock: bool = False) -> dict[str, SitemapTrust]:
    columns = select(sitemap_trust).where(sitemap_trust.c.host.in_(names)).order_by(sitemap_trust.c.host)
    statement = columns.with_for_update() if lock else columns
    return {row.host: SitemapTrust(row.right, row.wrong) for row in connection.execute(statement)} if names else {}

"""What is known of a page before it is visited again: whether the visit can be spared, or half of it.

A stored page stands for a new visit where that would read it as it was read before: at the same address, by the same
spider with the same arguments and callback, cleaned in the same way. And only where its callback yields nothing else:
of a page that has not changed, it would not be called.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select

from crawler.mask import mask_arguments
from crawler.storage.models import page, section
from crawler.urls import url_key, without_credentials
from crawler.visit import METHOD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Self

    from sqlalchemy.engine import Connection, Row

    from crawler.storage.frontier import Wanted
    from crawler.storage.leases import Leased

REVISITED = "frontier_revisited"
"""Where a request of a re-crawl carries, in its meta, the key of the page or section that it is for."""

LASTMOD = "lastmod"
"""Where a request carries, in its meta, what a sitemap says of its page: when it changed (ISO 8601)."""

_PASSING = frozenset(
    {REVISITED, LASTMOD, "redirect_reasons", "redirect_times", "redirect_ttl", "redirect_urls", "retry_times"}
)
_STORED = select(
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
class Origin:
    """Which crawls a page comes from: of this spider with these arguments, secrets masked."""

    spider: str
    arguments: Mapping[str, Any]

    @classmethod
    def of(cls, spider: str, arguments: Mapping[str, Any]) -> Self:
        """Return a crawl's origin; arguments that begin with `_` are other programs' business."""
        own = {name: value for name, value in arguments.items() if not name.startswith("_")}
        return cls(spider, json.loads(json.dumps(mask_arguments(own))))  # as it is read back


@dataclass(frozen=True, slots=True)
class Reader:
    """How a crawl reads pages; a page that it would read in another way than before is to be fetched whole."""

    origin: Origin
    method: str
    options_hash: int
    keep_html: bool


@dataclass(frozen=True, slots=True)
class Known:
    """What a stored page's last visit found, by which an unchanged one is recognised."""

    body_hash: int
    etag: str | None
    last_modified: str | None


def target(wanted: Wanted) -> str:
    """Return the key of the page or section that a request is for."""
    return str(wanted.meta.get(REVISITED) or url_key(wanted.url))


def is_repeatable(wanted: Wanted) -> bool:
    """Tell whether a request can be made again from what is stored of it: one with a body cannot."""
    return wanted.method == "GET" and not wanted.body


def provenance(wanted: Wanted, origin: Origin) -> dict[str, Any]:
    """Return the columns of page and section by which they are visited again; who referred to them is left out."""
    return {
        "spider": origin.spider,
        "arguments": dict(origin.arguments),
        "callback": wanted.callback,
        "cb_kwargs": dict(wanted.cb_kwargs),
        "headers": {name: values for name, values in wanted.headers.items() if name.lower() != "referer"},
        "meta": {name: value for name, value in wanted.meta.items() if name not in _PASSING},
    }


def known(connection: Connection, reader: Reader, leased: Sequence[Leased]) -> dict[int, Known]:
    """Return, by the request's id, the stored pages that an answer of "not modified" would do for."""
    asked = [one for one in leased if is_repeatable(one.wanted) and not one.attempts]
    keys = {one.ticket.request_id: target(one.wanted) for one in asked}
    found = connection.execute(_STORED, {"keys": list(keys.values())}) if keys else ()
    stored = {row.url_key: row for row in found}
    pairs = ((one, stored.get(keys[one.ticket.request_id])) for one in asked)
    return {
        one.ticket.request_id: Known(row.body_hash, row.etag, row.last_modified)
        for one, row in pairs
        if row is not None and _stands(row, one.wanted, reader)
    }


def not_due(connection: Connection, wanted: Sequence[Wanted], now: datetime) -> frozenset[str]:
    """Return the keys of requests for what is visited when its own time comes, and not because something leads there.

    That are pages and sections which have a next visit. Who was retired has returned where something leads there, but
    is not asked about before its next visit would be due.
    """
    asked = {one.key: target(one) for one in wanted if is_repeatable(one)}
    found: set[str] = set()
    for table in (page, section) if asked else ():
        waits = table.c.retired_at.is_(None) | (table.c.next_visit > now)
        columns = select(table.c.url_key).where(table.c.url_key.in_(set(asked.values())), table.c.spider.is_not(None))
        found.update(connection.scalars(columns.where(table.c.next_visit.is_not(None), waits)))
    return frozenset(request_key for request_key, key in asked.items() if key in found)


def _stands(row: Row[Any], wanted: Wanted, reader: Reader) -> bool:
    """Tell whether a visit that found the page unchanged would lead to nothing else than the one before it."""
    return (
        row.children == 0
        and row.retired_at is None
        and row.url == without_credentials(wanted.url)
        and (row.spider, row.arguments) == (reader.origin.spider, reader.origin.arguments)
        and (row.callback, row.cb_kwargs) == (wanted.callback, wanted.cb_kwargs)
        and (row.method, row.options_hash) == (wanted.meta.get(METHOD, reader.method), reader.options_hash)
        and bool(row.has_html) == reader.keep_html
    )

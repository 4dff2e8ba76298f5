"""What is stored of a page's past: the page, the requests for it, and all texts that it ever showed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.request import fingerprint
from sqlalchemy import bindparam, func, null, select

from crawler import urls
from crawler.errors import QueryError
from crawler.history.moments import Text, moments
from crawler.storage.batches import batched
from crawler.storage.contents import at_address
from crawler.storage.models import block, crawl, mirror, page, request, section, sighting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from crawler.history.moments import Moment

_NEIGHBOURS = 50


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for the page: of which crawl, how it ended (None: not yet) and when."""

    crawl: int
    spider: str
    url: str
    outcome: str | None
    error: str | None
    ended: datetime | None


@dataclass(frozen=True, slots=True)
class Known:
    """The page as it stands: where it is, what it is known by, and the figures of its visits.

    `mirrors` is the page that it is nearly the same as; `retired` is when it was found to be gone.
    """

    url: str
    key: str
    title: str | None
    method: str
    first_seen: datetime
    last_seen: datetime
    last_changed: datetime
    visits: int
    changes: int
    next_visit: datetime | None
    retired: datetime | None
    mirrors: str | None
    texts: int


@dataclass(frozen=True, slots=True)
class Past:
    """What is known of an address: the page, None where none is stored; requests that led there; what changed."""

    asked: str
    page: Known | None
    requests: tuple[Asked, ...]
    moments: tuple[Moment, ...]


def read_past(connection: Connection, url: str) -> Past:
    """Return what is known of an address, as fetched or canonical.

    Raises QueryError where that is nothing, and names the nearest known address of the site.
    """
    row = connection.execute(at_address(_PAGE, url)).first()
    addresses = dict.fromkeys([urls.without_credentials(url), *([row.url] if row else [])])
    requests = tuple(sorted((one for each in addresses for one in _asked(connection, each)), key=_order))
    if row is None:
        if not requests:
            raise _unknown(connection, url)
        return Past(url, None, requests, ())
    texts = [_text(found) for found in connection.execute(_TEXTS, {"page": row.id})]
    known = Known(
        url=row.url,
        key=row.url_key,
        title=row.title,
        method=row.method,
        first_seen=row.first_seen,
        last_seen=row.last_seen,
        last_changed=row.last_changed,
        visits=row.visits,
        changes=row.changes,
        next_visit=row.next_visit,
        retired=row.retired_at,
        mirrors=connection.scalar(_MIRRORED, {"page": row.id}),
        texts=sum(text.gone is None for text in texts),
    )
    return Past(url, known, requests, moments(texts, row.first_seen))


def _asked(connection: Connection, url: str) -> Iterator[Asked]:
    try:
        key = fingerprint(Request(url)).hex()
    except ValueError:
        return
    spiders = {row.id: row.spider for row in connection.execute(select(crawl.c.id, crawl.c.spider))}
    for some in batched(sorted(spiders)):
        # Requests that are not to be filtered have `+` and more behind it, and `,` is the character after that.
        for row in connection.execute(_REQUESTS, {"crawls": some, "first": key, "behind": f"{key},"}):
            yield Asked(row.crawl_id, spiders[row.crawl_id], row.url, row.outcome or row.state, row.error, row.ended)


def _order(asked: Asked) -> tuple[bool, datetime | int]:
    return (asked.ended is None, asked.ended or asked.crawl)


def _text(row: Any) -> Text:
    return Text(
        block=row.block_id,
        of=row.of,
        position=row.position,
        kind=row.kind,
        text=row.text,
        first_seen=row.first_seen,
        last_seen=row.last_seen,
        gone=row.gone_at,
    )


def _unknown(connection: Connection, url: str) -> QueryError:
    shown, key = urls.without_credentials(url), urls.url_key(url)
    if connection.scalar(select(section.c.id).where(section.c.url_key == key)) is not None:
        return QueryError(f"{shown} is a section: it leads to pages, and no text of it is stored")
    nearest = get_close_matches(shown, _beside(connection, key), n=1, cutoff=0.0)
    hint = f"the nearest that is: {nearest[0]}" if nearest else f"nor is any page of {urls.host(url) or 'its host'}"
    return QueryError(f"{shown} is not in the database; {hint}")


def _beside(connection: Connection, key: str) -> list[str]:
    """Return the addresses of the host's pages whose keys stand next to one, in the order of the index."""
    host = re.match("[^:/]+://[^/]*/", key)
    if host is None:
        return []
    before, after = page.c.url_key < key, page.c.url_key >= key
    of_host = (page.c.url_key >= host[0], page.c.url_key < f"{host[0][:-1]}0")  # which comes after the slash
    statements = (
        select(page.c.url).where(before, *of_host).order_by(page.c.url_key.desc()),
        select(page.c.url).where(after, *of_host).order_by(page.c.url_key),
    )
    return [url for one in statements for url in connection.scalars(one.limit(_NEIGHBOURS))]


_PAGE = select(
    page.c.id,
    page.c.url,
    page.c.url_key,
    page.c.title,
    page.c.method,
    page.c.first_seen,
    page.c.last_seen,
    page.c.last_changed,
    page.c.visits,
    page.c.changes,
    page.c.next_visit,
    page.c.retired_at,
)
_MIRRORED = (
    select(page.c.url).join(mirror, mirror.c.original_id == page.c.id).where(mirror.c.page_id == bindparam("page"))
)
# By crawl, so that the index serves.
_REQUESTS = select(
    request.c.crawl_id, request.c.url, request.c.state, request.c.outcome, request.c.error, request.c.ended
).where(
    request.c.crawl_id.in_(bindparam("crawls", expanding=True)),
    request.c.key >= bindparam("first"),
    request.c.key < bindparam("behind"),
)
_SEEN = ("position", "kind", "first_seen", "last_seen", "gone_at")
_TEXTS = (
    select(block.c.id.label("block_id"), null().label("of"), block.c.text, *(block.c[name] for name in _SEEN))
    .where(block.c.page_id == bindparam("page"))
    .union_all(
        select(
            sighting.c.block_id,
            page.c.url,
            func.coalesce(sighting.c.text, block.c.text),
            *(sighting.c[name] for name in _SEEN),
        )
        .join(block, block.c.id == sighting.c.block_id)
        .join(page, page.c.id == block.c.page_id)
        .where(sighting.c.page_id == bindparam("page"))
    )
)

"""Generations: a crawl that is open is joined, after a finished one a new one begins.

The caller owns the transaction.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select, update
from xxhash import xxh64_intdigest

from crawler.mask import mask_arguments
from crawler.storage.frontier import clock, is_leased, is_queued
from crawler.storage.locks import KEYS, lock
from crawler.storage.models import CrawlState, crawl, request
from crawler.visit import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy.engine import Connection, Row

REPLACED = "replaced"

_FOUND = (Outcome.PAGE.value, Outcome.NOT_MODIFIED.value)


@dataclass(frozen=True, slots=True)
class Joined:
    """The crawl that a worker takes part in.

    `seeded` tells that all its start requests are stored, `resumed` that the crawl was open already.
    """

    crawl_id: int
    seeded: bool
    resumed: bool


def join(connection: Connection, spider: str, arguments: Mapping[str, Any], *, fresh: bool) -> Joined:
    """Return the open crawl of a spider with the same arguments, or a new one; secrets are masked before comparing.

    `fresh` ends an open one, as replaced, and begins a new one. With a new one the requests of all earlier ones of
    the same spider and arguments are deleted, those that failed too. First in its transaction: workers that start
    together join one crawl.
    """
    lock(connection, [spider_key(spider)])
    masked = json.loads(json.dumps(mask_arguments(arguments)))  # as it is read back
    earlier = _of_same(connection, spider, masked)
    running = [row for row in earlier if row.state == CrawlState.OPEN]
    if running and not fresh:
        connection.execute(update(crawl).where(crawl.c.id == running[0].id).values(finished=None, reason=None))
        return Joined(running[0].id, seeded=running[0].seeded is not None, resumed=True)
    now = clock(connection)
    _replace(connection, [row.id for row in running], now)
    connection.execute(delete(request).where(request.c.crawl_id.in_([row.id for row in earlier])))
    return Joined(_insert(connection, spider, masked, now), seeded=False, resumed=False)


def spider_key(spider: str) -> int:
    """Return the key to lock where crawls of a spider begin, or begin again."""
    return 2 * KEYS + xxh64_intdigest(spider.encode()) % KEYS


def mark_seeded(connection: Connection, crawl_id: int, now: datetime) -> None:
    """Note that all start requests of a crawl are stored: who joins it later need not ask the spider for them."""
    connection.execute(update(crawl).where(crawl.c.id == crawl_id, crawl.c.seeded.is_(None)).values(seeded=now))


def begin(connection: Connection, spider: str, arguments: Mapping[str, Any]) -> int:
    """Begin a crawl whatever others are open, and return its id; secrets are masked."""
    return _insert(connection, spider, mask_arguments(arguments), clock(connection))


def end(connection: Connection, crawl_id: int, reason: str, totals: Mapping[str, Any], *, finished: bool) -> bool:
    """Note that a process ends its part in a crawl, and whether it found nothing left; counts of several are added up.

    A crawl stays open where requests are queued or leased nevertheless. Tell whether any process has found a page.
    """
    before = connection.scalar(select(crawl.c.totals).where(crawl.c.id == crawl_id).with_for_update()) or {}
    added = {name: _added(before.get(name), value) for name, value in totals.items()}
    values = {"reason": reason, "finished": clock(connection), "totals": {**before, **added}}
    if finished and not _has_more(connection, crawl_id):
        values["state"] = CrawlState.FINISHED.value
    connection.execute(update(crawl).where(crawl.c.id == crawl_id).values(values))
    found = select(request.c.id).where(request.c.crawl_id == crawl_id, request.c.outcome.in_(_FOUND)).limit(1)
    return connection.scalar(found) is not None


def _has_more(connection: Connection, crawl_id: int) -> bool:
    states = is_queued(crawl_id), is_leased(crawl_id)
    return any(connection.scalar(select(request.c.id).where(*each).limit(1)) is not None for each in states)


def _added(before: Any, value: Any) -> Any:
    return before + value if isinstance(before, int) and isinstance(value, int) else value


def _of_same(connection: Connection, spider: str, arguments: Mapping[str, Any]) -> list[Row[Any, Any, Any, Any]]:
    """Return the crawls of a spider with these arguments, the latest first."""
    columns = (crawl.c.id, crawl.c.state, crawl.c.seeded, crawl.c.arguments)
    rows = connection.execute(select(*columns).where(crawl.c.spider == spider).order_by(crawl.c.id.desc()))
    # Not by the database: PostgreSQL's `json` has no equality, and SQLite's is that of texts.
    return [row for row in rows if row.arguments == arguments]


def _replace(connection: Connection, crawl_ids: Sequence[int], now: datetime) -> None:
    values = {"state": CrawlState.FINISHED.value, "finished": now, "reason": REPLACED}
    connection.execute(update(crawl).where(crawl.c.id.in_(crawl_ids)).values(values))


def _insert(connection: Connection, spider: str, arguments: Mapping[str, Any], now: datetime) -> int:
    values = {
        "spider": spider,
        "arguments": arguments,
        "state": CrawlState.OPEN.value,
        "started": now,
        "totals": {},
    }
    key = connection.execute(insert(crawl), values).inserted_primary_key
    assert key is not None  # one row, always
    return int(key[0])

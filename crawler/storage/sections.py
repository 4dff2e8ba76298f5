"""The rows of table `section`: what leads to pages, and is visited again for that. The caller owns the transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, select, update
from xxhash import xxh64_intdigest

from crawler import urls
from crawler.schedule import History, Kind, next_visit, retired
from crawler.storage.models import section
from crawler.storage.revisits import is_repeatable, provenance, target

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from crawler.schedule import Bounds
    from crawler.storage.frontier import Wanted
    from crawler.storage.revisits import Origin
    from crawler.visit import Visit

COLUMNS = (
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
_FIND = select(*COLUMNS).where(section.c.url_key == bindparam("key"))


def seen(connection: Connection, visit: Visit, wanted: Wanted, origin: Origin, bounds: Bounds) -> None:
    """Note what a section has led to, in place of what it led to before; a page that never led to anything is none."""
    key = target(wanted)
    stored = connection.execute(_FIND, {"key": key}).first()
    if not is_repeatable(wanted) or (stored is None and not visit.requests):
        return
    links = links_hash(visit.requests)
    if stored is None:
        history = History(key, Kind.SECTION, visit.at, visit.at, visit.at)
    else:
        history = of_row(stored).visited(visit.at, changed=stored.links_hash != links)
    values = provenance(wanted, origin) | {
        "url": urls.without_credentials(visit.url),
        "site": urls.site(visit.url),
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
        _write(connection, stored.id, values)


def missed(connection: Connection, key: str, at: datetime, bounds: Bounds, *, for_good: bool) -> None:
    """Note that a section was not found; it is retired after as many misses as a page."""
    stored = connection.execute(_FIND, {"key": key}).first()
    if stored is None:
        return
    history = of_row(stored).missed()
    values: dict[str, Any] = {"misses": history.misses, "next_visit": next_visit(history, at, bounds)}
    if stored.retired_at is None and (for_good or retired(history)):
        values["retired_at"] = at
    _write(connection, stored.id, values)


def put_off(connection: Connection, key: str, at: datetime, bounds: Bounds) -> None:
    """Note that a visit to a section told nothing: the next one is when it would be after one that did."""
    stored = connection.execute(_FIND, {"key": key}).first()
    if stored is not None:
        _write(connection, stored.id, {"next_visit": next_visit(of_row(stored), at, bounds)})


def links_hash(requests: Iterable[Wanted]) -> int:
    """Return the hash of what requests lead to, whatever their order and number."""
    keys = {one.key.partition("+")[0] for one in requests}  # without what sets equal requests apart
    return xxh64_intdigest("\n".join(sorted(keys)).encode())


def of_row(row: Any) -> History:
    """Return the history that a section's columns hold."""
    return History(
        key=row.url_key,
        kind=Kind.SECTION,
        first_seen=row.first_seen,
        last_seen=row.last_seen,
        last_changed=row.last_changed,
        visits=row.visits,
        changes=row.changes,
        misses=row.misses,
    )


def _write(connection: Connection, section_id: int, values: dict[str, Any]) -> None:
    connection.execute(update(section).where(section.c.id == section_id).values(values))

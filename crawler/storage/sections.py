"""Stored sections: listings, which are visited again for the links on them. Read for a batch, and written at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, insert, select
from xxhash import xxh64_intdigest

from crawler import schedule
from crawler.schedule import PageKind, VisitHistory, next_visit
from crawler.storage.locks import NotReadError
from crawler.storage.pages import (
    SECTION_HISTORY,
    counts_miss,
    is_repeatable,
    origin_columns,
    section_history,
    target_key,
)
from crawler.storage.tables import batched, section, update_rows
from crawler.urls import is_root, site_of, without_credentials

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from crawler.schedule import RevisitBounds
    from crawler.storage.pages import PageOrigin
    from crawler.visit import RequestRecord, Visit

_FIND_SECTIONS = select(*SECTION_HISTORY, section.c.next_visit).where(
    section.c.url_key.in_(bindparam("keys", expanding=True))
)


class SectionRows:
    """The sections of a batch, by key, with all that it has changed since. `keys` are those that were looked up."""

    def __init__(self, rows: Iterable[SimpleNamespace], keys: Collection[str]) -> None:
        self._rows = {row.url_key: row for row in rows}
        self._keys = keys
        self._added: dict[str, dict[str, Any]] = {}
        self._updated: dict[int, dict[str, Any]] = {}
        self._deleted: list[int] = []

    def has(self, key: str) -> bool:
        """Return True if a section is stored under a key."""
        return self._find(key) is not None

    def record(self, visit: Visit, request: RequestRecord, origin: PageOrigin, bounds: RevisitBounds) -> None:
        """Store a section with the links of its newest visit; a page that never had links is not a section."""
        key = target_key(request)
        stored = self._find(key)
        if not is_repeatable(request) or (stored is None and not visit.requests):
            return
        links = links_hash(visit.requests)
        if stored is None:
            history = VisitHistory(key, PageKind.SECTION, visit.at, visit.at, visit.at)
        else:
            history = section_history(stored).visited(visit.at, changed=stored.links_hash != links)
        values = origin_columns(request, origin) | {
            "url": without_credentials(visit.url),
            "site": site_of(visit.url),
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
            self._added[key] = values | {"url_key": key, "first_seen": visit.at}
            self._rows[key] = SimpleNamespace(id=None, **self._added[key])
        else:
            self._update(stored, values)

    def record_absence(self, key: str, visit_time: datetime, bounds: RevisitBounds, *, for_good: bool) -> None:
        """Count a visit that did not find a section; it is retired after as many misses as a page."""
        stored = self._find(key)
        if stored is None or not (for_good or counts_miss(stored.misses, stored.next_visit, visit_time)):
            return
        history = section_history(stored).missed()
        values: dict[str, Any] = {"misses": history.misses, "next_visit": next_visit(history, visit_time, bounds)}
        if stored.retired_at is None and (for_good or schedule.is_gone(history, bounds)):
            values["retired_at"] = visit_time
        self._update(stored, values)

    def defer(self, key: str, visit_time: datetime, bounds: RevisitBounds) -> None:
        """Schedule the next visit to a section after one that brought nothing."""
        stored = self._find(key)
        if stored is not None:
            self._update(stored, {"next_visit": next_visit(section_history(stored), visit_time, bounds)})

    def move(self, old: str, key: str) -> bool:
        """Let a section that redirects elsewhere for good be the one there; return False if it is none.

        A section that redirects to the home page has not moved there.
        """
        stored = self._find(old)
        if old == key or stored is None or (is_root(key) and not is_root(old)):
            return False
        del self._rows[old]
        if not self.has(key):
            self._rows[key] = stored
            if stored.id is None:
                self._added[key] = self._added.pop(old)
            self._update(stored, {"url_key": key})
        elif stored.id is None:
            del self._added[old]
        else:
            self._deleted.append(stored.id)
            self._updated.pop(stored.id, None)
        return True

    def _find(self, key: str) -> SimpleNamespace | None:
        if key not in self._rows and key not in self._keys:
            raise NotReadError("keys", key)
        return self._rows.get(key)

    def _update(self, stored: SimpleNamespace, values: Mapping[str, Any]) -> None:
        vars(stored).update(values)
        changes = self._added[stored.url_key] if stored.id is None else self._updated.setdefault(stored.id, {})
        changes.update(values)

    def write(self, connection: Connection) -> None:
        if self._deleted:
            connection.execute(delete(section).where(section.c.id.in_(self._deleted)))
        update_rows(connection, section, self._updated)
        if self._added:
            connection.execute(insert(section), list(self._added.values()))


def read_sections(connection: Connection, keys: Collection[str]) -> SectionRows:
    """Read the sections stored under these keys."""
    parts = (connection.execute(_FIND_SECTIONS, {"keys": part}) for part in batched(sorted(keys)))
    rows = [SimpleNamespace(**row._mapping) for part in parts for row in part]  # noqa: SLF001 — SQLAlchemy's public name
    return SectionRows(rows, keys)


def links_hash(requests: Iterable[RequestRecord]) -> int:
    """Return the hash of the requests' targets, whatever their order and number."""
    keys = {record.key.partition("+")[0] for record in requests}  # without the suffix that tells equal requests apart
    return xxh64_intdigest("\n".join(sorted(keys)).encode())

"""What a visit without a page to store means for the page and the section stored at its address.

A page that has not changed is seen again with all its blocks; one that was not found is missed, and retired after too
many misses in a row, or at once where its server says that it is gone for good (410). A retired page counts for
nothing: its blocks are gone, it mirrors no page and none mirrors it, and what it showed stands on one page less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select, update

from crawler import schedule
from crawler.storage import ends, lastmods, pages, revisits, rows, sections
from crawler.storage.models import block, page, section, sighting
from crawler.storage.revisits import REVISITED
from crawler.storage.rows import Home
from crawler.storage.saved import PageState, Saved
from crawler.storage.templates import Change
from crawler.urls import url_key, without_credentials
from crawler.visit import MISSING, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from crawler.storage.ends import Manners
    from crawler.storage.mirrors import Mirrors
    from crawler.storage.pages import Reading, StoredPage
    from crawler.storage.revisits import Origin
    from crawler.storage.templates import Tally
    from crawler.visit import Visit

_GONE = 410
_PAGES, _SECTIONS = (
    select(table.c.url_key).where(table.c.url_key.in_(bindparam("keys", expanding=True))) for table in (page, section)
)
_STORED = _PAGES.union_all(_SECTIONS)
_SEE_AGAIN = [
    update(table)
    .where(table.c.page_id == bindparam("page"), table.c.gone_at.is_(None))
    .values(last_seen=bindparam("at"))
    for table in (block, sighting)
]


@dataclass(frozen=True, slots=True)
class Absence:
    """A page, or section, that was not found at its URL; `for_good` where its server says so."""

    key: str
    url: str
    at: datetime
    for_good: bool = False


def key(visit: Visit, reading: Reading | None) -> str:
    """Return the key of what a visit was for."""
    if visit.request is not None and REVISITED in visit.request.meta:
        return revisits.target(visit.request)
    return url_key(visit.url) if reading is None else reading.key


def absence(visit: Visit, reading: Reading | None) -> Absence | None:
    """Return what a visit did not find where it was sought, None where it was found or nothing was learned.

    Where a re-visit found a page of another key, the page that it was for is not there.
    """
    sought = key(visit, reading)
    elsewhere = reading is not None and reading.key != sought and visit.parts == 1
    if not (elsewhere or visit.outcome in MISSING):
        return None
    return Absence(sought, _url(visit), visit.at, for_good=visit.status == _GONE)


def may_retire(connection: Connection, absences: Sequence[Absence]) -> bool:
    """Tell whether one of them may be the last: then nobody else may write while it is noted."""
    if not absences:
        return False
    keys = {one.key: one.for_good for one in absences}
    found = select(page.c.url_key, page.c.misses).where(page.c.url_key.in_(keys), page.c.retired_at.is_(None))
    rows_found = connection.execute(found)
    return any(keys[row.url_key] or row.misses + 1 >= schedule.RETIRE_MISSES for row in rows_found)


class Upkeep:
    """Keeps pages and sections, in the transaction of a batch.

    `alone` tells that nobody else writes meanwhile: only then is a page retired, otherwise at its next miss.
    """

    def __init__(self, tally: Tally, mirrors: Mirrors, manners: Manners, origin: Origin | None, *, alone: bool) -> None:
        self.tally = tally
        self._connection = tally.connection
        self._mirrors = mirrors
        self._manners = manners
        self._origin = origin
        self._alone = alone
        self._proofs: list[lastmods.Proof] = []
        self._nowhere: frozenset[str] = frozenset()

    def foresee(self, visits: Sequence[Visit], readings: Sequence[Reading | None]) -> None:
        """Look up, all at once, which visits found nothing at addresses where nothing is stored: most of a crawl's."""
        pairs = list(zip(visits, readings, strict=True))
        empty = {key(visit, None) for visit, reading in pairs if reading is None and not visit.requests}
        made = {key(visit, reading) for visit, reading in pairs if visit.requests}
        made.update(reading.key for reading in readings if reading is not None)
        if empty:
            made.update(self._connection.scalars(_STORED, {"keys": list(empty)}))
        self._nowhere = frozenset(empty - made)

    def prove(self, stored: StoredPage, *, changed: bool) -> None:
        """Remember what a visit shows of the sitemap that had said something of the page."""
        if (proof := lastmods.prove(stored, changed=changed)) is not None:
            self._proofs.append(proof)

    def settle(self) -> None:
        """Note what the visits have shown of sitemaps; after the last of them."""
        lastmods.learn(self._connection, self._proofs)

    def keep(self, visit: Visit) -> Saved:
        """Note what a visit without a page says of the page and the section at its address."""
        nothing, sought = Saved(visit.url, PageState.NONE), key(visit, None)
        if sought in self._nowhere or not ends.is_over(visit, self._manners.most_attempts):
            return nothing
        if (missing := absence(visit, None)) is not None:
            return self.miss(missing)
        self._keep_section(visit, sought)
        stored = pages.find(self._connection, sought)
        if stored is None or stored.url != _url(visit):
            return nothing
        if visit.outcome is Outcome.NOT_MODIFIED and not stored.retired:
            return self._see_again(visit, stored)
        self._write(stored, self._due(stored, stored.history, visit.at))
        return Saved(visit.url, PageState.PUT_OFF, stored.page_id)

    def beside(self, visit: Visit, reading: Reading) -> None:
        """Note what a re-visit that found a page says of what else it was for."""
        if (missing := absence(visit, reading)) is not None:
            self.miss(missing)
        elif visit.request is not None and REVISITED in visit.request.meta:
            sections.put_off(self._connection, reading.key, visit.at, self._manners.revisits)

    def miss(self, missing: Absence) -> Saved:
        """Note that a page, or a section, was not found."""
        bounds = self._manners.revisits
        sections.missed(self._connection, missing.key, missing.at, bounds, for_good=missing.for_good)
        stored = pages.find(self._connection, missing.key)
        if stored is None or stored.url != missing.url:
            return Saved(missing.url, PageState.NONE)
        history = stored.history.missed()
        values = self._due(stored, history, missing.at) | {"misses": history.misses}
        leaves = self._alone and not stored.retired and (missing.for_good or schedule.retired(history))
        gone = self._retire(stored, missing.at) if leaves else 0
        if leaves:
            values |= {"retired_at": missing.at, "page_fingerprint": None}
        self._write(stored, values)
        return Saved(missing.url, PageState.RETIRED if leaves else PageState.MISSED, stored.page_id, gone=gone)

    def _keep_section(self, visit: Visit, sought: str) -> None:
        bounds = self._manners.revisits
        if visit.outcome is Outcome.SECTION and visit.request is not None and self._origin is not None:
            sections.seen(self._connection, visit, visit.request, self._origin, bounds)
        else:
            sections.put_off(self._connection, sought, visit.at, bounds)

    def _see_again(self, visit: Visit, stored: StoredPage) -> Saved:
        self.prove(stored, changed=False)
        history = stored.history.visited(visit.at, changed=False)
        new = {"etag": visit.etag, "last_modified": visit.last_modified}
        values = {name: value for name, value in new.items() if value is not None}
        seen = {"last_seen": visit.at, "visits": history.visits, "misses": 0, "lastmod": None}
        self._write(stored, values | seen | self._due(stored, history, visit.at))
        for statement in _SEE_AGAIN:
            self._connection.execute(statement, {"page": stored.page_id, "at": visit.at})
        return Saved(visit.url, PageState.NOT_MODIFIED, stored.page_id)

    def _retire(self, stored: StoredPage, at: datetime) -> int:
        """Take a page out of all that counts or compares pages; return how many blocks and sightings are gone."""
        live = [row for row in rows.earlier(self._connection, stored.page_id) if not row.gone]
        rows.mark_gone(self._connection, Home(stored.page_id, stored.site, at, self.tally.journal.mark), live)
        self.tally.journal.touch(stored.page_id)
        self._mirrors.remove(self._connection, select(page.c.id).where(page.c.id == stored.page_id))
        self.tally.note(Change.leaving(stored.site, live))
        return len(live)

    def _due(self, stored: StoredPage, history: schedule.History, at: datetime) -> dict[str, Any]:
        """Return when a page is due; pages that no crawl can visit again, as it is not known how, never are."""
        return {"next_visit": schedule.next_visit(history, at, self._manners.revisits)} if stored.has_origin else {}

    def _write(self, stored: StoredPage, values: dict[str, Any]) -> None:
        if values:
            self._connection.execute(update(page).where(page.c.id == stored.page_id).values(values))


def _url(visit: Visit) -> str:
    return without_credentials(visit.url if visit.request is None else visit.request.url)

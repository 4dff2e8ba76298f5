"""What publishers changed on the pages of all sites: the latest events first, with the words that differ.

    from crawler.reading.changes import ChangeFilters, read_changes

    for change in read_changes(connection, ChangeFilters(site="example.org"), limit=20).changes:
        print(change.visited, change.kind, change.url)

Where each event is found is the index by time or by site. A section has no index: of each answer at most 2,000 events
are looked through for it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import Text, func, literal, select, tuple_, type_coerce

from crawler.errors import QueryError
from crawler.reading.history import read_revisions
from crawler.storage.change_log import PageEventKind
from crawler.storage.tables import UtcDateTime, database_id, page, page_event

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import ColumnElement
    from sqlalchemy.engine import Connection

    from crawler.reading.history import PageRevision

HEADLINE = "headline"
"""The kind of the filter for pages with another headline or title; the others are those of `PageEventKind`."""

KINDS = (*(kind.value for kind in PageEventKind), HEADLINE)

EVENTS_COUNTED_MAX = 10_000
"""Events, the latest ones, that are counted by day and site."""

_EVENTS_SCANNED_MAX = 2_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR = re.compile(r"(\d{1,17})\.(\d{1,18})")
# Of these events the texts are compared.
_COMPARED_KINDS = frozenset({PageEventKind.CHANGED, PageEventKind.MOVED, PageEventKind.RETURNED})


@dataclass(frozen=True, slots=True)
class ChangeFilters:
    """The events that are read: of a site, of pages that state a section, of a kind, and of a range of days (UTC)."""

    site: str | None = None
    section: str | None = None
    kind: str | None = None
    since: date | None = None
    until: date | None = None

    @property
    def conditions(self) -> list[ColumnElement[bool]]:
        """The conditions on events; the section is a condition on pages."""
        conditions: list[ColumnElement[bool]] = []
        if self.site is not None:
            conditions.append(page_event.c.site == self.site)
        if self.kind == HEADLINE:
            conditions.append(page_event.c.headline)
        elif self.kind == PageEventKind.MOVED:
            conditions.append(page_event.c.moved_from.is_not(None))
        elif self.kind is not None:
            conditions.append(page_event.c.kind == self.kind)
        if self.since is not None:
            conditions.append(page_event.c.visited >= _midnight(self.since))
        if self.until is not None:
            conditions.append(page_event.c.visited < _midnight(self.until) + timedelta(days=1))
        return conditions


@dataclass(frozen=True, slots=True)
class PageChange:
    """An event of a page, with the page as it is now. `id` stays the same for ever.

    `revision` has the texts and metadata that the visit found changed; None for a new and for a retired page.
    """

    id: str
    visited: datetime
    kind: str
    headline: bool
    moved_from: str | None
    page_id: int
    url: str
    site: str
    title: str | None
    section: str | None
    language: str | None
    description: str | None
    revision: PageRevision | None


@dataclass(frozen=True, slots=True)
class ChangeList:
    """Events, the latest first, and the cursor behind them; None at the end."""

    changes: list[PageChange]
    next: str | None


@dataclass(frozen=True, slots=True)
class SiteDay:
    """The events of a site on a day (UTC), by kind; `headlines` are among the others."""

    day: date
    site: str
    kinds: dict[str, int]
    headlines: int


def read_changes(
    connection: Connection, filters: ChangeFilters, limit: int, cursor: str | None = None, *, texts: bool = True
) -> ChangeList:
    """Return events, the latest first; without `texts` nothing is compared.

    Raises QueryError for a cursor of another list.
    """
    conditions = filters.conditions
    if cursor is not None:
        conditions.append(_is_before(cursor))
    scanned = limit + 1 if filters.section is None else _EVENTS_SCANNED_MAX
    newest = select(page_event).where(*conditions)
    newest = newest.order_by(page_event.c.visited.desc(), page_event.c.page_id.desc()).limit(scanned)
    events = connection.execute(newest).all()
    pages = _read_pages(connection, {event.page_id for event in events}, filters.section)
    places = [place for place, event in enumerate(events) if event.page_id in pages][:limit]
    last = places[-1] if len(places) == limit else len(events) - 1
    is_end = last + 1 >= len(events) and len(events) < scanned
    chosen = [events[place] for place in places]
    changes = list(_page_changes(connection, chosen, pages, texts=texts))
    return ChangeList(changes, None if is_end else _cursor_of(events[last]))


def count_changes(connection: Connection, filters: ChangeFilters) -> list[SiteDay]:
    """Return the numbers of the latest events by day and site, the latest day first; the section is not considered."""
    columns = (page_event.c.visited, page_event.c.site, page_event.c.kind, page_event.c.headline)
    latest = select(*columns).where(*filters.conditions)
    latest = latest.order_by(page_event.c.visited.desc(), page_event.c.page_id.desc())
    events = latest.limit(EVENTS_COUNTED_MAX).subquery()
    if connection.dialect.name == "sqlite":
        day: Any = func.substr(type_coerce(events.c.visited, Text), 1, len("YYYY-MM-DD"))
    else:
        day = func.to_char(func.timezone("UTC", events.c.visited), "YYYY-MM-DD")
    groups = (day, events.c.site, events.c.kind, events.c.headline)
    kinds: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    headlines: defaultdict[tuple[str, str], int] = defaultdict(int)
    for day_text, site, kind, headline, count in connection.execute(select(*groups, func.count()).group_by(*groups)):
        of_kind = kinds[day_text, site]
        of_kind[kind] = of_kind.get(kind, 0) + count
        headlines[day_text, site] += count if headline else 0
    return [
        SiteDay(date.fromisoformat(day_text), site, kinds[day_text, site], headlines[day_text, site])
        for day_text, site in sorted(kinds, key=lambda key: (key[0], key[1]), reverse=True)
    ]


def _read_pages(connection: Connection, ids: set[int], section: str | None) -> dict[int, Any]:
    names = ("id", "url", "title", "section", "language", "description")
    columns = select(*(page.c[name] for name in names)).where(page.c.id.in_(ids))
    if section is not None:
        columns = columns.where(page.c.section == section)
    return {row.id: row for row in connection.execute(columns)}


def _page_changes(
    connection: Connection, events: Sequence[Any], pages: dict[int, Any], *, texts: bool
) -> Iterator[PageChange]:
    compared = [(event.page_id, event.visited) for event in events if event.kind in _COMPARED_KINDS]
    revisions = read_revisions(connection, compared) if texts else {}
    database = connection.scalar(select(database_id.c.id).limit(1)) if events else None
    for event in events:
        row = pages[event.page_id]
        yield PageChange(
            id=f"{database}/{event.page_id}/{_microseconds(event.visited)}",
            visited=event.visited,
            kind=event.kind,
            headline=event.headline,
            moved_from=event.moved_from,
            page_id=event.page_id,
            url=row.url,
            site=event.site,
            title=row.title,
            section=row.section,
            language=row.language,
            description=row.description,
            revision=revisions.get((event.page_id, event.visited)),
        )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _cursor_of(event: Any) -> str:
    return f"{_microseconds(event.visited)}.{event.page_id}"


def _is_before(cursor: str) -> ColumnElement[bool]:
    match = _CURSOR.fullmatch(cursor)
    try:
        moment = None if match is None else _EPOCH + timedelta(microseconds=int(match[1]))
    except OverflowError:
        moment = None
    if match is None or moment is None:
        raise QueryError(f"the cursor {cursor!r} is not one of this list; leave it out to begin again")
    place = tuple_(literal(moment, UtcDateTime), literal(int(match[2]), page_event.c.page_id.type))
    return tuple_(page_event.c.visited, page_event.c.page_id) < place

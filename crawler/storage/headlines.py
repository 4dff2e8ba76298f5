"""The names of pages, and their former headlines, titles, authors and dates.

The table `headline` has the present headline and stated title of each page, `former_metadata` the values that a visit
found replaced. A difference counts as a change by the publisher only if nothing else explains it. Rules make the title,
author and date, so the same version of Blocksieve and the same method must have read both values. A counter at the
beginning of a title, as in "(3) Inbox", is not compared. The caller owns the transaction.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, delete, insert, select, update

from crawler.storage.tables import former_metadata, headline, insert_on_conflict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Select
    from sqlalchemy.engine import Connection

_FORMER_VALUES_MAX = 20
"""Former values that are stored of each name of a page; older ones are deleted."""

_RECENT_VISITS = 6
"""A value that has changed at three of this many visits is restless: its next change does not make the page changed."""

_RECENT_CHANGES_MAX = 3

_STATED = ("headline", "stated_title")
_DERIVED = ("author", "published")

HEADLINE_NAMES = frozenset({*_STATED, "title"})
"""The names of former metadata that say what a page is called."""

_DAY_CHARS = len("YYYY-MM-DD")
_COUNTER = re.compile(r"\(\d{1,5}\+?\)\s*")

_FORMER_OF_PAGES = (
    select(former_metadata.c.page_id, former_metadata.c.name, former_metadata.c.visit, former_metadata.c.gone_at)
    .where(former_metadata.c.page_id.in_(bindparam("pages", expanding=True)))
    .order_by(former_metadata.c.page_id, former_metadata.c.name, former_metadata.c.visit)
)
_DELETE_FORMER = delete(former_metadata).where(
    former_metadata.c.page_id == bindparam("page"),
    former_metadata.c.name == bindparam("of_name"),
    former_metadata.c.visit == bindparam("number"),
)


@dataclass(frozen=True, slots=True)
class PageNames:
    """The names of a page at one visit: the headline that it shows, and the title that it states.

    Both are None for a page whose reader knew neither. `version` is that of Blocksieve, None if the page's title,
    author and date were not all read by it.
    """

    headline: str | None = None
    stated_title: str | None = None
    version: str | None = None

    @property
    def known(self) -> bool:
        return self.headline is not None or self.stated_title is not None


@dataclass(frozen=True, slots=True)
class StatedMetadata:
    """The metadata that a visit found: the page's names, and the columns `title`, `author` and `published`."""

    names: PageNames | None
    columns: Mapping[str, str | None]
    method: str

    def differences(self, later: StatedMetadata) -> Iterator[str]:
        """Yield the names of the values that a later visit found changed by the publisher."""
        names, later_names = self.names, later.names
        stated: list[str] = []
        if names is not None and later_names is not None and names.known and later_names.known:
            pairs = ((name, getattr(names, name), getattr(later_names, name)) for name in _STATED)
            stated = [name for name, before, now in pairs if _without_counter(before) != _without_counter(now)]
        yield from stated
        if not self._is_read_like(later):
            return
        # The title is made of the names: only if both are the same is it a value of its own.
        for name in _DERIVED if stated else ("title", *_DERIVED):
            if _comparable(name, self.columns[name]) != _comparable(name, later.columns[name]):
                yield name

    def value(self, name: str) -> str | None:
        """Return the value of a name that `differences` yields."""
        return getattr(self.names, name) if name in _STATED else self.columns[name]

    def _is_read_like(self, later: StatedMetadata) -> bool:
        if self.names is None or later.names is None:
            return False
        return (self.names.version, self.method) == (later.names.version, later.method)


@dataclass(frozen=True, slots=True)
class EarlierVisits:
    """The visits to a page before the present one: their number, the first one and the last one."""

    count: int
    first_seen: datetime
    last_seen: datetime


@cache
def own_version() -> str:
    """Return the version of Blocksieve that reads pages now."""
    return version("blocksieve")


class FormerValue(NamedTuple):
    """A name that had another value until a visit of this number."""

    name: str
    visit: int
    gone_at: datetime


def read_former(connection: Connection, pages: Collection[int]) -> dict[int, list[FormerValue]]:
    """Return the former values of pages, in order, by page."""
    former: dict[int, list[FormerValue]] = {page_id: [] for page_id in pages}
    if former:
        for row in connection.execute(_FORMER_OF_PAGES, {"pages": list(former)}):
            former[row.page_id].append(FormerValue(row.name, row.visit, row.gone_at))
    return former


class MetadataChanges:
    """The names that the pages of a batch have now, and the values that it found replaced."""

    def __init__(self, former: dict[int, list[FormerValue]]) -> None:
        self._former = former
        self._names: dict[int, PageNames] = {}
        self._replaced: list[dict[str, Any]] = []
        self._outdated: list[dict[str, Any]] = []
        self._reread: set[int] = set()

    def name(self, page_id: int, names: PageNames) -> None:
        """Store the names of a page."""
        self._names[page_id] = names

    def forget(self, page_id: int) -> None:
        """Drop the names of a page that is about to be deleted."""
        self._names.pop(page_id, None)

    def forget_version(self, page_id: int) -> None:
        """Record that another method has cleaned a page: its next visit does not take a difference for a change."""
        self._reread.add(page_id)

    def replace(
        self, page_id: int, before: StatedMetadata, names: Sequence[str], visits: EarlierVisits, visit_time: datetime
    ) -> bool:
        """Store the values of these names that a visit found replaced; return True if they make the page changed.

        A value that changes at most visits (a clock, a ticker) does not.
        """
        of_page = self._former.setdefault(page_id, [])
        former = {name: [value for value in of_page if value.name == name] for name in names}
        for name, values in former.items():
            self._replaced.append(
                {
                    "page_id": page_id,
                    "name": name,
                    "visit": visits.count,
                    "value": before.value(name),
                    "first_seen": values[-1].gone_at if values else visits.first_seen,
                    "last_seen": visits.last_seen,
                    "gone_at": visit_time,
                }
            )
            of_page.append(FormerValue(name, visits.count, visit_time))
            self._outdated += [
                {"page": page_id, "of_name": name, "number": value.visit}
                for value in values[: max(0, len(values) + 1 - _FORMER_VALUES_MAX)]
            ]
        return not all(_is_restless(values, visits.count) for values in former.values())

    def write(self, connection: Connection) -> None:
        if self._names:
            rows = [
                {
                    "page_id": page_id,
                    "headline": names.headline,
                    "stated_title": names.stated_title,
                    "version": names.version,
                }
                for page_id, names in self._names.items()
            ]
            new = insert_on_conflict(connection, headline)
            values = {name: new.excluded[name] for name in ("headline", "stated_title", "version")}
            connection.execute(new.on_conflict_do_update(index_elements=["page_id"], set_=values), rows)
        if self._replaced:
            connection.execute(insert(former_metadata), self._replaced)
        if self._outdated:
            connection.execute(_DELETE_FORMER, self._outdated)
        if self._reread:
            connection.execute(update(headline).where(headline.c.page_id.in_(self._reread)).values(version=None))


def move_former(connection: Connection, old_id: int, page_id: int, visits: int) -> None:
    """Give a page the former values of one that it absorbs, as if from before its own visits; forget the other's names.

    `visits` are those of both pages together.
    """
    moved = {"page_id": page_id, "visit": former_metadata.c.visit - visits}
    connection.execute(update(former_metadata).where(former_metadata.c.page_id == old_id).values(moved))
    connection.execute(delete(headline).where(headline.c.page_id == old_id))


def delete_names(connection: Connection, pages: Select[int]) -> None:
    """Delete the present and former names of the selected pages."""
    for table in (headline, former_metadata):
        connection.execute(delete(table).where(table.c.page_id.in_(pages)))


def _is_restless(values: Sequence[FormerValue], visit: int) -> bool:
    recent = [value for value in values if value.visit > visit - _RECENT_VISITS]
    return len(recent) >= _RECENT_CHANGES_MAX


def _without_counter(text: str | None) -> str | None:
    return None if text is None else _COUNTER.sub("", text, count=1) if text.startswith("(") else text


def _comparable(name: str, text: str | None) -> str | None:
    """Return a value as it is compared: a date by its day, since the time is often that of the last edit."""
    return text[:_DAY_CHARS] if name == "published" and text else _without_counter(text)

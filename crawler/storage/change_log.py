"""The change log: which blocks and pages have changed, for incremental exports; and the events of pages, for readers.

Each transaction that changes exported data has a change sequence, a number. It writes that number into the rows that
it changes: `changed` of blocks and sightings, and `document_frequency.changed` where it decides again what is
boilerplate. Table `change_log` has a row for each page with a changed row or description, so that these are found
without an index on every block. Deleted blocks are in `removed_block`. Columns that every visit renews (`last_seen`)
do not count as changes.

A reader's `Horizon` says of every change sequence whether the reader saw its transaction. On SQLite, where writers take
turns, it is one number. On PostgreSQL a change sequence derives from the transaction's id, and a transaction with a
smaller id may commit later; so the horizon also has the ids of the transactions that were running. The changes beyond
a horizon are exactly those made after it, however late a writer commits, and no clock is involved.

An event is what a visit found that the publisher of a page has done. Another cleaning method, a re-clean or a search
for duplicates changes rows too, but makes no event.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import and_, case, delete, false, func, insert, literal, or_, select, text, union, update

from crawler.errors import StoreError
from crawler.storage.tables import (
    batched,
    block,
    change_log,
    document_frequency,
    insert_on_conflict,
    page,
    page_event,
    removed_block,
    sighting,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, CompoundSelect, Select
    from sqlalchemy.engine import Connection

_COLUMNS = [column.name for column in change_log.c]
# PostgreSQL numbers transactions for all databases of a server together; `database_id.sequence` is an offset there.
_NEXT_SEQUENCE = {
    "sqlite": text("UPDATE database_id SET sequence = sequence + 1 RETURNING sequence"),
    "postgresql": text("SELECT sequence + CAST(CAST(pg_current_xact_id() AS text) AS bigint) FROM database_id"),
}


@dataclass(frozen=True, slots=True)
class Horizon:
    """The transactions that a reader saw: those with change sequences below `following`, except the `running` ones."""

    following: int
    running: tuple[int, ...] = ()

    def beyond(self, sequence: ColumnElement[int]) -> ColumnElement[bool]:
        """Return the condition that a column has the change sequence of a transaction that the reader did not see."""
        return or_(sequence >= self.following, sequence.in_(self.running) if self.running else false())

    def hides(self, sequence: int) -> bool:
        """Return True if the reader did not see the transaction with this change sequence."""
        return sequence >= self.following or sequence in self.running


@dataclass(slots=True)
class PageLog:
    """The pages that a transaction changes, by what it changes of them."""

    added: set[int] = field(default_factory=set)
    described: set[int] = field(default_factory=set)
    """Their description (address, title, author, ...) has changed."""
    touched: set[int] = field(default_factory=set)
    """Their blocks or sightings may have changed; those that did carry the change sequence."""
    restructured: set[int] = field(default_factory=set)
    """They have another structure, headline, event or original; their blocks may be the same."""

    def forget(self, page_id: int) -> None:
        """Drop what was recorded of a page, before `ChangeLog.remove_pages` records it."""
        for recorded in (self.added, self.described, self.touched, self.restructured):
            recorded.discard(page_id)


class ChangeLog:
    """The changes of one transaction: `pages` collects them, and `write` writes them."""

    def __init__(self, connection: Connection, pages: PageLog | None = None) -> None:
        self._connection = connection
        self.pages = PageLog() if pages is None else pages

    @cached_property
    def sequence(self) -> int:
        """The change sequence of the transaction, taken when it is first read."""
        sequence = self._connection.execute(_NEXT_SEQUENCE[self._connection.dialect.name]).scalar()
        if sequence is None:
            raise StoreError("the database's table database_id is empty; run `scrapy upgrade`")
        return int(sequence)

    def remove_pages(self, pages: Select[int]) -> None:
        """Record the selected pages, with their blocks, before they are deleted.

        If a deleted page also showed a block that stays, that block may now be on no page at all.
        """
        stays = block.c.page_id.not_in(pages)
        originals = select(sighting.c.block_id).where(sighting.c.page_id.in_(pages))
        marked = update(block).where(block.c.id.in_(originals), stays).values(changed=self.sequence)
        self.pages.touched.update(self._connection.scalars(marked.returning(block.c.page_id)))
        blocks = select(block.c.id, literal(self.sequence)).where(block.c.page_id.in_(pages))
        self._connection.execute(insert(removed_block).from_select(["block_id", "changed"], blocks))
        self._upsert(self._described_rows().where(page.c.id.in_(pages)))

    def remove_block(self, block_id: int) -> None:
        """Record a block, on a page that stays, before it is deleted."""
        self._connection.execute(insert(removed_block), {"block_id": block_id, "changed": self.sequence})

    def write(self) -> None:
        """Write the recorded changes; call it after the transaction has written its blocks and sightings."""
        pages = self.pages
        if pages.added:
            row = {"added": self.sequence, "described": self.sequence, "changed": self.sequence}
            self._connection.execute(
                insert(change_log), [{"page_id": page_id} | row for page_id in sorted(pages.added)]
            )
        for part in batched(sorted(pages.described - pages.added)):
            self._upsert(self._described_rows().where(page.c.id.in_(part)))
        for part in batched(sorted(pages.restructured - pages.added - pages.described)):
            self._upsert(self._restructured_rows().where(page.c.id.in_(part)))
        for part in batched(sorted(pages.touched - pages.added - pages.described - pages.restructured)):
            self._upsert(self._changed_rows(part))

    def _described_rows(self) -> Select[Any]:
        return select(page.c.id, literal(0), literal(self.sequence), literal(self.sequence))

    def _restructured_rows(self) -> Select[Any]:
        return select(page.c.id, literal(0), literal(0), literal(self.sequence))

    def _changed_rows(self, pages: Sequence[int]) -> Select[Any]:
        """Select the log's rows of the pages that have a block or sighting with this change sequence."""
        own, seen = (
            select(table.c.page_id).where(table.c.page_id.in_(pages), table.c.changed == self.sequence)
            for table in (block, sighting)
        )
        page_ids = own.union(seen).subquery()
        return select(page_ids.c.page_id, literal(0), literal(0), literal(self.sequence)).where(page_ids.c.page_id > 0)

    def _upsert(self, rows: Select[Any]) -> None:
        new = insert_on_conflict(self._connection, change_log)
        described = case((new.excluded.described > 0, new.excluded.described), else_=change_log.c.described)
        values = {"changed": new.excluded.changed, "described": described}
        statement = new.from_select(_COLUMNS, rows)
        self._connection.execute(statement.on_conflict_do_update(index_elements=["page_id"], set_=values))


def changed_blocks(since: Horizon) -> CompoundSelect[int]:
    """Select, in order, the ids of all blocks that were stored, changed, shown on other pages or deleted since.

    They include the blocks that became boilerplate since, or stopped being it.
    """
    own = (
        select(block.c.id)
        .join(change_log, change_log.c.page_id == block.c.page_id)
        .where(since.beyond(change_log.c.changed))
        .where(or_(since.beyond(block.c.changed), since.beyond(change_log.c.described)))
    )
    elsewhere = (
        select(sighting.c.block_id)
        .join(change_log, change_log.c.page_id == sighting.c.page_id)
        .where(since.beyond(change_log.c.changed), since.beyond(sighting.c.changed))
    )
    removed = select(removed_block.c.block_id).where(since.beyond(removed_block.c.changed))
    boilerplate = (_decided_blocks(block.c.id, since), _decided_sightings(sighting.c.block_id, since))
    return union(own, elsewhere, removed, *boilerplate).order_by("id")


def changed_pages(since: Horizon) -> CompoundSelect[int]:
    """Select, in order, the ids of all pages whose text or description changed since, or that were deleted."""
    logged = select(change_log.c.page_id).where(since.beyond(change_log.c.changed))
    boilerplate = (_decided_blocks(block.c.page_id, since), _decided_sightings(sighting.c.page_id, since))
    return union(logged, *boilerplate).order_by("page_id")


def _decided_blocks(column: ColumnElement[int], since: Horizon) -> Select[int]:
    """Select a column of the blocks whose text became boilerplate since, or stopped being it."""
    same = and_(document_frequency.c.digest == block.c.digest, document_frequency.c.site == block.c.site)
    decided = since.beyond(document_frequency.c.changed)
    return select(column).select_from(document_frequency).join(block, same).where(decided)


def _decided_sightings(column: ColumnElement[int], since: Horizon) -> Select[int]:
    """Select a column of the sightings whose text became boilerplate since, or stopped being it.

    A sighting belongs to its page's site, and may have a digest of its own.
    """
    decided = since.beyond(document_frequency.c.changed)
    sites = select(document_frequency.c.site).where(decided)
    same = select(1).where(
        document_frequency.c.site == page.c.site, document_frequency.c.digest == sighting.c.digest, decided
    )
    return (
        select(column)
        .select_from(sighting)
        .join(page, page.c.id == sighting.c.page_id)
        .where(page.c.site.in_(sites), same.correlate(page, sighting).exists())
    )


class PageEventKind(StrEnum):
    """What a visit found of a page, or that a request did not find it."""

    NEW = "new"
    CHANGED = "changed"
    MOVED = "moved"
    """Only its address has changed."""
    RETIRED = "retired"
    RETURNED = "returned"
    """It was retired, and is there again."""


class PageEvent(NamedTuple):
    """An event of a page. `headline` says that it has another headline or title, `moved_from` is its former address."""

    visited: datetime
    page_id: int
    site: str
    kind: PageEventKind
    headline: bool = False
    moved_from: str | None = None


class PageEvents:
    """The events of one batch, collected here and written by `write`: one for each page and visit."""

    def __init__(self) -> None:
        self._events: dict[tuple[datetime, int], PageEvent] = {}

    def add(self, event: PageEvent) -> None:
        """Collect an event; a page that has moved may be changed or new too."""
        key = (event.visited, event.page_id)
        earlier = self._events.get(key)
        if earlier is not None:
            kind = earlier.kind if event.kind is PageEventKind.MOVED else event.kind
            event = event._replace(kind=kind, moved_from=event.moved_from or earlier.moved_from)
        self._events[key] = event

    def absorb(self, old_id: int, page_id: int) -> None:
        """Give a page the events of one that it absorbs, except those at its own visits."""
        for visited, owner in [key for key in self._events if key[1] == old_id]:
            event = self._events.pop((visited, owner))
            self._events.setdefault((visited, page_id), event._replace(page_id=page_id))

    def write(self, connection: Connection, log: PageLog) -> None:
        """Store the events, and record their pages."""
        if not self._events:
            return
        log.restructured.update(page_id for _, page_id in self._events)
        new = insert_on_conflict(connection, page_event)
        moved_from = func.coalesce(new.excluded.moved_from, page_event.c.moved_from)
        values = {"kind": new.excluded.kind, "headline": new.excluded.headline, "moved_from": moved_from}
        statement = new.on_conflict_do_update(index_elements=["visited", "page_id"], set_=values)
        connection.execute(statement, [event._asdict() for event in self._events.values()])


def move_events(connection: Connection, old_id: int, page_id: int) -> None:
    """Give a page the stored events of one that it absorbs, except those at its own visits."""
    own = select(page_event.c.visited).where(page_event.c.page_id == page_id).scalar_subquery()
    of_old = page_event.c.page_id == old_id
    connection.execute(delete(page_event).where(of_old, page_event.c.visited.in_(own)))
    connection.execute(update(page_event).where(of_old).values(page_id=page_id))


def delete_events(connection: Connection, pages: Select[int]) -> None:
    """Delete the events of the selected pages."""
    connection.execute(delete(page_event).where(page_event.c.page_id.in_(pages)))

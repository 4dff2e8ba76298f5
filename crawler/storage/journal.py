"""What has changed since when: marks on rows, and the journal of pages, from which exports take increments.

Each transaction that changes what exports hold has a mark, and writes it into the rows that it changes: a block's or
sighting's `changed`, `recurrence.changed` where it decides anew what is template. The journal has a row for each page
with a changed row or description, so that these are found without an index on every block; deleted blocks are in
`removed_block`. What every visit renews (`last_seen`) is not marked.

A reader's `Horizon` says, of every mark, whether its transaction could be seen: on SQLite, where writers take turns, it
is a number; on PostgreSQL, where the mark is the transaction's id and a smaller one may be committed later, it is that
number and the ids of those that were running. So what is marked beyond a horizon is just what changed after it: nothing
is lost to a writer that commits late, and no clock is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy import case, false, insert, literal, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from crawler.storage.batches import batched
from crawler.storage.models import block, journal, page, removed_block, sighting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import ColumnElement, Select
    from sqlalchemy.engine import Connection

_ROW = [column.name for column in journal.c]
_INSERT: Mapping[str, Any] = {"sqlite": sqlite.insert(journal), "postgresql": postgresql.insert(journal)}


@dataclass(frozen=True, slots=True)
class Horizon:
    """Which transactions a reader saw: those with marks under `following`, but for the `running`."""

    following: int
    running: tuple[int, ...] = ()

    def beyond(self, mark: ColumnElement[int]) -> ColumnElement[bool]:
        """Return the condition that a column's mark is of a transaction that was not seen."""
        return or_(mark >= self.following, mark.in_(self.running) if self.running else false())

    def hides(self, mark: int) -> bool:
        """Tell whether a mark is of a transaction that was not seen."""
        return mark >= self.following or mark in self.running


class Journal:
    """What one transaction changes; its `mark`, made when it is first asked for, goes into the rows that it writes."""

    def __init__(self, connection: Connection, make_mark: Callable[[], int]) -> None:
        self._connection = connection
        self._make_mark = make_mark
        self._added: set[int] = set()
        self._described: set[int] = set()
        self._touched: set[int] = set()

    @cached_property
    def mark(self) -> int:
        return self._make_mark()

    def add(self, page_id: int) -> None:
        """Note a new page."""
        self._added.add(page_id)

    def describe(self, page_id: int) -> None:
        """Note a page whose description (address, title, author, ...) has changed."""
        self._described.add(page_id)

    def touch(self, page_id: int) -> None:
        """Note a page whose blocks or sightings may have changed; those that did have the mark."""
        self._touched.add(page_id)

    def remove(self, pages: Select[int]) -> None:
        """Note that the selected pages are about to be deleted, with all that is theirs.

        Blocks that stay, and that those pages showed too, may be shown by none now.
        """
        stays = block.c.page_id.not_in(pages)
        shown = select(sighting.c.block_id).where(sighting.c.page_id.in_(pages))
        marked = update(block).where(block.c.id.in_(shown), stays).values(changed=self.mark)
        self._touched.update(self._connection.scalars(marked.returning(block.c.page_id)))
        blocks = select(block.c.id, literal(self.mark)).where(block.c.page_id.in_(pages))
        self._connection.execute(insert(removed_block).from_select(["block_id", "changed"], blocks))
        self._write(select(page.c.id, literal(0), literal(self.mark), literal(self.mark)).where(page.c.id.in_(pages)))

    def remove_block(self, block_id: int) -> None:
        """Note a block that is about to be deleted, on a page that stays."""
        self._connection.execute(insert(removed_block), {"block_id": block_id, "changed": self.mark})

    def settle(self) -> None:
        """Write what was noted; the rows are written before."""
        if self._added:
            row = {"added": self.mark, "described": self.mark, "changed": self.mark}
            self._connection.execute(insert(journal), [{"page_id": one} | row for one in sorted(self._added)])
        for some in batched(sorted(self._described - self._added)):
            described = select(page.c.id, literal(0), literal(self.mark), literal(self.mark)).where(page.c.id.in_(some))
            self._write(described)
        for some in batched(sorted(self._touched - self._added - self._described)):
            self._write(self._marked(some))

    def _marked(self, pages: Sequence[int]) -> Select[Any]:
        """Select those of the pages with rows that have the mark, as the journal notes them."""
        own, seen = (
            select(table.c.page_id).where(table.c.page_id.in_(pages), table.c.changed == self.mark)
            for table in (block, sighting)
        )
        found = own.union(seen).subquery()
        return select(found.c.page_id, literal(0), literal(0), literal(self.mark)).where(found.c.page_id > 0)

    def _write(self, noted: Select[Any]) -> None:
        statement = _INSERT[self._connection.dialect.name].from_select(_ROW, noted)
        new = statement.excluded
        described = case((new.described > 0, new.described), else_=journal.c.described)
        values = {"changed": new.changed, "described": described}
        self._connection.execute(statement.on_conflict_do_update(index_elements=["page_id"], set_=values))

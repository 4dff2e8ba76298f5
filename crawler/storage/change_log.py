"""The change log: what each transaction changed, for incremental exports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, case, false, insert, literal, or_, select, union, update
from sqlalchemy.dialects import postgresql, sqlite

from crawler.storage.tables import batched, block, change_log, document_frequency, page, removed_block, sighting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import ColumnElement, CompoundSelect, Select
    from sqlalchemy.engine import Connection


_COLUMNS = [column.name for column in change_log.c]
_INSERTS: Mapping[str, Any] = {"sqlite": sqlite.insert(change_log), "postgresql": postgresql.insert(change_log)}


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


class ChangeLog:
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
            self._connection.execute(insert(change_log), [{"page_id": one} | row for one in sorted(self._added)])
        for some in batched(sorted(self._described - self._added)):
            described = select(page.c.id, literal(0), literal(self.mark), literal(self.mark)).where(page.c.id.in_(some))
            self._write(described)
        for some in batched(sorted(self._touched - self._added - self._described)):
            self._write(self._marked(some))

    def _marked(self, pages: Sequence[int]) -> Select[Any]:
        """Select those of the pages with rows that have the mark, as the change_log notes them."""
        own, seen = (
            select(table.c.page_id).where(table.c.page_id.in_(pages), table.c.changed == self.mark)
            for table in (block, sighting)
        )
        found = own.union(seen).subquery()
        return select(found.c.page_id, literal(0), literal(0), literal(self.mark)).where(found.c.page_id > 0)

    def _write(self, noted: Select[Any]) -> None:
        statement = _INSERTS[self._connection.dialect.name].from_select(_COLUMNS, noted)
        new = statement.excluded
        described = case((new.described > 0, new.described), else_=change_log.c.described)
        values = {"changed": new.changed, "described": described}
        self._connection.execute(statement.on_conflict_do_update(index_elements=["page_id"], set_=values))


def changed_blocks(since: Horizon) -> CompoundSelect[int]:
    """Select, in order, the ids of all blocks that were stored, changed, shown elsewhere, or deleted since.

    What is template now and was not, or the other way round, is among them.
    """
    own = (
        select(block.c.id)
        .join(change_log, change_log.c.page_id == block.c.page_id)
        .where(since.beyond(change_log.c.changed))
        .where(or_(since.beyond(block.c.changed), since.beyond(change_log.c.described)))
    )
    there = (
        select(sighting.c.block_id)
        .join(change_log, change_log.c.page_id == sighting.c.page_id)
        .where(since.beyond(change_log.c.changed), since.beyond(sighting.c.changed))
    )
    removed = select(removed_block.c.block_id).where(since.beyond(removed_block.c.changed))
    template = (_redecided_blocks(block.c.id, since), _redecided_sightings(sighting.c.block_id, since))
    return union(own, there, removed, *template).order_by("id")


def changed_pages(since: Horizon) -> CompoundSelect[int]:
    """Select, in order, the ids of all pages whose text or description has changed since, and of those deleted."""
    noted = select(change_log.c.page_id).where(since.beyond(change_log.c.changed))
    template = (_redecided_blocks(block.c.page_id, since), _redecided_sightings(sighting.c.page_id, since))
    return union(noted, *template).order_by("page_id")


def _redecided_blocks(column: ColumnElement[int], since: Horizon) -> Select[int]:
    """Select a column of the blocks about whose text it was decided since whether it is template."""
    same = and_(document_frequency.c.digest == block.c.digest, document_frequency.c.site == block.c.site)
    return (
        select(column)
        .select_from(document_frequency)
        .join(block, same)
        .where(since.beyond(document_frequency.c.changed))
    )


def _redecided_sightings(column: ColumnElement[int], since: Horizon) -> Select[int]:
    """Select a column of such sightings; a sighting is of its page's site, and may have a digest of its own."""
    judged = since.beyond(document_frequency.c.changed)
    sites = select(document_frequency.c.site).where(judged)
    same = select(1).where(
        document_frequency.c.site == page.c.site, document_frequency.c.digest == sighting.c.digest, judged
    )
    return (
        select(column)
        .select_from(sighting)
        .join(page, page.c.id == sighting.c.page_id)
        .where(page.c.site.in_(sites), same.correlate(page, sighting).exists())
    )

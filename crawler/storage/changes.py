"""Which blocks and pages, as the views show them, may be others than at an earlier horizon; see journal.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, or_, select, union

from crawler.storage.models import block, journal, page, recurrence, removed_block, sighting

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, CompoundSelect, Select

    from crawler.storage.journal import Horizon


def changed_blocks(since: Horizon) -> CompoundSelect[int]:
    """Select, in order, the ids of all blocks that were stored, changed, shown elsewhere, or deleted since.

    What is template now and was not, or the other way round, is among them.
    """
    own = (
        select(block.c.id)
        .join(journal, journal.c.page_id == block.c.page_id)
        .where(since.beyond(journal.c.changed))
        .where(or_(since.beyond(block.c.changed), since.beyond(journal.c.described)))
    )
    there = (
        select(sighting.c.block_id)
        .join(journal, journal.c.page_id == sighting.c.page_id)
        .where(since.beyond(journal.c.changed), since.beyond(sighting.c.changed))
    )
    removed = select(removed_block.c.block_id).where(since.beyond(removed_block.c.changed))
    template = (_judged(block.c.id, since), _judged_there(sighting.c.block_id, since))
    return union(own, there, removed, *template).order_by("id")


def changed_pages(since: Horizon) -> CompoundSelect[int]:
    """Select, in order, the ids of all pages whose text or description has changed since, and of those deleted."""
    noted = select(journal.c.page_id).where(since.beyond(journal.c.changed))
    template = (_judged(block.c.page_id, since), _judged_there(sighting.c.page_id, since))
    return union(noted, *template).order_by("page_id")


def _judged(column: ColumnElement[int], since: Horizon) -> Select[int]:
    """Select a column of the blocks about whose text it was decided since whether it is template."""
    same = and_(recurrence.c.digest == block.c.digest, recurrence.c.site == block.c.site)
    return select(column).select_from(recurrence).join(block, same).where(since.beyond(recurrence.c.changed))


def _judged_there(column: ColumnElement[int], since: Horizon) -> Select[int]:
    """Select a column of such sightings; a sighting is of its page's site, and may have a digest of its own."""
    judged = since.beyond(recurrence.c.changed)
    sites = select(recurrence.c.site).where(judged)
    same = select(1).where(recurrence.c.site == page.c.site, recurrence.c.digest == sighting.c.digest, judged)
    return (
        select(column)
        .select_from(sighting)
        .join(page, page.c.id == sighting.c.page_id)
        .where(page.c.site.in_(sites), same.correlate(page, sighting).exists())
    )

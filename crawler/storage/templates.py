"""The template of each site: the patterns that repeat between its pages, which the method `ce` drops.

`crawler/reclean.py` learns a template from stored pages; crawls read it. The caller owns the transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, insert, select, update

from crawler.storage.tables import page, template

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement
    from sqlalchemy.engine import Connection


@dataclass(frozen=True, slots=True)
class SiteTemplate:
    """The patterns of a site, the number of pages that they were learned from, and when.

    `applied` is True once all pages of the site that need the template have been cleaned by it.
    """

    site: str
    patterns: frozenset[int]
    pages: int
    learned: datetime
    applied: bool = False


def read_template(connection: Connection, site: str) -> SiteTemplate | None:
    """Return the template of a site; None if none is learned yet."""
    row = connection.execute(select(template).where(template.c.site == site)).first()
    if row is None:
        return None
    return SiteTemplate(site, frozenset(row.patterns), row.pages, row.learned, applied=row.applied is not None)


def write_template(connection: Connection, learned: SiteTemplate) -> None:
    """Store a template in place of the site's former one."""
    delete_template(connection, learned.site)
    values = {"site": learned.site, "pages": learned.pages, "learned": learned.learned}
    applied = learned.learned if learned.applied else None
    connection.execute(insert(template), values | {"patterns": sorted(learned.patterns), "applied": applied})


def mark_applied(connection: Connection, learned: SiteTemplate, now: datetime) -> None:
    """Record that all pages of the site are cleaned by this template, unless there is a newer one."""
    same = (template.c.site == learned.site, template.c.learned == learned.learned)
    connection.execute(update(template).where(*same).values(applied=now))


def delete_template(connection: Connection, site: str) -> None:
    connection.execute(delete(template).where(template.c.site == site))


def count_learnable_pages(connection: Connection, site: str) -> int:
    """Return the number of different pages of a site from which a template can be learned: those with HTML."""
    return connection.scalar(select(func.count(page.c.body_hash.distinct())).where(*learnable(site))) or 0


def learnable(site: str) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of the pages from which the template of a site is learned."""
    return page.c.site == site, page.c.retired_at.is_(None), page.c.html.is_not(None)

"""Stored pages that are cleaned again: selected, written, with the progress of the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, insert, select, update

from cleaning.fingerprint import distance
from crawler.storage.blocks import VisitedPage
from crawler.storage.tables import near_duplicate_page, page, reclean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement
    from sqlalchemy.engine import Connection

    from crawler.storage.near_duplicates import NearDuplicatePages
    from crawler.storage.pages import StoredPage
    from crawler.visit import FingerprintedBlock


_RECLEAN_COLUMNS = (
    page.c.id,
    page.c.url,
    page.c.url_key,
    page.c.site,
    page.c.body_hash,
    page.c.encoding,
    page.c.retired_at,
)


@dataclass(frozen=True, slots=True)
class RecleanJob:
    """What is to be done: `key` is the same for all runs of it; `site` is None for the pages of all sites."""

    key: str
    site: str | None = None

    @property
    def chosen(self) -> ColumnElement[bool]:
        """Return the condition of the job's pages."""
        return page.c.id > 0 if self.site is None else page.c.site == self.site


@dataclass(frozen=True, slots=True)
class PageToReclean:
    """A stored page; `html` is compressed as it is stored, None where it was not kept or not asked for."""

    page_id: int
    url: str
    key: str
    site: str
    body_hash: int
    encoding: str | None
    retired: bool
    html: bytes | None = None


@dataclass(frozen=True, slots=True)
class RecleanedPage:
    """A page cleaned again: by which method, with which options, and the candidates that came of it."""

    page: PageToReclean
    method: str
    options_hash: int
    blocks: tuple[FingerprintedBlock, ...]
    fingerprint: int | None


@dataclass(frozen=True, slots=True)
class RecleanProgress:
    """A job that an earlier run did not bring to its end: the last page that is done, and how many are."""

    after_page: int
    pages: int
    started: datetime


def read_reclean_progress(connection: Connection, job: RecleanJob) -> RecleanProgress | None:
    """Return how far earlier runs of a job have come; None where there is nothing to go on with."""
    row = connection.execute(select(reclean).where(reclean.c.key == job.key)).first()
    return None if row is None else RecleanProgress(row.after_page, row.pages, row.started)


def begin_reclean(connection: Connection, job: RecleanJob, now: datetime) -> None:
    """Note that a job begins, at the first page, whatever earlier runs have done."""
    end_reclean(connection, job)
    connection.execute(insert(reclean), {"key": job.key, "after_page": 0, "pages": 0, "started": now})


def advance_reclean(connection: Connection, job: RecleanJob, after_page: int, pages: int) -> None:
    """Note that so many more pages are done, up to this one."""
    values = {"after_page": after_page, "pages": reclean.c.pages + pages}
    connection.execute(update(reclean).where(reclean.c.key == job.key).values(values))


def end_reclean(connection: Connection, job: RecleanJob) -> None:
    """Note that a job is done."""
    connection.execute(delete(reclean).where(reclean.c.key == job.key))


def count_pages_after(connection: Connection, job: RecleanJob, after_page: int) -> int:
    """Return how many pages there are to be done after one."""
    return connection.scalar(select(func.count()).select_from(page).where(job.chosen, page.c.id > after_page)) or 0


def read_pages_after(
    connection: Connection, job: RecleanJob, after_page: int, most: int, *, html: bool
) -> Sequence[PageToReclean]:
    """Return the next pages to be done after one, in order, with their HTML or without."""
    columns = (*_RECLEAN_COLUMNS, page.c.html) if html else _RECLEAN_COLUMNS
    chosen = select(*columns).where(job.chosen, page.c.id > after_page).order_by(page.c.id).limit(most)
    return [
        PageToReclean(
            page_id=row.id,
            url=row.url,
            key=row.url_key,
            site=row.site,
            body_hash=row.body_hash,
            encoding=row.encoding,
            retired=row.retired_at is not None,
            html=row.html if html else None,
        )
        for row in connection.execute(chosen)
    ]


def update_near_duplicates(connection: Connection, mirrors: NearDuplicatePages) -> None:
    """Compare mirrors again whose original was cleaned after them, and is another by that; nobody else may write."""
    original = page.alias("original")
    pairs = (
        select(page.c.id, page.c.site, page.c.last_seen, page.c.page_fingerprint, near_duplicate_page.c.distance)
        .add_columns(original.c.page_fingerprint.label("of_original"))
        .join(near_duplicate_page, near_duplicate_page.c.page_id == page.c.id)
        .join(original, original.c.id == near_duplicate_page.c.original_id)
        .order_by(page.c.id)
    )
    for row in connection.execute(pairs).all():
        own, other = row.page_fingerprint, row.of_original
        if own is None or other is None or distance(own, other) != row.distance:
            home = VisitedPage(row.id, row.site, row.last_seen, 0)
            mirrors.place(connection, home, own, mirrors.standing(connection, row.id, own))


def update_recleaned_page(connection: Connection, stored: StoredPage, redone: RecleanedPage) -> None:
    """Write what is known of the page as a whole, where that is another than before."""
    values = {
        "method": redone.method,
        "options_hash": redone.options_hash,
        "page_fingerprint": redone.fingerprint,
    }
    differs = [page.c[name].is_distinct_from(value) for name, value in values.items()]
    changed = differs[0] | differs[1] | differs[2]
    connection.execute(update(page).where(page.c.id == stored.page_id, changed).values(values))

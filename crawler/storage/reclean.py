"""Stored pages that are cleaned again: selected and updated, with the progress of the run.

Cleaning a page again replaces the result of its last visit: the rows carry the time of that visit, and neither visits
nor changes are counted. A run takes the pages in the order of their ids. Its progress is a row of table `reclean`,
written with each batch, so that a run continues where a killed one ended; the row is deleted at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, delete, func, insert, select, update

from cleaning.fingerprint import distance
from crawler.config import changed_settings
from crawler.storage.boilerplate import learnable
from crawler.storage.change_log import ChangeLog
from crawler.storage.near_duplicates import FingerprintedPage, NearPages
from crawler.storage.pages import HAS_STRUCTURE
from crawler.storage.tables import near_duplicate_page, page, reclean, section

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Select
    from sqlalchemy.engine import Connection

    from cleaning.page_fingerprint import FingerprintedBlock
    from crawler.storage.near_duplicates import DuplicateRules
    from crawler.visit import PageStructure


_RECLEAN_COLUMNS = (
    page.c.id,
    page.c.url,
    page.c.url_key,
    page.c.site,
    page.c.body_hash,
    page.c.encoding,
    page.c.retired_at,
    page.c.method,
    page.c.options_hash,
    page.c.settings,
    HAS_STRUCTURE,
)


@dataclass(frozen=True, slots=True)
class RecleanJob:
    """The work of a run: all runs of the same work have the same `key`; `site` is None for the pages of all sites.

    The run cleans each page with `settings` in place of its earlier ones; later visits use them too. With a `method`,
    only pages that it cleaned are chosen.
    """

    key: str
    site: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    method: str | None = None

    @property
    def chosen(self) -> ColumnElement[bool]:
        """Return the condition of the job's pages."""
        site = page.c.id > 0 if self.site is None else page.c.site == self.site
        return site if self.method is None else and_(site, page.c.method == self.method)


@dataclass(frozen=True, slots=True)
class PageToReclean:
    """A stored page; `html` is compressed, as stored, and None if it was not kept or not requested.

    `method`, `options_hash` and `settings` say how it was cleaned; `settings` is None if that was not stored.
    """

    page_id: int
    url: str
    key: str
    site: str
    body_hash: int
    encoding: str | None
    retired: bool
    method: str
    options_hash: int | None
    settings: Mapping[str, Any] | None
    html: bytes | None = None
    has_structure: bool = False


@dataclass(frozen=True, slots=True)
class RecleanedPage:
    """A page cleaned again: the method, the hash of its options, and the resulting blocks and fingerprint.

    It was cleaned with `settings`. Without a `structure`, the page's stored one is deleted.
    """

    page: PageToReclean
    method: str
    options_hash: int
    blocks: tuple[FingerprintedBlock, ...]
    fingerprint: int | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    structure: PageStructure | None = None


@dataclass(frozen=True, slots=True)
class RecleanProgress:
    """The progress of an interrupted job: the last page that is done, and the number of pages done."""

    after_page: int
    pages: int
    started: datetime


def read_reclean_progress(connection: Connection, job: RecleanJob) -> RecleanProgress | None:
    """Return the progress of earlier runs of a job; None if no run was interrupted."""
    row = connection.execute(select(reclean).where(reclean.c.key == job.key)).first()
    return None if row is None else RecleanProgress(row.after_page, row.pages, row.started)


def begin_reclean(connection: Connection, job: RecleanJob, now: datetime) -> None:
    """Record that a job begins at the first page; the progress of earlier runs is deleted."""
    end_reclean(connection, job)
    connection.execute(insert(reclean), {"key": job.key, "after_page": 0, "pages": 0, "started": now})


def advance_reclean(connection: Connection, job: RecleanJob, after_page: int, pages: int) -> None:
    """Record that `pages` more pages are done, up to `after_page`."""
    values = {"after_page": after_page, "pages": reclean.c.pages + pages}
    connection.execute(update(reclean).where(reclean.c.key == job.key).values(values))


def end_reclean(connection: Connection, job: RecleanJob) -> None:
    """Record that a job is complete."""
    connection.execute(delete(reclean).where(reclean.c.key == job.key))


def read_methods(connection: Connection, job: RecleanJob) -> list[str]:
    """Return the methods that have cleaned the pages of a job."""
    return list(connection.scalars(select(page.c.method).where(job.chosen).distinct().order_by(page.c.method)))


def count_pages_after(connection: Connection, job: RecleanJob, after_page: int) -> int:
    """Return the number of the job's pages after the page `after_page`."""
    return connection.scalar(select(func.count()).select_from(page).where(job.chosen, page.c.id > after_page)) or 0


def read_pages_after(
    connection: Connection, job: RecleanJob, after_page: int, most: int, *, html: bool
) -> Sequence[PageToReclean]:
    """Return the job's next pages after the page `after_page`, in order, with or without their HTML."""
    chosen = _pages(html=html).where(job.chosen, page.c.id > after_page).order_by(page.c.id).limit(most)
    return [_page_to_reclean(row, html=html) for row in connection.execute(chosen)]


def read_newest_pages(connection: Connection, site: str, most: int, *, html: bool) -> Sequence[PageToReclean]:
    """Return the newest pages of a site: its template is learned from them."""
    conditions = learnable(site) if html else (page.c.site == site,)
    chosen = _pages(html=html).where(*conditions).order_by(page.c.id.desc()).limit(most)
    return [_page_to_reclean(row, html=html) for row in connection.execute(chosen)]


def _pages(*, html: bool) -> Select[Any]:
    return select(*_RECLEAN_COLUMNS, page.c.html) if html else select(*_RECLEAN_COLUMNS)


def _page_to_reclean(row: Any, *, html: bool) -> PageToReclean:
    return PageToReclean(
        page_id=row.id,
        url=row.url,
        key=row.url_key,
        site=row.site,
        body_hash=row.body_hash,
        encoding=row.encoding,
        retired=row.retired_at is not None,
        method=row.method,
        options_hash=row.options_hash,
        settings=row.settings,
        html=row.html if html else None,
        has_structure=bool(row.has_structure),
    )


def update_near_duplicates(connection: Connection, rules: DuplicateRules) -> None:
    """Compare near-duplicates again whose original has changed since; nobody else may write meanwhile."""
    original = page.alias("original")
    pairs = (
        select(page.c.id, page.c.site, page.c.last_seen, page.c.page_fingerprint, near_duplicate_page.c.distance)
        .add_columns(original.c.page_fingerprint.label("of_original"))
        .join(near_duplicate_page, near_duplicate_page.c.page_id == page.c.id)
        .join(original, original.c.id == near_duplicate_page.c.original_id)
        .order_by(page.c.id)
    )
    moved = {}
    for row in connection.execute(pairs):
        own, other = row.page_fingerprint, row.of_original
        if own is None or other is None or distance(own, other) != row.distance:
            moved[FingerprintedPage(row.id, row.site, own)] = row.last_seen
    fingerprints = [known.fingerprint for known in moved if known.fingerprint is not None]
    near = NearPages.read(connection, rules, list(moved), fingerprints)
    change_log = ChangeLog(connection)
    for known, last_seen in moved.items():
        if near.update(known, known.fingerprint, last_seen).moved:
            change_log.pages.restructured.add(known.page_id)
    near.write(connection)
    change_log.write()


def update_recleaned_sections(connection: Connection, job: RecleanJob) -> None:
    """Let new pages of the job's sections be cleaned as the stored pages are now."""
    if not job.settings:
        return
    chosen = select(section.c.id, section.c.settings)
    if job.site is not None:
        chosen = chosen.where(section.c.site == job.site)
    for row in connection.execute(chosen).all():
        if changes := changed_settings(row.settings, job.settings):
            values = {"settings": {**row.settings, **changes}}
            connection.execute(update(section).where(section.c.id == row.id).values(values))

"""Corrections and the models of sites in the database. The caller owns the transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, select

from cleaning.teaching import CorrectedPage, SiteModel
from crawler.storage.tables import correction, insert_on_conflict, site_model
from crawler.urls import site_of, url_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy.engine import Connection

METHOD = "default"
"""The method that can be taught."""


@dataclass(frozen=True, slots=True)
class TaughtSite:
    """A site with corrections: pages and marks that readers made, and the accepted model.

    `learned_pages` and `accepted` are None without an accepted model. `last` is the time of the latest correction; one
    after `accepted` is not in the model yet.
    """

    site: str
    pages: int
    marks: int
    last: datetime | None
    learned_pages: int | None = None
    accepted: datetime | None = None
    reader: str | None = None

    @property
    def is_pending(self) -> bool:
        """Whether some corrections are not in the accepted model."""
        return self.last is not None and (self.accepted is None or self.last > self.accepted)


def save_correction(connection: Connection, page: CorrectedPage) -> None:
    """Store a corrected page in place of an earlier correction of the same address."""
    row = {
        "url_key": url_key(page.url),
        "url": page.url,
        "site": site_of(page.url),
        "reader": page.reader,
        "corrected": datetime.fromisoformat(page.corrected_at).astimezone(UTC),
        "method": METHOD,
        "model": page.model,
        "marks": page.marks,
        "page": page.to_record(),
    }
    statement = insert_on_conflict(connection, correction).values(row)
    connection.execute(statement.on_conflict_do_update(index_elements=["url_key"], set_=row))


def read_corrections(connection: Connection, site: str | None = None) -> list[CorrectedPage]:
    """Return the corrected pages of a site, or of all sites, by address."""
    statement = select(correction.c.page).order_by(correction.c.site, correction.c.url)
    if site is not None:
        statement = statement.where(correction.c.site == site)
    return [CorrectedPage.from_record(record) for record in connection.scalars(statement)]


def read_correction(connection: Connection, url: str) -> CorrectedPage | None:
    """Return the correction of an address; None without one."""
    record = connection.scalar(select(correction.c.page).where(correction.c.url_key == url_key(url)))
    return None if record is None else CorrectedPage.from_record(record)


def delete_correction(connection: Connection, url: str) -> bool:
    """Delete the correction of an address; return whether there was one. The accepted model stays as it is."""
    return bool(connection.execute(delete(correction).where(correction.c.url_key == url_key(url))).rowcount)


def accept_site_model(connection: Connection, site: str, model: SiteModel, reader: str, now: datetime) -> None:
    """Store the model that crawls of a site use from now on."""
    row = {"site": site, "model": model.to_json(), "pages": model.pages, "accepted": now, "reader": reader}
    statement = insert_on_conflict(connection, site_model).values(row)
    connection.execute(statement.on_conflict_do_update(index_elements=["site"], set_=row))


def withdraw_site_model(connection: Connection, site: str) -> bool:
    """Delete the model of a site, not its corrections; return whether there was one."""
    return bool(connection.execute(delete(site_model).where(site_model.c.site == site)).rowcount)


def read_site_model(connection: Connection, site: str) -> str | None:
    """Return the accepted model of a site as JSON; None without one."""
    return connection.scalar(select(site_model.c.model).where(site_model.c.site == site))


def read_site_models(connection: Connection) -> dict[str, SiteModel]:
    """Return the accepted models by site."""
    rows = connection.execute(select(site_model.c.site, site_model.c.model).order_by(site_model.c.site))
    return {site: SiteModel.from_json(model) for site, model in rows}


def read_taught_sites(connection: Connection, sites: Iterable[str] | None = None) -> list[TaughtSite]:
    """Return the sites with corrections or an accepted model, or those of them that are named."""
    corrected = select(
        correction.c.site,
        func.count().label("pages"),
        func.sum(correction.c.marks).label("marks"),
        func.max(correction.c.corrected).label("last"),
    ).group_by(correction.c.site)
    counts = {row.site: row for row in connection.execute(corrected)}
    models = {row.site: row for row in connection.execute(select(site_model))}
    wanted = None if sites is None else frozenset(sites)
    names = sorted(name for name in counts.keys() | models.keys() if wanted is None or name in wanted)
    taught = []
    for name in names:
        count = counts.get(name)
        model = models.get(name)
        pages, marks, last = (0, 0, None) if count is None else (count.pages, int(count.marks), count.last)
        accepted = (None, None, None) if model is None else (model.pages, model.accepted, model.reader)
        taught.append(TaughtSite(name, pages, marks, last, *accepted))
    return taught

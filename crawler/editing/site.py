"""The corrections of a site in the browser: what they would change, and whether they are used."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import select

from cleaning.teaching import SiteModel, load_site_model
from crawler.errors import NotStoredError
from crawler.storage.database import read_transaction
from crawler.storage.tables import page
from crawler.teaching import records
from crawler.teaching.preview import ModelChange, preview_site_model
from crawler.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Connection, Engine

    from cleaning.teaching import CorrectedPage
    from crawler.config import Config
    from crawler.teaching.preview import SitePreview
    from crawler.teaching.records import TaughtSite

PREVIEW_PAGES = 100
"""Pages of a site that a preview in the browser cleans; `scrapy correct --preview` cleans all."""


@dataclass(frozen=True, slots=True)
class CorrectedLink:
    """A corrected page, and its id if it is stored."""

    page: CorrectedPage
    corrected: datetime
    page_id: int | None


@dataclass(frozen=True, slots=True)
class SiteTeaching:
    """The corrected pages of a site, the model that they give, what it would change, and what is accepted."""

    site: str
    corrected: Sequence[CorrectedLink]
    model: SiteModel
    preview: SitePreview
    taught: TaughtSite


def read_site_teaching(engine: Engine, site: str, config: Config) -> SiteTeaching:
    """Return the corrections of a site with their preview; raises NotStoredError for a site without any."""
    with read_transaction(engine) as connection:
        pages = records.read_corrections(connection, site)
        stored = records.read_site_model(connection, site)
        taught = records.read_taught_sites(connection, [site])
        ids = _page_ids(connection, pages)
    if not taught:
        raise NotStoredError(f"no page of {site} is corrected: open a page, and correct it")
    model = SiteModel.learn(pages)
    change = ModelChange(load_site_model(stored), model)
    preview = preview_site_model(engine, site, change, config.cleaning_seconds, limit=PREVIEW_PAGES)
    corrected = [
        CorrectedLink(link, datetime.fromisoformat(link.corrected_at), ids.get(url_key(link.url))) for link in pages
    ]
    return SiteTeaching(site, corrected, model, preview, taught[0])


def _page_ids(connection: Connection, pages: Sequence[CorrectedPage]) -> dict[str, int]:
    keys = [url_key(corrected.url) for corrected in pages]
    rows = connection.execute(select(page.c.url_key, page.c.id).where(page.c.url_key.in_(keys)))
    return {row.url_key: row.id for row in rows}

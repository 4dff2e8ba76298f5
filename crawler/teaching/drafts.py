"""Drafts of corrections: a page as its site's model decides it, with the marks of its last correction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cleaning.teaching import load_site_model
from cleaning.teaching.corrections import recall_marks
from cleaning.teaching.draft import draft_correction
from crawler.teaching import records
from crawler.urls import site_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Self

    from sqlalchemy.engine import Connection

    from cleaning import Page
    from cleaning.teaching import CorrectedPage
    from cleaning.teaching.draft import CorrectionDraft


@dataclass(frozen=True, slots=True)
class PageTeaching:
    """The accepted model of a page's site, in JSON, and the last correction of the page; None for what is missing."""

    site_model: str | None
    earlier: CorrectedPage | None

    @classmethod
    def read(cls, connection: Connection, url: str) -> Self:
        """Return what the database has for the page at an address."""
        return cls(records.read_site_model(connection, site_of(url)), records.read_correction(connection, url))

    def draft(self, page: Page, reader: str, now: datetime, options: Mapping[str, Any]) -> CorrectionDraft:
        """Return today's decisions on a page with its earlier marks and fields; `options` are those of cleaning.

        Raises OptionError as `clean` does.
        """
        corrected_at = now.isoformat(timespec="seconds")
        draft = draft_correction(page, reader, corrected_at, load_site_model(self.site_model), **options)
        return draft if self.earlier is None else replace(draft, page=recall_marks(draft.page, self.earlier))

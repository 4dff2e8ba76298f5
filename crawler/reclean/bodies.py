"""Where the bytes of stored pages are: in the database itself, or in an archive."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from xxhash import xxh64_intdigest

from crawler.replay import Absence
from crawler.storage.pages import html

if TYPE_CHECKING:
    from crawler.replay import ReplaySource
    from crawler.storage.redoing import PageToRedo


class Skip(StrEnum):
    """Why a page is left as it is; a closed set, counted under these words."""

    NO_HTML = "no_html"
    """It was stored with KEEP_HTML=false."""
    NOT_ARCHIVED = "not_archived"
    OTHER_BODY = "other_body"
    """The archive has it as it was at another visit than the last one, or rendered pages as they were fetched."""
    DAMAGED = "damaged"
    """Its record in the archive cannot be read."""
    RETIRED = "retired"
    """It is gone from its site, and so are its blocks."""
    OVERTAKEN = "overtaken"
    """A crawl stored it anew while it was cleaned."""


class Bodies(Protocol):
    """Gives the bytes of pages as their last visit read them."""

    stored: bool
    """Whether they come with the page from the database."""

    def find(self, page: PageToRedo) -> bytes | Skip:
        """Return a page's bytes, or why there are none."""


class StoredBodies:
    """Those that the database has."""

    stored = True

    def find(self, page: PageToRedo) -> bytes | Skip:
        return Skip.NO_HTML if page.html is None else html(page.html)


class ArchivedBodies:
    """Those of an archive, or another source of a replay."""

    stored = False

    def __init__(self, source: ReplaySource) -> None:
        self._source = source

    def find(self, page: PageToRedo) -> bytes | Skip:
        saved = self._source.find(page.url)
        if saved is Absence.ABSENT:
            return Skip.NOT_ARCHIVED
        if isinstance(saved, Absence):
            return Skip.DAMAGED
        return saved.body if xxh64_intdigest(saved.body) == page.body_hash else Skip.OTHER_BODY

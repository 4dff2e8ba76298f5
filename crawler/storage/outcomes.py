"""What the stored pages of a site turned out to be, for a crawl that wants to know which of its links are articles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import case, func, select, union_all

from crawler.prose import JUDGED_METHOD, LONG_BLOCK, Prose
from crawler.storage.models import block, page, sighting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Connection

MOST_PAGES = 200
"""Of each site, the newest."""


@dataclass(frozen=True, slots=True)
class PageOutcome:
    """A stored page and the text that it shows now; template counts, for it is a small part of an article."""

    url: str
    prose: Prose


def outcomes(connection: Connection, sites: Sequence[str]) -> list[PageOutcome]:
    """Return the newest pages of each site that can be judged, at most `MOST_PAGES`, the oldest of them first."""
    return [outcome for site in sites for outcome in _outcomes(connection, site)]


def _outcomes(connection: Connection, site: str) -> list[PageOutcome]:
    live = select(page.c.id, page.c.url).where(
        page.c.site == site, page.c.retired_at.is_(None), page.c.method == JUDGED_METHOD
    )
    newest = live.order_by(page.c.id.desc()).limit(MOST_PAGES).subquery()
    shown = union_all(
        *(
            select(each.c.page_id, each.c.words).where(
                each.c.gone_at.is_(None), each.c.page_id.in_(select(newest.c.id))
            )
            for each in (block, sighting)
        )
    ).subquery()
    long_words = func.sum(case((shown.c.words >= LONG_BLOCK, shown.c.words), else_=0))
    columns = select(newest.c.url, func.coalesce(func.sum(shown.c.words), 0), func.coalesce(long_words, 0))
    counted = columns.outerjoin(shown, shown.c.page_id == newest.c.id).group_by(newest.c.id, newest.c.url)
    rows = connection.execute(counted.order_by(newest.c.id))
    return [PageOutcome(url, Prose(int(words), int(long_words))) for url, words, long_words in rows]

"""Whether a page covers an event live: it states so, and its coverage goes on."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from cleaning.metadata.statements import read_statements, type_names
from crawler.schedule import parse_lastmod

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cleaning.metadata.statements import Statements
    from crawler.visit import FetchedPage

_TYPE = "LiveBlogPosting"
_END = "coverageEndTime"
_BEGINNINGS = ("dateModified", "coverageStartTime", "datePublished")
# Coverage without a stated end is over when nothing was added for so long.
_OPEN_DAYS = timedelta(days=1)
_DAY_CHARS = len("2026-03-01")


def is_live(page: FetchedPage, now: datetime) -> bool:
    """Return True if a page is a live blog (LiveBlogPosting) whose coverage ends later, or has no end and is recent."""
    if _TYPE.encode() not in page.body:
        return False
    stated = read_statements(page.tree.root)
    if _TYPE.lower() not in stated.types:
        return False
    ends = [moment for moment in _moments(stated, _END) if moment is not None]
    if ends:
        return max(ends) > now
    return any(now - _OPEN_DAYS < moment <= now + _OPEN_DAYS for moment in _moments(stated, *_BEGINNINGS))


def _moments(stated: Statements, *names: str) -> Iterator[datetime]:
    """Yield the times that live blogs state under these names, in JSON-LD or microdata; a day is its end."""
    nodes = [node for node in stated.objects if _TYPE.lower() in type_names(node)]
    texts = [node.get(name) for node in nodes for name in names]
    if not nodes:
        texts = [*stated.meta(*map(str.lower, names))]
        texts += [element.get("datetime") for element in stated.items(*names)]
    for text in texts:
        moment = parse_lastmod(text) if isinstance(text, str) else None
        if isinstance(moment, datetime):
            yield moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        elif isinstance(moment, date):
            yield datetime.combine(moment, time.max, UTC)

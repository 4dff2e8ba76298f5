"""Search the texts that cleaning dropped: stored pages are cleaned again, the newest first, for a limited time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select, text

from cleaning.clean import clean
from cleaning.errors import CleaningError
from cleaning.methods import METHODS
from cleaning.parse import parse
from crawler.errors import TimeLimitError
from crawler.reading.search import make_excerpt
from crawler.storage.boilerplate import read_template
from crawler.storage.pages import decompress
from crawler.storage.tables import UtcDateTime, page
from crawler.time_limit import time_limit
from crawler.urls import known_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy.engine import Connection

    from cleaning.blocks import Decision, Reason
    from crawler.config import Config
    from crawler.reading.query_language import Query
    from crawler.reading.search import Excerpt
    from crawler.reading.search_filters import SearchFilters

_READ_AT_ONCE = 10  # pages with their HTML
_NAMED_PAGES = 3  # of a text
_COLUMNS = (
    page.c.id,
    page.c.url,
    page.c.site,
    page.c.title,
    page.c.method,
    page.c.settings,
    page.c.encoding,
    page.c.html,
)


@dataclass(frozen=True, slots=True)
class DroppedOn:
    """A page that has a dropped text, and the text's position among the blocks of the page."""

    page_id: int
    url: str
    title: str | None
    position: int


@dataclass(frozen=True, slots=True)
class DroppedText:
    """A text with the reason why it is dropped, the first pages that have it, and the number of all that were read."""

    excerpt: Excerpt
    kind: str
    reason: Reason
    pages: tuple[DroppedOn, ...]
    count: int


@dataclass(frozen=True, slots=True)
class DroppedTexts:
    """The dropped texts that match, those on the most pages first.

    `read` is the number of pages that were cleaned, `unread` of those that could not be. If time was up, `before` is
    the id that continues the search, otherwise None.
    """

    texts: list[DroppedText]
    read: int
    unread: int
    before: int | None


def find_dropped(
    connection: Connection,
    query: Query,
    filters: SearchFilters,
    config: Config,
    *,
    seconds: float,
    before: int | None = None,
) -> DroppedTexts:
    """Return the texts that match a query and that cleaning drops from stored pages.

    Pages are read whose HTML is stored and that meet the filters, from the newest on, below the id `before`. At least
    one page is read; no further page is begun after `seconds`. A query of titles alone finds nothing.
    """
    texts: dict[tuple[Reason, str], list[_Match]] = {}
    read = unread = 0
    until = monotonic() + seconds
    last: int | None = None
    for row in _stored_pages(connection, filters, before) if query.wanted else ():
        if last is not None and monotonic() > until:
            return DroppedTexts(_ordered(texts, query), read, unread, last)
        last = row.id
        if query.title is not None and not query.title.matches(row.title or ""):
            continue
        decisions = _decide(connection, row, config)
        read += decisions is not None
        unread += decisions is None
        for decision in decisions or ():
            if _is_match(decision, query, filters.kind):
                texts.setdefault((decision.reason, decision.block.text), []).append(_Match(row, decision))
    return DroppedTexts(_ordered(texts, query), read, unread, None)


@dataclass(frozen=True, slots=True)
class _Match:
    """The row of a page, and the decision on one of its texts."""

    row: Any
    decision: Decision

    @property
    def place(self) -> DroppedOn:
        return DroppedOn(self.row.id, self.row.url, self.row.title, self.decision.block.position)


def _is_match(decision: Decision, query: Query, kind: str | None) -> bool:
    return not decision.kept and kind in {None, str(decision.block.kind)} and query.matches(decision.block.text)


def _stored_pages(connection: Connection, filters: SearchFilters, before: int | None) -> Iterator[Any]:
    conditions = [text(condition) for condition in filters.conditions]
    if "since" in filters.values:
        conditions = [
            condition.bindparams(bindparam("since", type_=UtcDateTime)) if ":since" in condition.text else condition
            for condition in conditions
        ]
    pages = select(*_COLUMNS).where(page.c.html.is_not(None), page.c.retired_at.is_(None), *conditions)
    pages = pages.order_by(page.c.id.desc()).limit(_READ_AT_ONCE)
    while rows := connection.execute(
        pages if before is None else pages.where(page.c.id < before), filters.values
    ).all():
        yield from rows
        before = rows[-1].id


def _decide(connection: Connection, row: Any, config: Config) -> Sequence[Decision] | None:
    """Return the decisions on a stored page, as its crawl would make them; None if it cannot be cleaned."""
    method = row.method if row.method in METHODS else config.cleaning_method
    needs = METHODS[method].needs
    if needs == "layout":
        return None
    options = config.cleaning_options if row.settings is None else row.settings.get("CLEANING_OPTIONS") or {}
    try:
        with time_limit(config.cleaning_seconds):
            parsed = parse(decompress(row.html), known_url(row.url), row.encoding, max_bytes=config.page_max_bytes)
            if needs == "template":
                template = read_template(connection, row.site)
                parsed = replace(parsed, template=frozenset() if template is None else template.patterns)
            return clean(parsed, method=method, **options).decisions
    except (CleaningError, TimeLimitError):
        return None


def _ordered(texts: dict[tuple[Reason, str], list[_Match]], query: Query) -> list[DroppedText]:
    entries = sorted(texts.items(), key=lambda entry: (-len({match.row.id for match in entry[1]}), entry[0]))
    return [_dropped_text(matches, query) for _, matches in entries]


def _dropped_text(matches: Sequence[_Match], query: Query) -> DroppedText:
    first = matches[0].decision
    places = {match.row.id: match.place for match in reversed(matches)}  # the first place on each page
    newest = sorted(places.values(), key=lambda place: -place.page_id)
    excerpt = make_excerpt(first.block.text, query.phrases)
    return DroppedText(excerpt, str(first.block.kind), first.reason, tuple(newest[:_NAMED_PAGES]), len(places))

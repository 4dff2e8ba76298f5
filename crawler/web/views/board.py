"""The health board: the state of each site, those that need a look first, filtered and in the order asked for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from crawler.health.conditions import MIN_TEXT_SHARE, SiteCounts, kept_share
from crawler.health.states import read_state, read_states
from crawler.storage.tables import site
from crawler.web.records import HealthDay, SiteList, SiteRow
from crawler.web.snapshot import ROWS, number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import date, datetime

    from crawler.health.conditions import SiteCrawl
    from crawler.health.states import SiteState
    from crawler.web.records import SitesQuestion
    from crawler.web.snapshot import CachedValue, DatabaseSnapshot

_TREND_DAYS = 21
PROBLEMS = "problems"


@dataclass(frozen=True, slots=True)
class Board:
    """The sites as they were judged, those that need a look first."""

    sites: list[SiteRow]
    judged: datetime


def read_board(snapshot: DatabaseSnapshot) -> Board:
    """Return the state of all sites: of what their crawls counted, not of their pages."""
    pages = {row.site: row.pages for row in snapshot.connection.execute(select(site.c.site, site.c.pages))}
    states = read_states(snapshot.connection, snapshot.now)
    rows = [_row(snapshot, state, pages.get(state.site, 0)) for state in states]
    return Board(sorted(rows, key=_ORDERS[PROBLEMS]), snapshot.now)


def read_health(snapshot: DatabaseSnapshot, name: str, pages: int, days: int) -> tuple[SiteRow, list[HealthDay]]:
    """Return the health of one site, and what its crawls met on each of the latest days."""
    state = read_state(snapshot.connection, name, snapshot.now)
    return _row(snapshot, state, pages), _days(state.crawls, snapshot.now.date(), days)


def read_sites(snapshot: DatabaseSnapshot, question: SitesQuestion, cached: CachedValue[Board]) -> SiteList:
    """Return a page of the health board."""
    board = cached.read(lambda: read_board(snapshot))
    begins = (question.begins or "").strip().lower()
    named = [row for row in board.sites if row.site.startswith(begins)]
    states = Counter(row.state for row in named)
    chosen = sorted((row for row in named if _is_in(row, question.state)), key=_ORDERS[question.order])
    start = number_of(question.cursor, 0)
    end = start + ROWS
    return SiteList(
        sites=chosen[start:end],
        total=len(chosen),
        states={PROBLEMS: sum(row.needs_look for row in named), **dict(states.most_common())},
        judged=board.judged,
        next=str(end) if len(chosen) > end else None,
        previous=str(max(0, start - ROWS)) if start else None,
    )


def _is_in(row: SiteRow, state: str) -> bool:
    return state in {"", row.state} or (state == PROBLEMS and row.needs_look)


def _row(snapshot: DatabaseSnapshot, state: SiteState, pages: int) -> SiteRow:
    health = state.health
    expected = None if health.usual_share is None else MIN_TEXT_SHARE * health.usual_share
    return SiteRow(
        site=state.site,
        pages=pages,
        state=state.state,
        needs_look=state.needs_look,
        failing=state.is_failing,
        since=state.since,
        sentence=state.sentence,
        last_success=health.last_success,
        changed=health.pages_7_days,
        kept_share=health.kept_share,
        usual_share=health.usual_share,
        less_kept=expected is not None and health.kept_share is not None and health.kept_share < expected,
        trend=[day.changed for day in _days(state.crawls, snapshot.now.date(), _TREND_DAYS)],
    )


def _days(crawls: Iterable[SiteCrawl], today: date, number: int) -> list[HealthDay]:
    """Return what the crawls met on each of the latest days, the earliest day first."""
    counts: dict[date, list[SiteCounts]] = {today - timedelta(days=back): [] for back in reversed(range(number))}
    for crawl in crawls:
        if (day := crawl.ended.date()) in counts:
            counts[day].append(crawl.counts)
    return [_day(day, day_counts) for day, day_counts in counts.items()]


def _day(day: date, counts: Sequence[SiteCounts]) -> HealthDay:
    blocks = SiteCounts(
        blocks_seen=sum(count.blocks_seen for count in counts), blocks_kept=sum(count.blocks_kept for count in counts)
    )
    changed = sum(count.new + count.changed for count in counts)
    return HealthDay(day, changed, kept_share(blocks) if blocks.blocks_seen else None)


def _kept_of_usual(row: SiteRow) -> float:
    """Return the kept share in relation to the usual one; sites without either come last."""
    return row.kept_share / row.usual_share if row.usual_share and row.kept_share is not None else float("inf")


_ORDERS: dict[str, Callable[[SiteRow], Any]] = {
    PROBLEMS: lambda row: (not row.failing, not row.needs_look, row.site),
    "site": lambda row: row.site,
    "pages": lambda row: (-row.pages, row.site),
    "changed": lambda row: (-row.changed, row.site),
    "kept": lambda row: (_kept_of_usual(row), row.site),
    # The longest silence first.
    "answered": lambda row: (row.last_success is not None, row.last_success, row.site),
}

"""The work that is left: what failed and can be tried again, what is due, and the settings of the next crawl."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, func, literal_column, or_, select

from crawler import schedule
from crawler.config.explanation import explain_settings
from crawler.errors import QueryError
from crawler.redact import redact_text
from crawler.storage.crawls import is_due
from crawler.storage.pages import PAGE_HISTORY, SECTION_HISTORY, page_history, section_history
from crawler.storage.tables import crawl, page, request, section
from crawler.web.records import (
    DueDay,
    DueRow,
    DueSite,
    FailedRequest,
    FailureGroup,
    Failures,
    ScheduleAnswer,
    SettingList,
    SettingRow,
)
from crawler.web.snapshot import CUT, ROWS, split_page
from crawler.web.views.overview import count_due

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import ColumnElement, Table
    from sqlalchemy.engine import Connection

    from crawler.config.explanation import ExplainedSetting
    from crawler.web.records import FailuresQuestion, Nothing, PagedQuestion
    from crawler.web.snapshot import CachedValue, DatabaseSnapshot

_DAYS = 7
_HOURS = 24
_LAST_ID = 2**62
_VISITS_MAX = 5_000
"""The visits of pages, and of sections, that are looked at for the table of a day."""
# As a literal, so that the index of failed requests serves.
_FAILED = request.c.state == literal_column("'failed'")


@dataclass(frozen=True, slots=True)
class _PlannedVisit:
    site: str
    due: datetime


def read_failures(
    snapshot: DatabaseSnapshot, question: FailuresQuestion, groups: CachedValue[list[FailureGroup]]
) -> Failures:
    """Return the failed requests, grouped and one by one, the groups in the order that is asked for."""
    columns = (
        request.c.id,
        request.c.crawl_id,
        request.c.url,
        request.c.outcome,
        request.c.error,
        request.c.attempts,
        request.c.ended,
    )
    before = None if question.cursor is None else _FailureKey.read(question.cursor)
    failed = select(*columns).where(_FAILED, *([] if before is None else [before.is_above()]))
    rows = snapshot.connection.execute(failed.order_by(*_LATEST_FAILED).limit(ROWS + 1)).all()
    entries, following = split_page(rows, lambda row: _FailureKey(row.crawl_id, row.id))
    all_groups = groups.read(lambda: _failure_groups(snapshot))
    return Failures(
        groups=sorted(all_groups, key=_GROUP_ORDERS[question.order]),
        requests=[_failed_request(row) for row in entries],
        next=following,
        previous=None if before is None else _previous_failures(snapshot, before),
    )


_LATEST_FAILED = (request.c.crawl_id.desc(), request.c.id.desc())
_GROUP_ORDERS: dict[str, Callable[[FailureGroup], Any]] = {
    "requests": lambda group: (-group.requests, -group.crawl, group.host),
    "crawl": lambda group: (-group.crawl, -group.requests, group.host),
    "host": lambda group: (group.host, -group.requests, -group.crawl),
    "outcome": lambda group: (group.outcome or "", -group.requests, group.host),
}


@dataclass(frozen=True, slots=True)
class _FailureKey:
    """The place of a failed request in the list of them."""

    crawl_id: int
    row_id: int

    @classmethod
    def read(cls, cursor: str) -> _FailureKey:
        """Return the place that a cursor names; raises QueryError for a cursor of another list."""
        crawl_id, _, row_id = cursor.partition(".")
        if not (crawl_id.isdecimal() and row_id.isdecimal() and max(int(crawl_id), int(row_id)) <= _LAST_ID):
            raise QueryError(f"the cursor {cursor!r} is not one of this list; leave it out to begin again")
        return cls(int(crawl_id), int(row_id))

    def is_above(self) -> ColumnElement[bool]:
        """Return the condition of requests behind this place: of an earlier crawl, or added earlier."""
        same = and_(request.c.crawl_id == self.crawl_id, request.c.id < self.row_id)
        return or_(request.c.crawl_id < self.crawl_id, same)

    def __str__(self) -> str:
        return f"{self.crawl_id}.{self.row_id}"


def _previous_failures(snapshot: DatabaseSnapshot, before: _FailureKey) -> str | None:
    """Return the cursor of the page of the list before the one that begins behind a place; None on the first one."""
    same = and_(request.c.crawl_id == before.crawl_id, request.c.id >= before.row_id)
    later = select(request.c.crawl_id, request.c.id).where(_FAILED, or_(request.c.crawl_id > before.crawl_id, same))
    rows = snapshot.connection.execute(later.order_by(request.c.crawl_id, request.c.id).limit(ROWS + 1)).all()
    if not rows:
        return None
    return str(_FailureKey(rows[ROWS].crawl_id, rows[ROWS].id) if len(rows) > ROWS else _FailureKey(_LAST_ID, 0))


def _failed_request(row: Any) -> FailedRequest:
    return FailedRequest(
        id=row.id,
        crawl=row.crawl_id,
        url=redact_text(row.url),
        outcome=row.outcome,
        error=None if row.error is None else redact_text(row.error),
        attempts=row.attempts,
        ended=row.ended,
    )


def _failure_groups(snapshot: DatabaseSnapshot) -> list[FailureGroup]:
    number = func.count()
    key = (request.c.crawl_id, crawl.c.spider, request.c.host, request.c.outcome)
    grouped = select(*key, number.label("requests")).join(crawl, crawl.c.id == request.c.crawl_id).where(_FAILED)
    rows = snapshot.connection.execute(
        grouped.group_by(*key).order_by(number.desc(), request.c.crawl_id.desc()).limit(ROWS)
    )
    return [
        FailureGroup(
            crawl=row.crawl_id,
            spider=row.spider,
            host=row.host,
            outcome=row.outcome,
            requests=row.requests,
            command=_retry_command(row),
        )
        for row in rows
    ]


def _retry_command(row: Any) -> str:
    outcome = [] if row.outcome is None else ["--outcome", row.outcome]
    return shlex.join(["scrapy", "retry", "--failed", "--spider", row.spider, "--host", row.host, *outcome])


def read_schedule(snapshot: DatabaseSnapshot, question: PagedQuestion) -> ScheduleAnswer:
    """Return the due pages, the longest waiting first, and the forecast of a week."""
    after = None if question.cursor is None else _DueKey.read(question.cursor)
    behind = [] if after is None else [after.is_behind()]
    entries, following = split_page(
        _due_rows(snapshot, page, ROWS + 1, *behind), lambda row: _DueKey(row.next_visit, row.id)
    )
    late = _visits(snapshot, page, None) + _visits(snapshot, section, None)
    coming = _visits(snapshot, page, snapshot.now) + _visits(snapshot, section, snapshot.now)
    return ScheduleAnswer(
        due_pages=count_due(snapshot, page),
        due_sections=count_due(snapshot, section),
        budget=snapshot.config.revisit_budget,
        days=list(_days(snapshot)),
        hours=[_hour_of(snapshot.now) + timedelta(hours=hour) for hour in range(_HOURS)],
        tonight=_due_sites(late, coming, snapshot.now),
        cut=max(len(late), len(coming)) >= _VISITS_MAX,
        sections=[_due_row(snapshot, row, None) for row in _due_rows(snapshot, section, ROWS)],
        pages=[_due_row(snapshot, row, row.id) for row in entries],
        next=following,
        previous=None if after is None else _previous_due(snapshot, after),
    )


def _visits(snapshot: DatabaseSnapshot, table: Table, after: datetime | None) -> list[_PlannedVisit]:
    """Return the first visits that are late, or due in a day after a moment, the earliest first."""
    end = snapshot.now if after is None else _hour_of(after) + timedelta(hours=_HOURS)
    conditions = [table.c.retired_at.is_(None), table.c.next_visit <= end]
    if after is not None:
        conditions.append(table.c.next_visit > after)
    rows = select(table.c.site, table.c.next_visit).where(*conditions).order_by(table.c.next_visit).limit(_VISITS_MAX)
    return [_PlannedVisit(row.site, row.next_visit) for row in snapshot.connection.execute(rows)]


def _due_sites(late: Sequence[_PlannedVisit], coming: Sequence[_PlannedVisit], now: datetime) -> list[DueSite]:
    """Return the sites of the visits, those with the most first."""
    start = _hour_of(now)
    hours: dict[str, list[int]] = {visit.site: [0] * _HOURS for visit in (*late, *coming)}
    for visit in coming:
        # A visit in the very moment that ends the last hour belongs to it.
        hours[visit.site][min(_HOURS - 1, int((visit.due - start) / timedelta(hours=1)))] += 1
    numbers = Counter(visit.site for visit in late)
    waiting: dict[str, datetime] = {}
    for visit in late:
        waiting[visit.site] = min(visit.due, waiting.get(visit.site, visit.due))
    sites = [
        DueSite(name, numbers[name], waiting.get(name), counts, numbers[name] + sum(counts))
        for name, counts in hours.items()
    ]
    return sorted(sites, key=lambda due_site: (-due_site.total, due_site.site))[:CUT]


def _hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def _due_rows(snapshot: DatabaseSnapshot, table: Table, limit: int, *conditions: ColumnElement[bool]) -> list[Any]:
    history = [column for column in (PAGE_HISTORY if table is page else SECTION_HISTORY) if column.name != "id"]
    columns = select(table.c.id, table.c.url, table.c.next_visit, *history)
    due = columns.where(
        table.c.retired_at.is_(None), is_due(table, snapshot.now, snapshot.config.revisits), *conditions
    )
    return list(snapshot.connection.execute(due.order_by(table.c.next_visit, table.c.id).limit(limit)))


@dataclass(frozen=True, slots=True)
class _DueKey:
    """The place of a page in the list of those that are due."""

    due: datetime
    page_id: int

    @classmethod
    def read(cls, cursor: str) -> _DueKey:
        """Return the place that a cursor names; raises QueryError for a cursor of another list."""
        moment, _, row_id = cursor.partition("|")
        try:
            due = datetime.fromisoformat(moment)
            page_id = int(row_id)
        except ValueError as error:
            raise QueryError(f"the cursor {cursor!r} is not one of this list; leave it out to begin again") from error
        if due.tzinfo is None or abs(page_id) > _LAST_ID:
            raise QueryError(f"the cursor {cursor!r} is not one of this list; leave it out to begin again")
        return cls(due, page_id)

    def is_behind(self) -> ColumnElement[bool]:
        """Return the condition of pages behind this place: due later, or stored later."""
        return or_(page.c.next_visit > self.due, and_(page.c.next_visit == self.due, page.c.id > self.page_id))

    def __str__(self) -> str:
        return f"{self.due.isoformat()}|{self.page_id}"


_FIRST_DUE = _DueKey(datetime(1970, 1, 1, tzinfo=UTC), 0)


def _previous_due(snapshot: DatabaseSnapshot, after: _DueKey) -> str | None:
    """Return the cursor of the page of the list before the one that begins behind a place; None on the first one."""
    until = or_(page.c.next_visit < after.due, and_(page.c.next_visit == after.due, page.c.id <= after.page_id))
    due = (page.c.retired_at.is_(None), is_due(page, snapshot.now, snapshot.config.revisits), until)
    earlier = select(page.c.next_visit, page.c.id).where(*due)
    rows = snapshot.connection.execute(
        earlier.order_by(page.c.next_visit.desc(), page.c.id.desc()).limit(ROWS + 1)
    ).all()
    if not rows:
        return None
    return str(_DueKey(rows[ROWS].next_visit, rows[ROWS].id) if len(rows) > ROWS else _FIRST_DUE)


def _due_row(snapshot: DatabaseSnapshot, row: Any, page_id: int | None) -> DueRow:
    history = section_history(row) if page_id is None else page_history(row)
    why = schedule.explain_next_visit(history, snapshot.now, snapshot.config.revisits)
    return DueRow(page=page_id, url=row.url, due=row.next_visit, last_seen=row.last_seen, why=why)


def _days(snapshot: DatabaseSnapshot) -> Iterator[DueDay]:
    """Yield the days of the week to come; what is due already counts for today."""
    midnight = datetime.combine(snapshot.now.date(), time(), snapshot.now.tzinfo)
    start = snapshot.now
    for number in range(_DAYS):
        end = midnight + timedelta(days=number + 1)
        counts = {table: _count_between(snapshot.connection, table, start, end) for table in (page, section)}
        if number == 0:
            counts = {table: count + count_due(snapshot, table) for table, count in counts.items()}
        yield DueDay(day=(end - timedelta(days=1)).date(), pages=counts[page], sections=counts[section])
        start = end


def _count_between(connection: Connection, table: Table, start: datetime, end: datetime) -> int:
    """Return how many rows have their next visit after `start` and not after `end`."""
    between = (table.c.next_visit > start, table.c.next_visit <= end)
    counted = select(func.count()).select_from(table).where(table.c.retired_at.is_(None), *between)
    return connection.scalar(counted) or 0


def read_settings(snapshot: DatabaseSnapshot, _question: Nothing) -> SettingList:
    """Return the settings, as `scrapy settings --explain` does."""
    return SettingList(settings=[_setting(setting) for setting in explain_settings(snapshot.settings)])


def _setting(setting: ExplainedSetting) -> SettingRow:
    return SettingRow(
        name=setting.name,
        value=_shown(setting.value),
        set_by=setting.set_by,
        default=_shown(setting.default),
        allowed=setting.allowed,
        help=setting.help,
        problem=setting.problem,
    )


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return "" if value in (None, {}) else str(value)

"""Crawls: a list of them, one with what it came to, and the requests of those that are open."""

from __future__ import annotations

import shlex
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from crawler.config.arguments import RECRAWL, describe_arguments, resume_command
from crawler.errors import NotStoredError
from crawler.monitoring.exit_status import find_exit_status
from crawler.schedule import MAX_VANISHED_SHARE, MIN_REVISITS
from crawler.storage import crawls as crawls_
from crawler.storage.queries import CrawlReport, crawl_report
from crawler.storage.tables import crawl, request
from crawler.terminal import count_of
from crawler.web.records import CrawlAnswer, CrawlList, CrawlRecord, OpenCrawl
from crawler.web.snapshot import ROWS, number_of, split_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from crawler.config import Config
    from crawler.web.records import CrawlQuestion, CrawlsQuestion
    from crawler.web.snapshot import DatabaseSnapshot

CRAWLS_MAX = 2_000
"""The crawls that are looked through for one answer."""

_LAST_ID = 2**62
_COPIED = ("id", "spider", "arguments", "state", "started", "finished", "reason", "seconds", "pages", "kept")
_COUNTED = ("dropped", "duplicates", "refused", "left_alone", "failed", "outcomes", "effects")
# What each outcome is called after its number, in a sentence.
_OUTCOME_WORDS = {
    "new": "new",
    "changed": "changed",
    "unchanged": "unchanged",
    "read": "read",
    "section": "listings",
    "not_found": "not found",
    "left_alone": "left alone as the publisher asks",
    "robots": "forbidden by robots.txt",
    "refused": "refused",
    "failed": "failed",
    "no_page": "without a page",
}
_EFFECT_WORDS = {
    "pages_retired": "retired",
    "pages_missed": "missed for now",
    "pages_moved": "joined with their new address",
}


def read_crawls(snapshot: DatabaseSnapshot, question: CrawlsQuestion) -> CrawlList:
    """Return crawls, the latest first."""
    before = number_of(question.cursor, _LAST_ID)
    limit = CRAWLS_MAX if question.result else ROWS + 1
    latest = latest_reports(snapshot.connection, limit, before, question.spider)
    records, following = split_page(
        list(islice(_matching(snapshot, latest, question.result), ROWS + 1)), lambda record: record.id
    )
    sums: Counter[str] = Counter()
    for record in records:
        sums.update(record.outcomes)
    return CrawlList(records, dict(sums), following, _previous(snapshot, question, before))


def _previous(snapshot: DatabaseSnapshot, question: CrawlsQuestion, before: int) -> str | None:
    """Return the cursor of the page before the one of crawls with smaller ids; None on the first page."""
    if before >= _LAST_ID:
        return None
    limit = CRAWLS_MAX if question.result else ROWS + 1
    later = select(crawl).where(crawl.c.id >= before, *_by(question.spider)).order_by(crawl.c.id).limit(limit)
    reports = map(crawl_report, snapshot.connection.execute(later))
    matching = (record.id for record in _matching(snapshot, reports, question.result))
    return str(next(islice(matching, ROWS, None), _LAST_ID))


def _matching(snapshot: DatabaseSnapshot, reports: Iterable[CrawlReport], result: str) -> Iterator[CrawlRecord]:
    records = (crawl_record(snapshot, report) for report in reports)
    return (record for record in records if result in {"", record.result})


def _by(spider: str) -> list[Any]:
    return [crawl.c.spider == spider] if spider else []


def read_crawl(snapshot: DatabaseSnapshot, question: CrawlQuestion) -> CrawlAnswer:
    """Return a crawl; raises NotStoredError if no crawl has this id."""
    row = snapshot.connection.execute(select(crawl).where(crawl.c.id == question.crawl)).first()
    if row is None:
        raise NotStoredError(f"there is no crawl {question.crawl} in the database")
    record = crawl_record(snapshot, crawl_report(row))
    queues = [queue for queue in open_crawls(snapshot.connection, snapshot.now) if queue.id == record.id]
    settings = {name: str(value) for name, value in (row.settings or {}).items()}
    is_open = row.state == crawls_.CrawlState.OPEN
    return CrawlAnswer(
        crawl=record,
        sentence=describe_crawl(record),
        queue=queues[0] if queues else None,
        settings=settings,
        command=resume_command(row.spider, row.arguments, settings) if is_open else None,
        retry=shlex.join(["scrapy", "retry", "--failed", "--spider", row.spider]) if record.failed else None,
    )


def latest_reports(connection: Connection, limit: int, before: int = _LAST_ID, spider: str = "") -> list[CrawlReport]:
    """Return crawls with ids below a number, the latest first."""
    latest = select(crawl).where(crawl.c.id < before, *_by(spider)).order_by(crawl.c.id.desc()).limit(limit)
    return [crawl_report(row) for row in connection.execute(latest)]


def crawl_record(snapshot: DatabaseSnapshot, report: CrawlReport) -> CrawlRecord:
    """Return a crawl with its counts, and whether it has done what it is for."""
    result, problem = "open", None
    if report.state != crawls_.CrawlState.OPEN:
        result, problem = _result(report, snapshot.config)
    return CrawlRecord(
        **{name: getattr(report, name) for name in (*_COPIED, *_COUNTED)},
        words=describe_arguments(report.arguments),
        result=result,
        problem=problem,
    )


def _result(report: CrawlReport, config: Config) -> tuple[str, str | None]:
    """Return `met`, `failed` or `unclear`, and why a crawl failed."""
    if not report.outcomes:
        return "unclear", None
    stats = {**report.counters, "finish_reason": report.reason or ""}
    problem = find_exit_status(stats, config.max_refused_share).problem or _find_loss(report)
    return "met" if problem is None else "failed", problem


def _find_loss(report: CrawlReport) -> str | None:
    """Return why the stored pages or their texts are mostly lost; None if they are not."""
    if report.pages and not report.kept:
        return f"no text was kept of {count_of(report.pages, 'page')}; the site may have been redesigned"
    absent = report.effects.get("pages_missed", 0) + report.effects.get("pages_retired", 0)
    missing = min(absent, report.outcomes.get("not_found", 0))
    revisits = missing + report.outcomes.get("changed", 0) + report.outcomes.get("unchanged", 0)
    if revisits < MIN_REVISITS or missing <= MAX_VANISHED_SHARE * revisits:
        return None
    return f"{missing:,} of {count_of(revisits, 'stored page')} were not found any more"


def describe_crawl(record: CrawlRecord) -> str:
    """Return what a crawl came to, as a sentence."""
    kind = "re-crawl" if RECRAWL in record.arguments else "crawl"
    visits = count_of(sum(record.outcomes.values()), "visit")
    came_to = ", ".join(f"{number:,} {_OUTCOME_WORDS[name]}" for name, number in record.outcomes.items())
    has_made = "has made" if record.result == "open" else "made"
    sentence = f"This {kind} {has_made} {visits}{': ' * bool(came_to)}{came_to}."
    return " ".join([sentence, *_effect_sentences(record.effects)])


def _effect_sentences(effects: Mapping[str, int]) -> Iterable[str]:
    added = effects.get("texts_added", 0) + effects.get("texts_back", 0)
    removed = effects.get("texts_removed", 0)
    if added:
        yield f"{count_of(added, 'text')} came new."
    if removed:
        yield f"{count_of(removed, 'text')} {'is' if removed == 1 else 'are'} no longer shown."
    pages = ", ".join(f"{effects[name]:,} {words}" for name, words in _EFFECT_WORDS.items() if name in effects)
    if pages:
        yield f"Of the stored pages: {pages}."


def open_crawls(connection: Connection, now: datetime) -> list[OpenCrawl]:
    """Return the open crawls with the numbers of their requests, the latest first."""
    queues = crawls_.crawl_queues(connection, now, only_open=True)
    ids = [queue.crawl_id for queue in queues]
    totals = select(request.c.crawl_id, func.count()).where(request.c.crawl_id.in_(ids))
    requests = {row[0]: row[1] for row in connection.execute(totals.group_by(request.c.crawl_id))}
    begun = {
        row[0]: row[1] for row in connection.execute(select(crawl.c.id, crawl.c.started).where(crawl.c.id.in_(ids)))
    }
    return [
        _open_crawl(queue, requests.get(queue.crawl_id, 0), (now - begun[queue.crawl_id]).total_seconds())
        for queue in queues
    ]


def _open_crawl(queue: crawls_.CrawlQueue, total: int, elapsed: float) -> OpenCrawl:
    failed = sum(queue.failed.values())
    ended = total - queue.queued - queue.leased - failed
    return OpenCrawl(
        id=queue.crawl_id,
        spider=queue.spider,
        arguments=queue.arguments,
        queued=queue.queued,
        leased=queue.leased,
        ended=ended,
        failed=failed,
        processes=queue.processes,
        words=describe_arguments(queue.arguments),
        total=total,
        elapsed=elapsed,
        rate=60 * (ended + failed) / max(elapsed, 1.0),
    )


def crawls_by_id(connection: Connection, ids: Iterable[int]) -> list[CrawlReport]:
    """Return the crawls with these ids."""
    rows: Any = connection.execute(select(crawl).where(crawl.c.id.in_(list(ids))))
    return [crawl_report(row) for row in rows]

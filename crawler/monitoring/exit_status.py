"""The end of a crawl: its finish reason, its exit status, and whether its counts balance."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from scrapy import signals

from cleaning.blocks import Reason
from crawler.redact import redact_text
from crawler.visit import FAILED_OUTCOMES, LEFT_ALONE_OUTCOMES, REFUSAL_OUTCOMES, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from scrapy.crawler import Crawler

EXIT_SUCCESS, EXIT_FAILURE, EXIT_USAGE = 0, 1, 2

STOP_SIGNAL_STAT = "finish_signal"
"""The stat with the number of the signal that stopped the crawl."""
CRAWL_ID_STAT = "store/crawl_id"
"""The stat with the crawl's id in the database."""
QUEUED_STAT = "frontier/queued"
"""The stat with the number of requests in the database's queue, as last counted."""

QUEUED_AGAIN_STAT = "frontier/queued_again"
"""The stats with the numbers of visits whose requests are made again, by outcome, begin so."""

GIVEN_UP_STAT = "frontier/given_up"
"""The stat with the URLs of the requests that were sent as often as allowed, and whose process died each time."""

_REFUSED_UNASKED_STAT = "frontier/refused"
"""The stat with the number of requests that were not made because their host refused for too long."""

SITE_PROBLEMS_STAT = "sites/problems"
"""The stat with a sentence for each site where the crawl has not done what it is for, or that it had to leave out."""

NOFOLLOW_STAT = "directives/nofollow_links"
"""The stat with the number of links that were not followed because their page says nofollow."""
NOARCHIVE_STAT = "directives/noarchive_pages"
"""The stat with the number of pages whose HTML is not kept because they say noarchive."""
MOVED_STAT = "store/moved"
"""The stat with the number of pages that were joined with the page that their address redirects to for good."""
CANONICAL_STAT = "page/canonical_doubted"
"""The stat with the number of pages that state a canonical address which other pages show to be wrong."""

FAILED_ITEMS_STAT = "item/failed"
"""The stat with the number of items that made a pipeline of the project raise an error."""

FIRST_FAILURE_STAT = "download/first_failure"
"""The stat with the URL of the first request that ended without a response, and why."""

_TOO_LONG_STAT = "urllength/request_ignored_count"  # of Scrapy's middleware
_SITES_LISTED = 5
_FAILED_FEEDS_PREFIX = "feedexport/failed_count/"
_SHUTDOWN = "shutdown"  # Scrapy's reason for Ctrl-C and SIGTERM. A second one ends a crawl without a reason.
_CONTINUED = "the same command continues it"
_SIGNAL_EXIT_BASE = 128  # shells add a signal's number to this


class FinishReason(StrEnum):
    """Finish reasons of our own, beside Scrapy's."""

    REFUSED = "refused"
    STORE_FAILED = "store_failed"
    WORKERS_FAILED = "workers_failed"
    ARCHIVE_FAILED = "archive_failed"
    NO_ARTICLES = "no_articles"
    """The articles of a site have no title or no text where its spider looks for them."""
    DEFERRED = "deferred"
    """All requests left are for hosts that asked for a pause. The same command continues the crawl later."""


_FAILURE_REASONS: Mapping[str, str] = {
    FinishReason.REFUSED: "the site refused too many requests in a row",
    FinishReason.STORE_FAILED: "the database failed: see the log",
    FinishReason.WORKERS_FAILED: "a cleaning process that had died could not be started again: see the log",
    FinishReason.ARCHIVE_FAILED: "the archive cannot be written: see the log",
    FinishReason.NO_ARTICLES: (
        "article after article had no title or no text: the site may have changed its pages; docs/crawl.md says how to "
        "report it"
    ),
    "start_error": "the spider failed before it had yielded all its start requests: see the log",
    "memusage_exceeded": "the crawl needed more memory than MEMUSAGE_LIMIT_MB",
    "closespider_errorcount": "callbacks failed as often as CLOSESPIDER_ERRORCOUNT allows",
    "closespider_timeout_no_item": "no item was scraped for as long as CLOSESPIDER_TIMEOUT_NO_ITEM allows",
    "closespider_pagecount_no_item": "no item came of as many pages as CLOSESPIDER_PAGECOUNT_NO_ITEM allows",
}
"""Finish reasons that are failures, whatever was stored before.

After any other reason the counts decide: `finished`, `deferred`, a spider's own reasons, and the limits
CLOSESPIDER_TIMEOUT, CLOSESPIDER_ITEMCOUNT and CLOSESPIDER_PAGECOUNT, which stop a crawl as its user asked.
"""

# Visits whose page was there, but could not be cleaned or stored.
_PROCESSING_FAILURES = (Outcome.CLEANING_FAILED, Outcome.CLEANING_TIMEOUT, Outcome.PIPELINE_FAILED)

# What to do about a crawl without pages, by the outcome of most of its visits.
_REMEDIES: Mapping[Outcome, str] = {
    Outcome.SECTION: "no link seemed to lead to an article; with the spider section, -a allow=PATTERN says which do; "
    "the pages of a manual are in its sitemap: docs/crawl.md, Manuals",
    Outcome.NOT_HTML: "the addresses lead to files that are not web pages",
    Outcome.NOT_FOUND: "the site says that there is nothing at these addresses; open one in a browser",
    Outcome.HTTP_ERROR: "the site answered with errors; try again later",
    Outcome.WALL: (
        "the site shows a page of consent or a log-in in place of its pages; docs/crawl.md says how to send the cookie "
        "that opens it"
    ),
    Outcome.ROBOTS: "the robots.txt of the site forbids these addresses",
    Outcome.ROBOTS_UNAVAILABLE: (
        "the robots.txt of the site answers with a server error, which forbids all its pages for a time (RFC 9309); "
        "`scrapy retry --failed` queues the failed pages again"
    ),
    Outcome.NOINDEX: "the pages ask not to be indexed; -s OBEY_NOINDEX=false stores them, if you have the right to",
    Outcome.NOAI: "the pages ask not to be used for AI; -s OBEY_NOAI=false stores them, if you have the right to",
    Outcome.TDM_RESERVED: (
        "the rights for text and data mining are reserved; -s OBEY_TDM_RESERVATION=false stores the pages, if you have "
        "the right to"
    ),
    Outcome.ADDRESS: "-s ALLOW_ADDRESSES=NETWORK allows a network, such as 10.0.0.0/8",
    Outcome.CALLBACK_FAILED: "the spider raised errors: see the log",
    Outcome.CLEANING_FAILED: "cleaning raised errors: see the log",
    Outcome.CLEANING_TIMEOUT: "-s CLEANING_SECONDS=N gives cleaning more time for a page",
    Outcome.DROPPED: "a pipeline of the project dropped the pages",
    Outcome.PIPELINE_FAILED: "a pipeline of the project raised errors: see the log",
}
_NOFOLLOW_REMEDY = (
    "{links} not followed because their page says nofollow; -s OBEY_NOFOLLOW=false follows them, if you may"
)
_REFUSED_REMEDY = "crawl more slowly (DOWNLOAD_DELAY), and name yourself (CONTACT)"
# One page may be without text, as one of pictures is.
_MIN_PAGES_WITHOUT_BLOCK = 2
_NO_BLOCK_REMEDY = "`scrapy explain URL` shows why, and another CLEANING_METHOD or PROFILE may fit these pages"
_HTTPS_REMEDY = "if the site has no https, ask for it by http://"
_UNKNOWN_HOST = "DNS lookup failed"


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """The exit code of a crawl, and a sentence that says why it is not 0."""

    exit_code: int
    problem: str | None = None


def find_exit_status(stats: Mapping[str, Any], max_refused_share: float) -> ExitStatus:
    """Return the exit status of a crawl that ended with these stats."""
    reason = str(stats.get("finish_reason", _SHUTDOWN))
    failure = f"the database failed: {error}" if (error := stats.get("store/error")) else None
    number = stats.get(STOP_SIGNAL_STAT)
    # A crawl that waits for its database is stopped too: what is not stored stays in the queue.
    if reason == _SHUTDOWN or (failure and number is not None):
        return _interrupted(number, failure)
    if failure := failure or _FAILURE_REASONS.get(reason):
        return ExitStatus(EXIT_FAILURE, failure)
    problems = (
        _find_problem(stats, max_refused_share),
        _explain_given_up(stats.get(GIVEN_UP_STAT, ())),
        _join_sites(stats.get(SITE_PROBLEMS_STAT, ())),
    )
    problem = next(filter(None, problems), None)
    return ExitStatus(EXIT_FAILURE, problem) if problem else ExitStatus(EXIT_SUCCESS)


def find_storing_status(stats: Mapping[str, Any]) -> ExitStatus:
    """Return the exit status of a host project's crawl: a failure only if its pages could not be stored."""
    reason = str(stats.get("finish_reason", ""))
    if error := stats.get("store/error"):
        return ExitStatus(EXIT_FAILURE, f"the database failed: {error}")
    if reason in {FinishReason.STORE_FAILED, FinishReason.WORKERS_FAILED}:
        return ExitStatus(EXIT_FAILURE, _FAILURE_REASONS[reason])
    if given_up := _explain_given_up(stats.get(GIVEN_UP_STAT, ())):
        return ExitStatus(EXIT_FAILURE, given_up)
    failed_pages = sum(_count_stat(stats, f"visit/{outcome}") for outcome in _PROCESSING_FAILURES)
    total_pages = failed_pages + _count_stat(stats, f"visit/{Outcome.PAGE}")
    if 2 * failed_pages > total_pages:
        problem = f"cleaning or storing failed for {failed_pages:,} of {total_pages:,} pages: see the log"
        return ExitStatus(EXIT_FAILURE, problem)
    return ExitStatus(EXIT_SUCCESS)


def _interrupted(number: int | None, failure: str | None) -> ExitStatus:
    """Return the exit status of a stopped crawl, as shells do: 130 for Ctrl-C, 143 for SIGTERM."""
    end = f"; {failure}" if failure else f"; {_CONTINUED}"
    if number is None:
        return ExitStatus(EXIT_FAILURE, f"the crawl was stopped before its end{end}")
    name = signal.Signals(number).name
    return ExitStatus(_SIGNAL_EXIT_BASE + number, f"{name} stopped the crawl before its end{end}")


def _explain_given_up(urls: Sequence[str]) -> str | None:
    """Return a sentence about the requests that were given up; None without any."""
    if not urls:
        return None
    requests = "1 request was" if len(urls) == 1 else f"{len(urls):,} requests were"
    return (
        f"{requests} given up, {redact_text(urls[0])} for one: FRONTIER_MAX_ATTEMPTS processes died while they worked "
        "at it, or reported no end of it; `scrapy retry` makes such requests again"
    )


def _join_sites(problems: Sequence[str]) -> str | None:
    """Return the problems of sites as one sentence, the first ones in full; None without any."""
    listed = "; ".join(problems[:_SITES_LISTED])
    more = len(problems) - _SITES_LISTED
    return (f"{listed}; and {more:,} more sites" if more > 0 else listed) or None


def _find_problem(stats: Mapping[str, Any], max_refused_share: float) -> str | None:
    if any(name.startswith(_FAILED_FEEDS_PREFIX) for name in stats):
        return "a feed (-o, -O, FEEDS) was not written: see the log; the database has all its pages"
    visits = {outcome: int(stats.get(f"visit/{outcome}", 0)) for outcome in Outcome}
    unasked = _count_stat(stats, _REFUSED_UNASKED_STAT)
    total = unasked + sum(visits.values())
    # A refused visit whose request is made again is not a refusal yet.
    ends = {
        outcome: number - _count_stat(stats, f"{QUEUED_AGAIN_STAT}/{outcome}") for outcome, number in visits.items()
    }
    refused = unasked + sum(ends[outcome] for outcome in REFUSAL_OUTCOMES)
    ended = unasked + sum(ends.values())
    if refused > max_refused_share * ended:
        return (
            f"{refused} of {ended} visits were refused, more than MAX_REFUSED_SHARE={max_refused_share}; "
            f"{_REFUSED_REMEDY}"
        )
    if stats.get("frontier/resumed") or stats.get("frontier/pages_found"):
        # Other processes may have fetched the pages. So this one has failed only if all its visits have.
        failed = 0 < total == sum(visits[outcome] for outcome in FAILED_OUTCOMES)
    else:
        failed = not visits[Outcome.PAGE] and not visits[Outcome.NOT_MODIFIED]
    return _explain_no_page(visits, stats) if failed else _explain_no_block(stats) or _find_failed_items(stats)


def _explain_no_block(stats: Mapping[str, Any]) -> str | None:
    """Return a sentence if pages were cleaned and all their blocks dropped, with the reason of most of them."""
    pages, kept = _count_stat(stats, "clean/pages"), _count_stat(stats, f"blocks/{Reason.KEPT}")
    if kept or pages < _MIN_PAGES_WITHOUT_BLOCK or _count_stat(stats, f"visit/{Outcome.NOT_MODIFIED}"):
        return None
    counts = {reason: _count_stat(stats, f"blocks/{reason}") for reason in Reason}
    most = max(counts, key=lambda reason: counts[reason])
    blocks = f"all {sum(counts.values()):,} blocks were dropped, {counts[most]:,} as {most}"
    shown = blocks if counts[most] else "they have none"
    return f"no block of text was kept of {pages:,} pages: {shown}; {_NO_BLOCK_REMEDY}"


def _find_failed_items(stats: Mapping[str, Any]) -> str | None:
    failed_items = _count_stat(stats, FAILED_ITEMS_STAT)
    total_items = failed_items + _count_stat(stats, "item_scraped_count")
    if 2 * failed_items <= total_items:
        return None
    return f"a pipeline of the project raised errors for {failed_items:,} of {total_items:,} items: see the log"


def _explain_no_page(visits: Mapping[Outcome, int], stats: Mapping[str, Any]) -> str:
    """Return a sentence with the outcomes of all visits, why the first failure came, and what to do about it."""
    parts = [f"no page was stored ({_list_visits(visits)})"]
    most = max(visits, key=lambda outcome: visits[outcome])
    # A page that was left alone would have been stored, so it is the reason, however many sections there were.
    left_alone = [outcome for outcome in Outcome if outcome in LEFT_ALONE_OUTCOMES and visits[outcome]]
    if left_alone:
        most = max(left_alone, key=lambda outcome: visits[outcome])
    failure = str(stats.get(FIRST_FAILURE_STAT, ""))
    if most in {Outcome.ADDRESS, Outcome.DOWNLOAD_FAILED, Outcome.REDIRECT_LOOP} and failure:
        parts.append(failure)
    if too_long := _count_stat(stats, _TOO_LONG_STAT):
        are, were = ("1 address is", "was") if too_long == 1 else (f"{too_long:,} addresses are", "were")
        parts.append(f"{are} longer than URLLENGTH_LIMIT and {were} not requested")
    unfollowed = _count_stat(stats, NOFOLLOW_STAT)
    if unfollowed and most is Outcome.SECTION:
        links = "1 link was" if unfollowed == 1 else f"{unfollowed:,} links were"
        parts.append(_NOFOLLOW_REMEDY.format(links=links))
    elif most in REFUSAL_OUTCOMES:
        parts.append(_REFUSED_REMEDY)
    elif most is Outcome.DOWNLOAD_FAILED:
        if failure.startswith("https://") and _UNKNOWN_HOST not in failure:
            parts.append(_HTTPS_REMEDY)
    elif visits[most] and most in _REMEDIES:
        parts.append(_REMEDIES[most])
    return "; ".join(parts)


def _list_visits(visits: Mapping[Outcome, int]) -> str:
    return ", ".join(f"{outcome} {count}" for outcome, count in visits.items() if count) or "nothing was visited"


class CrawlEndHook:
    """Calls `act` once when a crawl that had begun is over, with its last batch stored and its end written.

    Scrapy sends `engine_stopped` then. If a component closes the spider while it is being opened, `spider_closed` is
    the last signal instead.
    """

    def __init__(self, crawler: Crawler, act: Callable[[], None]) -> None:
        self._act = act
        self._opened = self._started = False
        for receiver, sent in (
            (self._spider_opened, signals.spider_opened),
            (self._engine_started, signals.engine_started),
            (self._spider_closed, signals.spider_closed),
            (self._engine_stopped, signals.engine_stopped),
        ):
            crawler.signals.connect(receiver, signal=sent)

    def _spider_opened(self) -> None:
        self._opened = True

    def _engine_started(self) -> None:
        self._started = True

    def _spider_closed(self) -> None:
        if self._opened and not self._started:
            self._act()

    def _engine_stopped(self) -> None:
        if self._opened:
            self._act()


# Stats that hold a current value, not a count.
_NOT_COUNTERS = frozenset({CRAWL_ID_STAT, QUEUED_STAT})
_STORED_PREFIXES = (
    "visit/",
    "item/",
    "blocks/",
    "page/",
    "dedup/",
    "store/",
    "replay/",
    "ezine/",
    "news/",
    "urllength/",
    "section/",
    "clean/",
    "throttling/",
    "directives/",
    "tdmrep/",
    "frontier/",
    "recrawl/",
)
_DUPLICATE_STATS = ("dedup/exact", "dedup/near", "dedup/boilerplate")


def stored_counters(stats: Mapping[str, Any]) -> dict[str, int | str]:
    """Return the counters that are stored with the crawl."""
    return {
        name: value
        for name, value in sorted(stats.items())
        if name.startswith(_STORED_PREFIXES) and isinstance(value, int | str) and name not in _NOT_COUNTERS
    }


def queued_requests(stats: Mapping[str, Any]) -> int:
    """Return the number of requests in the crawl's queue: in the database, or in memory without a frontier there."""
    if QUEUED_STAT in stats:
        return _count_stat(stats, QUEUED_STAT)
    # A re-crawl takes requests that the command has put into the database; their number is not counted yet.
    return max(0, _count_stat(stats, "scheduler/enqueued") - _count_stat(stats, "scheduler/dequeued"))


def find_imbalances(stats: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each pair of counts that should be equal and are not."""
    seen = _count_stat(stats, "blocks/seen")
    decided = sum(_count_stat(stats, f"blocks/{reason}") for reason in Reason)
    if seen != decided:
        yield f"{seen} blocks were seen, but {decided} kept or dropped for a reason"
    pages = _count_stat(stats, "clean/pages")
    states = ("new", "changed", "unchanged", "failed", "lost", "walled")
    written = sum(_count_stat(stats, f"store/pages_{state}") for state in states)
    if pages != written:
        yield f"{pages} pages were cleaned, but {written} stored, failed or lost"
    kept = _count_stat(stats, "blocks/kept")
    placed = sum(_count_stat(stats, name) for name in ("store/blocks_new", "store/blocks_refreshed", *_DUPLICATE_STATS))
    unplaced = sum(_count_stat(stats, f"store/pages_{state}") for state in ("failed", "lost", "walled"))
    if kept != placed and not unplaced:
        yield f"{kept} blocks were kept, but {placed} stored, refreshed, duplicates or boilerplate"


def _count_stat(stats: Mapping[str, Any], name: str) -> int:
    return int(stats.get(name, 0))

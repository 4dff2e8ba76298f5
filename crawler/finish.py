"""How a crawl ended: its finish reason, whether that is a failure, and the exit code that says so."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from scrapy import signals

from crawler.visit import REFUSALS, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy.crawler import Crawler

SUCCESS, FAILURE, MISTAKE = 0, 1, 2
STOP_SIGNAL = "finish_signal"
"""The stat with the number of the signal that stopped the crawl."""

_STOPPED = "shutdown"  # Scrapy's reason for Ctrl-C and SIGTERM; a second one ends a crawl without any
_SIGNAL_CODES = 128  # what a shell adds to a signal's number


class Finish(StrEnum):
    """Finish reasons of our own, beside Scrapy's."""

    REFUSED = "refused"
    STORE_FAILED = "store_failed"
    CLEANERS_FAILED = "cleaners_failed"
    ARCHIVE_FAILED = "archive_failed"
    PUT_OFF = "put_off"
    """What is left is for hosts that want to be left alone for a while: the same command goes on with it later."""


_FAILED = (
    Outcome.HTTP_ERROR,
    Outcome.DOWNLOAD_FAILED,
    Outcome.CALLBACK_FAILED,
    Outcome.CLEANING_FAILED,
    Outcome.CLEANING_TIMEOUT,
)

FAILURES: Mapping[str, str] = {
    Finish.REFUSED: "the site refused too many requests in a row",
    Finish.STORE_FAILED: "the database failed: see the log",
    Finish.CLEANERS_FAILED: "a cleaning process that had died could not be started again: see the log",
    Finish.ARCHIVE_FAILED: "the archive cannot be written: see the log",
    "start_error": "the spider failed before it had asked for all of its first pages: see the log",
    "memusage_exceeded": "the crawl needed more memory than MEMUSAGE_LIMIT_MB",
    "closespider_errorcount": "callbacks failed as often as CLOSESPIDER_ERRORCOUNT says",
    "closespider_timeout_no_item": "nothing came for as long as CLOSESPIDER_TIMEOUT_NO_ITEM says",
    "closespider_pagecount_no_item": "nothing came of as many pages as CLOSESPIDER_PAGECOUNT_NO_ITEM says",
}
"""Finish reasons that are failures, whatever was stored before.

After any other the counts decide. Such are `finished`, `put_off`, a spider's own reasons, and the limits
CLOSESPIDER_TIMEOUT, CLOSESPIDER_ITEMCOUNT and CLOSESPIDER_PAGECOUNT: whoever sets one asks for so much and got it.
"""


@dataclass(frozen=True, slots=True)
class Ending:
    """A crawl's exit code, and a sentence on why that is not 0."""

    exit_code: int
    problem: str | None = None


def judge(stats: Mapping[str, Any], max_refused_share: float) -> Ending:
    """Return how the crawl with these stats ended."""
    reason = str(stats.get("finish_reason", _STOPPED))
    if error := stats.get("store/error"):
        return Ending(FAILURE, f"the database failed: {error}")
    if reason in FAILURES:
        return Ending(FAILURE, FAILURES[reason])
    if reason == _STOPPED:
        return _stopped(stats.get(STOP_SIGNAL))
    problem = _problem(stats, max_refused_share)
    return Ending(FAILURE, problem) if problem else Ending(SUCCESS)


def _stopped(number: int | None) -> Ending:
    """The convention of shells: 130 for Ctrl-C, 143 for SIGTERM."""
    if number is None:
        return Ending(FAILURE, "the crawl was stopped before its end")
    return Ending(_SIGNAL_CODES + number, f"{signal.Signals(number).name} stopped the crawl before its end")


def _problem(stats: Mapping[str, Any], max_refused_share: float) -> str | None:
    visits = {outcome: int(stats.get(f"visit/{outcome}", 0)) for outcome in Outcome}
    refused, total = sum(visits[outcome] for outcome in REFUSALS), sum(visits.values())
    if refused > max_refused_share * total:
        return f"{refused} of {total} visits were refused, more than MAX_REFUSED_SHARE={max_refused_share}"
    if stats.get("frontier/resumed") or stats.get("frontier/pages_found"):
        # Others may have done all or most of it: too little to tell by, unless all that was left has failed.
        hopeless = 0 < total == sum(visits[outcome] for outcome in _FAILED)
    else:
        hopeless = not visits[Outcome.PAGE] and not visits[Outcome.NOT_MODIFIED]
    return f"no page was stored ({_listed(visits)})" if hopeless else None


def _listed(visits: Mapping[Outcome, int]) -> str:
    return ", ".join(f"{outcome} {count}" for outcome, count in visits.items() if count) or "nothing was visited"


class AtTheEnd:
    """Calls `act` once, when a crawl that had begun is over, its last batch stored and its row finished.

    Scrapy says so by `engine_stopped`, but not where a component closed the spider while it was being opened: then
    `spider_closed` is the last signal.
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

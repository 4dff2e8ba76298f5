"""Crawls that one command runs side by side, unless they need the same host, file or browser."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES

from crawler.commands.crawl import record_signal, watch_stop_signals
from crawler.config import config_of
from crawler.config.names import set_ours
from crawler.monitoring.progress import ProgressLine, SummedStats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from scrapy.crawler import Crawler


@dataclass(frozen=True, slots=True)
class CrawlStart:
    """A crawl to start beside others. `on_end` gets the exception that ended it, None for a crawl that had its end."""

    crawler: Crawler
    arguments: Mapping[str, str]
    on_end: Callable[[BaseException | None], None]


@dataclass(frozen=True, slots=True)
class WaitingCrawl:
    """A crawl that waits for its turn. `begin` returns None if nothing is left to do.

    Two crawls that claim the same thing, such as a host or a file, do not run at the same time.
    """

    claims: frozenset[str]
    begin: Callable[[], CrawlStart | None]


class ParallelCrawls:
    """Runs crawls in one process, at most `limit` at a time. A crawl whose claims are taken lets later ones pass.

    The next crawl begins as soon as one ends. A signal stops all that run, and no other begins.
    """

    def __init__(self, process: Any, waiting: Iterable[WaitingCrawl], limit: int) -> None:
        self._process = process
        self._waiting = list(waiting)
        self._limit = limit
        self._running: dict[asyncio.Task[None], tuple[WaitingCrawl, CrawlStart]] = {}
        self._stats = SummedStats()
        self._progress: ProgressLine | None = None
        self._is_stopped = False

    def run(self) -> None:
        """Run the crawls to their end; return at once if there is nothing to do."""
        self._begin_next()
        if not self._running:
            return
        loop = next(iter(self._running)).get_loop()
        # Scrapy installs its own signal handlers when the loop starts.
        loop.call_soon(watch_stop_signals, self._stop)
        if self._progress is not None:
            loop.call_soon(self._progress.spider_opened)
        self._process.start()
        if self._progress is not None:
            self._progress.spider_closed()

    def _begin_next(self) -> None:
        while len(self._running) < self._limit and not self._is_stopped:
            crawl = self._take_next()
            if crawl is None:
                return
            start = crawl.begin()
            if start is not None:
                self._start(crawl, start)

    def _take_next(self) -> WaitingCrawl | None:
        claimed = {claim for crawl, _ in self._running.values() for claim in crawl.claims}
        for position, crawl in enumerate(self._waiting):
            if claimed.isdisjoint(crawl.claims):
                return self._waiting.pop(position)
        return None

    def _start(self, crawl: WaitingCrawl, start: CrawlStart) -> None:
        self._share_progress(start.crawler)
        task: asyncio.Task[None] = self._process.crawl(start.crawler, **start.arguments)
        assert isinstance(task, asyncio.Task)  # as Scrapy's AsyncCrawlerProcess returns it
        self._running[task] = (crawl, start)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        _, start = self._running.pop(task)
        self._stats.end(start.crawler)
        start.on_end(None if task.cancelled() else task.exception())
        self._begin_next()

    def _stop(self, number: int) -> None:
        self._is_stopped = True
        for _, start in self._running.values():
            record_signal(start.crawler, number)

    def _share_progress(self, crawler: Crawler) -> None:
        """Let all crawls share one progress line."""
        mode = config_of(crawler).progress
        self._stats.add(crawler)
        # Above -s PROGRESS=on, whatever sets that again.
        set_ours(crawler.settings, "PROGRESS", "off", priority=SETTINGS_PRIORITIES["cmdline"] + 1)
        if self._progress is None:
            self._progress = ProgressLine(self._stats, mode, self._stats.delays)

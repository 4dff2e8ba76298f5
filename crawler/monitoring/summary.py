"""The summary of a crawl (setting SUMMARY): one line of JSON for programs to read. See docs/watching.md."""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured

from cleaning.blocks import Reason
from crawler.config import Config, given_arguments
from crawler.monitoring.exit_status import CRAWL_ID_STAT, CrawlEndHook, find_exit_status, queued_requests
from crawler.monitoring.files import append_line, writable_path
from crawler.redact import redact_arguments
from crawler.visit import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from crawler.monitoring.exit_status import ExitStatus

logger = logging.getLogger(__name__)

SUMMARY_VERSION = 1
"""Increased when a name is removed or changes its meaning, but not when one is added."""

STDOUT = "-"


class SummaryExtension:
    """Writes the summary at the end of the crawl to `path`; None means stdout."""

    def __init__(self, crawler: Crawler, path: Path | None) -> None:
        self._crawler = crawler
        self._path = path
        self._max_refused_share = Config.read(crawler.settings).max_refused_share
        self._end_hook = CrawlEndHook(crawler, self._write)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Raises ConfigError for a path that cannot be written."""
        target = Config.read(crawler.settings).summary
        if not target:
            raise NotConfigured
        return cls(crawler, None if target == STDOUT else writable_path("SUMMARY", target))

    def _write(self) -> None:
        spider, stats = self._crawler.spider, self._crawler.stats.get_stats()
        assert spider is not None
        line = json.dumps(build_summary(spider, stats, find_exit_status(stats, self._max_refused_share)))
        try:
            if self._path is None:
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()
            else:
                append_line(self._path, line)
        except OSError as error:
            logger.error("The summary could not be written (%s): %s", error, line)  # noqa: TRY400 — a traceback adds nothing


def build_summary(spider: Spider, stats: Mapping[str, Any], status: ExitStatus) -> dict[str, Any]:
    """Return the summary of a crawl that is over. Times are in UTC; secrets in the arguments are redacted."""
    seconds = stats["elapsed_time_seconds"]
    count = _StatCounts(stats)
    return {
        "version": SUMMARY_VERSION,
        "crawl": stats.get(CRAWL_ID_STAT),
        "spider": spider.name,
        "arguments": redact_arguments(given_arguments(spider)),
        "started": stats["start_time"].isoformat(timespec="milliseconds"),
        "finished": stats["finish_time"].isoformat(timespec="milliseconds"),
        "seconds": round(seconds, 3),
        "finish_reason": stats["finish_reason"],
        "exit_code": status.exit_code,
        "problem": status.problem,
        "pages": count.each("store/pages_", ("new", "changed", "unchanged", "failed")),
        "visits": count.each("visit/", Outcome),
        "blocks": {
            "kept": count("blocks/kept"),
            "dropped": count.each("blocks/", [reason for reason in Reason if reason is not Reason.KEPT]),
        },
        "duplicates": count.each("dedup/", ("exact", "near", "boilerplate")),
        "requests": count("downloader/request_count"),
        "queued": queued_requests(stats),
        "retries": count("retry/count"),
        "bytes": count("downloader/response_bytes"),
        "errors": count("log_count/ERROR") + count("log_count/CRITICAL"),
        "pages_per_second": round(count(f"visit/{Outcome.PAGE}") / max(seconds, 0.001), 3),
    }


class _StatCounts:
    """The counters among the stats; a counter that is not set is 0."""

    def __init__(self, stats: Mapping[str, Any]) -> None:
        self._stats = stats

    def __call__(self, name: str) -> int:
        return int(self._stats.get(name, 0))

    def each(self, prefix: str, names: Iterable[str]) -> dict[str, int]:
        return {str(name): self(f"{prefix}{name}") for name in names}

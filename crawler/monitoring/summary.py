"""The summary of a crawl: one line of JSON for programs (setting SUMMARY), and a table in the log for people.

See docs/serve.md.
"""

from __future__ import annotations

import json
import logging
import sys
from importlib.metadata import version
from textwrap import fill
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import __version__ as scrapy_version
from scrapy import signals
from scrapy.exceptions import NotConfigured

from cleaning.blocks import Reason
from crawler.config import config_of
from crawler.config.arguments import RECRAWL, given_arguments
from crawler.monitoring.exit_status import (
    CANONICAL_STAT,
    CRAWL_ID_STAT,
    MOVED_STAT,
    CrawlEndHook,
    find_exit_status,
    queued_requests,
)
from crawler.monitoring.files import append_line, writable_path
from crawler.redact import redact_arguments, redact_text
from crawler.visit import FAILED_OUTCOMES, REFUSAL_OUTCOMES, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from crawler.monitoring.exit_status import ExitStatus

logger = logging.getLogger(__name__)

_SUMMARY_VERSION = 1
"""Increased when a name is removed or changes its meaning, but not when one is added."""

_STDOUT = "-"
_TABLE_CHARS = 100


class SummaryExtension:
    """Writes the summary at the end of the crawl to `path`; None means stdout."""

    def __init__(self, crawler: Crawler, path: Path | None) -> None:
        self._crawler = crawler
        self._path = path
        self._end_hook = CrawlEndHook(crawler, self._write)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Raises ConfigError for a path that cannot be written."""
        target = config_of(crawler).summary
        if not target:
            raise NotConfigured
        return cls(crawler, None if target == _STDOUT else writable_path("SUMMARY", target))

    def _write(self) -> None:
        line = json.dumps(_summarise(self._crawler))
        try:
            if self._path is None:
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()
            else:
                append_line(self._path, line)
        except OSError as error:
            logger.error("The summary could not be written (%s): %s", error, line)  # noqa: TRY400 — a traceback adds nothing


def _summarise(crawler: Crawler) -> dict[str, Any]:
    """Return the summary of a crawler whose crawl is over."""
    spider, stats = crawler.spider, crawler.stats.get_stats()
    assert spider is not None
    config = config_of(crawler)
    summary = _build_summary(spider, stats, find_exit_status(stats, config.max_refused_share))
    warnings = [] if config.feed_unchanged else list(_feed_warnings(crawler.settings.getdict("FEEDS"), stats))
    return summary | {"warnings": warnings}


# Where a file is overwritten unless its feed says otherwise.
_OVERWRITING_SCHEMES = frozenset({"ftp", "gs", "s3"})


def _feed_warnings(feeds: Mapping[Any, Mapping[str, Any]], stats: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each feed that has overwritten its file without the pages that were not modified."""
    unchanged = int(stats.get(f"visit/{Outcome.NOT_MODIFIED}", 0))
    items = int(stats.get("item_scraped_count", 0))
    for uri, options in feeds.items():
        name = redact_text(str(uri))
        overwrites = options.get("overwrite")
        if overwrites is None:
            overwrites = urlsplit(name).scheme in _OVERWRITING_SCHEMES
        # Another file for each crawl overwrites nothing.
        if not unchanged or not overwrites or "%(time)s" in name or "%(batch_time)s" in name:
            continue
        contents = f"has {_count(items, 'item')} of this crawl only" if items else "is empty"
        missing = f"{_count(unchanged, 'page')} that {'was' if unchanged == 1 else 'were'} not modified"
        yield (
            f"the feed {name} was overwritten and {contents}: {missing} {'is' if unchanged == 1 else 'are'} not in it; "
            "FEED_UNCHANGED=true writes them too, and -o in place of -O appends"
        )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _build_summary(spider: Spider, stats: Mapping[str, Any], status: ExitStatus) -> dict[str, Any]:
    """Return the summary of a crawl that is over. Times are in UTC; secrets in the arguments are redacted."""
    seconds = stats["elapsed_time_seconds"]
    count = _StatCounts(stats)
    return {
        "version": _SUMMARY_VERSION,
        "crawl": stats.get(CRAWL_ID_STAT),
        "spider": spider.name,
        "arguments": redact_arguments(given_arguments(spider)),
        "started": stats["start_time"].isoformat(timespec="milliseconds"),
        "finished": stats["finish_time"].isoformat(timespec="milliseconds"),
        "seconds": round(seconds, 3),
        "finish_reason": stats["finish_reason"],
        "exit_code": status.exit_code,
        "problem": status.problem,
        "pages": count.by_name("store/pages_", ("new", "changed", "unchanged", "failed")),
        "visits": count.by_name("visit/", Outcome),
        "blocks": {
            "kept": count("blocks/kept"),
            "dropped": count.by_name("blocks/", [reason for reason in Reason if reason is not Reason.KEPT]),
        },
        "duplicates": count.by_name("dedup/", ("exact", "near", "boilerplate")),
        "not_compared": count("dedup/not_compared"),
        "requests": count("downloader/request_count"),
        "queued": queued_requests(stats),
        "retries": count("retry/count"),
        "bytes": count("downloader/response_bytes"),
        "errors": count("log_count/ERROR") + count("log_count/CRITICAL"),
        "counters": _spider_counters(spider, stats),
        "pages_per_second": round(count(f"visit/{Outcome.PAGE}") / max(seconds, 0.001), 3),
    }


class EndTable:
    """Extension that logs what a crawl crawls when it begins, and a table of its results when it ends."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._end_hook = CrawlEndHook(crawler, self._log_table)
        crawler.signals.connect(self._log_start, signal=signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def _log_start(self, spider: Spider) -> None:
        arguments = redact_arguments(given_arguments(spider))
        arguments_text = "".join(f" {name}={value}" for name, value in arguments.items() if name != RECRAWL)
        logger.info(
            "Crawling with Blocksieve %s and Scrapy %s: %s%s",
            version("blocksieve"),
            scrapy_version,
            spider.name,
            arguments_text,
        )

    def _log_table(self) -> None:
        summary = _summarise(self._crawler)
        lines = "".join(f"\n{line}" for line in _format_table(_table_rows(summary)))
        logger.info("The crawl ended (%s):%s", summary["finish_reason"], lines)
        for warning in summary["warnings"]:
            logger.warning("%s%s", warning[0].upper(), warning[1:])


def _table_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the rows of the table for people, of the summary of a crawl. Each visit is counted in one row."""
    visits, pages = summary["visits"], summary["pages"]
    refused = {name: visits[name] for name in Outcome if name in REFUSAL_OUTCOMES}
    failed = {name: visits[name] for name in FAILED_OUTCOMES}
    other = {name: visits[name] for name in Outcome if name not in {Outcome.PAGE, *refused, *failed}}
    rows = [
        ("pages", _total_and_parts(visits[Outcome.PAGE], pages)),
        ("blocks kept", f"{summary['blocks']['kept']:,}"),
        ("dropped", _total_and_parts(None, summary["blocks"]["dropped"])),
        ("duplicates", _total_and_parts(None, summary["duplicates"])),
        ("not compared", _not_compared(summary["not_compared"])),
        ("refused", _total_and_parts(None, refused)),
        ("failed", _total_and_parts(None, failed)),
        ("other visits", _total_and_parts(None, other)),
        ("counted", ", ".join(f"{name} {count:,}" for name, count in summary["counters"].items())),
        ("queued", f"{summary['queued']:,}"),
        ("time", f"{summary['seconds']:,.1f} s, {summary['pages_per_second']:.1f} pages/s"),
    ]
    rows += [("warning", warning) for warning in summary.get("warnings", ())]
    optional = {"queued", "other visits", "counted", "not compared"}
    return [row for row in rows if row[0] not in optional or row[1] not in {"", "0"}]


def _format_table(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return the lines of a table of names and values; a long value has several."""
    width = max(len(name) for name, _ in rows)
    indent = " " * (width + 4)
    table = "\n".join(
        f"  {name:<{width}}  {fill(value, _TABLE_CHARS, subsequent_indent=indent)}" for name, value in rows
    )
    return table.split("\n")


def _total_and_parts(total: int | None, parts: Mapping[Any, int]) -> str:
    """Return `9 (exact 7, near 2)`, the largest part first; the total is the sum of the parts if it is None."""
    total = sum(parts.values()) if total is None else total
    largest = sorted(((count, name) for name, count in parts.items() if count), key=lambda part: -part[0])
    parts_text = ", ".join(f"{name} {count:,}" for count, name in largest)
    return f"{total:,} ({parts_text})" if parts_text else f"{total:,}"


def _not_compared(count: int) -> str:
    """Return a sentence about texts and pages that may be near-duplicates of stored ones; "" if there are none."""
    if not count:
        return ""
    return f"{count:,} of texts and pages: too many stored ones resemble them, so a near-duplicate may be stored again"


def _spider_counters(spider: Spider, stats: Mapping[str, Any]) -> dict[str, int]:
    """Return the counts of the spider itself, of a replay, of directives that pages state, and of doubts."""
    prefixes = (f"{spider.name}/", "replay/", "directives/", CANONICAL_STAT, MOVED_STAT)
    return {name: value for name, value in sorted(stats.items()) if name.startswith(prefixes) and value}


class _StatCounts:
    """The counters among the stats; a counter that is not set is 0."""

    def __init__(self, stats: Mapping[str, Any]) -> None:
        self._stats = stats

    def __call__(self, name: str) -> int:
        return int(self._stats.get(name, 0))

    def by_name(self, prefix: str, names: Iterable[str]) -> dict[str, int]:
        return {str(name): self(f"{prefix}{name}") for name in names}

"""A metrics file for the textfile collector of Prometheus' node_exporter (setting METRICS). See docs/serve.md."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import AsyncioLoopingCall

from crawler.config import config_of
from crawler.errors import ConfigError
from crawler.monitoring.exit_status import CrawlEndHook, find_exit_status
from crawler.monitoring.files import replace_file, writable_path

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from scrapy.crawler import Crawler

    from crawler.monitoring.exit_status import ExitStatus
    from crawler.monitoring.exposition import Exposition

logger = logging.getLogger(__name__)

_METRICS_SUFFIX = ".prom"


class MetricsExtension:
    """Writes the file when the crawl begins, every METRICS_SECONDS and at the end.

    A write that fails does not stop the crawl. It is counted each time and logged the first time.
    """

    def __init__(self, crawler: Crawler, path: Path, exposition: Exposition) -> None:
        self._crawler = crawler
        self._path = path
        self._exposition = exposition
        self._config = config_of(crawler)
        self._started = 0.0
        self._has_failed = False
        self._timer = AsyncioLoopingCall(self._write)
        self._end_hook = CrawlEndHook(crawler, self._write_last)
        crawler.signals.connect(self._spider_opened, signal=signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Raises ConfigError if the path cannot be written, the file is not ours or the library is missing."""
        name = config_of(crawler).metrics
        if not name:
            raise NotConfigured
        path = writable_path("METRICS", name)
        if path.suffix != _METRICS_SUFFIX:
            raise ConfigError(f"METRICS is {name!r}; node_exporter reads only files with the suffix {_METRICS_SUFFIX}")
        return cls(crawler, path, _open_exposition(path, crawler.spidercls.name))

    def _spider_opened(self) -> None:
        self._started = time.time()
        self._timer.start(self._config.metrics_seconds)

    def _write_last(self) -> None:
        self._timer.stop()
        self._write(find_exit_status(self._crawler.stats.get_stats(), self._config.max_refused_share))

    def _write(self, status: ExitStatus | None = None) -> None:
        from crawler.monitoring.exposition import CrawlTiming  # noqa: PLC0415 — needs an optional library

        timing = CrawlTiming(time.time(), self._started, status)
        try:
            replace_file(self._path, self._exposition.text(self._crawler.stats.get_stats(), timing))
        except OSError as error:
            self._crawler.stats.inc_value("metrics/failures")
            if not self._has_failed:
                logger.error("The metrics could not be written to %s: %s", self._path, error)  # noqa: TRY400 — a traceback adds nothing
            self._has_failed = True


def _open_exposition(path: Path, spider: str) -> Exposition:
    try:
        from crawler.monitoring.exposition import Exposition  # noqa: PLC0415 — needs an optional library
    except ModuleNotFoundError as error:
        raise ConfigError(f"METRICS needs {error.name}: pip install 'blocksieve[metrics]'") from error
    labels = {"spider": spider, "file": path.stem}
    try:
        return Exposition(labels, path.read_text("utf-8") if path.exists() else "")
    except (OSError, ValueError) as error:
        raise ConfigError(f"METRICS is {str(path)!r}, a file that this crawl cannot continue: {error}") from error

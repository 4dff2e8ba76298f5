"""A file of metrics for the textfile collector of Prometheus' node_exporter (METRICS). docs/watching.md explains it."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import AsyncioLoopingCall

from crawler.config import Config
from crawler.errors import ConfigError
from crawler.files import replace, writable
from crawler.finish import AtTheEnd, judge

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from scrapy.crawler import Crawler

    from crawler.exposition import Exposition
    from crawler.finish import Ending

logger = logging.getLogger(__name__)

_SUFFIX = ".prom"


class Metrics:
    """Writes the file when the crawl begins, every METRICS_SECONDS and at the end.

    A write that fails is logged the first time and counted each time: the crawl goes on.
    """

    def __init__(self, crawler: Crawler, path: Path, exposition: Exposition) -> None:
        self._crawler = crawler
        self._path = path
        self._exposition = exposition
        self._config = Config.read(crawler.settings)
        self._started = 0.0
        self._failed = False
        self._timer = AsyncioLoopingCall(self._write)
        self._end = AtTheEnd(crawler, self._ended)
        crawler.signals.connect(self._spider_opened, signal=signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Raises ConfigError for a path that cannot be written or holds something else, and without the library."""
        name = Config.read(crawler.settings).metrics
        if not name:
            raise NotConfigured
        path = writable("METRICS", name)
        if path.suffix != _SUFFIX:
            raise ConfigError(f"METRICS is {name!r}; node_exporter reads only files whose names end in {_SUFFIX}")
        return cls(crawler, path, _exposition(path, crawler.spidercls.name))

    def _spider_opened(self) -> None:
        self._started = time.time()
        self._timer.start(self._config.metrics_seconds)

    def _ended(self) -> None:
        self._timer.stop()
        self._write(judge(self._crawler.stats.get_stats(), self._config.max_refused_share))

    def _write(self, ending: Ending | None = None) -> None:
        from crawler.exposition import Moment  # noqa: PLC0415 — needs an optional library

        moment = Moment(time.time(), self._started, ending)
        try:
            replace(self._path, self._exposition.text(self._crawler.stats.get_stats(), moment))
        except OSError as error:
            self._crawler.stats.inc_value("metrics/failures")
            if not self._failed:
                logger.error("The metrics could not be written to %s: %s", self._path, error)  # noqa: TRY400 — it says all
            self._failed = True


def _exposition(path: Path, spider: str) -> Exposition:
    try:
        from crawler.exposition import Exposition  # noqa: PLC0415 — needs an optional library
    except ModuleNotFoundError as error:
        raise ConfigError(f"METRICS needs {error.name}: pip install 'blocksieve[metrics]'") from error
    labels = {"spider": spider, "file": path.stem}
    try:
        return Exposition(labels, path.read_text("utf-8") if path.exists() else "")
    except (OSError, ValueError) as error:
        raise ConfigError(f"METRICS is {str(path)!r}, which this crawl cannot go on from: {error}") from error

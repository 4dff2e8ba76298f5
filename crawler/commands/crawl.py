"""`scrapy crawl`: Scrapy's command, with one sentence for a mistake and an exit code that cron can trust.

0    pages were stored, or nothing has changed
1    nothing was stored, too much was refused, the database failed, ...: `crawler/monitoring/exit_status.py` has the
table
2    a setting, an argument or the installation is wrong: nothing was crawled
130  Ctrl-C stopped the crawl; the pages fetched before are stored
143  SIGTERM, as systemd and scrapyd send it, stopped the crawl; the pages fetched before are stored
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.commands.crawl import Command as ScrapyCrawl
from scrapy.exceptions import UsageError
from scrapy.utils.conf import arglist_to_dict
from scrapy.utils.project import inside_project

from cleaning.declare import did_you_mean
from crawler.addon import Blocksieve, addons_in_use, check_packages
from crawler.config import config_of
from crawler.context import context_of
from crawler.errors import ConfigError, CrawlerError
from crawler.monitoring.exit_status import (
    EXIT_FAILURE,
    EXIT_USAGE,
    STOP_SIGNAL_STAT,
    find_exit_status,
    find_storing_status,
)
from crawler.workers.worker import collect_less_garbage

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from types import FrameType

    from scrapy import Spider
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

OUTSIDE = (
    "there is no Scrapy project here; set SCRAPY_SETTINGS_MODULE=crawler.settings to use Blocksieve's spiders, or go "
    "to the folder of a project"
)
# What Scrapy logs at INFO about its parts and counters; a table of ours says how the crawl went.
_DETAIL_LOGGERS = ("addons", "crawler", "middleware", "statscollectors", "utils.log")
LOG_LEVELS = ("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG")


class CrawlCommand(ScrapyCrawl):
    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        self._given_settings = arglist_to_dict(opts.set)
        # Checked before Scrapy starts its log and loads the spiders, because a command cannot catch an error there.
        assert self.settings is not None
        try:
            _check_log_level(self.settings["LOG_LEVEL"])
            check_log_file(self.settings["LOG_FILE"])
            _leave_out_details(self.settings["LOG_LEVEL"])
            if "spiders" in self.settings.getlist("SPIDER_MODULES"):
                check_packages()
        except CrawlerError as error:
            _print_error(str(error))
            sys.exit(EXIT_USAGE)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("one spider name is needed: scrapy crawl [options] <spider>")
        try:
            self.exitcode = self._crawl(args[0], opts.spargs)
        except CrawlerError as error:
            _print_error(str(error))
            self.exitcode = EXIT_USAGE

    def _create_crawler(self, spider: type[Spider] | str) -> Crawler:
        crawler = super()._create_crawler(spider)
        context_of(crawler).command_settings = self._given_settings
        return crawler

    def _crawl(self, name: str, arguments: dict[str, str]) -> int:
        process = self.crawler_process
        assert process is not None
        if name not in process.spider_loader.list():
            raise ConfigError(f"there is no spider {name!r}; {did_you_mean(name, process.spider_loader.list())}")
        crawler = self._create_crawler(name)
        crawler.signals.connect(collect_less_garbage, signal=signals.engine_started)
        running = process.crawl(crawler, **arguments)
        if isinstance(running, asyncio.Task):
            # Scrapy installs its own signal handlers when the loop starts.
            running.get_loop().call_soon(_record_stop_signal, crawler)
        process.start()
        error = running.exception() if isinstance(running, asyncio.Task) and running.done() else None
        if error is None:
            return EXIT_FAILURE if process.bootstrap_failed else exit_code_of(crawler)
        if not isinstance(error, CrawlerError):
            logger.error("The crawl failed", exc_info=error)
            return EXIT_FAILURE
        raise error


class CrawlEntryPoint(CrawlCommand):
    """`crawl` in other projects: ours if one of our add-ons is in use, Scrapy's own otherwise.

    Outside of projects it says how to get one.
    """

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        ScrapyCrawl.process_options(self, args, opts)
        self._given_settings = arglist_to_dict(opts.set)
        if not inside_project():
            _print_error(OUTSIDE)
            sys.exit(EXIT_USAGE)
        assert self.settings is not None
        if addons_in_use(self.settings):
            try:
                check_log_file(self.settings["LOG_FILE"])
            except ConfigError as error:
                _print_error(str(error))
                sys.exit(EXIT_USAGE)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        assert self.settings is not None
        if addons_in_use(self.settings):
            super().run(args, opts)
        else:
            ScrapyCrawl.run(self, args, opts)


def _check_log_level(level: object) -> None:
    """Raise ConfigError for a text that names no level of logging."""
    if isinstance(level, str) and level not in logging.getLevelNamesMapping():
        raise ConfigError(
            f"LOG_LEVEL is {level!r}; it takes one of {', '.join(LOG_LEVELS)}; "
            f"{did_you_mean(level.upper(), LOG_LEVELS)}"
        )


def check_log_file(file: object) -> None:
    """Raise ConfigError for a file that Scrapy could not open for its log, with a traceback; a device is fine."""
    if not file:
        return
    path = Path(str(file)).absolute()
    if not path.parent.is_dir():
        raise ConfigError(f"LOG_FILE is {str(file)!r}, but there is no folder {path.parent}; create it first")
    if path.is_dir():
        raise ConfigError(f"LOG_FILE is {str(file)!r}, which is a folder; name a file in it")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigError(f"LOG_FILE is {str(file)!r}, which this user may not write; name another file")


def _leave_out_details(level: str | int) -> None:
    """Let Scrapy log its components, changed settings and stats only with LOG_LEVEL=DEBUG."""
    lowest = logging.getLevelNamesMapping()[level] if isinstance(level, str) else level
    for name in _DETAIL_LOGGERS if lowest == logging.INFO else ():
        # Scrapy sets the levels of its loggers when it starts its log; their filters stay.
        logging.getLogger(f"scrapy.{name}").addFilter(_is_important)


def _is_important(record: logging.LogRecord) -> bool:
    return record.levelno > logging.INFO


def _record_stop_signal(crawler: Crawler) -> None:
    """Record in the stats which signal stops the crawl, because Scrapy's finish reason is always `shutdown`."""
    watch_stop_signals(lambda number: record_signal(crawler, number))


def watch_stop_signals(on_signal: Callable[[int], None]) -> None:
    """Call a function with the number of a signal that stops the crawls, before Scrapy handles it."""

    def handle(number: int, frame: FrameType | None) -> None:
        on_signal(number)
        handlers[number](number, frame)

    handlers: dict[int, Any] = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in handlers:
        signal.signal(number, handle)


def record_signal(crawler: Crawler, number: int) -> None:
    # A crawl that is stopped before it has stats counts as failed.
    with contextlib.suppress(RuntimeError):
        crawler.stats.set_value(STOP_SIGNAL_STAT, number)


def exit_code_of(crawler: Crawler, command: str = "crawl") -> int:
    """Return the exit code of a finished crawl, and print the reason if it is not 0."""
    stats = crawler.stats.get_stats()
    if Blocksieve in addons_in_use(crawler.settings):
        ending = find_exit_status(stats, config_of(crawler).max_refused_share)
    else:
        ending = find_storing_status(stats)
    if ending.problem:
        _print_error(ending.problem, command)
    return ending.exit_code


def _print_error(sentence: str, command: str = "crawl") -> None:
    sys.stderr.write(f"scrapy {command}: {sentence}\n")

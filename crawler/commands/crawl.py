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
import re
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import signals
from scrapy.commands.crawl import Command as ScrapyCrawl
from scrapy.exceptions import UsageError
from scrapy.exporters import CsvItemExporter, JsonItemExporter, XmlItemExporter
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.conf import arglist_to_dict, feed_complete_default_values_from_settings
from scrapy.utils.misc import load_object
from scrapy.utils.project import inside_project
from w3lib.url import file_uri_to_path

from cleaning.declare import did_you_mean
from crawler.addon import Blocksieve, addons_in_use, check_packages
from crawler.config import config_of
from crawler.config.names import set_ours
from crawler.context import context_of
from crawler.errors import ConfigError, CrawlerError
from crawler.monitoring.exit_status import (
    EXIT_FAILURE,
    EXIT_USAGE,
    STOP_SIGNAL_STAT,
    find_exit_status,
    find_storing_status,
)
from crawler.monitoring.progress import ProgressLine, SummedStats
from crawler.workers.worker import collect_less_garbage

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable
    from types import FrameType

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

OUTSIDE = (
    "there is no Scrapy project here; set SCRAPY_SETTINGS_MODULE=crawler.settings to use Blocksieve's spiders, or go "
    "to the folder of a project"
)
# What Scrapy logs at INFO about its parts and counters; a table of ours says how the crawl went.
_DETAIL_LOGGERS = ("addons", "crawler", "middleware", "statscollectors", "utils.log")
# A field in the name of a feed, such as %(name)s.
_FEED_FIELD = re.compile(r"%\((\w+)\)s")
LOG_LEVELS = ("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG")


class CrawlCommand(ScrapyCrawl):
    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        self._given_settings = arglist_to_dict(opts.set)
        # Checked before Scrapy starts its log and loads the spiders, because a command cannot catch an error there.
        assert self.settings is not None
        try:
            check_log_level(self.settings["LOG_LEVEL"])
            check_log_file(self.settings["LOG_FILE"])
            leave_out_details(self.settings["LOG_LEVEL"])
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
            running.get_loop().call_soon(record_stop_signal, crawler)
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


def check_log_level(level: object) -> None:
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


def leave_out_details(level: str | int) -> None:
    """Let Scrapy log its components, changed settings and stats only with LOG_LEVEL=DEBUG."""
    lowest = logging.getLevelNamesMapping()[level] if isinstance(level, str) else level
    for name in _DETAIL_LOGGERS if lowest == logging.INFO else ():
        # Scrapy sets the levels of its loggers when it starts its log; their filters stay.
        logging.getLogger(f"scrapy.{name}").addFilter(_is_important)


def _is_important(record: logging.LogRecord) -> bool:
    return record.levelno > logging.INFO


def record_stop_signal(crawler: Crawler) -> None:
    """Record in the stats which signal stops the crawl, because Scrapy's finish reason is always `shutdown`."""
    watch_stop_signals(lambda number: _record_signal(crawler, number))


def watch_stop_signals(on_signal: Callable[[int], None]) -> None:
    """Call a function with the number of a signal that stops the crawls, before Scrapy handles it."""

    def handle(number: int, frame: FrameType | None) -> None:
        on_signal(number)
        handlers[number](number, frame)

    handlers: dict[int, Any] = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in handlers:
        signal.signal(number, handle)


def _record_signal(crawler: Crawler, number: int) -> None:
    # A crawl that is stopped before it has stats counts as failed.
    with contextlib.suppress(RuntimeError):
        crawler.stats.set_value(STOP_SIGNAL_STAT, number)


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
    """Runs crawls in one process, at most `limit` at a time, in order as far as their claims allow.

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
            _record_signal(start.crawler, number)

    def _share_progress(self, crawler: Crawler) -> None:
        """Let all crawls share one progress line."""
        mode = config_of(crawler).progress
        self._stats.add(crawler)
        set_ours(crawler.settings, "PROGRESS", "off", priority="cmdline")
        if self._progress is None:
            self._progress = ProgressLine(self._stats, mode)


@dataclass(frozen=True, slots=True)
class FeedTarget:
    """A feed (-o, -O, FEEDS) of a crawl: where it goes, as far as that is known before the crawl, and its options."""

    uri: str
    place: str
    options: Mapping[str, Any]
    exporter: type

    @property
    def is_file(self) -> bool:
        return urlsplit(self.place).scheme in {"", "file"}

    @property
    def is_named_by_crawl(self) -> bool:
        """True if each crawl has another place: only the number of the batch is the same in all crawls."""
        return "%(" in self.place.replace("%(batch_id)", "")

    def find_fault(self) -> str | None:
        """Return why a second crawl cannot write to the end of the feed; None if it can."""
        if issubclass(self.exporter, JsonItemExporter | XmlItemExporter):
            return f"has the format {self.options['format']}, which nothing can be appended to; use jsonl or csv"
        if "%(batch_id)" in self.place:
            return "would have the same batches in each crawl; add %(time)s to its name"
        if not self.is_file and urlsplit(self.place).scheme != "stdout":
            return "is no local file, so each crawl would replace it; write a local file, or add %(time)s to its name"
        return None


class SharedFeeds:
    """The feeds that several crawls of a command write to, one after another.

    The first crawl replaces the file if the command line says so (-O). The others append to it.
    """

    def __init__(self) -> None:
        self._crawls: dict[str, int] = {}
        self._targets: dict[str, FeedTarget] = {}
        self._begun: set[str] = set()
        self._csv_fields: dict[str, Any] = {}

    def add(self, spider: type[Spider], arguments: Mapping[str, str], settings: BaseSettings) -> frozenset[str]:
        """Add the feeds of a crawl; return its claims on them."""
        copy = settings.copy()
        spider.update_settings(copy)
        targets = {target.place: target for target in _feed_targets(spider, arguments, copy)}
        for place, target in targets.items():
            self._targets[place] = target
            self._crawls[place] = self._crawls.get(place, 0) + 1
        return frozenset(f"feed {place}" for place in targets if "%(time)s" not in place)

    def check(self) -> None:
        """Raise ConfigError for a feed that several crawls write to and that they cannot append to."""
        for place, target in self._targets.items():
            fault = target.find_fault() if self._is_shared(target) else None
            if fault is not None:
                raise ConfigError(
                    f"{self._crawls[place]} crawls write to the feed {target.uri}, but it {fault}, or crawl each site "
                    "by a command of its own"
                )

    def prepare(self, crawler: Crawler, arguments: Mapping[str, str]) -> None:
        """Let a crawl that begins append to the feeds of those before it. Raises ConfigError for an unwritable file."""
        feeds = dict(crawler.settings.getdict("FEEDS"))
        for target in _feed_targets(crawler.spidercls, arguments, crawler.settings):
            if "%(time)s" in target.place:
                feeds[self._named_by_time(target)] = feeds.pop(target.uri)
            elif self._is_shared(target):
                feeds[target.uri] = self._appended(target)
        if feeds:
            # Scrapy sets the command line's settings once more when the crawl begins.
            crawler.settings.set("FEEDS", feeds, priority=SETTINGS_PRIORITIES["cmdline"] + 1)
            crawler.signals.connect(self._note_csv_fields, signal=signals.feed_slot_closed)

    def _is_shared(self, target: FeedTarget) -> bool:
        return self._crawls.get(target.place, 0) > 1 and not target.is_named_by_crawl

    def _named_by_time(self, target: FeedTarget) -> str:
        """Return the name of a feed with its time, another one for each crawl that begins in the same second."""
        moment = datetime.now(UTC).replace(microsecond=0)
        while (name := target.place.replace("%(time)s", moment.isoformat().replace(":", "-"))) in self._begun:
            moment += timedelta(seconds=1)
        self._begun.add(name)
        return target.uri.replace("%(time)s", moment.isoformat().replace(":", "-"))

    def _appended(self, target: FeedTarget) -> dict[str, Any]:
        """Return the options by which a crawl appends to a feed."""
        options = dict(target.options)
        if target.is_file:
            if options.get("overwrite") and target.place not in self._begun:
                _empty(Path(target.place))
            options["overwrite"] = False
        self._begun.add(target.place)
        if target.uri in self._csv_fields:
            options["fields"] = self._csv_fields[target.uri]
            options["item_export_kwargs"] = {**options.get("item_export_kwargs", {}), "include_headers_line": False}
        return options

    def _note_csv_fields(self, slot: FeedSlot) -> None:
        """Record the columns of a file that has its header line."""
        if slot.itemcount and isinstance(slot.exporter, CsvItemExporter):
            self._csv_fields[slot.uri_template] = _column_names(slot.exporter)


def _feed_targets(spider: type[Spider], arguments: Mapping[str, str], settings: BaseSettings) -> Iterable[FeedTarget]:
    """Yield the feeds of a crawl. Fields of a name whose values only the crawl knows remain in the place."""
    exporters = settings.getwithbase("FEED_EXPORTERS")
    values = {**arguments, "name": spider.name}
    for key, options in settings.getdict("FEEDS").items():
        uri = str(key)
        filled = feed_complete_default_values_from_settings(dict(options), settings, uri)
        exporter = exporters.get(filled["format"])
        if exporter is None:
            continue  # Scrapy says which formats there are
        place = _FEED_FIELD.sub(lambda field: str(values.get(field[1], field[0])), uri)
        if urlsplit(place).scheme in {"", "file"}:
            place = str(Path(file_uri_to_path(place) if place.startswith("file:") else place).resolve())
        yield FeedTarget(uri, place, options, load_object(exporter))


def _column_names(exporter: CsvItemExporter) -> dict[str, str] | list[str]:
    """Return the fields of a table that has its header line, with their names if those differ."""
    fields = exporter.fields_to_export
    return dict(fields) if isinstance(fields, Mapping) else list(fields or ())


def _empty(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("wb").close()
    except OSError as error:
        raise ConfigError(f"the feed {path} cannot be written ({error.strerror}); name another file") from error


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

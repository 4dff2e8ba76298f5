"""`scrapy recrawl`: visit stored pages and sections again. Cron may run it as often as it likes.

0    all crawls succeeded, nothing was due, or another process visits what is due
1    a crawl failed, or pages could not be visited: their spider is gone, or its arguments contain secrets
2    a setting, an option or the installation is wrong: nothing was crawled
130  Ctrl-C stopped the crawl; the pages fetched before are stored, and the next run visits the rest
143  SIGTERM stopped the crawl
"""

from __future__ import annotations

import json
import logging
from collections import deque
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.text import Text
from scrapy.exceptions import UsageError

from crawler import schedule, urls
from crawler.commands.base import ConfiguredCommand
from crawler.commands.crawl import CrawlCommand, exit_code_of
from crawler.commands.parallel.crawls import CrawlStart, ParallelCrawls, WaitingCrawl
from crawler.commands.parallel.feeds import SharedFeeds
from crawler.config import Config, changed_settings, command_line_settings
from crawler.config.names import set_ours
from crawler.errors import CrawlerError
from crawler.frontier.recrawl import RecrawlChoice, choose_revisits, describe_left, group_revisits
from crawler.monitoring.exit_status import EXIT_FAILURE, EXIT_SUCCESS, EXIT_USAGE
from crawler.storage import due, schema
from crawler.storage.database import has_crawl_lock, opened_engine, read_transaction, write_transaction
from crawler.storage.queries import expect_site
from crawler.terminal import (
    count_of,
    expect_no_arguments,
    format_time,
    make_console,
    make_table,
    print_error,
    print_json,
    print_line,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from crawler.frontier.recrawl import RecrawlGroup
    from crawler.storage.due import Revisit
    from crawler.visit import RequestRecord

logger = logging.getLogger(__name__)

_ANNOUNCED = "its sitemap announces a change; "
_TOO_LATE = "its next visit was written for %s, later than REVISIT_MAX_SECONDS allows, so it is due now; "
_COLUMNS = ("url", "kind", "method", "last seen", "changed", "due since", "why")


@dataclass(slots=True)
class RecrawlRun:
    """The crawl of a group (None: a first crawl), the number of addresses that were queued for it, and its exit code.

    If it `runs_elsewhere`, another process visits them.
    """

    group: RecrawlGroup | None
    pages: int = 0
    exit_code: int = EXIT_SUCCESS
    runs_elsewhere: bool = False


class RecrawlCommand(ConfiguredCommand, CrawlCommand):
    def syntax(self) -> str:
        return "[--due] [--site SITE] [--url URL] [--section URL] [--set-aside URL] [--limit N] [--dry-run] [--json]"

    def short_desc(self) -> str:
        return "Visit stored pages and sections again: those that are due, or all"

    def long_desc(self) -> str:
        return (
            "Visit stored pages and sections again, in one crawl for each spider and its arguments, several at the "
            "same time (PARALLEL_CRAWLS): with --due those that are due, the most worthwhile first; otherwise all, the "
            "oldest visit first. Each page is cleaned by "
            "the method and options that cleaned it last, unless -s CLEANING_METHOD=M says otherwise. New pages that "
            "sections link to are fetched; stored pages are fetched when they are due themselves. If another process "
            "runs a re-crawl already, this one adds its pages to the queue and leaves it alone; with --join it shares "
            "the work. REVISIT_BUDGET limits the visits of a day, and a run visits at most "
            f"{due.REVISITS_MAX:,} pages and as many sections. It says how many it leaves; the same command goes on "
            "with them."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--due", action="store_true", help="visit only pages and sections that are due")
        parser.add_argument("--site", metavar="SITE", help="visit only pages of a site: a domain or a URL of it")
        parser.add_argument("--url", action="append", metavar="URL", help="visit only the page at URL; may be repeated")
        parser.add_argument(
            "--section", action="append", metavar="URL", help="visit only the section at URL; may be repeated"
        )
        parser.add_argument(
            "--set-aside",
            action="append",
            metavar="URL",
            help="visit the section at URL no more, until a crawl fetches it; may be repeated",
        )
        parser.add_argument("--join", action="store_true", help="take part in re-crawls that other processes run")
        parser.add_argument("--limit", type=int, metavar="N", help="visit at most N stored pages and sections")
        parser.add_argument("--dry-run", action="store_true", help="print what would be visited and why; fetch nothing")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        expect_no_arguments(args)
        if opts.limit is not None and opts.limit < 0:
            raise UsageError(f"--limit is {opts.limit}; it must be 0 or more", print_help=False)
        others = (opts.due, opts.site, opts.url, opts.section, opts.limit is not None, opts.dry_run, opts.json)
        if opts.set_aside and any(others):
            raise UsageError("--set-aside goes alone: it visits nothing", print_help=False)
        try:
            if opts.set_aside:
                self._set_aside(opts.set_aside)
                return
            site = None if opts.site is None else urls.parse_site(opts.site)
            choice = RecrawlChoice(
                only_due=opts.due,
                site=site,
                limit=opts.limit,
                pages=tuple(opts.url or ()),
                sections=tuple(opts.section or ()),
            )
            self.exitcode = self._recrawl(choice, opts)
        except CrawlerError as error:
            print_error(f"scrapy recrawl: {error}")
            self.exitcode = EXIT_USAGE

    def _recrawl(self, choice: RecrawlChoice, opts: argparse.Namespace) -> int:
        assert self.settings is not None
        config = self.config
        now = datetime.now(UTC)
        with opened_engine(config.database_url, must_exist=True) as engine:
            schema.check_schema(engine)
            with read_transaction(engine) as connection:
                if choice.site is not None:
                    expect_site(connection, choice.site)
                chosen = choose_revisits(connection, choice, config, now)
                planned = group_revisits(connection, chosen.revisits, with_unfinished=not choice.has_addresses)
        quiet = is_quiet(self.settings)
        if chosen.left and not quiet:
            print_error(f"scrapy recrawl: {describe_left(chosen, choice)}")
        self._announce_changes(planned)
        runnable = [group for group in planned if self._is_runnable(group, opts.spargs)]
        exit_code = EXIT_SUCCESS if len(runnable) == len(planned) else EXIT_FAILURE
        if opts.dry_run:
            _print_plan(list(_plan_rows(planned, chosen.revisits, config, now)), as_json=opts.json)
            return exit_code
        count = len(runnable)
        has_left = chosen.left > 0
        waiting = deque(runnable)
        # Each group is freed once its pages are in the queue.
        del chosen, planned, runnable
        runs = self._crawl_all(waiting, opts, config)
        if opts.json:
            print_json({"crawls": [_run_summary(run) for run in runs]})
        elif not count:
            if not (quiet or has_left):
                print_line("There is nothing to visit.")
        else:
            _print_running_elsewhere(runs)
        if len(runs) < count:
            exit_code = EXIT_FAILURE
        return max((run.exit_code for run in runs if run.exit_code), default=exit_code)

    def _announce_turns(self, feeds: SharedFeeds) -> None:
        assert self.settings is not None
        if (turns := feeds.describe_turns()) and not is_quiet(self.settings):
            print_error(f"scrapy: {turns}")

    def _set_aside(self, sections: Sequence[str]) -> None:
        with opened_engine(self.config.database_url, must_exist=True) as engine:
            schema.check_schema(engine)
            with write_transaction(engine) as connection:
                for url in sections:
                    due.set_aside(connection, url, datetime.now(UTC))
        for url in sections:
            print_line(f"{urls.without_credentials(url)} is set aside: no re-crawl visits it")

    def _changes(self, group: RecrawlGroup) -> dict[str, Any]:
        """Return the settings of the command line that change how the pages of a group are read."""
        assert self.settings is not None
        return changed_settings(group.settings, command_line_settings(self.config, self.settings))

    def _announce_changes(self, planned: Sequence[RecrawlGroup]) -> None:
        """Print which pages the command line lets be read in another way than before."""
        for group in planned:
            if group.revisits and (changes := self._changes(group)):
                before = {name: group.settings.get(name) for name in changes}
                count = len(group.revisits)
                pages = "1 page or section was" if count == 1 else f"{count:,} pages and sections were"
                print_error(
                    f"scrapy recrawl: {pages} read with {_listed(before)}; {'it is' if count == 1 else 'they are'} now "
                    f"read with {_listed(changes)}, as the command line says"
                )

    def _is_runnable(self, group: RecrawlGroup, arguments: Mapping[str, str]) -> bool:
        """Return True if a group can be crawled. Otherwise print the reason and the pages that are left out."""
        assert self.crawler_process is not None
        loader = self.crawler_process.spider_loader
        fault = group.fault(loader.load(group.spider) if group.spider in loader.list() else None, arguments)
        fault = fault or group.method_fault(self._changes(group))
        if fault is None:
            return True
        print_error(f"scrapy recrawl: {fault}; left out:")
        for way in group.revisits:
            print_error(f"  {way.revisit.url}")
        return False

    def _label(self, group: RecrawlGroup) -> str:  # noqa: ARG002 — `scrapy sites` names the site
        """Return what begins the messages about a crawl."""
        return "recrawl"

    def _crawl_all(self, planned: deque[RecrawlGroup], opts: argparse.Namespace, config: Config) -> list[RecrawlRun]:
        """Take and crawl the groups, several at a time, and return the runs. A signal ends all crawls."""
        runs: list[RecrawlRun] = []
        processes = processes_each(len(planned), config)
        options = RunOptions(config, opts.spargs, join=opts.join, processes=processes, feeds=SharedFeeds())
        waiting = [self._waiting(planned.popleft(), options, runs) for _ in range(len(planned))]
        options.feeds.check()
        self._announce_turns(options.feeds)
        ParallelCrawls(self.crawler_process, waiting, config.parallel_crawls).run()
        return runs

    def _waiting(self, group: RecrawlGroup, options: RunOptions, runs: list[RecrawlRun]) -> WaitingCrawl:
        settings = {**group.settings, **self._changes(group)}
        claimed = claims(group.main_host, settings, options.config)
        claimed |= self._feed_claims(group.spider, group.filled(options.arguments), settings, options)
        # Emptied when the crawl begins, so that the pages of the group are freed while it runs.
        left = [group]
        return WaitingCrawl(claimed, lambda: self._begin(left.pop(), settings, options, runs))

    def _feed_claims(
        self, spider: str, arguments: Mapping[str, str], settings: Mapping[str, Any], options: RunOptions
    ) -> frozenset[str]:
        """Add the feeds of a crawl to the feeds of the command; return its claims on them."""
        assert self.settings is not None
        assert self.crawler_process is not None
        crawl_settings = self.settings.copy()
        crawl_settings.setdict(dict(settings), priority="cmdline")
        return options.feeds.add(self.crawler_process.spider_loader.load(spider), arguments, crawl_settings)

    def _begin(
        self, group: RecrawlGroup, settings: Mapping[str, Any], options: RunOptions, runs: list[RecrawlRun]
    ) -> CrawlStart | None:
        """Queue a group's requests in the database. Return None if this process has nothing to do."""
        crawler = self._create_crawler(group.spider)
        for name, value in {**settings, **options.processes}.items():
            set_ours(crawler.settings, name, value, priority="cmdline")
        arguments = group.filled(options.arguments)
        label = self._label(group)
        run = RecrawlRun(group.without_revisits())
        runs.append(run)
        try:
            begun = _queue(options.config, group.spider, arguments, group.requests(crawler))
        except CrawlerError as error:
            print_error(f"scrapy {label}: {group.spider}: {error}")
            run.exit_code = EXIT_FAILURE
            return None
        if begun is None:
            return None
        run.pages, run.runs_elsewhere = begun.added, begun.is_active and not options.join
        if run.runs_elsewhere or not prepare_feeds(options.feeds, crawler, arguments, label):
            run.exit_code = EXIT_SUCCESS if run.runs_elsewhere else EXIT_FAILURE
            return None
        logger.info("Visiting %s again by the spider %s", count_of(begun.added, "stored address"), group.spider)

        def record_end(error: BaseException | None) -> None:
            run.exit_code = end_code(crawler, error, label)

        return CrawlStart(crawler, arguments, record_end)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options that all crawls of a run share; the settings `processes` divide the cleaning processes among them."""

    config: Config
    arguments: Mapping[str, str]
    join: bool
    processes: Mapping[str, Any]
    feeds: SharedFeeds


def is_quiet(settings: BaseSettings) -> bool:
    """Return True if a command must print nothing when all is well: cron mails what it prints."""
    level = settings["LOG_LEVEL"]
    return (logging.getLevelNamesMapping()[level] if isinstance(level, str) else int(level)) > logging.INFO


def processes_each(number: int, config: Config) -> dict[str, Any]:
    """Return the setting CLEANING_PROCESSES of each crawl: crawls that run at the same time share the processes."""
    crawls = min(number, config.parallel_crawls)
    if config.cleaning_processes == 0 or crawls == 0:
        return {}
    return {"CLEANING_PROCESSES": max(1, config.cleaning_processes // crawls)}


def claims(host: str, settings: Mapping[str, Any], config: Config) -> frozenset[str]:
    """Return what no two crawls may have at the same time: their host, a file, a browser."""
    archive = settings.get("ARCHIVE", config.archive)
    metrics = settings.get("METRICS", config.metrics)
    browser = "any" if settings.get("RENDER", config.render) else ""
    claimed = {"host": host, "archive": archive, "metrics": metrics, "browser": browser}
    return frozenset(f"{kind} {name}" for kind, name in claimed.items() if name)


def prepare_feeds(feeds: SharedFeeds, crawler: Crawler, arguments: Mapping[str, str], label: str) -> bool:
    """Prepare the feeds of a crawl that begins; print why and return False if a file cannot be written."""
    try:
        feeds.prepare(crawler, arguments)
    except CrawlerError as error:
        print_error(f"scrapy {label}: {crawler.spidercls.name}: {error}")
        return False
    return True


def _queue(
    config: Config, spider: str, arguments: Mapping[str, str], records: Iterable[tuple[Revisit, RequestRecord]]
) -> due.BegunRecrawl | None:
    """Begin or join a re-crawl; `is_active` is right on both kinds of database.

    Each part of the requests has a transaction of its own, so that other crawls go on. If the re-crawl ends meanwhile,
    the next part begins another one.
    """
    begun: due.BegunRecrawl | None = None
    rest = iter(records)
    with opened_engine(config.database_url, must_exist=True) as engine:
        part = list(islice(rest, due.REQUESTS_PER_PART))
        while True:
            with write_transaction(engine) as connection:
                queued = due.begin_recrawl(connection, spider, arguments, part, config.frontier_lease_seconds)
            begun = _joined(begun, queued)
            if not (part := list(islice(rest, due.REQUESTS_PER_PART))):
                break
        locked = None if begun is None else has_crawl_lock(engine, begun.crawl_id)
    return begun if begun is None or locked is None else replace(begun, is_active=locked)


def _joined(begun: due.BegunRecrawl | None, queued: due.BegunRecrawl | None) -> due.BegunRecrawl | None:
    """Return what two parts began, one after the other; the promise that the first made is our own."""
    if begun is None or queued is None:
        return begun or queued
    is_active = begun.is_active if begun.crawl_id == queued.crawl_id else queued.is_active
    return due.BegunRecrawl(queued.crawl_id, begun.added + queued.added, is_active)


def end_code(crawler: Crawler, error: BaseException | None, label: str) -> int:
    """Return the exit code of a crawl that has ended, and print why it is not 0; `label` is the command's."""
    spider = crawler.spidercls.name
    if isinstance(error, CrawlerError):
        print_error(f"scrapy {label}: {spider}: {error}")
        return EXIT_FAILURE
    stats = _stats(crawler)
    if error is not None or not stats:
        logger.error("The crawl of %s failed", spider, exc_info=error)
        return EXIT_FAILURE
    # Another process may have made all the requests.
    idle = stats.get("finish_reason") == "finished" and not any(name.startswith("visit/") for name in stats)
    return EXIT_SUCCESS if idle else exit_code_of(crawler, label)


def _stats(crawler: Crawler) -> dict[str, Any]:
    """Return the stats of a crawl; {} if it failed before it had any."""
    try:
        return crawler.stats.get_stats()
    except RuntimeError:  # Scrapy raises this while the crawler has no stats
        return {}


def _listed(settings: Mapping[str, Any]) -> str:
    texts = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in settings.items()}
    return " ".join(f"{name}={value}" for name, value in texts.items())


def _plan_rows(
    planned: Sequence[RecrawlGroup], chosen: Sequence[Revisit], config: Config, now: datetime
) -> Iterator[dict[str, Any]]:
    methods = {
        way.revisit.history.key: group.settings.get("CLEANING_METHOD") for group in planned for way in group.revisits
    }
    for revisit in chosen:
        history = revisit.history
        yield {
            "url": revisit.url,
            "kind": history.kind.value,
            "method": methods.get(history.key),
            "last_seen": history.last_seen,
            "visits": history.visits,
            "changes": history.changes,
            "due_since": revisit.next_visit,
            "why": _reason(revisit, now, config),
        }


def _reason(revisit: Revisit, now: datetime, config: Config) -> str:
    """Return why a page is visited."""
    latest = now + timedelta(seconds=config.revisit_max_seconds)
    too_late = revisit.next_visit is not None and revisit.next_visit > latest
    notes = _TOO_LATE % format_time(revisit.next_visit) * too_late + _ANNOUNCED * revisit.announced
    return notes + schedule.explain_next_visit(revisit.history, now, config.revisits)


def _print_plan(rows: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json(list(rows))
        return
    cells = [
        (
            row["url"],
            row["kind"],
            row["method"],
            format_time(row["last_seen"]),
            f"{row['changes']} of {row['visits'] - 1}",
            format_time(row["due_since"]),
            row["why"],
        )
        for row in rows
    ]
    make_console().print(make_table("To visit", _COLUMNS, cells) if cells else Text("There is nothing to visit."))


def _print_running_elsewhere(runs: Sequence[RecrawlRun]) -> None:
    """Print a sentence about the re-crawls that another process runs."""
    others = [run for run in runs if run.runs_elsewhere]
    if not others:
        return
    crawls = "the re-crawl" if len(runs) == 1 else f"{len(others)} of {len(runs)} re-crawls"
    added = sum(run.pages for run in others)
    print_line(
        f"Another process runs {crawls} already, so {count_of(added, 'stored address')} "
        f"{'was' if added == 1 else 'were'} added to its queue; --join would share the work."
    )


def _run_summary(run: RecrawlRun) -> dict[str, Any]:
    assert run.group is not None
    return {
        "spider": run.group.spider,
        "arguments": dict(run.group.arguments),
        "begun_with": run.pages,
        "exit_code": run.exit_code,
        "runs_elsewhere": run.runs_elsewhere,
    }

"""`scrapy sites`: check a file of sites, crawl those that are due, and show their state.

0    the file is right; all crawls succeeded, or nothing was left to do; no site has a problem
1    check: an address cannot be fetched; crawl: a crawl failed; status: a site has a problem; alerts: one was not sent
2    the file, a setting, an option or the installation is wrong
130  Ctrl-C stopped the crawls
143  SIGTERM stopped the crawls
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text
from scrapy.exceptions import UsageError

from cleaning.declare import did_you_mean
from crawler.commands.parallel.crawls import CrawlStart, ParallelCrawls, WaitingCrawl
from crawler.commands.parallel.feeds import SharedFeeds
from crawler.commands.recrawl import (
    RecrawlCommand,
    RecrawlRun,
    RunOptions,
    claims,
    end_code,
    is_quiet,
    prepare_feeds,
    processes_each,
)
from crawler.commands.sites.crawls import plan_crawls, sites_of
from crawler.config.arguments import ArgumentSpider
from crawler.config.sites import crawl_identity, read_sites, select_sites
from crawler.errors import ConfigError, CrawlerError
from crawler.health import alerts, records, states
from crawler.health.conditions import DATABASE
from crawler.monitoring.exit_status import EXIT_FAILURE, EXIT_SUCCESS, EXIT_USAGE
from crawler.reports.fetch import find_unreachable
from crawler.storage import crawls as stored_crawls
from crawler.storage import schema
from crawler.storage.database import has_crawl_lock, opened_engine, read_transaction
from crawler.storage.requests import database_now
from crawler.terminal import format_time, make_console, make_table, print_error, print_json, print_line, printable
from crawler.urls import host_of, site_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from scrapy.settings import BaseSettings

    from crawler.commands.sites.crawls import SiteCrawlPlan
    from crawler.config import Config
    from crawler.config.sites import SiteEntry, SitesFile
    from crawler.frontier.recrawl import RecrawlGroup
    from crawler.health.records import SiteHealth

_ACTIONS = ("check", "crawl", "status", "alerts")
_COLUMNS = ("site", "state", "since", "last success", "pages in 7 days", "kept", "usually", "next visit")
_NEW = "never crawled"


@dataclass(frozen=True, slots=True)
class _SiteRow:
    """A line of the table of health; a site without a problem has no `sentences`."""

    name: str
    state: str
    since: datetime | None
    sentences: tuple[str, ...]
    health: SiteHealth

    @property
    def has_problem(self) -> bool:
        return bool(self.health.alerts) or self.state == states.UNANSWERED


class SitesCommand(RecrawlCommand):
    _plans: dict[tuple[str, str], SiteCrawlPlan]

    def syntax(self) -> str:
        return "check [--fetch] | crawl [SITE …] [--dry-run] [--json] | status [SITE …] [--json] | alerts [--test]"

    def short_desc(self) -> str:
        return "Check, crawl and watch the sites of a file"

    def long_desc(self) -> str:
        return (
            "check: say all that is wrong with the file of sites (SITES_FILE), and with --fetch which sections cannot "
            "be fetched. crawl: crawl the sites that were never crawled, and visit again what is due of the others, "
            "several at the same time (PARALLEL_CRAWLS). status: show the state of the sites, those with problems "
            "first. alerts: list the conditions that hold on sites; with --test send an alert to ALERT_WEBHOOK and "
            "ALERT_COMMAND that shows "
            "whether they work."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        # Not those of recrawl: what is visited stands in the file.
        super(RecrawlCommand, self).add_options(parser)
        parser.add_argument("--file", metavar="PATH", help="file of sites, in place of SITES_FILE")
        parser.add_argument("--fetch", action="store_true", help="check: fetch each section, and store nothing")
        parser.add_argument("--join", action="store_true", help="crawl: take part in crawls that other processes run")
        parser.add_argument("--dry-run", action="store_true", help="crawl: print what would be crawled; fetch nothing")
        parser.add_argument("--test", action="store_true", help="alerts: send a test alert")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if not args or args[0] not in _ACTIONS:
            fault = f"{args[0]!r} is not one; {did_you_mean(args[0], _ACTIONS)}" if args else "it is missing"
            raise UsageError(f"an action is needed, {', '.join(_ACTIONS)}: {fault}", print_help=False)
        action = {"check": self._check, "crawl": self._crawl_sites, "status": self._status, "alerts": self._alerts}
        try:
            self.exitcode = action[args[0]](args[1:], opts)
        except CrawlerError as error:
            print_error(f"scrapy sites: {error}")
            self.exitcode = EXIT_USAGE

    @property
    def _all_settings(self) -> BaseSettings:
        assert self.settings is not None
        return self.settings

    def _read(self, opts: argparse.Namespace) -> tuple[Path, SitesFile]:
        assert self.crawler_process is not None
        path = Path(opts.file or self.config.sites_file).expanduser()
        return path, read_sites(path, self.crawler_process.spider_loader, self._all_settings)

    def _valid_sites(self, names: Sequence[str], opts: argparse.Namespace) -> Mapping[str, SiteEntry]:
        """Return the sites with these names. Raises ConfigError if anything in the file is wrong."""
        path, file = self._read(opts)
        if file.faults:
            more = f" and {len(file.faults) - 1} more" if len(file.faults) > 1 else ""
            raise ConfigError(f"{path}: {file.faults[0]}{more}; `scrapy sites check` lists all")
        return select_sites(file.sites, names)

    # check

    def _check(self, names: list[str], opts: argparse.Namespace) -> int:
        path, file = self._read(opts)
        sites = select_sites(file.sites, names)
        addresses = {name: self._addresses(entry) for name, entry in sites.items()} if opts.fetch else {}
        unreachable = [] if file.faults else _unreachable(addresses, self._all_settings)
        if opts.json:
            keys = {"faults": file.faults, "warnings": file.warnings, "unreachable": unreachable}
            print_json({"file": str(path), "sites": list(sites), **keys})
        else:
            for sentence in (*file.faults, *unreachable):
                print_error(f"{path}: {sentence}")
            for sentence in file.warnings:
                print_error(f"{path}: warning: {sentence}")
            if not (file.faults or unreachable):
                sections = sum(len(entry.sections) for entry in sites.values())
                fetched = f", of which {sum(map(len, addresses.values()))} addresses were fetched" * opts.fetch
                print_line(f"{path} is right: {len(sites)} sites with {sections} sections{fetched}.")
            for name in (name for name, urls in addresses.items() if not urls):
                print_error(f"{path}: {name} names no address, so nothing of it was fetched")
        if file.faults:
            return EXIT_USAGE
        return EXIT_FAILURE if unreachable else EXIT_SUCCESS

    def _addresses(self, entry: SiteEntry) -> Sequence[str]:
        """Return the sections of a site, or else those that its spider begins with. Raises ConfigError."""
        if entry.sections:
            return entry.sections
        crawler = self._create_crawler(entry.spider)
        crawler.settings.setdict(entry.crawl_settings, priority="cmdline")
        spider = crawler.spidercls.from_crawler(crawler, **entry.crawl_arguments[0])
        return tuple(spider.sections()) if isinstance(spider, ArgumentSpider) else ()

    # crawl

    def _crawl_sites(self, names: list[str], opts: argparse.Namespace) -> int:
        sites, config = self._valid_sites(names, opts), self.config
        with opened_engine(config.database_url) as engine:
            schema.prepare_schema(engine)
            with read_transaction(engine) as connection:
                plan = plan_crawls(connection, sites, config, datetime.now(UTC))
        plans = plan.crawls
        assert self.settings is not None
        quiet = is_quiet(self.settings)
        if plan.left and not quiet:
            print_error(f"scrapy sites crawl: {plan.left}")
        self._plans = {_identity(plan): plan for plan in plans}
        if opts.dry_run:
            _print_plans(plans, as_json=opts.json)
            return EXIT_SUCCESS
        runs: list[RecrawlRun] = []
        processes = processes_each(len(plans), config)
        options = RunOptions(config, {}, join=opts.join, processes=processes, feeds=SharedFeeds())
        names_of_runs: list[str] = []
        waiting = [self._waiting_site(plan, options, runs, names_of_runs) for plan in plans]
        options.feeds.check()
        self._announce_turns(options.feeds)
        ParallelCrawls(self.crawler_process, waiting, config.parallel_crawls).run()
        results = list(zip(names_of_runs, runs, strict=True))
        if results or opts.json:
            _print_results(results, as_json=opts.json)
        elif not (quiet or plan.left):
            print_line("There is nothing to crawl.")
        left_out = EXIT_FAILURE if len(runs) < len(plans) else EXIT_SUCCESS
        return max((run.exit_code for run in runs if run.exit_code), default=left_out)

    def _waiting_site(
        self, plan: SiteCrawlPlan, options: RunOptions, runs: list[RecrawlRun], names: list[str]
    ) -> WaitingCrawl:
        settings = plan.entry.crawl_settings
        host = plan.group.main_host if plan.group else host_of(plan.arguments.get("url", ""))

        def begin() -> CrawlStart | None:
            names.append(plan.name)
            if plan.group is not None:
                return self._begin(plan.group, {**plan.group.settings, **settings}, options, runs)
            return self._begin_first(plan, options, runs)

        arguments = plan.group.arguments if plan.group else plan.arguments
        feeds = self._feed_claims(plan.entry.spider, arguments, settings, options)
        return WaitingCrawl(claims(host, settings, options.config) | feeds, begin)

    def _begin_first(self, plan: SiteCrawlPlan, options: RunOptions, runs: list[RecrawlRun]) -> CrawlStart | None:
        run = RecrawlRun(None)
        runs.append(run)
        if not options.join and _runs_elsewhere(options.config, plan.entry.spider, plan.arguments):
            run.runs_elsewhere = True
            return None
        crawler = self._create_crawler(plan.entry.spider)
        for name, value in {**plan.entry.crawl_settings, **options.processes}.items():
            crawler.settings.set(name, value, priority="cmdline")
        if not prepare_feeds(options.feeds, crawler, plan.arguments, f"sites crawl: {plan.name}"):
            run.exit_code = EXIT_FAILURE
            return None

        def record_end(error: BaseException | None) -> None:
            run.exit_code = end_code(crawler, error, f"sites crawl: {plan.name}")

        return CrawlStart(crawler, plan.arguments, record_end)

    def _label(self, group: RecrawlGroup) -> str:
        plan = self._plans[crawl_identity(group.spider, group.arguments)]
        return f"sites crawl: {plan.name}"

    # status

    def _status(self, names: list[str], opts: argparse.Namespace) -> int:
        sites, config = self._valid_sites(names, opts), self.config
        with opened_engine(config.database_url, must_exist=True) as engine:
            schema.check_schema(engine)
            with read_transaction(engine) as connection:
                now = database_now(connection)
                domains = sites_of(connection, sites)
                rows = [
                    _row(name, domains[name], sites[name], records.read_health(connection, domains[name], now))
                    for name in sites
                ]
                database = records.read_alerts(connection, [DATABASE])
        rows.sort(key=lambda row: (not row.has_problem, row.state != _NEW, row.name))
        if opts.json:
            print_json(
                {"sites": [_row_as_json(row) for row in rows], "database": [asdict(alert) for alert in database]}
            )
        else:
            _print_rows(rows)
            for alert in database:
                print_line(alerts.describe(alert))
        return EXIT_FAILURE if database or any(row.has_problem for row in rows) else EXIT_SUCCESS

    # alerts

    def _alerts(self, names: list[str], opts: argparse.Namespace) -> int:
        if names:
            raise ConfigError(f"alerts takes no site, but {names[0]!r} is given")
        config = self.config
        if opts.test:
            return _send_test(config)
        with opened_engine(config.database_url, must_exist=True) as engine:
            schema.check_schema(engine)
            with read_transaction(engine) as connection:
                held = records.read_alerts(connection)
        if opts.json:
            print_json([asdict(alert) for alert in held])
        for alert in () if opts.json else held:
            print_line(f"{alerts.describe(alert)} (since {format_time(alert.since)})")
        if not (held or opts.json):
            print_line("No site has a problem.")
        return EXIT_SUCCESS


def _send_test(config: Config) -> int:
    if not (config.alert_webhook or config.alert_command):
        raise ConfigError("neither ALERT_WEBHOOK nor ALERT_COMMAND is set, so no alert can be sent")
    failures = alerts.deliver([alerts.sample_alert()], config)
    for failure in failures:
        print_error(f"scrapy sites: {failure}")
    if not failures:
        print_line("The test alert was sent.")
    return EXIT_FAILURE if failures else EXIT_SUCCESS


def _identity(plan: SiteCrawlPlan) -> tuple[str, str]:
    return crawl_identity(plan.entry.spider, plan.arguments)


def _unreachable(addresses: Mapping[str, Sequence[str]], settings: BaseSettings) -> list[str]:
    """Return a sentence for each address of the sites that cannot be fetched as a crawl would fetch it."""
    urls = [url for site_urls in addresses.values() for url in site_urls]
    problems = find_unreachable(urls, settings) if urls else {}
    return [
        f"{name}: the section {url} cannot be fetched: {problems[url]}"
        for name, site_urls in addresses.items()
        for url in site_urls
        if url in problems
    ]


def _runs_elsewhere(config: Config, spider: str, arguments: Mapping[str, str]) -> bool:
    """Return True if another process works at the open crawl of a spider with these arguments."""
    with opened_engine(config.database_url, must_exist=True) as engine:
        with read_transaction(engine) as connection:
            crawl_id = stored_crawls.find_open_crawl(connection, spider, arguments)
            if crawl_id is None:
                return False
            is_active = stored_crawls.is_active(connection, crawl_id, database_now(connection))
        locked = has_crawl_lock(engine, crawl_id)
    return is_active if locked is None else locked


def _print_plans(plans: Sequence[SiteCrawlPlan], *, as_json: bool) -> None:
    rows = [
        {
            "site": plan.name,
            "spider": plan.entry.spider,
            "section": plan.arguments.get("url"),
            "crawl": "again" if plan.group else "first",
            "addresses": len(plan.group.revisits) if plan.group else None,
        }
        for plan in plans
    ]
    if as_json:
        print_json(rows)
    elif rows:
        make_console().print(make_table("To crawl", list(rows[0]), [list(row.values()) for row in rows]))
    else:
        print_line("There is nothing to crawl.")


def _print_results(results: Sequence[tuple[str, RecrawlRun]], *, as_json: bool) -> None:
    rows = [
        {
            "site": name,
            "crawl": "again" if run.group else "first",
            "exit_code": run.exit_code,
            "runs_elsewhere": run.runs_elsewhere,
        }
        for name, run in results
    ]
    if as_json:
        print_json({"crawls": rows})
        return
    others = sum(run.runs_elsewhere for _, run in results)
    failed = sorted({name for name, run in results if run.exit_code})
    listed = f" ({', '.join(failed)})" if failed else ""
    print_line(
        f"{len(rows)} crawls of {len({name for name, _ in results})} sites: {len(failed)} sites failed"
        f"{listed}, {others} crawls run in another process."
    )


def _row(name: str, domains: set[str], entry: SiteEntry, health: SiteHealth) -> _SiteRow:
    own = {site_of(section) for section in entry.sections}
    moved = tuple(alerts.describe_move(domain) for domain in sorted(domains - own) if own)
    sentences = tuple(alerts.describe(alert) for alert in health.alerts) + moved
    if health.alerts:
        first = min(health.alerts, key=lambda alert: alert.since)
        return _SiteRow(name, alerts.describe_state(health.alerts), first.since, sentences, health)
    if health.unanswered_since is not None and not moved:
        sentence = f"{name}: {states.describe_silence(health.unanswered_since)}"
        return _SiteRow(name, states.UNANSWERED, health.unanswered_since, (sentence,), health)
    state = _NEW if health.last_success is None else states.MOVED if moved else alerts.HEALTHY
    return _SiteRow(name, state, None, sentences, health)


def _row_as_json(row: _SiteRow) -> dict[str, Any]:
    return {"site": row.name, "state": row.state, "since": row.since, "sentences": row.sentences} | asdict(row.health)


def _print_rows(rows: Sequence[_SiteRow]) -> None:
    out = make_console()
    out.print(
        make_table(
            "Sites",
            _COLUMNS,
            [
                (
                    row.name,
                    row.state,
                    format_time(row.since),
                    format_time(row.health.last_success),
                    row.health.pages_7_days,
                    _percent(row.health.kept_share),
                    _percent(row.health.usual_share),
                    format_time(row.health.next_visit),
                )
                for row in rows
            ],
        )
    )
    for row in rows:
        for sentence in row.sentences:
            out.print(Text(printable(f"{row.name}: {sentence}")), soft_wrap=True)


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.0%}"

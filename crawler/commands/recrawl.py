"""`scrapy recrawl`: visit stored pages and sections again. It is what cron calls, as often as one likes.

0    all went well, or nothing was due
1    a crawl failed, or something could not be visited: its spider is gone, or its arguments hold secrets
2    a setting, an option or the installation is wrong: nothing was crawled
130  Ctrl-C stopped it; what was fetched until then is stored, the rest is visited by the next run
143  SIGTERM did
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text
from scrapy.exceptions import UsageError

from crawler import schedule, urls
from crawler.commands.crawl import CrawlCommand as Crawl
from crawler.commands.crawl import finish_crawl, record_stop_signal
from crawler.config import RECRAWL, Config
from crawler.errors import CrawlerError
from crawler.frontier.recrawl import RecrawlChoice, choose_revisits, group_revisits
from crawler.monitoring.exit_status import EXIT_FAILURE, EXIT_SUCCESS, EXIT_USAGE, STOP_SIGNAL_STAT
from crawler.storage import due, schema
from crawler.storage.database import opened_engine, read_transaction, write_transaction
from crawler.terminal import expect_no_arguments, make_console, make_table, print_error, print_json, print_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from scrapy.crawler import Crawler

    from crawler.frontier.recrawl import RecrawlGroup
    from crawler.storage.due import Revisit

logger = logging.getLogger(__name__)

_ANNOUNCED = "its sitemap says that it has changed; "
_COLUMNS = ("url", "kind", "last seen", "changed", "due since", "why")


@dataclass(slots=True)
class _Run:
    """A group's crawl, and how it ended."""

    group: RecrawlGroup
    pages: int = 0
    crawler: Crawler | None = None
    code: int = EXIT_SUCCESS


class RecrawlCommand(Crawl):
    def syntax(self) -> str:
        return "[--due] [--site SITE] [--limit N] [--dry-run] [--json] [-a NAME=VALUE]"

    def short_desc(self) -> str:
        return "Visit stored pages and sections again: those that are due, or all"

    def long_desc(self) -> str:
        return (
            "Visit stored pages and sections again, in one crawl for each spider that found them: with --due those "
            "that are due, the most worthwhile first; otherwise all, the oldest visit first. New pages that sections "
            "link to are fetched; stored pages are fetched when they are due themselves. A second process that runs "
            "the command shares the work. REVISIT_BUDGET limits the visits of a day."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--due", action="store_true", help="visit only what is due")
        parser.add_argument("--site", metavar="SITE", help="visit only pages of a site: a domain or a URL of it")
        parser.add_argument("--limit", type=int, metavar="N", help="visit at most N stored pages and sections")
        parser.add_argument("--dry-run", action="store_true", help="show what would be visited and why; fetch nothing")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        expect_no_arguments(args)
        if opts.limit is not None and opts.limit < 0:
            raise UsageError(f"--limit is {opts.limit}; it takes a number of pages from 0 on", print_help=False)
        site = None if opts.site is None else urls.parse_site(opts.site)
        choice = RecrawlChoice(only_due=opts.due, site=site, limit=opts.limit)
        try:
            self.exitcode = self._recrawl(choice, opts)
        except CrawlerError as error:
            print_error(f"scrapy recrawl: {error}")
            self.exitcode = EXIT_USAGE

    def _recrawl(self, choice: RecrawlChoice, opts: argparse.Namespace) -> int:
        assert self.settings is not None
        config, now = Config.read(self.settings), datetime.now(UTC)
        with opened_engine(config.database_url, must_exist=True) as engine:
            schema.check_schema(engine)
            with read_transaction(engine) as connection:
                chosen = choose_revisits(connection, choice, config, now)
                planned = group_revisits(connection, chosen)
        runnable = [group for group in planned if self._is_runnable(group, opts.spargs)]
        code = EXIT_SUCCESS if len(runnable) == len(planned) else EXIT_FAILURE
        if opts.dry_run:
            _show(list(_rows(chosen, config, now)), as_json=opts.json)
            return code
        runs = self._crawl_all(runnable, opts.spargs, config)
        if opts.json:
            print_json({"crawls": [_summary(one) for one in runs]})
        elif not runnable:
            print_line("Nothing is to be visited.")
        if len(runs) < len(runnable):
            code = EXIT_FAILURE
        return max((one.code for one in runs if one.code), default=code)

    def _is_runnable(self, group: RecrawlGroup, given: Mapping[str, str]) -> bool:
        """Tell whether a group can be crawled; say why it cannot, and which pages are left out."""
        assert self.crawler_process is not None
        loader = self.crawler_process.spider_loader
        fault = group.fault(loader.load(group.spider) if group.spider in loader.list() else None, given)
        if fault is None:
            return True
        print_error(f"scrapy recrawl: {fault}; left out:")
        for way in group.revisits:
            print_error(f"  {way.revisit.url}")
        return False

    def _crawl_all(self, planned: Sequence[RecrawlGroup], given: Mapping[str, str], config: Config) -> list[_Run]:
        """Crawl the groups, one after the other, and return how that went; a signal ends it with the present one."""
        process = self.crawler_process
        assert process is not None
        runs: list[_Run] = []
        left = iter(planned)

        def go_on(ended: asyncio.Task[None] | None = None) -> None:
            if ended is not None:
                crawler = runs[-1].crawler
                assert crawler is not None
                runs[-1].code = _code(runs[-1], ended)
                if STOP_SIGNAL_STAT in _stats(crawler):
                    return
            for group in left:
                runs.append(run := self._begin(group, given, config))
                if run.crawler is not None:
                    task = process.crawl(run.crawler, **group.filled(given), **{RECRAWL: "1"})
                    assert isinstance(task, asyncio.Task)  # what Scrapy's process on asyncio gives
                    if ended is None:
                        task.get_loop().call_soon(record_stop_signal, run.crawler)
                    else:
                        record_stop_signal(run.crawler)
                    task.add_done_callback(go_on)
                    return

        go_on()
        if runs and runs[-1].crawler is not None:
            process.start()
        return runs

    def _begin(self, group: RecrawlGroup, given: Mapping[str, str], config: Config) -> _Run:
        """Put a group's requests into the database; there is no crawler where nothing is left to do."""
        crawler = self._create_crawler(group.spider)
        wanted = group.requests(crawler)
        try:
            with opened_engine(config.database_url, must_exist=True) as engine, write_transaction(engine) as connection:
                begun = due.begin_recrawl(connection, group.spider, group.filled(given), wanted)
        except CrawlerError as error:
            print_error(f"scrapy recrawl: {group.spider}: {error}")
            return _Run(group, code=EXIT_FAILURE)
        if begun is None:
            return _Run(group)
        logger.info("Visiting %d pages and sections again by the spider %s", begun, group.spider)
        return _Run(group, begun, crawler)


def _code(run: _Run, ended: asyncio.Task[None]) -> int:
    assert run.crawler is not None
    error = None if ended.cancelled() else ended.exception()
    if isinstance(error, CrawlerError):
        print_error(f"scrapy recrawl: {run.group.spider}: {error}")
        return EXIT_FAILURE
    stats = _stats(run.crawler)
    if error is not None or not stats:
        logger.error("The crawl of %s failed", run.group.spider, exc_info=error)
        return EXIT_FAILURE
    # Another process may have done it all.
    idle = stats.get("finish_reason") == "finished" and not any(name.startswith("visit/") for name in stats)
    return EXIT_SUCCESS if idle else finish_crawl(run.crawler)


def _stats(crawler: Crawler) -> dict[str, Any]:
    """Return what a crawl has counted; {} for one that failed before it could."""
    try:
        return crawler.stats.get_stats()
    except RuntimeError:  # Scrapy's way to say that there are none yet
        return {}


def _rows(chosen: Sequence[Revisit], config: Config, now: datetime) -> Iterator[dict[str, Any]]:
    for one in chosen:
        history = one.history
        yield {
            "url": one.url,
            "kind": history.kind.value,
            "last_seen": history.last_seen,
            "visits": history.visits,
            "changes": history.changes,
            "due_since": one.next_visit,
            "why": _ANNOUNCED * one.announced + schedule.explain_next_visit(history, now, config.revisits),
        }


def _show(rows: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json(list(rows))
        return
    shown = [
        (
            row["url"],
            row["kind"],
            f"{row['last_seen']:%Y-%m-%d %H:%M}",
            f"{row['changes']} of {row['visits'] - 1}",
            f"{row['due_since']:%Y-%m-%d %H:%M}",
            row["why"],
        )
        for row in rows
    ]
    make_console().print(make_table("To be visited", _COLUMNS, shown) if shown else Text("Nothing is to be visited."))


def _summary(run: _Run) -> dict[str, Any]:
    return {
        "spider": run.group.spider,
        "arguments": dict(run.group.arguments),
        "begun_with": run.pages,
        "exit_code": run.code,
    }

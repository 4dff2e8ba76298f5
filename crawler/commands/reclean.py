"""`scrapy reclean`: clean stored pages again, without the network.

0    all pages, or as many as --limit says, were cleaned
1    some pages could not be cleaned, none could be read, or the database or the archive failed: a sentence says so
2    wrong usage
130  Ctrl-C; the same command continues
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from rich.text import Text
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from cleaning import METHODS, OptionError
from cleaning._native import explain_missing_core
from crawler.commands.base import BlocksieveCommand
from crawler.config import CLEANING_SETTINGS, command_line_settings
from crawler.config.names import set_ours
from crawler.errors import ConfigError, NotStoredError
from crawler.fetching.replay import open_replay
from crawler.fetching.saved_pages import WARC_SUFFIXES
from crawler.reclean import ArchivedBodies, RecleanPlan, StoredBodies, run_reclean, start_reclean
from crawler.storage.database import read_transaction
from crawler.storage.queries import expect_site
from crawler.storage.reclean import RecleanJob
from crawler.storage.store import Store
from crawler.teaching.site_models import read_model_file
from crawler.terminal import (
    count_of,
    format_time,
    make_console,
    make_table,
    print_error,
    print_json,
    print_line,
    print_progress,
    printable,
    run_printing_command,
)
from crawler.urls import parse_site

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from crawler.config import Config
    from crawler.fetching.replay import ReplaySource
    from crawler.reclean import PageBodies, RecleanResult
    from crawler.storage.reclean import RecleanProgress

_FORMATS = ("table", "json")
_PAUSE_SECONDS = 10.0
_PROCESSES_MAX = 256
_NAMED = 10


class RecleanCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "[ARCHIVE] [--method M] [--site SITE] [--limit N] [--processes N] [--dry-run] [--restart] ..."

    def short_desc(self) -> str:
        return "Clean stored pages again, from their HTML or an archive, without the network"

    def long_desc(self) -> str:
        return (
            "Clean all stored pages again, from the HTML in the database or from an ARCHIVE of the crawl (a WARC "
            "file), and store the result as if the last visit of each page had been cleaned this way. Each page is "
            "cleaned by the method and options that cleaned it last, unless --method, -s CLEANING_OPTIONS or -s "
            "PROFILE says otherwise. Visits and their times stay the same. The command may be interrupted at any time "
            "and continues when it runs again. `scrapy recrawl` keeps to the new method; other crawls need -s "
            "CLEANING_METHOD=M."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--method", metavar="M", help="method of cleaning (default: each page's own)")
        parser.add_argument("--site", help="registered domain, host:port, or any URL of the site")
        parser.add_argument("--limit", type=int, metavar="N", help="stop after N pages; the same command continues")
        parser.add_argument(
            "--processes",
            type=int,
            metavar="N",
            default=os.cpu_count() or 1,
            help="processes that clean (default: one for each core, here %(default)s)",
        )
        parser.add_argument("--dry-run", action="store_true", help="print what would change, and change nothing")
        parser.add_argument(
            "--restart",
            action="store_true",
            help="start again from the first page, even if an earlier run was interrupted",
        )
        parser.add_argument("--format", choices=_FORMATS, default=_FORMATS[0], help="what is printed (default: table)")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        if unknown := [argument for argument in args if argument.startswith("-")]:
            raise UsageError(f"unknown option: {unknown[0]}", print_help=False)
        if len(args) > 1:
            raise UsageError(f"{len(args)} archives; one at a time", print_help=False)
        try:
            if opts.method is not None:
                METHODS.find(opts.method)
        except OptionError as error:
            raise UsageError(str(error), print_help=False) from error
        if opts.limit is not None and opts.limit < 1:
            raise UsageError(f"--limit is {opts.limit}; it must be 1 or more", print_help=False)
        if not 1 <= opts.processes <= _PROCESSES_MAX:
            raise UsageError(
                f"--processes is {opts.processes}; it takes a number from 1 to {_PROCESSES_MAX}", print_help=False
            )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        failed: list[int] = []
        stopped = "interrupted; what is done is kept, and the same command continues"
        code = run_printing_command(lambda: failed.append(self._reclean(args, opts)), stopped)
        self.exitcode = code or int(any(failed))

    def _reclean(self, args: list[str], opts: argparse.Namespace) -> int:
        """Clean the pages again, print the result, and return how many pages could not be cleaned."""
        assert self.settings is not None  # set by scrapy.cmdline
        if opts.method is not None:
            set_ours(self.settings, "CLEANING_METHOD", opts.method, "cmdline")
        config = self.use_database_settings()
        archive = Path(args[0]).expanduser().resolve() if args else None
        plan = _make_plan(config, command_line_settings(config, self.settings), opts, archive)
        source = None if archive is None else _open(archive, config)
        bodies: PageBodies = StoredBodies() if source is None else ArchivedBodies(source, config.page_max_bytes)
        # The store opens the database itself: this checks that it exists and has the current schema.
        with self.database() as engine, read_transaction(engine) as connection:
            if plan.job.site is not None:
                expect_site(connection, plan.job.site)
        if (missing := explain_missing_core()) is not None:
            print_error(missing)
        with closing(Store.open(config)) as store:
            if not opts.dry_run and (change := store.keep_settings(config)) is not None:
                print_error(change)
            earlier = start_reclean(store, plan, restart=opts.restart)
            if earlier is not None:
                print_error(_going_on(earlier))
            result = asyncio.run(run_reclean(store, bodies, plan, earlier.after_page if earlier else 0, _Report()))
            if result.complete and not opts.dry_run:
                store.end_reclean(plan.job)
        print_progress("")
        if opts.format == "json":
            print_json(asdict(result) | {"dry_run": opts.dry_run})
        else:
            _print(result, opts)
        if source is not None:
            print_error(f"{source.name}: {source.counts.describe()}")
        if result.read_nothing:
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(result.skipped.items()))
            raise NotStoredError(
                f"none of {count_of(result.pages, 'page')} could be cleaned again ({reasons}): name an archive that "
                "has the pages as they were last visited, or crawl them again"
            )
        return result.failed


class _Report:
    """Shows the progress: on a terminal after each batch, elsewhere a line every ten seconds."""

    def __init__(self) -> None:
        self._began = monotonic()
        self._next = 0.0 if sys.stderr.isatty() else self._began + _PAUSE_SECONDS

    def __call__(self, done: int, total: int) -> None:
        now = monotonic()
        if now < self._next and done < total:
            return
        self._next += 0.0 if sys.stderr.isatty() else _PAUSE_SECONDS
        print_progress(
            f"{done:,} of {total:,} pages cleaned again, {done / max(now - self._began, 0.001):,.1f} pages/s"
        )


def _open(archive: Path, config: Config) -> ReplaySource:
    """Return the archive as a replay source. Raises ConfigError and ReplayError."""
    if not archive.exists():
        raise ConfigError(f"there is no archive {archive}")
    if archive.is_file() and not archive.name.lower().endswith(WARC_SUFFIXES):
        raise ConfigError(f"{archive} is not an archive: its name must end in {', '.join(WARC_SUFFIXES)}")
    return open_replay(archive, config.page_max_bytes)


def _make_plan(
    config: Config, wanted: Mapping[str, Any], opts: argparse.Namespace, archive: Path | None
) -> RecleanPlan:
    """Return the work to do. Raises ConfigError for a method that cannot clean stored bytes."""
    settings = {name: value for name, value in wanted.items() if name in CLEANING_SETTINGS and name != "STRUCTURE"}
    method = settings.get("CLEANING_METHOD")
    if method is not None and METHODS[method].needs == "layout":
        raise ConfigError(f"the method {method} needs a page's layout, which is not stored")
    site = None if opts.site is None else parse_site(opts.site)
    if config.structure:
        settings["STRUCTURE"] = True
    key = {"settings": settings, "archive": archive and str(archive), "site": site}
    return RecleanPlan(
        job=RecleanJob(json.dumps(key, sort_keys=True), site, settings),
        fingerprinter=config.fingerprinter,
        limit=opts.limit,
        processes=opts.processes,
        seconds=config.cleaning_seconds,
        dry_run=opts.dry_run,
        structure=config.structure,
        site_models=read_model_file(config.site_models, "SITE_MODELS") if config.site_models else None,
    )


def _going_on(earlier: RecleanProgress) -> str:
    return f"continuing the run of {format_time(earlier.started)}; pages already done: {earlier.pages:,}"


def _print(result: RecleanResult, opts: argparse.Namespace) -> None:
    out = make_console()
    states = {"changed": result.changed, "unchanged": result.unchanged, "failed": result.failed} | result.skipped
    if opts.dry_run:
        print_line("Nothing is stored. The result would be:")
    out.print(make_table(count_of(result.pages, "page"), ("pages", "count"), states.items()))
    out.print(make_table("Blocks", ("blocks", "count"), result.blocks.items()))
    out.print(make_table("Cleaned by", ("method and options", "pages"), sorted(result.cleaned_by.items())))
    if result.structures:
        print_line(f"Markdown and places: {count_of(result.structures, 'page')}")
    for named in result.named[:_NAMED]:
        out.print(Text(printable(f"{named.reason}: {named.url}")), soft_wrap=True)
    if len(result.named) > _NAMED:
        print_line(
            f"and {result.failed + sum(result.skipped.values()) - _NAMED:,} more that stay as they are (--format json)"
        )
    if not result.complete:
        print_line("There are more pages: run the same command again")

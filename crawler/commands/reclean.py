"""`scrapy reclean`: clean stored pages again, without the network.

0    all pages were done, or as many as --limit says
1    some could not be cleaned, or the database or the archive failed: a sentence says so
2    wrong usage
130  Ctrl-C: the same command goes on
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
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from cleaning import METHODS
from cleaning.options import nearest
from crawler.config import Config
from crawler.errors import ConfigError
from crawler.fetching.replay import WARC_SUFFIXES, open_replay
from crawler.fingerprinting import Fingerprinter
from crawler.reclean import ArchivedBodies, RecleanPlan, StoredBodies, run_reclean, start_reclean
from crawler.storage import schema
from crawler.storage.database import opened_engine
from crawler.storage.reclean import RecleanJob
from crawler.storage.store import Store
from crawler.terminal import (
    make_console,
    make_table,
    print_error,
    print_json,
    print_line,
    print_progress,
    printable,
    run_printing_command,
)
from crawler.urls import site_of
from crawler.workers.worker import ProcessingOptions

if TYPE_CHECKING:
    import argparse

    from crawler.fetching.replay import ReplaySource
    from crawler.reclean import PageBodies, RecleanResult
    from crawler.storage.reclean import RecleanProgress

_FORMATS = ("table", "json")
_PAUSE_SECONDS = 10.0
_MOST_PROCESSES = 256
_NAMED = 10


class RecleanCommand(ScrapyCommand):
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "[ARCHIVE] [--method M] [--site SITE] [--limit N] [--processes N] [--dry-run] [--restart] ..."

    def short_desc(self) -> str:
        return "Clean stored pages again, from their HTML or an archive, without the network"

    def long_desc(self) -> str:
        return (
            "Clean all stored pages again by CLEANING_METHOD and CLEANING_OPTIONS, from the HTML in the database or "
            "from an ARCHIVE of the crawl (a WARC file), and store what that changes: each page as if its last visit "
            "had been cleaned so. Visits and their times stay. It may be interrupted at any moment; the same command "
            "goes on. Crawl with the same method from then on (-s CLEANING_METHOD=M)."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--method", metavar="M", help="method of cleaning (default: CLEANING_METHOD)")
        parser.add_argument("--site", help="registered domain, host:port, or any URL of the site")
        parser.add_argument("--limit", type=int, metavar="N", help="stop after N pages; the same command goes on")
        parser.add_argument(
            "--processes",
            type=int,
            metavar="N",
            default=os.cpu_count() or 1,
            help="processes that clean (default: one for each core, here %(default)s)",
        )
        parser.add_argument("--dry-run", action="store_true", help="only say what would change")
        parser.add_argument("--restart", action="store_true", help="begin anew where an earlier run was interrupted")
        parser.add_argument("--format", choices=_FORMATS, default=_FORMATS[0], help="what is printed (default: table)")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        if unknown := [argument for argument in args if argument.startswith("-")]:
            raise UsageError(f"unknown option: {unknown[0]}", print_help=False)
        if len(args) > 1:
            raise UsageError(f"{len(args)} archives; one at a time", print_help=False)
        if opts.method is not None and opts.method not in METHODS:
            raise UsageError(f"unknown method {opts.method!r}; {nearest(opts.method, METHODS)}", print_help=False)
        if opts.limit is not None and opts.limit < 1:
            raise UsageError(f"--limit is {opts.limit}; it must be 1 or more", print_help=False)
        if not 1 <= opts.processes <= _MOST_PROCESSES:
            raise UsageError(
                f"--processes is {opts.processes}; it takes a number from 1 to {_MOST_PROCESSES}", print_help=False
            )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        failed: list[int] = []
        self.exitcode = run_printing_command(lambda: failed.append(self._reclean(args, opts))) or int(any(failed))

    def _reclean(self, args: list[str], opts: argparse.Namespace) -> int:
        """Do it, print what came of it, and return how many pages could not be cleaned."""
        assert self.settings is not None  # set by scrapy.cmdline
        config = Config.read(self.settings)
        archive = Path(args[0]).expanduser().resolve() if args else None
        orders = _orders(config, opts, archive)
        bodies: PageBodies = StoredBodies() if archive is None else ArchivedBodies(_open(archive, config))
        with opened_engine(config.database_url, must_exist=True) as engine:
            schema.check_schema(engine)
        with closing(Store.open(config)) as store:
            earlier = start_reclean(store, orders, anew=opts.restart)
            if earlier is not None:
                print_error(_going_on(earlier))
            result = asyncio.run(run_reclean(store, bodies, orders, earlier.after_page if earlier else 0, _Report()))
            if result.complete and not opts.dry_run:
                store.end_redoing(orders.job)
        print_progress("")
        if opts.format == "json":
            print_json(asdict(result) | {"dry_run": opts.dry_run, "method": orders.way.method})
        else:
            _print(result, opts)
        return result.failed


class _Report:
    """Tells how far it is: on a terminal after each batch, elsewhere a line now and then."""

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
    """Raises ConfigError and ReplayError."""
    if not archive.exists():
        raise ConfigError(f"there is no archive {archive}")
    if archive.is_file() and not archive.name.lower().endswith(WARC_SUFFIXES):
        raise ConfigError(f"{archive} is no archive: its name ends neither in .warc nor in .warc.gz")
    return open_replay(archive, config.page_max_bytes)


def _orders(config: Config, opts: argparse.Namespace, archive: Path | None) -> RecleanPlan:
    """Raises ConfigError for a method that cannot work on stored bytes."""
    method = opts.method or config.cleaning_method
    if (needs := METHODS[method].needs) is not None:
        raise ConfigError(f"the method {method} needs a page's {needs}, which is not stored")
    max_distance = None if config.dedup_scope == "off" else config.dedup_distance
    way = ProcessingOptions(method, dict(config.cleaning_options), Fingerprinter.of(config), max_distance)
    chosen = None if opts.site is None else site_of(opts.site if "://" in opts.site else f"http://{opts.site}")
    if chosen == "":
        raise ConfigError(f"--site is {opts.site!r}; it takes a registered domain, host:port, or any URL of the site")
    asked = {"method": method, "options": config.options_hash, "archive": archive and str(archive), "site": chosen}
    return RecleanPlan(
        job=RecleanJob(json.dumps(asked, sort_keys=True), chosen),
        way=way,
        options_hash=config.options_hash,
        limit=opts.limit,
        processes=opts.processes,
        seconds=config.cleaning_seconds,
        dry_run=opts.dry_run,
    )


def _going_on(earlier: RecleanProgress) -> str:
    return f"going on with what was begun at {earlier.started:%Y-%m-%d %H:%M:%S} UTC: {earlier.pages:,} pages are done"


def _print(result: RecleanResult, opts: argparse.Namespace) -> None:
    out = make_console()
    states = {"changed": result.changed, "unchanged": result.unchanged, "failed": result.failed} | result.skipped
    if opts.dry_run:
        print_line("Nothing is stored; this is what would become:")
    out.print(make_table(f"{result.pages:,} pages", ("pages", "count"), states.items()))
    out.print(make_table("Blocks", ("blocks", "count"), result.blocks.items()))
    for named in result.named[:_NAMED]:
        out.print(Text(printable(f"{named.reason}: {named.url}")), soft_wrap=True)
    if len(result.named) > _NAMED:
        print_line(
            f"and {result.failed + sum(result.skipped.values()) - _NAMED:,} more that stay as they are (--format json)"
        )
    if not result.complete:
        print_line("There are more: the same command goes on")

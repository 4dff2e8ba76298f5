"""`scrapy prune`: delete pages for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawler.commands.base import BlocksieveCommand
from crawler.errors import StoreError
from crawler.reading.history import read_page_history
from crawler.storage import queries
from crawler.storage.database import read_transaction
from crawler.storage.near_duplicates import DuplicateRules
from crawler.storage.prune import PruneSelection, count_prunable, prune_pages
from crawler.terminal import confirm, count_of, expect_no_arguments, print_json, print_line, run_command
from crawler.urls import parse_site

if TYPE_CHECKING:
    import argparse

    from sqlalchemy.engine import Engine

    from crawler.storage.prune import PruneCounts


_DAYS_MAX = 36_500


class PruneCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "[--site SITE] [--url URL] [--older-than DAYS] [--dry-run] [--yes] [--json]"

    def short_desc(self) -> str:
        return "Delete pages with their blocks and HTML"

    def long_desc(self) -> str:
        return (
            "Delete the pages that match all the given criteria, with their blocks, sightings, HTML and requests. "
            "--site alone also deletes what is recorded of its hosts, sitemaps, visits and conditions. In "
            "an SQLite file nothing of them is left; PostgreSQL keeps deleted data for some time in free space, logs "
            "and backups. A deleted block that another page shows too is kept with that page. On a terminal the "
            "command asks first; elsewhere it needs --yes."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--site", help="registered domain, host:port, or any URL of the site")
        parser.add_argument("--url", help="address of one page, as fetched or canonical")
        parser.add_argument("--older-than", type=int, metavar="DAYS", help="pages not seen for more than DAYS days")
        parser.add_argument("--dry-run", action="store_true", help="print what would be removed, and remove nothing")
        parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        expect_no_arguments(args)
        if opts.site is None and opts.url is None and opts.older_than is None:
            raise UsageError("name the pages to remove: --site, --url or --older-than", print_help=False)
        if opts.older_than is not None and not 1 <= opts.older_than <= _DAYS_MAX:
            raise UsageError(
                f"--older-than is {opts.older_than}; it takes a number of days from 1 to {_DAYS_MAX:,}",
                print_help=False,
            )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002 — Scrapy's signature
        self.exitcode = run_command(lambda: self._prune(opts))

    def _prune(self, opts: argparse.Namespace) -> None:
        config = self.use_database_settings()
        rules = DuplicateRules(config.dedup_scope, config.dedup_distance)
        with self.database() as engine:
            pruned = _pruned(engine, opts, rules)
        if opts.json:
            print_json(pruned)
        else:
            print_line(f"{'would remove' if opts.dry_run else 'removed'} {_sentence(pruned)}")


def _pruned(engine: Engine, opts: argparse.Namespace, rules: DuplicateRules) -> PruneCounts:
    """Remove the pages after the user's consent; in a dry run only count them."""
    selection = PruneSelection.of(opts.site, opts.url, opts.older_than)
    expected = count_prunable(engine, selection)
    if expected.is_empty:
        _expect_known(engine, opts)
        return expected
    if opts.dry_run:
        return expected
    if not opts.yes and not confirm(f"This removes {_sentence(expected)}. Go on?"):
        raise StoreError("nothing was removed; --yes removes without asking")
    return prune_pages(engine, selection, rules)


def _expect_known(engine: Engine, opts: argparse.Namespace) -> None:
    """Raise QueryError for an address or a site without stored pages; otherwise nothing is old enough."""
    with read_transaction(engine) as connection:
        if opts.url is not None:
            read_page_history(connection, opts.url)  # raises
        site = None if opts.site is None else parse_site(opts.site)
        if site is not None:
            queries.expect_site(connection, site)


def _sentence(pruned: PruneCounts) -> str:
    return (
        f"{count_of(pruned.pages, 'page')}, {count_of(pruned.blocks, 'block')} ({pruned.promoted:,} of them kept with "
        f"another page that shows the text), {count_of(pruned.sightings, 'sighting')}, "
        f"{count_of(pruned.sections, 'section')}, {count_of(pruned.requests, 'request')} and "
        f"{count_of(pruned.records, 'record')} of hosts, sitemaps, visits and conditions"
    )

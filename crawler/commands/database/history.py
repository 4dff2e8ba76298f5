"""`scrapy history`: show a page's visits and how its text changed.

0   the database has the page, or a request for it
1   it has neither, or it cannot be read: a sentence says so
2   wrong usage
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawler.commands.base import BlocksieveCommand
from crawler.reading.history import print_history, read_page_history
from crawler.storage.database import read_transaction
from crawler.terminal import expect_one_argument, print_json, run_printing_command

if TYPE_CHECKING:
    import argparse

_FORMATS = ("table", "json")


class HistoryCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "URL [--format table|json] [--limit N]"

    def short_desc(self) -> str:
        return "Show a page's visits and what changed on it, block by block"

    def long_desc(self) -> str:
        return (
            "Show a page's visits, the requests for it that are still stored, and the texts that were added, removed "
            "and edited, with the words that differ. URL is the page's address as fetched, its canonical address, or a "
            "former one."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--format", choices=_FORMATS, default=_FORMATS[0], help="what is printed (default: table)")
        parser.add_argument(
            "--limit",
            type=int,
            metavar="N",
            default=20,
            help="show the last N visits that changed the page, by default %(default)s",
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        expect_one_argument(args, "name one page by its URL")
        if opts.limit < 1:
            raise UsageError(f"--limit is {opts.limit}; it must be 1 or more", print_help=False)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        self.exitcode = run_printing_command(lambda: self._show(args[0], opts))

    def _show(self, url: str, opts: argparse.Namespace) -> None:
        with self.database() as engine, read_transaction(engine) as connection:
            history = read_page_history(connection, url)
        if opts.format == "json":
            print_json(asdict(history))
        else:
            print_history(history, opts.limit)

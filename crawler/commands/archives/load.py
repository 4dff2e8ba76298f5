"""`scrapy import`: store the result of `scrapy batch` in the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand

from crawler.commands.base import BlocksieveCommand, needs_extra
from crawler.monitoring.progress import ProgressCounter
from crawler.storage.database import location_of_url
from crawler.terminal import count_of, expect_one_argument, print_error, print_json, print_line, run_command

if TYPE_CHECKING:
    import argparse

_INTERRUPTED = 130


class ImportCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "FOLDER [--json]"

    def short_desc(self) -> str:
        return "Store the tables of a batch job in the database"

    def long_desc(self) -> str:
        return (
            "Store the pages and blocks of a finished job of `scrapy batch` in DATABASE_URL, by the rules of a crawl: "
            "a text that is stored already becomes a sighting. A page that the database has seen at the time of its "
            "record or later is left alone, so the command may be interrupted and repeated. See docs/scale.md."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print JSON")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        expect_one_argument(args, "FOLDER is missing: name the folder that `scrapy batch --out` has written")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        try:
            self.exitcode = run_command(lambda: self._import(args[0], opts))
        except KeyboardInterrupt:
            print_error("scrapy import: interrupted; repeat the command to store the rest")
            self.exitcode = _INTERRUPTED

    def _import(self, folder: str, opts: argparse.Namespace) -> None:
        with needs_extra("scrapy import", "batch"):
            from crawler.batch.load import import_tables  # noqa: PLC0415 — an extra
        config = self.use_database_settings()
        with ProgressCounter("pages", config.progress) as counting:
            counts = import_tables(folder, config, counting.show, print_error)
        if opts.json:
            print_json(counts)
            return
        print_line(
            f"stored {count_of(counts.get('pages', 0), 'page')} in {location_of_url(config.database_url)}: "
            f"{count_of(counts.get('stored', 0), 'new block')}, {counts.get('exact', 0):,} exact and "
            f"{counts.get('near', 0):,} near duplicates; {count_of(counts.get('known', 0), 'page')} known already"
        )

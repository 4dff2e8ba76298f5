"""`scrapy initdb`: create the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand

from crawler.commands.base import BlocksieveCommand
from crawler.storage import schema
from crawler.storage.database import location_of_url, opened_engine
from crawler.terminal import expect_no_arguments, print_json, print_line, run_command

if TYPE_CHECKING:
    import argparse


class InitdbCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "[--json] [-s DATABASE_URL=URL]"

    def short_desc(self) -> str:
        return "Create the database"

    def long_desc(self) -> str:
        return (
            "Create the tables in the database at DATABASE_URL (a setting or environment variable; by default "
            "blocks.db in this folder) and print its location. An existing database is not changed. A database with "
            "an older schema is an error: see `scrapy upgrade`. A crawl creates a missing database by itself."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        expect_no_arguments(args)
        self.exitcode = run_command(lambda: self._create(as_json=opts.json))

    def _create(self, *, as_json: bool) -> None:
        url = self.config.database_url
        with opened_engine(url) as engine:
            created = schema.prepare_schema(engine)
        if as_json:
            print_json({"database": location_of_url(url), "schema": schema.MIGRATIONS.head, "created": created})
        else:
            print_line(f"{'created' if created else 'ready'}: {location_of_url(url)} (schema {schema.MIGRATIONS.head})")

"""`scrapy upgrade`: migrate the database to the current schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand

from crawler.config import Config
from crawler.storage import schema
from crawler.storage.database import location_of_url, opened_engine, read_transaction
from crawler.terminal import expect_no_arguments, print_json, print_line, run_command

if TYPE_CHECKING:
    import argparse


class UpgradeCommand(ScrapyCommand):
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "[--json] [-s DATABASE_URL=URL]"

    def short_desc(self) -> str:
        return "Bring the database of blocks to this version's schema"

    def long_desc(self) -> str:
        return (
            "Run the migrations that the database at DATABASE_URL (a setting or environment variable; by default "
            "blocks.db in this folder) still lacks, all of them or none. Back it up first, and let no crawl "
            "run. A database written by a newer version is refused."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        expect_no_arguments(args)
        self.exitcode = run_command(lambda: self._upgrade(as_json=opts.json))

    def _upgrade(self, *, as_json: bool) -> None:
        assert self.settings is not None  # set by scrapy.cmdline
        url = Config.read(self.settings).database_url
        with opened_engine(url, must_exist=True) as engine:
            with read_transaction(engine) as connection:
                before = schema.current_revision(connection)
            schema.upgrade_schema(engine)
        if as_json:
            print_json({"database": location_of_url(url), "from": before, "to": schema.HEAD})
        else:
            print_line(f"{location_of_url(url)}: schema {before or 'none'} to {schema.HEAD}")

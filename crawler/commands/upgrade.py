"""`scrapy upgrade`: bring the database to this version's schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand

from crawler.config import Config
from crawler.storage import schema
from crawler.storage.engine import location, opened, reading
from crawler.terminal import attempt, no_arguments, print_json, say

if TYPE_CHECKING:
    import argparse


class Command(ScrapyCommand):
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
        no_arguments(args)
        self.exitcode = attempt(lambda: self._upgrade(as_json=opts.json))

    def _upgrade(self, *, as_json: bool) -> None:
        assert self.settings is not None  # set by scrapy.cmdline
        url = Config.read(self.settings).database_url
        with opened(url, must_exist=True) as engine:
            with reading(engine) as connection:
                before = schema.current(connection)
            schema.upgrade(engine)
        if as_json:
            print_json({"database": location(url), "from": before, "to": schema.HEAD})
        else:
            say(f"{location(url)}: schema {before or 'none'} to {schema.HEAD}")

"""`scrapy initdb`: make the database ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand

from crawler.config import Config
from crawler.storage import schema
from crawler.storage.engine import location, opened
from crawler.terminal import attempt, no_arguments, print_json, say

if TYPE_CHECKING:
    import argparse


class Command(ScrapyCommand):
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "[--json] [-s DATABASE_URL=URL]"

    def short_desc(self) -> str:
        return "Create the database of blocks"

    def long_desc(self) -> str:
        return (
            "Create the tables in the database at DATABASE_URL (a setting or environment variable; by default "
            "blocks.db in this folder) and say where it is. A database that is ready is left as it is; one of an "
            "earlier schema is refused: see `scrapy upgrade`. A crawl creates a missing database by itself."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        no_arguments(args)
        self.exitcode = attempt(lambda: self._create(as_json=opts.json))

    def _create(self, *, as_json: bool) -> None:
        assert self.settings is not None  # set by scrapy.cmdline
        url = Config.read(self.settings).database_url
        with opened(url) as engine:
            created = schema.prepare(engine)
        if as_json:
            print_json({"database": location(url), "schema": schema.HEAD, "created": created})
        else:
            say(f"{'created' if created else 'ready'}: {location(url)} (schema {schema.HEAD})")

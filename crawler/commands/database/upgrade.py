"""`scrapy upgrade`: migrate the database to the current schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand

from crawler.commands.base import BlocksieveCommand
from crawler.storage import schema
from crawler.storage.database import location_of_url, opened_engine, read_transaction
from crawler.terminal import expect_no_arguments, print_json, print_line, print_progress, run_printing_command

if TYPE_CHECKING:
    import argparse


class UpgradeCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "[--json] [-s DATABASE_URL=URL]"

    def short_desc(self) -> str:
        return "Migrate the database to this version's schema"

    def long_desc(self) -> str:
        return (
            "Run all missing migrations of the database at DATABASE_URL (a setting or environment variable; by default "
            "blocks.db in this folder) in one transaction. If the words of all texts are cut anew for search, their "
            "number is shown; a million texts take some minutes. Back up the database first, and stop all crawls. A "
            "database written by a newer version is an error."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        expect_no_arguments(args)
        self.exitcode = run_printing_command(
            lambda: self._upgrade(as_json=opts.json), "interrupted; the database is as it was"
        )

    def _upgrade(self, *, as_json: bool) -> None:
        url = self.config.database_url
        with opened_engine(url, must_exist=True) as engine:
            with read_transaction(engine) as connection:
                before = schema.current_revision(connection)
            has_new_id = schema.upgrade_schema(engine, report=print_progress) and before is not None
            print_progress("")
        if as_json:
            print_json(
                {"database": location_of_url(url), "from": before, "to": schema.MIGRATIONS.head, "new_id": has_new_id}
            )
            return
        if has_new_id:
            print_line(
                f"{location_of_url(url)}: it was restored from a dump and has a new id now; earlier cursors end "
                "here, so export without --since once"
            )
        if before != schema.MIGRATIONS.head:
            print_line(f"{location_of_url(url)}: schema {before or 'none'} to {schema.MIGRATIONS.head}")
        elif not has_new_id:
            print_line(f"{location_of_url(url)}: the schema is {schema.MIGRATIONS.head} already; nothing was changed")

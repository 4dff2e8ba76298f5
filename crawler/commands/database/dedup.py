"""`scrapy dedup`: find duplicates in the whole database."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawler.commands.base import BlocksieveCommand
from crawler.storage import schema
from crawler.storage.dedup import deduplicate, refingerprint
from crawler.storage.near_duplicates import DuplicateRules
from crawler.terminal import (
    count_of,
    expect_no_arguments,
    print_error,
    print_json,
    print_line,
    print_progress,
    run_printing_command,
)

if TYPE_CHECKING:
    import argparse


class DedupCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "[--refingerprint] [--dry-run] [--json]"

    def short_desc(self) -> str:
        return "Find duplicates among all stored blocks and make them sightings of the earliest block"

    def long_desc(self) -> str:
        return (
            "Compare the fingerprints of all stored blocks. A block that duplicates an earlier one, by DEDUP_SCOPE and "
            "DEDUP_DISTANCE, becomes a sighting of it; no text is lost. --refingerprint first recomputes digests and "
            "fingerprints that were made with another FINGERPRINT_WEIGHTING or by another version. The command may be "
            "interrupted at any time and continues when it runs again."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--refingerprint", action="store_true", help="recompute fingerprints of another scheme first"
        )
        parser.add_argument("--dry-run", action="store_true", help="count the duplicates, and change nothing")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        expect_no_arguments(args)
        if opts.refingerprint and opts.dry_run:
            raise UsageError("--refingerprint writes; it does not go with --dry-run", print_help=False)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002 — Scrapy's signature
        self.exitcode = run_printing_command(
            lambda: self._dedup(opts), "interrupted; what is done is kept, and the same command continues"
        )

    def _dedup(self, opts: argparse.Namespace) -> None:
        config = self.use_database_settings()
        fingerprinter = config.fingerprinter
        rules = DuplicateRules(config.dedup_scope, config.dedup_distance)
        with self.database() as engine:
            pages = refingerprint(engine, fingerprinter, print_progress) if opts.refingerprint else 0
            schema.check_fingerprint_scheme(engine, fingerprinter.scheme)
            if not opts.dry_run and (change := schema.keep_settings(engine, config.database_settings)) is not None:
                print_error(change)
            summary = deduplicate(engine, rules, print_progress, dry_run=opts.dry_run)
        print_progress("")
        if opts.json:
            print_json({"pages_refingerprinted": pages} | asdict(summary))
            return
        if opts.refingerprint:
            print_line(f"recomputed the fingerprints of {count_of(pages, 'page')}")
        became = "would become" if opts.dry_run else "became"
        print_line(f"{summary.repeats:,} of {count_of(summary.compared, 'block')} {became} sightings of earlier ones")

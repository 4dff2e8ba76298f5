"""`scrapy dedup`: find duplicates in the whole database."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawler.config import Config
from crawler.fingerprinting import Fingerprinter
from crawler.storage import schema
from crawler.storage.database import opened_engine
from crawler.storage.dedup import deduplicate, refingerprint
from crawler.storage.near_duplicates import DuplicateRules
from crawler.terminal import expect_no_arguments, print_json, print_line, print_progress, run_command

if TYPE_CHECKING:
    import argparse


class DedupCommand(ScrapyCommand):
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "[--refingerprint] [--dry-run] [--json]"

    def short_desc(self) -> str:
        return "Find duplicates among all stored blocks and make them sightings of the first ones"

    def long_desc(self) -> str:
        return (
            "Compare the fingerprints of all stored blocks and make each block that duplicates an earlier one, by "
            "DEDUP_SCOPE and DEDUP_DISTANCE, a sighting of that; no text is lost. --refingerprint first makes digests "
            "and fingerprints anew where FINGERPRINT_WEIGHTING or the version that stored them is another. Either can "
            "be interrupted at any moment; run it again and it goes on."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--refingerprint", action="store_true", help="make fingerprints of another scheme anew")
        parser.add_argument("--dry-run", action="store_true", help="only count the duplicates")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        expect_no_arguments(args)
        if opts.refingerprint and opts.dry_run:
            raise UsageError("--refingerprint writes; it does not go with --dry-run", print_help=False)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002 — Scrapy's signature
        self.exitcode = run_command(lambda: self._dedup(opts))

    def _dedup(self, opts: argparse.Namespace) -> None:
        assert self.settings is not None  # set by scrapy.cmdline
        config = Config.read(self.settings)
        marker, rules = Fingerprinter.of(config), DuplicateRules(config.dedup_scope, config.dedup_distance)
        with opened_engine(config.database_url, must_exist=True) as engine:
            schema.check_schema(engine)
            pages = refingerprint(engine, marker, print_progress) if opts.refingerprint else 0
            schema.check_fingerprint_scheme(engine, marker.scheme)
            found = deduplicate(engine, rules, print_progress, dry_run=opts.dry_run)
        print_progress("")
        if opts.json:
            print_json({"pages_refingerprinted": pages} | asdict(found))
            return
        if opts.refingerprint:
            print_line(f"made new fingerprints for {pages:,} pages")
        became = "would become" if opts.dry_run else "became"
        print_line(f"{found.repeats:,} of {found.compared:,} blocks {became} sightings of earlier ones")

"""`scrapy export`: the blocks or pages of the database as a file for other programs.

0    the file is written
1    it is not: the database or the disk failed, or the cursor is of another database or selection
2    an argument or option is wrong
130  Ctrl-C stopped it, 143 SIGTERM did; there is no file then, and an older one of the name stays
"""

from __future__ import annotations

import signal
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawler import urls
from crawler.config import Config
from crawler.export import Content, Order, export
from crawler.export.formats import FORMATS, form
from crawler.export.source import Filter
from crawler.files import writable
from crawler.progress import Counting
from crawler.storage import schema
from crawler.storage.engine import opened
from crawler.terminal import attempt, complain, print_json, say

if TYPE_CHECKING:
    import argparse

    from crawler.export import Exported

_INTERRUPTED, _TERMINATED = 130, 143


class Command(ScrapyCommand):
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "OUT [--blocks | --pages] [--since CURSOR] [--site SITE] [--language CODE] [--json]"

    def short_desc(self) -> str:
        return "Write blocks or pages to a Parquet, JSON lines or CSV file"

    def long_desc(self) -> str:
        return (
            f"Write all blocks that are live and no template, or the texts of all pages, to OUT, whose name ends in "
            f"{', '.join(FORMATS)}. The file is there as a whole or not at all, and crawls may go on meanwhile. At the "
            "end a cursor is printed; --since CURSOR writes what is new, changed or gone since. See docs/export.md."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        kind = parser.add_mutually_exclusive_group()
        kind.add_argument("--blocks", action="store_true", help="a row is a block (default)")
        kind.add_argument("--pages", action="store_true", help="a row is a page, with its whole text")
        parser.add_argument("--since", metavar="CURSOR", help="only what is new, changed or gone since an export")
        parser.add_argument("--site", help="only pages of a site: registered domain, host:port, or any URL of it")
        parser.add_argument("--language", metavar="CODE", help="only pages in a language, such as en")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1 or (ending := form(args[0])) is None:
            given = " ".join(args) or "missing"
            raise UsageError(
                f"OUT is {given}; it takes one file whose name ends in {', '.join(FORMATS)}", print_help=False
            )
        # Python would end at once, and leave the half file.
        signal.signal(signal.SIGTERM, _terminate)
        try:
            self.exitcode = attempt(lambda: self._export(args[0], ending, opts))
        except KeyboardInterrupt:
            complain("scrapy export: interrupted, nothing is written")
            self.exitcode = _INTERRUPTED

    def _export(self, out: str, ending: str, opts: argparse.Namespace) -> None:
        assert self.settings is not None  # set by scrapy.cmdline
        config = Config.read(self.settings)
        site = None if opts.site is None else urls.site(opts.site if "://" in opts.site else f"http://{opts.site}")
        language = None if opts.language is None else opts.language.strip().lower()
        content = Content.PAGES if opts.pages else Content.BLOCKS
        order = Order(writable("OUT", out), ending, content, Filter(site, language), opts.since)
        with opened(config.database_url, must_exist=True) as engine, Counting("rows", config.progress) as counting:
            schema.check(engine)
            exported = export(engine, order, counting.show)
        if opts.json:
            print_json(asdict(exported))
        else:
            _print(exported, whole=opts.since is None)


def _print(exported: Exported, *, whole: bool) -> None:
    changes = "" if whole else f" ({exported.new:,} new, {exported.changed:,} changed, {exported.gone:,} gone)"
    say(f"wrote {exported.rows:,} {exported.content}{changes} to {exported.path}")
    say(f"cursor {exported.cursor}")


def _terminate(_number: int, _frame: object) -> None:
    raise SystemExit(_TERMINATED)

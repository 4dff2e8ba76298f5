"""`scrapy compare`: compare the cleaning methods on the user's own pages.

0   at least one page was compared
1   no page could be compared; each failure is one line
2   wrong usage
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from cleaning.errors import OptionError
from cleaning.methods import METHODS
from cleaning.options import Options, parse_option
from crawler.commands.base import BlocksieveCommand
from crawler.compare.fetch import fetch
from crawler.compare.figures import Figures
from crawler.compare.output import Pages
from crawler.compare.plan import browser_for, make_plan, read_methods
from crawler.compare.record import JsonWriter
from crawler.compare.run import Comparison
from crawler.compare.table import sentences, show
from crawler.compare.targets import is_address, open_target
from crawler.compare.templates import Templates
from crawler.errors import CompareError
from crawler.monitoring.progress import track_progress
from crawler.terminal import expect_one_argument, print_error, run_printing_command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from scrapy.settings import BaseSettings

    from crawler.compare.run import Compared, Failure
    from crawler.compare.targets import Source, Target


class ComparisonWriter(Protocol):
    """Takes each page as it is compared, and all figures at the end."""

    def add(self, source: Source, found: Compared | Failure) -> None: ...

    def finish(self, figures: Figures) -> None: ...


class CompareCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "FILE|URL|FOLDER|- [--methods M,M] [--json] [--html OUT]"

    def short_desc(self) -> str:
        return "Compare the cleaning methods on a page or a folder of pages"

    def long_desc(self) -> str:
        return (
            "Clean a saved page (.html, .gz; - reads standard input), the pages of a folder (those of its index.tsv, "
            "otherwise every .html and .htm below it), of a WARC file, or the page at a URL with each method. Show the "
            "blocks, the kept blocks and words, the time, the reasons, and how far the methods agree. A URL is fetched "
            "as in a crawl. Nothing is stored."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--methods", metavar="M,M", help=f"some of {', '.join(METHODS)} (default: all that can run)"
        )
        parser.add_argument("--url", metavar="U", help="where a saved page came from")
        parser.add_argument("--json", action="store_true", help="print JSON, with every page and kept block")
        parser.add_argument(
            "--html",
            metavar="OUT",
            help="write the page with each method's text in colour: a file, for a folder a folder",
        )
        parser.add_argument(
            "--option", metavar="NAME=VALUE", action="append", default=[], help="option of cleaning; repeatable"
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        expect_one_argument(args, "name one page, folder or address to compare")
        try:
            opts.chosen = None if opts.methods is None else read_methods(opts.methods)
            opts.pairs = dict(parse_option(text) for text in opts.option)
            Options.read(opts.pairs)
        except (OptionError, ValueError) as error:
            raise UsageError(str(error), print_help=False) from error

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        self.exitcode = run_printing_command(lambda: self._compare(args[0], opts))

    def _compare(self, name: str, opts: argparse.Namespace) -> None:
        assert self.settings is not None  # set by scrapy.cmdline
        config = self.config
        options = Options.read({"max_bytes": config.page_max_bytes} | dict(config.cleaning_options) | opts.pairs)
        target = _open(name, opts.url, options.max_bytes, self.settings)
        templates = Templates(target.sources, options.max_bytes)
        browser = browser_for(self.settings, options.max_bytes)
        with ExitStack() as stack:
            plan = make_plan(opts.chosen, templates, lambda: stack.enter_context(browser))
            writers: list[ComparisonWriter] = [JsonWriter(sys.stdout, target, plan)] if opts.json else []
            if opts.html:
                writers.append(stack.enter_context(Pages(Path(opts.html), target, plan, options.max_blocks)))
            comparison = Comparison(plan.methods, options, templates, plan.browser)
            # A progress line and JSON would mix on one terminal.
            progress = "off" if opts.json and sys.stdout.isatty() else config.progress
            figures = _run(comparison, track_progress(target.sources, progress), writers)
        if not figures.compared:
            _give_up(figures)
        if not opts.json:
            show(target, plan, figures)


def _open(name: str, url: str | None, max_bytes: int, settings: BaseSettings) -> Target:
    if not is_address(name, url):
        return open_target(name, url, max_bytes)
    return fetch(name, settings)


def _run(comparison: Comparison, sources: Iterable[Source], writers: Sequence[ComparisonWriter]) -> Figures:
    figures = Figures(comparison.methods)
    for source in sources:
        found = comparison.run(source)
        figures.add(source, found)
        for writer in writers:
            writer.add(source, found)
    for writer in writers:
        writer.finish(figures)
    return figures


def _give_up(figures: Figures) -> NoReturn:
    """Print why each page could not be compared, one line for each, and raise the last one."""
    *others, last = sentences(figures)
    for line in others:
        print_error(line)
    raise CompareError(last)

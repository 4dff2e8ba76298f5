"""`scrapy explain`: show why each block of a page is kept or dropped.

0   the page was explained
1   the page could not be explained: a sentence says why
2   wrong usage
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from cleaning.errors import OptionError
from cleaning.methods import METHODS
from cleaning.options import Options, parse_option
from crawler.commands.base import BlocksieveCommand
from crawler.errors import CompareError, TimeLimitError
from crawler.monitoring.files import replace_file, writable_path
from crawler.reports.compare import offline_browser
from crawler.reports.explain import explain_found, find_page, find_text
from crawler.reports.explanation import (
    explanation_page,
    explanation_record,
    match_record,
    print_explanation,
    print_matches,
)
from crawler.reports.inert_page import check_output, write_page, writing
from crawler.terminal import expect_one_argument, print_json, run_printing_command
from crawler.time_limit import time_limit

if TYPE_CHECKING:
    import argparse

    from cleaning.blocks import Page
    from cleaning.structure.clean_page import CleanPage
    from crawler.fetching.render.browser import Browser
    from crawler.reports.explain import Explanation, PageToExplain

_DEFAULT_ROWS = 500


class ExplainCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "URL|FILE|- [--find TEXT] [--method M] [--json] [--html OUT] [--markdown OUT]"

    def short_desc(self) -> str:
        return "Show why each block of a page is kept or dropped"

    def long_desc(self) -> str:
        return (
            "Clean one page and show each block with its score, priority and reason, and the block that it duplicates. "
            "A stored URL is read from the database and cleaned again with its crawl's method; any other URL is "
            "fetched as in a crawl. FILE is a saved page (.html, .gz; - reads standard input). Nothing is stored. "
            "--find says why a text is missing: it shows only the blocks that have it, with their reasons and scores."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--method",
            metavar="M",
            help=f"of {', '.join(METHODS)} (default: the stored page's, otherwise CLEANING_METHOD)",
        )
        parser.add_argument(
            "--find", metavar="TEXT", help="show only the blocks with this text, such as a missing sentence"
        )
        parser.add_argument("--url", metavar="U", help="where a saved page came from")
        parser.add_argument("--fetch", action="store_true", help="fetch the page even if it is stored")
        parser.add_argument(
            "--option", metavar="NAME=VALUE", action="append", default=[], help="option of cleaning; repeatable"
        )
        parser.add_argument(
            "--limit",
            type=int,
            metavar="N",
            default=_DEFAULT_ROWS,
            help="blocks that are printed (default: %(default)s)",
        )
        parser.add_argument("--json", action="store_true", help="print JSON, with every block")
        parser.add_argument("--html", metavar="OUT", help="write the page with its blocks in colour to a file")
        parser.add_argument("--markdown", metavar="OUT", help="write the main text as Markdown to a file, NAME.md")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        expect_one_argument(args, "name one page: a URL, a file, or - for standard input")
        if opts.limit < 1:
            raise UsageError(f"--limit is {opts.limit}; it must be 1 or more", print_help=False)
        if opts.markdown and not opts.markdown.endswith(".md"):
            raise UsageError(f"--markdown is {opts.markdown!r}; its name must end in .md", print_help=False)
        try:
            if opts.method is not None:
                METHODS.find(opts.method)
            opts.pairs = dict(parse_option(text) for text in opts.option)
            Options.read(opts.pairs)
        except OptionError as error:
            raise UsageError(str(error), print_help=False) from error

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        self.exitcode = run_printing_command(lambda: self._run(args[0], opts))

    def _run(self, name: str, opts: argparse.Namespace) -> None:
        if opts.html:
            check_output(Path(opts.html))
        markdown = writable_path("--markdown", opts.markdown) if opts.markdown else None
        assert self.settings is not None  # set by scrapy.cmdline
        config = self.config
        options = {"max_bytes": config.page_max_bytes} | dict(config.cleaning_options) | opts.pairs
        max_bytes = Options.read(options).max_bytes
        browser = offline_browser(config, self.settings, max_bytes)
        page = find_page(name, opts.url, config, self.settings, max_bytes=max_bytes, refetch=opts.fetch)
        stored = None if page.contents is None else page.contents.method
        method = opts.method or (stored if stored in METHODS else None) or config.cleaning_method
        explanation = explain_found(page, method, options, config, lambda: _rendered(page, browser))
        if opts.html:
            write_page(Path(opts.html), explanation_page(explanation, page))
        if markdown is not None:
            _write_markdown(markdown, page, explanation.cleaned, config.cleaning_seconds)
        if opts.find is not None:
            _print_found(explanation, opts)
        elif opts.json:
            print_json(explanation_record(page, explanation))
        else:
            print_explanation(page, explanation, opts.limit)


def _print_found(explanation: Explanation, opts: argparse.Namespace) -> None:
    """Print the blocks that have a text. Raises CompareError if none has it."""
    matches = find_text(explanation, opts.find)
    if opts.json:
        print_json([match_record(match) for match in matches])
    else:
        print_matches(explanation, matches)


def _write_markdown(out: Path, page: PageToExplain, cleaned: CleanPage, seconds: float) -> None:
    """Write the main text of a page as Markdown. Raises CompareError."""
    try:
        with time_limit(seconds):
            markdown = cleaned.markdown
    except TimeLimitError as error:
        raise CompareError(f"{page.name}: {error}") from error
    with writing(out):
        replace_file(out, markdown.encode())


def _rendered(page: PageToExplain, browser: Browser) -> Page:
    with browser:
        return browser.render(page.loaded.body, page.url, page.loaded.content_type)

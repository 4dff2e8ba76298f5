"""`scrapy compare`: compare the cleaning methods on the user's own pages.

0   at least one page was compared
1   no page could be compared; each failure is one line
2   wrong usage
"""

from __future__ import annotations

import csv
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
from crawler.errors import CompareError
from crawler.monitoring.progress import track_progress
from crawler.reports.compare import (
    ComparisonTotals,
    MethodComparer,
    SiteBoilerplate,
    make_plan,
    offline_browser,
    read_methods,
)
from crawler.reports.comparison import ComparisonJson, ComparisonPages, failure_lines, print_comparison, print_scores
from crawler.reports.fetch import fetch_page
from crawler.reports.gold import read_gold
from crawler.reports.inert_page import writing
from crawler.reports.peers import PEERS, load_peers
from crawler.reports.scoring import GoldScores, latex_table, score_rows
from crawler.reports.sources import is_address, open_target
from crawler.teaching.site_models import read_model_file
from crawler.terminal import expect_one_argument, print_error, run_printing_command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from scrapy.settings import BaseSettings

    from crawler.reports.compare import ComparedPage, CompareFailure
    from crawler.reports.sources import ReportTarget, UnreadPage


class ComparisonWriter(Protocol):
    """Takes each page as it is compared, and all totals at the end."""

    def add(self, source: UnreadPage, result: ComparedPage | CompareFailure) -> None: ...

    def finish(self, totals: ComparisonTotals) -> None: ...


class CompareCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "FILE|URL|FOLDER|- [--methods M,M] [--gold PATH] [--site-models FILE] [--json] [--html OUT]"

    def short_desc(self) -> str:
        return "Compare the cleaning methods on a page or a folder of pages"

    def long_desc(self) -> str:
        return (
            "Clean a saved page (.html, .gz; - reads standard input), the pages of a folder (those of its index.tsv, "
            "otherwise every HTML file below it), of a WARC file, or the page at a URL with each method. Show the "
            "blocks, the kept blocks and words, the time, the reasons, and how far the methods agree. A URL is fetched "
            "as in a crawl. Nothing is stored."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--methods", metavar="M,M", help=f"some of {', '.join(METHODS)}; by default all that can run"
        )
        parser.add_argument(
            "--site-models",
            metavar="FILE",
            help="also clean by what sites were taught (scrapy correct --export-models): the method `taught`",
        )
        parser.add_argument("--url", metavar="U", help="where a saved page came from")
        parser.add_argument("--json", action="store_true", help="print JSON, with every page and kept block")
        parser.add_argument(
            "--html",
            metavar="OUT",
            help="write the page with each method's text in colour: a file, for a folder a folder",
        )
        parser.add_argument(
            "--gold",
            metavar="PATH",
            help="score the methods by gold texts: JSON lines with `text` and `url` or `file`, or a folder in the form "
            "of CleanEval, L3S-GN1, Dragnet or WCXB",
        )
        parser.add_argument(
            "--scores", metavar="OUT", help="write the scores of each page to a CSV file (needs --gold)"
        )
        parser.add_argument(
            "--peers",
            metavar="NAME;NAME",
            help=f"also score some of {'; '.join(PEERS)}, or all (needs --gold; extras peers and readability)",
        )
        parser.add_argument("--latex", metavar="OUT", help="write the table of scores for LaTeX (needs --gold)")
        parser.add_argument(
            "--option", metavar="NAME=VALUE", action="append", default=[], help="option of cleaning; repeatable"
        )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        expect_one_argument(args, "name one page, folder or address to compare")
        if opts.gold is None and (opts.scores or opts.latex or opts.peers):
            raise UsageError("--peers, --scores and --latex need --gold PATH", print_help=False)
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
        models = read_model_file(opts.site_models, "--site-models") if opts.site_models else {}
        target = _open(name, opts.url, options.max_bytes, self.settings)
        gold = None if opts.gold is None else read_gold(Path(opts.gold))
        peers = load_peers(opts.peers) if opts.peers else {}
        boilerplate = SiteBoilerplate(target.sources, options.max_bytes)
        browser = offline_browser(config, self.settings, options.max_bytes)
        with ExitStack() as stack:
            plan = make_plan(
                opts.chosen, boilerplate, lambda: stack.enter_context(browser), with_site_models=bool(opts.site_models)
            )
            scores = None if gold is None else GoldScores(gold, plan.methods, peers, config.cleaning_seconds)
            writers: list[ComparisonWriter] = [ComparisonJson(sys.stdout, target, plan, scores)] if opts.json else []
            if opts.html:
                writers.append(stack.enter_context(ComparisonPages(Path(opts.html), target, plan, options.max_blocks)))
            comparer = MethodComparer(plan.methods, options, boilerplate, config.cleaning_seconds, plan.browser, models)
            # A progress line and JSON would mix on one terminal.
            progress = "off" if opts.json and sys.stdout.isatty() else config.progress
            totals = _run(comparer, track_progress(target.sources, progress), writers, scores)
        if not totals.compared:
            _give_up(totals)
        if not opts.json:
            print_comparison(target, plan, totals)
        if scores is not None:
            _report_scores(scores, opts)


def _open(name: str, url: str | None, max_bytes: int, settings: BaseSettings) -> ReportTarget:
    if not is_address(name, url):
        return open_target(name, url, max_bytes)
    return fetch_page(name, settings)


def _run(
    comparer: MethodComparer,
    sources: Iterable[UnreadPage],
    writers: Sequence[ComparisonWriter],
    scores: GoldScores | None,
) -> ComparisonTotals:
    totals = ComparisonTotals(comparer.methods)
    for source in sources:
        result = comparer.compare(source)
        totals.add(source, result)
        if scores is not None:
            scores.add(source, result)
        for writer in writers:
            writer.add(source, result)
    for writer in writers:
        writer.finish(totals)
    return totals


def _report_scores(scores: GoldScores, opts: argparse.Namespace) -> None:
    """Print the scores, unless JSON has them, and write their files. Raises CompareError if no page has a gold text."""
    if not scores.pages:
        raise CompareError(
            f"--gold is {opts.gold!r}, but none of its texts is of a page that was compared; pages are found by their "
            "address, file or name"
        )
    if opts.scores:
        with writing(Path(opts.scores)), Path(opts.scores).open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(("page", "url", "site", "method", "f1", "precision", "recall"))
            table.writerows(score_rows(scores.pages))
    if opts.json and not opts.latex:
        return
    means = scores.means()
    tests = scores.tests()
    if not opts.json:
        print_scores(scores, means, tests)
    if opts.latex:
        with writing(Path(opts.latex)):
            Path(opts.latex).write_text(latex_table(means, tests), "utf-8")


def _give_up(totals: ComparisonTotals) -> NoReturn:
    """Print why each page could not be compared, one line for each, and raise the last one."""
    *others, last = failure_lines(totals)
    for line in others:
        print_error(line)
    raise CompareError(last)

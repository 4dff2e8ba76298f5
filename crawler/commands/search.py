"""`scrapy search`: find pages by the words of their blocks and titles.

0    the search ran, whether it found anything or not
1    the query is malformed, or the database cannot be searched
2    wrong usage
130  Ctrl-C
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from cleaning.declare import day
from crawler.commands.base import BlocksieveCommand
from crawler.errors import QueryError
from crawler.reading.feedback import search_like
from crawler.reading.nearest_query import find_nearest_query
from crawler.reading.search import Rank, search
from crawler.reading.search_filters import SEARCH_KINDS, SearchFilters
from crawler.storage.database import read_transaction
from crawler.storage.queries import expect_site
from crawler.terminal import isolate_direction, make_console, print_error, print_json, printable, run_command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rich.console import Console

    from crawler.reading.search import Excerpt, FoundPage, Hit

_INTERRUPTED = 130
_PAGES_MAX = 1_000
_FORMATS = ("table", "json")
_STYLE = "bold yellow"
_BRACKETS = ("[", "]")  # for files, and for terminals without colours


class SearchCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return (
            "QUERY [--rank priority|density|bm25] [--like BLOCK] [--site SITE] [--section NAME] [--language CODE] "
            "[--since DATE] [--kind KIND] ..."
        )

    def short_desc(self) -> str:
        return "Search the stored blocks by words and phrases"

    def long_desc(self) -> str:
        return (
            "Show the pages whose blocks or titles match a query, the best first, with the matches marked. A query has "
            'words, which must all occur, "a phrase", prefix*, -without, one OR another; title:word finds pages '
            "by their titles. Case and accents do not count. A query is one argument: quote it in the shell. Blocks "
            "that no page shows any more, and site boilerplate, are not found."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--rank",
            choices=[rank.value for rank in Rank],
            help="the block's priority times the share of its words that match, that share alone, or BM25 (default: "
            "priority)",
        )
        parser.add_argument(
            "--like",
            type=int,
            action="append",
            metavar="BLOCK",
            help="blocks like the one with this number, the most similar first; repeatable, and QUERY may be left out",
        )
        parser.add_argument("--site", help="registered domain, host:port, or any URL of the site")
        parser.add_argument("--section", metavar="NAME", help="section, as the pages state it")
        parser.add_argument("--language", metavar="CODE", help="language of the page: en, zh, ...")
        parser.add_argument(
            "--since", metavar="DATE", help="pages published since a day; pages without a date, first seen since then"
        )
        parser.add_argument(
            "--kind", choices=SEARCH_KINDS, metavar="KIND", help=f"kind of text: {', '.join(SEARCH_KINDS)}"
        )
        parser.add_argument(
            "--label", metavar="NAME=VALUE", help="class or cluster of the page, as `scrapy mine --store NAME` gave it"
        )
        parser.add_argument("--limit", type=int, default=10, metavar="N", help="show N pages at most (default: 10)")
        parser.add_argument("--format", choices=_FORMATS, default=_FORMATS[0], help="what is printed (default: table)")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        # The parser takes a query that starts with -without for an unknown option.
        unknown = [arg for arg in args if arg.startswith("--") or (arg.startswith("-") and " " not in arg)]
        if unknown:
            raise UsageError(f"unknown option: {unknown[0]}", print_help=False)
        if opts.like and opts.rank is None:
            opts.rank = Rank.BM25.value
        opts.rank = opts.rank or Rank.PRIORITY.value
        if opts.like and opts.rank != Rank.BM25:
            raise UsageError(f"--rank is {opts.rank!r}, but blocks like others are ranked by bm25", print_help=False)
        if len(args) != 1 and not (opts.like and not args):
            number = "no query" if not args else f"{len(args)} arguments"
            raise UsageError(f"{number}; a query is one argument: scrapy search 'two words'", print_help=False)
        if not 1 <= opts.limit <= _PAGES_MAX:
            raise UsageError(f"--limit is {opts.limit}; it takes a number from 1 to {_PAGES_MAX:,}", print_help=False)
        try:
            since = None if opts.since is None else day().read(opts.since)
        except ValueError as error:
            raise UsageError(f"--since is {opts.since!r}: {error}", print_help=False) from error
        try:
            opts.filters = SearchFilters.of(opts.site, opts.section, opts.language, since, opts.kind, opts.label)
        except QueryError as error:
            raise UsageError(str(error), print_help=False) from error

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        try:
            self.exitcode = run_command(lambda: self._search("".join(args), opts))
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader stopped early (`| head`). Discard the rest, which the interpreter flushes when it exits.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            print_error(f"the result cannot be written: {error.strerror}")
            self.exitcode = 1
        except KeyboardInterrupt:
            print_error("interrupted")
            self.exitcode = _INTERRUPTED

    def _search(self, query: str, opts: argparse.Namespace) -> None:
        with self.database() as engine, read_transaction(engine) as connection:
            if opts.like:
                pages = search_like(connection, opts.like, query, filters=opts.filters, limit=opts.limit)
            else:
                pages = search(connection, query, rank=Rank(opts.rank), filters=opts.filters, limit=opts.limit)
            if not pages and opts.filters.site is not None:
                expect_site(connection, opts.filters.site)
            nearest = None if pages or opts.like else find_nearest_query(connection, query, opts.filters)
        if opts.format == "json":
            print_json(pages)
        elif pages or nearest is None:
            _print(make_console(), pages, opts.rank)
        else:
            make_console().print(Text(f"Nothing found: {printable(nearest.sentence)}"))


def _print(out: Console, pages: Sequence[FoundPage], rank: str) -> None:
    if not pages:
        out.print(Text("Nothing found"))
        return
    table = Table(show_lines=False)
    table.add_column(rank, justify="right", no_wrap=True)
    table.add_column("block", justify="right", no_wrap=True)
    table.add_column("pages", justify="right", no_wrap=True)
    table.add_column("text", overflow="fold", ratio=1)
    for page in pages:
        table.add_row("", "", "", _heading(page))
        for hit in page.hits:
            table.add_row(*_cells(hit, marks=not out.is_terminal or out.no_color))
        table.add_section()
    out.print(table)


def _heading(page: FoundPage) -> Text:
    facts = " \u00b7 ".join(isolate_direction(fact) for fact in (page.section, page.language, page.published) if fact)
    heading = Text(isolate_direction(page.title or page.site), style="bold")
    return heading.append(f"\n{printable(page.url)}", style="not bold").append(f"\n{facts}" * bool(facts), "dim")


def _cells(hit: Hit, *, marks: bool) -> tuple[Text, Text, Text, Text]:
    number = Text(f"{hit.rank:.4f}")
    return (
        number,
        Text("title" if hit.block_id is None else str(hit.block_id)),
        Text(f"{hit.pages:,}"),
        _marked(hit.excerpt, marks=marks),
    )


def _marked(excerpt: Excerpt, *, marks: bool) -> Text:
    """Return an excerpt with its hits in colour and, if asked, in brackets."""
    before, after = _BRACKETS if marks else ("", "")
    # An excerpt in a right-to-left script must not change the direction of the rest of the line.
    first, end_of_all = ("\u2068", "\u2069") if isolate_direction(excerpt.text) != printable(excerpt.text) else ("", "")
    marked, last = Text(first), 0
    for start, end in excerpt.hits:
        marked.append(printable(excerpt.text[last:start]))
        marked.append(f"{before}{printable(excerpt.text[start:end])}{after}", style=_STYLE)
        last = end
    return marked.append(f"{printable(excerpt.text[last:])}{end_of_all}")

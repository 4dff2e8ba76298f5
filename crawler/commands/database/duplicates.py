"""`scrapy duplicates`: show duplicates of a block or a page, or what two sites repeat of each other."""

from __future__ import annotations

import csv
import sys
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from rich.text import Text
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawler.commands.base import BlocksieveCommand
from crawler.errors import StoreError
from crawler.reading.copies import iterate_page_copies
from crawler.reading.exports.formats import csv_cell
from crawler.reading.text_diff import diff_line, diff_words
from crawler.storage import queries
from crawler.storage.database import read_transaction
from crawler.terminal import (
    count_of,
    cut_text,
    expect_no_arguments,
    make_console,
    make_table,
    print_json,
    printable,
    run_printing_command,
)
from crawler.urls import parse_site, site_of

if TYPE_CHECKING:
    import argparse

    from rich.console import Console
    from sqlalchemy.engine import Connection

    from crawler.reading.copies import PageCopies


_ID_MAX = 2**63 - 1
_LARGEST = 20
_BEGINNING_CELLS = 60
_BETWEEN_COLUMNS = (
    "original_site copy_site original_url copy_url original_title copy_title original_first_seen copy_first_seen "
    "original_published copy_published texts words article distance"
).split()
_COLUMNS = ("repeated", "block", "page", "text or title")


class DuplicatesCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "[--block ID | --page URL | --between SITE SITE] [--json]"

    def short_desc(self) -> str:
        return "Show blocks and pages with their duplicates"

    def long_desc(self) -> str:
        return (
            "Show the duplicates of a block (--block) or of a page (--page, the original or any near-duplicate): their "
            "pages, the number of bits by which the fingerprints differ, and the words that differ. Without either "
            f"option, list the {_LARGEST} blocks and pages with the most duplicates. --between prints the pages of two "
            "sites that repeat each other as CSV, those of which a text was seen first as originals."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--block", type=int, metavar="ID", help="id of a block, as in the tables and views")
        parser.add_argument("--page", metavar="URL", help="address of a page, as fetched or canonical")
        parser.add_argument(
            "--between",
            nargs=2,
            metavar="SITE",
            help="print the pages of two sites that repeat each other as CSV, in both directions, earliest seen first",
        )
        parser.add_argument("--json", action="store_true", help="print JSON")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        expect_no_arguments(args)
        if sum(option is not None for option in (opts.block, opts.page, opts.between)) > 1:
            raise UsageError("--block, --page or --between, one of them", print_help=False)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002 — Scrapy's signature
        self.exitcode = run_printing_command(lambda: self._show(opts))

    def _show(self, opts: argparse.Namespace) -> None:
        with self.database() as engine, read_transaction(engine) as connection:
            if opts.between is not None:
                _print_between(connection, opts)
                return
            group = _found(connection, opts)
        if opts.json:
            print_json(group)
        elif isinstance(group, queries.BlockGroup):
            _print_block(make_console(), group)
        elif isinstance(group, queries.PageGroup):
            _print_page(make_console(), group)
        else:
            _print_largest(make_console(), group)


def _found(
    connection: Connection, opts: argparse.Namespace
) -> queries.BlockGroup | queries.PageGroup | dict[str, list[queries.GroupSummary]]:
    if opts.block is not None:
        if abs(opts.block) > _ID_MAX:  # no database takes it
            raise StoreError(f"there is no block {opts.block}; `scrapy duplicates` lists the largest groups")
        return queries.read_block_group(connection, opts.block)
    if opts.page is not None:
        return queries.read_page_group(connection, opts.page)
    return {
        "blocks": queries.largest_block_groups(connection, _LARGEST),
        "pages": queries.largest_page_groups(connection, _LARGEST),
    }


def _print_between(connection: Connection, opts: argparse.Namespace) -> None:
    """Print the pages that two sites repeat of each other, as CSV, or as JSON if that is asked for."""
    first, second = map(parse_site, opts.between)
    for name in (first, second):
        queries.expect_site(connection, name)
    both = [(first, second), (second, first)] if first != second else []
    copied = [row for pair in both for row in iterate_page_copies(connection, *pair)]
    rows = [_between_row(row) for row in sorted(copied, key=lambda row: (row.copy.first_seen, row.copy.id))]
    if opts.json:
        print_json(rows)
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(_BETWEEN_COLUMNS)
    writer.writerows([csv_cell(value) for value in row.values()] for row in rows)


def _between_row(row: PageCopies) -> dict[str, Any]:
    pages = (row.original, row.copy)
    values = [site_of(page.url) for page in pages] + [page.url for page in pages] + [page.title for page in pages]
    values += [page.first_seen.isoformat() for page in pages] + [page.published for page in pages]
    counts = [row.texts, row.words, row.is_article, row.distance]
    return dict(zip(_BETWEEN_COLUMNS, [*values, *counts], strict=True))


def _print_largest(out: Console, groups_by_kind: dict[str, list[queries.GroupSummary]]) -> None:
    for name, rows in groups_by_kind.items():
        cells = [(group.size, group.block_id, group.url, cut_text(group.text, _BEGINNING_CELLS)) for group in rows]
        if cells:
            out.print(make_table(f"Most repeated {name}", _COLUMNS, cells))
        else:
            out.print(Text(f"No repeated {name}"))


def _print_block(out: Console, group: queries.BlockGroup) -> None:
    first = group.original
    out.print(
        _line(f"block {group.block_id}, repeated {count_of(group.size, 'time')}", first.url, _state(first)),
        soft_wrap=True,
    )
    out.print(Text(printable(first.text)), soft_wrap=True)
    for member in group.sightings:
        out.print(_line(_bits(member.distance), member.url, _state(member)), soft_wrap=True)
        if member.text != first.text:
            out.print(_difference(first.text, member.text), soft_wrap=True)
    _print_rest(out, group.size - len(group.sightings))


def _print_page(out: Console, group: queries.PageGroup) -> None:
    out.print(_line(f"page with {count_of(group.size, 'near-duplicate')}", group.url, group.site), soft_wrap=True)
    for member in group.members:
        out.print(_line(_bits(member.distance), member.url, member.site), soft_wrap=True)
        for old, new in zip_longest(member.missing, member.added, fillvalue=""):
            out.print(_difference(old, new), soft_wrap=True)
    _print_rest(out, group.size - len(group.members))


def _print_rest(out: Console, number: int) -> None:
    if number:
        out.print(Text(f"and {number:,} more"))


def _line(what: str, url: str, state: str) -> Text:
    return Text(f"{what}  {printable(url)}  {printable(state)}", style="bold")


def _state(member: queries.BlockGroupMember) -> str:
    return ", ".join([member.site, *["gone"] * member.gone, *["boilerplate"] * member.boilerplate])


def _bits(distance: int) -> str:
    return count_of(distance, "bit") if distance else "identical"


def _difference(old: str, new: str) -> Text:
    return diff_line(diff_words(old, new), brackets=True)

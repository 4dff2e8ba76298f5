"""Whether the time of `clean` grows with a page's size and no faster, up to 10 MB, whatever the page is made of.

Exits with 1 where a byte of the largest page takes more than `--most` times what it takes on the smallest. A page that
is refused (too many elements) shows the time until then. With --hostile the pages are those of
tests/support/hostile_pages.py. With --structure it is the time of `CleanPage.markdown` alone, on hostile pages of any
number of elements whose every text is kept.

    python research/bench/linearity.py [--hostile] [--sizes 100000 1000000 9900000] [--method default] [--most 3]
    python research/bench/linearity.py --structure [--only "cells of a table"] [--sizes 100000 1000000 7000000]
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path

from lxml import html
from rich.console import Console
from rich.table import Table

sys.path.append(str(Path(__file__).parents[1]))  # programs are run by path
sys.path.append(str(Path(__file__).parents[2] / "tests" / "support"))

import hostile_pages
from timing import garbage_frozen, timed

from cleaning import METHODS, PageError, clean
from cleaning.blocks import Page
from cleaning.leaf_table import read_leaf_table
from cleaning.structure.marks import TextMarks
from cleaning.structure.reader import read_structure
from cleaning.structure.writers.markdown import to_markdown

SIZES = (100_000, 1_000_000, 9_900_000)
_PROSE = "It rained for the ninth day, and the river, which had been low all summer, took the mill's old bridge. "
_ROUNDS_BELOW_BYTES = 2_000_000


def article(number):
    return f"<article><h2>Part {number}</h2>" + f"<p>{number}: {_PROSE * 4}</p>" * 6 + "</article>"


def nested(number):
    return '<div class="wrap">' * 40 + f"<p>{number}: {_PROSE * 2}</p>" + "</div>" * 40


def small_blocks(number):
    return f"<li>entry {number} of the long list</li>"


def links(number):
    return f'<div class="item"><a href="/page/{number}">Leads to page {number}</a> and <a href="/more">more</a></div>'


def table(number):
    return f"<table><tr><td>Row {number}</td><td>{_PROSE}</td><td>{number}</td></tr></table>"


def one_block(number):
    return f"{number}: {_PROSE}<b>{number}</b> "


def breaks(number):
    return f"{number}: {_PROSE}<br><br>"


def unclosed(number):
    return f"<p><b>{number}<i>{_PROSE}"


KINDS = {
    part.__name__.replace("_", " "): part
    for part in (article, nested, small_blocks, links, table, one_block, breaks, unclosed)
}


def build(kind, size):
    """Return a page of about so many bytes that repeats a part; no two are the same."""
    if kind in hostile_pages.KINDS or kind in hostile_pages.STRUCTURE_KINDS:
        return hostile_pages.hostile_page(kind, size)
    part = KINDS[kind]
    parts, length = [], 0
    while length < size:
        parts.append(part(len(parts)))
        length += len(parts[-1])
    return f"<html><head><title>A long page</title></head><body>{''.join(parts)}</body></html>".encode()


def attempt(body, method):
    """Clean a page; return whether it was read."""
    try:
        clean(body, method=method)
    except PageError:
        return False
    return True


def write_markdown(page, marks):
    """Read the structure of a page and write its Markdown; a page for which that fails raises its error."""
    to_markdown(read_structure(page, marks))
    return True


def kept_whole(body):
    """Return a page of any number of elements, and the marks that keep all of its texts."""
    page = Page(html.document_fromstring(body, parser=html.HTMLParser(encoding="utf-8", huge_tree=True)))
    blocks = read_leaf_table(page.root).blocks
    return page, TextMarks(blocks, bytearray(b"\1" * len(blocks)))


def measure(kind, sizes, method):
    """Return the figures of a kind: nanoseconds a byte at each size, and the last as a multiple of the first.

    `method` is None for the structure.
    """
    costs, refused = [], []
    for size in sizes:
        body = build(kind, size)
        rounds = 3 if size < _ROUNDS_BELOW_BYTES else 1
        work = partial(write_markdown, *kept_whole(body)) if method is None else partial(attempt, body, method)
        times = [timed(work) for _ in range(rounds)]
        costs.append(round(1e9 * min(seconds for seconds, _ in times) / len(body), 1))
        if not times[0][1]:
            refused.append(size)
    return {"kind": kind, "ns_a_byte": costs, "ratio": round(costs[-1] / costs[0], 2), "refused": refused}


def show(rows, sizes, most):
    table = Table("page", *(f"{size / 1e6:g} MB: ns a byte" for size in sizes), "last ÷ first")
    for row in rows:
        cells = [_cell(ns, size in row["refused"]) for ns, size in zip(row["ns_a_byte"], sizes, strict=True)]
        table.add_row(row["kind"], *cells, f"{row['ratio']}{'' if row['ratio'] <= most else ' TOO MUCH'}")
    Console().print(table)


def _cell(ns, refused):
    return f"{ns:,} (refused)" if refused else f"{ns:,}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hostile", action="store_true", help="the pages of tests/support/hostile_pages.py")
    parser.add_argument("--structure", action="store_true", help="the structure of hostile pages")
    parser.add_argument("--only", action="append", metavar="KIND", help="pages of this kind")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="BYTES")
    parser.add_argument("--method", default="default", choices=[name for name in METHODS if not METHODS[name].needs])
    parser.add_argument("--most", type=float, default=3.0, help="bound on the last ÷ the first")
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    options = parser.parse_args()
    attempt(build("article", 10_000), options.method)  # what is loaded at first use
    kinds = hostile_pages.KINDS if options.hostile else KINDS
    if options.structure:
        kinds, options.method = hostile_pages.STRUCTURE_KINDS, None
    if unknown := set(options.only or ()) - set(kinds):
        parser.error(f"--only: there are no pages of the kind {min(unknown)!r}; there are {', '.join(kinds)}")
    with garbage_frozen():
        rows = [measure(kind, options.sizes, options.method) for kind in options.only or kinds]
    if options.json:
        print(json.dumps({"sizes": list(options.sizes), "rows": rows}, indent=2))
    else:
        show(rows, options.sizes, options.most)
    return 0 if all(row["ratio"] <= options.most for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

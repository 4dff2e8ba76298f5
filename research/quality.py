"""How well methods find the main text, and what they cost: F1, precision and recall on the development data.

News (fundus-dev) is scored by 4-gram shingles, mixed pages (wcxb-dev) by words, each page by itself, then averaged;
with 95 % intervals, from a bootstrap that draws whole hosts. With --peers, `default` and the peers are also measured on
articles and forums (magic-dev, by words and Chinese characters) and by snippets (snippets-dev). The cost is the CPU
time of `clean`, parse included, as a multiple of lxml's parse of the same bytes; all take turns on each page. `ce`
learns a site's template from the data set's pages of its host. `vce` needs a Chromium, whose time is counted apart;
without one it is left out.

    python research/quality.py [--method default | --methods all|a,b] [--without vce] [--pages 100]
        [--json | --markdown]
    python research/quality.py --peers                beside public extractors (extra `peers`), on the same pages
    python research/quality.py --cross-validate FOLDER    `default` judged by models that never saw a page's host
    python research/quality.py --write docs/methods.md      the tables of all methods in a page, and its plot
    python research/quality.py --structure [A | B]           headings, lists, tables, beside other tools' Markdown
    python research/quality.py --floors [--lower METHOD]    research/floors.json, from a pinned sample

`default` was made on this data: without --cross-validate its figures are in-sample, and marked so. FOLDER is what
`python -m research.training DATA --folds FOLDER` writes. Groups are data set, page type and language of the gold text.
The data is found through BLOCKSIEVE_DATA (default: ../shared/data beside the checkout).
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

sys.path.append(str(Path(__file__).with_name("structure")))  # programs are run by path

import corpus
import floors
import methods_table
import peers
import report
import structure_quality
from evaluation import LARGEST_PAGE, LEARNED, MORE_SETS, SETS, Equipment, Evaluation
from folds import Folds

from cleaning import METHODS
from cleaning.errors import ModelError
from crawler.errors import RenderError
from crawler.fetching.render.browser import Browser

NO_CHROMIUM = "needs Chromium"


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--method", choices=METHODS, help="one method (default: default)")
    which.add_argument("--methods", help="`all` (as for --write and --floors), or several, parted by commas")
    parser.add_argument("--without", action="append", default=[], choices=METHODS, help="leave a method out")
    parser.add_argument(
        "--peers", nargs="?", const="all", metavar="NAMES", help="public extractors too: all, or some, parted by `;`"
    )
    parser.add_argument("--cross-validate", type=Path, metavar="FOLDER", help="the folds that judge `default`")
    parser.add_argument("--pages", type=int, help="only so many pages of each data set, chosen by their hashes")
    parser.add_argument("--render-seconds", type=float, default=20.0, help="longest time for the layout of one page")
    parser.add_argument("--render-pages", type=int, help="render only so many pages of each data set (default: all)")
    parser.add_argument(
        "--structure",
        nargs="?",
        const="all",
        choices=["all", "A", "B"],
        help="how the structure of marked pages is kept",
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print figures for programs")
    shape.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    shape.add_argument("--write", type=Path, metavar="FILE", help="put the tables into this page, the plot beside it")
    shape.add_argument(
        "--floors",
        type=Path,
        nargs="?",
        const=floors.PATH,
        metavar="FILE",
        help="write the floors (research/floors.json)",
    )
    parser.add_argument("--lower", action="append", default=[], choices=METHODS, help="a method whose floor may sink")
    options = parser.parse_args()
    if not corpus.DATA.exists():
        parser.error(f"there is no data at {corpus.DATA}; set BLOCKSIEVE_DATA")
    if options.structure and structure_quality.missing():
        parser.error(f"--structure needs {', '.join(structure_quality.missing())}: pip install 'blocksieve[peers]'")
    options.methods = choose(parser, options)
    options.peers = choose_peers(parser, options.peers)
    options.folds = read_folds(parser, options)
    return options


def choose(parser, options):
    """Return the methods asked for, in the table's order."""
    names = options.methods or options.method or ("all" if options.write or options.floors else "default")
    chosen = METHODS if names == "all" else names.split(",")
    unknown = sorted(set(chosen) - METHODS.keys())
    if unknown:
        parser.error(f"unknown methods: {', '.join(unknown)}; known: {', '.join(METHODS)}")
    return [name for name in METHODS if name in chosen and name not in options.without]


def choose_peers(parser, argument):
    """Return the calls of the peers asked for, by name."""
    if argument is None:
        return {}
    names = list(peers.PEERS) if argument == "all" else [name.strip() for name in argument.split(";")]
    unknown = sorted(set(names) - peers.PEERS.keys())
    if unknown:
        parser.error(f"unknown peers: {'; '.join(unknown)}; known: {'; '.join(peers.PEERS)}")
    if peers.missing():
        parser.error(f"--peers needs {', '.join(peers.missing())}: pip install {' '.join(peers.missing())}")
    return peers.load(names)


def read_folds(parser, options):
    """Return the folds asked for; None where none are."""
    if options.cross_validate is None:
        return None
    if LEARNED not in options.methods:
        parser.error(f"--cross-validate is about {LEARNED!r}, which is not among the methods")
    if options.floors:
        parser.error("--floors are of what the package holds, and --cross-validate judges by other models")
    try:
        folds = Folds.read(options.cross_validate)
        folds.check(sample.host for name in (*SETS, *more_sets()) for sample in corpus.read_samples(name))
    except (OSError, ValueError, KeyError, ModelError) as error:
        parser.error(f"--cross-validate: no complete folds in {options.cross_validate}: {error!r}")
    return folds


def more_sets():
    """Return the sets beside the main ones that are there."""
    return [name for name in MORE_SETS if (corpus.DATA / "extraction" / name).exists()]


def start_browser(stack, methods, seconds):
    """Return a browser for the methods that need one; None, and a word on it, where there is none."""
    if all(METHODS[method].needs != "layout" for method in methods):
        return None
    try:
        return stack.enter_context(Browser(seconds=seconds, max_bytes=LARGEST_PAGE))
    except RenderError as error:
        print(
            f"not measured: {', '.join(m for m in methods if METHODS[m].needs == 'layout')}: {error}", file=sys.stderr
        )
        return None


def measure(names, methods, browser, options):
    """Return the results by data set and method."""
    equipment = Equipment(browser, options.render_pages, options.peers, options.folds)
    results = {}
    for name in names:
        samples = None if options.pages is None else corpus.pin(corpus.read_samples(name), options.pages)
        results[name] = Evaluation(name, methods, samples, equipment).run()
    return results


def write_floors(path, methods, browser, lower):
    """Write the file of floors; return the exit code, 1 where a floor would have sunk unasked."""
    rendered = [method for method in methods if METHODS[method].needs == "layout"]
    means = floors.measure([method for method in methods if method not in rendered])
    means |= floors.measure_rendered(rendered, browser)
    try:
        floors.write(path, means, {name: floors.digest(name) for name in SETS}, lower)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def main():
    options = read_arguments()
    if options.structure:
        report.print_tables(structure_quality.tables(options.structure), markdown=options.markdown)
        return 0
    with ExitStack() as stack:
        browser = start_browser(stack, options.methods, options.render_seconds)
        measured = [method for method in options.methods if browser or METHODS[method].needs != "layout"]
        if not measured:
            return 1
        if options.floors:
            return write_floors(options.floors, measured, browser, options.lower)
        results = measure(SETS, measured, browser, options)
        more = measure(more_sets(), [LEARNED], None, options) if options.peers and LEARNED in measured else {}
    if options.json:
        everything = results | more
        plain = {name: {method: asdict(result) for method, result in of.items()} for name, of in everything.items()}
        print(json.dumps(plain, indent=2))
    elif options.write:
        left_out = dict.fromkeys(set(options.methods) - set(measured), NO_CHROMIUM)
        methods_table.write(options.write, results, left_out, more)
    else:
        report.show(results | more, markdown=options.markdown)
    return 0


if __name__ == "__main__":
    sys.exit(main())

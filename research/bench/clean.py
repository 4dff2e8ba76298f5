"""What cleaning costs, step by step and beside public extractors, as a multiple of lxml's parse of the same bytes.

All is CPU time. Everything runs on every page, several rounds, another first each time; each page's best time counts.
The extractors (extra `peers`) go from the bytes of a page to its text, as `clean` does. Metadata, structure and
Markdown come on top, and are measured as they are used, on a page that was just cleaned; structure and Markdown need
the metadata's title. Before each call the garbage of the one before is collected, so that everyone pays for their own.

    python research/bench/clean.py [--rounds 3] [--pages 300] [--without-peers] [--json]

The data is found through BLOCKSIEVE_DATA (default: ../shared/data beside the checkout).
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from lxml import html
from rich.console import Console
from rich.table import Table

sys.path.append(str(Path(__file__).parents[1]))  # programs are run by path

import corpus
import peers
from peers import attempt
from timing import garbage_frozen, timed

from cleaning import Options, clean, parse
from cleaning.classifier.decide import decide
from cleaning.classifier.shipped import load_shipped_model
from cleaning.classifier.signals import read_signals
from cleaning.leaf_table import read_leaf_table
from cleaning.metadata.statements import read_statements

if TYPE_CHECKING:
    from collections.abc import Callable

OPTIONS = Options(max_bytes=100_000_000)
BASE, TEXT, WHOLE = "lxml parse", "clean, its text", "clean, text and metadata"
STRUCTURE, MARKDOWN = "its structure", "its Markdown, structure included"


def lxml_parse(body):
    html.document_fromstring(body, parser=html.HTMLParser(encoding="utf-8"))


def steps(body):
    """Return the call to time by its name: lxml's parse, then each step in the order in which `clean` takes them."""
    page = parse(body, max_bytes=OPTIONS.max_bytes)
    stated = read_statements(page.root)
    seen = read_leaf_table(page.root)
    signals = read_signals(page, stated)
    prediction = load_shipped_model().predict(seen, signals) if seen.blocks else None
    return {
        BASE: lambda: lxml_parse(body),
        "parse": lambda: parse(body, max_bytes=OPTIONS.max_bytes),
        "statements": lambda: read_statements(page.root),
        "leaf table": lambda: read_leaf_table(page.root),
        "signals": lambda: read_signals(page, stated),
        "model": lambda: load_shipped_model().predict(seen, signals) if prediction else None,
        "decide": lambda: decide(seen, prediction, OPTIONS) if prediction else None,
        TEXT: lambda: clean(body, max_bytes=OPTIONS.max_bytes).text,
        "its metadata": After(lambda: clean(body, max_bytes=OPTIONS.max_bytes), lambda cleaned: cleaned.metadata),
        WHOLE: lambda: clean(body, max_bytes=OPTIONS.max_bytes).described().text,
        STRUCTURE: After(lambda: clean(body, max_bytes=OPTIONS.max_bytes), lambda cleaned: cleaned.structure),
        MARKDOWN: After(lambda: clean(body, max_bytes=OPTIONS.max_bytes), lambda cleaned: cleaned.markdown),
    }


class After(NamedTuple):
    """A step that is timed on what another one has just made: `prepare` runs before it and costs nothing."""

    prepare: Callable[[], Any]
    call: Callable[[Any], Any]


def time_of(step):
    if isinstance(step, After):
        step = partial(step.call, step.prepare())
    return timed(step)[0]


def measure(bodies, rounds, extractors):
    """Return by name the best time of each page, in seconds."""
    seconds = defaultdict(list)
    for turn, body in enumerate(bodies):
        calls = steps(body) | {name: partial(attempt, extract, body) for name, extract in extractors.items()}
        if turn == 0:  # what is loaded at first use
            for call in calls.values():
                time_of(call)
        for name, best in fastest(calls, rounds, turn).items():
            seconds[name].append(best)
        if (turn + 1) % 50 == 0:
            print(f"{turn + 1}/{len(bodies)} pages", file=sys.stderr)
    return seconds


def fastest(calls, rounds, turn):
    """Return each call's best time; in every round, and on every page, another one is first."""
    names = list(calls)
    times = defaultdict(list)
    for number in range(rounds):
        first = (turn + number) % len(names)
        for name in names[first:] + names[:first]:
            times[name].append(time_of(calls[name]))
    return {name: min(times[name]) for name in names}


def rows(seconds):
    """Return the figures of each step and extractor: mean, median, 95th percentile in ms a page, and the multiple."""
    base = sum(seconds[BASE])
    return {
        name: {
            "ms_a_page": round(1000 * float(np.mean(spent)), 3),
            "p50_ms": round(1000 * float(np.median(spent)), 3),
            "p95_ms": round(1000 * float(np.percentile(spent, 95)), 3),
            "times_lxml_parse": round(sum(spent) / base, 3),
        }
        for name, spent in seconds.items()
    }


def show(figures, pages):
    table = Table("step or extractor", "ms a page", "p50", "p95", "× lxml parse", title=f"{pages} pages, CPU time")
    for name, row in figures.items():
        table.add_row(name, *(f"{value:.2f}" for value in row.values()), end_section=name in (WHOLE, MARKDOWN))
    Console().print(table)


def sample(most):
    """Return the bytes of an even sample of so many pages."""
    paths = sorted((corpus.DATA / "extraction").glob("*/html/*.html.gz"))
    return [gzip.decompress(path.read_bytes()) for path in paths[:: max(1, len(paths) // most)][:most]]


def find_extractors(with_peers):
    """Return the calls of the peers by name; none, and a word on it, where they are not installed."""
    if with_peers and peers.missing():
        print(
            f"extractors not measured: {', '.join(peers.missing())} missing; pip install them",
            file=sys.stderr,
        )
        return {}
    return peers.load() if with_peers else {}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=300, help="an even sample of so many pages")
    parser.add_argument("--without-peers", action="store_true", help="only our own steps")
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    options = parser.parse_args()
    if not corpus.DATA.exists():
        parser.error(f"there is no data at {corpus.DATA}; set BLOCKSIEVE_DATA")
    extractors = find_extractors(not options.without_peers)
    with garbage_frozen():
        bodies = sample(options.pages)
        figures = rows(measure(bodies, options.rounds, extractors))
    if options.json:
        versions = {name: peers.PEERS[name].version for name in extractors}
        print(json.dumps({"pages": len(bodies), "steps": figures, "versions": versions}, indent=2))
    else:
        show(figures, len(bodies))


if __name__ == "__main__":
    main()

"""What cleaning costs, step by step, as a multiple of lxml's parse of the same bytes.

Every step runs on every page in turn, several rounds; each page's best time counts, and the sums are compared.

    python tests/bench/clean.py [--rounds 3] [--pages 300] [--json]

The data is found through BLOCKSIEVE_DATA (default: ../shared/data beside the checkout).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
from pathlib import Path

from lxml import html
from rich.console import Console
from rich.table import Table

from cleaning import METHODS, Options, clean, parse
from cleaning.metadata import read_metadata

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("BLOCKSIEVE_DATA", ROOT.parent / "shared" / "data")) / "extraction"
OPTIONS = Options(max_bytes=100_000_000)
DEFAULT = METHODS["default"]


def lxml_parse(body):
    html.document_fromstring(body, parser=html.HTMLParser(encoding="utf-8"))


def steps(body):
    """Yield each step's name and the call to time, in the order in which `clean` takes them."""
    page = parse(body, max_bytes=OPTIONS.max_bytes)
    leaves = DEFAULT.segment(page, OPTIONS)
    scores = DEFAULT.score(page, leaves, OPTIONS)
    yield "lxml parse", lambda: lxml_parse(body)
    yield "parse", lambda: parse(body, max_bytes=OPTIONS.max_bytes)
    yield "segment", lambda: DEFAULT.segment(page, OPTIONS)
    yield "score", lambda: DEFAULT.score(page, leaves, OPTIONS)
    yield "decide", lambda: DEFAULT.decide(page, leaves, scores, OPTIONS)
    yield "metadata", lambda: read_metadata(page)
    yield "clean, all of it", lambda: clean(body, max_bytes=OPTIONS.max_bytes)


def measure(bodies, rounds):
    """Return the seconds that each step takes over all pages."""
    seconds = {}
    for done, body in enumerate(bodies, 1):
        for name, call in steps(body):
            seconds[name] = seconds.get(name, 0.0) + min(timed(call) for _ in range(rounds))
        if done % 50 == 0:
            print(f"{done}/{len(bodies)} pages", file=sys.stderr)
    return seconds


def timed(call):
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def bodies(most):
    paths = sorted(DATA.glob("*/html/*.html.gz"))
    return [gzip.decompress(path.read_bytes()) for path in paths[:: max(1, len(paths) // most)][:most]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=300, help="an even sample of so many pages")
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    options = parser.parse_args()
    if not DATA.exists():
        parser.error(f"there is no data at {DATA}; set BLOCKSIEVE_DATA")
    pages = bodies(options.pages)
    seconds = measure(pages, options.rounds)
    base = seconds["lxml parse"]
    rows = {
        name: {"ms_a_page": round(1000 * spent / len(pages), 3), "times_lxml_parse": round(spent / base, 3)}
        for name, spent in seconds.items()
    }
    if options.json:
        print(json.dumps({"pages": len(pages), "steps": rows}, indent=2))
        return
    table = Table("step", "ms a page", "× lxml parse", title=f"{len(pages)} pages")
    for name, row in rows.items():
        table.add_row(name, f"{row['ms_a_page']:.2f}", f"{row['times_lxml_parse']:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()

"""Whether memory stays flat over a long run of `clean`: a cycle of pages, again and again, in one process.

After the first rounds of the cycle, which fill what is kept for good, neither the resident memory at the end of a round
nor the number of living Python objects may grow by more than a bound; and no page may wait for the garbage collector:
its tree would stay in memory until then. Exits with 1 where one does. Without the development data the golden pages of
the tests are the cycle.

    python research/bench/memory.py [--pages 10000] [--cycle 200] [--method default] [--most-mb 24] [--json]
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import sys
from itertools import islice
from pathlib import Path

import psutil

sys.path.append(str(Path(__file__).parents[1]))  # programs are run by path

import corpus

from cleaning import METHODS, clean

_WARM_ROUNDS = 3
_FEWEST_ROUNDS = 6
_MOST_NEW_OBJECTS = 1_000  # over all rounds after the warm ones
_LARGEST_PAGE = 100_000_000


def read_cycle(most):
    """Return the bytes of an even sample of pages."""
    paths = sorted((corpus.DATA / "extraction").glob("*/html/*.html.gz"))
    if paths:
        return [gzip.decompress(path.read_bytes()) for path in paths[:: max(1, len(paths) // most)][:most]]
    return [path.read_bytes() for path in islice(sorted(corpus.ROOT.glob("tests/golden/*/page.html")), most)]


def run(bodies, pages, method):
    """Clean so many pages; return the resident MB and the living objects at the end of each round of the cycle."""
    ends = []
    for number in range(max(_FEWEST_ROUNDS, -(-pages // len(bodies)))):
        for body in bodies:
            clean(body, method=method, max_bytes=_LARGEST_PAGE)
        gc.collect()
        ends.append({"mb": psutil.Process().memory_info().rss / 1e6, "objects": len(gc.get_objects())})
        print(f"{(number + 1) * len(bodies)} pages: {ends[-1]['mb']:.0f} MB", file=sys.stderr)
    return ends


def count_cycles(bodies, method):
    """Return how many objects of a page, at worst, only a garbage collection frees: they hold up its tree."""
    gc.collect()
    gc.disable()
    try:
        worst = 0
        for body in bodies:
            clean(body, method=method, max_bytes=_LARGEST_PAGE)
            worst = max(worst, gc.collect())
    finally:
        gc.enable()
    return worst


def figures(ends, bodies, worst):
    """Return the growth since the end of the warm rounds: of the memory to its highest, of the objects to the last."""
    warm, rest = ends[_WARM_ROUNDS - 1], ends[_WARM_ROUNDS:]
    return {
        "pages": len(ends) * len(bodies),
        "warm_mb": round(warm["mb"], 1),
        "grown_mb": round(max(end["mb"] for end in rest) - warm["mb"], 1),
        "grown_objects": rest[-1]["objects"] - warm["objects"],
        "objects_in_cycles_at_worst": worst,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--cycle", type=int, default=200, help="how many different pages")
    parser.add_argument("--method", default="default", choices=[name for name in METHODS if not METHODS[name].needs])
    parser.add_argument("--most-mb", type=float, default=24.0, help="bound on the growth of the resident memory")
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    options = parser.parse_args()
    bodies = read_cycle(options.cycle)
    growth = figures(run(bodies, options.pages, options.method), bodies, count_cycles(bodies, options.method))
    flat = (
        growth["grown_mb"] <= options.most_mb
        and growth["grown_objects"] <= _MOST_NEW_OBJECTS
        and growth["objects_in_cycles_at_worst"] == 0
    )
    if options.json:
        print(json.dumps(growth | {"flat": flat}, indent=2))
    else:
        print(
            f"{growth['pages']:,} pages: {growth['warm_mb']} MB after {_WARM_ROUNDS} rounds of {len(bodies)}, at most "
            f"{growth['grown_mb']:+} MB and {growth['grown_objects']:+} objects since: "
            f"{'flat' if flat else 'NOT FLAT'}. "
            f"At worst {growth['objects_in_cycles_at_worst']} objects of a page wait for the garbage collector."
        )
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())

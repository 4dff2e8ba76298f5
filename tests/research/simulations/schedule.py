"""How fresh the crawler's schedule keeps a web of known change rates, beside other policies with the same requests.

    python tests/research/simulations/schedule.py [--pages 10000] [--days 60] [--budget 500 2000 8000] [--plot FILE]
    [--json]

The same arguments give the same web, the same visits and the same figures.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from changing import NAMES, web
from meter import best_possible, simulate
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rivals import RIVALS

HEAD = ["policy", "freshness", "age, days", "wasted", "visits", *NAMES]
COMPUTED = "optimum, computed"


def main():
    options = _arguments()
    changing = web(options.pages, options.days, options.seed)
    with Progress(console=Console(stderr=True)) as progress:
        meters = {budget: run(changing, budget, options.crawls, progress) for budget in options.budget}
    results = [
        {
            "budget": budget,
            COMPUTED: best_possible(changing, budget),
            "policies": {name: meter.result() for name, meter in meters_by_policy.items()},
        }
        for budget, meters_by_policy in meters.items()
    ]
    _show(options, results)
    if options.plot or options.page:
        import drawing  # noqa: PLC0415 — matplotlib takes a second, and most runs need none

        if options.page:
            drawing.write(options.page, HEAD, {title(result): rows(result) for result in results})
        if options.plot:
            middle = options.budget[len(options.budget) // 2]
            drawing.draw(options.plot, changing, meters[middle], middle)


def run(changing, budget, crawls, progress):
    """Return the meter of every policy after a simulation with a daily budget."""
    meters = {}
    for name, make in RIVALS.items():
        calendar = progress.track(moments(changing.days, budget, crawls), description=f"{name}, {budget:,} a day")
        meters[name] = simulate(changing, make(changing, budget), calendar)
    return meters


def moments(days, budget, crawls):
    """Return when crawls begin, in days, each with its requests: together the budget of each day."""
    return [
        (crawl / crawls, budget * crawl // crawls - budget * (crawl - 1) // crawls) for crawl in range(1, days * crawls)
    ]


def title(result):
    return f"{result['budget']:,} requests a day"


def rows(result):
    """Return the figures of one budget as texts in the order of HEAD."""
    return [
        [COMPUTED, f"{result[COMPUTED]:.1%}", *[""] * (len(HEAD) - 2)],
        *(
            [
                name,
                f"{policy['freshness']:.1%}",
                f"{policy['age_days']:.2f}",
                f"{policy['wasted']:.1%}",
                f"{policy['visits']:,}",
                *(
                    f"{policy['kind_freshness'][kind]:.1%}" if kind in policy["kind_freshness"] else ""
                    for kind in NAMES
                ),
            ]
            for name, policy in result["policies"].items()
        ),
    ]


def _show(options, results):
    if options.json:
        print(json.dumps({"pages": options.pages, "days": options.days, "seed": options.seed, "results": results}))
        return
    for result in results:
        table = Table(*HEAD, title=title(result), caption="* knows the true rates")
        for row in rows(result):
            table.add_row(*row)
        Console().print(table)


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--budget", type=int, nargs="+", help="requests a day (default: a fifth of the pages)")
    parser.add_argument("--crawls", type=int, default=8, help="crawls a day")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plot", type=Path, help="write an SVG of the middle budget's run")
    parser.add_argument("--page", type=Path, help="put the tables between the marks of a Markdown page")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    options.budget = options.budget or [max(1, options.pages // 5)]
    if min(options.pages, options.days, options.crawls, *options.budget) < 1:
        parser.error("pages, days, crawls and budgets are whole numbers from 1 on")
    return options


if __name__ == "__main__":
    main()

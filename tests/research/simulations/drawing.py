"""The results as a Markdown table and as a plot."""

from __future__ import annotations

import numpy as np
from changing import ARTICLE
from matplotlib import rc_context
from matplotlib.figure import Figure

BEGIN, END = "<!-- made by tests/research/simulations/schedule.py -->", "<!-- end of what is made -->"
# Rates of change, a day, between which pages are put together.
_EDGES = np.geomspace(1 / 128, 32, 13)
_LEAST = 5e-3  # visits a day that are shown


def write(page, head, results):
    """Put a table for each budget between the marks of a Markdown page; raises ValueError where there are none."""
    before, rest = page.read_text("utf-8").split(BEGIN)
    _, after = rest.split(END)
    tables = "\n\n".join(
        f"### {title}\n\n{_markdown([head, ['---'] * len(head), *rows])}" for title, rows in results.items()
    )
    page.write_text(f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}", "utf-8")


def _markdown(rows):
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def draw(path, web, meters, budget):
    """Draw freshness over the days, and visits over the rate of change; the same meters give the same bytes."""
    with rc_context({"svg.hashsalt": "blocksieve", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(10, 4.2), layout="constrained")
        days, visits = figure.subplots(1, 2)
        for number, (name, meter) in enumerate(meters.items()):
            style = {"color": f"C{number}", "linewidth": 2.5 if name == "ours" else 1.2, "label": name}
            days.plot(np.arange(web.days) + 0.5, meter.result()["daily_freshness"], **style)
            visits.plot(*_by_rate(web, meter.visits), marker=".", **style)
        days.set(title=f"freshness, {budget:,} requests a day for {len(web):,} pages", xlabel="day", ylim=(None, 1))
        visits.set(
            title="sections and other pages: visits a day, by rate of change",
            xlabel="changes a day",
            xlim=(_EDGES[0], _EDGES[-1]),
            ylim=(_LEAST, 24),
            xscale="log",
            yscale="log",
        )
        visits.legend(frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None})


def _by_rate(web, visits):
    """Return the middles of the rates' bins, and the mean visits a day of the steady pages within each."""
    steady = (web.kind != ARTICLE) & (web.first_rate > 0)
    rate, daily = web.first_rate[steady], visits[steady] / web.days
    bins = np.digitize(rate, _EDGES)
    filled = [number for number in range(1, len(_EDGES)) if (bins == number).any()]
    middles = [np.sqrt(_EDGES[number - 1] * _EDGES[number]) for number in filled]
    return middles, [max(daily[bins == number].mean(), _LEAST) for number in filled]

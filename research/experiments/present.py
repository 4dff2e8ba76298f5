"""Findings as tables in the terminal, as a summary in a Markdown page, and as plots."""

from __future__ import annotations

import math
from collections import Counter

from findings import Outcome
from provenance import Stamp
from report import Figures
from rich.console import Console
from rich.table import Table

_NARROWEST = 200  # where the output is not a terminal
_WIDTH, _HEIGHT = 4.6, 3.8  # inches a panel
_MOST_COLUMNS = 4
_ROOM = 0.3  # above the bars, for the legend
_COLOURS = {"paper": "C0", "ours": "C1"}
_GROUP = 0.8  # of the distance between ticks
_LONG_TICKS = 36  # characters of all ticks of a panel, above which they are written aslant


def show(name, finding):
    """Print a finding."""
    console = Console()
    console = console if console.is_terminal else Console(width=_NARROWEST)
    console.print(f"\n{name}: {finding.title}\n{finding.place}\n{finding.pages}\n", highlight=False)
    for figures in (*finding.tables, _verdicts(finding)):
        table = Table(*figures.head, title=figures.title)
        for row in figures.rows:
            table.add_row(*row)
        console.print(table)
    for line in _remarks(finding):
        console.print(line, highlight=False, markup=False)


def summary(findings):
    """Return a table of what became of the claims of each experiment, and what all of them were measured with."""
    rows = []
    for name, finding in findings.items():
        counts = Counter(verdict.outcome for verdict in finding.verdicts)
        rows.append([f"`{name}`: {finding.title}", *(str(counts[outcome]) for outcome in Outcome)])
    methods = dict.fromkeys(method for finding in findings.values() for method in finding.methods)
    data = dict.fromkeys(name for finding in findings.values() for name in finding.data)
    lines = [["experiment", *Outcome], ["---"] * (1 + len(Outcome)), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\n{Stamp.of(tuple(methods), tuple(data))}"


def _verdicts(finding):
    rows = [[verdict.claim, str(verdict.outcome), verdict.reason] for verdict in finding.verdicts]
    return Figures("Claims", ("claim", "verdict", "why"), rows)


def _remarks(finding):
    absent = (f"Absent: {name}: {why}." for name, why in finding.absent.items())
    return [*absent, *finding.notes, str(Stamp.of(finding.methods, finding.data))]


def draw(path, finding):
    """Draw the panels, four a row; the same finding gives the same bytes."""
    from matplotlib import rc_context  # noqa: PLC0415 — it takes a second, and most runs draw nothing
    from matplotlib.figure import Figure  # noqa: PLC0415 — as above

    with rc_context({"svg.hashsalt": "blocksieve", "svg.fonttype": "none", "font.size": 9}):
        columns = min(len(finding.panels), _MOST_COLUMNS)
        rows = math.ceil(len(finding.panels) / columns)
        figure = Figure(figsize=(_WIDTH * columns, _HEIGHT * rows), layout="constrained")
        places = figure.subplots(rows, columns, squeeze=False).ravel()
        for place, panel in zip(places, finding.panels, strict=False):
            _panel(place, panel)
        for place in places[len(finding.panels) :]:
            place.set_axis_off()
        figure.savefig(path, format="svg", metadata={"Date": None})


def _panel(place, panel):
    draw_series = _lines if panel.lines else _bars
    draw_series(place, panel)
    aslant = {"rotation": 35, "ha": "right"} if sum(len(str(tick)) for tick in panel.ticks) > _LONG_TICKS else {}
    place.set_xticks(range(len(panel.ticks)), [str(tick) for tick in panel.ticks], **aslant)
    place.set(title=panel.title, ylabel=panel.unit)
    place.margins(y=_ROOM)
    place.grid(axis="y", alpha=0.3)
    place.set_axisbelow(True)
    if panel.bounds:
        place.set_ylim(panel.bounds)
    if len(panel.series) > 1:
        place.legend(frameon=False, fontsize=8)


def _bars(place, panel):
    width = _GROUP / len(panel.series)
    for number, (name, values) in enumerate(panel.series.items()):
        offset = (number - (len(panel.series) - 1) / 2) * width
        heights = [math.nan if value is None else value for value in values]
        places = [tick + offset for tick in range(len(heights))]
        place.bar(places, heights, width, label=name, color=_COLOURS.get(name, f"C{number}"))


def _lines(place, panel):
    for number, (name, values) in enumerate(panel.series.items()):
        heights = [math.nan if value is None else value for value in values]
        style = {"marker": "o", "ms": 3, "color": f"C{number}", "label": name, "lw": 1.2}
        place.errorbar(range(len(heights)), heights, yerr=panel.errors.get(name), capsize=2, **style)

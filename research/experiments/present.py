"""Findings as tables in the terminal, as sections of a Markdown page, and as plots."""

from __future__ import annotations

import math
import re
from collections import Counter

from findings import Outcome
from provenance import Stamp
from report import Figures
from rich.console import Console
from rich.table import Table

SUMMARY = "summary"
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


def write(page, name, finding, plot):
    """Put a finding between the marks of its name in a Markdown page; `plot` is where its plot lies from there.

    Raises ValueError where the page has no such marks.
    """
    page.write_text(_put(page.read_text("utf-8"), name, section(name, finding, plot)), "utf-8")


def summarise(page, names):
    """Count the outcomes in the sections of a page, and put the table of them between the marks of `summary`."""
    text = page.read_text("utf-8")
    rows = [[_link(name, held), *_counts(held)] for name in names if (held := _held(text, name).strip())]
    page.write_text(_put(text, SUMMARY, _markdown(Figures("Claims", ("experiment", *Outcome), rows))), "utf-8")


def marks(name):
    return f"<!-- made by research/experiments.py {name} -->", f"<!-- end of {name} -->"


def _put(text, name, content):
    held = _held(text, name)
    begin, end = marks(name)
    return text.replace(f"{begin}{held}{end}", f"{begin}\n\n{content}\n\n{end}")


def _held(text, name):
    """Return what stands between the marks of a name; ValueError where it has none."""
    begin, end = marks(name)
    if text.count(begin) != 1 or end not in text.split(begin)[1]:
        raise ValueError(f"the page has no marks for {name}: {begin} and {end}, once each")
    return text.split(begin)[1].split(end)[0]


def _link(name, held):
    heading = held.splitlines()[0].removeprefix("### ")
    anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    return f"[`{name}`](#{anchor})"


def _counts(held):
    counts = Counter(re.findall(rf"^\| .+ \| ({'|'.join(Outcome)}) \| .+ \|$", held, re.MULTILINE))
    return [str(counts[outcome]) for outcome in Outcome]


def section(name, finding, plot):
    parts = [f"### `{name}`: {finding.title}", f"{finding.place}. Pages: {finding.pages}."]
    parts += [_markdown(figures) for figures in finding.tables]
    parts += [f"![{finding.title}]({plot})", _markdown(_verdicts(finding))]
    parts += [f"- {line}" for line in _remarks(finding)]
    return "\n\n".join(parts).replace("\n\n- ", "\n- ").replace("|\n- ", "|\n\n- ")


def _markdown(figures):
    lines = [figures.head, ["---"] * len(figures.head), *figures.rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"**{figures.title}**\n\n{table}"


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

"""The tables of programs, for the terminal and as Markdown, and their places in the pages of docs/."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

_NARROWEST = 200  # where the output is not a terminal
KINDS = {"data": "by data set", "type": "by page type", "language": "by language"}
_SCORES = ("pages", "F1 [95 %]", "precision [95 %]", "recall [95 %]", "under 0.5 [95 %]")


@dataclass(frozen=True)
class Figures:
    """A table: what it shows, its head and its rows of texts."""

    title: str
    head: tuple
    rows: list


def tables(results):
    """Return what the results have to show: scores by data set, type and language, then how far ours are ahead."""
    figures = []
    for kind, title in KINDS.items():
        figures.append(_scores(results, kind, title))
        figures.append(_ahead(results, kind, f"ours minus the peer's, {title}"))
    return [table for table in figures if table.rows]


def label(name, measured):
    """Return the name under which figures are printed; how those of the learned method came about is part of it."""
    return f"{name} ({measured.judged})" if measured.judged else name


def show(results, *, markdown=False):
    """Print the tables of the results."""
    print_tables(tables(results), markdown=markdown)


def print_tables(figures, *, markdown=False):
    """Print tables of figures."""
    if markdown:
        print("\n\n".join(map(as_markdown, figures)))
        return
    console = Console()
    console = console if console.is_terminal else Console(width=_NARROWEST)
    for table in figures:
        terminal_table = Table(*table.head, title=table.title)
        for row in table.rows:
            terminal_table.add_row(*row)
        console.print(terminal_table)


def as_markdown(table):
    lines = [table.head, ["---"] * len(table.head), *table.rows]
    return f"**{table.title.capitalize()}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def put(page, program, content):
    """Put what a program has measured between its marks in a Markdown page; ValueError if it has none."""
    begin, end = f"<!-- made by research/{program} -->", f"<!-- end of {program} -->"
    before, _, rest = page.read_text("utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{page} has no marks for {program}: {begin} and {end}")
    page.write_text(f"{before}{begin}\n\n{content}\n\n{end}{after}", "utf-8")


def _scores(results, kind, title):
    rows = []
    for group, (name, _), row, measured in _walk(results, kind, lambda measured: {"": measured.groups}):
        more = [str(measured.failed), f"{measured.cost}"] if kind == "data" else []
        rows.append([*group, label(name, measured), *_cells(row), *more])
    more = ("empty or failed", "× lxml parse") if kind == "data" else ()
    return Figures(title, (*_places(kind), "method", *_SCORES, *more), rows)


def _ahead(results, kind, title):
    walked = _walk(results, kind, lambda measured: measured.ahead)
    rows = [
        [*group, label(name, measured), f"− {peer}", *_cells(row, "+")] for group, (name, peer), row, measured in walked
    ]
    return Figures(title, (*_places(kind), "method", "peer", *_SCORES), rows)


def _places(kind):
    return ("data",) if kind == "data" else ("data", kind)


def _walk(results, kind, groups_of):
    """Yield the place of a row, its method and peer, its figures and what they are part of, the largest group first."""
    for data, of_set in results.items():
        groups = {group: row["pages"] for measured in of_set.values() for group, row in measured.groups.items()}
        for group in sorted(groups, key=lambda group: -groups[group]):
            place = _place(kind, data, group)
            if place is None:
                continue
            for name, measured in of_set.items():
                for peer, of_group in groups_of(measured).items():
                    if group in of_group:
                        yield place, (name, peer), of_group[group], measured


def _place(kind, data, group):
    """Return the cells that say where a group belongs; None where that is not in this table."""
    if kind == "data":
        return [data if group == "all" else f"{data}, {group}"] if ":" not in group else None
    start = f"{kind}: "
    return [data, group.removeprefix(start)] if group.startswith(start) else None


def _cells(row, sign=""):
    scores = [_cell(row[name], row["intervals"][name], sign) for name in row["intervals"]]
    return [f"{row['pages']:,}", *scores]


def _cell(mean, interval, sign):
    if interval is None:
        return f"{mean:{sign}.3f}"
    low, high = interval
    return f"{mean:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"

"""A comparison on the terminal; 12 methods fit 100 columns."""

from __future__ import annotations

from statistics import fmean, median
from typing import TYPE_CHECKING

from rich.text import Text

from crawler.compare.markup import short
from crawler.terminal import format_counters, make_console, make_table, printable

if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping

    from rich.console import Console

    from crawler.compare.figures import Figures, MethodFigures
    from crawler.compare.plan import Plan
    from crawler.compare.targets import Target

_COLUMNS = ("", "method", "pages", "blocks", "kept", "words kept", "of all", "median ms", "mean ms", "failed")
_FEWEST_FOR_AGREEMENT = 2


def show(target: Target, plan: Plan, figures: Figures) -> None:
    """Print everything on stdout."""
    out = make_console()
    out.print(_text(f"{target.name}: {_size(target, figures)}"))
    out.print(_text(_read(figures)))
    for name, why in plan.left_out.items():
        out.print(_text(f"left out: {name}: {why.removeprefix(f'{name} ')}"))
    out.print(make_table("Methods", _COLUMNS, [_row(n, *one) for n, one in enumerate(figures.methods.items(), 1)]))
    if figures.compared == 1:
        _show_reasons(out, figures)
    if len(figures.methods) >= _FEWEST_FOR_AGREEMENT:
        _show_agreement(out, figures)
    if target.several:
        _show_disagreed(out, figures)
    _show_failed(out, figures)


def sentences(figures: Figures) -> list[str]:
    """Return a line for each page that could not be compared, as far as they were noted, and one for the rest."""
    lines = [f"{name}: {failure.reason}: {failure.message}" for name, failure in figures.failed]
    rest = figures.failures.total() - len(lines)
    return [*lines, f"and {rest:,} more: {format_counters(dict(figures.failures))} in all"] if rest else lines


def _size(target: Target, figures: Figures) -> str:
    pages = f"{figures.compared:,} of {figures.pages:,} pages, " if target.several else ""
    return f"{pages}{figures.blocks:,} blocks, {figures.words:,} words"


def _read(figures: Figures) -> str:
    parts = [f"parse: {_times(figures.parse_ms)}"]
    if figures.render_ms:
        parts.append(f"rendering: {_times(figures.render_ms)}")
    if figures.parse_warnings:
        parts.append(f"parse_warnings: {format_counters(dict(figures.parse_warnings))}")
    return "; ".join(parts)


def _times(milliseconds: array[float]) -> str:
    if len(milliseconds) == 1:
        return f"{milliseconds[0]:,.1f} ms"
    return f"median {median(milliseconds):,.1f} ms, mean {fmean(milliseconds):,.1f} ms a page"


def _row(number: int, name: str, one: MethodFigures) -> list[object]:
    share = None if one.share is None else f"{one.share:.0%}"
    times = [None if ms is None else f"{ms:,.1f}" for ms in (one.median_ms, one.mean_ms)]
    ends = [_right(value) for value in (share, *times)]
    return [number, name, one.pages, one.blocks, one.kept, one.words, *ends, _failures(one.failures)]


def _failures(failures: Mapping[str, int]) -> str | None:
    return format_counters(dict(failures)) if failures else None


def _show_reasons(out: Console, figures: Figures) -> None:
    rows = [(name, _dropped(one)) for name, one in figures.methods.items() if one.pages]
    out.print(make_table("Dropped blocks by reason", ("method", "reasons"), rows))
    for name, one in figures.methods.items():
        if one.last_failure is not None:
            out.print(_text(f"{name}: {one.last_failure}"))


def _dropped(one: MethodFigures) -> str:
    return format_counters({reason: count for reason, count in one.reasons.most_common() if reason != "kept"})


def _show_agreement(out: Console, figures: Figures) -> None:
    names = list(figures.methods)
    rows = [
        [place, name, *(_agreement(figures, name, other) for other in names)] for place, name in enumerate(names, 1)
    ]
    title = "Agreement: F1 of the words that two methods keep, mean of the pages"
    out.print(make_table(title, ("", "method", *map(str, range(1, len(names) + 1))), rows))


def _agreement(figures: Figures, one: str, other: str) -> Text:
    if one == other:
        return _right("·")
    value = figures.agreement(one, other)
    return _right(short(value))


def _show_disagreed(out: Console, figures: Figures) -> None:
    least = figures.most_disagreed()
    if least:
        rows = [(_right(short(each.agreement)), each.name) for each in least]
        out.print(make_table("Least agreement", ("mean", "page"), rows))


def _show_failed(out: Console, figures: Figures) -> None:
    if figures.failures:
        out.print(_text(f"not compared: {format_counters(dict(figures.failures))}"))
        for line in sentences(figures)[: len(figures.failed)]:
            out.print(_text(f"  {line}"))


def _right(value: str | None) -> Text:
    return Text("-" if value is None else value, justify="right")


def _text(line: str) -> Text:
    return Text(printable(line))

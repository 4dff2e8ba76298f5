"""A comparison for readers: tables on the terminal, at most 100 columns wide with 12 methods, and JSON."""

from __future__ import annotations

import json
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, TextIO

from rich.text import Text

from crawler.reports.compare import CompareFailure
from crawler.reports.inert_page import percent, short
from crawler.terminal import format_counters, make_console, make_table, printable

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Iterable

    from rich.console import Console

    from crawler.reports.compare import ComparedMethod, ComparedPage, ComparisonPlan, ComparisonTotals, MethodTotals
    from crawler.reports.sources import ReportTarget, UnreadPage

METHOD_COLUMNS = ("", "method", "pages", "blocks", "kept", "words kept", "of all", "median ms", "mean ms", "failed")
_MIN_FOR_AGREEMENT = 2
_MS_DIGITS = 3
_SHARE_DIGITS = 4


def method_figures(one: MethodTotals) -> list[str]:
    """Return what stands in the METHOD_COLUMNS between the method and its failures."""
    counts = [f"{number:,}" for number in (one.pages, one.blocks, one.kept, one.words)]
    return [*counts, percent(one.share), *("–" if ms is None else f"{ms:,.1f}" for ms in (one.median_ms, one.mean_ms))]


def agreement_rows(names: Iterable[str], agreement: Callable[[str, str], float | None]) -> list[tuple[str, list[str]]]:
    """Return each method with its agreement with every method, itself included."""
    names = list(names)
    return [(one, ["·" if one == other else short(agreement(one, other)) for other in names]) for one in names]


def print_comparison(target: ReportTarget, plan: ComparisonPlan, totals: ComparisonTotals) -> None:
    """Print everything on stdout."""
    out = make_console()
    pages = f"{totals.compared:,} of {totals.pages:,} pages, " if target.several else ""
    _line(out, f"{target.name}: {pages}{totals.blocks:,} blocks, {totals.words:,} words")
    _line(out, _times_and_oddities(totals))
    for name, why in plan.left_out.items():
        _line(out, f"left out: {name}: {why.removeprefix(f'{name} ')}")
    rows = [
        [number, name, *map(_right, method_figures(one)), format_counters(dict(one.failures))]
        for number, (name, one) in enumerate(totals.methods.items(), 1)
    ]
    out.print(make_table("Methods", METHOD_COLUMNS, rows))
    if totals.compared == 1:
        _print_reasons(out, totals)
    if len(totals.methods) >= _MIN_FOR_AGREEMENT:
        _print_agreement(out, totals)
    if target.several and (least := totals.most_disagreed()):
        disagreed = [(_right(short(each.agreement)), each.name) for each in least]
        out.print(make_table("Least agreement", ("mean", "page"), disagreed))
    if totals.failures:
        _line(out, f"not compared: {format_counters(dict(totals.failures))}")
        for line in failure_lines(totals)[: len(totals.failed)]:
            _line(out, f"  {line}")


def failure_lines(totals: ComparisonTotals) -> list[str]:
    """Return a line for each page that could not be compared, as far as they were noted, and one for the rest."""
    lines = [f"{name}: {failure.reason}: {failure.message}" for name, failure in totals.failed]
    rest = totals.failures.total() - len(lines)
    return [*lines, f"and {rest:,} more: {format_counters(dict(totals.failures))} in all"] if rest else lines


class ComparisonJson:
    """Writes one object page by page: `target`, `methods`, `left_out`, `pages` (one a line), `totals`."""

    def __init__(self, stream: TextIO, target: ReportTarget, plan: ComparisonPlan) -> None:
        self._stream = stream
        self._separator = "\n"
        head = {"target": target.name, "methods": plan.methods, "left_out": plan.left_out}
        stream.write(json.dumps(head)[:-1] + ', "pages": [')

    def add(self, source: UnreadPage, found: ComparedPage | CompareFailure) -> None:
        figures = _failure_record(found) if isinstance(found, CompareFailure) else _page_record(found)
        self._stream.write(self._separator + json.dumps({"name": source.name, "url": source.url} | figures))
        self._separator = ",\n"

    def finish(self, totals: ComparisonTotals) -> None:
        self._stream.write('\n], "totals": ' + json.dumps(_totals_record(totals)) + "}\n")


def _times_and_oddities(totals: ComparisonTotals) -> str:
    parts = [f"parse: {_times(totals.parse_ms)}"]
    if totals.render_ms:
        parts.append(f"rendering: {_times(totals.render_ms)}")
    if totals.parse_warnings:
        parts.append(f"parse_warnings: {format_counters(dict(totals.parse_warnings))}")
    return "; ".join(parts)


def _times(milliseconds: array[float]) -> str:
    if len(milliseconds) == 1:
        return f"{milliseconds[0]:,.1f} ms"
    return f"median {median(milliseconds):,.1f} ms, mean {fmean(milliseconds):,.1f} ms a page"


def _print_reasons(out: Console, totals: ComparisonTotals) -> None:
    rows = []
    for name, one in totals.methods.items():
        dropped = {reason: count for reason, count in one.reasons.most_common() if reason != "kept"}
        rows += [(name, format_counters(dropped))] if one.pages else []
    out.print(make_table("Dropped blocks by reason", ("method", "reasons"), rows))
    for name, one in totals.methods.items():
        if one.last_failure is not None:
            _line(out, f"{name}: {one.last_failure}")


def _print_agreement(out: Console, totals: ComparisonTotals) -> None:
    rows = agreement_rows(totals.methods, totals.agreement)
    title = "Agreement: F1 of the words that two methods keep, mean of the pages"
    columns = ("", "method", *map(str, range(1, len(rows) + 1)))
    out.print(make_table(title, columns, [[n, name, *map(_right, cells)] for n, (name, cells) in enumerate(rows, 1)]))


def _right(value: str) -> Text:
    return Text(value, justify="right")


def _line(out: Console, line: str) -> None:
    out.print(Text(printable(line)))


def _failure_record(failure: CompareFailure) -> dict[str, Any]:
    return {"failure": {"reason": failure.reason, "message": failure.message}}


def _page_record(found: ComparedPage) -> dict[str, Any]:
    return {
        "failure": None,
        "encoding": found.page.encoding,
        "parse_warnings": list(found.page.parse_warnings),
        "blocks": len(found.leaves),
        "words": found.words,
        "parse_ms": _ms(found.parse_ms),
        "render_ms": _ms(found.render_ms),
        "methods": {name: _outcome_record(outcome, found.words) for name, outcome in found.outcomes.items()},
        "agreement": [{"methods": pair, "f1": round(value, _SHARE_DIGITS)} for pair, value in found.agreement.items()],
    }


def _outcome_record(outcome: ComparedMethod | CompareFailure, page_words: int) -> dict[str, Any]:
    if isinstance(outcome, CompareFailure):
        return _failure_record(outcome)
    return {
        "failure": None,
        "blocks": len(outcome.judged),
        "kept": len(outcome.kept),
        "words": outcome.words,
        "share": _share(outcome.words, page_words),
        "ms": _ms(outcome.ms),
        "reasons": dict(outcome.reasons),
        "kept_blocks": [{"position": block.position, "path": block.path} for block in outcome.kept],
    }


def _totals_record(totals: ComparisonTotals) -> dict[str, Any]:
    names = list(totals.methods)
    return {
        "pages": totals.pages,
        "compared": totals.compared,
        "blocks": totals.blocks,
        "words": totals.words,
        "parse_ms": _ms(sum(totals.parse_ms)),
        "render_ms": _ms(sum(totals.render_ms)) if totals.render_ms else None,
        "parse_warnings": dict(totals.parse_warnings),
        "failures": dict(totals.failures),
        "methods": {name: _method_record(one) for name, one in totals.methods.items()},
        "agreement": [
            {"methods": (one, other), "f1": round(value, _SHARE_DIGITS)}
            for place, one in enumerate(names)
            for other in names[place + 1 :]
            if (value := totals.agreement(one, other)) is not None
        ],
        "most_disagreed": [
            {"name": each.name, "agreement": round(each.agreement, _SHARE_DIGITS)} for each in totals.most_disagreed()
        ],
    }


def _method_record(one: MethodTotals) -> dict[str, Any]:
    return {
        "pages": one.pages,
        "blocks": one.blocks,
        "kept": one.kept,
        "words": one.words,
        "share": _share(one.words, one.page_words),
        "median_ms": _ms(one.median_ms),
        "mean_ms": _ms(one.mean_ms),
        "reasons": dict(one.reasons.most_common()),
        "failures": dict(one.failures),
    }


def _ms(value: float | None) -> float | None:
    return None if value is None else round(value, _MS_DIGITS)


def _share(words: int, page_words: int) -> float | None:
    return round(words / page_words, _SHARE_DIGITS) if page_words else None

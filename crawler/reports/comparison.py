"""A comparison for readers: tables on the terminal, at most 100 columns wide with 12 methods, JSON, and HTML pages.

An HTML page shows each text in the colours of the methods that keep it; an index lists several pages.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from rich.text import Text

from cleaning.blocks import Reason
from crawler.errors import CompareError
from crawler.reports.compare import CompareFailure
from crawler.reports.inert_page import INDEX, check_output, percent, render_page, short, writing
from crawler.reports.markup import RebuiltPage, TextValues, reason_words
from crawler.terminal import count_of, fields_of, format_counters, make_console, make_table, printable

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self

    from rich.console import Console

    from crawler.reports.compare import ComparedMethod, ComparedPage, ComparisonPlan, ComparisonTotals, MethodTotals
    from crawler.reports.markup import MarkedText
    from crawler.reports.scoring import GoldScores, MethodScore, ScoreTest
    from crawler.reports.sources import ReportTarget, UnreadPage

_COLUMNS = ("", "method", "pages", "blocks", "kept", "words kept", "of all", "median ms", "mean ms", "failed")
_SCORE_COLUMNS = ("method", "F1", "low", "high", "precision", "recall", "failed")
_TEST_COLUMNS = ("methods", "ahead", "low", "high", "p", "Holm", "effect")
_AGREEMENT = "Agreement: F1 of the words that two methods keep, mean of the pages"


def _method_rows(totals: ComparisonTotals) -> list[list[object]]:
    """Return the rows of the table of methods, for the terminal and for HTML."""
    rows: list[list[object]] = []
    for number, (name, method_totals) in enumerate(totals.methods.items(), 1):
        counts = [
            f"{count:,}"
            for count in (method_totals.pages, method_totals.blocks, method_totals.kept, method_totals.words)
        ]
        times = ["–" if ms is None else f"{ms:,.1f}" for ms in (method_totals.median_ms, method_totals.mean_ms)]
        figures = map(_right, [*counts, percent(method_totals.share), *times])
        rows.append([number, name, *figures, format_counters(dict(method_totals.failures))])
    return rows


def agreement_rows(names: Iterable[str], agreement: dict[tuple[str, str], float]) -> list[list[object]]:
    """Return a row for each method, with its agreement with every method; itself included."""
    names = list(names)
    known = agreement | {(column_name, row_name): value for (row_name, column_name), value in agreement.items()}
    return [
        [
            number,
            row_name,
            *(
                _right("·" if row_name == column_name else short(known.get((row_name, column_name))))
                for column_name in names
            ),
        ]
        for number, row_name in enumerate(names, 1)
    ]


def print_comparison(target: ReportTarget, plan: ComparisonPlan, totals: ComparisonTotals) -> None:
    """Print everything on stdout."""
    out = make_console()
    pages = f"{totals.compared:,} of {totals.pages:,} pages, " if target.several else ""
    _line(out, f"{target.name}: {pages}{totals.blocks:,} blocks, {totals.words:,} words")
    _line(out, _times_and_oddities(totals))
    for name, why in plan.left_out.items():
        _line(out, f"left out: {name}: {why.removeprefix(f'{name} ')}")
    out.print(make_table("Methods", _COLUMNS, _method_rows(totals)))
    if totals.compared == 1:
        _print_reasons(out, totals)
    if len(totals.methods) > 1:
        columns = ("", "method", *map(str, range(1, len(totals.methods) + 1)))
        out.print(make_table(_AGREEMENT, columns, agreement_rows(totals.methods, totals.agreement)))
    if target.several and totals.most_disagreed:
        disagreed = [
            (_right(short(disagreement.agreement)), disagreement.name) for disagreement in totals.most_disagreed
        ]
        out.print(make_table("Least agreement", ("mean", "page"), disagreed))
    if totals.failures:
        _line(out, f"not compared: {format_counters(dict(totals.failures))}")
    if target.counts is not None:
        _line(out, target.counts.describe())
        for line in failure_lines(totals)[: len(totals.failed)]:
            _line(out, f"  {line}")


def print_scores(gold: GoldScores, means: Sequence[MethodScore], tests: Sequence[ScoreTest]) -> None:
    """Print how well the methods agree with the gold texts, and each two methods with their test."""
    out = make_console()
    without = f", {count_of(gold.without, 'page')} without a gold text" if gold.without else ""
    _line(out, f"gold texts ({gold.gold.form}): {count_of(len(gold.pages), 'page')}{without}")
    rows = [
        (
            mean.method,
            *(_right(f"{value:.3f}") for value in (mean.f1, mean.low, mean.high, mean.precision, mean.recall)),
            mean.failed,
        )
        for mean in means
    ]
    out.print(make_table("F1 of the words", _SCORE_COLUMNS, rows))
    for name, failure in gold.failures.items():
        _line(out, f"{name}: {failure}")
    test_rows = [
        (
            f"{test.first} – {test.second}",
            *(_right(f"{value:+.3f}") for value in (test.difference, test.low, test.high)),
            *(_right(f"{value:.4f}") for value in (test.probability, test.adjusted)),
            _right(f"{test.effect:+.2f}"),
        )
        for test in tests
    ]
    if test_rows:
        out.print(make_table("Differences of F1 on the same pages", _TEST_COLUMNS, test_rows))


def failure_lines(totals: ComparisonTotals) -> list[str]:
    """Return a line for each noted page that could not be compared, and one line for the rest."""
    lines = [f"{name}: {failure.reason}: {failure.message}" for name, failure in totals.failed]
    rest = totals.failures.total() - len(lines)
    return [*lines, f"and {rest:,} more: {format_counters(dict(totals.failures))} in all"] if rest else lines


class ComparisonJson:
    """Writes one object page by page: `target`, `methods`, `left_out`, `pages` (one a line), `totals`, and `gold`."""

    def __init__(
        self, stream: TextIO, target: ReportTarget, plan: ComparisonPlan, gold: GoldScores | None = None
    ) -> None:
        self._stream = stream
        self._gold = gold
        self._separator = "\n"
        head: dict[str, Any] = {"target": target.name, "methods": plan.methods, "left_out": plan.left_out}
        if target.counts is not None:
            head["records"] = fields_of(target.counts, "read skipped lost shortened")
        stream.write(json.dumps(head)[:-1] + ', "pages": [')

    def add(self, source: UnreadPage, result: ComparedPage | CompareFailure) -> None:
        self._stream.write(self._separator + json.dumps(fields_of(source, "name url") | _page_record(result)))
        self._separator = ",\n"

    def finish(self, totals: ComparisonTotals) -> None:
        gold = "" if self._gold is None else f', "gold": {json.dumps(_gold_record(self._gold))}'
        self._stream.write('\n], "totals": ' + json.dumps(_totals_record(totals)) + gold + "}\n")


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
    for name, method_totals in totals.methods.items():
        dropped = {reason: count for reason, count in method_totals.reasons.most_common() if reason != "kept"}
        rows += [(name, format_counters(dropped))] if method_totals.pages else []
    out.print(make_table("Dropped blocks by reason", ("method", "reasons"), rows))
    for name, method_totals in totals.methods.items():
        if method_totals.last_failure is not None:
            _line(out, f"{name}: {method_totals.last_failure}")


def _right(value: str) -> Text:
    return Text(value, justify="right")


def _line(out: Console, line: str) -> None:
    out.print(Text(printable(line)))


def _page_record(result: ComparedPage | CompareFailure) -> dict[str, Any]:
    if isinstance(result, CompareFailure):
        return {"failure": asdict(result)}
    return {
        "failure": None,
        **fields_of(result.page, "encoding parse_warnings"),
        "blocks": len(result.leaves),
        **_rounded(fields_of(result, "words parse_ms render_ms")),
        "methods": {name: _outcome_record(outcome, result.words) for name, outcome in result.outcomes.items()},
        "agreement": _agreement_record(result.agreement),
    }


def _outcome_record(outcome: ComparedMethod | CompareFailure, page_words: int) -> dict[str, Any]:
    if isinstance(outcome, CompareFailure):
        return {"failure": asdict(outcome)}
    share = outcome.words / page_words if page_words else None
    return {
        "failure": None,
        "blocks": len(outcome.judged),
        "kept": len(outcome.kept),
        **_rounded({"words": outcome.words, "share": share, "ms": outcome.ms}),
        "reasons": outcome.reasons,
        "kept_blocks": [fields_of(block, "position path") for block in outcome.kept],
    }


def _totals_record(totals: ComparisonTotals) -> dict[str, Any]:
    render_ms = sum(totals.render_ms) if totals.render_ms else None
    return {
        **fields_of(totals, "pages compared blocks words"),
        **_rounded({"parse_ms": sum(totals.parse_ms), "render_ms": render_ms}),
        **fields_of(totals, "parse_warnings failures"),
        "methods": {name: _method_record(method_totals) for name, method_totals in totals.methods.items()},
        "agreement": _agreement_record(totals.agreement),
        "most_disagreed": [
            _rounded(fields_of(disagreement, "name agreement")) for disagreement in totals.most_disagreed
        ],
    }


def _gold_record(gold: GoldScores) -> dict[str, Any]:
    return {
        "form": gold.gold.form,
        "without": gold.without,
        "failures": gold.failures,
        "methods": [_rounded(asdict(mean)) for mean in gold.means()],
        "tests": [_rounded(asdict(test)) for test in gold.tests()],
        "pages": [
            fields_of(page, "name url site")
            | {"scores": {name: _rounded(asdict(score)) for name, score in page.scores.items()}}
            for page in gold.pages
        ],
    }


def _method_record(method_totals: MethodTotals) -> dict[str, Any]:
    figures = _rounded(fields_of(method_totals, "pages blocks kept words share median_ms mean_ms"))
    return figures | {"reasons": dict(method_totals.reasons.most_common()), "failures": method_totals.failures}


def _agreement_record(agreement: dict[tuple[str, str], float]) -> list[dict[str, Any]]:
    return [_rounded({"methods": pair, "f1": value}) for pair, value in agreement.items()]


def _rounded(figures: dict[str, Any]) -> dict[str, Any]:
    """Return figures with shares to 4 digits, and milliseconds to 3."""
    return {
        name: round(value, 3 if name.endswith("ms") else 4) if isinstance(value, float) else value
        for name, value in figures.items()
    }


def compared_page(compared: ComparedPage, max_leaves: int, index: str | None = None) -> Iterator[str]:
    """Yield the HTML page of one compared page piece by piece; `index` is the address of the page that lists it."""
    root, page, names = compared.page.root, compared.page, list(compared.results)
    title = " ".join((root.findtext("head/title") or root.findtext(".//title") or "").split())
    facts = [f"{len(compared.leaves):,} blocks", f"{compared.words:,} words"]
    facts += [page.encoding] if page.encoding else []
    facts += [f"parse {compared.parse_ms:,.1f} ms"]
    facts += [f"rendering {compared.render_ms:,.0f} ms"] if compared.render_ms is not None else []
    facts += [parse_warning.replace("_", " ") for parse_warning in page.parse_warnings]
    return render_page(
        "comparison",
        name=compared.source.name,
        page_title=title or compared.source.name,
        url=page.url,
        facts=[" · ".join(facts)],
        index=index,
        compared=compared,
        agreement=agreement_rows(names, compared.agreement) if compared.agreement else [],
        marked=_mark_page(compared, max_leaves),
        hidden=len(compared.leaves) - max_leaves,
        describe=lambda text: _describe(text, names),
    )


def _mark_page(compared: ComparedPage, max_leaves: int) -> RebuiltPage:
    """Return the page's first leaves with the decisions of the methods on their text nodes.

    Methods cut a page into different blocks, so the text node is what they have in common. A text node of a rendered
    page is found by its text: the n-th node with a text on one page is the n-th on the other. A node that only the
    rendered page has is not shown; one that it lacks has no decision.
    """
    methods = [TextValues(result.judged, by_text=result.rendered) for result in compared.results.values()]
    return RebuiltPage(compared.page.root, compared.leaves[:max_leaves], methods)


def _describe(text: MarkedText, names: Sequence[str]) -> tuple[str, str]:
    """Return a text's look, h0 if no method keeps it and h3 if all do, and which methods keep it."""
    kept, count = text.kept, len(text.kept)
    heat = 0 if not kept else 3 if count == len(names) else 2 if 2 * count >= len(names) else 1
    dropped = [
        f"{name} ({reason_words(reason)})"
        for name, reason in zip(names, text.reasons, strict=True)
        if reason is not Reason.KEPT
    ]
    lines = [f"kept by {', '.join(names[place] for place in kept)}"] * bool(kept)
    lines += [f"dropped by {', '.join(dropped)}"] * bool(dropped)
    return " ".join([f"h{heat}", *(f"k{place}" for place in kept)]), "\n".join(lines)


class _IndexRow(NamedTuple):
    """A page in the index; `failure` says why it has no file."""

    number: int
    name: str
    file: str = ""
    words: int = 0
    agreement: float | None = None
    failure: str = ""


class ComparisonPages:
    """Writes pages next to their final place and moves them there at the end: a file for a page, a folder for several.

    Used with `with`. Nothing unfinished is ever visible at the final place, and an earlier comparison stays until then.
    """

    def __init__(self, out: Path, target: ReportTarget, plan: ComparisonPlan, max_leaves: int) -> None:
        self._out, self._target, self._plan = out, target, plan
        self._max_leaves = max_leaves
        self._rows: list[_IndexRow] = []

    def __enter__(self) -> Self:
        check_output(self._out, folder=self._target.several)
        if self._target.several and self._out.resolve().is_relative_to(Path(self._target.name).resolve()):
            # The next comparison would compare its own output.
            raise CompareError(f"--html {str(self._out)!r} lies in what is compared; choose a folder outside")
        with writing(self._out):
            self._draft = Path(tempfile.mkdtemp(prefix=f".{self._out.name}-", dir=self._out.parent))
            self._pages = self._draft / "pages"
            self._pages.mkdir()
        return self

    def __exit__(self, *_exception: object) -> None:
        shutil.rmtree(self._draft, ignore_errors=True)

    def add(self, source: UnreadPage, result: ComparedPage | CompareFailure) -> None:
        """Write a page's comparison. Raises CompareError if it cannot be written."""
        number = len(self._rows) + 1
        if isinstance(result, CompareFailure):
            self._rows.append(_IndexRow(number, source.name, failure=result.reason.replace("_", " ")))
            return
        file = f"page-{number:05}.html"
        self._write(file, compared_page(result, self._max_leaves, INDEX if self._target.several else None))
        self._rows.append(_IndexRow(number, source.name, file, result.words, result.mean_agreement))

    def finish(self, totals: ComparisonTotals) -> None:
        """Move everything to its place; nothing is written if no page could be compared."""
        if not any(row.file for row in self._rows):
            return
        finished = self._pages
        if self._target.several:
            self._write(INDEX, self._index(totals))
        else:
            finished /= self._rows[0].file
        with writing(self._out):
            if self._target.several and self._out.exists():
                check_output(self._out, folder=True)  # again: it is deleted with the draft
                self._out.rename(self._draft / "earlier")
            finished.replace(self._out)

    def _write(self, file: str, parts: Iterable[str]) -> None:
        with writing(self._out), (self._pages / file).open("w", encoding="utf-8", newline="\n") as opened:
            opened.writelines(parts)

    def _index(self, totals: ComparisonTotals) -> Iterator[str]:
        facts = [
            f"{totals.compared:,} of {totals.pages:,} pages",
            f"{totals.blocks:,} blocks",
            f"{totals.words:,} words",
        ]
        facts += [f"not compared: {format_counters(dict(totals.failures))}"] if totals.failures else []
        return render_page(
            "index",
            name=self._target.name,
            facts=facts,
            left_out=self._plan.left_out,
            columns=_COLUMNS,
            methods=_method_rows(totals),
            agreement=agreement_rows(totals.methods, totals.agreement),
            rows=self._rows,
        )

"""`scrapy mine`: classify, cluster and look through the stored pages or blocks, or those of an export.

0    the result was printed
1    the database or the export cannot be read, or has too little to mine
2    an argument or option is wrong
130  Ctrl-C
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from cleaning.declare import day, did_you_mean
from crawler.commands.base import BlocksieveCommand, needs_extra
from crawler.monitoring.files import writable_path
from crawler.reading.corpus import Corpus
from crawler.reports.inert_page import check_output
from crawler.terminal import count_of, print_error, print_json, run_printing_command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from crawler.mining import Document
    from crawler.mining.results import MiningResult

_TASKS = ("classify", "cluster", "patterns", "trends")
_OUT_SUFFIXES = (".csv", ".jsonl", ".parquet")
_LABELLING = ("classify", "cluster")
# The options of each task, with their parsers' names.
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "classify": ("by", "level", "folds", "group", "min_documents"),
    "cluster": ("clusters",),
    "patterns": ("min_share", "min_confidence", "max_terms", "limit"),
    "trends": ("weeks", "recent_weeks", "until", "limit"),
}


class MineCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "classify|cluster|patterns|trends [--by COLUMN] [--from EXPORT] [--html REPORT] [--out ROWS] [--json]"

    def short_desc(self) -> str:
        return "Find classes, topics, patterns and trends in the stored pages"

    def long_desc(self) -> str:
        return (
            "classify: how well the terms of pages tell their section, site or another column, by Naive Bayes and a "
            "linear model. cluster: topics, with the number of clusters chosen by the silhouette. patterns: terms that "
            "occur together, rules and collocations. trends: terms that rise from week to week. All languages that the "
            "tokeniser cuts are mined. See docs/export.md."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--from", dest="export", metavar="EXPORT", help="a file of scrapy export, in place of the database")
        add("--unit", choices=("pages", "blocks"), help="of a database (default: pages)")
        add("--site", help="only pages of a site: registered domain, host:port, or any URL of it")
        add("--language", metavar="CODE", help="only pages in a language, such as en")
        add("--by", metavar="COLUMN", help="classify: what is told apart, such as section, site, language (section)")
        add("--level", type=int, metavar="N", help="classify: only the first N parts of labels such as news/science")
        add("--folds", type=int, metavar="N", help="classify: parts of which each is judged by the others (10)")
        add("--group", metavar="COLUMN", help="classify: never divide the pages with one value of it, such as site")
        add("--min-documents", type=int, metavar="N", help="classify: fewest documents of a label (10)")
        add("--clusters", type=int, metavar="N", help="cluster: their number (default: that of the best silhouette)")
        add("--min-share", type=float, metavar="X", help="patterns: smallest share of documents with a set of terms")
        add("--min-confidence", type=float, metavar="X", help="patterns: smallest confidence of a rule (0.3)")
        add("--max-terms", type=int, metavar="N", help="patterns: most terms of a set (3)")
        add("--weeks", type=int, metavar="N", help="trends: weeks that are looked at (12)")
        add("--recent-weeks", type=int, metavar="N", help="trends: the last of them, which are compared (1)")
        add("--until", metavar="DATE", help="trends: a day of the last week (default: the latest document's)")
        add("--limit", type=int, metavar="N", help="patterns, trends: longest list (20)")
        add("--store", metavar="NAME", help="classify, cluster: label the pages or blocks, for search --label")
        add("--html", metavar="REPORT", help="write an HTML page with pictures")
        add("--out", metavar="ROWS", help=f"write a row for each document, to {', '.join(_OUT_SUFFIXES)}")
        add("--json", action="store_true", help="print JSON")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        if len(args) != 1 or args[0] not in _TASKS:
            hint = f"; {did_you_mean(args[0], _TASKS)}" if len(args) == 1 else ""
            raise UsageError(f"name one of {', '.join(_TASKS)}{hint}", print_help=False)
        self._expect_options(args[0], opts)
        if opts.export and (opts.unit or opts.site or opts.language):
            raise UsageError("--unit, --site and --language are for a database, not for --from", print_help=False)
        if opts.store and (args[0] not in _LABELLING or opts.export):
            raise UsageError("--store is for the classes or clusters of a database", print_help=False)
        if opts.out and not opts.out.lower().endswith(_OUT_SUFFIXES):
            raise UsageError(f"--out is {opts.out!r}; it must end in {', '.join(_OUT_SUFFIXES)}", print_help=False)
        try:
            opts.until = None if opts.until is None else day().read(opts.until)
        except ValueError as error:
            raise UsageError(f"--until is {opts.until!r}: {error}", print_help=False) from error

    @staticmethod
    def _expect_options(task: str, opts: argparse.Namespace) -> None:
        for other, names in _OPTIONS.items():
            for name in set(names).difference(_OPTIONS[task]):
                if getattr(opts, name) is not None:
                    option = f"--{name.replace('_', '-')}"
                    raise UsageError(f"{option} is for scrapy mine {other}, not {task}", print_help=False)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        self.exitcode = run_printing_command(lambda: self._run(args[0], opts))

    def _run(self, task: str, opts: argparse.Namespace) -> None:
        if opts.html:
            check_output(Path(opts.html))
        out = writable_path("--out", opts.out) if opts.out else None
        with needs_extra("scrapy mine", "mining"):
            from crawler.mining import count_terms, labels, results  # noqa: PLC0415 — an extra
        documents = self._read(opts)
        counts = count_terms(documents)
        arguments = {name: getattr(opts, name) for name in _OPTIONS[task] if getattr(opts, name) is not None}
        result = _mine(task)(counts, **arguments)
        if opts.store:
            with self.database() as engine:
                stored = labels.store_labels(engine, opts.store, result, opts.unit or "pages")
            unit = "block" if opts.unit == "blocks" else "page"
            print_error(f"labelled {count_of(stored, unit)} as {opts.store}; scrapy search --label finds them")
        if opts.html:
            results.write_report(result, counts, Path(opts.html), opts.export or self._source(opts))
        if out is not None:
            rows = results.write_rows(result, out)
            print_error(f"wrote {rows:,} rows to {opts.out}")
        if opts.json:
            print_json(results.result_record(result, counts))
        else:
            results.print_result(result, counts)

    def _read(self, opts: argparse.Namespace) -> list[Document]:
        from crawler.mining import read_documents, read_export  # noqa: PLC0415 — an extra

        if opts.export:
            return read_export(opts.export)
        with self.database() as engine:
            return read_documents(Corpus(engine), opts.unit or "pages", site=opts.site, language=opts.language)

    def _source(self, opts: argparse.Namespace) -> str:
        return " ".join(
            filter(None, ["the database's", opts.language, opts.unit or "pages", opts.site and f"of {opts.site}"])
        )


def _mine(task: str) -> Callable[..., MiningResult]:
    from crawler import mining  # noqa: PLC0415 — an extra

    tasks: Mapping[str, Callable[..., MiningResult]] = {
        "classify": mining.classify,
        "cluster": mining.cluster,
        "patterns": mining.find_patterns,
        "trends": mining.find_trends,
    }
    return tasks[task]

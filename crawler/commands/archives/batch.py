"""`scrapy batch`: clean archives of any size into Parquet tables.

0    the tables are written; lost records are counted
1    the job failed, none of its input files could be read, or no record gave a page
2    an argument or option is wrong
130  Ctrl-C stopped the job; --resume continues it
"""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawler.batch.duplicates.decisions import BLOCKS_PER_TASK, PageComparisonMode
from crawler.batch.filters import RecordFilter
from crawler.commands.base import BlocksieveCommand, add_form_options, needs_extra, text_form
from crawler.config.names import set_ours
from crawler.errors import BatchError, ConfigError
from crawler.monitoring.exit_status import CANONICAL_STAT
from crawler.monitoring.progress import StatusLine
from crawler.reading.conditions import CONDITION_HELP
from crawler.teaching.site_models import read_model_file
from crawler.terminal import count_of, make_console, make_table, print_error, print_json, print_line, run_command
from crawler.visit import TextForm

if TYPE_CHECKING:
    from crawler.batch.job import BatchProgress, BatchSummary

_ENGINES = ("local", "ray")
_INTERRUPTED = 130
_LANGUAGES_MAX = 20
_REASONS = {
    "visit/": "answers",
    "filtered/": "left out",
    "record/": "records",
    "blocks/": "blocks",
    "page/": "pages",
}
_MINUTE = 60
# What datatrove does on the tables of a job, by the options that did it here before.
_MOVED = {
    "--quality": "the filters GopherQualityFilter, GopherRepetitionFilter, C4QualityFilter and LanguageFilter",
    "--mask": "the formatter PIIFormatter",
    "--phone-region": "the formatter PIIFormatter",
    "--minhash": "the steps MinhashDedupSignature to MinhashDedupFilter",
}


def _moved(what: str, option: str) -> str:
    return (
        f"{what} is no longer a part of this command: {_MOVED[option]} of datatrove read its table of pages, "
        "as docs/scale.md shows (Training data)"
    )


class _MovedOption(argparse.Action):
    """Tells what has taken the place of an option."""

    def __call__(
        self, parser: argparse.ArgumentParser, _options: argparse.Namespace, _values: object, name: str | None = None
    ) -> None:
        parser.error(_moved(name or self.dest, self.option_strings[0]))


def _page_comparison(text: str) -> str:
    if text == "minhash":
        raise argparse.ArgumentTypeError(_moved(text, "--minhash"))
    return text


class BatchCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "INPUT... --out FOLDER [options]"

    def short_desc(self) -> str:
        return "Clean archives of any size and format into Parquet tables, on this machine or on Ray"

    def long_desc(self) -> str:
        return (
            "Clean the pages of archives as `scrapy crawl archive` does, and write them to the tables pages, blocks, "
            "sightings and rejected in the folder --out. INPUT is a WARC, WET, ARC or WACZ file, a Parquet or JSON "
            "lines file with the columns url and html, a saved page, a folder or glob of these, or a list of paths "
            "(.paths, .txt, also .gz), here or at a URL that fsspec opens. See docs/scale.md."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--out", metavar="FOLDER", help="folder or URL for the tables; it must be empty, unless --resume is given")
        add("--method", metavar="NAME", help="cleaning method; the same as -s CLEANING_METHOD=NAME")
        add("--site-models", metavar="FILE", help="models of sites, as `scrapy correct --export-models` writes them")
        add(
            "--near-duplicates",
            action="store_true",
            help="compare all blocks and pages within DEDUP_DISTANCE bits, not only equal ones",
        )
        add(
            "--page-duplicates",
            choices=[mode.value for mode in PageComparisonMode],
            type=_page_comparison,
            help="how whole pages are compared; by default exact, or near with --near-duplicates",
        )
        for option in _MOVED:
            add(option, nargs="?", action=_MovedOption, help=argparse.SUPPRESS)
        add("--resume", action="store_true", help="continue the job in --out with the same INPUT and options")
        add("--engine", choices=_ENGINES, default="local", help="where the tasks run (default: local)")
        add("--workers", type=int, metavar="N", help="number of processes (default: one for each core)")
        add(
            "--ray-address",
            metavar="ADDRESS",
            help="Ray cluster to use; without it or RAY_ADDRESS, Ray starts on this machine",
        )
        add(
            "--memory",
            type=int,
            default=2_000,
            metavar="MB",
            help="memory that a page may take, on Linux (default: 2000; 0: no limit)",
        )
        add(
            "--blocks-per-task",
            type=int,
            default=BLOCKS_PER_TASK,
            metavar="N",
            help=f"blocks that a task holds while it looks for duplicates (default: {BLOCKS_PER_TASK:,})",
        )
        add("--base", default="", metavar="URL", help="where the relative paths of a list begin")
        _add_filters(parser)
        _add_text_options(parser)
        add_form_options(parser)
        add("--json", action="store_true", help="print JSON")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        if not args:
            raise UsageError(
                "INPUT is missing: name an archive, a Parquet or JSON lines file, a folder, a glob or a list",
                print_help=False,
            )
        if not opts.out:
            raise UsageError("--out is missing: name a folder for the tables", print_help=False)
        for name, low in (("workers", 1), ("memory", 0), ("blocks-per-task", 1)):
            number = getattr(opts, name.replace("-", "_"))
            if number is not None and number < low:
                raise UsageError(f"--{name} is {number}; it takes a number from {low} on", print_help=False)
        if opts.ray_address and opts.engine != "ray":
            raise UsageError("--ray-address needs --engine ray", print_help=False)
        if opts.method:
            assert self.settings is not None
            set_ours(self.settings, "CLEANING_METHOD", opts.method, priority="cmdline")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        try:
            self.exitcode = run_command(lambda: self._run(args, opts))
        except KeyboardInterrupt:
            print_error("scrapy batch: interrupted; what is done is kept, and --resume continues the job")
            self.exitcode = _INTERRUPTED

    def _run(self, args: list[str], opts: argparse.Namespace) -> None:
        with needs_extra("scrapy batch", "cluster" if opts.engine == "ray" else "batch"):
            from crawler.batch.job import BatchOptions, batch_settings, run_batch  # noqa: PLC0415 — an extra
        assert self.settings is not None
        config = self.config
        form = text_form(opts, TextForm())
        if form != TextForm() and not config.structure:
            raise ConfigError("--links, --no-html and --text-style layout need -s STRUCTURE=True")
        records = RecordFilter.of(opts.host, opts.url, (opts.since, opts.until), opts.type, opts.status)
        workers = opts.workers
        if workers is None:
            workers = 0 if opts.engine == "ray" else len(os.sched_getaffinity(0))
        models = read_model_file(opts.site_models, "--site-models", config.cleaning_method) if opts.site_models else {}
        options = BatchOptions(
            inputs=args,
            out=opts.out,
            settings=batch_settings(config, self.settings),
            base=opts.base,
            records=records,
            near_duplicates=opts.near_duplicates,
            page_duplicates=opts.page_duplicates and PageComparisonMode(opts.page_duplicates),
            memory=opts.memory,
            engine=opts.engine,
            workers=workers,
            ray_address=opts.ray_address,
            resume=opts.resume,
            blocks_per_task=opts.blocks_per_task,
            text_form=form,
            site_models=models,
            where=opts.where,
        )
        with StatusLine(config.progress) as line:
            summary = run_batch(options, lambda progress: line.show(lambda _seconds: _describe(progress)))
        if opts.json:
            print_json(asdict(summary))
        else:
            _print(summary)
        if unreadable := summary.counts.get("file/unreadable", 0):
            damage = f"{count_of(unreadable, 'input file')} of {summary.files:,} could not be read to the end"
            print_error(f"scrapy batch: {damage}; the table `rejected` has the reason of each")
            if unreadable == summary.files and not summary.counts.get("records", 0):
                raise BatchError("no input file could be read")
        if not summary.counts.get("pages", 0) and not any(name.startswith("filtered/") for name in summary.counts):
            raise BatchError(f"none of {count_of(summary.counts.get('records', 0), 'record')} gave a page")


def _add_filters(parser: argparse.ArgumentParser) -> None:
    filters = parser.add_argument_group("Which records are read (each may be given several times)")
    filters.add_argument("--host", action="append", default=[], metavar="HOST", help="a host, and all hosts below it")
    filters.add_argument(
        "--url", action="append", default=[], metavar="REGEX", help="regular expression that the URL matches"
    )
    filters.add_argument(
        "--type", action="append", default=[], metavar="TYPE", help="Content-Type, such as text/html or text/"
    )
    filters.add_argument(
        "--status", action="append", default=[], metavar="STATUS", help="HTTP status, such as 200 or 2xx"
    )
    filters.add_argument("--since", metavar="DATE", help="first day or time of the records (once)")
    filters.add_argument("--until", metavar="DATE", help="day or time before which the records end (once)")


def _add_text_options(parser: argparse.ArgumentParser) -> None:
    texts = parser.add_argument_group("Texts of the pages")
    texts.add_argument(
        "--where", action="append", default=[], metavar="CONDITION", help=f"keep pages by {CONDITION_HELP}"
    )


def _describe(progress: BatchProgress) -> str:
    parts = [f"{progress.stage} {progress.done}/{progress.tasks}"]
    if progress.records:
        rate = progress.pages / max(progress.seconds, 0.001)
        parts += [count_of(progress.records, "record"), count_of(progress.pages, "page"), f"{rate:,.0f} pages/s"]
    if progress.seconds_left is not None:
        parts.append(f"about {progress.seconds_left / _MINUTE:,.0f} min left")
    return " · ".join(parts)


def _print(summary: BatchSummary) -> None:
    counts = summary.counts
    names = ("pages", "blocks", "exact", "near", "exact_pages", "near_pages")
    stored = {name: counts.get(f"stored/{name}", 0) for name in names}
    read = f"{count_of(counts.get('records', 0), 'record')} of {count_of(summary.files, 'file')}"
    print_line(
        f"{read} in {summary.seconds:,.0f} s: "
        f"{count_of(stored['pages'], 'page')}, {count_of(stored['blocks'], 'block')}, {stored['exact']:,} exact and "
        f"{stored['near']:,} near duplicates in {summary.out}"
    )
    if repeated := stored["exact_pages"] + stored["near_pages"]:
        print_line(
            f"{count_of(repeated, 'page')} repeat an earlier one: {stored['exact_pages']:,} with an equal text and "
            f"{stored['near_pages']:,} with nearly the same; the column `duplicate_of` names it"
        )
    _print_tables(counts)
    if doubted := counts.get(CANONICAL_STAT):
        print_line(f"{CANONICAL_STAT}: {count_of(doubted, 'page')} under their own address instead of the stated one")
    lost = sum(summary.lost.values())
    if lost:
        print_line(f"lost: {lost:,}; the table `rejected` has each with its reason")


def _print_tables(counts: dict[str, int]) -> None:
    """Print how many records and blocks there are of each reason, and how many pages of each language."""
    console = make_console()
    reasons = [
        (title, name.removeprefix(start), count)
        for start, title in _REASONS.items()
        for name, count in sorted(counts.items(), key=lambda entry: -entry[1])
        if name.startswith(start) and count
    ]
    if reasons:
        console.print(make_table("Reasons", ("of", "reason", "number"), reasons))
    pages = {name.split("/")[1]: count for name, count in counts.items() if name.startswith("language/")}
    by_pages = sorted(pages, key=lambda language: -counts[f"language/{language}/pages"])
    rows = [
        (language, *(counts[f"language/{language}/{unit}"] for unit in ("pages", "words")))
        for language in by_pages[:_LANGUAGES_MAX]
    ]
    if rows:
        console.print(make_table("Languages", ("language", "pages", "words"), rows))
    if len(by_pages) > _LANGUAGES_MAX:
        others = count_of(len(by_pages) - _LANGUAGES_MAX, "other language")
        print_line(f"and {others}; --json and summary.json have all")

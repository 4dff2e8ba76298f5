"""`scrapy export`: write blocks, pages or chunks to a file for other programs.

0    the file is written
1    the database or the disk failed, or the cursor is from another database or selection
2    an argument or option is wrong
130  Ctrl-C stopped the export
143  SIGTERM stopped the export

Unless the exit code is 0, no file is written, and an existing file stays as it is.
"""

from __future__ import annotations

import signal
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawler.commands.base import BlocksieveCommand, add_form_options, text_form
from crawler.errors import QueryError
from crawler.monitoring.files import writable_path
from crawler.monitoring.progress import ProgressCounter
from crawler.reading.conditions import CONDITION_HELP
from crawler.reading.exports.export import ExportRequest, write_export, write_job_export
from crawler.reading.exports.forms import ExportForm, format_of, suffixes
from crawler.reading.exports.rows import CHUNK_FORM, ChunkLimits, ExportContent, RowFilter
from crawler.storage.database import read_transaction
from crawler.storage.queries import expect_site
from crawler.terminal import print_error, print_json, print_line, run_command
from crawler.visit import TextForm

if TYPE_CHECKING:
    import argparse

    from sqlalchemy.engine import Engine

    from crawler.reading.exports.export import ExportResult

_INTERRUPTED, _TERMINATED = 130, 143
_UNITS = ("words", "characters")


class ExportCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "OUT [--blocks | --pages | --chunks SIZE] [--from JOB] [--for FORM] [--where CONDITION] [options]"

    def short_desc(self) -> str:
        return "Write blocks, pages or chunks for other programs: tables, workbooks, corpora, datasets"

    def long_desc(self) -> str:
        return (
            "Write all blocks that pages show now, without site boilerplate, the texts of all pages, or the pages cut "
            f"into chunks for retrieval, to OUT, a file name that ends in {', '.join(suffixes())}, or a new folder "
            "with --for huggingface. The file appears complete or not at all, and crawls may run at "
            "the same time. The command prints a cursor; --since CURSOR writes the rows that are new, changed or gone "
            "since then. See docs/export.md."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        kind = parser.add_mutually_exclusive_group()
        kind.add_argument("--blocks", action="store_true", help="a row is a block (default)")
        kind.add_argument("--pages", action="store_true", help="a row is a page, with its whole text")
        kind.add_argument(
            "--chunks",
            metavar="SIZE",
            type=int,
            help="a row is a part of a page of at most SIZE words (needs STRUCTURE)",
        )
        parser.add_argument(
            "--overlap",
            metavar="N",
            type=int,
            default=0,
            help="words that a chunk repeats of the one before; 0 by default",
        )
        parser.add_argument("--unit", choices=_UNITS, default=_UNITS[0], help="of SIZE and N (default: %(default)s)")
        add_form_options(parser)
        parser.add_argument("--since", metavar="CURSOR", help="only rows that are new, changed or gone since an export")
        parser.add_argument("--site", help="only pages of a site: registered domain, host:port, or any URL of it")
        parser.add_argument("--language", metavar="CODE", help="only pages in a language, such as en")
        parser.add_argument("--from", dest="job", metavar="JOB", help="folder of a batch job, instead of the database")
        parser.add_argument(
            "--for",
            dest="form",
            choices=[form.value for form in ExportForm],
            default=ExportForm.PROGRAMS.value,
            help="who reads it: excel (CSV with a byte order mark, cells within the limit), dolma (JSON lines of "
            "documents, which datatrove reads too), huggingface (a folder with a dataset card); by default %(default)s",
        )
        parser.add_argument(
            "--where", action="append", default=[], metavar="CONDITION", help=f"keep rows by {CONDITION_HELP}"
        )
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        form = ExportForm(opts.form)
        if len(args) != 1 or (suffix := format_of(args[0], form)) is None:
            names = " ".join(args) or "missing"
            raise UsageError(
                f"OUT is {names}; it takes one file whose name ends in {', '.join(suffixes(form)) or 'anything'}"
                + ("" if form is ExportForm.PROGRAMS else f" with --for {form}"),
                print_help=False,
            )
        _expect_whole_export(opts)
        limits = _chunk_limits(opts)
        text_form = _chosen_form(opts)
        # By default Python would exit at once and leave the unfinished file behind.
        signal.signal(signal.SIGTERM, _terminate)
        try:
            self.exitcode = run_command(lambda: self._export(_Output(args[0], suffix, limits, text_form), opts))
        except KeyboardInterrupt:
            print_error("scrapy export: interrupted, nothing was written")
            self.exitcode = _INTERRUPTED

    def _export(self, output: _Output, opts: argparse.Namespace) -> None:
        config = self.config
        content = ExportContent.PAGES if opts.pages else ExportContent.BLOCKS
        content = ExportContent.CHUNKS if output.limits else content
        path = writable_path("OUT", output.name)
        rows = RowFilter.read(opts.site, opts.language)
        request = ExportRequest(
            path,
            output.suffix,
            content,
            rows,
            opts.since,
            output.limits,
            output.text_form,
            ExportForm(opts.form),
            tuple(opts.where),
            opts.job,
        )
        if opts.job is not None:
            with ProgressCounter("rows", config.progress) as counting:
                exported = write_job_export(request, counting.show)
        else:
            exported = self._export_database(request, config.progress)
        if opts.json:
            print_json(asdict(exported))
        else:
            _print(exported, whole=opts.since is None)

    def _export_database(self, request: ExportRequest, progress: str) -> ExportResult:
        rows = request.rows
        with self.database() as engine, ProgressCounter("rows", progress) as counting:
            exported = write_export(engine, request, counting.show)
            if rows.site is not None and request.since is None and not exported.rows:
                _warn_if_unknown(engine, rows.site)
        return exported


@dataclass(frozen=True, slots=True)
class _Output:
    """What the arguments and options say of the file; `limits` and `text_form` are those of ExportRequest."""

    name: str
    suffix: str
    limits: ChunkLimits | None
    text_form: TextForm | None


def _expect_whole_export(opts: argparse.Namespace) -> None:
    """Raise UsageError for options that an increment, or a batch job, does not have."""
    if opts.since is not None and (opts.where or opts.job or opts.form not in {"programs", "excel"}):
        raise UsageError(
            "--since writes rows that are gone too; it does not go with --where, --from, --for dolma or huggingface",
            print_help=False,
        )
    if opts.job is not None and (opts.chunks is not None or opts.links is not None or opts.no_html or opts.text_style):
        raise UsageError(
            "--from reads the tables of a batch job; --chunks, --links, --no-html and --text-style need a database"
        )


def _chosen_form(opts: argparse.Namespace) -> TextForm | None:
    """Return how texts are written; None for the default. Raises UsageError."""
    default = TextForm() if opts.chunks is None else CHUNK_FORM
    form = text_form(opts, default)
    if form == default:
        return None
    if form.style != default.style and not (opts.pages and opts.chunks is None):
        raise UsageError("--text-style is for the column text of pages; it needs --pages", print_help=False)
    if opts.chunks is None and not opts.pages:
        raise UsageError("--links and --no-html are for Markdown; they need --pages or --chunks SIZE", print_help=False)
    if opts.chunks is not None and form.links == "references":
        raise UsageError(
            "--links is 'references', which chunks do not have; it takes 'inline' or 'none' with --chunks",
            print_help=False,
        )
    return form


def _chunk_limits(opts: argparse.Namespace) -> ChunkLimits | None:
    """Return how pages are cut into chunks; None without --chunks. Raises UsageError."""
    if opts.chunks is None:
        if opts.overlap or opts.unit != _UNITS[0]:
            raise UsageError("--overlap and --unit need --chunks SIZE", print_help=False)
        return None
    if opts.chunks < 1:
        raise UsageError(f"--chunks is {opts.chunks}; it must be 1 or more", print_help=False)
    if not 0 <= opts.overlap < opts.chunks:
        raise UsageError(
            f"--overlap is {opts.overlap}; it takes a number from 0 to below --chunks={opts.chunks}", print_help=False
        )
    return ChunkLimits(opts.chunks, opts.overlap, opts.unit)


def _print(exported: ExportResult, *, whole: bool) -> None:
    changes = "" if whole else f" ({exported.new:,} new, {exported.changed:,} changed, {exported.gone:,} gone)"
    left_out = f", {exported.left_out:,} left out" if exported.left_out else ""
    print_line(f"wrote {exported.rows:,} {exported.content}{changes} to {exported.path}{left_out}")
    if exported.cursor is not None:
        print_line(f"cursor {exported.cursor}")


def _warn_if_unknown(engine: Engine, site: str) -> None:
    try:
        with read_transaction(engine) as connection:
            expect_site(connection, site)
    except QueryError as error:
        print_error(f"scrapy export: {error}")


def _terminate(_number: int, _frame: object) -> None:
    raise SystemExit(_TERMINATED)

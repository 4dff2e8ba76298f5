"""`scrapy correct`: teach a site by correcting some of its pages.

0    done
1    the page, the site, a file or the database cannot be used: a sentence says why
2    wrong usage
130  Ctrl-C; what is stored stays
"""

from __future__ import annotations

import getpass
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from cleaning import PageError, parse
from cleaning.errors import AnnotationError
from cleaning.teaching import SiteModel, load_site_model
from cleaning.teaching.corrections import read_corrections, write_corrections
from cleaning.teaching.site_model import write_site_models
from crawler.commands.base import BlocksieveCommand
from crawler.errors import CompareError, NotStoredError
from crawler.monitoring.files import replace_file, writable_path
from crawler.reports.correction import (
    CorrectionDialog,
    correct_by_sheet,
    find_blocks,
    finish,
    mark_blocks,
    print_preview,
    print_taught_sites,
    sheet_of,
)
from crawler.reports.explain import find_page
from crawler.storage.database import read_transaction, write_transaction
from crawler.teaching import records
from crawler.teaching.drafts import PageTeaching
from crawler.teaching.preview import ModelChange, preview_site_model
from crawler.terminal import count_of, print_json, print_line, print_progress, run_printing_command
from crawler.urls import parse_site, site_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from sqlalchemy.engine import Engine

    from cleaning.teaching import CorrectedPage
    from cleaning.teaching.draft import CorrectionDraft
    from crawler.reports.explain import PageToExplain

_ACTIONS = ("preview", "accept", "withdraw", "forget", "list", "export", "import_file", "export_models")
_WITH_PAGE = ("keep", "drop", "title", "author", "published", "sheet", "in_sheet", "part", "fetch")


class CorrectCommand(BlocksieveCommand, ScrapyCommand):
    def syntax(self) -> str:
        return "URL | --preview SITE | --accept SITE | --list | ..."

    def short_desc(self) -> str:
        return "Teach a site: correct some of its pages, and clean the others by it"

    def long_desc(self) -> str:
        return (
            "Show the blocks of a page, as they are kept or dropped today, and store what you correct: in a dialog, by "
            "--keep and --drop, or by a sheet. The other blocks of the page then count as right. --preview shows what "
            "the corrections of a site would change on its stored pages; --accept makes crawls, re-crawls and `scrapy "
            "reclean` clean by them; --withdraw ends that. One or two corrected pages are often enough."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        page = parser.add_argument_group("a page")
        what = "numbers of blocks ('3-7 12') or a text of theirs; repeatable"
        page.add_argument("--keep", metavar="BLOCKS", action="append", default=[], help=f"keep these blocks: {what}")
        page.add_argument("--drop", metavar="BLOCKS", action="append", default=[], help="drop these blocks")
        page.add_argument("--title", help="the right title of the page; '' for none")
        page.add_argument("--author", metavar="NAMES", help="its right authors, as in 'Ann Lee, Bo Ek'; '' for none")
        page.add_argument("--published", metavar="DAY", help="the right day of its publication, as in 2026-05-01")
        page.add_argument("--part", action="store_true", help="only your marks are sure, not the rest of the page")
        page.add_argument("--sheet", metavar="OUT", help="write the blocks with their marks to a file, to edit it")
        page.add_argument("--in", metavar="SHEET", dest="in_sheet", help="store the marks of an edited sheet")
        page.add_argument("--fetch", action="store_true", help="fetch the page even if it is stored")
        page.add_argument("--reader", metavar="NAME", help="who corrects (default: your user name)")
        site = parser.add_argument_group("a site, and files").add_mutually_exclusive_group()
        site.add_argument("--preview", metavar="SITE", help="show what the site's corrections would change")
        site.add_argument("--accept", metavar="SITE", help="clean the site by its corrections from now on")
        site.add_argument("--withdraw", metavar="SITE", help="clean the site without its corrections again")
        site.add_argument("--forget", metavar="URL", help="delete the correction of a page")
        site.add_argument("--list", action="store_true", help="list the sites with corrections")
        site.add_argument("--export", metavar="FILE", help="write all corrections to a file, a line of JSON a page")
        site.add_argument("--import", metavar="FILE", dest="import_file", help="store the corrections of such a file")
        site.add_argument(
            "--export-models", metavar="FILE", help="write the accepted models, for SITE_MODELS and scrapy batch"
        )
        parser.add_argument("--json", action="store_true", help="print JSON (--preview, --list)")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        actions = [name for name in _ACTIONS if getattr(opts, name)]
        if unknown := [argument for argument in args if argument.startswith("-")]:
            raise UsageError(f"unknown option: {unknown[0]}", print_help=False)
        if len(args) + len(actions) != 1:
            raise UsageError("name one page to correct, or one of --preview, --accept, --list …", print_help=False)
        if actions and (extra := [name for name in _WITH_PAGE if getattr(opts, name)]):
            raise UsageError(f"--{extra[0].removesuffix('_sheet')} needs a page", print_help=False)
        ways = [bool(opts.keep or opts.drop or _fields(opts)), bool(opts.sheet), bool(opts.in_sheet)]
        if sum(ways) > 1:
            raise UsageError("--keep and --drop, --sheet and --in do not go together", print_help=False)
        if opts.json and actions[:1] not in (["preview"], ["list"]):
            raise UsageError("--json goes with --preview and --list", print_help=False)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        def act() -> None:
            with _told():
                self._correct(args[0], opts) if args else self._act(opts)

        self.exitcode = run_printing_command(act, "interrupted; what is stored stays")

    def _correct(self, name: str, opts: argparse.Namespace) -> None:
        out = writable_path("--sheet", opts.sheet) if opts.sheet else None
        assert self.settings is not None  # set by scrapy.cmdline
        with self.database() as engine:
            source = find_page(
                name, None, self.config, self.settings, max_bytes=self.config.page_max_bytes, refetch=opts.fetch
            )
            draft = self._draft(engine, source, opts.reader or getpass.getuser())
            if out is not None:
                replace_file(out, sheet_of(draft, source.loaded.body).encode())
                print_line(f"{out}: {count_of(len(draft.decisions), 'block')}; edit the marks, then use --in {out}")
                return
            page = _corrected(draft, source, opts)
            if page is None:
                print_line("nothing is stored")
                return
            with write_transaction(engine) as connection:
                records.save_correction(connection, page)
        site = site_of(page.url)
        print_line(
            f"{page.url}: {count_of(page.marked, 'block')} corrected by {page.reader}. "
            f"See what that changes: scrapy correct --preview {site}"
        )

    def _draft(self, engine: Engine, source: PageToExplain, reader: str) -> CorrectionDraft:
        """Return today's decisions on a page, with the marks of an earlier correction."""
        if source.url is None:
            raise CompareError(f"{source.name} has no address: correct a page of a site")
        with read_transaction(engine) as connection:
            teaching = PageTeaching.read(connection, source.url)
        page = parse(source.loaded.body, source.url, source.loaded.content_type, max_bytes=self.config.page_max_bytes)
        draft = teaching.draft(page, reader, datetime.now(UTC), self.config.cleaning_options)
        if not draft.decisions:
            raise CompareError(f"{source.url} has no text to correct")
        return draft

    def _act(self, opts: argparse.Namespace) -> None:
        with self.database() as engine:
            if opts.preview or opts.accept:
                self._judge(engine, parse_site(opts.preview or opts.accept), opts)
            elif opts.withdraw:
                _withdraw(engine, parse_site(opts.withdraw))
            elif opts.forget:
                _forget(engine, opts.forget)
            elif opts.list:
                _print_sites(engine, as_json=opts.json)
            elif opts.import_file:
                _import(engine, Path(opts.import_file))
            else:
                _export(engine, opts)

    def _judge(self, engine: Engine, site: str, opts: argparse.Namespace) -> None:
        """Show what the corrections of a site change, or accept them."""
        with read_transaction(engine) as connection:
            pages = records.read_corrections(connection, site)
            stored = records.read_site_model(connection, site)
        if not pages:
            raise NotStoredError(f"no page of {site} is corrected: scrapy correct URL corrects one")
        model = SiteModel.learn(pages)
        if opts.accept:
            now = datetime.now(UTC)
            with write_transaction(engine) as connection:
                records.accept_site_model(connection, site, model, opts.reader or getpass.getuser(), now)
            print_line(
                f"{site} is cleaned by {count_of(model.pages, 'corrected page')} from now on. "
                f"Clean its stored pages again: scrapy reclean --site {site}"
            )
            return
        change = ModelChange(load_site_model(stored), model)
        preview = preview_site_model(engine, site, change, self.config.cleaning_seconds, _report)
        print_progress("")
        if opts.json:
            print_json(asdict(preview) | {"corrected_pages": model.pages, "learned": model.describe()})
        else:
            print_preview(preview, model)
            print_line(f"Accept it: scrapy correct --accept {site}")


@contextmanager
def _told() -> Iterator[None]:
    """Raise a CompareError for what is wrong with a correction or a page."""
    try:
        yield
    except (AnnotationError, PageError) as error:
        raise CompareError(str(error)) from error


def _report(done: int, total: int) -> None:
    if sys.stderr.isatty() or done == total:
        print_progress(f"{done:,} of {total:,} pages cleaned with and without the corrections")


def _corrected(draft: CorrectionDraft, source: PageToExplain, opts: argparse.Namespace) -> CorrectedPage | None:
    """Return the page with the marks of the options, of a sheet or of a dialog; None if the reader quits."""
    if opts.in_sheet:
        try:
            sheet = Path(opts.in_sheet).expanduser().read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CompareError(f"--in is {opts.in_sheet!r}, which cannot be read: {error}") from error
        return correct_by_sheet(draft, source.loaded.body, sheet)
    fields = _fields(opts)
    if not (opts.keep or opts.drop or fields):
        return CorrectionDialog(draft, _ask).run()
    page = draft.page.with_fields(draft.correct_fields(fields))
    for words, mark in [*((words, True) for words in opts.keep), *((words, False) for words in opts.drop)]:
        page = mark_blocks(page, find_blocks(draft, words), mark)
    return finish(page, finished=not opts.part)


def _fields(opts: argparse.Namespace) -> dict[str, str]:
    """Return the corrected fields by their names in `cleaning.teaching.fields`."""
    answers = {"title": opts.title, "authors": opts.author, "published": opts.published}
    return {name: answer for name, answer in answers.items() if answer is not None}


def _ask(question: str) -> str | None:
    try:
        return input(question)
    except EOFError:
        return None


def _withdraw(engine: Engine, site: str) -> None:
    with write_transaction(engine) as connection:
        withdrawn = records.withdraw_site_model(connection, site)
    if not withdrawn:
        raise NotStoredError(f"{site} is cleaned without corrections: none were accepted")
    print_line(f"{site} is cleaned without its corrections again. They are kept: --accept {site} uses them")


def _forget(engine: Engine, url: str) -> None:
    with write_transaction(engine) as connection:
        forgotten = records.delete_correction(connection, url)
    if not forgotten:
        raise NotStoredError(f"{url} is not corrected; --list lists the sites")
    site = site_of(url)
    print_line(f"the correction of {url} is deleted; --accept {site} learns the site's model again without it")


def _print_sites(engine: Engine, *, as_json: bool) -> None:
    with read_transaction(engine) as connection:
        sites = records.read_taught_sites(connection)
    if as_json:
        print_json([asdict(taught) | {"is_pending": taught.is_pending} for taught in sites])
    else:
        print_taught_sites(sites)


def _import(engine: Engine, path: Path) -> None:
    try:
        pages = read_corrections(path.expanduser().read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise CompareError(f"--import is {str(path)!r}, which cannot be read: {error}") from error
    except AnnotationError as error:
        raise CompareError(f"{path}, {error}") from error
    with write_transaction(engine) as connection:
        for page in pages:
            records.save_correction(connection, page)
    sites = Counter(site_of(page.url) for page in pages)
    print_line(f"{path}: {count_of(len(pages), 'corrected page')} of {count_of(len(sites), 'site')}")


def _export(engine: Engine, opts: argparse.Namespace) -> None:
    option = "--export-models" if opts.export_models else "--export"
    out = writable_path(option, opts.export_models or opts.export)
    with read_transaction(engine) as connection:
        if opts.export_models:
            models = records.read_site_models(connection)
            text = write_site_models(models)
            counted = count_of(len(models), "site model")
        else:
            pages = records.read_corrections(connection)
            text = write_corrections(pages)
            counted = count_of(len(pages), "corrected page")
    replace_file(out, text.encode())
    print_line(f"{out}: {counted}")

"""Corrections in the terminal: the sheet of a page, the dialog on it, and the preview of a site's model."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from cleaning.blocks import PageType
from cleaning.errors import AnnotationError
from cleaning.teaching import correct
from cleaning.teaching.sheet import (
    Mark,
    MarkedPage,
    digest_body,
    main_marks,
    read_sheet,
    show_blocks,
    write_sheet,
)
from crawler.errors import CompareError
from crawler.terminal import count_of, cut_text, format_time, make_console, make_table, print_line, printable
from crawler.urls import site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cleaning.blocks import Block
    from cleaning.teaching import CorrectedPage, SiteModel
    from cleaning.teaching.draft import CorrectionDraft
    from crawler.teaching.preview import SitePreview
    from crawler.teaching.records import TaughtSite

COMMANDS = """\
+ 3-7 12     keep these blocks        + "a text"   keep the blocks with this text
- 3-7 12     drop these blocks        - "a text"   drop the blocks with this text
= 3-7 12     take back your marks     show         all blocks again
title TEXT   its right title          author NAMES its right authors ("" for none)
published DAY  its right day, as in 2026-05-01
done         store: the rest is right part         store: only the marks are sure
quit         store nothing
"""
_CHANGE = re.compile(r"([+=-])\s*(.+)")
_STATEMENT = re.compile(r"(title|author|published)\b\s*(.*)")
_FIELDS = {"title": "title", "author": "authors", "published": "published"}
_NUMBERS = re.compile(r"\d+(?:\s*-\s*\d+)?(?:[\s,]+\d+(?:\s*-\s*\d+)?)*")
_MARKS = {"+": True, "-": False, "=": None}
_EXAMPLE_CELLS = 200


def find_blocks(draft: CorrectionDraft, words: str) -> list[int]:
    """Return the positions of the blocks that numbers (`3-7 12`) or a text name.

    Raises AnnotationError for a number or a text that the page does not have.
    """
    if _NUMBERS.fullmatch(words.strip()):
        parts = re.findall(r"(\d+)(?:\s*-\s*(\d+))?", words)
        numbers = [number for first, last in parts for number in range(int(first), int(last or first) + 1)]
        wrong = [number for number in numbers if number >= len(draft.decisions)]
        if wrong or not numbers:
            raise AnnotationError(f"{words.strip()!r} names no blocks; the page has 0 to {len(draft.decisions) - 1}")
        return numbers
    text = " ".join(words.strip().strip('"').split()).casefold()
    positions = [
        position
        for position, decision in enumerate(draft.decisions)
        if text and text in " ".join(decision.block.text.split()).casefold()
    ]
    if not positions:
        raise AnnotationError(f"no block has the text {words.strip()!r}")
    return positions


def mark_blocks(page: CorrectedPage, positions: Iterable[int], mark: bool | None) -> CorrectedPage:
    """Return the page with a mark on some blocks; None takes the marks back."""
    return correct(page, dict.fromkeys(positions, mark))


class CorrectionDialog:
    """The dialog on a page: `answer` reads a line, None at the end of all lines."""

    def __init__(self, draft: CorrectionDraft, answer: Callable[[str], str | None]) -> None:
        self._draft = draft
        self._answer = answer
        self._page = draft.page

    def run(self) -> CorrectedPage | None:
        """Return the corrected page; None if the reader quits."""
        self._show(range(len(self._draft.decisions)))
        self._show_fields()
        _print_commands()
        while True:
            line = self._answer("correct> ")
            if line is None or line.strip() == "quit":
                return None
            if line.strip() in {"done", "part"}:
                return finish(self._page, finished=line.strip() == "done")
            try:
                self._obey(line.strip())
            except AnnotationError as error:
                print_line(printable(error))
                _print_commands()

    def _obey(self, line: str) -> None:
        change = _CHANGE.fullmatch(line)
        statement = _STATEMENT.fullmatch(line)
        if line == "show":
            self._show(range(len(self._draft.decisions)))
        elif statement is not None:
            self._correct_field(*statement.groups())
        elif change is None:
            raise AnnotationError(f"{line!r} is no command")
        else:
            positions = find_blocks(self._draft, change[2])
            self._page = mark_blocks(self._page, positions, _MARKS[change[1]])
            self._show(positions)

    def _correct_field(self, name: str, words: str) -> None:
        if not words:
            raise AnnotationError(f'say which {name} is right, or {name} "" if the page has none')
        answer = words[1:-1] if len(words) > 1 and words[0] == words[-1] == '"' else words
        self._page = self._page.with_fields(self._draft.correct_fields({_FIELDS[name]: answer}))
        self._show_fields()

    def _show_fields(self) -> None:
        answers = replace(self._draft, page=self._page).answers
        for name, key in _FIELDS.items():
            corrected = " (corrected)" if key in self._page.fields else ""
            print_line(printable(f"{name}: {answers[key] or 'none'}{corrected}"))

    def _show(self, positions: Iterable[int]) -> None:
        for position in positions:
            block = self._page.blocks[position]
            sign = "+" if block.right else "-"
            marked = "*" if block.mark is not None else " "
            print_line(printable(f"{sign}{marked}{show_blocks([self._draft.decisions[position].block])}"))


def _print_commands() -> None:
    for line in COMMANDS.splitlines():
        print_line(line)


def finish(page: CorrectedPage, *, finished: bool) -> CorrectedPage:
    """Return the page as it is stored. Raises AnnotationError for an unfinished page of which nothing is corrected."""
    stored = replace(page, finished=finished)
    if not stored.teaches:
        raise AnnotationError(
            "nothing is corrected: mark a block, correct a title, author or date, or say that the rest is right"
        )
    return stored


def sheet_of(draft: CorrectionDraft, body: bytes) -> str:
    """Return the sheet of a page, with today's decisions as marks."""
    marks = tuple(Mark.MAIN if block.right else Mark.OTHER for block in draft.page.blocks)
    return write_sheet([_marked_page(draft, body, marks)])


def correct_by_sheet(draft: CorrectionDraft, body: bytes, sheet: str) -> CorrectedPage:
    """Return the page as a sheet marks it.

    With an undecided block, only the others are sure. Raises AnnotationError for a sheet of another page, or of another
    state of this one.
    """
    page = _marked_page(draft, body, ())
    pages = read_sheet(sheet, {page.name: page})
    if len(pages) != 1:
        raise AnnotationError(f"the sheet has {len(pages)} pages; it must have {page.name} alone")
    (marked,) = pages
    main = main_marks(marked.type)
    finished = Mark.UNDECIDED not in marked.marks
    marks = {
        position: mark in main
        for position, (mark, block) in enumerate(zip(marked.marks, draft.page.blocks, strict=True))
        if mark is not Mark.UNDECIDED and (not finished or (mark in main) != block.kept)
    }
    return finish(correct(draft.page, marks), finished=finished)


def _marked_page(draft: CorrectionDraft, body: bytes, marks: tuple[Mark, ...]) -> MarkedPage:
    blocks: tuple[Block, ...] = tuple(decision.block for decision in draft.decisions)
    site = site_of(draft.page.url)
    digest = digest_body(body)
    return MarkedPage(digest, f"{site}/{digest}", "-", draft.page.url, PageType.ARTICLE, blocks, marks)


def print_preview(preview: SitePreview, model: SiteModel) -> None:
    """Print what a model has learned and what it would change."""
    if preview.pages == 0:
        raise CompareError(
            f"no page of {preview.site} can be cleaned for a preview: none is stored with its HTML (KEEP_HTML); "
            "--accept uses the corrections all the same"
        )
    console = make_console()
    print_line(
        f"{preview.site}: learned from {count_of(model.pages, 'corrected page')}. On "
        f"{count_of(preview.pages, 'stored page')}, {preview.changed:,} would change: "
        f"{count_of(preview.blocks_dropped, 'block')} dropped ({preview.words_dropped:,} words), "
        f"{count_of(preview.blocks_kept, 'block')} kept in addition ({preview.words_kept:,} words), of "
        f"{preview.words_before:,} kept words today."
    )
    if preview.fields_changed:
        print_line(f"{count_of(preview.fields_changed, 'page')} would get another title, author or date.")
    if preview.unlike:
        print_line(f"It does not fit {count_of(preview.unlike, 'page')}, which stay as they are.")
    left_out = {
        "without HTML or too hard to clean": preview.unread,
        "of a method that cannot be taught": preview.other_methods,
    }
    if any(left_out.values()):
        parts = [f"{count_of(count, 'page')} {note}" for note, count in left_out.items() if count]
        print_line(f"Not cleaned: {', '.join(parts)}")
    for example in preview.examples:
        sign, style = ("+", "green") if example.keep else ("-", "red")
        console.print(Text(printable(example.url), "dim"), soft_wrap=True)
        console.print(Text(f"  {sign} {printable(cut_text(example.text, _EXAMPLE_CELLS))}", style), soft_wrap=True)
    if model.weights:
        print_line("What it has learned, the strongest first:")
    for line in model.describe(10):
        print_line(f"  {printable(line)}")


def print_taught_sites(sites: Sequence[TaughtSite]) -> None:
    """Print a row for each site with corrections or a model."""
    rows = [
        (
            taught.site,
            taught.pages,
            taught.marks,
            format_time(taught.last),
            "no model" if taught.accepted is None else f"{count_of(taught.learned_pages or 0, 'page')}",
            format_time(taught.accepted),
            "yes" if taught.is_pending else "",
        )
        for taught in sites
    ]
    columns = ("site", "corrected pages", "marks", "last", "model of", "accepted", "not accepted yet")
    make_console().print(make_table(count_of(len(rows), "site"), columns, rows))

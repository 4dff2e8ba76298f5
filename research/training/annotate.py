"""`python -m research.training annotate POOL` and `agreement POOL`: readers mark the blocks of pages."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cleaning.blocks import PageType
from cleaning.errors import AnnotationError, PageError
from cleaning.teaching.corrections import read_corrections
from cleaning.teaching.sheet import Mark, read_sheet, show, show_blocks, write_sheet
from research.training.agreement import report
from research.training.annotations import (
    ANNOTATIONS,
    READER,
    read_annotations,
    read_file,
    write_annotations,
)
from research.training.pool import read_pool
from research.training.sheet import annotated, guess_page, marks_of_correction, recall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TextIO

    from cleaning.teaching.sheet import MarkedPage
    from research.training.annotations import PageAnnotation
    from research.training.pool import PoolPage

_FAILED = 1
_EPILOG = """\
examples:
  python -m research.training annotate ../shared/data/pool --reader reader-01 --pages 'gne_*'
  python -m research.training annotate ../shared/data/pool --pages 'gne_*' --part 1/4 --out sheet.txt
  python -m research.training annotate ../shared/data/pool --reader reader-01 --in sheet.txt
  python -m research.training annotate pages --reader reader-01 --corrections corrections.jsonl
  python -m research.training annotate ../shared/data/sites --type article --out sheet.txt
  python -m research.training agreement ../shared/data/pool

POOL is a folder with truth.jsonl (id, html_path, url, encoding) or index.tsv (site, file, url, decodes_as).
A sheet has a line for each block, and one for several short blocks in a row. Edit the marks at the beginning of the
lines and the page types, nothing else. For some blocks of a shared line, add a line below it, as in "+ 34-36".

marks: + main text, h headline, s standfirst, c caption, - other, ? undecided (research/training/CONVENTION.md)
exit code: 0 done, 1 a page, a sheet or stored annotations cannot be used, 2 wrong usage
"""
_COMMANDS = """\
Commands: a mark and numbers of blocks, as in "- 3-7 12"; "type NAME"; "show"; "skip"; "quit";
an empty line stores the page.
"""
_AGREED = "agreed.txt"
_LICENCE = """\
The corrections become annotations of the project under its licence, Apache 2.0: digests of texts and your marks, no
text. The models of the project are trained on them, and everybody may use both. You made them yourself, or may give
them away. Do you agree? [y/N] """
_CHANGE = re.compile(r"(\S)((?: +\d+(?:-\d+)?)+)")


class _Part(NamedTuple):
    """One of several equal parts of the pages."""

    number: int
    parts: int


def main(arguments: Sequence[str]) -> int:
    """Run one of the commands with its arguments; return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command == "annotate" and options.reader is None and not options.out:
        parser.error("--reader NAME is needed, except for a sheet of today's guesses (--out FILE)")
    try:
        pages = read_pool(options.pool)
    except (OSError, ValueError, KeyError) as error:
        parser.error(f"{options.pool} has no list of pages that can be read (truth.jsonl or index.tsv): {error!r}")
    try:
        done: int = options.run(options, pages)
    except (AnnotationError, PageError, OSError, EOFError) as error:
        sys.stderr.write(f"{error}\n")
        return _FAILED
    return done


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m research.training",
        description="Mark the blocks of saved pages by reading, and compare the marks of several readers.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    annotate = _command(commands.add_parser, "annotate", "mark the blocks of pages", _annotate)
    annotate.add_argument("--reader", metavar="NAME", type=_reader, help="whose decisions are read and stored")
    annotate.add_argument(
        "--pages", metavar="PATTERN", action="append", help="only pages whose id matches, as in 'gne_*'"
    )
    annotate.add_argument("--type", type=PageType, choices=PageType, help="only pages that look like this type")
    annotate.add_argument(
        "--part", type=_part, metavar="K/N", default=_Part(1, 1), help="only the K-th of N equal parts"
    )
    annotate.add_argument("--replace", action="store_true", help="store decisions that differ from the stored ones")
    files = annotate.add_mutually_exclusive_group()
    files.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="write a sheet: the guesses, or the reader's decisions if there are any",
    )
    files.add_argument("--in", metavar="FILE", type=Path, dest="sheet", help="store the decisions of a sheet")
    files.add_argument(
        "--corrections",
        metavar="FILE",
        type=Path,
        help="store the corrections of POOL's pages, as `scrapy correct --export` writes them",
    )
    annotate.add_argument(
        "--agree", action="store_true", help="agree to the licence of stored corrections, which is asked for once"
    )
    _command(commands.add_parser, "agreement", "compare the marks of readers on today's blocks", _agreement)
    return parser


def _command(
    add: Callable[..., argparse.ArgumentParser], name: str, text: str, run: Callable[..., int]
) -> argparse.ArgumentParser:
    parser = add(
        name, help=text, description=text, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(run=run)
    parser.add_argument("pool", type=Path, metavar="POOL", help="folder of saved pages")
    parser.add_argument(
        "--annotations", type=Path, metavar="FOLDER", default=ANNOTATIONS, help="where decisions are stored"
    )
    return parser


def _reader(text: str) -> str:
    if not READER.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a reader: {READER.pattern}")
    return text


def _part(text: str) -> _Part:
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is no part of the pages, as 2/4 is")
    return _Part(int(match[1]), int(match[2]))


def _annotate(options: argparse.Namespace, pages: Sequence[PoolPage]) -> int:
    if options.sheet:
        return _take_in(options, pages)
    if options.corrections:
        return _take_corrections(options, pages, _Terminal(sys.stdin, sys.stderr))
    chosen = list(_choose(options, pages))
    if not chosen:
        sys.stderr.write(f"{options.pool} has no such page with text\n")
        return _FAILED
    if options.out:
        options.out.write_text(write_sheet(chosen), "utf-8")
        blocks = sum(len(page.blocks) for page in chosen)
        sys.stderr.write(f"{options.out}: {len(chosen)} pages, {blocks:,} blocks\n")
        return 0
    return _ask(options, chosen, _Terminal(sys.stdin, sys.stdout))


def _choose(options: argparse.Namespace, pages: Iterable[PoolPage]) -> Iterator[MarkedPage]:
    """Yield the pages that the options name and that have text, with the reader's decisions if there are any."""
    stored = _stored(options)
    patterns = options.pages or ["*"]
    matching = [page for page in pages if any(fnmatchcase(page.id, pattern) for pattern in patterns)]
    guesses = map(guess_page, matching)
    marked_pages = [page for page in guesses if page.blocks and options.type in {None, page.type}]
    if len(marked_pages) < len(matching):
        sys.stderr.write(f"{len(matching) - len(marked_pages)} pages have no text or look like another type\n")
    number, parts = options.part.number, options.part.parts
    for page in marked_pages[len(marked_pages) * (number - 1) // parts : len(marked_pages) * number // parts]:
        yield recall(page, stored[page.name]) if page.name in stored else page


def _stored(options: argparse.Namespace) -> dict[str, PageAnnotation]:
    if options.reader is None:
        return {}
    annotations = read_file(options.annotations / f"{options.reader}.tsv")
    return {annotation.page_name: annotation for annotation in annotations}


def _take_in(options: argparse.Namespace, pages: Sequence[PoolPage]) -> int:
    text = options.sheet.read_text("utf-8")
    named = set(re.findall(r"^page \S+ (\S+) ", text, re.MULTILINE))
    marked_pages = {page.name: page for page in map(guess_page, pages_named(pages, named))}
    try:
        annotations = [annotated(page, options.reader) for page in read_sheet(text, marked_pages)]
    except AnnotationError as error:
        raise AnnotationError(f"{options.sheet}, {error}") from error
    path = write_annotations(annotations, options.reader, options.annotations, replace=options.replace)
    sys.stderr.write(f"{path}: {_counted(annotations)}\n")
    return 0


def _take_corrections(options: argparse.Namespace, pages: Sequence[PoolPage], terminal: _Terminal) -> int:
    """Store the corrections of the pages of the pool as the reader's decisions."""
    try:
        corrected = {page.url: page for page in read_corrections(options.corrections.read_text("utf-8"))}
    except (AnnotationError, UnicodeDecodeError) as error:
        raise AnnotationError(f"{options.corrections}, {error}") from error
    matching = [page for page in pages if page.url in corrected and corrected[page.url].blocks]
    if not matching:
        raise AnnotationError(f"{options.corrections} has no page of {options.pool}: the addresses must be the same")
    _expect_licence(options, terminal)
    marked_pages = [page for page in map(guess_page, matching) if page.blocks]
    annotations = [
        annotated(replace(page, marks=marks_of_correction(page, corrected[page.url or ""])), options.reader)
        for page in marked_pages
    ]
    path = write_annotations(annotations, options.reader, options.annotations, replace=options.replace)
    left = len(corrected) - len(annotations)
    sys.stderr.write(f"{path}: {_counted(annotations)}; {left} corrected pages are not in {options.pool}\n")
    return 0


def _expect_licence(options: argparse.Namespace, terminal: _Terminal) -> None:
    """Ask whether the reader gives the corrections to the project; the answer is kept beside the annotations.

    Raises AnnotationError if not.
    """
    agreed = options.annotations / _AGREED
    readers = agreed.read_text("utf-8").split() if agreed.is_file() else []
    if options.reader in readers:
        return
    if not options.agree and (terminal.ask(_LICENCE) or "").lower() not in {"y", "yes"}:
        raise AnnotationError("nothing is stored: --agree, or the answer y, gives the corrections to the project")
    options.annotations.mkdir(parents=True, exist_ok=True)
    agreed.write_text("".join(f"{reader}\n" for reader in [*readers, options.reader]), "utf-8")


def pages_named(pages: Iterable[PoolPage], names: Iterable[str]) -> list[PoolPage]:
    """Return the pages with these names (`SET/ID`), in the order of the pages; unknown names are left out."""
    wanted = set(names)
    return [page for page in pages if page.name in wanted]


def _counted(annotations: Sequence[PageAnnotation]) -> str:
    marks = [text.mark for annotation in annotations for text in annotation.texts]
    undecided = marks.count(Mark.UNDECIDED)
    return f"{len(annotations)} pages, {len(marks) - undecided:,} blocks decided, {undecided:,} undecided"


def _agreement(options: argparse.Namespace, pages: Sequence[PoolPage]) -> int:
    names = {page.set for page in pages}
    stored = read_annotations(options.annotations)
    annotations = [annotation for annotation in stored if annotation.set in names]
    named = pages_named(pages, (annotation.page_name for annotation in annotations))
    sys.stdout.write(report(annotations, {page.name: page for page in map(guess_page, named)}))
    return 0


class _Terminal(NamedTuple):
    """Where a reader's answers come from and what the reader sees."""

    answers: TextIO
    screen: TextIO

    def ask(self, question: str) -> str | None:
        """Return the answer to a question; None at the end of all answers."""
        self.screen.write(question)
        self.screen.flush()
        answer = self.answers.readline()
        return answer.strip() if answer else None


def _ask(options: argparse.Namespace, pages: Sequence[MarkedPage], terminal: _Terminal) -> int:
    """Show the pages one by one and store what the reader decides; stored pages are not asked for again."""
    stored = _stored(options)
    left = [page for page in pages if options.replace or page.name not in stored]
    terminal.screen.write(_COMMANDS)
    for number, page in enumerate(left, 1):
        terminal.screen.write(f"\n{number} of {len(left)}\n" + "".join(f"{line}\n" for line in show(page)))
        dialog = _Dialog(page, terminal)
        ended = dialog.run()
        if ended == "quit":
            break
        if ended == "store":
            annotation = annotated(replace(page, marks=tuple(dialog.marks), type=dialog.type), options.reader)
            path = write_annotations([annotation], options.reader, options.annotations, replace=options.replace)
            terminal.screen.write(f"{path}: {_counted([annotation])}\n")
    return 0


class _Dialog:
    """The dialog on one page; `marks` and `type` are what the reader has decided so far."""

    def __init__(self, page: MarkedPage, terminal: _Terminal) -> None:
        self._page = page
        self._terminal = terminal
        self.marks = list(page.marks)
        self.type = page.type

    def run(self) -> str:
        """Return how the dialog ended: store, skip or quit."""
        while True:
            answer = self._terminal.ask("marks> ")
            if answer is None:
                return "quit"
            if not answer:
                return "store"
            if answer in {"skip", "quit"}:
                return answer
            try:
                self._obey(answer)
            except ValueError as error:
                self._terminal.screen.write(f"{error}\n{_COMMANDS}")

    def _obey(self, answer: str) -> None:
        change = _CHANGE.fullmatch(answer)
        if change:
            mark = Mark(change[1])
            numbers = list(_numbers(change[2], len(self.marks)))
            for number in numbers:
                self.marks[number] = mark
            self._show(numbers)
        elif answer.startswith("type "):
            self.type = PageType(answer.removeprefix("type ").strip())
            self._terminal.screen.write(f"type={self.type}\n")
        elif answer == "show":
            self._show(range(len(self.marks)))
        else:
            raise ValueError(f"{answer!r} is no command.")

    def _show(self, numbers: Iterable[int]) -> None:
        blocks = self._page.blocks
        lines = (f"{self.marks[number]} {show_blocks([blocks[number]])}\n" for number in numbers)
        self._terminal.screen.write("".join(lines))


def _numbers(text: str, size: int) -> Iterator[int]:
    """Yield the numbers of blocks in a text such as `3-7 12`. Raises ValueError for one that the page does not have."""
    for part in text.split():
        first, _, last = part.partition("-")
        for number in range(int(first), int(last or first) + 1):
            if number >= size:
                raise ValueError(f"there is no block {number}; the last one is {size - 1}.")
            yield number

"""`python -m cleaning.training annotate POOL` and `agreement POOL`: readers mark the blocks of pages."""

from __future__ import annotations

import argparse
import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cleaning.blocks import PageType
from cleaning.errors import AnnotationError, PageError
from cleaning.training.agreement import report
from cleaning.training.annotations import (
    ANNOTATIONS,
    ANNOTATOR,
    Mark,
    read_annotations,
    read_file,
    write_annotations,
)
from cleaning.training.pool import read_pool
from cleaning.training.sheet import MarkedPage, guess_page, read_sheet, recall, show, show_blocks, write_sheet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TextIO

    from cleaning.training.annotations import PageAnnotation
    from cleaning.training.pool import PoolPage

_FAILED = 1
_EPILOG = """\
examples:
  python -m cleaning.training annotate ../shared/data/pool --annotator anna --pages 'gne_*'
  python -m cleaning.training annotate ../shared/data/pool --pages 'gne_*' --part 1/4 --out sheet.txt
  python -m cleaning.training annotate ../shared/data/pool --annotator anna --in sheet.txt
  python -m cleaning.training annotate ../shared/data/sites --type article --out sheet.txt
  python -m cleaning.training agreement ../shared/data/pool

POOL is a folder with truth.jsonl (id, html_path, url, encoding) or index.tsv (site, file, url, decodes_as).
A sheet has a line for each block, and one for several short blocks in a row. Edit the marks at the beginning of the
lines and the page types, nothing else. For some blocks of a shared line, add a line below it, as in "+ 34-36".

marks: + main text, h headline, s standfirst, c caption, - other, ? undecided (cleaning/training/CONVENTION.md)
exit code: 0 done, 1 a page, a sheet or stored annotations cannot be used, 2 wrong usage
"""
_COMMANDS = """\
Commands: a mark and numbers of blocks, as in "- 3-7 12"; "type NAME"; "show"; "skip"; "quit";
an empty line stores the page.
"""
_CHANGE = re.compile(r"(\S)((?: +\d+(?:-\d+)?)+)")


class _Part(NamedTuple):
    """One of several equal parts of the pages."""

    number: int
    parts: int


def main(arguments: Sequence[str]) -> int:
    """Run one of the commands with its arguments; return the exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.command == "annotate" and given.annotator is None and not given.out:
        parser.error("--annotator NAME is needed, except for a sheet of today's guesses (--out FILE)")
    try:
        pages = read_pool(given.pool)
    except (OSError, ValueError, KeyError) as error:
        parser.error(f"{given.pool} has no list of pages that can be read (truth.jsonl or index.tsv): {error!r}")
    try:
        done: int = given.run(given, pages)
    except (AnnotationError, PageError, OSError, EOFError) as error:
        sys.stderr.write(f"{error}\n")
        return _FAILED
    return done


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m cleaning.training",
        description="Mark the blocks of saved pages by reading, and compare the marks of several readers.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    annotate = _command(commands.add_parser, "annotate", "mark the blocks of pages", _annotate)
    annotate.add_argument("--annotator", metavar="NAME", type=_annotator, help="whose decisions are read and stored")
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
        help="write a sheet: the guesses, or the annotator's decisions if there are any",
    )
    files.add_argument("--in", metavar="FILE", type=Path, dest="sheet", help="store the decisions of a sheet")
    _command(commands.add_parser, "agreement", "compare the marks of annotators on today's blocks", _agreement)
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


def _annotator(text: str) -> str:
    if not ANNOTATOR.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name of an annotator: {ANNOTATOR.pattern}")
    return text


def _part(text: str) -> _Part:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is no part of the pages, as 2/4 is")
    return _Part(int(found[1]), int(found[2]))


def _annotate(given: argparse.Namespace, pages: Sequence[PoolPage]) -> int:
    if given.sheet:
        return _take_in(given, pages)
    chosen = list(_choose(given, pages))
    if not chosen:
        sys.stderr.write(f"{given.pool} has no such page with text\n")
        return _FAILED
    if given.out:
        given.out.write_text(write_sheet(chosen), "utf-8")
        blocks = sum(len(each.blocks) for each in chosen)
        sys.stderr.write(f"{given.out}: {len(chosen)} pages, {blocks:,} blocks\n")
        return 0
    return _ask(given, chosen, _Terminal(sys.stdin, sys.stdout))


def _choose(given: argparse.Namespace, pages: Iterable[PoolPage]) -> Iterator[MarkedPage]:
    """Yield the pages that the options name and that have text, with the annotator's decisions if there are any."""
    stored = _stored(given)
    patterns = given.pages or ["*"]
    matching = [page for page in pages if any(fnmatchcase(page.id, pattern) for pattern in patterns)]
    marked_pages = [each for each in map(guess_page, matching) if each.blocks and given.type in {None, each.type}]
    if len(marked_pages) < len(matching):
        sys.stderr.write(f"{len(matching) - len(marked_pages)} pages have no text or look like another type\n")
    number, parts = given.part.number, given.part.parts
    for each in marked_pages[len(marked_pages) * (number - 1) // parts : len(marked_pages) * number // parts]:
        yield recall(each, stored[each.name]) if each.name in stored else each


def _stored(given: argparse.Namespace) -> dict[str, PageAnnotation]:
    if given.annotator is None:
        return {}
    return {f"{one.set}/{one.id}": one for one in read_file(given.annotations / f"{given.annotator}.tsv")}


def _take_in(given: argparse.Namespace, pages: Sequence[PoolPage]) -> int:
    text = given.sheet.read_text("utf-8")
    named = set(re.findall(r"^page \S+ (\S+) ", text, re.MULTILINE))
    marked_pages = {each.name: each for each in map(guess_page, pages_named(pages, named))}
    try:
        found = read_sheet(text, marked_pages, given.annotator)
    except AnnotationError as error:
        raise AnnotationError(f"{given.sheet}, {error}") from error
    path = write_annotations(found, given.annotator, given.annotations, replace=given.replace)
    sys.stderr.write(f"{path}: {_counted(found)}\n")
    return 0


def pages_named(pages: Iterable[PoolPage], names: Iterable[str]) -> list[PoolPage]:
    """Return the pages with these names (`SET/ID`), in the order of the pages; unknown names are left out."""
    wanted = set(names)
    return [page for page in pages if f"{page.set}/{page.id}" in wanted]


def _counted(found: Sequence[PageAnnotation]) -> str:
    marks = [text.mark for one in found for text in one.texts]
    undecided = marks.count(Mark.UNDECIDED)
    return f"{len(found)} pages, {len(marks) - undecided:,} blocks decided, {undecided:,} undecided"


def _agreement(given: argparse.Namespace, pages: Sequence[PoolPage]) -> int:
    names = {page.set for page in pages}
    annotations = [one for one in read_annotations(given.annotations) if one.set in names]
    wanted = pages_named(pages, (f"{one.set}/{one.id}" for one in annotations))
    sys.stdout.write(report(annotations, {each.name: each for each in map(guess_page, wanted)}))
    return 0


class _Terminal(NamedTuple):
    """Where a reader's answers come from and what the reader sees."""

    answers: TextIO
    shown: TextIO

    def ask(self, question: str) -> str | None:
        """Return the answer to a question; None at the end of all answers."""
        self.shown.write(question)
        self.shown.flush()
        answer = self.answers.readline()
        return answer.strip() if answer else None


def _ask(given: argparse.Namespace, pages: Sequence[MarkedPage], terminal: _Terminal) -> int:
    """Show the pages one by one and store what the reader decides; stored pages are not asked for again."""
    stored = _stored(given)
    left = [page for page in pages if given.replace or page.name not in stored]
    terminal.shown.write(_COMMANDS)
    for number, page in enumerate(left, 1):
        terminal.shown.write(f"\n{number} of {len(left)}\n" + "".join(f"{line}\n" for line in show(page)))
        dialog = _Dialog(page, terminal)
        ended = dialog.run()
        if ended == "quit":
            break
        if ended == "store":
            found = page.annotated(given.annotator, dialog.marks, dialog.type)
            path = write_annotations([found], given.annotator, given.annotations, replace=given.replace)
            terminal.shown.write(f"{path}: {_counted([found])}\n")
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
                self._terminal.shown.write(f"{error}\n{_COMMANDS}")

    def _obey(self, answer: str) -> None:
        change = _CHANGE.fullmatch(answer)
        if change:
            mark, numbers = Mark(change[1]), list(_numbers(change[2], len(self.marks)))
            for number in numbers:
                self.marks[number] = mark
            self._show(numbers)
        elif answer.startswith("type "):
            self.type = PageType(answer.removeprefix("type ").strip())
            self._terminal.shown.write(f"type={self.type}\n")
        elif answer == "show":
            self._show(range(len(self.marks)))
        else:
            raise ValueError(f"{answer!r} is no command.")

    def _show(self, numbers: Iterable[int]) -> None:
        blocks = self._page.blocks
        self._terminal.shown.write("".join(f"{self.marks[each]} {show_blocks([blocks[each]])}\n" for each in numbers))


def _numbers(text: str, size: int) -> Iterator[int]:
    """Yield the numbers of blocks in a text such as `3-7 12`. Raises ValueError for one that the page does not have."""
    for part in text.split():
        first, _, last = part.partition("-")
        for number in range(int(first), int(last or first) + 1):
            if number >= size:
                raise ValueError(f"there is no block {number}; the last one is {size - 1}.")
            yield number

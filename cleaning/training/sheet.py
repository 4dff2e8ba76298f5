"""Sheets: pages with their blocks as lines of text, which a reader edits and gives back.

A page begins with the line `page DIGEST SET/ID type=TYPE file=PATH url=URL`; the reader may correct the type. A line
for each block follows: its mark, number, kind, number of words, number of linked words, and its shortened text. Short
blocks and links in a row that are probably no main text share a line: its mark, the range of numbers, and each number
with its text. The reader changes the mark and nothing else. A mark that holds for some blocks of a shared line stands,
with their number or range, in a line of its own below. Empty lines and lines that begin with `#` have no meaning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import quote

from cleaning.blocks import Kind, PageType
from cleaning.clean import decide_page
from cleaning.errors import AnnotationError
from cleaning.metadata.statements import read_statements
from cleaning.methods import METHODS
from cleaning.options import Options
from cleaning.teaching.corrections import match_blocks
from cleaning.teaching.signatures import digest_text
from cleaning.training.annotations import (
    CONVENTION,
    Convention,
    Mark,
    PageAnnotation,
    decide_texts,
    inherit_marks,
    main_marks,
)
from cleaning.training.pool import digest_body

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cleaning.blocks import Block, Decision
    from cleaning.metadata.statements import Statements
    from cleaning.teaching import CorrectedPage
    from cleaning.training.pool import PoolPage

_HEADING = re.compile(r"/h1(?:\[\d+\])?(?:/|$)")
_CAPTION = re.compile(r"/figcaption(?:\[\d+\])?(?:/|$)")
_BEGINNING, _ENDING = 100, 30  # characters of a text that are shown
_MIN_SUMMARY_CHARS = 20  # without white space
_PAGE = re.compile(r"page (?P<digest>\S+) (?P<id>\S+) type=(?P<type>\S+) ")
_BLOCKS = re.compile(r"(?P<mark>\S) (?P<line>(?P<first>\d+)(?:-(?P<last>\d+))?(?P<text> .*)?)")
_MAX_SHORT_WORDS, _MAX_LINKED_WORDS = 8, 30  # of a block that shares its line: of any, and of one that is a link
_MIN_SHARING, _MAX_SHARING = 4, 40  # blocks on a line
_SHORT = 30  # characters of such a text that are shown


@dataclass(frozen=True, slots=True)
class MarkedPage:
    """A page with its blocks and today's guess at its type and marks, or the stored decisions."""

    page: PoolPage
    digest: str
    type: PageType
    blocks: tuple[Block, ...]
    marks: tuple[Mark, ...]

    @property
    def name(self) -> str:
        """Set and id of the page: how sheets and messages name it."""
        return f"{self.page.set}/{self.page.id}"

    @property
    def texts(self) -> list[str]:
        return [block.text for block in self.blocks]

    def annotated(self, reader: str, marks: Sequence[Mark], page_type: PageType) -> PageAnnotation:
        """Return a reader's decisions on the page."""
        texts = decide_texts(self.texts, marks)
        return PageAnnotation(reader, self.digest, self.page.set, self.page.id, page_type, CONVENTION, texts)


def guess_page(page: PoolPage) -> MarkedPage:
    """Return a page with the guess of `default`. Raises OSError for a missing file, PageError for a binary page."""
    body = page.read_body()
    tree = page.parse(body)
    stated = read_statements(tree.root)
    result = decide_page(tree, stated, METHODS["default"], Options())
    blocks = tuple(decision.block for decision in result.decisions)
    guessed = tuple(guess_marks(result.decisions, stated))
    return MarkedPage(page, digest_body(body), result.type or PageType.ARTICLE, blocks, guessed)


def recall(fresh: MarkedPage, stored: PageAnnotation) -> MarkedPage:
    """Return a page with a reader's stored decisions in place of the guess.

    Raises AnnotationError if the stored ones are about another page.
    """
    stored.check(fresh.digest)
    marks = tuple(inherit_marks(fresh.texts, stored.texts))
    return MarkedPage(fresh.page, fresh.digest, stored.type, fresh.blocks, marks)


def marks_of_correction(page: MarkedPage, corrected: CorrectedPage) -> list[Mark]:
    """Return the marks of a page whose texts were corrected for a site: what is right is main text, the rest other.

    `page` has the guesses, which say what is a headline, a standfirst or a caption. A text that the reader did not look
    at is UNDECIDED.
    """
    matching = match_blocks(map(digest_text, page.texts), corrected)
    main = main_marks(Convention.MIXED, page.type)
    marks = []
    for decided, guess in zip(matching, page.marks, strict=True):
        if decided is None or not (corrected.finished or decided.mark is not None):
            marks.append(Mark.UNDECIDED)
        elif decided.right == (guess in main):
            marks.append(guess)
        else:
            marks.append(Mark.MAIN if decided.right else Mark.OTHER)
    return marks


def guess_marks(decisions: Sequence[Decision], stated: Statements) -> list[Mark]:
    """Return a first guess at the marks: what is kept is main text, and headline, standfirst and captions by markup."""
    marks = [Mark.MAIN if decision.kept else Mark.OTHER for decision in decisions]
    kept = [index for index, decision in enumerate(decisions) if decision.kept]
    paths = [decision.block.path for decision in decisions]
    headings = [index for index, path in enumerate(paths) if _HEADING.search(path)]
    for index in headings:
        if paths[index] == paths[headings[0]]:
            marks[index] = Mark.HEADLINE
    if kept:
        for index in range(max(0, kept[0] - 3), min(len(paths), kept[-1] + 1)):
            if _CAPTION.search(paths[index]):
                marks[index] = Mark.CAPTION
    standfirst = _find_standfirst(decisions, stated)
    if standfirst is not None:
        marks[standfirst] = Mark.STANDFIRST
    return marks


def _find_standfirst(decisions: Sequence[Decision], stated: Statements) -> int | None:
    """Return the first text that begins a description of the page, if the next kept text is in another element."""
    summaries = ["".join(text.split()) for text in stated.meta("og:description", "description")]
    for index, decision in enumerate(decisions):
        start = "".join(decision.block.text.split())[:_MIN_SUMMARY_CHARS]
        if len(start) < _MIN_SUMMARY_CHARS or not any(text.startswith(start) for text in summaries):
            continue
        after = next((other.block for other in decisions[index + 1 :] if other.kept), None)
        apart = after is not None and _parent(after.path) != _parent(decision.block.path)
        return index if apart and decision.block.kind is not Kind.HEADING else None
    return None


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def write_sheet(marked_pages: Sequence[MarkedPage]) -> str:
    """Return the sheet of some pages."""
    head = f"# Marks: {' '.join(Mark)}; their meaning is in cleaning/training/CONVENTION.md, version {CONVENTION}.\n"
    return head + "".join("\n" + "".join(f"{line}\n" for line in show(page)) for page in marked_pages)


def show(page: MarkedPage) -> list[str]:
    """Return the lines of a page."""
    url = quote(page.page.url or "-", safe="%/:?=&#+,;@!$*'()[]~")
    file = quote(str(page.page.path.name), safe="/")
    head = f"page {page.digest} {page.name} type={page.type} file={file} url={url}"
    shared = (f"{page.marks[group[0].position]} {show_blocks(group)}" for group in _grouped(page))
    return [head, *shared]


def show_blocks(blocks: Sequence[Block]) -> str:
    """Return the line of one block, or of several consecutive ones, without its mark."""
    if len(blocks) == 1:
        block = blocks[0]
        return f"{block.position} {block.kind} {block.words}/{block.link_words} {_shorten(block, _BEGINNING, _ENDING)}"
    texts = " | ".join(f"{block.position} {_shorten(block, _SHORT, 0)}" for block in blocks)
    return f"{blocks[0].position}-{blocks[-1].position} {texts}"


def _grouped(page: MarkedPage) -> list[list[Block]]:
    """Return the blocks of each line."""
    groups: list[list[Block]] = []
    for share, run in groupby(page.blocks, lambda block: page.marks[block.position] is Mark.OTHER and _is_short(block)):
        blocks = list(run)
        size = _MAX_SHARING if share and len(blocks) >= _MIN_SHARING else 1
        groups += [blocks[start : start + size] for start in range(0, len(blocks), size)]
    return groups


def _is_short(block: Block) -> bool:
    linked = block.link_words == block.words <= _MAX_LINKED_WORDS
    return linked or block.words <= _MAX_SHORT_WORDS


def _shorten(block: Block, beginning: int, ending: int) -> str:
    text = " ".join(block.text.split())
    if len(text) <= beginning + ending:
        return text
    return f"{text[:beginning]} … {text[-ending:]}" if ending else f"{text[:beginning]}…"


def read_sheet(text: str, marked_pages: Mapping[str, MarkedPage], reader: str) -> list[PageAnnotation]:
    """Return a reader's decisions from a sheet; `marked_pages` are the pages by name (`SET/ID`).

    Raises AnnotationError for an unknown page, a changed page or line, and a block with no or several marks.
    """
    reading = _Reading(marked_pages, reader)
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            try:
                reading.add(line.rstrip())
            except ValueError as error:
                raise AnnotationError(f"line {number}: {error}") from error
    return reading.finish()


class _Reading:
    """The decisions of a sheet so far, and the page whose lines are being read."""

    def __init__(self, marked_pages: Mapping[str, MarkedPage], reader: str) -> None:
        self._pages = marked_pages
        self._reader = reader
        self._annotations: dict[str, PageAnnotation] = {}
        self._page: MarkedPage | None = None
        self._type = PageType.ARTICLE
        self._marks: dict[int, Mark] = {}
        self._shared: set[int] = set()

    def add(self, line: str) -> None:
        head = _PAGE.match(line)
        if head:
            self._end_page()
            self._begin_page(head)
        else:
            self._add_blocks(line)

    def finish(self) -> list[PageAnnotation]:
        self._end_page()
        return list(self._annotations.values())

    def _begin_page(self, head: re.Match[str]) -> None:
        name = head["id"]
        if name not in self._pages:
            raise AnnotationError(f"the page {name} is unknown here")
        if name in self._annotations:
            raise AnnotationError(f"the page {name} is decided twice")
        page = self._pages[name]
        if head["digest"] != page.digest:
            raise AnnotationError(f"the page {name} was {head['digest']} when the sheet was written, now {page.digest}")
        self._page = page
        self._type = PageType(head["type"])
        self._marks = {}
        self._shared = set()

    def _add_blocks(self, line: str) -> None:
        match = _BLOCKS.fullmatch(line)
        if match is None or self._page is None:
            raise AnnotationError(f"neither the line of a page nor one of its blocks: {line[:80]!r}")
        first = int(match["first"])
        mark = Mark(match["mark"])
        blocks = self._page.blocks[first : int(match["last"] or first) + 1]
        has_text = match["text"] is not None
        if not blocks or (has_text and match["line"] != show_blocks(blocks).rstrip()):
            raise AnnotationError(f"the page {self._page.name} has no such line; only marks may change: {line[:80]!r}")
        for block in blocks:
            self._decide(block.position, mark, shared=len(blocks) > 1 and has_text, has_text=has_text)

    def _decide(self, number: int, mark: Mark, *, shared: bool, has_text: bool) -> None:
        """Enter a mark; one of a shared line may be overruled by a later line without text."""
        if number in self._marks and (has_text or number not in self._shared):
            raise AnnotationError(f"block {number} is decided as {self._marks[number]} and as {mark}")
        self._marks[number] = mark
        (self._shared.add if shared else self._shared.discard)(number)

    def _end_page(self) -> None:
        if self._page is None:
            return
        missing = [number for number in range(len(self._page.blocks)) if number not in self._marks]
        if missing:
            raise AnnotationError(
                f"{self._page.name} has {len(missing)} blocks without a line; the first is {missing[0]}"
            )
        marks = [self._marks[number] for number in range(len(self._page.blocks))]
        self._annotations[self._page.name] = self._page.annotated(self._reader, marks, self._type)

"""Sheets: pages with their blocks as lines of text, which a reader edits and gives back.

A page begins with the line `page DIGEST SET/ID type=TYPE file=PATH url=URL`; the reader may correct the type. A line
for each block follows: its mark, number, kind, number of words, number of linked words, and its shortened text. Short
blocks and links in a row that are probably no main text share a line: its mark, the range of numbers, and each number
with its text. The reader changes the mark and nothing else. A mark that holds for some blocks of a shared line stands,
with their number or range, in a line of its own below. Empty lines and lines that begin with `#` have no meaning.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import quote

from cleaning.blocks import PageType
from cleaning.errors import AnnotationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cleaning.blocks import Block

_BEGINNING, _ENDING = 100, 30  # characters of a text that are shown
_PAGE = re.compile(r"page (?P<digest>\S+) (?P<id>\S+) type=(?P<type>\S+) ")
_BLOCKS = re.compile(r"(?P<mark>\S) (?P<line>(?P<first>\d+)(?:-(?P<last>\d+))?(?P<text> .*)?)")
_MAX_SHORT_WORDS, _MAX_LINKED_WORDS = 8, 30  # of a block that shares its line: of any, and of one that is a link
_MIN_SHARING, _MAX_SHARING = 4, 40  # blocks on a line
_SHORT = 30  # characters of such a text that are shown


class Mark(StrEnum):
    """What a reader says that a block is; UNDECIDED if the reader cannot tell."""

    UNDECIDED = "?"
    MAIN = "+"
    HEADLINE = "h"
    STANDFIRST = "s"
    CAPTION = "c"
    OTHER = "-"


_HEAD = "# Marks: + main text, h headline, s standfirst, c caption, - other, ? undecided.\n"
_HEADED = frozenset({PageType.FORUM, PageType.PRODUCT, PageType.COLLECTION, PageType.LISTING})


def main_marks(page_type: PageType) -> frozenset[Mark]:
    """Return the marks that are main text on pages of a type."""
    both = frozenset({Mark.MAIN, Mark.STANDFIRST, Mark.CAPTION})
    return both | {Mark.HEADLINE} if page_type in _HEADED else both


def digest_body(body: bytes) -> str:
    """Return the digest by which a sheet names a page's bytes: 16 hexadecimal digits."""
    return hashlib.sha256(body).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class MarkedPage:
    """A page of a sheet: the digest of its bytes, its name, and its type and blocks as they were or will be marked."""

    digest: str
    name: str
    file: str
    url: str | None
    type: PageType
    blocks: tuple[Block, ...]
    marks: tuple[Mark, ...]

    @property
    def texts(self) -> list[str]:
        return [block.text for block in self.blocks]


def write_sheet(marked_pages: Sequence[MarkedPage]) -> str:
    """Return the sheet of some pages."""
    return _HEAD + "".join("\n" + "".join(f"{line}\n" for line in show(page)) for page in marked_pages)


def show(page: MarkedPage) -> list[str]:
    """Return the lines of a page."""
    url = quote(page.url or "-", safe="%/:?=&#+,;@!$*'()[]~")
    file = quote(page.file, safe="/")
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


def read_sheet(text: str, marked_pages: Mapping[str, MarkedPage]) -> list[MarkedPage]:
    """Return the pages of an edited sheet with its marks; `marked_pages` are the pages by name.

    Raises AnnotationError for an unknown page, a changed page or line, and a block with no or several marks.
    """
    reading = _Reading(marked_pages)
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            try:
                reading.add(line.rstrip())
            except ValueError as error:
                raise AnnotationError(f"line {number}: {error}") from error
    return reading.finish()


class _Reading:
    """The pages of a sheet so far, and the page whose lines are being read."""

    def __init__(self, marked_pages: Mapping[str, MarkedPage]) -> None:
        self._pages = marked_pages
        self._marked: dict[str, MarkedPage] = {}
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

    def finish(self) -> list[MarkedPage]:
        self._end_page()
        return list(self._marked.values())

    def _begin_page(self, head: re.Match[str]) -> None:
        name = head["id"]
        if name not in self._pages:
            raise AnnotationError(f"the page {name} is unknown here")
        if name in self._marked:
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
        marks = tuple(self._marks[number] for number in range(len(self._page.blocks)))
        self._marked[self._page.name] = replace(self._page, marks=marks, type=self._type)

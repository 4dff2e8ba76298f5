"""Readers' decisions on the blocks of pages, kept by the digests of the texts: they outlive the cutting of blocks.

The readers were instances of a language model. CONVENTION.md says which mark a block gets. The folder `annotations` has
a file of tab-separated lines for each reader: a line for each page (`page`, digest, set, id, page type, version of the
convention), and after it one for each decided text, in reading order (mark, digest, occurrence on the page,
characters). There is no text of a page.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cleaning.blocks import PageType
from cleaning.errors import AnnotationError
from cleaning.teaching.sheet import Mark
from cleaning.teaching.sheet import main_marks as mixed_marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CONVENTION = 1  # the version of CONVENTION.md
ANNOTATIONS = Path(__file__).with_name("annotations")
READER = re.compile(r"[a-z][a-z0-9-]{0,29}")
_PAGE = "page"
_PAGE_FIELDS, _TEXT_FIELDS = 6, 4
_DIGEST = re.compile("[0-9a-f]{12}")
_MIN_SOUGHT_CHARS = 8  # a shorter text occurs inside others by chance
_MAX_SOUGHT = 20_000_000  # characters hashed in the search for one text


_MARKS = tuple(Mark)


class Convention(StrEnum):
    """A rule for which marks are main text, as the labelled sets follow it."""

    NEWS = "news"
    MIXED = "mixed"


def main_marks(convention: Convention, page_type: PageType) -> frozenset[Mark]:
    """Return the marks that are main text on pages of a type."""
    if convention is Convention.NEWS:
        return frozenset({Mark.MAIN, Mark.STANDFIRST})
    return mixed_marks(page_type)


class TextKey(NamedTuple):
    """A text of a page: its digest, and its number among the texts of the page with this digest, from 1."""

    digest: str
    occurrence: int


@dataclass(frozen=True, slots=True)
class DecidedText:
    """The decision on a text; `chars` counts its characters without white space."""

    mark: Mark
    key: TextKey
    chars: int


@dataclass(frozen=True, slots=True)
class PageAnnotation:
    """A reader's decisions on a page, its texts in reading order; `page` is the digest of the page's bytes."""

    reader: str
    page: str
    set: str
    id: str
    type: PageType
    convention: int
    texts: tuple[DecidedText, ...]

    @property
    def page_name(self) -> str:
        """Set and id of the page: how sheets and messages name it."""
        return f"{self.set}/{self.id}"

    def check(self, digest: str) -> None:
        """Raise AnnotationError unless this is the digest of the page's bytes."""
        if self.page != digest:
            raise AnnotationError(
                f"{self.reader} decided the page {self.page_name} with digest {self.page}, "
                f"but the page has {digest} now"
            )


def decide_texts(texts: Sequence[str], marks: Sequence[Mark]) -> tuple[DecidedText, ...]:
    """Return the decisions on all texts of a page, in reading order."""
    bare = [_bare(text) for text in texts]
    decided = zip(bare, _keys(bare), marks, strict=True)
    return tuple(DecidedText(mark, key, len(text)) for text, key, mark in decided)


def inherit_marks(texts: Sequence[str], decided: Sequence[DecidedText]) -> list[Mark]:
    """Return the marks of a page's texts, in reading order, from decisions on the same page cut differently.

    A text has the mark of the decided text that it equals, is part of or is made of; UNDECIDED if these have
    different marks, or if some of it was never decided.
    """
    page = _Characters(texts)
    starts = page.find_equal(decided)
    for known, group in groupby(range(len(decided)), lambda index: starts[index] is not None):
        if not known:
            page.find_between(decided, starts, list(group))
    for text, start in zip(decided, starts, strict=True):
        if start is not None:
            page.mark(start, text)
    return page.marks()


def merge_marks(marks_by_reader: Sequence[Sequence[Mark]]) -> list[Mark]:
    """Return the marks that the readers of a page agree on; UNDECIDED where they differ, or where nobody decided."""
    merged = []
    for marks in zip(*marks_by_reader, strict=True):
        decided = set(marks) - {Mark.UNDECIDED}
        merged.append(decided.pop() if len(decided) == 1 else Mark.UNDECIDED)
    return merged


class _Characters:
    """The characters of a page without white space, in reading order: the same however the page is cut into blocks."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [_bare(text) for text in texts]
        self._whole = "".join(self._texts)
        self._starts = [0, *accumulate(len(text) for text in self._texts)]
        self._marks = bytearray(len(self._whole))  # the number of each character's mark

    def find_equal(self, decided: Sequence[DecidedText]) -> list[int | None]:
        """Return where each decided text begins; None unless the page has it as often as it was decided."""
        keys = _keys(self._texts)
        starts = dict(zip(keys, self._starts, strict=False))
        times = Counter(key.digest for key in keys)
        decided_times = Counter(text.key.digest for text in decided)
        return [
            starts.get(text.key) if times[text.key.digest] == decided_times[text.key.digest] else None
            for text in decided
        ]

    def find_between(self, decided: Sequence[DecidedText], starts: list[int | None], run: Sequence[int]) -> None:
        """Enter the beginnings of a run of consecutive texts that lie between two known ones."""
        low, high = 0, len(self._whole)
        before, after = run[0] - 1, run[-1] + 1
        if before >= 0:
            low = (starts[before] or 0) + decided[before].chars
        if after < len(decided):
            high = starts[after] or 0
        for index in run:
            text = decided[index]
            start = self._find(text, low, high)
            if start is not None:
                starts[index] = start
                low = start + text.chars

    def mark(self, start: int, text: DecidedText) -> None:
        """Mark the characters of a decided text, unless some of them are marked already."""
        end = start + text.chars
        if not any(self._marks[start:end]):
            self._marks[start:end] = bytes([_MARKS.index(text.mark)]) * text.chars

    def marks(self) -> list[Mark]:
        """Return for each text the mark that all its characters have; UNDECIDED if they differ."""
        marks = []
        for text, start in zip(self._texts, self._starts, strict=False):
            numbers = set(self._marks[start : start + len(text)])
            marks.append(_MARKS[numbers.pop()] if len(numbers) == 1 else Mark.UNDECIDED)
        return marks

    def _find(self, text: DecidedText, low: int, high: int) -> int | None:
        """Return where a text begins: at `low`, or at the only later place up to `high` that has it."""
        last = high - text.chars
        if low <= last and self._has(text, low):
            return low
        if text.chars < _MIN_SOUGHT_CHARS or (last - low) * text.chars > _MAX_SOUGHT:
            return None
        places = [start for start in range(low + 1, last + 1) if self._has(text, start)]
        return places[0] if len(places) == 1 else None

    def _has(self, text: DecidedText, start: int) -> bool:
        return _digest(self._whole[start : start + text.chars]) == text.key.digest


def _bare(text: str) -> str:
    return "".join(text.split())


def _digest(bare: str) -> str:
    return hashlib.blake2b(bare.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _keys(bare: Iterable[str]) -> list[TextKey]:
    times: Counter[str] = Counter()
    keys = []
    for digest in map(_digest, bare):
        times[digest] += 1
        keys.append(TextKey(digest, times[digest]))
    return keys


def read_annotations(folder: Path = ANNOTATIONS) -> list[PageAnnotation]:
    """Return the annotations of all readers, sorted by set, id and reader; empty if there is no folder.

    Raises AnnotationError for a file that is broken, and for a page or text that a reader decided twice.
    """
    annotations = [annotation for path in sorted(folder.glob("*.tsv")) for annotation in read_file(path)]
    return sorted(annotations, key=lambda annotation: (annotation.set, annotation.id, annotation.reader))


def read_file(path: Path) -> list[PageAnnotation]:
    """Return the annotations of a reader, in the order of the file `<reader>.tsv`; empty if there is none.

    Raises AnnotationError as `read_annotations` does.
    """
    if not path.exists():
        return []
    if not READER.fullmatch(path.stem):
        raise AnnotationError(f"{path}: a file of annotations is named after its reader: {READER.pattern}")
    pages: dict[tuple[str, str], PageAnnotation] = {}
    head: list[str] = []
    texts: dict[TextKey, DecidedText] = {}
    # The end of the file ends the last page as the next page would.
    for number, line in enumerate([*path.read_text("utf-8").splitlines(), _PAGE], 1):
        fields = line.split("\t")
        try:
            if fields[0] != _PAGE:
                _add_text(texts, fields, head)
                continue
            if head:
                _add_page(pages, path.stem, head, texts)
            head, texts = fields, {}
        except ValueError as error:
            raise AnnotationError(f"{path}, line {number}: {error}") from error
    return list(pages.values())


def _add_page(
    pages: dict[tuple[str, str], PageAnnotation], reader: str, head: list[str], texts: dict[TextKey, DecidedText]
) -> None:
    if len(head) != _PAGE_FIELDS:
        raise ValueError(f"the line of a page has {_PAGE_FIELDS} fields, this one {len(head)}: {head}")
    _, digest, name, identity, page_type, version = head
    if not 1 <= int(version) <= CONVENTION:
        raise ValueError(f"the page {name}/{identity} follows convention {version}; the newest is {CONVENTION}")
    if (name, identity) in pages:
        raise ValueError(f"{reader} decided the page {name}/{identity} twice")
    decided = tuple(texts.values())
    pages[name, identity] = PageAnnotation(reader, digest, name, identity, PageType(page_type), int(version), decided)


def _add_text(texts: dict[TextKey, DecidedText], fields: list[str], head: list[str]) -> None:
    if not head:
        raise ValueError("a decision stands before the first page")
    if len(fields) != _TEXT_FIELDS or not _DIGEST.fullmatch(fields[1]):
        raise ValueError(f"a decision has a mark, a digest, an occurrence and a number of characters, not {fields}")
    mark, digest, occurrence, chars = fields
    text = DecidedText(Mark(mark), TextKey(digest, int(occurrence)), int(chars))
    if text.key in texts:
        other = texts[text.key].mark
        how = "twice" if other is text.mark else f"as {other} and as {text.mark}"
        raise ValueError(f"occurrence {occurrence} of the text {digest} is decided {how} on the page {head[3]}")
    texts[text.key] = text


def write_annotations(
    annotations: Iterable[PageAnnotation], reader: str, folder: Path = ANNOTATIONS, *, replace: bool = False
) -> Path:
    """Add a reader's pages to the reader's file and return its path; its pages are sorted by set and id.

    Raises AnnotationError for a page that the reader decided otherwise before, unless `replace` is true.
    """
    path = folder / f"{reader}.tsv"
    pages = {(page.set, page.id): page for page in read_file(path)}
    for new in annotations:
        old = pages.get((new.set, new.id), new)
        if old != new and not replace:
            raise AnnotationError(
                f"{reader} decided the page {new.page_name} otherwise, in {path}; --replace takes these"
            )
        pages[new.set, new.id] = new
    lines = [line for _, page in sorted(pages.items()) for line in _lines(page)]
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    unfinished.replace(path)
    return path


def _lines(page: PageAnnotation) -> Iterable[str]:
    yield "\t".join((_PAGE, page.page, page.set, page.id, page.type, str(page.convention)))
    for text in page.texts:
        yield f"{text.mark}\t{text.key.digest}\t{text.key.occurrence}\t{text.chars}"

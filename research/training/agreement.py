"""How far readers agree: the share of words with the same mark, and Cohen's kappa."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from cleaning.errors import AnnotationError
from cleaning.teaching.sheet import Mark
from research.training.annotations import inherit_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cleaning.teaching.sheet import MarkedPage
    from research.training.annotations import PageAnnotation

_SHOWN_PAGES = 10


@dataclass(frozen=True, slots=True)
class Agreement:
    """The words that two readers both decided, counted by pairs of the first and the second reader's mark."""

    words: Counter[tuple[str, str]]

    @property
    def share(self) -> float:
        """The share of words with the same mark; 1 without words."""
        total = self.words.total()
        return sum(self.words[mark, other] for mark, other in self.words if mark == other) / total if total else 1.0

    @property
    def kappa(self) -> float:
        """Cohen's kappa over words; 1 if both used one and the same mark throughout."""
        total = self.words.total()
        first: Counter[str] = Counter()
        second: Counter[str] = Counter()
        for (mark, other), words in self.words.items():
            first[mark] += words
            second[other] += words
        chance = sum(first[mark] * second[mark] for mark in first) / max(1, total * total)
        return (self.share - chance) / (1 - chance) if chance < 1 else 1.0


@dataclass(frozen=True, slots=True)
class _Marking:
    """A reader's marks on the blocks of a page as it is cut today."""

    reader: str
    page: MarkedPage
    marks: list[Mark]


def report(annotations: Sequence[PageAnnotation], marked_pages: Mapping[str, MarkedPage]) -> str:
    """Return the tables of readers, of their agreement, and of the pages on which they agree least.

    `marked_pages` are the pages by name (`SET/ID`). Raises AnnotationError for an unknown page and for a changed one.
    """
    markings: dict[str, list[_Marking]] = defaultdict(list)
    for annotation in annotations:
        page = marked_pages.get(annotation.page_name)
        if page is None:
            raise AnnotationError(f"{annotation.reader} decided the page {annotation.page_name}, which is unknown here")
        annotation.check(page.digest)
        marks = inherit_marks(page.texts, annotation.texts)
        markings[page.name].append(_Marking(annotation.reader, page, marks))
    pairs = [pair for of_page in markings.values() for pair in combinations(of_page, 2)]
    readers = _readers(marking for of_page in markings.values() for marking in of_page)
    return "\n\n".join([readers, *_compared(pairs)]) + "\n"


def compare(pairs: Iterable[tuple[_Marking, _Marking]], group: Callable[[Mark], str] = str) -> Agreement:
    """Return the agreement of pairs of readers of the same pages; marks with the same `group` count as one."""
    words: Counter[tuple[str, str]] = Counter()
    for first, second in pairs:
        for block, mark, other in zip(first.page.blocks, first.marks, second.marks, strict=True):
            if Mark.UNDECIDED not in {mark, other}:
                words[group(mark), group(other)] += max(1, block.words)
    return Agreement(words)


def _main_or_not(mark: Mark) -> str:
    return str(mark is Mark.MAIN)


def _readers(markings: Iterable[_Marking]) -> str:
    pages: Counter[str] = Counter()
    blocks: Counter[str] = Counter()
    undecided: Counter[str] = Counter()
    for marking in markings:
        pages[marking.reader] += 1
        blocks[marking.reader] += len(marking.marks)
        undecided[marking.reader] += marking.marks.count(Mark.UNDECIDED)
    rows = [(name, str(pages[name]), f"{blocks[name]:,}", f"{undecided[name]:,}") for name in sorted(pages)]
    return _table(("reader", "pages", "blocks", "undecided"), rows)


def _compared(pairs: Sequence[tuple[_Marking, _Marking]]) -> list[str]:
    if not pairs:
        return ["No page is decided by two readers."]
    of_both: dict[str, list[tuple[_Marking, _Marking]]] = defaultdict(list)
    for pair in pairs:
        of_both[" and ".join(marking.reader for marking in pair)].append(pair)
    rows = [_row(name, of_both[name]) for name in sorted(of_both)]
    if len(of_both) > 1:
        rows.append(_row("all", pairs))
    head = ("readers", "pages", "words", "same mark", "kappa", "same main text", "kappa")
    worst = sorted(pairs, key=lambda pair: (compare([pair]).share, pair[0].page.name))[:_SHOWN_PAGES]
    shares = [(pair[0].page.name, f"{compare([pair]).share:.1%}") for pair in worst]
    return [_table(head, rows), _table(("least agreement", "same mark"), shares)]


def _row(name: str, pairs: Sequence[tuple[_Marking, _Marking]]) -> tuple[str, ...]:
    by_mark = compare(pairs)
    by_main = compare(pairs, _main_or_not)
    figures = (
        f"{part:.1%}" if index % 2 == 0 else f"{part:.3f}" for index, part in enumerate(_figures(by_mark, by_main))
    )
    return (name, str(len(pairs)), f"{by_mark.words.total():,}", *figures)


def _figures(*agreements: Agreement) -> list[float]:
    return [figure for agreement in agreements for figure in (agreement.share, agreement.kappa)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [list(head), ["---"] * len(head), *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

"""How far annotators agree: the share of words with the same mark, and Cohen's kappa."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from cleaning.errors import AnnotationError
from cleaning.training.annotations import Mark, inherit_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cleaning.training.annotations import PageAnnotation
    from cleaning.training.sheet import MarkedPage

_SHOWN_PAGES = 10


@dataclass(frozen=True, slots=True)
class Agreement:
    """The words that two annotators both decided, by both marks: those of the first and second annotator."""

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
class _Reader:
    """An annotator's marks on the blocks of a page as it is cut today."""

    annotator: str
    page: MarkedPage
    marks: list[Mark]


def report(annotations: Sequence[PageAnnotation], marked_pages: Mapping[str, MarkedPage]) -> str:
    """Return the tables of annotators, of their agreement, and of the pages on which they agree least.

    `marked_pages` are the pages by name (`SET/ID`). Raises AnnotationError for a page that is not among them, or that
    changed.
    """
    readers: dict[str, list[_Reader]] = defaultdict(list)
    for one in annotations:
        name = f"{one.set}/{one.id}"
        if name not in marked_pages:
            raise AnnotationError(f"{one.annotator} decided the page {name}, which is unknown here")
        one.check(marked_pages[name].digest)
        found = inherit_marks(marked_pages[name].texts, one.texts)
        readers[name].append(_Reader(one.annotator, marked_pages[name], found))
    pairs = [pair for of_page in readers.values() for pair in combinations(of_page, 2)]
    return (
        "\n\n".join([_annotators(each for of_page in readers.values() for each in of_page), *_compared(pairs)]) + "\n"
    )


def compare(pairs: Iterable[tuple[_Reader, _Reader]], group: Callable[[Mark], str] = str) -> Agreement:
    """Return the agreement of pairs of annotators of the same pages; `group` names the marks that count as one."""
    words: Counter[tuple[str, str]] = Counter()
    for one, other in pairs:
        for block, mark, second in zip(one.page.blocks, one.marks, other.marks, strict=True):
            if Mark.UNDECIDED not in {mark, second}:
                words[group(mark), group(second)] += max(1, block.words)
    return Agreement(words)


def _main_or_not(mark: Mark) -> str:
    return str(mark is Mark.MAIN)


def _annotators(readers: Iterable[_Reader]) -> str:
    pages: Counter[str] = Counter()
    blocks: Counter[str] = Counter()
    undecided: Counter[str] = Counter()
    for each in readers:
        pages[each.annotator] += 1
        blocks[each.annotator] += len(each.marks)
        undecided[each.annotator] += each.marks.count(Mark.UNDECIDED)
    rows = [(name, str(pages[name]), f"{blocks[name]:,}", f"{undecided[name]:,}") for name in sorted(pages)]
    return _table(("annotator", "pages", "blocks", "undecided"), rows)


def _compared(pairs: Sequence[tuple[_Reader, _Reader]]) -> list[str]:
    if not pairs:
        return ["No page is decided by two annotators."]
    of_both: dict[str, list[tuple[_Reader, _Reader]]] = defaultdict(list)
    for pair in pairs:
        of_both[" and ".join(each.annotator for each in pair)].append(pair)
    rows = [_row(name, of_both[name]) for name in sorted(of_both)]
    if len(of_both) > 1:
        rows.append(_row("all", pairs))
    head = ("annotators", "pages", "words", "same mark", "kappa", "same main text", "kappa")
    worst = sorted(pairs, key=lambda pair: (compare([pair]).share, pair[0].page.name))[:_SHOWN_PAGES]
    shares = [(pair[0].page.name, f"{compare([pair]).share:.1%}") for pair in worst]
    return [_table(head, rows), _table(("least agreement", "same mark"), shares)]


def _row(name: str, pairs: Sequence[tuple[_Reader, _Reader]]) -> tuple[str, ...]:
    by_mark, by_main = compare(pairs), compare(pairs, _main_or_not)
    figures = (
        f"{part:.1%}" if index % 2 == 0 else f"{part:.3f}" for index, part in enumerate(_figures(by_mark, by_main))
    )
    return (name, str(len(pairs)), f"{by_mark.words.total():,}", *figures)


def _figures(*found: Agreement) -> list[float]:
    return [figure for one in found for figure in (one.share, one.kappa)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [list(head), ["---"] * len(head), *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

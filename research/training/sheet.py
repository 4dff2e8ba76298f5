"""Pages that readers mark: today's guess at their marks, stored decisions, and corrections as marks."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from cleaning.blocks import Kind, PageType
from cleaning.clean import decide_page
from cleaning.metadata.statements import read_statements
from cleaning.methods import METHODS
from cleaning.options import Options
from cleaning.teaching.corrections import match_blocks
from cleaning.teaching.sheet import Mark, MarkedPage, digest_body, main_marks
from cleaning.teaching.signatures import digest_text
from research.training.annotations import CONVENTION, PageAnnotation, decide_texts, inherit_marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cleaning.blocks import Decision
    from cleaning.metadata.statements import Statements
    from cleaning.teaching import CorrectedPage
    from research.training.pool import PoolPage

_HEADING = re.compile(r"/h1(?:\[\d+\])?(?:/|$)")
_CAPTION = re.compile(r"/figcaption(?:\[\d+\])?(?:/|$)")
_MIN_SUMMARY_CHARS = 20  # without white space


def annotated(page: MarkedPage, reader: str) -> PageAnnotation:
    """Return a reader's decisions on a page, whose marks are the reader's."""
    name, _, identity = page.name.partition("/")
    return PageAnnotation(
        reader, page.digest, name, identity, page.type, CONVENTION, decide_texts(page.texts, page.marks)
    )


def guess_page(page: PoolPage) -> MarkedPage:
    """Return a page with the guess of `default`. Raises OSError for a missing file, PageError for a binary page."""
    body = page.read_body()
    tree = page.parse(body)
    stated = read_statements(tree.root)
    result = decide_page(tree, stated, METHODS["default"], Options())
    blocks = tuple(decision.block for decision in result.decisions)
    guessed = tuple(guess_marks(result.decisions, stated))
    page_type = result.type or PageType.ARTICLE
    return MarkedPage(digest_body(body), page.name, page.path.name, page.url, page_type, blocks, guessed)


def recall(fresh: MarkedPage, stored: PageAnnotation) -> MarkedPage:
    """Return a page with a reader's stored decisions in place of the guess.

    Raises AnnotationError if the stored ones are about another page.
    """
    stored.check(fresh.digest)
    return replace(fresh, type=stored.type, marks=tuple(inherit_marks(fresh.texts, stored.texts)))


def marks_of_correction(page: MarkedPage, corrected: CorrectedPage) -> tuple[Mark, ...]:
    """Return the marks of a page whose texts were corrected for a site: what is right is main text, the rest other.

    `page` has the guesses, which say what is a headline, a standfirst or a caption. A text that the reader did not look
    at is UNDECIDED.
    """
    matching = match_blocks(map(digest_text, page.texts), corrected)
    main = main_marks(page.type)
    marks = []
    for decided, guess in zip(matching, page.marks, strict=True):
        if decided is None or not (corrected.finished or decided.mark is not None):
            marks.append(Mark.UNDECIDED)
        elif decided.right == (guess in main):
            marks.append(guess)
        else:
            marks.append(Mark.MAIN if decided.right else Mark.OTHER)
    return tuple(marks)


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

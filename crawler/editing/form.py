"""The form of a page to correct: its blocks with today's decisions, and the marks that a browser sends back."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from xxhash import xxh3_128_hexdigest

from cleaning import PageError, parse
from cleaning.clean import text_page
from cleaning.leaves import walk
from cleaning.teaching import correct
from cleaning.teaching.fields import FIELDS
from crawler.errors import CompareError, NotStoredError, QueryError, TimeLimitError
from crawler.reports.markup import RebuiltPage, TextValues
from crawler.storage.queries import read_contents_of
from crawler.teaching.drafts import PageTeaching
from crawler.time_limit import time_limit
from crawler.urls import known_url

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cleaning.blocks import Decision
    from cleaning.teaching import CorrectedPage
    from cleaning.teaching.draft import CorrectionDraft
    from crawler.web.snapshot import DatabaseSnapshot

MAX_BLOCKS = 3_000
"""Blocks of a page that a form shows; a page with more is corrected by `scrapy correct`."""
MAX_FORM_BYTES = 1_000_000
_MAX_READER_CHARS = 60
# A menu, which the form folds. Fewer dropped blocks in a row may be a byline, tags and a notice.
_MIN_FOLDED_BLOCKS = 10


@dataclass(frozen=True, slots=True)
class FormBlock:
    """A block in the form: today's decision, and whether it would be kept as the form is now."""

    decision: Decision
    keep: bool
    marked: bool


@dataclass(frozen=True, slots=True)
class PageForm:
    """A page to correct. `version` changes when its blocks, the decisions on them or its correction change."""

    page_id: int
    url: str
    site: str
    draft: CorrectionDraft
    blocks: Sequence[FormBlock]
    version: str

    def runs(self) -> list[tuple[bool, list[FormBlock]]]:
        """Return the blocks in runs of kept and of dropped ones; True for a long one of dropped ones, to be folded."""
        runs = [list(run) for _, run in groupby(self.blocks, lambda block: block.keep or block.marked)]
        return [(len(run) >= _MIN_FOLDED_BLOCKS and not (run[0].keep or run[0].marked), run) for run in runs]

    def rebuild(self) -> RebuiltPage:
        """Return the page as it stands, each text with the decision on its block."""
        root = text_page(self.draft.tree).root
        decided = list(zip(walk(root), self.draft.decisions, strict=False))  # a page may have more leaves than blocks
        return RebuiltPage(root, (leaf for leaf, _ in decided), [TextValues(decided)])


def read_form(snapshot: DatabaseSnapshot, page_id: int, reader: str = "") -> PageForm:
    """Return the form of a stored page.

    Raises NotStoredError if the page or its HTML is not stored, CompareError if it cannot be cleaned or has too many
    blocks.
    """
    contents = read_contents_of(snapshot.connection, page_id)
    if contents is None or contents.html is None:
        what = "is not in the database" if contents is None else "has no stored HTML"
        raise NotStoredError(f"page {page_id} {what}; it cannot be corrected here")
    url = known_url(contents.url)
    if url is None:
        raise CompareError(f"{contents.url} is no address of a site")
    config = snapshot.config
    teaching = PageTeaching.read(snapshot.connection, url)
    try:
        with time_limit(config.cleaning_seconds):
            tree = parse(contents.html, url, contents.encoding, max_bytes=config.page_max_bytes)
            draft = teaching.draft(tree, reader, snapshot.now, config.cleaning_options)
    except (PageError, TimeLimitError) as error:
        raise CompareError(f"{url}: {error}") from error
    if not 0 < len(draft.decisions) <= MAX_BLOCKS:
        raise CompareError(
            f"{url} has {len(draft.decisions):,} blocks; a form shows 1 to {MAX_BLOCKS:,}: use scrapy correct"
        )
    blocks = [
        FormBlock(decision, block.right, block.mark is not None)
        for decision, block in zip(draft.decisions, draft.page.blocks, strict=True)
    ]
    seen = [(block.signature.text, block.kept, block.mark) for block in draft.page.blocks]
    corrected_at = teaching.earlier and teaching.earlier.corrected_at
    version = xxh3_128_hexdigest(repr((seen, draft.answers, corrected_at, teaching.site_model)).encode())
    return PageForm(page_id, url, contents.site, draft, blocks, version)


def read_fields(body: bytes) -> dict[str, list[str]]:
    """Return the fields of a form that a browser sent. Raises QueryError for a body that is not a form."""
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=2 * MAX_BLOCKS)
    except ValueError as error:
        raise QueryError(f"this is no form: {error}") from error
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


def reader_of(fields: Mapping[str, Sequence[str]]) -> str:
    """Return the name of the reader. Raises QueryError without one, and for a long one."""
    reader = " ".join(fields.get("reader", [""])[-1].split())
    if not reader or len(reader) > _MAX_READER_CHARS or not reader.isprintable():
        raise QueryError(f"say who corrects, in 1 to {_MAX_READER_CHARS} characters; the name is {reader[:80]!r}")
    return reader


def corrected_by(form: PageForm, fields: Mapping[str, Sequence[str]]) -> CorrectedPage:
    """Return the page as the fields of the form mark it.

    `keep` has the positions of the blocks that are text; `title`, `authors` and `published` what the page states. What
    the reader did not change is not corrected. Raises QueryError for other positions, AnnotationError for an answer
    that the page does not have.
    """
    positions = range(len(form.blocks))
    try:
        keep = {int(number) for number in fields.get("keep", ())}
    except ValueError as error:
        raise QueryError(f"a block is called by its number: {error}") from error
    if not keep <= set(positions):
        raise QueryError(f"the page has no block {max(keep)}")
    marks = {
        position: position in keep if block.marked or (position in keep) != block.decision.kept else None
        for position, block in enumerate(form.blocks)
    }
    answers = {name: " ".join(fields[name][-1].split()) for name in FIELDS if name in fields}
    changed = {name: answer for name, answer in answers.items() if answer != form.draft.answers[name]}
    return correct(form.draft.page, marks).with_fields(form.draft.correct_fields(changed))

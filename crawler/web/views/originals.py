"""The original of a page in a frame: its blocks in colour, each with the reason why it is kept or dropped."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, NoReturn

from sqlalchemy import select

from cleaning.blocks import Metadata
from cleaning.methods import METHODS
from crawler import schedule
from crawler.errors import CompareError, NotStoredError
from crawler.reports.explain import HtmlOrigin, PageToExplain, explain_found, find_text
from crawler.reports.explanation import explanation_page, notes, page_facts
from crawler.reports.sources import LoadedPage
from crawler.storage.page_columns import PAGE_COLUMN_NAMES
from crawler.storage.pages import PAGE_HISTORY, page_history
from crawler.storage.queries import read_contents_of
from crawler.storage.tables import page
from crawler.urls import known_url
from crawler.web.records import (
    CleanedOriginal,
    FoundBlock,
    MetadataField,
    OriginalTab,
    PageMetadata,
    PageQuestion,
    SideBySide,
    Word,
)
from crawler.web.views.pages import read_head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawler.reports.explain import Explanation, TextMatch
    from crawler.web.records import ComparisonQuestion, MetadataQuestion, OriginalTabQuestion, PageHead
    from crawler.web.snapshot import DatabaseSnapshot


_FOUND_CHARS_MAX = 600


class OriginalQuestion(PageQuestion, frozen=True):
    """One page, and the method that cleans it; empty for that of its crawl."""

    method: Word = ""

    @property
    def cleans(self) -> bool:
        return True


def usable_methods() -> list[str]:
    """Return the names of the methods that need no browser."""
    return [name for name, method in METHODS.items() if method.needs != "layout"]


def render_original(snapshot: DatabaseSnapshot, question: OriginalQuestion) -> str:
    """Return the page as it stands, inert, in the colours of its decisions; raises as `_explain` does."""
    explanation, source = _explain(snapshot, question.page, question.method)
    return "".join(explanation_page(explanation, source, framed=True))


def read_original_tab(snapshot: DatabaseSnapshot, question: OriginalTabQuestion) -> OriginalTab:
    """Return the address of the original, and the blocks that have the text that is looked for.

    Raises NotStoredError if the page is not stored.
    """
    head = read_head(snapshot.connection, question.page)
    blocks: list[FoundBlock] = []
    facts: list[str] = []
    problem = None
    if question.find.strip() and head.html_kept:
        explanation, _ = _explain(snapshot, question.page, "")
        facts = list(page_facts(explanation))
        try:
            blocks = [_found_block(match) for match in find_text(explanation, question.find)]
        except CompareError as error:
            problem = str(error)
    place = f"block-{blocks[0].position}" if blocks else "first-kept"
    return OriginalTab(head, f"/pages/{head.id}/frame#{place}", blocks, facts, problem)


def read_page_metadata(snapshot: DatabaseSnapshot, question: MetadataQuestion) -> PageMetadata:
    """Return what a page says of itself, with the sources if its HTML is kept; raises NotStoredError."""
    connection = snapshot.connection
    head = read_head(connection, question.page)
    columns = [page.c[name] for name in PAGE_COLUMN_NAMES]
    row = connection.execute(
        select(*dict.fromkeys([*columns, *PAGE_HISTORY, page.c.encoding, page.c.next_visit])).where(
            page.c.id == question.page
        )
    ).one()
    why = None
    if row.next_visit is not None:
        why = schedule.explain_next_visit(page_history(row), snapshot.now, snapshot.config.revisits)
    stored = {name: getattr(row, name) for name in PAGE_COLUMN_NAMES}
    return PageMetadata(
        page=head,
        fields=list(_metadata_fields(snapshot, head, stored)),
        key=row.url_key,
        why=why,
        **{name: getattr(row, name) for name in ("encoding", "next_visit", *_HISTORY)},
    )


_HISTORY = ("first_seen", "last_seen", "last_changed", "visits", "changes")
_SOURCE_NAMES = {"author": "authors"}


def _metadata_fields(
    snapshot: DatabaseSnapshot, head: PageHead, stored: dict[str, str | None]
) -> Iterator[MetadataField]:
    """Yield the stored fields, then those that only the page's HTML says."""
    read: dict[str, str] = {}
    sources: dict[str, str] = {}
    if head.html_kept:
        try:
            metadata = _explain(snapshot, head.id, "")[0].cleaned.metadata
        except CompareError:
            metadata = Metadata()  # a method that needs a browser, or a page that takes too long
        sources = dict(metadata.sources)
        for name, value in asdict(metadata).items():
            text = ", ".join(value) if isinstance(value, tuple) else value
            if text and name != "sources":
                read[name] = text
        read |= {"author": metadata.author or "", "published": metadata.published_text or ""}
    names = [name for name in stored if name not in {"url", "site"}]
    for name in (*names, *(name for name in read if name not in stored and name not in _SOURCE_NAMES.values())):
        if stored.get(name) or read.get(name):
            source = sources.get(_SOURCE_NAMES.get(name, name))
            yield MetadataField(name, stored.get(name), read.get(name) or None, source)


def _found_block(match: TextMatch) -> FoundBlock:
    block, decision = match.row.block, match.row.decision
    return FoundBlock(
        position=block.position,
        text=block.text[:_FOUND_CHARS_MAX],
        kept=decision.kept,
        reason=decision.reason.value,
        meaning=decision.reason.meaning,
        score=decision.score,
        kind=block.kind,
        path=block.path,
        whole=match.whole,
        share=match.share,
        notes=list(notes(match.row)),
    )


def _explain(snapshot: DatabaseSnapshot, page_id: int, requested: str) -> tuple[Explanation, PageToExplain]:
    """Return the explanation of a stored page.

    Raises NotStoredError if the page or its HTML is not stored, and CompareError for a method that there is not, or if
    it cannot clean the page.
    """
    contents = read_contents_of(snapshot.connection, page_id)
    if contents is None or contents.html is None:
        raise _no_original(page_id, stored=contents is not None)
    method = _method(snapshot, requested, contents.method)
    loaded = LoadedPage(contents.html, contents.encoding)
    address = known_url(contents.url)
    source = PageToExplain(contents.url, address, HtmlOrigin.STORED, loaded, contents, contents.site_model)
    options = {"max_bytes": snapshot.config.page_max_bytes, **snapshot.config.cleaning_options}

    def refuse() -> NoReturn:
        raise CompareError(f"the method {method} needs a browser: scrapy explain {contents.url} --method {method}")

    return explain_found(source, method, options, snapshot.config, refuse), source


def read_methods(snapshot: DatabaseSnapshot, question: ComparisonQuestion) -> SideBySide:
    """Return the addresses of a page's original by two methods; raises as `render_original` does."""
    columns = select(page.c.url, page.c.title, page.c.method, page.c.html.is_not(None).label("html_kept"))
    row = snapshot.connection.execute(columns.where(page.c.id == question.page)).first()
    if row is None or not row.html_kept:
        raise _no_original(question.page, stored=row is not None)
    names = [_method(snapshot, question.method, row.method), _method(snapshot, question.other, row.method)]
    return SideBySide(
        page=question.page,
        url=row.url,
        title=row.title,
        cleaned=[
            CleanedOriginal(method=name, original=f"/pages/{question.page}/frame?method={name}") for name in names
        ],
    )


def _method(snapshot: DatabaseSnapshot, requested: str, stored: str) -> str:
    """Return the method that is asked for, otherwise that of the page's crawl if there still is such a method."""
    method = requested or (stored if stored in METHODS else snapshot.config.cleaning_method)
    if method not in METHODS:
        raise CompareError(f"there is no method {method!r}; there are {', '.join(usable_methods())}")
    return method


def _no_original(number: int, *, stored: bool) -> NotStoredError:
    missing = "the HTML was not kept of page" if stored else "there is no page"
    return NotStoredError(f"{missing} {number}" + "; KEEP_HTML=1 keeps that of later visits" * stored)

"""The original of a page in a frame: its blocks in colour, each with the reason why it is kept or dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from sqlalchemy import select

from cleaning.methods import METHODS
from crawler.errors import CompareError, NotStoredError
from crawler.reports.explain import HtmlOrigin, PageToExplain, explain_found
from crawler.reports.explanation import explanation_page
from crawler.reports.sources import LoadedPage
from crawler.storage.queries import read_contents_of
from crawler.storage.tables import page
from crawler.urls import known_url
from crawler.web.records import CleanedOriginal, PageQuestion, SideBySide, Word

if TYPE_CHECKING:
    from crawler.web.records import ComparisonQuestion
    from crawler.web.snapshot import DatabaseSnapshot


class OriginalQuestion(PageQuestion, frozen=True):
    """One page, and the method that cleans it; empty for that of its crawl."""

    method: Word = ""


def usable_methods() -> list[str]:
    """Return the names of the methods that need no browser."""
    return [name for name, method in METHODS.items() if method.needs != "layout"]


def render_original(snapshot: DatabaseSnapshot, question: OriginalQuestion) -> str:
    """Return the page as it stands, inert, in the colours of its decisions.

    Raises NotStoredError if the page or its HTML is not stored, and CompareError for a method that there is not, or if
    it cannot clean the page.
    """
    contents = read_contents_of(snapshot.connection, question.page)
    if contents is None or contents.html is None:
        raise _no_original(question.page, stored=contents is not None)
    method = _method(snapshot, question.method, contents.method)
    loaded = LoadedPage(contents.html, contents.encoding)
    source = PageToExplain(contents.url, known_url(contents.url), HtmlOrigin.STORED, loaded, contents)
    options = {"max_bytes": snapshot.config.page_max_bytes, **snapshot.config.cleaning_options}

    def refuse() -> NoReturn:
        raise CompareError(f"the method {method} needs a browser: scrapy explain {contents.url} --method {method}")

    return "".join(explanation_page(explain_found(source, method, options, snapshot.config, refuse), source))


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
            CleanedOriginal(method=name, original=f"/pages/{question.page}/original?method={name}") for name in names
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

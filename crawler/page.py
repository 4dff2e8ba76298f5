"""The value that a spider's callback yields for a content page, its visit, and the item that feeds get for it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from itemadapter.adapter import DictAdapter
from scrapy import Field, Item
from scrapy.exceptions import DropItem
from scrapy.http import TextResponse

from cleaning import METHODS, clean
from cleaning.blocks import Metadata, kept_decisions
from cleaning.parse import NOT_XML, parse
from crawler.context import context_of
from crawler.fetching.redirects import moved_from
from crawler.fetching.response_filter import PageResponse, Rejection, content_type
from crawler.storage.page_columns import PAGE_COLUMN_NAMES, describe
from crawler.urls import known_url
from crawler.visit import (
    METHOD_META_KEY,
    SECTION_META_KEY,
    CleanedPage,
    FetchedPage,
    Outcome,
    ProcessedPage,
    UnparsedPage,
    Visit,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from cleaning.blocks import Page
    from cleaning.structure.clean_page import CleanPage
    from cleaning.teaching import SiteModel
    from crawler.config import Config
    from crawler.storage.page_columns import Value
    from crawler.storage.queries import StoredItem


def page(
    response: Response,
    *,
    title: str | None = None,
    author: str | None = None,
    published: date | str | None = None,
    section: str | None = None,
) -> FetchedPage:
    """Return the response as a content page. A callback yields it to have it cleaned and stored.

        def parse_article(self, response):
            yield page(response, section="News", published=response.css("time::attr(datetime)").get())

    Metadata that the spider states here wins over the page's own; `published` is a date or its ISO text. Raises
    PageError for a body that is not text.
    """
    day = published.isoformat()[:10] if isinstance(published, date) else published
    meta = response.request.meta if response.request else {}
    return replace(
        fetched_page(response, _read_response(response)),
        stated=Metadata(title=title, authors=(author,) if author else (), published=day, section=section),
        method=meta.get(METHOD_META_KEY),
        listed_in=meta.get(SECTION_META_KEY),
    )


def fetched_page(response: Response, source: Page | UnparsedPage) -> FetchedPage:
    """Return a page of which no spider states anything."""
    etag, last_modified = get_header(response, "ETag"), get_header(response, "Last-Modified")
    return FetchedPage(response.url, response.body, source, Metadata(), etag, last_modified)


def begin_visit(response: Response, request: Request | None) -> Visit:
    """Return the visit of a response whose end is not known yet."""
    return Visit(
        response.url,
        datetime.now(UTC),
        Outcome.SECTION,
        response.status,
        etag=get_header(response, "ETag"),
        last_modified=get_header(response, "Last-Modified"),
        moved_from=moved_from(request),
    )


def end_visit(visit: Visit, result: FetchedPage | Rejection) -> Visit:
    """Return the visit with its page, or with the reason why it has none."""
    if isinstance(result, Rejection):
        return replace(visit, outcome=result.outcome, error=result.detail)
    return replace(visit, outcome=Outcome.PAGE, page=result)


def cleaned_page(response: Response, crawler: Crawler) -> CleanPage | None:
    """Return the cleaned page of a response in the callback of a host project; None if the response is not a page.

    The add-on Cleaning cleans a page before its callback is called. With CLEANING_PROCESSES the page has come from
    another process without its tree, so its Markdown, chunks and places raise StructureError unless STRUCTURE is set.
    """
    cleaned: CleanPage | None = context_of(crawler).cleaned_pages.get(response)
    return cleaned


def get_header(response: Response, name: str) -> str | None:
    """Return the value of a response's header; None if it has no header of that name."""
    value = response.headers.get(name)
    return value.decode("latin-1") if value else None


def _read_response(response: Response) -> Page | UnparsedPage:
    if isinstance(response, PageResponse):
        return response.source
    header = content_type(response)
    # Scrapy's `encoding` would be a guess where nothing is declared, and would pass for a declaration.
    declared = header
    if isinstance(response, TextResponse) and "charset" not in (header or "").lower():
        declared = response._declared_encoding()  # noqa: SLF001
    return parse(response.body, known_url(response.url), declared)


class PageItem(Item):
    """A cleaned page as feeds (`-o`, `-O`, FEEDS), later item pipelines and the signal `item_scraped` get it.

    Its first fields are those of PAGE_COLUMNS. A field that the page does not state is left out. Times are ISO texts.
    """

    # In the body of a class, locals() is the namespace that the class is made of.
    locals().update((name, Field()) for name in PAGE_COLUMN_NAMES)

    modified = Field()
    site_name = Field()
    image = Field()
    """Address of the lead image."""
    canonical = Field()
    type = Field()
    """Page type; only the method `default` finds it."""
    fetched = Field()
    """When the page was fetched, in UTC."""
    text = Field()
    """The texts of the kept blocks in reading order, one a line."""
    markdown = Field()
    """The main text as Markdown; only with the setting STRUCTURE."""
    blocks = Field()
    """The kept blocks in reading order, each with `kind`, `score` and `text`."""


class VisitWithoutPage(DropItem):
    """Ends a visit without a page at the last item pipeline, so that no feed gets it."""

    def __init__(self, visit: Visit) -> None:
        super().__init__(f"no page at {visit.url}: {visit.outcome}", log_level="DEBUG")


class _Blocks(list[dict[str, Any]]):
    """Blocks as a list, and as JSON in a cell of a CSV file."""

    def __str__(self) -> str:
        return json.dumps(self, ensure_ascii=False)


def page_item(visit: Visit) -> PageItem:
    """Return the item of a visit with a cleaned page. Raises VisitWithoutPage for any other visit."""
    if not isinstance(visit.page, CleanedPage | ProcessedPage):
        raise VisitWithoutPage(visit)
    structure = visit.page.structure
    markdown = None if structure is None else structure.markdown
    return _make_item(visit.page.fetched.url, visit.page.cleaned, visit.at, markdown)


def stored_item(content: StoredItem, fetched: datetime) -> PageItem:
    """Return the item of a page that was not modified, from its stored content.

    The database holds no `modified`, `site_name`, `image`, `canonical` and `type`.
    """
    texts = [_xml_text(block.text) for block in content.blocks]
    item = _stated_fields({**content.fields, "fetched": fetched.isoformat(timespec="seconds")})
    item["text"] = "\n".join(texts)
    if content.markdown is not None:
        item["markdown"] = _xml_text(content.markdown)
    item["blocks"] = _Blocks(
        {"kind": block.kind, "score": block.score, "text": text}
        for block, text in zip(content.blocks, texts, strict=True)
    )
    return PageItem(item)


def _make_item(url: str, cleaned: CleanPage, fetched: datetime | None = None, markdown: str | None = None) -> PageItem:
    metadata = cleaned.metadata
    kept = kept_decisions(cleaned.decisions)
    texts = [_xml_text(decision.block.text) for decision in kept]
    values = {
        **describe(url, cleaned),
        "modified": metadata.modified_text,
        "site_name": metadata.site_name,
        "image": metadata.image,
        "canonical": metadata.canonical,
        "type": cleaned.type and cleaned.type.value,
        "fetched": None if fetched is None else fetched.isoformat(timespec="seconds"),
    }
    item = _stated_fields(values)
    item["text"] = "\n".join(texts)
    if markdown is not None:
        item["markdown"] = _xml_text(markdown)
    item["blocks"] = _Blocks(
        {"kind": str(decision.block.kind), "score": decision.score, "text": text}
        for decision, text in zip(kept, texts, strict=True)
    )
    return PageItem(item)


def _xml_text(text: str) -> str:
    """Return a text without the characters that XML must not have; a printable text has none."""
    return text if text.isprintable() else NOT_XML.sub("", text)


def _stated_fields(values: Mapping[str, Value]) -> dict[str, Any]:
    """Return the values that are not None, texts as XML can hold them."""
    return {
        name: _xml_text(value) if isinstance(value, str) else value
        for name, value in values.items()
        if value is not None
    }


def page_adapter(config: Config, site_model_of: Callable[[str], SiteModel | None]) -> type[DictAdapter]:
    """Return the item adapter that shows a FetchedPage as its item; `scrapy parse` prints what callbacks yield.

    `site_model_of` gives the model of a URL's site.
    """

    class FetchedPageAdapter(DictAdapter):
        def __init__(self, item: FetchedPage) -> None:
            method = item.method or config.cleaning_method
            model = None if METHODS.find(method).decide_taught is None else site_model_of(item.url)
            cleaned = clean(item.tree, method=method, site_model=model, **config.cleaning_options)
            metadata = item.describe(cleaned.metadata)
            markdown = cleaned.markdown if config.structure else None
            page_item = _make_item(item.url, replace(cleaned, known_metadata=metadata), markdown=markdown)
            super().__init__(dict(page_item))

        @classmethod
        def is_item(cls, item: Any) -> bool:
            return isinstance(item, FetchedPage)

        @classmethod
        def is_item_class(cls, item_class: type) -> bool:
            return issubclass(item_class, FetchedPage)

    return FetchedPageAdapter

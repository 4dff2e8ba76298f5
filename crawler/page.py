"""The value that a spider's callback yields for a content page."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from cleaning.blocks import Metadata
from cleaning.parse import parse
from crawler.fetching.response_filter import PageResponse, content_type
from crawler.visit import METHOD_META_KEY, FetchedPage

if TYPE_CHECKING:
    from scrapy.http import Response, TextResponse

    from cleaning.blocks import Page


def page(
    response: TextResponse,
    *,
    title: str | None = None,
    author: str | None = None,
    published: date | str | None = None,
    section: str | None = None,
) -> FetchedPage:
    """Return the response as a content page. A callback yields it to have it cleaned and stored.

    Metadata that the spider states here wins over the page's own; `published` is a date or its ISO text. Raises
    PageError for a body that is not text.
    """
    day = published.isoformat()[:10] if isinstance(published, date) else published
    return FetchedPage(
        url=response.url,
        body=response.body,
        tree=_parse_response(response),
        stated=Metadata(title=title, authors=(author,) if author else (), published=day, section=section),
        etag=get_header(response, "ETag"),
        last_modified=get_header(response, "Last-Modified"),
        method=response.request.meta.get(METHOD_META_KEY) if response.request else None,
    )


def get_header(response: Response, name: str) -> str | None:
    """Return the value of a response's header; None if it has no header of that name."""
    value = response.headers.get(name)
    return value.decode("latin-1") if value else None


def _parse_response(response: TextResponse) -> Page:
    if isinstance(response, PageResponse):
        return response.tree
    header = content_type(response)
    declared = header if header and "charset" in header.lower() else response.encoding
    return parse(response.body, response.url, declared)

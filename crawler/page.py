"""What a spider's callback yields for a content page."""

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
    """Return the response as a content page, to be yielded by a callback; it is then cleaned and stored.

    What the spider states wins over what the page says of itself; `published` is a date or its ISO text.
    Raises PageError for a body that is no text.
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


def _parse_response(response: TextResponse) -> Page:
    if isinstance(response, PageResponse):
        return response.tree
    header = content_type(response)
    declared = header if header and "charset" in header.lower() else response.encoding
    return parse(response.body, response.url, declared)


def get_header(response: Response, name: str) -> str | None:
    """Return the value of a response's header, None where it has none of that name."""
    value = response.headers.get(name)
    return value.decode("latin-1") if value else None

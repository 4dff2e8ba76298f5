"""What all spiders of listings do: listing → articles → next page of the listing."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import TextResponse

from crawler.arguments import ArgumentSpider, argument, read_count, read_day
from crawler.page import page
from spiders.links import Link, article_links, iso_day
from spiders.pagination import next_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from scrapy.http import Response

    from crawler.visit import Fetched

logger = logging.getLogger(__name__)

# Articles before further listings: a crawl that is stopped has stored what it has seen.
_LISTING_PRIORITY = -10
_DATES = "meta[property='article:published_time']::attr(content), time[datetime]::attr(datetime)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingArguments:
    """What every spider of listings can be asked for."""

    pages: int | None = argument(read_count, "listing pages of each section that are read", 1)
    since: date | None = argument(  # noqa: RUF009 — declares a field
        read_day, "articles older than this day are left out, where their date is known", None
    )


class ListingSpider(ArgumentSpider):
    """A spider of listings; subclasses say which links are articles and what is special about the pages."""

    asked: ListingArguments

    def parse_listing(self, response: Response, number: int = 1) -> Iterator[Request]:
        """Yield the articles of a listing, and its next page while more are asked for."""
        assert isinstance(response, TextResponse)
        links = self.article_links(response)
        wanted = [link for link in links if not self._is_old(link.published)]
        self.count("links", len(links))
        self.count("older", len(links) - len(wanted))
        for link in wanted:
            yield Request(link.url, callback=self.parse_article)
        if links and not wanted:
            return  # listings begin with the newest: what follows is older still
        more = self.asked.pages is None or number < self.asked.pages
        if more and (following := next_page(response)):
            yield self.listing(following, number + 1)

    def parse_article(self, response: Response) -> Iterator[Fetched]:
        """Yield the page, unless its own date is too old."""
        assert isinstance(response, TextResponse)
        if self._is_old(iso_day(response.css(_DATES).get(""))):
            self.count("older")
            return
        yield page(response)

    def article_links(self, response: TextResponse) -> list[Link]:
        """Return the links that lead to articles."""
        return article_links(response)

    def listing(self, url: str, number: int = 1, **more: Any) -> Request:
        """Return the request for a page of a listing."""
        priority = 0 if number == 1 else _LISTING_PRIORITY
        return Request(url, callback=self.parse_listing, cb_kwargs={"number": number}, priority=priority, **more)

    def count(self, event: str, by: int = 1) -> None:
        """Count an event as `<spider>/<event>`."""
        self.crawler.stats.inc_value(f"{self.name}/{event}", by)

    def _is_old(self, published: date | None) -> bool:
        return published is not None and self.asked.since is not None and published < self.asked.since

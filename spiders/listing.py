"""What all spiders of listings do: listing → articles → next page of the listing."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import TextResponse

from crawler.arguments import ArgumentSpider, argument, read_count, read_day
from crawler.page import page
from spiders.dates import iso_day
from spiders.experience import Experience
from spiders.links import Link, article_links
from spiders.listed import Listed
from spiders.pagination import next_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawler.visit import Fetched

logger = logging.getLogger(__name__)

# Articles before further listings: a crawl that is stopped has stored what it has seen.
_LISTING_PRIORITY = -10
# Where a listing's further pages carry, in their requests' meta, the address of its first one.
_FIRST_PAGE = "listing"
# However long a listing says that it is.
_MOST_PAGES = 100_000
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
    experience: Experience
    listed: Listed

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.experience = Experience(crawler, spider.sections)
        spider.listed = Listed()
        return spider

    def sections(self) -> Sequence[str]:
        """Return addresses on the sites of which stored pages are to be recalled before the crawl; none by default."""
        return ()

    def parse_listing(self, response: Response, number: int = 1) -> Iterator[Request]:
        """Yield the articles of a listing, and its next page while more are asked for and it lists anything new."""
        assert isinstance(response, TextResponse)
        self.experience.shapes.learn(response.url, is_article=False)
        links = self.article_links(response)
        wanted = [link for link in links if not self._is_old(link.published)]
        self.count("links", len(links))
        self.count("older", len(links) - len(wanted))
        if number == 1 and not links:
            logger.warning(
                "No link of %s seems to lead to an article; 'section' can be told: -a allow=PATTERN", response.url
            )
        for link in wanted:
            yield Request(link.url, callback=self.parse_article)
        if links and not wanted:
            return  # listings begin with the newest: what follows is older still
        yield from self._further(response, links, number)

    def _further(self, response: TextResponse, links: Sequence[Link], number: int) -> Iterator[Request]:
        """Yield the next page of a listing, unless this one shows that it goes on for ever."""
        following = next_page(response)
        first = str(response.meta.get(_FIRST_PAGE, response.url))
        new = self.listed.add(first, [link.url for link in links])
        self.listed.add(first, [response.url])
        if following is None or number >= min(self.asked.pages or _MOST_PAGES, _MOST_PAGES):
            return
        if not new or self.listed.has(first, following):
            self.count("repeated")
            logger.debug("The listing %s ends at %s, which lists nothing new", first, response.url)
            return
        yield self.listing(following, number + 1, meta={_FIRST_PAGE: first})

    def parse_article(self, response: Response) -> Iterator[Fetched]:
        """Yield the page, unless its own date is too old."""
        assert isinstance(response, TextResponse)
        if self._is_old(iso_day(response.css(_DATES).get(""))):
            self.count("older")
            return
        yield page(response)

    def article_links(self, response: TextResponse) -> list[Link]:
        """Return the links that lead to articles, by their looks and what the crawl has learned."""
        return article_links(response, learned=self.experience.shapes)

    def listing(self, url: str, number: int = 1, **more: Any) -> Request:
        """Return the request for a page of a listing."""
        priority = 0 if number == 1 else _LISTING_PRIORITY
        return Request(url, callback=self.parse_listing, cb_kwargs={"number": number}, priority=priority, **more)

    def count(self, event: str, by: int = 1) -> None:
        """Count an event as `<spider>/<event>`."""
        self.crawler.stats.inc_value(f"{self.name}/{event}", by)

    def _is_old(self, published: date | None) -> bool:
        return published is not None and self.asked.since is not None and published < self.asked.since

"""Any section of any site: `scrapy crawl section -a url=https://example.com/news/ [-a pages=3]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy.http import TextResponse

from cleaning.declare import option, pattern, required, web_url
from crawler.fetching.response_filter import has_content
from crawler.page import page
from spiders.links import Link, article_links
from spiders.listing import ListingArguments, ListingSpider

if TYPE_CHECKING:
    import re
    from collections.abc import AsyncIterator, Iterator, Sequence

    from scrapy import Request
    from scrapy.http import Response

    from crawler.visit import FetchedPage


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionArguments(ListingArguments):
    url: str = required(web_url(), "Address of the section.")
    allow: re.Pattern[str] | None = option(
        None,
        pattern(),
        "Regular expression for the URLs of articles. Without it, article links are recognised by their appearance.",
    )


class SectionSpider(ListingSpider):
    """Reads a section: recognises the article links, and follows the section's next pages."""

    name = "section"
    Arguments = SectionArguments
    arguments: SectionArguments

    async def start(self) -> AsyncIterator[Request]:
        yield self.listing(self.arguments.url, dont_filter=True)

    def parse_listing(  # type: ignore[override] # Scrapy takes pages too
        self, response: Response, number: int = 1
    ) -> Iterator[Request | FetchedPage]:
        """Yield the articles of a listing, and its next page; a first page that lists nothing is a page if it has text.

        The root of a manual is such a page.
        """
        assert isinstance(response, TextResponse)
        requests = list(super().parse_listing(response, number))
        yield from requests
        if number == 1 and not requests and not self.article_links(response) and has_content(response.selector.root):
            yield page(response)

    def sections(self) -> Sequence[str]:
        return (self.arguments.url,)

    def article_links(self, response: TextResponse) -> list[Link]:
        return article_links(response, self.arguments.allow, self.link_history)

"""Any section of any site: `scrapy crawl section -a url=https://example.com/news/ [-a pages=3]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cleaning.declare import option, pattern, required, web_url
from spiders.links import Link, article_links
from spiders.listing import ListingArguments, ListingSpider

if TYPE_CHECKING:
    import re
    from collections.abc import AsyncIterator, Sequence

    from scrapy import Request
    from scrapy.http import TextResponse


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

    def sections(self) -> Sequence[str]:
        return (self.arguments.url,)

    def article_links(self, response: TextResponse) -> list[Link]:
        return article_links(response, self.arguments.allow, self.link_history)

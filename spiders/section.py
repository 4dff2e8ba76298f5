"""Any section of any site: `scrapy crawl section -a url=https://example.com/news/ [-a pages=3]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawler.arguments import argument, read_pattern, read_url
from spiders.links import Link, article_links
from spiders.listing import ListingArguments, ListingSpider

if TYPE_CHECKING:
    import re
    from collections.abc import AsyncIterator, Sequence

    from scrapy import Request
    from scrapy.http import TextResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionArguments(ListingArguments):
    url: str = argument(read_url, "the section's address")
    allow: re.Pattern[str] | None = argument(  # noqa: RUF009 — declares a field
        read_pattern, "regular expression for the URLs of articles, in place of recognising them", None
    )


class SectionSpider(ListingSpider):
    """Finds the article links of a section by what they look like, and its further pages."""

    name = "section"
    Arguments = SectionArguments
    asked: SectionArguments

    async def start(self) -> AsyncIterator[Request]:
        yield self.listing(self.asked.url, dont_filter=True)

    def sections(self) -> Sequence[str]:
        return (self.asked.url,)

    def article_links(self, response: TextResponse) -> list[Link]:
        return article_links(response, self.asked.allow, self.experience.shapes)

"""Saved pages, without the network: `scrapy crawl archive -s REPLAY=PATH`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawler.config import config_of
from crawler.config.arguments import ArgumentSpider
from crawler.errors import ConfigError
from crawler.fetching.replay import replay_source
from crawler.page import page

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawler.visit import FetchedPage


@dataclass(frozen=True, slots=True)
class ArchiveArguments:
    """The spider has no arguments. The setting REPLAY names the saved pages."""


class ArchiveSpider(ArgumentSpider):
    """Reads every record of a replay source as a page, to clean it with other options or another method."""

    name = "archive"
    Arguments = ArchiveArguments
    # Nothing is fetched, so today's robots.txt does not matter.
    custom_settings = {"ROBOTSTXT_OBEY": False}  # noqa: RUF012 — as Scrapy declares it

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        if not config_of(crawler).replay:
            raise ConfigError("REPLAY is not set: add -s REPLAY=PATH, a folder of saved pages or a WARC file")
        return spider

    async def start(self) -> AsyncIterator[Request]:
        for url in replay_source(self.crawler).urls():
            # The target of a saved redirect is a record of its own: following the redirect would read it twice.
            yield Request(url, callback=self.parse_record, dont_filter=True, meta={"dont_redirect": True})

    def parse_record(self, response: Response) -> Iterator[FetchedPage]:
        yield page(response)

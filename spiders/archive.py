"""Every record of a replay source as a page: `scrapy crawl archive -s REPLAY=PATH`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import TextResponse

from crawler.arguments import ArgumentSpider
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
    """The archive takes no arguments; its source is the setting REPLAY."""


class ArchiveSpider(ArgumentSpider):
    """Reads saved pages again, to clean them with other options or another method. Nothing is fetched."""

    name = "archive"
    Arguments = ArchiveArguments
    # What robots.txt says today is no matter for what was saved then.
    custom_settings = {"ROBOTSTXT_OBEY": False}  # noqa: RUF012 — as Scrapy declares it

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        if not crawler.settings.get("REPLAY"):
            raise ConfigError("REPLAY is not set: add -s REPLAY=PATH, a folder with index.tsv or a WARC file")
        return spider

    async def start(self) -> AsyncIterator[Request]:
        for url in replay_source(self.crawler).urls():
            # A saved redirect is a record of its own: followed, its target would be read twice.
            yield Request(url, callback=self.parse_record, dont_filter=True, meta={"dont_redirect": True})

    def parse_record(self, response: Response) -> Iterator[FetchedPage]:
        assert isinstance(response, TextResponse)
        yield page(response)

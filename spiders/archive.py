"""Saved pages, without the network: `scrapy crawl archive -s REPLAY=PATH`.

Of several captures of one URL each is a visit at its own date. The next one is requested by the visit of the one
before, which the frontier stores together with that request: so they are stored in their order, by any number of
processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawler.config import config_of
from crawler.config.arguments import ArgumentSpider
from crawler.errors import ConfigError
from crawler.fetching.replay import CAPTURE_KEY, replay_source
from crawler.page import page
from crawler.visit import RECORD_ID_KEY, VISIT_TIME_KEY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

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
            yield self._capture(url, 0)

    def parse_record(self, response: Response) -> Iterator[FetchedPage | Request]:
        yield page(response)
        yield from self._next_capture(response.request)

    def skip_record(self, failure: Failure) -> Iterator[Request]:
        """Go on to the next capture of a URL after one that is no page."""
        yield from self._next_capture(failure.request)  # type: ignore[attr-defined] # Scrapy sets it

    def _next_capture(self, request: Request | None) -> Iterator[Request]:
        assert request is not None
        number = request.meta[CAPTURE_KEY] + 1
        if number < len(replay_source(self.crawler).captures(request.url)):
            yield self._capture(request.url, number)

    def _capture(self, url: str, number: int) -> Request:
        capture = replay_source(self.crawler).captures(url)[number]
        meta: dict[str, Any] = {CAPTURE_KEY: number, RECORD_ID_KEY: capture.record_id}
        if capture.at is not None:
            meta[VISIT_TIME_KEY] = capture.at.isoformat()
        # The target of a saved redirect is a record of its own: following the redirect would read it twice.
        meta["dont_redirect"] = True
        return Request(url, callback=self.parse_record, errback=self.skip_record, dont_filter=True, meta=meta)

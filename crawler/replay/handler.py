"""The download handler that answers requests from a replay source."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.http import Response
from scrapy.http.headers import Headers
from scrapy.responsetypes import responsetypes

from crawler.addon import Blocksieve
from crawler.errors import ReplayError
from crawler.replay.source import Absence, ReplaySource

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector


class ReplayHandler:
    """Serves saved pages under their real URLs; what was not saved is 404, which for robots.txt allows everything."""

    lazy = True

    def __init__(self, source: ReplaySource, stats: StatsCollector) -> None:
        self._source = source
        self._stats = stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        source = replay_source(crawler)
        # Set, not added: http and https have a handler each.
        crawler.stats.set_value("replay/records", len(source.urls()))
        crawler.stats.set_value("replay/repeated", source.repeated)
        return cls(source, crawler.stats)

    async def download_request(self, request: Request) -> Response:
        found = self._source.find(request.url)
        if isinstance(found, Absence):
            if urlsplit(request.url).path != "/robots.txt":
                self._stats.inc_value(f"replay/{found}")
            return Response(request.url, status=404, request=request)
        kind: type[Response] = responsetypes.from_args(Headers(found.headers), request.url, body=found.body)
        return kind(request.url, found.status, found.headers, found.body, request=request)

    async def close(self) -> None:
        """Nothing stays open between two requests."""


def replay_source(crawler: Crawler) -> ReplaySource:
    """Return the source that the crawl's REPLAY names. Raises ReplayError where it names none."""
    addon = crawler.get_addon(Blocksieve)
    if addon is None or addon.replay is None:
        raise ReplayError("REPLAY is not set, or the add-on crawler.addon.Blocksieve is missing from ADDONS")
    return addon.replay

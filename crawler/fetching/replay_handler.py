"""The download handler that answers requests from a replay source."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.http import Response
from scrapy.http.headers import Headers
from scrapy.responsetypes import responsetypes

from crawler.addon import Blocksieve
from crawler.errors import ReplayError
from crawler.fetching.replay import ReplayMiss, ReplaySource

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector


logger = logging.getLogger(__name__)


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
        if isinstance(found, ReplayMiss):
            if urlsplit(request.url).path != "/robots.txt":
                self._stats.inc_value(f"replay/{found}")
            return Response(request.url, status=404, request=request)
        if found.status == HTTPStatus.NOT_MODIFIED:
            self._miss_body(request.url)
        kind: type[Response] = responsetypes.from_args(Headers(found.headers), request.url, body=found.body)
        return kind(request.url, found.status, found.headers, found.body, request=request)

    def _miss_body(self, url: str) -> None:
        """Count an answer that only says that the page is as it was; where a page is missing, the log says why."""
        self._stats.inc_value("replay/not_modified")
        logger.warning(
            "%s was not modified when this was recorded (304): what it held is in the archive of an earlier crawl", url
        )

    async def close(self) -> None:
        """Nothing stays open between two requests."""


def replay_source(crawler: Crawler) -> ReplaySource:
    """Return the source that the crawl's REPLAY names. Raises ReplayError where it names none."""
    addon = crawler.get_addon(Blocksieve)
    if addon is None or addon.replay is None:
        raise ReplayError("REPLAY is not set, or the add-on crawler.addon.Blocksieve is missing from ADDONS")
    return addon.replay

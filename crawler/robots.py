"""Scrapy's robots.txt middleware, which also stops requests that come while robots.txt is on its way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.robotstxt import RobotParser


class RobotsMiddleware(RobotsTxtMiddleware):
    """Lets every request wait for the rules of its site.

    In Scrapy 2.19 all that wait share one Deferred, and a future made of it takes the result away: the first request
    is given the rules, the others None, which lets them pass.
    """

    async def robot_parser(self, request: Request) -> RobotParser | None:
        await super().robot_parser(request)
        found = self._parsers[urlparse_cached(request).netloc]
        assert not isinstance(found, Deferred)  # it has fired
        return found

"""Redirects: by a `meta` element, as browsers read it, and those that lead back to their own chain: A → B → A.

Sites do the latter to set a cookie or to ask for consent. With cookies the second request for A gets its page, so the
request must not count as a duplicate. Without cookies, and on a broken site, the chain never ends: `RedirectGuard`
bounds it.
"""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy.core.scheduler import Scheduler
from scrapy.downloadermiddlewares.redirect import MetaRefreshMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse

from cleaning.parse import decode
from crawler.terminal import count_of
from crawler.urls import url_key

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

# How often a chain may ask for one address. With cookies, a site may first set one for its visitor and then one for
# the consent.
_REQUESTS_WITH_COOKIES = 3
_REQUESTS_WITHOUT_COOKIES = 2
_PERMANENT = frozenset({301, 308})
_RECENT_MAX = 10_000
_HEAD_BYTES = 16_384  # Scrapy looks for a refresh in the first 4,096 characters
_BASE = re.compile(r"<base\b[^>]*>", re.IGNORECASE)


class RedirectLoop(IgnoreRequest):
    """The redirects of a request lead back to an address that they have led to before."""


class RedirectGuard:
    """Downloader middleware that ends a chain of redirects that leads to one address too often.

    Without cookies all addresses of such a chain are remembered: a further page that is redirected to one of them fails
    at once, because a site that does this does it on every page.
    """

    def __init__(self, crawler: Crawler, *, has_cookies: bool) -> None:
        self._crawler = crawler
        self._has_cookies = has_cookies
        self._max_requests = _REQUESTS_WITH_COOKIES if has_cookies else _REQUESTS_WITHOUT_COOKIES
        self._looping = RecentKeys()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler, has_cookies=crawler.settings.getbool("COOKIES_ENABLED"))

    def process_request(self, request: Request) -> None:
        """Raises RedirectLoop."""
        chain = redirect_chain(request)
        if not chain:
            return
        is_known = not self._has_cookies and request.url in self._looping
        if not is_known and chain.count(request.url) < self._max_requests:
            return
        if not self._has_cookies:
            self._looping.update([*chain, request.url])
        self._warn(request)
        raise RedirectLoop(f"the redirects from {chain[0]} lead back to {request.url}{self._advice}")

    @property
    def _advice(self) -> str:
        if self._has_cookies:
            return f" after {count_of(self._max_requests, 'request')} for it"
        return "; sites do this to set a cookie: COOKIES_ENABLED=true keeps cookies"

    def _warn(self, request: Request) -> None:
        """Log the first loop of a crawl."""
        assert self._crawler.stats
        if not self._crawler.stats.get_value("redirects/loops"):
            logger.warning("The redirects to %s lead in a circle%s", request.url, self._advice)
        self._crawler.stats.inc_value("redirects/loops")


class RefreshMiddleware(MetaRefreshMiddleware):
    """Scrapy's middleware for `<meta http-equiv="refresh">`, which reads the page as browsers do.

    The text is in an encoding that browsers know, and a refresh or a base that is no URL counts as not there. Scrapy
    takes every codec of Python for a charset, and at such a URL the download has failed.
    """

    def process_response(
        self,
        request: Request,
        response: Response,
        spider: Spider | None = None,  # noqa: ARG002 — Scrapy's
    ) -> Request | Response:
        head = response.body[:_HEAD_BYTES]
        if not isinstance(response, HtmlResponse) or b"refresh" not in head.replace(b"\x00", b"").lower():
            return response
        text = decode(head, (response.headers.get("Content-Type") or b"").decode("latin-1")).text
        for readable in (text, _BASE.sub("", text)):
            page = response.replace(body=readable.encode(), encoding="utf-8")
            with suppress(ValueError):  # the base or the refresh is not a URL
                result = super().process_response(request, page)
                return response if result is page else result
        return response


class MemoryScheduler(Scheduler):
    """Scrapy's scheduler, whose duplicate filter lets the redirects pass that must be followed."""

    def enqueue_request(self, request: Request) -> bool:
        if request.url in redirect_chain(request) or sets_cookies(request, self.crawler):
            request.dont_filter = True
        return super().enqueue_request(request)


class RecentKeys:
    """The last keys that were added, in bounded memory."""

    def __init__(self, most: int = _RECENT_MAX) -> None:
        self._most = most
        self._keys: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def update(self, keys: list[str]) -> None:
        """Add keys, and forget the oldest beyond the bound."""
        for key in keys:
            self._keys[key] = None
            self._keys.move_to_end(key)
        while len(self._keys) > self._most:
            self._keys.popitem(last=False)


def redirect_chain(request: Request) -> list[str]:
    """Return the URLs that have led to a request by redirects, first to last; [] if no redirect led to it."""
    return list(request.meta.get("redirect_urls", ()))


def moved_from(request: Request | None) -> tuple[str, ...]:
    """Return the URL keys of the addresses that lead to a request by redirects which are all permanent."""
    if request is None or not set(request.meta.get("redirect_reasons", ())) <= _PERMANENT:
        return ()
    own = url_key(request.url)
    return tuple(key for url in redirect_chain(request) if (key := url_key(url)) != own)


def sets_cookies(request: Request, crawler: Crawler | None) -> bool:
    """Return True for the target of a temporary redirect in a crawl with cookies.

    The redirect may set a cookie that only this process gets, and many pages may pass through one target.
    """
    reasons = request.meta.get("redirect_reasons", ())
    has_cookies = crawler is not None and crawler.settings.getbool("COOKIES_ENABLED")
    return has_cookies and bool(reasons) and reasons[-1] not in _PERMANENT

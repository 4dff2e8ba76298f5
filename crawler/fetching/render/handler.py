"""The download handler of a crawl with RENDER=true: it renders each page that Scrapy fetched."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error as PlaywrightError
from scrapy.exceptions import DownloadCancelledError
from scrapy.http.request import NO_CALLBACK
from scrapy_playwright.handler import ScrapyPlaywrightDownloadHandler

from cleaning.errors import PageError
from cleaning.parse import decode, parse
from crawler.config import config_of
from crawler.context import context_of
from crawler.errors import RenderError
from crawler.fetching.compression import CompressionMiddleware
from crawler.fetching.network import HttpHandler
from crawler.fetching.render.browser import error_summary
from crawler.fetching.render.draw import PageToRender, close_within_limit, render_page
from crawler.fetching.render.proxy import BrowserProxy
from crawler.fetching.render.rendering import Rendering
from crawler.fetching.replay import ReplayHandler
from crawler.fetching.response_filter import RENDERED_FLAG, PageResponse, content_type, reject_body, reject_status
from crawler.urls import known_url

if TYPE_CHECKING:
    from typing import Self

    from playwright.async_api import Browser
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawler.fetching.render.snapshot import Snapshot


logger = logging.getLogger(__name__)

_MAX_PAGES_AT_ONCE = 4
_MAX_ATTEMPTS = 2
_PROBE_SECONDS = 5.0


class RenderHandler(ScrapyPlaywrightDownloadHandler):  # type: ignore[misc] # it is untyped
    """Fetches as a crawl or replay does, then renders pages in scrapy-playwright's browser, each in a new context.

    Scrapy fetches the document, not the browser. So the rules for fetched pages (delays, redirects, robots.txt, sizes,
    statuses) hold for rendered ones too, the site gets one request, and a browser crash needs no second one. Responses
    that `crawler.fetching.response_filter` rejects by status or body are not rendered.
    """

    def __init__(self, crawler: Crawler, fetcher: HttpHandler | ReplayHandler) -> None:
        super().__init__(crawler)
        config = config_of(crawler)
        self._rendering = replace(Rendering.of(config), user_agent=crawler.settings["USER_AGENT"])
        self._fetcher = fetcher
        self._proxy = BrowserProxy(self._rendering.addresses, partial(self.stats.inc_value, "render/refused"))
        self._compression = CompressionMiddleware(crawler)
        self._page_slots = asyncio.Semaphore(_MAX_PAGES_AT_ONCE)
        self._restarting = asyncio.Lock()
        self._closed = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the crawl's only handler. Scrapy asks for one for http and one for https; both use one browser."""
        context = context_of(crawler)
        if context.renderer is None:
            fetcher = HttpHandler if context.replay is None else ReplayHandler
            context.renderer = cls(crawler, fetcher.from_crawler(crawler))
        handler: Self = context.renderer
        return handler

    async def download_request(self, request: Request) -> Response:
        """Raises RenderError for a page that crashes the browser or takes too long."""
        response = await self._fetcher.download_request(request)
        if not _wants_rendering(request):
            return response
        response = self._compression.unpack(request, response)
        return await self._render(response) if self._is_page(response) else response

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await super().close()
            await self._proxy.close()
            await self._fetcher.close()

    async def _launch(self) -> None:
        if self._rendering.network and self._rendering.proxy is None:
            self._rendering = replace(self._rendering, proxy=await self._proxy.open())
        await super()._launch()

    def _is_page(self, response: Response) -> bool:
        refused = reject_status(response.status, response.body) or reject_body(
            response.body, content_type(response), self._rendering.max_bytes
        )
        return refused is None

    async def _render(self, response: Response) -> Response:
        declared = content_type(response)
        try:
            source = parse(response.body, known_url(response.url), declared, max_bytes=self._rendering.max_bytes)
            text = decode(response.body, declared, known_url(response.url)).text
        except PageError:
            return response  # rejected later, for the same reason
        async with self._page_slots:
            rendered = await self._render_page(PageToRender(text, known_url(response.url), Counter()), response.url)
        self.stats.inc_value("render/pages")
        parse_warnings = tuple(dict.fromkeys((*source.parse_warnings, *rendered.page.parse_warnings)))
        headers = response.headers.copy()
        headers["Content-Type"] = "text/html; charset=utf-8"
        return response.replace(
            cls=PageResponse,
            headers=headers,
            body=rendered.html.encode(),
            encoding="utf-8",
            flags=[*response.flags, RENDERED_FLAG],
            source=replace(rendered.page, encoding="utf-8", parse_warnings=parse_warnings),
        )

    async def _render_page(self, source: PageToRender, address: str) -> Snapshot:
        """Render a page, and once more if the browser crashed: another page may have caused that."""
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            browser = await self._running_browser()
            try:
                return await render_page(browser, source, self._rendering)
            except PageError as error:
                raise DownloadCancelledError(f"{error} (setting PAGE_MAX_BYTES)") from error
            except TimeoutError as error:
                self.stats.inc_value("render/timeouts")
                await self._check(browser)
                raise RenderError(
                    f"{address} is not rendered within {self._rendering.seconds:g} seconds (setting RENDER_SECONDS)"
                ) from error
            except PlaywrightError as error:
                self.stats.inc_value("render/crashes")
                await self._check(browser)
                if attempt == _MAX_ATTEMPTS:
                    raise RenderError(f"the browser failed on {address}: {error_summary(error)}") from error
            finally:
                for name, count in source.counts.items():
                    self.stats.inc_value(f"render/{name}", count)
                source.counts.clear()
        raise AssertionError("the last attempt returns or raises")

    async def _running_browser(self) -> Browser:
        async with self._restarting:
            try:
                await self._maybe_launch_browser()
            except PlaywrightError:
                logger.warning("The browser does not start; restarting Playwright")
                await self._restart_playwright()
                await self._launch_after_restart()
            browser: Browser = self.browser
            return browser

    async def _launch_after_restart(self) -> None:
        try:
            await self._maybe_launch_browser()
        except PlaywrightError as error:
            raise RenderError(f"the browser does not start again: {error_summary(error)}") from error

    async def _check(self, browser: Browser) -> None:
        """Restart the browser if it no longer opens pages."""
        async with self._restarting:
            if getattr(self, "browser", None) is not browser or await _is_responsive(browser):
                return
            logger.warning("The browser does not respond; restarting it")
            self.stats.inc_value("render/restarts")
            del self.browser
            try:
                await close_within_limit(browser)
            except TimeoutError:
                logger.warning("The browser cannot be closed; restarting Playwright, which ends it")
                await self._restart_playwright()

    async def _restart_playwright(self) -> None:
        old: Any = self.browser_provider
        await self._launch()
        await asyncio.wait({asyncio.ensure_future(old.close())}, timeout=_PROBE_SECONDS)


def _wants_rendering(request: Request) -> bool:
    """Return True if the response may be a page to render: not for robots.txt, a feed or a sitemap."""
    wanted = all(request.meta.get(name, True) is not False for name in ("judge", "render"))
    return wanted and request.callback is not NO_CALLBACK and request.method == "GET"


async def _is_responsive(browser: Browser) -> bool:
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            context = await browser.new_context()
            await context.close()
    except (PlaywrightError, TimeoutError):
        return False
    return True

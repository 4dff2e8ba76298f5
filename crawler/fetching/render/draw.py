"""Render one page in a running browser: hand in its document, and allow or refuse each of its requests."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError

from crawler.fetching.render.snapshot import Snapshot, take_snapshot

if TYPE_CHECKING:
    from collections import Counter

    from playwright.async_api import Browser, BrowserContext, Request, Route
    from playwright.async_api import Page as BrowserPage

    from crawler.fetching.render.rendering import Rendering


_PLACEHOLDER_URL = "http://page.invalid/"
# The part of a stored page's URL that every browser accepts: no port (some are forbidden), no fragment (it scrolls).
_PLAIN_URL_PATTERN = re.compile(r"https?://[a-z0-9.-]+(?:/[^\s#]*)?", re.ASCII | re.IGNORECASE)
_REFUSED_TYPES = frozenset({"media", "font", "ping", "eventsource", "websocket", "cspviolationreport"})
# After this share of its time a page is taken as it is: some of its resources may never arrive.
_LOAD_SHARE = 0.5
# The time for scripts to fetch data after the page is loaded, unless the network becomes idle before.
_SETTLE_SECONDS = 3.0
_CLOSE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class PageToRender:
    """A page to be rendered. `counts` counts the `requests` of its document, and the `refused` ones among them."""

    text: str
    url: str | None
    counts: Counter[str]


async def render_page(browser: Browser, source: PageToRender, rendering: Rendering) -> Snapshot:
    """Return the snapshot of a page, rendered in a context of its own.

    Raises TimeoutError after `rendering.seconds`, Playwright's Error if the browser crashes, and PageError for a page
    that becomes too large.
    """
    async with asyncio.timeout(rendering.seconds):
        context = await browser.new_context(**rendering.context_options())
        try:
            return await _render_in_context(context, source, rendering)
        finally:
            await close_within_limit(context)


async def close_within_limit(thing: BrowserContext | Browser) -> None:
    """Close a context or browser. Raises TimeoutError if it does not respond; a closed one is not an error."""
    async with asyncio.timeout(_CLOSE_SECONDS):
        with suppress(PlaywrightError):
            await thing.close()


async def _render_in_context(context: BrowserContext, source: PageToRender, rendering: Rendering) -> Snapshot:
    url = source.url if rendering.network and source.url else _plain_url(source.url)
    page = await context.new_page()
    await context.route("**/*", _RequestGate(page, replace(source, url=url), rendering).answer)
    crashed = asyncio.Event()
    page.on("crash", lambda _page: crashed.set())
    taking = asyncio.ensure_future(_load_and_take(page, url, source, rendering))
    crashing = asyncio.ensure_future(crashed.wait())
    try:
        # Calls on a page that crashed never return.
        await asyncio.wait({taking, crashing}, return_when=asyncio.FIRST_COMPLETED)
        if not taking.done():
            raise PlaywrightError("the page crashed")
        return taking.result()
    finally:
        taking.cancel()
        crashing.cancel()
        await asyncio.gather(taking, crashing, return_exceptions=True)


async def _load_and_take(page: BrowserPage, url: str, source: PageToRender, rendering: Rendering) -> Snapshot:
    await page.goto(url, wait_until="commit", timeout=0)
    waiting = rendering.seconds * _LOAD_SHARE
    if rendering.javascript:
        await _settle(page, waiting)
    return await take_snapshot(page, source.url, max_bytes=rendering.max_bytes, wait_seconds=waiting)


async def _settle(page: BrowserPage, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(min(seconds, _SETTLE_SECONDS)):
            with suppress(PlaywrightError):  # a crash: the next call raises it again
                await page.wait_for_load_state("networkidle", timeout=0)


class _RequestGate:
    """Answers each request of a page: the document from the source, other requests as the rendering allows."""

    def __init__(self, page: BrowserPage, source: PageToRender, rendering: Rendering) -> None:
        self._page = page
        self._source = source
        self._rendering = rendering
        self._served = False

    async def answer(self, route: Route) -> None:
        # The page may have been closed meanwhile.
        with suppress(PlaywrightError):
            await self._answer(route, route.request)

    async def _answer(self, route: Route, request: Request) -> None:
        if request.is_navigation_request() and not self._served:
            self._served = True
            headers = {
                "Content-Type": "text/html; charset=utf-8",
                "Content-Security-Policy": self._rendering.content_policy(),
            }
            await route.fulfill(status=200, headers=headers, body=self._source.text.encode("utf-8", "replace"))
            return
        allowed = self._rendering.network and self._allows(request)
        self._source.counts.update(requests=1, refused=not allowed)
        if allowed:
            await route.continue_()
        elif request.is_navigation_request():
            await route.fulfill(status=204)  # "no content": the browser stays on the page
        else:
            await route.abort("blockedbyclient")

    def _allows(self, request: Request) -> bool:
        if request.is_navigation_request() or request.resource_type in _REFUSED_TYPES:
            return False
        # Other names are checked when the browser connects, by `crawler.fetching.render.proxy`.
        return self._rendering.addresses.host_refusal(urlsplit(request.url).hostname or "") is None


def _plain_url(url: str | None) -> str:
    match = _PLAIN_URL_PATTERN.match(url or "")
    return match[0] if match else _PLACEHOLDER_URL

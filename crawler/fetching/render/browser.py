"""A browser for stored pages: one page after another, as plain function calls, with the network denied."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from cleaning.parse import decode, parse
from crawler.errors import RenderError
from crawler.option_values import Rendering

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Self

    from playwright.async_api import Browser as PlaywrightBrowser
    from playwright.async_api import Playwright

    from cleaning.blocks import Page


T = TypeVar("T")

MISSING_EXTRA = "rendering needs scrapy-playwright, which is not installed: pip install 'blocksieve[render]'"
_STOP_SECONDS = 5.0
_MAX_ERROR_CHARS = 300


class Browser:
    """A Chromium that renders stored pages, between `with` and the end of the block.

    It runs in a thread of its own, so that it works inside a running event loop too; one page at a time. After a page
    that hangs or crashes it is started anew. Entering the block raises RenderError where the extra `render` or the
    browser is missing, or does not start within `seconds`.
    """

    def __init__(self, rendering: Rendering | None = None, **how: Any) -> None:
        """Take how to render, as a Rendering or as its fields: executable, javascript, seconds, max_bytes, sandbox."""
        self._how = replace(rendering or Rendering(), **how)
        self._playwright: Playwright | None = None
        self._browser: PlaywrightBrowser | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="browser", daemon=True)
        self._thread.start()
        try:
            self._call(self._start())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        assert self._loop is not None
        assert self._thread is not None
        self._call(self._stop(last=True))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def render(self, html: bytes | str, url: str | None = None, encoding: str | None = None) -> Page:
        """Return the rendered page: the tree of its DOM, and the layout that matches it.

        The arguments are those of `cleaning.parse.parse`; `encoding` and `parse_warnings` of the page are its, too. An
        empty page gives a tree without text. Raises PageError as it does, also for what scripts made too large, and
        RenderError for a page that the browser does not survive or that takes longer than `seconds`.
        """
        source = parse(html, url, encoding, max_bytes=self._how.max_bytes)
        text = html if isinstance(html, str) else decode(html, encoding).text
        page = self._call(self._draw(text, url))
        parse_warnings = dict.fromkeys((*source.parse_warnings, *page.parse_warnings))
        return replace(page, encoding=source.encoding, parse_warnings=tuple(parse_warnings))

    def _call(self, doing: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(doing, self._loop).result()

    async def _start(self) -> None:
        self._playwright = await _start_playwright()
        self._browser = await launch_browser(self._playwright, self._how)

    async def _restart(self) -> None:
        """Start a browser in place of a lost one, and Playwright too where it is lost itself."""
        if self._playwright is not None:
            with suppress(RenderError):
                self._browser = await launch_browser(self._playwright, self._how)
                return
            await self._stop()
        await self._start()

    async def _drop(self) -> None:
        """End the browser. Playwright goes on where it can: it removes the folders of a browser that was killed."""
        from crawler.fetching.render.draw import close_within_limit as close  # noqa: PLC0415 — needs the extra

        browser, self._browser = self._browser, None
        assert browser is not None
        try:
            await close(browser)
        except TimeoutError:
            await self._stop()

    async def _stop(self, *, last: bool = False) -> None:
        playwright, self._playwright, self._browser = self._playwright, None, None
        if playwright is not None:
            # Playwright kills its browsers when it is stopped, and by itself later where that takes too long.
            await asyncio.wait({asyncio.ensure_future(playwright.stop())}, timeout=_STOP_SECONDS)
        if last:
            await _cancel_other_tasks()

    async def _draw(self, text: str, url: str | None) -> Page:
        from playwright.async_api import Error as PlaywrightError  # noqa: PLC0415 — an extra

        from crawler.fetching.render.draw import PageSource, render_page  # noqa: PLC0415 — needs the extra

        if self._browser is None:
            await self._restart()
        assert self._browser is not None
        try:
            return (await render_page(self._browser, PageSource(text, url, Counter()), self._how)).page
        except TimeoutError as error:
            await self._drop()
            raise RenderError(f"{url or 'the page'} is not rendered within {self._how.seconds:g} seconds") from error
        except PlaywrightError as error:
            await self._drop()
            raise RenderError(f"the browser failed on {url or 'the page'}: {error_summary(error)}") from error


async def _start_playwright() -> Playwright:
    """Start Playwright. Raises RenderError where it is not installed."""
    try:
        from playwright.async_api import async_playwright  # noqa: PLC0415 — an extra
    except ImportError as error:
        raise RenderError(MISSING_EXTRA) from error
    return await async_playwright().start()


async def launch_browser(playwright: Playwright, how: Rendering) -> PlaywrightBrowser:
    """Return a running browser. Raises RenderError for one that is missing, does not start, or ends at once."""
    from playwright.async_api import Error as PlaywrightError  # noqa: PLC0415 — an extra

    options = how.launch_options()
    path = options["executable_path"] or _bundled_chromium(playwright)
    try:
        return await playwright.chromium.launch(**options)
    except PlaywrightError as error:
        raise RenderError(
            f"the browser {path} (setting CHROMIUM) did not start within {how.seconds:g} seconds (setting "
            f"RENDER_SECONDS) or ended at once: {error_summary(error)}"
        ) from error


def _bundled_chromium(playwright: Playwright) -> str:
    """Return the path of Playwright's own browser. Raises RenderError where it was not downloaded.

    That is asked before the launch: Playwright leaves its folders behind where there is no program to start.
    """
    path = playwright.chromium.executable_path
    if not Path(path).exists():
        raise RenderError("no browser was found: install chromium, or name one in the setting CHROMIUM")
    return path


def error_summary(error: Exception) -> str:
    """Return the first line of Playwright's message, which goes on with its log."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:_MAX_ERROR_CHARS]


async def _cancel_other_tasks() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)

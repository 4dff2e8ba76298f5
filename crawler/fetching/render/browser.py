"""A browser for stored pages: it renders one page after another, by plain function calls, without network access."""

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
from crawler.fetching.render.rendering import Rendering

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
    """A Chromium that renders stored pages one at a time, within a `with` block.

    It runs in a thread of its own, so it also works inside a running event loop. After a page that hangs or crashes,
    the browser is restarted. Entering the block raises RenderError if the extra `render` or the browser is missing, or
    if the browser does not start within `seconds`.
    """

    def __init__(self, rendering: Rendering | None = None, **fields: Any) -> None:
        """Take a Rendering, or its fields: executable, javascript, seconds, max_bytes, sandbox."""
        self._rendering = replace(rendering or Rendering(), **fields)
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

        The arguments, and the page's `encoding` and `parse_warnings`, are those of `cleaning.parse.parse`. An empty
        page gives a tree without text. Raises PageError as `parse` does, also for a page that scripts made too large.
        Raises RenderError for a page that crashes the browser or takes longer than `seconds`.
        """
        source = parse(html, url, encoding, max_bytes=self._rendering.max_bytes)
        text = html if isinstance(html, str) else decode(html, encoding, url).text
        page = self._call(self._render(text, url))
        parse_warnings = dict.fromkeys((*source.parse_warnings, *page.parse_warnings))
        return replace(page, encoding=source.encoding, parse_warnings=tuple(parse_warnings))

    def _call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _start(self) -> None:
        self._playwright = await _start_playwright()
        self._browser = await _launch_browser(self._playwright, self._rendering)

    async def _restart(self) -> None:
        """Start a new browser, and Playwright too if it does not work either."""
        if self._playwright is not None:
            with suppress(RenderError):
                self._browser = await _launch_browser(self._playwright, self._rendering)
                return
            await self._stop()
        await self._start()

    async def _drop(self) -> None:
        """Close the browser but, if possible, not Playwright: it removes the folders of a killed browser."""
        from crawler.fetching.render.draw import close_within_limit  # noqa: PLC0415 — needs the extra

        browser, self._browser = self._browser, None
        assert browser is not None
        try:
            await close_within_limit(browser)
        except TimeoutError:
            await self._stop()

    async def _stop(self, *, last: bool = False) -> None:
        playwright, self._playwright, self._browser = self._playwright, None, None
        if playwright is not None:
            # Stopping Playwright kills its browsers; if that takes too long, it does so later by itself.
            await asyncio.wait({asyncio.ensure_future(playwright.stop())}, timeout=_STOP_SECONDS)
        if last:
            await _cancel_other_tasks()

    async def _render(self, text: str, url: str | None) -> Page:
        from playwright.async_api import Error as PlaywrightError  # noqa: PLC0415 — an extra

        from crawler.fetching.render.draw import PageToRender, render_page  # noqa: PLC0415 — needs the extra

        if self._browser is None:
            await self._restart()
        assert self._browser is not None
        try:
            return (await render_page(self._browser, PageToRender(text, url, Counter()), self._rendering)).page
        except TimeoutError as error:
            await self._drop()
            raise RenderError(
                f"{url or 'the page'} is not rendered within {self._rendering.seconds:g} seconds"
            ) from error
        except PlaywrightError as error:
            await self._drop()
            raise RenderError(f"the browser failed on {url or 'the page'}: {error_summary(error)}") from error


async def _start_playwright() -> Playwright:
    """Start Playwright. Raises RenderError if it is not installed."""
    try:
        from playwright.async_api import async_playwright  # noqa: PLC0415 — an extra
    except ImportError as error:
        raise RenderError(MISSING_EXTRA) from error
    return await async_playwright().start()


async def _launch_browser(playwright: Playwright, rendering: Rendering) -> PlaywrightBrowser:
    """Return a running browser. Raises RenderError if it is missing, does not start, or exits at once."""
    from playwright.async_api import Error as PlaywrightError  # noqa: PLC0415 — an extra

    options = rendering.launch_options()
    path = options["executable_path"] or _bundled_chromium(playwright)
    try:
        return await playwright.chromium.launch(**options)
    except PlaywrightError as error:
        raise RenderError(
            f"the browser {path} (setting CHROMIUM) did not start within {rendering.seconds:g} seconds (setting "
            f"RENDER_SECONDS) or exited at once: {error_summary(error)}"
        ) from error


def _bundled_chromium(playwright: Playwright) -> str:
    """Return the path of Playwright's own browser. Raises RenderError if it was not downloaded.

    This is checked before the launch, because Playwright leaves folders behind if there is no program to start.
    """
    path: str = playwright.chromium.executable_path
    if not Path(path).exists():
        raise RenderError("no browser was found: install chromium, or name one in the setting CHROMIUM")
    return path


def error_summary(error: Exception) -> str:
    """Return the first line of a Playwright error; its log follows in the other lines."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:_MAX_ERROR_CHARS]


async def _cancel_other_tasks() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)

"""A snapshot of a page in a browser: its DOM as a tree, and the box of each element."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from lxml import etree

from cleaning.errors import PageError, PageFault
from cleaning.layout import Box, Layout
from cleaning.parse import parse
from crawler.errors import RenderError

if TYPE_CHECKING:
    from playwright.async_api import CDPSession
    from playwright.async_api import Page as BrowserPage

    from cleaning.blocks import Page


_SCRIPT = "snapshot.js"
_READY_STATE = "Reflect.get(Document.prototype, 'readyState', document)"
_POLL_SECONDS = 0.02
# cleaning.parse has the same limit.
_MAX_ELEMENTS = 500_000
_TRANSPARENT = re.compile(r"transparent|rgba\(.*, 0\)|.*/ 0\)")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A rendered page: its tree with the layout, and the HTML from which this tree can be parsed again."""

    page: Page
    html: str


class IsolatedWorld:
    """An isolated JavaScript world in the page's main frame: it sees the page's elements, but the page does not see it.

    It also works with JavaScript switched off.
    """

    def __init__(self, session: CDPSession, context: int) -> None:
        self._session = session
        self._context = context

    @classmethod
    async def enter(cls, page: BrowserPage) -> IsolatedWorld:
        session = await page.context.new_cdp_session(page)
        frames = await session.send("Page.getFrameTree")
        frame = {"frameId": frames["frameTree"]["frame"]["id"], "worldName": "blocksieve"}
        world = await session.send("Page.createIsolatedWorld", frame)
        return cls(session, world["executionContextId"])

    async def evaluate(self, expression: str) -> Any:
        """Return the value of an expression. Raises RenderError if the browser cannot evaluate it."""
        parameters = {"expression": expression, "contextId": self._context, "returnByValue": True}
        answer = await self._session.send("Runtime.evaluate", parameters)
        if "exceptionDetails" in answer:
            raise RenderError(f"the browser cannot take the snapshot: {answer['result'].get('description', '')[:200]}")
        return answer["result"].get("value")

    async def wait(self, seconds: float) -> None:
        """Wait until the page is parsed, and at most the given seconds for its images and styles.

        This polls, because the browser's own events are lost if a script starts to leave the page.
        """
        end = time.monotonic() + seconds
        while (state := await self.evaluate(_READY_STATE)) != "complete":
            if state == "interactive" and time.monotonic() > end:
                return
            await asyncio.sleep(_POLL_SECONDS)


async def take_snapshot(page: BrowserPage, url: str | None, *, max_bytes: int, wait_seconds: float) -> Snapshot:
    """Return the snapshot of a page in a browser, as soon as it is loaded.

    Raises PageError for a page of more than `max_bytes` or too many elements.
    """
    world = await IsolatedWorld.enter(page)
    await world.wait(wait_seconds)
    # Parsing adds and moves elements, so each one is marked with an attribute that a page cannot guess, removed below.
    stamp = f"data-{secrets.token_hex(8)}"
    script = files(__package__).joinpath(_SCRIPT).read_text("utf-8")
    result = await world.evaluate(f"({script})({stamp!r}, {_MAX_ELEMENTS}, {max_bytes})")
    if "refused" in result:
        raise PageError(PageFault.TOO_LARGE, f"the rendered page has {result['refused']}")
    return _read_snapshot(result, stamp, url, max_bytes)


def _read_snapshot(result: dict[str, Any], stamp: str, url: str | None, max_bytes: int) -> Snapshot:
    """Return the snapshot from the script's result: `html` with stamps, `boxes` by stamp, and `styles`."""
    html = re.sub(f' {stamp}="[0-9]+"', "", result["html"])
    if (size := len(html.encode())) > max_bytes:
        raise PageError(PageFault.TOO_LARGE, f"the rendered page has {size} bytes, more than max_bytes={max_bytes}")
    page = parse(result["html"], url, max_bytes=len(result["html"]))
    boxes = _read_boxes(result)
    elements = list(page.root.iter(etree.Element))
    stamps = [element.attrib.pop(stamp, None) for element in elements]
    layout = Layout(
        tuple(element.tag for element in elements),
        tuple(None if place is None else boxes[int(place)] for place in stamps),
    )
    return Snapshot(replace(page, layout=layout), html)


def _read_boxes(result: dict[str, Any]) -> list[Box]:
    styles = [_parse_style(style) for style in result["styles"]]
    boxes: list[list[int]] = json.loads(result["boxes"])
    return [
        Box(left, top, width, height, *styles[style], bool(is_shown))
        for left, top, width, height, style, is_shown in boxes
    ]


def _parse_style(style: str) -> tuple[float, str]:
    size, _, background = style.partition(" ")
    return float(size), "" if _TRANSPARENT.fullmatch(background) else background

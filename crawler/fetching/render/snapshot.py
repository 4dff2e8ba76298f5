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
# cleaning.parse reads no more elements either.
_MAX_ELEMENTS = 500_000
_TRANSPARENT = re.compile(r"transparent|rgba\(.*, 0\)|.*/ 0\)")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A rendered page: its tree with the layout, and the HTML that gives this tree when it is parsed again."""

    page: Page
    html: str


class IsolatedWorld:
    """A world of ours in the page's main frame: we see the page's elements, its scripts do not see ours.

    It works with JavaScript switched off too.
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
        """Return the value of an expression. Raises RenderError where the browser cannot work it out."""
        asked = {"expression": expression, "contextId": self._context, "returnByValue": True}
        answer = await self._session.send("Runtime.evaluate", asked)
        if "exceptionDetails" in answer:
            raise RenderError(f"the browser cannot take the snapshot: {answer['result'].get('description', '')[:200]}")
        return answer["result"].get("value")

    async def wait(self, seconds: float) -> None:
        """Wait until the page is parsed, and for its images and styles, but not longer than so many seconds.

        We ask, as the browser's own events are lost where a script begins to leave the page.
        """
        end = time.monotonic() + seconds
        while (state := await self.evaluate(_READY_STATE)) != "complete":
            if state == "interactive" and time.monotonic() > end:
                return
            await asyncio.sleep(_POLL_SECONDS)


async def take_snapshot(page: BrowserPage, url: str | None, *, max_bytes: int, wait_seconds: float) -> Snapshot:
    """Return the snapshot of what a browser shows, as soon as it is loaded.

    Raises PageError for a page of more than `max_bytes` or too many elements.
    """
    world = await IsolatedWorld.enter(page)
    await world.wait(wait_seconds)
    # The parser adds elements and moves some: a stamp tells which is which. Nobody guesses it, and none stays.
    stamp = f"data-{secrets.token_hex(8)}"
    script = files(__package__).joinpath(_SCRIPT).read_text("utf-8")
    taken = await world.evaluate(f"({script})({stamp!r}, {_MAX_ELEMENTS}, {max_bytes})")
    if "refused" in taken:
        raise PageError(PageFault.TOO_LARGE, f"the rendered page has {taken['refused']}")
    return read_snapshot(taken, stamp, url, max_bytes)


def read_snapshot(taken: dict[str, Any], stamp: str, url: str | None, max_bytes: int) -> Snapshot:
    """Return the snapshot that the script's answer describes: `html` with stamps, `boxes` by stamp, and `looks`."""
    html = re.sub(f' {stamp}="[0-9]+"', "", taken["html"])
    if (size := len(html.encode())) > max_bytes:
        raise PageError(PageFault.TOO_LARGE, f"the rendered page has {size} bytes, more than max_bytes={max_bytes}")
    page = parse(taken["html"], url, max_bytes=len(taken["html"]))
    boxes = _read_boxes(taken)
    elements = list(page.root.iter(etree.Element))
    stamps = [element.attrib.pop(stamp, None) for element in elements]
    layout = Layout(
        tuple(element.tag for element in elements),
        tuple(None if place is None else boxes[int(place)] for place in stamps),
    )
    return Snapshot(replace(page, layout=layout), html)


def _read_boxes(taken: dict[str, Any]) -> list[Box]:
    looks = [_parse_style(look) for look in taken["looks"]]
    boxes: list[list[int]] = json.loads(taken["boxes"])
    return [Box(left, top, width, height, *looks[look], bool(shown)) for left, top, width, height, look, shown in boxes]


def _parse_style(look: str) -> tuple[float, str]:
    size, _, background = look.partition(" ")
    return float(size), "" if _TRANSPARENT.fullmatch(background) else background

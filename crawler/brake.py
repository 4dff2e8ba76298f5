"""Slowing down for sites that refuse us, and stopping when nothing else comes back."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from crawler.finish import Finish

if TYPE_CHECKING:
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

# Where a crawl has no delay yet, doubling needs something to double.
_FIRST_DELAY_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 3_600.0


@dataclass(slots=True)
class _Held:
    """A download slot that was slowed down: its delay before, and the one we gave it."""

    before: float
    delay: float


class Brake:
    """Doubles a site's delay at each refusal and closes the spider after too many of them without a page.

    AutoThrottle knows only how long answers take, and a refusal is answered quickly: it would speed up. So the
    delays given are remembered here until the site serves pages again.
    """

    def __init__(self, crawler: Crawler, max_delay: float, most_in_a_row: int) -> None:
        self._crawler = crawler
        self._max_delay = max_delay
        self._most_in_a_row = most_in_a_row
        self._in_a_row = 0
        self._held: dict[str, _Held] = {}
        self._told: set[str] = set()
        self._closing: asyncio.Future[None] | None = None

    def refused(self, response: Response) -> None:
        """The site does not want us now: slow down, and stop after too many times."""
        self._in_a_row += 1
        key, slot = self._slot(response)
        if slot is not None:
            self._slow_down(key, slot)
        if self._in_a_row >= self._most_in_a_row and self._closing is None:
            self._close()

    def served(self, response: Response) -> None:
        """The site serves pages: speed up again, step by step, down to the delay it had."""
        self._in_a_row = 0
        key, slot = self._slot(response)
        held = self._held.get(key)
        if held is None or slot is None:
            return
        held.delay = max(held.before, held.delay / 2)
        slot.delay = min(slot.delay, held.delay)
        if held.delay <= held.before:
            del self._held[key]

    def wait(self, response: Response) -> None:
        """Leave the site alone for as long as its Retry-After header says, an hour at most."""
        seconds = _retry_after(response)
        key, slot = self._slot(response)
        if not seconds or slot is None:
            return
        self._count("waits")
        logger.info("%s asks to be left alone for %.0f seconds", key, seconds)
        # The slot starts its next request `delay` after `lastseen`, but only where it has a delay at all.
        held = self._held.setdefault(key, _Held(slot.delay, max(slot.delay, _FIRST_DELAY_SECONDS)))
        slot.delay = max(slot.delay, held.delay)
        slot.lastseen = max(slot.lastseen, time.monotonic() + min(seconds, _LONGEST_WAIT_SECONDS) - slot.delay)

    def _slow_down(self, key: str, slot: Slot) -> None:
        held = self._held.setdefault(key, _Held(slot.delay, slot.delay))
        if key not in self._told:
            self._told.add(key)
            logger.warning("%s refuses our requests: slowing down", key)
        held.delay = min(2 * max(held.delay, slot.delay, _FIRST_DELAY_SECONDS), self._max_delay)
        slot.delay = max(slot.delay, held.delay)
        self._count("slower")

    def _slot(self, response: Response) -> tuple[str, Slot | None]:
        key = response.meta.get("download_slot", "") if response.request else ""
        return key, self._engine.downloader.slots.get(key)

    def _close(self) -> None:
        logger.error(
            "%d refusals without a page in between (MAX_REFUSALS_IN_A_ROW=%d): the crawl stops",
            self._in_a_row,
            self._most_in_a_row,
        )
        # Closing waits for the requests under way, this one among them: it must not be waited for here.
        self._closing = asyncio.ensure_future(self._engine.close_spider_async(reason=Finish.REFUSED))

    def _count(self, event: str) -> None:
        self._crawler.stats.inc_value(f"brake/{event}")

    @property
    def _engine(self) -> Any:
        return self._crawler.engine


def _retry_after(response: Response) -> float:
    """Return the seconds to wait; 0 without the header and for one that cannot be read."""
    value = (response.headers.get("Retry-After") or b"").decode("latin-1").strip()
    if value.isdecimal():
        return float(value[:9])
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return 0.0

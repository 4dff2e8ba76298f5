"""What Scrapy's download slots tell the frontier: how fast each host is asked, and which have no room."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scrapy.http.request import NO_CALLBACK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet

    from scrapy import Request
    from scrapy.core.downloader import Downloader, Slot
    from scrapy.crawler import Crawler


class Slots:
    """A view of the downloader's slots, one for each host that was asked in the last minute."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._delayed: AbstractSet[str] = frozenset()
        self._begun: AbstractSet[str] = frozenset()

    def delays(self) -> Mapping[str, float]:
        """Return the seconds between two requests to each host; 0 too, for an earlier crawl may have had more.

        But 0 only after a page was asked for: until then the host's robots.txt may be on its way, which another
        process has read and keeps to.
        """
        slots = self._downloader.slots
        self._begun = {name for name, slot in slots.items() if name in self._begun or _asks_for_pages(slot)}
        return {name: slot.delay for name, slot in slots.items() if slot.delay or name in self._begun}

    def newly_delayed(self) -> AbstractSet[str]:
        """Return the hosts that have had a delay only since this was last asked."""
        delayed = {name for name, seconds in self.delays().items() if seconds}
        before, self._delayed = self._delayed, delayed
        return self._delayed - before

    def free(self) -> Callable[[Request], bool]:
        """Return what tells whether a request would be sent soon, or only stand in its slot's own queue."""
        downloader = self._downloader
        full = set()
        for key, number in Counter(map(downloader.get_slot_key, downloader.active)).items():
            slot = downloader.slots.get(key)
            if number >= (slot.concurrency if slot else downloader.domain_concurrency):
                full.add(key)
        return lambda request: downloader.get_slot_key(request) not in full

    @property
    def _downloader(self) -> Downloader:
        engine = self._crawler.engine
        assert engine is not None
        return engine.downloader


def _asks_for_pages(slot: Slot) -> bool:
    return any(request.callback is not NO_CALLBACK for request in slot.transferring)

"""What Scrapy's download slots tell the frontier: how fast each host is asked, and which have no room."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet

    from scrapy import Request
    from scrapy.core.downloader import Downloader
    from scrapy.crawler import Crawler


class Slots:
    """A view of the downloader's slots, one for each host that was asked in the last minute."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._delayed: AbstractSet[str] = frozenset()

    def delays(self) -> Mapping[str, float]:
        """Return the seconds between two requests to each host; 0 too, for an earlier crawl may have had more."""
        return {name: slot.delay for name, slot in self._downloader.slots.items()}

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

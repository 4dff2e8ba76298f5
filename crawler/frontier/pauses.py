"""The hosts that this process must not ask now: they have asked for a pause, or another process has paused them."""

from __future__ import annotations

import asyncio
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from crawler.errors import StoreError
from crawler.storage.requests import HostPause, read_pauses

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from crawler.processing import StoreThread


# If no component reports what became of a refusal.
_HOLD_SECONDS = 30.0


class HostPauses:
    """Knows the paused hosts; `on_paused` is called with each pause that is read from the database.

    The pause of a host counts here from its first refusal on, before the database has it.
    """

    def __init__(
        self, store_thread: StoreThread, max_seconds: float, max_attempts: int, on_paused: Callable[[HostPause], None]
    ) -> None:
        self._store_thread = store_thread
        self._max_seconds = max_seconds
        self._max_attempts = max_attempts
        self._on_paused = on_paused
        self._ends: dict[str, float] = {}
        self._holds: dict[str, float] = {}
        self._reading: asyncio.Future[None] | None = None

    def pause(self, host: str, seconds: float) -> None:
        """Pause a host from now on, unless its pause is longer already."""
        end = monotonic() + min(seconds, self._max_seconds)
        self._ends[host] = max(end, self._ends.get(host, 0.0))

    def hold(self, host: str) -> None:
        """Send nothing to a host until it is decided whether it needs a pause."""
        self._holds[host] = monotonic() + _HOLD_SECONDS

    def end_hold(self, host: str) -> None:
        """End the hold of a host; its pause stays."""
        self._holds.pop(host, None)

    def is_paused(self, host: str) -> bool:
        """Return True if a host must not be asked now."""
        return max(self._ends.get(host, 0.0), self._holds.get(host, 0.0)) > monotonic()

    def refresh(self, hosts: Collection[str]) -> None:
        """Begin to read which of these hosts are paused in the database, unless that is being read already."""
        now = monotonic()
        self._ends = {host: end for host, end in self._ends.items() if end > now}
        if hosts and self._reading is None and not self._store_thread.failed:
            self._reading = asyncio.ensure_future(self._read(hosts))

    async def close(self) -> None:
        """Wait for a read that is under way."""
        if self._reading is not None:
            await asyncio.wait([self._reading])

    async def _read(self, hosts: Collection[str]) -> None:
        crawl_id, store = self._store_thread.crawl_id, self._store_thread.store
        work = partial(read_pauses, crawl_id=crawl_id, names=hosts, max_attempts=self._max_attempts)
        try:
            pauses = await self._store_thread.run(partial(store.read, work))
        except StoreError as error:
            self._store_thread.fail(error)
            return
        finally:
            self._reading = None
        for pause in pauses:
            # A longer one was written before a clock was set back.
            if pause.seconds <= self._max_seconds:
                self.pause(pause.host, pause.seconds)
                self._on_paused(pause)

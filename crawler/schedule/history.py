"""What the visits to a page have shown: what the database keeps of it, and no more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from crawler.schedule.kinds import Kind, lived, pace

_DAY = 86_400.0
# Dates before the web are placeholders.
_EARLIEST = date(1990, 1, 1)


@dataclass(frozen=True, slots=True)
class History:
    """A page as its visits have shown it; `key` is its own among all pages, moments are aware.

    `visits` counts those that found the page, the first one included, and `changes` those at which it had changed.
    `misses` counts the latest visits in a row that found no page. Dates and counts that cannot be are read as the
    nearest that can.
    """

    key: str
    kind: Kind
    first_seen: datetime
    last_seen: datetime
    last_changed: datetime
    visits: int = 1
    changes: int = 0
    published: date | None = None
    misses: int = 0

    def visited(self, now: datetime, *, changed: bool) -> History:
        """Return the history after a visit that found the page."""
        return replace(
            self,
            last_seen=now,
            last_changed=now if changed else self.last_changed,
            visits=self.visits + 1,
            changes=self.changes + int(changed),
            misses=0,
        )

    def missed(self) -> History:
        """Return the history after a visit that found no page."""
        return replace(self, misses=self.misses + 1)

    def age_days(self, at: datetime) -> float:
        """Return the page's age; 0 before its birth."""
        return max(0.0, (at - self._born()).total_seconds() / _DAY)

    def own_days(self, at: datetime) -> float:
        """Return what the page's own clock (kinds.py) shows, in days."""
        return lived(self.kind, self.age_days(at))

    def pace(self, at: datetime) -> float:
        """Return how fast the page's own clock runs."""
        return pace(self.kind, self.age_days(at))

    def _born(self) -> datetime:
        """Return the end of the day of publication; the first visit where that is later, absurd or not known."""
        if self.published is None or not _EARLIEST <= self.published < self.first_seen.date():
            return self.first_seen
        return min(self.first_seen, datetime.combine(self.published, time(), UTC) + timedelta(days=1))

"""What feeds and sitemaps list: entries, the newest ones where there are too many, with dates that can be believed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from heapq import heappush, heapreplace

# The web is no older, and clocks that are wrong are mostly wrong by less.
_FIRST_YEAR = 1990
_FAST_CLOCK = timedelta(days=1)
_LONGEST_URL = 2_000


class Kind(StrEnum):
    """What an address listed; a closed set."""

    FEED = "feed"
    SITEMAP = "sitemap"
    INDEX = "index"
    """A sitemap of sitemaps."""


class Fault(StrEnum):
    """Why there is nothing to read; counted under these words."""

    EMPTY = "empty"
    HTML = "html"
    """A page in place of a feed or sitemap: of an error, a log-in, or a reader's."""
    UNKNOWN = "unknown"
    """Neither RSS, Atom nor a sitemap."""
    DAMAGED = "damaged"
    """Bytes that cannot be unpacked, or be read as the feed that they say they are."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An address with what is said of it: when it was published, and when it was changed last."""

    url: str
    published: date | None = None
    changed: date | None = None

    @property
    def newest(self) -> date | None:
        """The later one of both days, None where neither is known."""
        return latest(self.published, self.changed)


@dataclass(frozen=True, slots=True)
class Listed:
    """What a feed or sitemap lists, the newest first, undated entries last and as they stand there.

    `left_out` counts entries beyond the limit, `doubtful` dates that cannot be. `cut` says that there was more than is
    ever read.
    """

    kind: Kind
    entries: tuple[Entry, ...]
    left_out: int = 0
    doubtful: int = 0
    cut: bool = False


@dataclass(slots=True)
class Newest:
    """Takes entries one after the other and keeps the newest `most`, in memory for no more than these."""

    most: int
    now: datetime
    seen: int = 0
    doubtful: int = 0
    _kept: list[tuple[date, int, Entry]] = field(default_factory=list)

    def add(self, url: str, published: date | None, changed: date | None) -> None:
        """Take an entry; one without an http address is none."""
        if not url.startswith(("http://", "https://")) or len(url) > _LONGEST_URL:
            return
        published, changed = self._believed(published), self._believed(changed)
        self.seen += 1
        # Of two with the same day, the one that stood first.
        rank = (latest(published, changed) or date.min, -self.seen)
        if len(self._kept) < self.most:
            heappush(self._kept, (*rank, Entry(url, published, changed)))
        elif rank > self._kept[0][:2]:
            heapreplace(self._kept, (*rank, Entry(url, published, changed)))

    def listed(self, kind: Kind, *, cut: bool) -> Listed:
        """Return what was kept."""
        entries = tuple(entry for *_, entry in sorted(self._kept, reverse=True))
        return Listed(kind, entries, self.seen - len(entries), self.doubtful, cut)

    def _believed(self, said: date | None) -> date | None:
        if said is None:
            return None
        if said.year >= _FIRST_YEAR and _day(said) <= _day(self.now + _FAST_CLOCK):
            return said
        self.doubtful += 1
        return None


def latest(*moments: date | None) -> date | None:
    """Return the latest of some days, None where none is known."""
    return max((_day(moment) for moment in moments if moment), default=None)


def _day(moment: date) -> date:
    """Return the day in UTC; a time without a zone is UTC."""
    if isinstance(moment, datetime):
        return (moment if moment.tzinfo is None else moment.astimezone(UTC)).date()
    return moment

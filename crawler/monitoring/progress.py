"""Progress on stderr: the line of a running crawl, a bar for a list, and a running count."""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from rich.cells import cell_len
from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.text import Text
from scrapy import signals
from scrapy.utils.asyncio import AsyncioLoopingCall

from crawler.config import config_of
from crawler.monitoring.exit_status import queued_requests
from crawler.terminal import count_of, printable
from crawler.visit import REFUSAL_OUTCOMES, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

_TERMINAL_SECONDS = 0.25
_PLAIN_SECONDS = 5.0
_SEPARATOR = " · "
_VISIT_STATS = "visit/"
# Parts of the progress line, in the order in which a narrow terminal goes without them.
_LEFT_OUT_FIRST = ("kept", "rate", "pages", "unchanged", "slowest")

_ItemT = TypeVar("_ItemT")


class ProgressLine:
    """Extension that shows one line on stderr: updated in place on a terminal, printed every few seconds elsewhere.

    `mode` is `on`, `off`, or `auto`: on a terminal only.
    """

    def __init__(
        self, stats: StatsCollector | SummedStats, mode: str, delays: Callable[[], Mapping[str, float]] = dict
    ) -> None:
        self._stats = stats
        self._delays = delays
        self._console = Console(stderr=True)
        self._shown = mode == "on" or (mode == "auto" and self._console.is_terminal)
        self._started = time.monotonic()
        self._live: Live | None = None
        self._timer: AsyncioLoopingCall | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        assert crawler.stats
        extension = cls(crawler.stats, config_of(crawler).progress, lambda: _host_delays(crawler))
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        if not self._shown:
            return
        self._started = time.monotonic()
        if self._console.is_terminal:
            self._live = Live(
                self.line(self._console.width), console=self._console, auto_refresh=False, redirect_stdout=False
            )
            self._live.start()
            _redirect_log(sys.__stderr__, sys.stderr)
        self._timer = AsyncioLoopingCall(self._show)
        self._timer.start(_TERMINAL_SECONDS if self._live else _PLAIN_SECONDS, now=False)

    def spider_closed(self) -> None:
        if self._timer is not None and self._timer.running:
            self._timer.stop()
            self._show()
        if self._live is not None:
            _redirect_log(sys.stderr, sys.__stderr__)
            self._live.stop()

    def line(self, width: int | None = None) -> Text:
        """Return the line with the current counts; parts that say least are left out until it fits the width."""
        parts = self._parts(max(time.monotonic() - self._started, 0.001))
        for name in _LEFT_OUT_FIRST:
            if width is None or cell_len(_SEPARATOR.join(parts.values())) < width:
                break
            parts.pop(name, None)
        return Text(_SEPARATOR.join(parts.values()), no_wrap=True, overflow="ellipsis")

    def _parts(self, seconds: float) -> dict[str, str]:
        stats = self._stats.get_stats()
        done = sum(int(number) for name, number in stats.items() if name.startswith(_VISIT_STATS))
        pages, kept, unchanged = map(self._count, ("visit/page", "blocks/kept", f"visit/{Outcome.NOT_MODIFIED}"))
        refused = sum(self._count(f"visit/{outcome}") for outcome in REFUSAL_OUTCOMES)
        parts = {
            "done": f"{done:,} of {done + queued_requests(stats):,} known",
            "pages": count_of(pages, "page"),
            "unchanged": f"{unchanged:,} not modified" if unchanged else "",
            "kept": f"{kept:,} kept, {self._count('blocks/seen') - kept:,} dropped",
            "refused": f"{refused:,} refused" if refused else "",
            "rate": f"{done / seconds:.1f}/s",
            "elapsed": _clock(seconds),
            "slowest": _slowest(self._delays()),
        }
        return {name: part for name, part in parts.items() if part}

    def _count(self, name: str) -> int:
        return int(self._stats.get_value(name, 0))

    def _show(self) -> None:
        if self._live is not None:
            self._live.update(self.line(self._console.width), refresh=True)
        else:
            self._console.print(self.line(), soft_wrap=True)


def _host_delays(crawler: Crawler) -> dict[str, float]:
    """Return the seconds between two requests of each host that the crawl waits for."""
    engine = crawler.engine
    if engine is None:
        return {}
    return {name: slot.delay for name, slot in engine.downloader.slots.items() if slot.active and slot.delay}


def _slowest(delays: Mapping[str, float]) -> str:
    if not delays:
        return ""
    host = max(delays, key=lambda name: (delays[name], name))
    return f"slowest {printable(host)} {delays[host]:.1f} s"


def _clock(seconds: float) -> str:
    """Return a duration as `0:42` or `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class SummedStats:
    """The counters of several crawls as sums, for one progress line."""

    def __init__(self) -> None:
        self._running: list[Crawler] = []
        self._ended: Counter[str] = Counter()

    def add(self, crawler: Crawler) -> None:
        self._running.append(crawler)

    def end(self, crawler: Crawler) -> None:
        """Keep the counts of a crawl that has ended, and forget its crawler."""
        self._ended.update(_counts(crawler))
        self._running.remove(crawler)

    def get_value(self, name: str, default: int = 0) -> int:
        return self.get_stats().get(name, default)

    def delays(self) -> dict[str, float]:
        """Return the seconds between two requests of each host that a running crawl waits for."""
        delays: dict[str, float] = {}
        for crawler in self._running:
            delays |= _host_delays(crawler)
        return delays

    def get_stats(self) -> dict[str, int]:
        return dict(sum(map(_counts, self._running), self._ended))


def _counts(crawler: Crawler) -> Counter[str]:
    try:
        stats = crawler.stats.get_stats()
    except RuntimeError:  # Scrapy raises this while the crawler has no stats
        return Counter()
    return Counter({name: number for name, number in stats.items() if isinstance(number, int)})


def _redirect_log(old: object, new: object) -> None:
    """Let log handlers write to the stream that replaces theirs, so that log lines appear above the live line."""
    for handler in logging.root.handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is old:
            handler.setStream(new)


def track_progress(items: Sequence[_ItemT], mode: str) -> Iterator[_ItemT]:
    """Yield the items one by one; if stderr is a terminal, show a bar that disappears at the end."""
    console = Console(stderr=True)
    hidden = mode == "off" or not console.is_terminal or len(items) <= 1
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        yield from bar.track(items)


class StatusLine:
    """Shows a line in the same modes as the progress line of a crawl. It disappears at the end."""

    def __init__(self, mode: str) -> None:
        self._console = Console(stderr=True)
        self._live = self._console.is_terminal and mode != "off"
        self._plain = not self._console.is_terminal and mode == "on"
        self._started = self._shown = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._live:
            self._write("\r\x1b[K")

    def show(self, describe: Callable[[float], str]) -> None:
        """Print `describe(elapsed_seconds)`, unless a line was printed a moment ago."""
        now = time.monotonic()
        if now - self._shown < (_TERMINAL_SECONDS if self._live else _PLAIN_SECONDS):
            return
        self._shown = now
        if self._live:
            self._write(f"\r\x1b[K{describe(now - self._started)}")
        elif self._plain:
            self._write(f"{describe(now - self._started)}\n")

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


class ProgressCounter:
    """Shows a count and its rate in a StatusLine."""

    def __init__(self, unit: str, mode: str) -> None:
        self._unit = unit
        self._line = StatusLine(mode)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._line.__exit__(*exception)

    def show(self, count: int) -> None:
        """Show a count, unless another was shown a moment ago."""
        self._line.show(lambda seconds: f"{count:,} {self._unit} · {count / seconds:,.0f} {self._unit}/s")

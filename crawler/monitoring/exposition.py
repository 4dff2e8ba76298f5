"""The metrics of a crawl in Prometheus' text format.

Counters add up all crawls that wrote to a file. If they restarted at 0 with each crawl, Prometheus would miss every
crawl that is shorter than its scrape interval. This module needs the optional library prometheus_client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families

from cleaning.blocks import Reason
from crawler.monitoring.exit_status import EXIT_SUCCESS, queued_requests
from crawler.visit import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from prometheus_client.core import Metric

    from crawler.monitoring.exit_status import ExitStatus

_PREFIX = "blocksieve_"


@dataclass(frozen=True, slots=True)
class CounterMetric:
    """A counter with the stat of each value of its `label`; without a label its one stat has the key ""."""

    name: str
    help: str
    stats: Mapping[str, str]
    label: str = ""


def _stat_names(prefix: str, names: Iterable[str]) -> dict[str, str]:
    return {str(name): f"{prefix}{name}" for name in names}


COUNTERS = (
    CounterMetric("visits", "Visits, by outcome", _stat_names("visit/", Outcome), "outcome"),
    CounterMetric(
        "pages",
        "Pages given to the store, by what the visit changed",
        _stat_names("store/pages_", ("new", "changed", "unchanged", "failed")),
        "state",
    ),
    CounterMetric(
        "blocks", "Blocks, by the reason for keeping or dropping them", _stat_names("blocks/", Reason), "reason"
    ),
    CounterMetric(
        "duplicates",
        "Kept blocks that were not stored again, by kind of duplicate",
        _stat_names("dedup/", ("exact", "near", "boilerplate")),
        "kind",
    ),
    CounterMetric("requests", "Requests sent", {"": "downloader/request_count"}),
    CounterMetric("received_bytes", "Bytes received", {"": "downloader/response_bytes"}),
    CounterMetric("retries", "Requests sent again after a failure", {"": "retry/count"}),
    CounterMetric(
        "throttling", "Times that a site was slowed down", _stat_names("throttling/", ("slower", "waits")), "event"
    ),
    CounterMetric(
        "log_lines",
        "Log lines at level WARNING and above",
        {level.lower(): f"log_count/{level}" for level in ("WARNING", "ERROR", "CRITICAL")},
        "level",
    ),
    CounterMetric("metrics_failures", "Times that this file could not be written", {"": "metrics/failures"}),
)

GAUGES = {
    "queue": "Requests that wait to be sent",
    "crawl_running": "1 while a crawl runs, 0 after it; a crawl that was killed leaves 1",
    "crawl_started_timestamp_seconds": "When the last crawl began",
    "crawl_finished_timestamp_seconds": "When a crawl last ended",
    "crawl_succeeded_timestamp_seconds": "When a crawl last ended with exit code 0",
    "crawl_exit_code": "Exit code of the crawl that last ended",
    "metrics_written_timestamp_seconds": "When this file was written",
}


@dataclass(frozen=True, slots=True)
class MetricSample:
    """A sample: its metric without our prefix, and its label's value, "" for a metric without a label."""

    metric: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class CrawlTiming:
    """When the crawl started and what time it is, in seconds since the epoch; `status` is None while it runs."""

    now: float
    started: float
    status: ExitStatus | None = None


class Exposition:
    """The metrics of one file, all with the given labels, which continue the counts of its earlier content."""

    def __init__(self, labels: Mapping[str, str], content: str = "") -> None:
        """Raises ValueError for content that no Exposition wrote."""
        self._labels = labels
        self._earlier = _read_samples(content, labels)
        self._counts: dict[MetricSample, float] = {}

    def text(self, stats: Mapping[str, Any], timing: CrawlTiming) -> bytes:
        """Return the file's new content."""
        self._count(stats)
        return generate_latest(_Families([*self._counters(), *self._gauges(stats, timing)]))

    def _count(self, stats: Mapping[str, Any]) -> None:
        for counter in COUNTERS:
            for value, stat in counter.stats.items():
                sample = MetricSample(f"{counter.name}_total", value)
                # A page is counted as one until its cleaning fails. Prometheus takes a falling counter for a restart.
                self._counts[sample] = max(self._counts.get(sample, 0.0), float(stats.get(stat, 0)))

    def _counters(self) -> Iterator[Metric]:
        for counter in COUNTERS:
            names = [*self._labels, *filter(None, [counter.label])]
            family = CounterMetricFamily(_PREFIX + counter.name, counter.help, labels=names)
            for value in counter.stats:
                sample = MetricSample(f"{counter.name}_total", value)
                total = self._earlier.get(sample, 0.0) + self._counts[sample]
                family.add_metric([*self._labels.values(), *filter(None, [value])], total)
            yield family

    def _gauges(self, stats: Mapping[str, Any], timing: CrawlTiming) -> Iterator[Metric]:
        values = self._last_end(timing) | {
            "queue": float(queued_requests(stats)),
            "crawl_running": float(timing.status is None),
            "crawl_started_timestamp_seconds": timing.started,
            "metrics_written_timestamp_seconds": timing.now,
        }
        for name, help_text in GAUGES.items():
            family = GaugeMetricFamily(_PREFIX + name, help_text, labels=list(self._labels))
            if (value := values[name]) is not None:
                family.add_metric(list(self._labels.values()), value)
            yield family

    def _last_end(self, timing: CrawlTiming) -> dict[str, float | None]:
        """Return the gauges of the crawl that last ended; while this crawl runs, that is an earlier one."""
        names = ("crawl_finished_timestamp_seconds", "crawl_succeeded_timestamp_seconds", "crawl_exit_code")
        earlier = {name: self._earlier.get(MetricSample(name)) for name in names}
        if timing.status is None:
            return earlier
        code = timing.status.exit_code
        ended = {"crawl_finished_timestamp_seconds": timing.now, "crawl_exit_code": float(code)}
        succeeded = {"crawl_succeeded_timestamp_seconds": timing.now} if code == EXIT_SUCCESS else {}
        return earlier | ended | succeeded


def _read_samples(content: str, labels: Mapping[str, str]) -> dict[MetricSample, float]:
    """Return the samples that have these labels; others are left out."""
    samples = {}
    for family in text_string_to_metric_families(content):
        if not family.name.startswith(_PREFIX):
            raise ValueError(f"the metric {family.name} in it is not Blocksieve's")
        for sample in family.samples:
            own = [value for name, value in sample.labels.items() if name not in labels]
            if labels.items() <= sample.labels.items():
                samples[MetricSample(sample.name.removeprefix(_PREFIX), "".join(own))] = sample.value
    return samples


class _Families:
    """The part of a registry that prometheus_client reads."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families

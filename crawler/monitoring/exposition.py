"""The metrics of a crawl in Prometheus' text format.

Counters add up all crawls that wrote to a file. If they restarted at 0 with each crawl, Prometheus would miss every
crawl that is shorter than its scrape interval.
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
    """The stat of each value of `label`; a counter without a label has one stat, under ""."""

    name: str
    help: str
    stats: Mapping[str, str]
    label: str = ""


def _stat_names(prefix: str, names: Iterable[str]) -> dict[str, str]:
    return {str(name): f"{prefix}{name}" for name in names}


COUNTERS = (
    CounterMetric("visits", "Visits, by how they ended", _stat_names("visit/", Outcome), "outcome"),
    CounterMetric(
        "pages",
        "Pages given to the store, by what became of them",
        _stat_names("store/pages_", ("new", "changed", "unchanged", "failed")),
        "state",
    ),
    CounterMetric(
        "blocks", "Blocks, by the reason why they were kept or dropped", _stat_names("blocks/", Reason), "reason"
    ),
    CounterMetric(
        "duplicates",
        "Kept blocks that were not stored again, by how that was found",
        _stat_names("dedup/", ("exact", "near", "template")),
        "kind",
    ),
    CounterMetric("requests", "Requests sent", {"": "downloader/request_count"}),
    CounterMetric("received_bytes", "Bytes received", {"": "downloader/response_bytes"}),
    CounterMetric("retries", "Requests sent again after a failure", {"": "retry/count"}),
    CounterMetric(
        "brake", "Times that a site was given more time", _stat_names("throttling/", ("slower", "waits")), "event"
    ),
    CounterMetric(
        "log_lines",
        "Lines in the log that call for attention",
        {level.lower(): f"log_count/{level}" for level in ("WARNING", "ERROR", "CRITICAL")},
        "level",
    ),
    CounterMetric("metrics_failures", "Times that this file could not be written", {"": "metrics/failures"}),
)

GAUGES = {
    "queue": "Requests that wait to be sent",
    "crawl_running": "1 while a crawl runs, 0 after it; one that was killed leaves the 1",
    "crawl_started_timestamp_seconds": "When the last crawl began",
    "crawl_finished_timestamp_seconds": "When a crawl ended last",
    "crawl_succeeded_timestamp_seconds": "When a crawl ended last with exit code 0",
    "crawl_exit_code": "Exit code of the crawl that ended last",
    "metrics_written_timestamp_seconds": "When this file was written",
}


@dataclass(frozen=True, slots=True)
class MetricSample:
    """A sample by its metric, without our prefix, and its value of the label, "" where that has none."""

    metric: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class CrawlTiming:
    """How far the crawl is; times in seconds since the epoch, `ending` None while it runs."""

    now: float
    started: float
    ending: ExitStatus | None = None


class Exposition:
    """The metrics of one file, each with these labels, that go on from its earlier content."""

    def __init__(self, labels: Mapping[str, str], content: str = "") -> None:
        """Raises ValueError for a content that no Exposition wrote."""
        self._labels = labels
        self._earlier = _read_samples(content, labels)
        self._counted: dict[MetricSample, float] = {}

    def text(self, stats: Mapping[str, Any], moment: CrawlTiming) -> bytes:
        """Return the file's new content."""
        self._count(stats)
        return generate_latest(_Families([*self._counters(), *self._gauges(stats, moment)]))

    def _count(self, stats: Mapping[str, Any]) -> None:
        for counter in COUNTERS:
            for value, stat in counter.stats.items():
                sample = MetricSample(f"{counter.name}_total", value)
                # A page counts as one until its cleaning fails; a counter that falls began anew, to Prometheus.
                self._counted[sample] = max(self._counted.get(sample, 0.0), float(stats.get(stat, 0)))

    def _counters(self) -> Iterator[Metric]:
        for counter in COUNTERS:
            names = [*self._labels, *filter(None, [counter.label])]
            family = CounterMetricFamily(_PREFIX + counter.name, counter.help, labels=names)
            for value in counter.stats:
                sample = MetricSample(f"{counter.name}_total", value)
                total = self._earlier.get(sample, 0.0) + self._counted[sample]
                family.add_metric([*self._labels.values(), *filter(None, [value])], total)
            yield family

    def _gauges(self, stats: Mapping[str, Any], moment: CrawlTiming) -> Iterator[Metric]:
        values = self._last(moment) | {
            "queue": float(queued_requests(stats)),
            "crawl_running": float(moment.ending is None),
            "crawl_started_timestamp_seconds": moment.started,
            "metrics_written_timestamp_seconds": moment.now,
        }
        for name, help_text in GAUGES.items():
            family = GaugeMetricFamily(_PREFIX + name, help_text, labels=list(self._labels))
            if (value := values[name]) is not None:
                family.add_metric(list(self._labels.values()), value)
            yield family

    def _last(self, moment: CrawlTiming) -> dict[str, float | None]:
        """Return what is known of the crawl that ended last: of an earlier one, while this one runs."""
        names = ("crawl_finished_timestamp_seconds", "crawl_succeeded_timestamp_seconds", "crawl_exit_code")
        last = {name: self._earlier.get(MetricSample(name)) for name in names}
        if moment.ending is None:
            return last
        code = moment.ending.exit_code
        ended = {"crawl_finished_timestamp_seconds": moment.now, "crawl_exit_code": float(code)}
        succeeded = {"crawl_succeeded_timestamp_seconds": moment.now} if code == EXIT_SUCCESS else {}
        return last | ended | succeeded


def _read_samples(content: str, labels: Mapping[str, str]) -> dict[MetricSample, float]:
    """Return the samples with these labels; those of other ones are left out."""
    found = {}
    for family in text_string_to_metric_families(content):
        if not family.name.startswith(_PREFIX):
            raise ValueError(f"the metric {family.name} in it is not Blocksieve's")
        for sample in family.samples:
            own = [value for name, value in sample.labels.items() if name not in labels]
            if labels.items() <= sample.labels.items():
                found[MetricSample(sample.name.removeprefix(_PREFIX), "".join(own))] = sample.value
    return found


class _Families:
    """What prometheus-client takes for a registry."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families

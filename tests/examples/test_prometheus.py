"""Alerts and documentation speak of metrics that there are."""

import re
from pathlib import Path

import pytest

from crawler.monitoring.exposition import COUNTERS, GAUGES

ROOT = Path(__file__).parents[2]
LABELS = {"spider", "file", *(counter.label for counter in COUNTERS)}
METRICS = {f"blocksieve_{name}" for name in [*(f"{counter.name}_total" for counter in COUNTERS), *GAUGES]}


def test_every_metric_of_the_alerts_is_exposed():
    text = (ROOT / "docs/examples/prometheus/alerts.yml").read_text("utf-8")
    named = set(re.findall(r"\bblocksieve_\w+", text))
    assert named
    assert named <= METRICS


def test_every_metric_is_documented():
    text = (ROOT / "docs/serve.md").read_text("utf-8")
    shortened = {"blocksieve_crawl_finished_timestamp_seconds", "blocksieve_crawl_succeeded_timestamp_seconds"}
    assert METRICS - shortened <= set(re.findall(r"`(blocksieve_\w+)`", text))


@pytest.mark.parametrize("expression", [r'(\w+)=~?"', r"by \(([\w, ]+)\)"])
def test_every_label_of_the_alerts_is_exposed(expression):
    text = (ROOT / "docs/examples/prometheus/alerts.yml").read_text("utf-8")
    labels_of_alerts = {label for labels in re.findall(expression, text) for label in labels.split(", ")}
    assert labels_of_alerts
    assert labels_of_alerts - {"instance"} <= LABELS

"""A stopped crawl stores the pages that it fetched and reports how it ended."""

import json
import signal
import sqlite3
from contextlib import closing

import pytest
from archive_crawl import save_pages, start
from prometheus_client.parser import text_string_to_metric_families

pytestmark = pytest.mark.slow

MANY = 4_000


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return save_pages(tmp_path_factory.mktemp("saved") / "pages", MANY)


def metric(path, name, **labels):
    """Return a metric's value, 0 where the file is not there yet."""
    content = path.read_text("utf-8") if path.exists() else ""
    values = [
        sample.value
        for family in text_string_to_metric_families(content)
        for sample in family.samples
        if sample.name == f"blocksieve_{name}" and labels.items() <= sample.labels.items()
    ]
    return sum(values)


def wait_for_pages(process, path):
    """Return as soon as the metrics tell of stored pages."""
    while not metric(path, "pages_total", state="new"):
        assert process.poll() is None, process.communicate()[1]
    assert metric(path, "crawl_running") == 1


@pytest.mark.parametrize(
    ("number", "code", "settings"),
    [
        (signal.SIGINT, 130, ()),
        (signal.SIGTERM, 143, ("CLEANING_PROCESSES=1",)),
    ],
)
def test_a_stopped_crawl_stores_and_reports_its_pages(tmp_path, pages, number, code, settings):
    watched = ("METRICS=lake.prom", "METRICS_SECONDS=0.1", "SUMMARY=crawls.jsonl", "STORE_BATCH_SECONDS=0.1")
    with start(tmp_path, pages, *watched, *settings) as process:
        wait_for_pages(process, tmp_path / "lake.prom")
        process.send_signal(number)
        _, log = process.communicate()
    assert process.returncode == code, log
    assert f"scrapy crawl: {number.name} stopped the crawl before its end; the same command continues it" in log
    assert "Traceback" not in log

    [line] = (tmp_path / "crawls.jsonl").read_text().splitlines()
    summary = json.loads(line)
    assert (summary["finish_reason"], summary["exit_code"]) == ("shutdown", code)
    assert 0 < summary["pages"]["new"] == summary["visits"]["page"] < MANY
    assert metric(tmp_path / "lake.prom", "crawl_running") == 0
    assert metric(tmp_path / "lake.prom", "crawl_exit_code") == code
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
        assert database.execute("select count(*) from page").fetchone() == (summary["pages"]["new"],)
        assert database.execute("select finished is not null from crawl").fetchone() == (1,)

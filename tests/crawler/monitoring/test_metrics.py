"""The metrics file that crawls write."""

import pytest
from archive_crawl import crawl, save_pages
from prometheus_client.parser import text_string_to_metric_families
from scrapy.utils.test import get_crawler

from crawler.errors import ConfigError
from crawler.monitoring.metrics import MetricsExtension

pytestmark = pytest.mark.slow

# Renames the folder once the crawl has begun, and back when the spider is closed, before the last write.
AWAY = """
from pathlib import Path
from scrapy import signals

class Away:
    @classmethod
    def from_crawler(cls, crawler):
        extension = cls()
        crawler.signals.connect(extension.take, signal=signals.spider_opened)
        crawler.signals.connect(extension.give_back, signal=signals.spider_closed)
        return extension

    def take(self):
        Path("out").rename("elsewhere")

    def give_back(self):
        Path("elsewhere").rename("out")
"""


@pytest.fixture
def pages(tmp_path):
    return save_pages(tmp_path / "pages", 3)


def samples(path):
    """Return the value by metric and labels but for the file's."""
    families = text_string_to_metric_families(path.read_text("utf-8"))
    return {
        (sample.name.removeprefix("blocksieve_"), *sorted(sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
    }


def test_crawls_write_their_metrics(tmp_path, pages):
    for turn in (1, 2):
        finished = crawl(tmp_path, pages, "METRICS=lake.prom")
        assert finished.returncode == 0, finished.stderr
        values = samples(tmp_path / "lake.prom")
        assert values["visits_total", "archive", "lake", "page"] == 3 * turn
        assert values["pages_total", "archive", "lake", "new"] == 3
        assert values["crawl_running", "archive", "lake"] == 0
        assert values["crawl_exit_code", "archive", "lake"] == 0
    assert not list(tmp_path.glob(".lake*"))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing/lake.prom", "but there is no folder"),
        ("lake.txt", "files with the suffix .prom"),
        ("diary.prom", "node_load1 in it is not Blocksieve's"),
        ("bytes.prom", "that this crawl cannot continue"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_and_stays_unchanged(tmp_path, name, says):
    contents = {"diary.prom": b"node_load1 0.5\n", "bytes.prom": b"\xff\xfe\x00"}
    for file, content in contents.items():
        (tmp_path / file).write_bytes(content)
    with pytest.raises(ConfigError, match=says):
        MetricsExtension.from_crawler(get_crawler(settings_dict={"METRICS": str(tmp_path / name)}))
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == contents


def test_a_missing_library_is_named_with_its_install_command(tmp_path, pages):
    (tmp_path / "prometheus_client.py").write_text(
        "raise ModuleNotFoundError('gone', name='prometheus_client')", "utf-8"
    )
    finished = crawl(tmp_path, pages, "METRICS=lake.prom", PYTHONPATH=str(tmp_path))
    assert finished.returncode == 2, finished.stderr
    assert "METRICS needs prometheus_client: pip install 'blocksieve[metrics]'" in finished.stderr


def test_without_the_setting_the_library_is_not_needed(tmp_path, pages):
    (tmp_path / "prometheus_client.py").write_text("raise SystemExit('imported')", "utf-8")
    finished = crawl(tmp_path, pages, PYTHONPATH=str(tmp_path))
    assert finished.returncode == 0, finished.stderr


def test_a_failed_write_is_logged_once_and_counted_and_the_crawl_goes_on(tmp_path, pages):
    (tmp_path / "out").mkdir()
    (tmp_path / "away.py").write_text(AWAY, "utf-8")
    (tmp_path / "own_settings.py").write_text(
        "from crawler.settings import *\nEXTENSIONS = {'away.Away': 600}\n", "utf-8"
    )
    finished = crawl(
        tmp_path,
        save_pages(tmp_path / "many", 100),
        "METRICS=out/lake.prom",
        "METRICS_SECONDS=0.1",
        PYTHONPATH=str(tmp_path),
        SCRAPY_SETTINGS_MODULE="own_settings",
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr.count("The metrics could not be written") == 1
    values = samples(tmp_path / "out" / "lake.prom")
    assert values["metrics_failures_total", "archive", "lake"] >= 1
    assert values["visits_total", "archive", "lake", "page"] == 100
    assert values["log_lines_total", "archive", "error", "lake"] == 1

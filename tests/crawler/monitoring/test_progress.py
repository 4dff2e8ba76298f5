"""The progress line."""

import pytest
from scrapy.utils.test import get_crawler

from crawler.monitoring.progress import ProgressCounter, ProgressLine


@pytest.fixture
def stats():
    return get_crawler().stats


def test_the_line_shows_pages_blocks_rate_and_queue(stats):
    for name, count in {
        "visit/page": 12,
        "blocks/seen": 100,
        "blocks/kept": 30,
        "scheduler/enqueued": 20,
        "scheduler/dequeued": 15,
    }.items():
        stats.set_value(name, count)
    pages, kept, dropped, rate, queue = ProgressLine(stats, "on").line().plain.split(" · ")
    assert (pages, kept, dropped, queue) == ("12 pages", "30 blocks kept", "70 dropped", "queue 5")
    assert rate.endswith("pages/s")


def test_a_queue_is_never_below_zero(stats):
    stats.set_value("scheduler/dequeued", 2)
    assert ProgressLine(stats, "on").line().plain.endswith("queue 0")


def test_the_queue_in_the_database_is_shown(stats):
    stats.set_value("frontier/queued", 1234)
    stats.set_value("scheduler/dequeued", 15)
    assert ProgressLine(stats, "on").line().plain.endswith("queue 1234")


def test_refusals_are_shown_if_there_are_any(stats):
    line = ProgressLine(stats, "on").line
    assert "refused" not in line().plain
    stats.set_value("visit/captcha", 2)
    assert line().plain.endswith("2 refused")


def test_nothing_is_shown_without_a_terminal(stats, capsys):
    progress = ProgressLine(stats, "auto")
    progress.spider_opened()
    progress.spider_closed()
    assert capsys.readouterr().err == ""


def test_a_count_is_shown_every_few_seconds_if_progress_is_on(capsys, monkeypatch):
    moments = iter([0.0, 1.0, 6.0, 7.0] * 2)
    monkeypatch.setattr("crawler.monitoring.progress.time.monotonic", lambda: next(moments))
    for mode in ("on", "auto"):  # stderr is not a terminal here
        with ProgressCounter("rows", mode) as counting:
            for number in (1_000, 6_000, 7_000):
                counting.show(number)
    assert capsys.readouterr().err == "6,000 rows · 1,000 rows/s\n"

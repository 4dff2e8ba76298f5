"""The progress line."""

import re

import pytest
from scrapy.utils.test import get_crawler

from crawler.monitoring.progress import ProgressCounter, ProgressLine, _clock


@pytest.fixture
def stats():
    return get_crawler().stats


def test_the_line_shows_how_much_is_done_and_the_slowest_host(stats):
    for name, count in {
        "visit/page": 12,
        "visit/section": 3,
        "blocks/seen": 1_100,
        "blocks/kept": 30,
        "scheduler/enqueued": 20,
        "scheduler/dequeued": 15,
    }.items():
        stats.set_value(name, count)
    line = ProgressLine(stats, "on", lambda: {"a.example": 0.5, "b.example": 5.0}).line()
    done, pages, blocks, rate, elapsed, slowest = line.plain.split(" · ")
    assert (done, pages, blocks) == ("15 of 20 known", "12 pages", "30 kept, 1,070 dropped")
    assert re.fullmatch(r"[\d.]+/s", rate)
    assert re.fullmatch(r"\d+:\d\d", elapsed)
    assert slowest == "slowest b.example 5.0 s"


def test_a_narrow_line_has_whole_parts_only(stats):
    for name, count in {"visit/page": 171, "visit/captcha": 10, "blocks/seen": 7_953, "blocks/kept": 1_485}.items():
        stats.set_value(name, count)
    progress = ProgressLine(stats, "on", lambda: {"www.ezinearticles.example": 5.0})
    parts = steady_parts(progress.line())
    for width in (120, 80, 60, 40):
        line = progress.line(width)
        assert len(line.plain) < width
        assert set(steady_parts(line)) <= set(parts)
        assert line.plain.startswith("181 of 181 known")
    assert "slowest www.ezinearticles.example 5.0 s" in progress.line(80).plain


def steady_parts(line):
    """Return the parts of a line without rate and clock, which differ from one line to the next."""
    return [part for part in line.plain.split(" · ") if not re.fullmatch(r"[\d.]+/s|\d+:\d\d", part)]


@pytest.mark.parametrize(
    ("seconds", "clock"), [(0.9, "0:00"), (62, "1:02"), (3_723, "1:02:03"), (360_000, "100:00:00")]
)
def test_a_duration_is_a_clock(seconds, clock):
    assert _clock(seconds) == clock


def test_a_queue_is_never_below_zero(stats):
    stats.set_value("scheduler/dequeued", 2)
    assert ProgressLine(stats, "on").line().plain.startswith("0 of 0 known")


def test_the_queue_in_the_database_is_known(stats):
    stats.set_value("frontier/queued", 1234)
    stats.set_value("scheduler/dequeued", 15)
    assert ProgressLine(stats, "on").line().plain.startswith("0 of 1,234 known")


def test_pages_that_were_not_modified_are_shown(stats):
    stats.set_value("visit/not_modified", 171)
    assert ProgressLine(stats, "on").line().plain.startswith("171 of 171 known · 0 pages · 171 not modified")


def test_refusals_are_shown_if_there_are_any(stats):
    line = ProgressLine(stats, "on").line
    assert "refused" not in line().plain
    stats.set_value("visit/captcha", 2)
    assert " · 2 refused · " in line().plain


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

"""One JSON object for each crawl, on one line."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import archive_crawl
import pytest
from scrapy import Spider, signals
from scrapy.utils.test import get_crawler

from cleaning.blocks import Reason
from crawler.monitoring.exit_status import ExitStatus, find_exit_status
from crawler.monitoring.summary import SummaryExtension, _build_summary
from crawler.visit import Outcome

pytestmark = pytest.mark.slow

STATS = {
    "start_time": datetime(2026, 5, 1, 12, tzinfo=UTC),
    "finish_time": datetime(2026, 5, 1, 12, 0, 2, 500_000, tzinfo=UTC),
    "elapsed_time_seconds": 2.5,
    "finish_reason": "finished",
    "store/crawl_id": 7,
    "frontier/queued": 6,
    "store/pages_new": 4,
    "store/pages_unchanged": 1,
    "visit/page": 5,
    "visit/captcha": 2,
    "blocks/kept": 30,
    "blocks/footer": 9,
    "dedup/near": 3,
    "downloader/request_count": 8,
    "downloader/response_bytes": 90_000,
    "retry/count": 1,
    "log_count/ERROR": 2,
    "log_count/CRITICAL": 1,
}

FAILS_AT_START = """
    import scrapy

    class FailsAtStart(scrapy.Spider):
        name = "fails_at_start"

        async def start(self):
            raise OSError("the list of pages is gone")
            yield
"""


@pytest.fixture
def pages(tmp_path):
    return archive_crawl.save_pages(tmp_path / "pages", 3)


def summarise(spider=None, **stats):
    return _build_summary(spider or Spider("section"), STATS | stats, ExitStatus(0))


def test_a_crawl_has_a_summary():
    summary = summarise()
    assert summary["version"] == 1
    assert summary["crawl"] == 7
    assert summary["spider"] == "section"
    assert (summary["started"], summary["finished"]) == (
        "2026-05-01T12:00:00.000+00:00",
        "2026-05-01T12:00:02.500+00:00",
    )
    assert (summary["seconds"], summary["pages_per_second"]) == (2.5, 2.0)
    assert summary["pages"] == {"new": 4, "changed": 0, "unchanged": 1, "failed": 0}
    assert summary["duplicates"] == {"exact": 0, "near": 3, "boilerplate": 0}
    assert (summary["requests"], summary["retries"], summary["bytes"], summary["errors"]) == (8, 1, 90_000, 3)
    assert summary["queued"] == 6


def test_every_outcome_and_reason_is_listed_even_if_0():
    summary = summarise()
    assert summary["visits"] == dict.fromkeys(map(str, Outcome), 0) | {"page": 5, "captcha": 2}
    dropped = summary["blocks"]["dropped"]
    assert summary["blocks"]["kept"] == 30
    assert dropped == dict.fromkeys((str(reason) for reason in Reason if reason != "kept"), 0) | {"footer": 9}


def test_secrets_in_arguments_are_redacted():
    spider = Spider("section", url="https://me:pass@x.example/?q=1&token=abc", api_key="abc", pages="3")
    assert summarise(spider)["arguments"] == {
        "url": "https://***@x.example/?q=1&token=***",
        "api_key": "***",
        "pages": "3",
    }


def test_a_failure_has_its_problem():
    summary = _build_summary(
        Spider("section"), STATS | {"finish_reason": "refused"}, ExitStatus(1, "refused too often")
    )
    assert (summary["finish_reason"], summary["exit_code"], summary["problem"]) == ("refused", 1, "refused too often")


def test_a_crawl_that_took_no_time_has_a_rate():
    assert summarise(elapsed_time_seconds=0.0)["pages_per_second"] == 5000.0


def test_a_crawl_without_a_store_has_no_id():
    assert _build_summary(Spider("x"), {**STATS, "store/crawl_id": None}, ExitStatus(0))["crawl"] is None


def test_each_crawl_appends_a_line(tmp_path, pages):
    for _ in range(2):
        finished = archive_crawl.crawl(tmp_path, pages, "SUMMARY=crawls.jsonl")
        assert finished.returncode == 0, finished.stderr
        assert finished.stdout == ""
    first, second = map(json.loads, (tmp_path / "crawls.jsonl").read_text().splitlines())
    assert first["pages"] == {"new": 3, "changed": 0, "unchanged": 0, "failed": 0}
    assert second["pages"] == {"new": 0, "changed": 0, "unchanged": 3, "failed": 0}
    assert first["visits"]["page"] == second["visits"]["page"] == 3
    assert first["blocks"]["kept"] > 0
    assert first["seconds"] > 0
    assert (first["crawl"], first["queued"], second["crawl"]) == (1, 0, 2)


def test_a_stopped_crawl_has_the_number_of_queued_requests(tmp_path):
    pages = archive_crawl.save_pages(tmp_path / "pages", 80)
    finished = archive_crawl.crawl(tmp_path, pages, "SUMMARY=-", "CLOSESPIDER_PAGECOUNT=2")
    assert finished.returncode == 0, finished.stderr
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
        ((left,),) = database.execute("SELECT count(*) FROM request WHERE state = 'queued'").fetchall()
        ((totals,),) = database.execute("SELECT totals FROM crawl").fetchall()
    assert left > 0
    assert json.loads(finished.stdout)["queued"] == left
    assert not {"frontier/queued", "store/crawl_id"} & json.loads(totals).keys()


def test_a_minus_is_stdout_and_nothing_else_is_written_there(tmp_path, pages):
    finished = archive_crawl.crawl(tmp_path, pages, "SUMMARY=-")
    assert json.loads(finished.stdout)["exit_code"] == 0
    assert finished.stdout.count("\n") == 1


def test_a_failed_crawl_has_its_problem(tmp_path):
    empty = archive_crawl.save_pages(tmp_path / "pages", 0, **{"a.html": ""})
    finished = archive_crawl.crawl(tmp_path, empty, "SUMMARY=-")
    assert finished.returncode == 1
    summary = json.loads(finished.stdout)
    assert (summary["exit_code"], summary["problem"]) == (1, "no page was stored (empty 1)")
    assert summary["problem"] in finished.stderr


def test_a_crawl_that_does_not_begin_writes_no_summary(tmp_path, pages):
    finished = archive_crawl.crawl(
        tmp_path, pages, "SUMMARY=crawls.jsonl", "DATABASE_URL=sqlite:///missing/folder/blocks.db"
    )
    assert finished.returncode == 2, finished.stderr
    assert not (tmp_path / "crawls.jsonl").exists()


def test_a_path_that_cannot_be_written_is_an_error(tmp_path, pages):
    finished = archive_crawl.crawl(tmp_path, pages, "SUMMARY=missing/crawls.jsonl")
    assert finished.returncode == 2, finished.stderr
    assert "SUMMARY is 'missing/crawls.jsonl', but there is no folder" in finished.stderr
    assert "Traceback" not in finished.stderr
    assert not (tmp_path / "blocks.db").exists()


@pytest.fixture
def crawler(tmp_path):
    """A crawl that has ended, except for the signals, with a summary file."""
    ended = get_crawler(settings_dict={"SUMMARY": str(tmp_path / "out" / "crawls.jsonl"), "EXTENSIONS_BASE": {}})
    ended.spider = Spider("section")
    ended.stats.set_stats(STATS)
    (tmp_path / "out").mkdir()
    return ended


def send(crawler, *names):
    for name in names:
        crawler.signals.send_catch_log(getattr(signals, name), spider=crawler.spider, reason="finished")


def test_a_summary_that_cannot_be_written_is_logged(tmp_path, crawler, caplog):
    extension = SummaryExtension.from_crawler(crawler)
    (tmp_path / "out").rmdir()
    send(crawler, "spider_opened", "engine_started", "spider_closed", "engine_stopped")
    [record] = caplog.records
    expected = _build_summary(crawler.spider, STATS, find_exit_status(STATS, 0.5)) | {"warnings": []}
    assert json.loads(record.message.split("): ", 1)[1]) == expected
    del extension


@pytest.mark.parametrize(
    ("sent", "lines"),
    [
        (("spider_opened", "engine_started", "spider_closed", "engine_stopped"), 1),
        (("spider_opened", "spider_closed"), 1),  # a component closed the spider while it was being opened
        (("spider_closed",), 0),  # a component failed to start
        (("engine_started", "engine_stopped"), 0),
    ],
)
def test_a_crawl_that_began_has_one_summary(tmp_path, crawler, sent, lines):
    extension = SummaryExtension.from_crawler(crawler)
    send(crawler, *sent)
    path = tmp_path / "out" / "crawls.jsonl"
    assert (path.read_text().count("\n") if path.exists() else 0) == lines
    del extension


def test_a_spider_that_fails_at_its_start_is_a_failed_crawl(tmp_path, crawl, spider):
    crawl(spider(FAILS_AT_START), settings={"SUMMARY": str(tmp_path / "crawls.jsonl")})
    summary = json.loads((tmp_path / "crawls.jsonl").read_text())
    assert (summary["spider"], summary["finish_reason"], summary["exit_code"]) == ("fails_at_start", "start_error", 1)
    assert summary["errors"] > 0

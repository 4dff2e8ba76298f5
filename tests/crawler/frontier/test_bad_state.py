"""A crawl whose database has wrong clocks, requests of another spider, or invalid rows."""

import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert, update

from crawler.storage.tables import crawl, host, request

SPIDER = """
    import scrapy
    from crawler.page import page

    class TheSpider(scrapy.Spider):
        name = "the_spider"

        async def start(self):
            yield scrapy.Request(self.site + "/", callback=self.section)

        def section(self, response):
            for number in range(12):
                callback = self.article if number % 2 else self.story
                yield scrapy.Request(response.urljoin(f"/{number}"), callback=callback)

        def article(self, response):
            yield page(response)

        def story(self, response):
            yield page(response)
"""
STOPPED = {"CLOSESPIDER_PAGECOUNT": 3, "CONCURRENT_REQUESTS_PER_DOMAIN": 1, "CONCURRENT_REQUESTS": 1}
FAR = [timedelta(days=-3650), timedelta(days=3650)]


@pytest.fixture
def site(serve, answer, page):
    address, requests = serve({path: answer(page) for path in ["/", *(f"/{number}" for number in range(12))]})
    return address, lambda: sorted(path for path, _ in requests if path != "/robots.txt")


@pytest.fixture
def stopped(run, site, each_database):
    """The database of a crawl that stopped after a few responses, how to go on with it, and what was asked for."""
    address, requested_paths = site
    limits = {"DATABASE_URL": each_database.url, "FRONTIER_LEASE_SECONDS": 60}
    run(SPIDER, {"site": address}, **limits, **STOPPED)
    assert each_database.states()["queued"] >= 5
    return each_database, lambda source=None: run(source, {"site": address}, **limits), requested_paths


@pytest.mark.parametrize("distance", FAR, ids=["past", "future"])
def test_times_from_a_wrong_clock_delay_no_request(stopped, distance):
    database, go_on, requested_paths = stopped
    then = datetime.now(UTC) + distance
    queued = request.c.state == "queued"
    leased = {"state": "leased", "lease_id": "of-another", "lease_until": then}
    database.write(update(request).where(queued, request.c.id % 2 == 0).values(leased))
    database.write(host.delete())
    database.write(insert(host).values(host="127.0.0.1", next_at=then, paused_until=then, delay=0.0, refusals=3))
    finished = go_on()
    assert finished.code == 0, finished.log
    assert database.states() == {"done": 13}
    assert requested_paths() == sorted({*requested_paths()})


def test_a_missing_callback_fails_only_its_own_requests(stopped):
    database, go_on, requested_paths = stopped
    before = {path: end for path, end in database.requests().items() if end[0] == "done"}
    finished = go_on(SPIDER.replace("self.story", "self.article").replace("def story", "def tale"))
    assert finished.code == 0, finished.log
    lost = {f"/{number}" for number in range(0, 12, 2)} - before.keys()
    assert lost
    ends = database.requests()
    assert {path for path, end in ends.items() if end == ("failed", "callback_missing", 0)} == lost
    assert {path for path, end in ends.items() if end == ("done", "page", 0)} == ends.keys() - lost - {"/"}
    assert database.totals()["frontier/callback_missing"] == len(lost)
    assert "the_spider.story, which no longer exists" in finished.log
    assert not lost & set(requested_paths())
    errors = {row["error"] for row in database.rows("SELECT error FROM request WHERE state = 'failed'")}
    assert all("no longer exists" in error for error in errors)


def test_unreadable_rows_fail_only_themselves(stopped):
    database, go_on, _ = stopped
    queued = [row["id"] for row in database.rows("SELECT id FROM request WHERE state = 'queued' ORDER BY id")]
    broken = {"url": "no address"}, {"cb_kwargs": [1, 2]}, {"cb_kwargs": {"unknown": 1}}
    for request_id, values in zip(queued, broken, strict=False):
        database.write(update(request).where(request.c.id == request_id).values(values))
    finished = go_on()
    assert finished.code == 0, finished.log
    outcomes = {row["id"]: row["outcome"] for row in database.rows("SELECT id, outcome FROM request")}
    assert [outcomes[request_id] for request_id in queued[:3]] == ["unreadable", "unreadable", "callback_failed"]
    assert {outcomes[request_id] for request_id in queued[3:]} == {"page"}
    assert database.totals()["frontier/unreadable"] == 2
    assert "was lost" not in finished.log


def test_requests_that_only_an_index_has_end_the_crawl(run, site, database, tmp_path):
    address, _ = site
    run(SPIDER, {"site": address}, **STOPPED)
    file = tmp_path / "blocks.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file.write_bytes(re.sub(rb"(?<!')queued(?!')", b"queueD", file.read_bytes()))  # in rows, not in the schema
    ended = run(None, {"site": address})
    assert ended.code == 1, ended.log
    assert "blocks.db is damaged; restore a copy" in ended.log.splitlines()[-1]


# On SQLite, a crawl knows at once that it is the only process.
@pytest.mark.parametrize("each_database", ["postgresql"], indirect=True)
def test_a_crawl_that_waits_for_the_leases_of_another_process_says_so(
    start, run, ended, wait_until, site, each_database
):
    database = each_database
    address, _ = site
    limits = {"DATABASE_URL": database.url, "FRONTIER_LEASE_SECONDS": 900}
    run(SPIDER, {"site": address}, **limits, **STOPPED)
    now = datetime.now(UTC)
    leased = {"state": "leased", "lease_id": "of-another", "lease_until": now + timedelta(seconds=890)}
    database.write(update(request).where(request.c.state == "queued").values(leased))
    database.write(update(crawl).values(state="open", finished=None))  # as a process that was killed leaves it
    process = start(None, {"site": address}, **limits)
    wait_until(lambda: "Waiting for " in process.log.read_text("utf-8"), process)
    database.write(update(request).where(request.c.state == "leased").values(lease_until=now - timedelta(seconds=1)))
    finished = ended(process)
    assert finished.code == 0
    (line,) = [line for line in finished.log.splitlines() if "Waiting for " in line]
    assert re.search(r"Waiting for \d+ requests that other processes lease; .* FRONTIER_LEASE_SECONDS=900$", line)

"""Paused hosts are not asked, by this crawl and the next one, and other hosts do not wait for them."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from changing_site import HOST_FILES
from sqlalchemy import update

from crawler.storage.tables import host

QUOTA = "<html><body><p>An excessive amount of requests came from here.</p></body></html>"
SPIDER = """
    import scrapy
    from crawler.page import page

    class TheSpider(scrapy.Spider):
        name = "the_spider"

        async def start(self):
            for number in range(2):
                yield scrapy.Request(f"http://127.0.0.1:{self.port}/refused-{number}", priority=10 - number)
            for number in range(3):
                yield scrapy.Request(f"http://127.0.0.1:{self.port}/later-{number}")
                yield scrapy.Request(f"http://localhost:{self.port}/other-{number}")

        def parse(self, response):
            yield page(response)
"""
ONE_BY_ONE = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1}


class Refusing(dict):
    """Answers of a host that refuses two pages the first few `times`; `asked` has what it was asked for, and when."""

    def __init__(self, answers, answer, times):
        super().__init__(answers)
        self.refusal, self.times, self.asked = answer(QUOTA), times, []
        self.later_seconds = 0

    def get(self, key, default=None):
        self.asked.append((key, time.monotonic()))
        if key.startswith("/refused") and self.paths().count(key) <= self.times:
            return self.refusal
        if key.startswith("/later"):
            time.sleep(self.later_seconds)
        return super().get(key, default)

    def paths(self):
        return [path for path, _ in self.asked if path not in HOST_FILES]

    def when(self, path):
        return [time for requested_path, time in self.asked if requested_path == path]


@pytest.fixture
def site(serve, answer, page):
    def start(times):
        paths = [f"/{kind}-{number}" for number in range(3) for kind in ("refused", "later", "other")]
        answers = Refusing({path: answer(page) for path in paths}, answer, times)
        address, _ = serve(answers)
        return address.rpartition(":")[2], answers

    return start


def test_a_paused_host_is_asked_after_its_pause_and_others_meanwhile(run, site, database):
    port, answers = site(times=1)
    answers.later_seconds = 1  # so the refusal is stored before a second one is asked for
    crawled = run(SPIDER, {"port": port}, HOST_PAUSE_SECONDS=4, **ONE_BY_ONE)
    assert crawled.code == 0, crawled.log
    first, again = answers.when("/refused-0")
    second, last = answers.when("/refused-1")
    assert first < second <= min(again, last) - 3.9  # the second was on its way for a moment
    assert all(answers.when(f"/other-{number}")[0] < again for number in range(3))
    late = [answers.when(f"/later-{number}")[0] - second for number in range(3)]
    assert sum(seconds < 4 for seconds in late) <= 2, late  # on their way before the refusal was stored
    assert database.requests()["/refused-0"] == database.requests()["/refused-1"] == ("done", "page", 1)
    assert "127.0.0.1 is paused for 4 seconds: quota (2 of its last 2 answers, at 2 pages)" in crawled.log
    assert database.rows("SELECT host, reason, refusals FROM host WHERE reason IS NOT NULL") == [
        {"host": "127.0.0.1", "reason": "quota", "refusals": 0}
    ]
    assert database.crawls()[0]["state"] == "finished"


def test_a_crawl_with_only_paused_hosts_ends_and_is_continued_later(run, site, database):
    port, answers = site(times=1)
    limits = {"HOST_PAUSE_SECONDS": 7200, "FRONTIER_WAIT_SECONDS": 1} | ONE_BY_ONE
    deferred = run(SPIDER, {"port": port}, **limits)
    assert deferred.code == 0, deferred.log
    assert "Spider closed (deferred)" in deferred.log
    assert [(crawl["state"], crawl["reason"]) for crawl in database.crawls()] == [("open", "deferred")]
    assert {f"/other-{number}" for number in range(3)} <= set(answers.paths())
    assert database.requests()["/refused-0"] == database.requests()["/refused-1"] == ("queued", "quota", 1)

    count = len(answers.paths())
    too_soon = run(None, {"port": port}, **limits)
    assert "Spider closed (deferred)" in too_soon.log
    assert len(answers.paths()) == count

    database.write(update(host).values(paused_until=datetime.now(UTC) - timedelta(seconds=1)))
    rest = run(None, {"port": port}, **limits)
    assert rest.code == 0, rest.log
    assert [(crawl["state"], crawl["reason"]) for crawl in database.crawls()] == [("finished", "finished")]
    assert set(database.states()) == {"done"}
    assert sorted(answers.paths()) == sorted([*(path for path in database.requests()), "/refused-0", "/refused-1"])


def test_another_crawl_respects_the_pause_of_a_host(run, site, database):
    port, answers = site(times=1)
    limits = {"HOST_PAUSE_SECONDS": 600, "FRONTIER_WAIT_SECONDS": 0} | ONE_BY_ONE
    run(SPIDER, {"port": port}, **limits)
    paths = answers.paths()
    other = run(None, {"port": port, "another": "crawl"}, **limits)
    assert "Spider closed (deferred)" in other.log
    assert sorted(answers.paths()[len(paths) :]) == ["/other-0", "/other-1", "/other-2"], other.log
    assert len(database.crawls()) == 2


def test_pauses_double_until_the_requests_of_the_host_fail(run, site, database):
    port, answers = site(times=9)
    crawled = run(SPIDER, {"port": port}, HOST_PAUSE_SECONDS=1, FRONTIER_MAX_ATTEMPTS=3, **ONE_BY_ONE)
    assert crawled.code == 0, crawled.log
    times = answers.when("/refused-0")
    assert len(times) == 3
    # A page in between would have ended the row of refusals: the first has the greatest priority.
    assert times[2] - times[1] >= 1.5  # after 2 seconds, less what a busy server needs to note a request
    assert database.requests()["/refused-0"] == database.requests()["/refused-1"] == ("failed", "quota", 2)
    assert database.crawls()[0]["state"] == "finished"


WIDGET = '<html><body><h1>Join</h1><p>Sign up here.</p><div class="g-recaptcha"></div></body></html>'


def test_one_page_with_a_challenge_neither_pauses_nor_slows_its_host(run, site, database, answer):
    port, answers = site(times=0)
    answers["/refused-0"] = answer(WIDGET)
    answers["/refused-1"] = answer("for members", 403)
    crawled = run(SPIDER, {"port": port}, HOST_PAUSE_SECONDS=3600, FRONTIER_WAIT_SECONDS=0)
    assert crawled.code == 0, crawled.log
    assert database.requests()["/refused-0"] == ("failed", "captcha", 0)
    assert len(answers.when("/refused-0")) == 1
    assert database.rows("SELECT * FROM host WHERE paused_until IS NOT NULL") == []
    assert database.crawls()[0]["state"] == "finished"

"""Hosts that answer 429 or 503, or whose robots.txt fails: they are paused at once, and their pages asked for again."""

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from changing_site import HOST_FILES

ROOT = Path(__file__).parents[3]
SPIDER = """
    import scrapy
    from crawler.page import page

    class TheSpider(scrapy.Spider):
        name = "the_spider"

        async def start(self):
            for number in range(int(self.pages)):
                yield scrapy.Request(f"{self.site}/{number}")

        def parse(self, response):
            yield page(response)
"""
ONE_BY_ONE = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1}


class Busy(dict):
    """Answers and refusals: `refuse` returns a refusal for a path and the number of pages so far, or None."""

    def __init__(self, answers, refuse):
        super().__init__(answers)
        self.refuse = refuse
        self.times = []

    def get(self, key, default=None):
        if key not in HOST_FILES:
            self.times.append((key, time.monotonic()))
        refusal = self.refuse(key, len(self.times)) if key[1:].isdecimal() else None
        return refusal or super().get(key, default)

    def paths(self):
        return [path for path, _ in self.times]


@pytest.fixture
def site(serve, answer, page):
    def start(pages, refuse):
        answers = Busy({f"/{number}": answer(page) for number in range(pages)}, refuse)
        address, _ = serve(answers)
        return {"site": address, "pages": str(pages)}, answers

    return start


@pytest.mark.parametrize(("status", "after"), [(429, "5"), (503, "5"), (429, None), (503, None)])
def test_a_host_is_paused_at_its_first_refusal(run, site, answer, database, status, after):
    headers = {"Content-Type": "text/html"} | ({"Retry-After": after} if after else {})
    busy = answer("later", status, headers)
    arguments, answers = site(8, lambda _path, number: busy if number == 3 else None)
    crawled = run(SPIDER, arguments, HOST_PAUSE_SECONDS=5, **ONE_BY_ONE)
    assert crawled.code == 0, crawled.log
    refused, moment = answers.times[2]
    assert answers.times[3][1] - moment >= 4.9
    assert Counter(answers.paths()) == Counter({f"/{number}": 1 + (f"/{number}" == refused) for number in range(8)})
    assert database.requests()[refused] == ("done", "page", 1)
    assert database.states() == {"done": 8}
    refusal = f"HTTP status {status}, Retry-After: 5" if after else f"HTTP status {status}"
    assert f"127.0.0.1 is paused for 5 seconds: refused ({refusal})" in crawled.log
    assert database.totals()["visit/refused"] == 1


def test_a_host_that_refuses_everything_is_given_up_and_known_to_retry(run, site, answer, database, tmp_path):
    refusing = [True]
    busy = answer("later", 429)
    arguments, answers = site(30, lambda _path, _number: busy if refusing[0] else None)
    settings = {"HOST_PAUSE_SECONDS": 0.5, "MAX_REFUSALS_IN_A_ROW": 10} | ONE_BY_ONE
    crawled = run(SPIDER, arguments, **settings)
    assert crawled.code == 1
    assert "Spider closed (finished)" in crawled.log
    assert "127.0.0.1 has refused after 3 pauses in a row, more than FRONTIER_MAX_ATTEMPTS=3" in crawled.log
    assert database.states() == {"failed": 30}
    assert {outcome for _, outcome, _ in database.requests().values()} == {"refused"}
    assert len(answers.paths()) <= 10
    assert "visits were refused, more than MAX_REFUSED_SHARE=0.5" in crawled.log
    assert database.totals()["visit/refused"] == len(answers.paths())
    assert 30 >= database.totals()["frontier/refused"] >= 30 - len(set(answers.paths()))

    refusing[0] = False
    command = [sys.executable, "-m", "scrapy", "retry", "--failed", "-s", f"DATABASE_URL={database.url}"]
    retried = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "30 requests are queued again (refused 30)" in retried.stdout
    database.write("UPDATE host SET paused_until = NULL, refusals = 0")
    assert run(None, arguments, **settings).code == 0
    assert database.states() == {"done": 30}


def test_a_retry_after_beyond_the_longest_pause_ends_the_crawl(run, site, answer, database):
    busy = answer("later", 503, {"Retry-After": "86400"})
    arguments, answers = site(20, lambda _path, number: busy if number > 2 else None)
    crawled = run(SPIDER, arguments, **ONE_BY_ONE)
    assert crawled.code == 1
    assert "Spider closed (finished)" in crawled.log
    reason = "asks for a pause of 86400 seconds (Retry-After), more than HOST_PAUSE_MAX_SECONDS=21600"
    assert f"127.0.0.1 {reason}: its other requests are not made and count as refused" in crawled.log
    assert len(answers.paths()) == 3
    assert database.states() == {"done": 2, "failed": 18}
    errors = [row["error"] for row in database.rows("SELECT error FROM request WHERE state = 'failed'")]
    assert sum(error.startswith("not requested: 127.0.0.1 ") for error in errors) == 17
    assert errors.count("HTTP status 503") == 1
    assert database.totals()["frontier/refused"] == 17


def test_a_page_that_always_answers_503_fails_alone(run, site, answer, database):
    busy = answer("broken", 503)
    arguments, answers = site(6, lambda path, _number: busy if path == "/2" else None)
    crawled = run(SPIDER, arguments, HOST_PAUSE_SECONDS=1, **ONE_BY_ONE)
    assert crawled.code == 0, crawled.log
    # Once, unless a busy machine takes so long that no other page is served between two of its answers.
    assert 1 <= crawled.log.count("127.0.0.1 is paused") <= 3
    assert database.requests()["/2"] == ("failed", "refused", 2)
    assert database.states() == {"done": 5, "failed": 1}
    assert Counter(answers.paths())["/2"] == 3


class Robots(dict):
    """Answers of a site whose robots.txt fails the first few times."""

    def __init__(self, answers, failure, times):
        super().__init__(answers)
        self.failure, self.times, self.asked = failure, times, []

    def get(self, key, default=None):
        self.asked.append(key)
        if key == "/robots.txt" and self.asked.count(key) <= self.times:
            return self.failure
        return super().get(key, default)


def test_pages_wait_for_a_robots_txt_that_answers_again(run, serve, answer, page, database):
    answers = Robots({f"/{number}": answer(page) for number in range(3)}, answer("broken", 503), 1)
    crawled = run(SPIDER, {"site": serve(answers)[0], "pages": "3"}, HOST_PAUSE_SECONDS=2)
    assert crawled.code == 0, crawled.log
    assert sorted(path for path in answers.asked if path not in HOST_FILES) == ["/0", "/1", "/2"]
    assert answers.asked.count("/robots.txt") == 2
    assert answers.asked.index("/0") > 1
    assert database.states() == {"done": 3}
    assert "127.0.0.1 is paused for 2 seconds: robots_unavailable (the robots.txt of 127.0.0.1:" in crawled.log


def test_a_robots_txt_that_always_fails_ends_as_a_failure_known_to_retry(run, serve, answer, page, database):
    answers = Robots({f"/{number}": answer(page) for number in range(12)}, answer("no", 500), 99)
    crawled = run(SPIDER, {"site": serve(answers)[0], "pages": "12"}, HOST_PAUSE_SECONDS=0.5, **ONE_BY_ONE)
    assert crawled.code == 1
    assert set(answers.asked) <= {"/robots.txt", "/.well-known/tdmrep.json"}
    assert database.states() == {"failed": 12}
    assert {outcome for _, outcome, _ in database.requests().values()} == {"robots_unavailable"}
    assert "answers with HTTP status 500, which forbids all pages of the host (RFC 9309)" in crawled.log
    assert "no page was stored (robots_unavailable" in crawled.log
    assert "Spider closed (finished)" in crawled.log


def test_a_host_whose_robots_txt_cannot_be_reached_is_asked_for_no_page(run, database):
    crawled = run(SPIDER, {"site": "http://127.0.0.1:1", "pages": "3"}, HOST_PAUSE_SECONDS=60)
    assert crawled.code == 1
    assert set(database.requests().values()) == {("failed", "download_failed", 0)}
    errors = [row["error"] for row in database.rows("SELECT error FROM request")]
    assert all(error.startswith("the robots.txt of 127.0.0.1:1 cannot be reached") for error in errors)
    assert crawled.log.count("(RFC 9309)") == 1

"""Processes that are killed at their work give no request up that was not sent, and say what they give up."""

import threading
from collections import Counter

import pytest

ARTICLES = [f"/{number}" for number in range(60)]
SPIDER = """
    import os
    import signal

    import scrapy

    from crawler.page import page


    class TheSpider(scrapy.Spider):
        name = "the_spider"

        async def start(self):
            for number in range(int(self.count)):
                yield scrapy.Request(f"{self.site}/{number}")

        def parse(self, response):
            if response.url.endswith(self.deadly):
                os.kill(os.getpid(), signal.SIGKILL)
            yield page(response)
"""
IMPATIENT = {"FRONTIER_LEASE_SECONDS": 1, "CONCURRENT_REQUESTS": 8, "STORE_BATCH_SECONDS": 1}


class Held(dict):
    """Answers that wait until they are let go."""

    def __init__(self, answers):
        super().__init__(answers)
        self.go_on = threading.Event()

    def get(self, key, default=None):
        if key in ARTICLES:
            self.go_on.wait(600)
        return super().get(key, default)


@pytest.fixture
def held(answer, page):
    """The articles; none is answered until `go_on` is set."""
    answers = Held(dict.fromkeys(ARTICLES, answer(page)))
    yield answers
    answers.go_on.set()


@pytest.mark.parametrize("processes", [1, 2])
def test_killed_crawls_give_nothing_up(serve, held, start, ended, wait_until, each_database, processes):  # noqa: PLR0913, PLR0917 — fixtures
    address, requests = serve(held)

    def crawl():
        arguments = {"site": address, "count": len(ARTICLES), "deadly": "none"}
        return start(SPIDER, arguments, DATABASE_URL=each_database.url, **IMPATIENT)

    def asked():
        return Counter(path for path, _ in requests if path in ARTICLES)

    for _ in range(6):
        crawls = [crawl() for _ in range(processes)]
        before = asked().total()
        wait_until(lambda before=before: asked().total() >= before + 8 * processes, crawls[0])
        for process in crawls:
            process.kill()
            process.wait()
    # Those that were only fetched ahead have no attempt.
    assert all(attempts <= asked()[path] for path, (_, _, attempts) in each_database.requests().items())
    held.go_on.set()
    last = ended(crawl())
    assert last.code == 0, last.log
    assert each_database.pages() == sorted(ARTICLES)
    assert set(each_database.requests().values()) <= {("done", "page", attempts) for attempts in range(3)}


def test_a_page_that_kills_its_process_is_given_up_alone(start, ended, serve, answer, page, each_database):
    address, requests = serve(dict.fromkeys(ARTICLES, answer(page)))
    arguments = {"site": address, "count": 12, "deadly": "/5"}
    codes = []
    while len(codes) < 8 and codes[-1:] != [1]:
        last = ended(start(SPIDER, arguments, DATABASE_URL=each_database.url, **IMPATIENT))
        codes.append(last.code)
    assert codes == [-9, -9, -9, -9, 1]
    assert "1 request was given up, " in last.log.splitlines()[-1]
    assert f"{address}/5 for one" in last.log.splitlines()[-1]
    assert each_database.requests()["/5"] == ("failed", "lease_expired", 3)
    assert each_database.pages() == sorted(path for path in ARTICLES[:12] if path != "/5")
    assert Counter(path for path, _ in requests)["/5"] == 4

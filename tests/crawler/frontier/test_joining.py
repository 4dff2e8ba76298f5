"""Which runs of a spider are one crawl."""

import json

import pytest

SPIDER = """
    import scrapy
    from crawler.page import page

    class TheSpider(scrapy.Spider):
        name = "the_spider"

        async def start(self):
            yield scrapy.Request(self.site + "/", callback=self.section, dont_filter=True)

        def section(self, response):
            for number in range(30):
                yield scrapy.Request(response.urljoin(f"/{number}"))

        def parse(self, response):
            yield page(response)
"""
STOPPED = {"CLOSESPIDER_PAGECOUNT": 4, "CONCURRENT_REQUESTS_PER_DOMAIN": 1, "CONCURRENT_REQUESTS": 1}
PATHS = sorted(f"/{number}" for number in range(30))


@pytest.fixture
def site(serve, answer, page):
    address, requests = serve({path: answer(page) for path in ["/", *PATHS]})
    return address, lambda: [path for path, _ in requests if path != "/robots.txt"]


def test_the_same_command_continues_an_open_crawl(run, site, database):
    address, requested_paths = site
    stopped = run(SPIDER, {"site": address}, **STOPPED)
    assert stopped.code == 0, stopped.log
    assert [crawl["state"] for crawl in database.crawls()] == ["open"]
    assert 1 < len(requested_paths()) < 20
    assert set(database.states()) == {"done", "queued"}

    rest = run(None, {"site": address})
    assert rest.code == 0, rest.log
    assert "Continuing the unfinished crawl 1" in rest.log
    assert [(crawl["id"], crawl["state"]) for crawl in database.crawls()] == [(1, "finished")]
    assert sorted(requested_paths()) == ["/", *PATHS]
    assert database.pages() == PATHS
    totals = database.totals()
    assert (totals["visit/page"], totals["visit/section"], totals["store/pages_new"]) == (30, 1, 30)


def test_other_arguments_start_another_crawl(run, site, database):
    address, requested_paths = site
    run(SPIDER, {"site": address}, **STOPPED)
    before = len(requested_paths())
    other = run(None, {"site": address, "more": "yes"})
    assert other.code == 0, other.log
    assert len(requested_paths()) == before + 31
    crawls = [(json.loads(crawl["arguments"]).get("more"), crawl["state"]) for crawl in database.crawls()]
    assert crawls == [(None, "open"), ("yes", "finished")]


def test_after_a_finished_crawl_a_new_one_starts(run, site, database):
    address, requested_paths = site
    for generation in (1, 2):
        assert run(SPIDER, {"site": address}).code == 0
        assert len(requested_paths()) == generation * 31
    assert [crawl["state"] for crawl in database.crawls()] == ["finished", "finished"]
    assert {row["crawl_id"] for row in database.rows("SELECT crawl_id FROM request")} == {2}


def test_fresh_starts_a_new_crawl_beside_an_open_one(run, site, database):
    address, requested_paths = site
    run(SPIDER, {"site": address}, **STOPPED)
    before = len(requested_paths())
    assert run(None, {"site": address, "fresh": "1"}).code == 0
    assert len(requested_paths()) == before + 31
    assert [(crawl["state"], crawl["reason"]) for crawl in database.crawls()] == [
        ("finished", "replaced"),
        ("finished", "finished"),
    ]
    assert [json.loads(crawl["arguments"]) for crawl in database.crawls()] == [{"site": address}] * 2
    assert {row["crawl_id"] for row in database.rows("SELECT crawl_id FROM request")} == {2}

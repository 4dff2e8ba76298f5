"""Requests that cannot be stored are named, and secrets are not stored."""

import pytest

SPIDER = """
    import scrapy
    from crawler.page import page

    class TheSpider(scrapy.Spider):
        name = "the_spider"

        async def start(self):
            for path in ("/lambda", "/object", "/fine"):
                yield scrapy.Request(self.site + path, cb_kwargs={"path": path})

        def parse(self, response, path):
            if path == "/lambda":
                yield scrapy.Request(response.urljoin("/child"), callback=lambda response: None)
            if path == "/object":
                yield scrapy.Request(response.urljoin("/child"), meta={"culprit": object()})
            yield page(response)
"""
BAD_START = """
    import scrapy

    class TheSpider(scrapy.Spider):
        name = "the_spider"

        async def start(self):
            yield scrapy.Request(self.site + "/fine", callback=lambda response: None)
"""
SECRETS = """
    import scrapy
    from crawler.page import page

    class TheSpider(scrapy.Spider):
        name = "the_spider"

        async def start(self):
            yield self.with_secrets("/start")

        def with_secrets(self, path):
            return scrapy.Request(
                self.site.replace("://", "://user:hush1@") + path,
                headers={"Authorization": "Bearer hush2", "Cookie": "id=hush3", "Proxy-Authorization": "Basic hush4"},
                cookies={"id": "hush5"},
                cb_kwargs={"path": path},
            )

        def parse(self, response, path):
            yield page(response)
            if path == "/start":
                yield self.with_secrets("/child")
"""


@pytest.fixture
def site(serve, answer, page):
    address, _ = serve({f"/{path}": answer(page) for path in ("lambda", "object", "fine", "start", "child")})
    return address


def test_a_child_that_cannot_be_stored_fails_its_callback_only(run, site, database):
    crawled = run(SPIDER, {"site": site}, FRONTIER_MAX_ATTEMPTS=1)
    assert crawled.code == 0, crawled.log
    assert database.requests() == {
        "/lambda": ("failed", "callback_failed", 0),
        "/object": ("failed", "callback_failed", 0),
        "/fine": ("done", "page", 0),
    }
    errors = {row["url"].rpartition("/")[2]: row["error"] for row in database.rows("SELECT url, error FROM request")}
    assert "/child has the callback <function" in errors["lambda"]
    assert "which is not a method of the spider 'the_spider'" in errors["lambda"]
    assert "/child has a value in its meta that JSON cannot store (culprit)" in errors["object"]
    assert database.crawls()[0]["state"] == "finished"


def test_a_start_request_that_cannot_be_stored_ends_the_crawl_with_its_name(run, site):
    crawled = run(BAD_START, {"site": site})
    assert crawled.code == 1
    assert "/fine has the callback <function" in crawled.log


def test_secrets_are_nowhere_in_the_database(run, site, database, tmp_path):
    crawled = run(SECRETS, {"site": site}, COOKIES_ENABLED=1, LOG_LEVEL="INFO")
    assert crawled.code == 0, crawled.log
    assert database.requests() == {"/start": ("done", "page", 0), "/child": ("done", "page", 0)}
    for file in tmp_path.glob("blocks.db*"):
        assert b"hush" not in file.read_bytes()
    assert "The frontier stores no secrets" in crawled.log
    assert "hush" not in crawled.log

"""Every request ends with an outcome in its row, and the crawl ends by itself."""

from collections import Counter

import pytest

SPIDER = """
    from dataclasses import replace

    import scrapy
    from scrapy.downloadermiddlewares.retry import get_retry_request
    from scrapy.exceptions import CloseSpider, DropItem

    from crawler.page import page
    from crawler.visit import Visit


    class Drop:
        takes_visits = True

        def process_item(self, item):
            if isinstance(item, Visit) and "dropped" in item.url:
                raise DropItem("not wanted")
            if isinstance(item, Visit) and "breaks" in item.url:
                raise RuntimeError("a pipeline fails")
            return item


    class TheSpider(scrapy.Spider):
        name = "the_spider"
        allowed_domains = ["127.0.0.1", "unknown.invalid"]
        custom_settings = {"ITEM_PIPELINES": {Drop: -150}}

        async def start(self):
            for path in self.paths.split():
                callback = getattr(self, path[1:].replace("-", "_"), self.parse)
                yield scrapy.Request(self.site + path, callback=callback)
            yield scrapy.Request(self.site + "/unchanged", headers={"If-None-Match": '"tag"'})
            yield scrapy.Request("http://127.0.0.1:1/refused")
            yield scrapy.Request("http://unknown.invalid/unknown-host")
            yield scrapy.Request("http://127.0.0.1:1/rescued", errback=self.rescue)
            yield scrapy.Request("http://127.0.0.1:1/rescue-fails", errback=self.fail)
            yield scrapy.Request(self.site + "/missing-rescued", errback=self.rescue)
            yield scrapy.Request(self.site + "/missing-rescue-fails", errback=self.fail)

        def parse(self, response):
            yield page(response)

        def section(self, response):
            yield scrapy.Request(response.urljoin("/child"))
            yield scrapy.Request("http://offsite.invalid/offsite")

        def nothing(self, response):
            pass

        def fails_at_once(self, response):
            raise ValueError("at once")

        def fails_later(self, response):
            yield page(response)
            yield scrapy.Request(response.urljoin("/child-of-failure"))
            yield scrapy.Request(response.urljoin("/child-of-failure?unfiltered"), dont_filter=True)
            raise ValueError("later")

        def copies_meta(self, response):
            for number in range(2):
                yield scrapy.Request(response.urljoin(f"/copied-meta?{number}"), meta=response.meta)

        def copies_itself(self, response):
            if response.meta.get("again"):
                yield page(response)
            else:
                yield response.request.replace(dont_filter=True, meta={"again": True})

        def tries_itself_again(self, response):
            again = get_retry_request(response.request, spider=self, reason="not ready", max_retry_times=1)
            yield again or page(response)

        def several_pages(self, response):
            for number in range(12):
                yield replace(page(response), url=response.urljoin(f"/several-pages?{number}"))
            yield scrapy.Request(response.urljoin("/child-of-several"))

        def one_of_two_dropped(self, response):
            yield replace(page(response), url=response.urljoin("/one-is-dropped"))
            yield replace(page(response), url=response.urljoin("/other-is-kept"))
            yield scrapy.Request(response.urljoin("/child-of-half"))

        def dropped(self, response):
            yield page(response)
            yield scrapy.Request(response.urljoin("/child-of-drop"))

        def rescue(self, failure):
            yield scrapy.Request(self.site + "/rescue-of" + failure.request.url.rpartition("/")[2])

        def fail(self, failure):
            raise RuntimeError("the errback fails")

        def closes(self, response):
            yield scrapy.Request(response.urljoin("/child"))
            raise CloseSpider("enough")
"""

STARTS = (
    "/page /section /nothing /fails-at-once /fails-later /absent /broken /moved /moved-to-known "
    "/circle-a /circle-of-itself /private /copies-meta /copies-itself /tries-itself-again /several-pages "
    "/one-of-two-dropped /dropped /breaks"
)
PAGES = (
    "/page /section /nothing /fails-at-once /fails-later /child /child-of-failure /child-of-failure?unfiltered /target "
    "/copies-meta /copied-meta?0 /copied-meta?1 /copies-itself /tries-itself-again /several-pages /child-of-several "
    "/one-of-two-dropped /child-of-half /dropped /child-of-drop /breaks /rescue-ofrescued /rescue-ofmissing-rescued"
)
ENDS = {
    "/page": ("done", "page", 0),
    "/section": ("done", "section", 0),
    "/child": ("done", "page", 0),
    "/nothing": ("done", "section", 0),
    "/fails-at-once": ("failed", "callback_failed", 1),
    "/fails-later": ("failed", "callback_failed", 1),
    "/child-of-failure": ("done", "page", 0),
    "/child-of-failure?unfiltered": ("done", "page", 0),
    "/absent": ("done", "not_found", 0),
    "/broken": ("failed", "http_error", 0),
    "/unchanged": ("done", "not_modified", 0),
    "/moved": ("done", "redirected", 0),
    "/target": ("done", "page", 0),
    "/moved-to-known": ("done", "redirected", 0),
    "/circle-of-itself": ("failed", "redirect_loop", 0),
    "/private": ("done", "robots", 0),
    "/refused": ("failed", "download_failed", 0),
    "/unknown-host": ("failed", "download_failed", 0),
    "/rescued": ("failed", "download_failed", 0),
    "/rescue-ofrescued": ("done", "page", 0),
    "/rescue-fails": ("failed", "download_failed", 0),
    "/missing-rescued": ("done", "not_found", 0),
    "/rescue-ofmissing-rescued": ("done", "page", 0),
    "/missing-rescue-fails": ("failed", "callback_failed", 1),
    "/copies-meta": ("done", "section", 0),
    "/copied-meta?0": ("done", "page", 0),
    "/copied-meta?1": ("done", "page", 0),
    "/copies-itself": ("done", "page", 0),
    "/tries-itself-again": ("done", "page", 0),
    "/several-pages": ("done", "page", 0),
    "/child-of-several": ("done", "page", 0),
    "/one-of-two-dropped": ("done", "page", 0),
    "/child-of-half": ("done", "page", 0),
    "/dropped": ("done", "dropped", 0),
    "/child-of-drop": ("done", "page", 0),
    "/breaks": ("failed", "pipeline_failed", 0),
}


@pytest.fixture
def site(answer, page):
    moved = {"/moved": "/target", "/moved-to-known": "/page", "/circle-a": "/circle-b", "/circle-b": "/circle-a"}
    moved |= {"/circle-of-itself": "/circle-of-itself"}
    return (
        {path: answer(page) for path in PAGES.split()}
        | {path: answer(status=302, headers={"Location": target}) for path, target in moved.items()}
        | {
            "/robots.txt": answer("User-agent: *\nDisallow: /private", headers={"Content-Type": "text/plain"}),
            "/broken": answer("no", 500),
            "/unchanged": answer(status=304),
            "/closes": answer(page),
        }
    )


def test_every_end_is_acknowledged_and_the_crawl_ends_by_itself(run, serve, site, database):
    address, requests = serve(site)
    crawled = run(SPIDER, {"site": address, "paths": STARTS}, FRONTIER_MAX_ATTEMPTS=2)

    assert crawled.code == 0, crawled.log
    assert database.crawls()[0]["state"] == "finished"
    ends = database.requests()
    # Both are start requests: the second one that answers closes the circle.
    assert {ends.pop("/circle-a"), ends.pop("/circle-b")} == {("done", "redirected", 0), ("failed", "redirect_loop", 0)}
    assert ends == ENDS
    assert {row["lease_id"] for row in database.rows("SELECT lease_id FROM request")} == {None}
    times = Counter(path for path, _ in requests)
    assert max(times.pop("/circle-a"), times.pop("/circle-b")) <= 3
    assert {path: count for path, count in times.items() if count > 1} == {
        "/fails-at-once": 2,
        "/fails-later": 2,
        "/missing-rescue-fails": 2,
        "/copies-itself": 2,
        "/tries-itself-again": 2,
        "/circle-of-itself": 2,
    }
    assert "/private" not in times
    several = [f"/several-pages?{number}" for number in range(12)]
    kept = {path for path, (_, outcome, _) in ENDS.items() if outcome == "page"}
    kept -= {"/several-pages", "/one-of-two-dropped"}
    assert database.pages() == sorted({*several, *kept, "/fails-later", "/other-is-kept"})
    assert "was lost" not in crawled.log
    assert "frontier/unacknowledged" not in database.totals()


def test_a_crawl_closed_by_a_callback_stays_open_and_can_be_continued(run, serve, site, database):
    address, requests = serve(site)
    arguments = {"site": address, "paths": "/closes"}
    stopped = run(SPIDER, arguments)
    assert "Spider closed (enough)" in stopped.log
    assert database.crawls()[0]["state"] == "open"
    assert database.requests()["/closes"] == ("done", "section", 0)
    assert {state for state, _, _ in database.requests().values()} <= {"done", "failed", "queued"}

    finished = run(SPIDER, arguments)
    assert finished.code == 0, finished.log
    assert [crawl["state"] for crawl in database.crawls()] == ["finished"]
    assert database.requests()["/child"] == ("done", "page", 0)
    assert [path for path, _ in requests].count("/closes") == 1

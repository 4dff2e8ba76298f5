"""Requests that robots.txt forbids are not sent, however many arrive at once."""

import pytest

FORBIDDING = {"body": "User-agent: *\nDisallow: /private", "headers": {"Content-Type": "text/plain"}}


def test_requests_wait_for_a_robots_txt_that_is_loading(visit):
    private = {f"/private/{number}": {"body": "<p>none of your business</p>"} for number in range(6)}
    public = {f"/public/{number}": {"body": "<p>a page</p>"} for number in range(6)}
    crawled = visit({"/robots.txt": FORBIDDING} | private | public, CONCURRENT_REQUESTS_PER_DOMAIN=16)
    paths = [path for path, _ in crawled.requests]
    assert not {path for path in paths if path.startswith("/private")}
    assert {path for path in paths if path.startswith("/public")} == public.keys()
    assert crawled.stats["visit/robots"] == 6


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_robots_txt_with_a_server_error_forbids_everything(visit, status):
    answers = {"/robots.txt": {"status": status}, "/a": {"body": "<p>a page</p>"}, "/b": {"body": "<p>one</p>"}}
    crawled = visit(answers, HOST_PAUSE_SECONDS=60)
    assert crawled.stats["visit/robots_unavailable"] == 3  # with the file itself
    assert {path for path, _ in crawled.requests} == {"/robots.txt"}
    assert f"answers with HTTP status {status}, which forbids all pages of the host (RFC 9309)" in crawled.log
    assert crawled.log.count("For 60 seconds, the robots.txt of") == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_a_missing_robots_txt_allows_everything_whatever_its_body(visit, status):
    forbidding = "User-agent: *\nDisallow: /"
    crawled = visit({"/robots.txt": {"status": status, "body": forbidding}, "/a": {"body": "<p>a page</p>"}})
    assert crawled.stats["visit/page"] == 1


def test_robots_txt_is_not_requested_if_it_is_not_obeyed(visit):
    crawled = visit({"/robots.txt": FORBIDDING, "/private/1": {"body": "<p>a page</p>"}}, ROBOTSTXT_OBEY=0)
    assert crawled.outcomes()["/private/1"] == "page"


def test_a_crawl_in_memory_asks_again_after_a_refusal(crawl, serve, answer, spider, every_link):
    class Once(dict):
        refused = 0

        def get(self, key, default=None):
            if key == "/a" and self.refused < 2:
                self.refused += 1
                return answer("later", 429, {"Content-Type": "text/html", "Retry-After": "1"})
            if key == "/b":
                return answer("never", 503, {"Content-Type": "text/html", "Retry-After": "86400"})
            return super().get(key, default)

    site, requests = serve(Once({"/a": answer("<p>a page</p>")}))
    crawled = crawl(spider(every_link), {"site": site, "paths": "/a"}, {"MAX_REFUSALS_IN_A_ROW": 100})
    assert crawled.outcomes() == {"/a": "page"}
    assert crawled.stats["throttling/repeated"] == 2
    assert [path for path, _ in requests].count("/a") == 3
    crawled = crawl(spider(every_link), {"site": site, "paths": "/b"}, {"MAX_REFUSALS_IN_A_ROW": 100})
    assert crawled.stats["visit/refused"] == 1

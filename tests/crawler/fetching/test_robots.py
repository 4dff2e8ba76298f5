"""Requests that robots.txt forbids are not sent, however many arrive at once."""

FORBIDDING = {"body": "User-agent: *\nDisallow: /private", "headers": {"Content-Type": "text/plain"}}


def test_requests_wait_for_a_robots_txt_that_is_loading(visit):
    private = {f"/private/{number}": {"body": "<p>none of your business</p>"} for number in range(6)}
    public = {f"/public/{number}": {"body": "<p>a page</p>"} for number in range(6)}
    crawled = visit({"/robots.txt": FORBIDDING} | private | public, CONCURRENT_REQUESTS_PER_DOMAIN=16)
    asked = [path for path, _ in crawled.requests]
    assert not {path for path in asked if path.startswith("/private")}
    assert {path for path in asked if path.startswith("/public")} == public.keys()
    assert crawled.stats["visit/robots"] == 6


def test_a_robots_txt_that_fails_forbids_nothing(visit):
    crawled = visit({"/robots.txt": {"status": 500}, "/a": {"body": "<p>a page</p>"}, "/b": {"body": "<p>one</p>"}})
    assert crawled.stats["visit/page"] == 2


def test_robots_txt_is_not_requested_if_it_is_not_obeyed(visit):
    crawled = visit({"/robots.txt": FORBIDDING, "/private/1": {"body": "<p>a page</p>"}}, ROBOTSTXT_OBEY=0)
    assert crawled.outcomes()["/private/1"] == "page"

"""Requests that robots.txt forbids are not sent, however many arrive at once."""

import gzip
import threading
import zlib
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import brotli
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


RULES = "User-agent: *\nDisallow: /private\n"
LARGE = (RULES + "# a comment\n" * 1_000_000 + "Disallow: /public\n").encode()


@pytest.mark.parametrize("encoding", ["", "gzip", "deflate", "br"])
def test_the_first_500_kib_of_a_large_robots_txt_are_obeyed(visit, encoding):
    """It has more than DOWNLOAD_MAXSIZE=10000000 bytes, at least when it is unpacked."""
    pack = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}.get(encoding, bytes)
    headers = {"Content-Type": "text/plain"} | ({"Content-Encoding": encoding} if encoding else {})
    page = {"body": "<p>a page</p>"}
    answers = {"/robots.txt": {"body": pack(LARGE), "headers": headers}, "/private/1": page, "/public/1": page}
    crawled = visit(answers, DOWNLOAD_MAXSIZE=10_000_000)
    assert crawled.outcomes()["/public/1"] == "page"
    assert "/private/1" not in [path for path, _ in crawled.requests]


def test_a_robots_txt_that_never_ends_is_obeyed(crawl, spider, every_link):
    class Endless(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):  # the reader has left
                while self.path == "/robots.txt":
                    self.wfile.write(RULES.encode() * 100)

        def log_message(self, *_arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Endless) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        site = f"http://127.0.0.1:{server.server_port}"
        crawled = crawl(spider(every_link), {"site": site, "paths": "/private/1"}, {"DOWNLOAD_TIMEOUT": 600})
        server.shutdown()
    assert crawled.stats["visit/robots"] == 1


def test_a_robots_txt_behind_a_refused_address_forbids_everything(visit):
    moved = {"status": 302, "headers": {"Location": "http://10.0.0.1/robots.txt"}}
    crawled = visit({"/robots.txt": moved, "/a": {"body": "<p>a page</p>"}}, HOST_PAUSE_SECONDS=60)
    assert [path for path, _ in crawled.requests] == ["/robots.txt"]
    assert "cannot be reached, which forbids all pages of the host: 10.0.0.1 leads to" in crawled.log


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

"""Redirects that lead back: with cookies they end at the page, without them as a counted failure."""

import threading
from collections import Counter
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import update

from crawler.storage.tables import crawl

SPIDER = """
    import scrapy
    from crawler.page import page

    class TheSpider(scrapy.Spider):
        name = "the_spider"

        async def start(self):
            yield scrapy.Request(self.site + "/section", callback=self.section, dont_filter=True)

        def section(self, response):
            for path in self.paths.split():
                yield scrapy.Request(response.urljoin(path))

        def parse(self, response):
            yield page(response)
"""
ASKING = ("/own-1", "/own-2", "/own-3")
WALLED = ("/walled-1", "/walled-2", "/walled-3", "/walled-4")
MOVED = tuple(f"/moved-{number}" for number in range(8))
PATHS = (*ASKING, *WALLED, *MOVED, "/chain-a", "/itself", "/endless-a")
ONE_BY_ONE = {"CONCURRENT_REQUESTS": 1, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}


class Handler(BaseHTTPRequestHandler):
    """A site that sets a cookie for each page on another address, and sends the visitor back."""

    timeout = 10
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        self.server.paths.append(path)
        cookies = {name: morsel.value for name, morsel in SimpleCookie(self.headers.get("Cookie", "")).items()}
        self.respond(path, query, cookies)

    def respond(self, path, query, cookies):
        ours = {**dict.fromkeys(("/section", *ASKING)), "/chain-a": "/chain-b", "/itself": "/itself"}
        if path == "/consent":
            self.redirect(query["back"][0], f"seen{query['back'][0][1:]}=1")
        elif path in ours and f"seen{path[1:]}" not in cookies:
            target = ours[path] or f"/consent?back={path}"
            self.redirect(target, f"seen{path[1:]}=1" if path == "/itself" else None)
        elif path == "/chain-b":
            self.redirect("/chain-c")
        elif path == "/chain-c":
            self.redirect("/chain-a", "seenchain-a=1")
        elif path in WALLED and cookies.get("allowed") != path[1:]:
            self.server.last = path[1:]
            self.redirect("/wall", f"last={path[1:]}")
        elif path == "/wall":
            last = cookies.get("last", self.server.last)
            self.redirect(f"/{last}", f"allowed={last}")
        elif path.startswith("/endless"):
            self.redirect("/endless-b" if path == "/endless-a" else "/endless-a")
        elif path in MOVED:
            self.redirect("/home")
        elif path in {"/robots.txt", "/.well-known/tdmrep.json"}:
            self.send(404, b"none")
        else:
            self.send(200, self.server.page.encode())

    def redirect(self, target, cookie=None):
        self.send(302, b"elsewhere", Location=target, **({"Set-Cookie": f"{cookie}; Path=/"} if cookie else {}))

    def send(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        pass


@pytest.fixture
def site(page):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.page, server.paths = page, []
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", server.paths
    server.shutdown()
    server.server_close()


def test_with_cookies_each_page_is_stored_under_its_own_address(run, site, each_database):
    address, paths = site
    arguments = {"site": address, "paths": " ".join(PATHS)}
    crawled = run(SPIDER, arguments, COOKIES_ENABLED=1, DATABASE_URL=each_database.url, **ONE_BY_ONE)
    assert crawled.code == 0, crawled.log
    assert each_database.pages() == sorted([*ASKING, *WALLED, "/chain-a", "/itself", "/home"])
    ends = each_database.requests()
    assert ends["/section"] == ("done", "section", 0)
    assert {ends[path] for path in (*ASKING, *WALLED, "/chain-a", "/itself")} == {("done", "page", 0)}
    assert ends["/endless-a"] == ("failed", "redirect_loop", 0)
    counts = Counter(paths)
    assert (counts["/endless-a"], counts["/endless-b"]) == (3, 3)
    assert counts["/home"] <= 2  # not once for each address that has moved there
    assert {ends[path][:2] for path in MOVED} <= {("done", "redirected"), ("done", "page")}
    assert f"The redirects to {address}/endless-a lead in a circle after 3 requests for it" in crawled.log
    assert each_database.totals()["visit/redirect_loop"] == 1


def test_without_cookies_each_page_fails_and_is_known_to_retry(run, site, database):
    address, paths = site
    arguments = {"site": address, "paths": " ".join([*WALLED, *ASKING, *MOVED])}
    first = run(SPIDER, arguments, **ONE_BY_ONE)
    assert first.code == 1
    advice = "sites do this to set a cookie: COOKIES_ENABLED=true keeps cookies"
    assert f"no page was stored (redirect_loop 1); {address}/section: the redirects from {address}/section" in first.log
    assert f"lead back to {address}/section; {advice}" in first.log
    assert Counter(paths)["/section"] == 2
    assert database.states() == {"failed": 1}

    # The section answers, its pages do not: as for a visitor whose first cookie was kept.
    del paths[:]
    source = SPIDER.replace(
        'yield scrapy.Request(self.site + "/section", callback=self.section, dont_filter=True)',
        "for path in self.paths.split():\n                yield scrapy.Request(self.site + path)",
    )
    second = run(source, arguments | {"another": "crawl"}, **ONE_BY_ONE)
    assert second.code == 0, second.log
    assert database.pages() == ["/home"]
    ends = database.requests()
    # The first page is redirected to the wall, which is a request of its own. It sends back to the page that came last:
    # to the first page, which is a loop, or to another page, which is known and fails by itself.
    walled = Counter(ends[path] for path in (*WALLED, "/wall"))
    looping, redirected = walled["failed", "redirect_loop", 0], walled["done", "redirected", 0]
    assert looping >= len(WALLED) - 1, walled
    assert looping + redirected == len(WALLED) + 1, walled
    # An address that says whom it leads back to is part of that page's own request.
    assert {ends[path] for path in ASKING} == {("failed", "redirect_loop", 0)}
    assert database.totals()["visit/redirect_loop"] == len(ASKING) + looping
    failed = database.rows("SELECT error FROM request WHERE state = 'failed'")
    assert all(advice in row["error"] for row in failed)
    assert Counter(paths)["/home"] <= 2
    assert max(Counter(paths)[path] for path in WALLED) <= 2


def test_retry_with_cookies_stores_what_failed_without(run, site, database):
    address, _ = site
    arguments = {"site": address, "paths": "/own-1 /chain-a"}
    run(SPIDER, arguments)
    database.write("UPDATE request SET state = 'queued', outcome = NULL, ended = NULL WHERE state = 'failed'")
    database.write(update(crawl).values(state="open", finished=None))
    retried = run(None, arguments, COOKIES_ENABLED=1)
    assert retried.code == 0, retried.log
    assert database.pages() == ["/chain-a", "/own-1"]


def test_two_processes_with_cookies_of_their_own_store_every_page(start, ended, site, each_database):
    address, _ = site
    paths = [f"/own-{number}" for number in range(1, 4)]
    arguments = {"site": address, "paths": " ".join([*paths, "/chain-a", "/endless-a"])}
    settings = {"COOKIES_ENABLED": 1, "DATABASE_URL": each_database.url}
    both = [start(SPIDER, arguments, **settings), start(None, arguments, **settings)]
    ends = [ended(process) for process in both]
    assert [end.code for end in ends] == [0, 0], [end.log for end in ends]
    assert each_database.pages() == ["/chain-a", *paths]
    assert each_database.requests()["/endless-a"][:2] == ("failed", "redirect_loop")
    assert each_database.states() == {"done": 5, "failed": 1}


def test_a_crawl_in_memory_follows_the_redirects_too(site, crawl, spider):
    address, _ = site
    paths = " ".join([*ASKING, "/chain-a", "/endless-a"])
    crawled = crawl(spider(SPIDER), {"site": address, "paths": paths}, {"COOKIES_ENABLED": 1} | ONE_BY_ONE)
    stored = sorted(path for path, outcome in crawled.outcomes().items() if outcome == "page")
    assert stored == sorted([*ASKING, "/chain-a"]), crawled.log
    assert crawled.stats["visit/redirect_loop"] == 1

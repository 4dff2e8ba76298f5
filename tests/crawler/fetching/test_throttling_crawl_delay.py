"""The delays that robots.txt asks for are kept, by several processes too."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import processes
import psycopg
import pytest
from scrapy.robotstxt import ProtegoRobotParser, PythonRobotParser

from crawler.fetching.throttling import _requested_delay
from crawler.storage.database import opened_engine
from crawler.storage.locks import LOCK_KEYS, lock

ROOT = Path(__file__).parents[3]
SECONDS = 900
TURNS = 5
SPIDER = """
    import scrapy
    from crawler.page import page

    class Some(scrapy.Spider):
        name = "some"

        async def start(self):
            for number in range(int(self.pages)):
                yield scrapy.Request(f"{self.site}/{number}")

        def parse(self, response):
            yield page(response)
"""
PIPELINES = (
    '{"pipelines.clean.CleanPipeline": 300, "pipelines.dedup.DedupPipeline": 400, "pipelines.store.StorePipeline": 500}'
)


@pytest.mark.parametrize(
    ("robots", "seconds"),
    [
        ("", 0),
        ("User-agent: *\nCrawl-delay: 2.5", 2.5),
        ("User-agent: blocksieve\nCrawl-delay: 3\n\nUser-agent: *\nCrawl-delay: 9", 3),
        ("User-agent: other\nCrawl-delay: 9", 0),
        ("User-agent: *\nRequest-rate: 2/1m", 30),
        ("User-agent: *\nCrawl-delay: 5\nRequest-rate: 1/10", 10),
        ("User-agent: *\nCrawl-delay: 50\nRequest-rate: 1/10", 50),
        ("User-agent: *\nRequest-rate: 1/10 0900-1700", 10),
        ("User-agent: *\nRequest-rate: 0/10", 0),
        ("User-agent: *\nCrawl-delay: -3", 0),
        ("User-agent: *\nCrawl-delay: soon", 0),
        ("User-agent: *\nRequest-rate: 1/" + "9" * 400, 10**9),
    ],
)
def test_the_longer_of_delay_and_rate_is_requested(robots, seconds):
    assert _requested_delay(ProtegoRobotParser(robots.encode(), None), "blocksieve") == seconds


def test_other_robots_parsers_give_only_a_delay():
    robots = b"User-agent: *\nCrawl-delay: 5\nRequest-rate: 1/10"
    assert _requested_delay(PythonRobotParser(robots, None), "blocksieve") == 5


@pytest.fixture
def timed():
    """Start a server of pages with this robots.txt; its address, and the moments at which pages were asked for.

    The first pages of each agent are answered in turns: none gets its next one before all have asked for theirs.
    """
    with contextlib.ExitStack() as servers:

        def start(robots, agents=()):
            server = servers.enter_context(serving(Handler))
            server.robots, server.moments = robots.encode(), []
            server.asked = dict.fromkeys(agents, 0)
            server.asking = threading.Condition()
            return f"http://127.0.0.1:{server.server_port}", server.moments

        yield start


@contextlib.contextmanager
def serving(handler):
    """Serve on a free port of the loopback address; the server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


class Handler(BaseHTTPRequestHandler):
    timeout = 10
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = self.server.robots
        if not self.path.startswith(("/robots.txt", "/.well-known/")):
            self.server.moments.append(time.monotonic())
            self.wait_for_the_others(self.headers["User-Agent"])
            body = f"<html><body><p>The page at {self.path} of this site.</p></body></html>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def wait_for_the_others(self, agent):
        counts, asking = self.server.asked, self.server.asking
        if agent in counts:
            with asking:
                counts[agent] += 1
                turn = min(counts[agent], TURNS)
                asking.notify_all()
                asking.wait_for(lambda: min(counts.values()) >= turn, SECONDS)

    def log_message(self, *_arguments):
        pass


class HeldHandler(BaseHTTPRequestHandler):
    """A site that answers robots.txt, and then its pages, only when the test says so."""

    timeout = 10

    def do_GET(self):
        name = "robots" if self.path == "/robots.txt" else "pages"
        if not self.path.startswith("/.well-known/"):
            self.server.requested[name].set()
            self.server.answered[name].wait(SECONDS)
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"User-agent: *\nCrawl-delay: 0.5" if name == "robots" else b"<p>A page of this site.")

    def log_message(self, *_arguments):
        pass


@pytest.fixture
def held():
    """A site that answers nothing before `answered` says so; `requested` tells what was requested."""
    with serving(HeldHandler) as server:
        server.requested = {name: threading.Event() for name in ("robots", "pages")}
        server.answered = {name: threading.Event() for name in ("robots", "pages")}
        yield server
        for event in server.answered.values():
            event.set()


def are_apart(moments, seconds):
    """Return True if the moments are this far apart on the whole: the first request may have taken long to arrive."""
    return moments[-1] - moments[0] >= (len(moments) - 2) * seconds


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"AUTOTHROTTLE_ENABLED": "1", "AUTOTHROTTLE_START_DELAY": "0.01"},
        {"AUTOTHROTTLE_ENABLED": "1", "AUTOTHROTTLE_START_DELAY": "0.01", "AUTOTHROTTLE_MAX_DELAY": "0.1"},
        {"DOWNLOAD_DELAY": "0.01"},
        {"SCHEDULER": "scrapy.core.scheduler.Scheduler"},
    ],
)
def test_requests_to_a_host_keep_its_crawl_delay(crawl, spider, timed, tmp_path, settings):
    site, moments = timed("User-agent: *\nCrawl-delay: 0.4")
    stored = {"DATABASE_URL": f"sqlite:///{tmp_path / 'blocks.db'}", "ITEM_PIPELINES": PIPELINES}
    crawled = crawl(spider(SPIDER), {"site": site, "pages": 5}, stored | settings)
    assert crawled.code == 0, crawled.log
    assert len(moments) == 5
    assert are_apart(moments, 0.4), moments
    assert crawled.log.count("asks for 0.4 seconds between two requests") == 1


def test_a_longer_delay_in_the_settings_is_kept(crawl, spider, timed):
    site, moments = timed("User-agent: *\nCrawl-delay: 0.1")
    crawl(spider(SPIDER), {"site": site, "pages": 3}, {"DOWNLOAD_DELAY": "0.5"})
    assert are_apart(moments, 0.5), moments


def test_a_delay_in_download_slots_overrides_autothrottle(crawl, spider, timed):
    site, moments = timed("")
    settings = {"AUTOTHROTTLE_ENABLED": "1", "AUTOTHROTTLE_START_DELAY": "0.01"}
    crawl(spider(SPIDER), {"site": site, "pages": 5}, settings | {"DOWNLOAD_SLOTS": '{"127.0.0.1": {"delay": 0.4}}'})
    assert len(moments) == 5
    assert are_apart(moments, 0.4), moments


def test_a_crawl_delay_above_the_maximum_is_capped_and_logged_once(crawl, spider, timed):
    site, moments = timed("User-agent: *\nCrawl-delay: 3600")
    crawled = crawl(spider(SPIDER), {"site": site, "pages": 4}, {"CRAWL_DELAY_MAX": "0.3"})
    assert len(moments) == 4
    assert are_apart(moments, 0.3), moments
    sentence = (
        "The robots.txt of 127.0.0.1 asks for 3600 seconds between two requests; the crawl waits CRAWL_DELAY_MAX=0.3"
    )
    assert crawled.log.count(sentence) == 1


@pytest.mark.parametrize("settings", [{"ROBOTSTXT_OBEY": "0"}, {"CRAWL_DELAY_MAX": "0"}])
def test_there_is_no_crawl_delay_if_robots_txt_is_not_obeyed(crawl, spider, timed, settings):
    site, moments = timed("User-agent: *\nCrawl-delay: 3600")
    crawl(spider(SPIDER), {"site": site, "pages": 4}, settings)
    assert moments[-1] - moments[0] < 30


def test_a_replay_has_no_crawl_delay(crawl, spider, tmp_path):
    pages, site = tmp_path / "pages", "https://lake.example.org"
    pages.mkdir()
    contents = {"robots.txt": "User-agent: *\nCrawl-delay: 100"}
    contents |= {str(number): f"<html><body><p>Page {number}</p></body></html>" for number in range(4)}
    for name, content in contents.items():
        (pages / name).write_text(content)
    (pages / "index.tsv").write_text(
        "".join(f"{name}\t{site}/{name}\n" for name in ["file", *contents]).replace(f"{site}/file", "url")
    )
    began = time.monotonic()
    crawled = crawl(spider(SPIDER), {"site": site, "pages": 4}, {"REPLAY": str(pages)})
    assert len(crawled.visits) == 4
    assert crawled.stats["robotstxt/response_status_count/200"] == 1
    assert time.monotonic() - began < 300


def start_crawl(path, arguments, settings, **options):
    """Start a crawl in a process of its own, without AutoThrottle."""
    command = [sys.executable, "-m", "scrapy", "runspider", str(path)]
    for name, value in arguments.items():
        command += ["-a", f"{name}={value}"]
    ours = {"ALLOW_ADDRESSES": "127.0.0.0/8", "PROGRESS": "off", "AUTOTHROTTLE_ENABLED": 0}
    for name, value in (ours | settings).items():
        command += ["-s", f"{name}={value}"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SCRAPY_SETTINGS_MODULE": "crawler.settings"}
    return processes.start(command, env=environment, **options)


def test_two_processes_share_the_delay_of_a_host(spider, timed, new_database, tmp_path):
    delay, pages, url, agents = 0.5, 32, new_database(), ("first", "second")
    site, moments = timed(f"User-agent: *\nCrawl-delay: {delay}", agents)
    arguments, settings = {"site": site, "pages": pages}, {"DATABASE_URL": url, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
    settings |= {"DOWNLOAD_TIMEOUT": SECONDS}
    options = {"stderr": subprocess.PIPE, "text": True}
    crawls = [start_crawl(spider(SPIDER), arguments, settings | {"USER_AGENT": agent}, **options) for agent in agents]
    logs = [crawl.communicate(timeout=SECONDS)[1] for crawl in crawls]
    assert [crawl.returncode for crawl in crawls] == [0, 0], logs
    assert all("'visit/page'" in log for log in logs)  # both had a part in it
    assert len(moments) == pages
    # What either has in hand when it reads robots.txt it sends at its own pace: a few requests, not half of all.
    assert moments[-1] - moments[0] >= (pages - 1 - 5) * delay, moments
    with contextlib.closing(psycopg.connect(url)) as connection:
        assert connection.execute("SELECT delay FROM host").fetchone() == (delay,)


LEASES = [LOCK_KEYS + 1]  # the lock of the first crawl's leases
WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
PATIENT_SPIDER = """
    import asyncio
    import pathlib
    import scrapy
    from crawler.page import page

    class Patient(scrapy.Spider):
        name = "patient"

        async def start(self):
            yield scrapy.Request(f"{self.site}/0")
            await self.wait_for("one")
            yield scrapy.Request(f"{self.site}/1")
            await self.wait_for("others")
            for number in range(2, 32):
                yield scrapy.Request(f"{self.site}/{number}")
            pathlib.Path(self.signals, "all").touch()

        async def wait_for(self, signal):
            while not pathlib.Path(self.signals, signal).exists():
                await asyncio.sleep(0.01)

        def parse(self, response):
            yield page(response)
"""


def test_requests_that_are_leased_while_robots_txt_is_read_are_left_to_others(spider, held, new_database, tmp_path):
    """The lease begins before the delay is known, and ends when the host counts as delayed already."""
    url = new_database()
    arguments = {"site": f"http://127.0.0.1:{held.server_port}", "signals": tmp_path}
    process = start_crawl(spider(PATIENT_SPIDER), arguments, {"DATABASE_URL": url})
    try:
        assert held.requested["robots"].wait(SECONDS)
        with opened_engine(url) as engine, engine.connect() as first, engine.connect() as second:
            lock(first, LEASES)
            (tmp_path / "one").touch()
            wait_for_value(url, WAITING, 1)  # to lease the second request
            (tmp_path / "others").touch()
            wait_until((tmp_path / "all").exists)  # they are pushed after that lease, and before the next one
            waiter = threading.Thread(target=lock, args=(second, LEASES))
            waiter.start()
            wait_for_value(url, WAITING, 2)
            first.rollback()
            waiter.join()
            wait_for_value(url, "SELECT count(*) FROM request", 32)
            wait_for_value(url, WAITING, 1)
            held.answered["robots"].set()
            assert held.requested["pages"].wait(SECONDS)
            time.sleep(3)  # the frontier looks for delays each second
            second.rollback()
        wait_for_value(url, "SELECT delay FROM host", 0.5)
        assert value_of(url, "SELECT count(*) FROM request WHERE state = 'leased'") <= 16
    finally:
        process.kill()
        process.wait()


def value_of(url, query):
    with contextlib.closing(psycopg.connect(url)) as connection:
        row = connection.execute(query).fetchone()
        return row and row[0]


def wait_for_value(url, query, value):
    wait_until(lambda: value_of(url, query) == value, query)


def wait_until(condition, name=""):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, name
        time.sleep(0.05)

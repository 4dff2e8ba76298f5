"""Real crawls with CLEANING_PROCESSES store the same; a page that hangs or kills its worker affects no other page."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing, contextmanager
from pathlib import Path

import processes
import psutil
import pytest

from crawler.demo.run import crawl_command, crawl_environment, run_site

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
URL = "https://town.example.org/"
PROSE = "Report number {0} of the town library says that it opens again on Monday after {0} years of repairs. "
# The crawl imports it with its settings, and its workers at their start, by the module `sitecustomize`.
HOSTILE_METHOD = """
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from cleaning.methods import METHODS

def segment(page, options):
    while "endless" in page.url:
        time.sleep(0.001)
    if "fatal" in page.url:
        marker.touch()
        os._exit(4)
    return METHODS["default"].segment(page, options)

# After a page of this name no process can start.
marker = Path(__file__).with_name("fatal")
if marker.exists() and "crawler.workers" in " ".join(sys.orig_argv):
    os._exit(3)

METHODS["hostile"] = replace(METHODS["default"], segment=segment, decide_page=None)
"""
READER = """
    import scrapy
    from crawler.page import page
    from crawler.visit import visit_cleaned

    class Reader(scrapy.Spider):
        name = "reader"

        @classmethod
        def from_crawler(cls, crawler, *arguments, **more):
            spider = super().from_crawler(crawler, *arguments, **more)
            crawler.signals.connect(spider.count, signal=visit_cleaned)
            return spider

        async def start(self):
            yield scrapy.Request(self.site + "/list")

        def parse(self, response):
            for href in response.css("a::attr(href)").getall():
                yield response.follow(href, self.parse_title if "read" in href else self.parse_page)

        def parse_page(self, response):
            yield page(response)

        def parse_title(self, response):
            yield page(response, title=response.css("h1::text").get())

        def count(self, visit):
            if visit.page:
                source = visit.page.fetched.source
                parsed = getattr(source, "is_parsed", True)
                self.crawler.stats.inc_value(f"{'parsed' if parsed else 'unparsed'}{visit.url[len(self.site):]}")
"""
QUIET = {"PROGRESS": "off", "STORE_BATCH_PAGES": "2"}
SECONDS = 300


def rows(path, query):
    with closing(sqlite3.connect(path, timeout=300)) as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
        return sorted(database.execute(query).fetchall())


def contents(path):
    """Return the pages and their texts. Which of two duplicates is stored as the block depends on the order."""
    columns = "url, title, author, published, language, section, visits"
    return (
        rows(path, f"select {columns} from page"),
        rows(path, "select p.url, t.position, t.text from page_text t join page p on p.id = t.page_id"),
    )


def counts(path):
    """Return the crawl's counts that depend neither on the order nor on the clock."""
    query = "select key, value from crawl, json_each(totals) where key glob 'visit/*' or key glob 'blocks/*'"
    return rows(path, query)


@pytest.fixture(scope="module")
def address():
    with run_site() as url:
        yield url


@pytest.fixture
def start(address, tmp_path):
    """Start a crawl of one category of the demo site with this number of workers."""

    @contextmanager
    def run(name, cleaners, **more):
        settings = QUIET | {"LOG_FILE": str(tmp_path / f"{name}.log"), "CLEANING_PROCESSES": str(cleaners)} | more
        line = crawl_command(tmp_path / f"{name}.db", {"category": "Food-and-Drink"}, settings)
        with processes.start(line, env=crawl_environment(address)) as crawl:
            yield crawl

    return run


@pytest.fixture
def archive(tmp_path):
    """Start a crawl of saved pages with these names; cleaning the page `endless` never ends."""

    @contextmanager
    def run(*names, seconds, cleaners=2):
        (tmp_path / "hostile.py").write_text(HOSTILE_METHOD, "utf-8")
        (tmp_path / "sitecustomize.py").write_text("import hostile", "utf-8")
        (tmp_path / "hostile_settings.py").write_text("import hostile\nfrom crawler.settings import *", "utf-8")
        for number, name in enumerate(names):
            article = f"<html><body><article><p>{PROSE.format(number) * 3}</p></article></body></html>"
            (tmp_path / f"{name}.html").write_text(article, "utf-8")
        index = "".join(f"{name}.html\t{URL}{name}\n" for name in names)
        (tmp_path / "index.tsv").write_text(f"file\turl\n{index}", "utf-8")
        settings = QUIET | {"CLEANING_METHOD": "hostile", "CLEANING_SECONDS": str(seconds)}
        settings["CLEANING_PROCESSES"] = str(cleaners)
        line = [sys.executable, "-m", "scrapy", "crawl", "archive", "-s", f"REPLAY={tmp_path}"]
        line += [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        paths = {
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
            "SCRAPY_SETTINGS_MODULE": "hostile_settings",
        }
        with processes.start(line, cwd=tmp_path, env=os.environ | paths, stderr=subprocess.PIPE, text=True) as crawl:
            yield crawl

    return run


def runs_on(crawl):
    """Wait a moment, and return True if the crawl still runs."""
    try:
        crawl.wait(0.05)
    except subprocess.TimeoutExpired:
        return True
    return False


def workers(crawl, count=2):
    """Return the crawl's workers once there are this many."""
    while runs_on(crawl):
        children = [
            child for child in psutil.Process(crawl.pid).children() if "crawler.workers" in processes.command_of(child)
        ]
        if len(children) == count:
            return children
    raise AssertionError("the crawl has ended")


def wait_for_pages(crawl, path, pages):
    """Return once this many pages are stored, or the crawl has ended."""
    while runs_on(crawl):
        if path.exists():
            with closing(sqlite3.connect(path, timeout=300)) as database:
                try:
                    if database.execute("select count(*) from page").fetchone()[0] >= pages:
                        return
                except sqlite3.OperationalError:  # the tables are not there yet
                    continue


def wait_for_retried(crawl, path, log):
    """Return once the pages that were tried once more are stored: another dead worker would fail them."""
    while runs_on(crawl):
        retried = re.findall(r"Cleaning (\S+): .* is tried once more", log.read_text("utf-8"))
        if set(retried) <= {url for (url,) in rows(path, "select url from page")}:
            return


def gone(processes):
    return not psutil.wait_procs(processes, timeout=SECONDS)[1]


def test_two_workers_store_the_same_as_the_crawl_s_own_process_even_if_they_are_killed(start, tmp_path):
    with start("own", 0) as own:
        assert own.wait() == 0
    database, log = tmp_path / "shared.db", tmp_path / "shared.log"
    with start("shared", 2, DOWNLOAD_DELAY="0.1") as shared:
        killed = workers(shared)
        wait_for_pages(shared, database, 4)
        killed[0].kill()
        while killed[0] in workers(shared):  # until another one has taken its place
            pass
        wait_for_retried(shared, database, log)
        killed[1].kill()
        assert shared.wait() == 0
    assert gone(killed)
    assert contents(database) == contents(tmp_path / "own.db")
    assert counts(database) == counts(tmp_path / "own.db")
    logged = log.read_text("utf-8")
    assert "Traceback" not in logged
    assert "do not add up" not in logged
    assert rows(database, "select value from crawl, json_each(totals) where key = 'clean/restarts'") == [(2,)]


@pytest.mark.parametrize("cleaners", [0, 2])
def test_a_page_that_never_ends_is_given_up_and_counted_and_the_others_are_stored(archive, tmp_path, cleaners):
    with archive("first", "endless", "third", "fourth", seconds=15, cleaners=cleaners) as crawl:
        log = crawl.stderr.read()
        assert crawl.wait() == 0
    assert [url for (url,) in rows(tmp_path / "blocks.db", "select url from page")] == [
        f"{URL}{name}" for name in ("first", "fourth", "third")
    ]
    counted = dict(counts(tmp_path / "blocks.db"))
    assert (counted["visit/page"], counted["visit/cleaning_timeout"]) == (3, 1)
    assert f"Cleaning {URL}endless was stopped: it takes more than 15 seconds (setting CLEANING_SECONDS)" in log
    assert "Traceback" not in log


def test_a_worker_that_cannot_be_restarted_ends_the_crawl(archive):
    with archive("fatal", *map(str, range(5)), seconds=60) as crawl:
        log = crawl.stderr.read()
        assert crawl.wait() == 1
    assert "workers_failed" in log
    assert "a cleaning process that had died could not be started again" in log
    assert "do not add up" not in log


@pytest.mark.parametrize("signals", [[signal.SIGKILL], [signal.SIGINT], [signal.SIGINT, signal.SIGINT]])
def test_no_worker_is_left_however_the_crawl_ends(archive, tmp_path, signals):
    with archive("first", "endless", "third", seconds=15) as crawl:
        children = workers(crawl)
        wait_for_pages(crawl, tmp_path / "blocks.db", 1)  # the other one is at work on the endless page
        for signal_ in signals:
            crawl.send_signal(signal_)
            next((line for line in crawl.stderr if "Received SIGINT" in line), None)
        crawl.stderr.read()
    assert gone(children)


def test_a_page_whose_tree_the_spider_does_not_read_is_parsed_by_a_worker_only(crawl, serve, answer, tmp_path):
    paragraph = f"<h1>Library</h1><p>{PROSE.format(3) * 30}</p>"  # of few words it could be a wall
    noindex = answer(f"<head><meta name=robots content=noindex></head>{paragraph}")
    pages = {"/plain": answer(paragraph), "/read": answer(paragraph), "/noindex": noindex, "/empty": answer("<!-- -->")}
    listing = answer("".join(f"<a href={path}>{path}</a>" for path in pages))
    site, _ = serve(pages | {"/list": listing})
    (tmp_path / "reader.py").write_text(textwrap.dedent(READER))
    pipelines = {"pipelines.clean.CleanPipeline": 300, "pipelines.dedup.DedupPipeline": 400, "collect.Collect": 600}
    parsed_by = {}
    for count in (0, 1):
        database = tmp_path / f"{count}.db"
        settings = {"CLEANING_PROCESSES": count, "DATABASE_URL": f"sqlite:///{database}"}
        settings["ITEM_PIPELINES"] = json.dumps(pipelines | {"pipelines.store.StorePipeline": 500})
        crawled = crawl(tmp_path / "reader.py", {"site": site}, settings)
        assert crawled.code == 0, crawled.log
        parsed_by[count] = {name for name in crawled.stats if name.startswith(("parsed", "unparsed"))}
        outcomes = {name: value for name, value in crawled.stats.items() if name.startswith(("visit/", "blocks/"))}
        assert outcomes["visit/page"] == 2
        assert (outcomes["visit/noindex"], outcomes["visit/empty"]) == (1, 1)
    assert parsed_by == {0: {"parsed/plain", "parsed/read"}, 1: {"unparsed/plain", "parsed/read"}}
    assert contents(tmp_path / "0.db") == contents(tmp_path / "1.db")

"""Crawls of a few answers, with spiders that a test writes; a page to clean."""

import shutil
import textwrap
from contextlib import suppress

import newspapers
import psycopg
import pytest
from shared_work import locked, run_folder
from worlds import a_world

from crawler.storage import schema
from crawler.storage.database import opened_engine

EVERY_LINK = """
    import scrapy
    from crawler.page import page

    class Every(scrapy.Spider):
        name = "every"

        async def start(self):
            for path in self.paths.split():
                yield scrapy.Request(self.site + path, dont_filter=True)

        def parse(self, response):
            yield page(response)
"""
ARTICLE = """<!doctype html><title>The river</title><body>
<div class="nav"><a href="/a">Home</a> <a href="/b">News</a> <a href="/c">Weather</a></div>
<article><h1>The river rose</h1>
<p>The river rose in the night, and the bridge at the mill was closed until the morning, said the mayor.</p>
<p>Nobody was hurt, but <a href="/d">the market</a> of the town, which is held every week, did not take place.</p>
</article><div class="footer">Copyright 2024 by the town</div>"""


@pytest.fixture(scope="session")
def fresh_url(request, tmp_path_factory):
    """Return the URL of a new, empty database of a kind: `sqlite` or `postgresql`."""

    def make(kind):
        if kind == "postgresql":
            return request.getfixturevalue("new_database")()
        return f"sqlite:///{tmp_path_factory.mktemp('database') / 'blocks.db'}"

    return make


@pytest.fixture(scope="session")
def copy_newspapers(request, fresh_url, tmp_path_factory):
    """Return the URL of a database of a kind, with twenty newspapers after three weeks.

    Filling it takes half a minute, so one worker does it, and the others copy what it has made.
    """
    folder = run_folder(tmp_path_factory)

    def make(kind):
        with locked(folder / f"newspapers.{kind}.lock"):
            if kind == "sqlite":
                return _copied_file(fresh_url, folder)
            return _copied_database(request.getfixturevalue("new_database"), folder)

    return make


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def newspapers_url(request, copy_newspapers):
    """The URL of a database of twenty newspapers after three weeks, which is only read."""
    return copy_newspapers(request.param)


def _copied_file(fresh_url, folder):
    original, url = folder / "newspapers.db", fresh_url("sqlite")
    if not original.exists():
        filled = fresh_url("sqlite")
        _fill(filled)
        shutil.copyfile(filled.removeprefix("sqlite:///"), original)
    shutil.copyfile(original, url.removeprefix("sqlite:///"))
    return url


def _copied_database(new_database, folder):
    noted = folder / "newspapers.template"
    if noted.exists():
        # A worker that has ended has dropped what it made.
        with suppress(psycopg.errors.InvalidCatalogName):
            return new_database(noted.read_text("utf-8"))
    url = new_database()
    _fill(url)
    noted.write_text(_database_name(new_database(_database_name(url))), "utf-8")
    return url


def _database_name(url):
    return url.rpartition("/")[2]


def _fill(url):
    with opened_engine(url) as engine:
        newspapers.fill(engine)


@pytest.fixture
def engine(tmp_path):
    """The engine of a new SQLite database."""
    with opened_engine(f"sqlite:///{tmp_path / 'blocks.db'}") as engine:
        schema.prepare_schema(engine)
        yield engine


@pytest.fixture
def every_link():
    """The source of a spider that takes every path for a page."""
    return EVERY_LINK


@pytest.fixture
def article():
    """A page with an article of two paragraphs, a menu and a foot."""
    return ARTICLE


@pytest.fixture
def spider(tmp_path):
    """Write a spider's source to a file and return its path."""

    def write(source):
        path = tmp_path / "the_spider.py"
        path.write_text(textwrap.dedent(source), "utf-8")
        return path

    return write


@pytest.fixture
def visit(crawl, serve, spider, answer):
    """Crawl these paths of a server with these answers."""

    def run(answers, source=EVERY_LINK, **settings):
        site, requests = serve({path: answer(**sent) for path, sent in answers.items()})
        limits = {"MAX_REFUSALS_IN_A_ROW": 1000, "AUTOTHROTTLE_MAX_DELAY": 0.001}
        limits |= {"FRONTIER_MAX_ATTEMPTS": 1, "HOST_PAUSE_SECONDS": 0}
        crawled = crawl(spider(source), {"site": site, "paths": " ".join(answers)}, limits | settings)
        crawled.requests = requests
        return crawled

    return run


@pytest.fixture
def world(tmp_path):
    with a_world(tmp_path) as world:
        yield world


@pytest.fixture(scope="module")
def lasting_world(tmp_path_factory):
    """One for all tests of a module."""
    with a_world(tmp_path_factory.mktemp("world")) as world:
        yield world


@pytest.fixture(params=["sqlite", "postgresql"])
def either_world(request, tmp_path):
    url = request.getfixturevalue("new_database")() if request.param == "postgresql" else None
    with a_world(tmp_path, url) as world:
        yield world

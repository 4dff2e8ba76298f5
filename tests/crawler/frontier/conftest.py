"""Crawls with the frontier in the database, by spiders that a test writes."""

import json
import os
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import processes
import pytest
from sqlalchemy import text

from crawler.storage.database import opened_engine, read_transaction, write_transaction

ROOT = Path(__file__).parents[3]
SETTINGS = {
    "ALLOW_ADDRESSES": "127.0.0.0/8,::1",
    "AUTOTHROTTLE_ENABLED": "0",
    "AUTOTHROTTLE_MAX_DELAY": "0",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "8",
    "HOST_PAUSE_SECONDS": "0",
    "MAX_REFUSALS_IN_A_ROW": "1000",
    "PROGRESS": "off",
    "RETRY_TIMES": "0",
    "SPIDER_MODULES": "the_spider",
}
LONGEST_SECONDS = 600
"""After which a crawl is taken to hang."""
PROSE = "The river rose in the night and carried the old bridge down to the mill, where it lies until today. "
PAGE = f"<html><head><title>The bridge</title></head><body><h1>The bridge</h1><p>{PROSE * 8}</p></body></html>"


@dataclass
class Database:
    """What the crawls of a test left in their database."""

    url: str

    def rows(self, query):
        with opened_engine(self.url) as engine, read_transaction(engine) as connection:
            return [dict(row) for row in connection.execute(text(query)).mappings()]

    def write(self, statement, values=None):
        with opened_engine(self.url) as engine, write_transaction(engine) as connection:
            return connection.execute(text(statement) if isinstance(statement, str) else statement, values or {})

    def requests(self):
        """Return state, outcome and attempts of each request by its URL's path and query."""
        rows = self.rows("SELECT url, state, outcome, attempts FROM request ORDER BY id")
        return {path(row["url"]): (row["state"], row["outcome"], row["attempts"]) for row in rows}

    def states(self):
        """Return the number of requests in each state."""
        return {row["state"]: row["n"] for row in self.rows("SELECT state, count(*) AS n FROM request GROUP BY state")}

    def crawls(self):
        return self.rows("SELECT * FROM crawl ORDER BY id")

    def totals(self):
        """Return what the last crawl has counted."""
        totals = self.crawls()[-1]["totals"]
        return json.loads(totals) if isinstance(totals, str) else totals

    def pages(self):
        return sorted(path(row["url"]) for row in self.rows("SELECT url FROM page"))


def path(url):
    return "/" + (url.split("/", 3)[3] if url.count("/") > 2 else url)


@pytest.fixture
def page():
    """The HTML of an article."""
    return PAGE


@pytest.fixture
def database(tmp_path):
    return Database(f"sqlite:///{tmp_path / 'blocks.db'}")


@pytest.fixture(params=["sqlite", "postgresql"])
def each_database(request, tmp_path):
    """A database of either kind; crawls need its URL as DATABASE_URL."""
    if request.param == "sqlite":
        return Database(f"sqlite:///{tmp_path / 'blocks.db'}")
    return Database(request.getfixturevalue("new_database")())


@pytest.fixture
def start(tmp_path):
    """Start `scrapy crawl` of a spider's source, or of the last one's; its log is on stderr."""
    started = []

    def run(source=None, arguments=None, **settings):
        if source is not None:
            (tmp_path / "the_spider.py").write_text(textwrap.dedent(source), "utf-8")
        line = [sys.executable, "-B", "-m", "scrapy", "crawl", "the_spider"]
        for name, value in (arguments or {}).items():
            line += ["-a", f"{name}={value}"]
        here = {"DATABASE_URL": f"sqlite:///{tmp_path / 'blocks.db'}"}
        for name, value in (SETTINGS | here | settings).items():
            line += ["-s", f"{name}={value}"]
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        environment |= {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
        environment |= {"SCRAPY_SETTINGS_MODULE": "crawler.settings"}
        with (tmp_path / f"{len(started)}.log").open("w") as log:
            process = processes.start(line, cwd=tmp_path, env=environment, stderr=log)
        process.log = tmp_path / f"{len(started)}.log"
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()


@dataclass
class Run:
    """What came of a crawl, and how much memory it took at most, in bytes."""

    code: int
    log: str
    peak_bytes: int


@pytest.fixture
def run(start):
    """Run a crawl to its end, which must come by itself."""
    return lambda *arguments, **settings: ended(start(*arguments, **settings))


@pytest.fixture(name="ended")
def ended_fixture():
    return ended


def ended(process):
    """Wait for a crawl's end, which must come."""
    try:
        process.wait(LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"the crawl hangs: {process.log.read_text('utf-8')[-5_000:]}") from None
    return Run(process.returncode, process.log.read_text("utf-8"), process.peak_bytes)


@pytest.fixture
def wait_until():
    """Wait until something is so, while a crawl runs."""

    def wait(condition, process):
        until = time.monotonic() + LONGEST_SECONDS
        while not condition():
            assert process.poll() is None, f"the crawl ended: {process.log.read_text('utf-8')[-5_000:]}"
            assert time.monotonic() < until, "the crawl hangs"
            time.sleep(0.02)

    return wait


class Slow(dict):
    """Answers that take their time."""

    seconds = 0.05

    def get(self, key, default=None):
        time.sleep(self.seconds)
        return super().get(key, default)


@pytest.fixture
def slow():
    return Slow

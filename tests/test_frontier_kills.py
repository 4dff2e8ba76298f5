"""Crawls whose processes die, one or one of many: nothing is lost, nothing stored twice, nothing asked for again."""

import json
import random
import signal
import sqlite3
import subprocess
import time
import urllib.request
from collections import Counter
from contextlib import closing
from itertools import count

import processes
import psycopg
import pytest
from sqlalchemy import text

from crawler.demo.run import BASE_URL, crawl_command, crawl_environment, run_site
from crawler.demo.site import read_truth
from crawler.storage.database import opened_engine, read_transaction

KILLS = 10
SMALL, WHOLE = {"category": "Food-and-Drink"}, {"categories": "all"}
LONGEST_SECONDS = 600
"""After which a crawl is taken to hang."""


@pytest.fixture(scope="module")
def address():
    with run_site() as site_address:
        yield site_address


@pytest.fixture
def start(address, tmp_path):
    """Start a crawl of the demo into the database at this URL."""
    numbers, started = count(1), []

    def run(url, arguments=SMALL, **settings):
        started.append(crawl(address, tmp_path / f"{next(numbers)}.log", url, arguments, settings))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.wait()


def crawl(address, log, url, arguments, settings):
    ours = {"DATABASE_URL": url, "LOG_FILE": str(log), "PROGRESS": "off", "STORE_BATCH_PAGES": "3"}
    process = processes.start(crawl_command(log.parent, arguments, ours | settings), env=crawl_environment(address))
    process.log = log
    return process


@pytest.fixture(scope="module")
def whole(address, tmp_path_factory):
    """The pages of the whole site with the digests of their texts, as one crawl that nothing happens to stores them."""
    folder = tmp_path_factory.mktemp("whole")
    url = f"sqlite:///{folder / 'whole.db'}"
    with crawl(address, folder / "log", url, WHOLE, {}) as process:
        assert process.wait(LONGEST_SECONDS) == 0
    return contents(url)[0]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'blocks.db'}"
    return request.getfixturevalue("new_database")()


def rows(url, query):
    with opened_engine(url) as engine, read_transaction(engine) as connection:
        return connection.execute(text(query)).all()


def contents(url):
    """Return each page with each digest of its texts, and how each request ended."""
    texts = rows(url, "SELECT p.url, t.digest FROM page p LEFT JOIN page_text t ON t.page_id = p.id")
    return set(texts), set(rows(url, "SELECT url, state, outcome FROM request"))


def count_requests(address):
    """Return how often the site was asked for each URL so far."""
    with urllib.request.urlopen(f"{address}demo/requests", timeout=300) as answer:
        counts = json.loads(answer.read())
    return Counter({site_url(entry.partition(" ")[2]): count for entry, count in counts.items()})


def has_begun(process):
    return process.log.exists() and "Storing blocks in" in process.log.read_text("utf-8")


def leased(url):
    return len(rows(url, "SELECT 1 FROM request WHERE state = 'leased'"))


def wait_until(condition, *processes):
    end = time.monotonic() + LONGEST_SECONDS
    while True:
        ended = [process.poll() for process in processes]
        if condition():
            return
        assert ended == [None] * len(processes), "a crawl ended too early"
        assert time.monotonic() < end, "the crawl hangs"
        time.sleep(0.01)


def is_killed(process, after):
    """Let a crawl go on for so long after its begin, then kill it; tell whether it had not come to its end by then."""
    wait_until(lambda: has_begun(process), process)
    try:
        assert process.wait(after) == 0, process.log.read_text("utf-8")
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True
    return False


def test_wherever_a_crawl_is_killed_the_same_command_completes_it(start, address, tmp_path):
    # A request that is in progress at each kill is not given up.
    patient = {"FRONTIER_MAX_ATTEMPTS": str(KILLS + 1)}
    whole = start(f"sqlite:///{tmp_path / 'whole.db'}", **patient)
    wait_until(lambda: has_begun(whole), whole)
    began = time.monotonic()
    assert whole.wait(LONGEST_SECONDS) == 0
    expected, seconds = contents(f"sqlite:///{tmp_path / 'whole.db'}"), time.monotonic() - began

    seed = time.time_ns() % 2**32
    chosen = random.Random(seed)
    moments = []
    numbers = count(1)
    while len(moments) < KILLS:
        # A new one each time: a crawl may also come to its end before its first kill.
        url = f"sqlite:///{tmp_path / f'{next(numbers)}.db'}"
        ended = set()
        counts = count_requests(address)
        while True:
            after = chosen.uniform(0, 0.5 * seconds) if len(moments) < KILLS else LONGEST_SECONDS
            # One that is killed after its crawl's end has come to its end.
            killed = is_killed(start(url, **patient), after) and rows(url, "SELECT state FROM crawl") != [("finished",)]
            moments += [round(after, 3)] * killed
            told = f"seed {seed}, killed so many seconds after the begin: {moments}"
            assert not ended & (count_requests(address) - counts).keys(), told
            if not killed:
                break
            ended = set(contents_ended(url))
            counts = count_requests(address)
        assert [
            contents_now ^ contents_expected
            for contents_now, contents_expected in zip(contents(url), expected, strict=True)
        ] == [set(), set()], told
        assert rows(url, "SELECT state FROM crawl") == [("finished",)], told
    assert len(moments) == KILLS


def contents_ended(url):
    return [row.url for row in rows(url, "SELECT url FROM request WHERE state IN ('done', 'failed')")]


def test_ctrl_c_gives_everything_back_at_once(start, address, url):
    crawl = start(url, WHOLE, FRONTIER_LEASE_SECONDS="3600")
    wait_until(lambda: has_begun(crawl) and rows(url, "SELECT 1 FROM page"), crawl)
    crawl.send_signal(signal.SIGINT)
    assert crawl.wait(LONGEST_SECONDS) == 130
    assert leased(url) == 0
    ended = set(contents_ended(url))
    counts = count_requests(address)
    assert rows(url, "SELECT state FROM crawl") == [("open",)]
    assert rows(url, "SELECT 1 FROM request WHERE state = 'queued'")

    assert start(url, WHOLE, FRONTIER_LEASE_SECONDS="3600").wait(LONGEST_SECONDS) == 0
    assert not ended & (count_requests(address) - counts).keys()
    assert rows(url, "SELECT state FROM crawl") == [("finished",)]
    assert set(rows(url, "SELECT DISTINCT visits FROM page")) == {(1,)}


def stop_at_rest(process, url):
    """Stop a process while it has leases and is in no transaction, which others would wait for."""
    while True:
        wait_until(lambda: has_begun(process) and leased(url) >= 10, process)
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.1)
        if not is_busy(url) and leased(url) >= 10:
            return
        process.send_signal(signal.SIGCONT)


def is_busy(url):
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=0)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return True
            return False
    with psycopg.connect(url, autocommit=True) as connection:
        query = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
        return connection.execute(query).fetchone() is not None


def followed_targets(url):
    """Return the targets of redirects that a process met twice, because it had lost the request: it follows them."""
    sources = rows(url, "SELECT url FROM request WHERE outcome = 'page' AND url NOT IN (SELECT url FROM page)")
    target_by_url = {site_url(path): site_url(redirect["to"]) for path, redirect in read_truth()["redirects"].items()}
    return {target_by_url[source.url] for source in sources if source.url in target_by_url}


def lost_visits(url):
    """Return how many visits all processes of the crawl did not store, because another process had taken them over."""
    ((totals,),) = rows(url, "SELECT totals FROM crawl")
    return (json.loads(totals) if isinstance(totals, str) else totals).get("frontier/lost", 0)


def site_url(path):
    return BASE_URL.rstrip("/") + path


@pytest.mark.parametrize("fate", ["killed", "late"])
def test_of_many_processes_one_may_die_or_sleep(start, address, url, fate, whole):
    settings = {"FRONTIER_LEASE_SECONDS": "5", "FRONTIER_MAX_ATTEMPTS": "9", "CONCURRENT_REQUESTS": "2"}
    # Where others are faster, one may be left with little else than the pages that refuse us, nine times each.
    settings["MAX_REFUSED_SHARE"] = "1"
    counts = count_requests(address)
    first = start(url, WHOLE, **settings)
    stop_at_rest(first, url)
    held = {row.url for row in rows(url, "SELECT url FROM request WHERE state = 'leased'")}
    others = [start(url, WHOLE, **settings) for _ in range(1 if url.startswith("sqlite") else 3)]
    wait_until(lambda: all(map(has_begun, others)), *others)
    if fate == "killed":
        first.kill()
    else:
        wait_until(lambda: held & set(contents_ended(url)), *others)
        first.send_signal(signal.SIGCONT)
    assert [crawl.wait(LONGEST_SECONDS) for crawl in others] == [0] * len(others)
    assert first.wait(LONGEST_SECONDS) == (-signal.SIGKILL if fate == "killed" else 0)

    assert contents(url)[0] == whole
    assert leased(url) == 0
    twice = {request for request, number in (count_requests(address) - counts).items() if number > 1}
    followed = followed_targets(url)
    again = twice - held - followed - {f"{BASE_URL}{file}" for file in ("robots.txt", ".well-known/tdmrep.json")}
    # On a busy machine another process may lose a lease too, and says so.
    assert len(again) <= lost_visits(url)
    # Two addresses of a page may be visited before either visit is stored; no other page is visited again.
    again = {row.url for row in rows(url, "SELECT url FROM page WHERE visits > 1")}
    aliased = {row.url for row in rows(url, "SELECT p.url FROM page p JOIN address a ON a.leads_to = p.url_key")}
    assert again <= aliased | followed

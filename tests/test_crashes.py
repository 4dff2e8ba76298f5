"""Crawls that are killed, and two at once: nothing is stored twice, nothing half, nothing is lost at the next crawl."""

import signal
import sqlite3
from contextlib import ExitStack, closing

import processes
import pytest

from crawler.demo.run import crawl_command, crawl_environment, run_site

CATEGORY = {"category": "Food-and-Drink"}


@pytest.fixture(scope="module")
def address():
    with run_site() as site_address:
        yield site_address


@pytest.fixture
def start(address, tmp_path):
    """Start a crawl of one category into a database of this name."""

    def run(database, log):
        quiet = {"LOG_FILE": str(tmp_path / log), "PROGRESS": "off", "STORE_BATCH_PAGES": "2"}
        line = crawl_command(tmp_path / database, CATEGORY, quiet)
        return processes.start(line, env=crawl_environment(address))

    return run


def contents(path):
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
        rows = database.execute("select p.url, t.digest from page_text t join page p on p.id = t.page_id").fetchall()
        pages = [row[0] for row in database.execute("select url from page")]
        blocks = database.execute("select count(*), count(distinct digest) from block where fingerprint not null")
        stored, distinct = blocks.fetchone()
    assert stored == distinct
    return sorted(pages), sorted(rows)


def test_a_killed_crawl_leaves_a_sound_database_and_the_next_one_completes_it(start, tmp_path):
    whole = start("whole.db", "whole.log")
    assert whole.wait() == 0

    for turn in range(3):
        killed = start("killed.db", f"killed-{turn}.log")
        wait_for_pages(killed, tmp_path / "killed.db", 8 * turn + 4)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        contents(tmp_path / "killed.db")
    last = start("killed.db", "last.log")
    assert last.wait() == 0
    assert contents(tmp_path / "killed.db") == contents(tmp_path / "whole.db")


def test_two_crawls_at_once_store_everything_once(start, tmp_path):
    both = [start("both.db", "one.log"), start("both.db", "other.log")]
    assert [crawl.wait() for crawl in both] == [0, 0]
    alone = start("alone.db", "alone.log")
    assert alone.wait() == 0
    assert contents(tmp_path / "both.db") == contents(tmp_path / "alone.db")


def test_a_file_that_stays_locked_ends_a_crawl(start, tmp_path):
    """The lock is waited for once, not once for each batch that is waiting. Ctrl-C does not wait longer."""
    crawls = {name: start(f"{name}.db", f"{name}.log") for name in ("alone", "interrupted")}
    with ExitStack() as held:
        for name, crawl in crawls.items():
            wait_for_pages(crawl, tmp_path / f"{name}.db", 4)
            connection = sqlite3.connect(tmp_path / f"{name}.db", isolation_level=None, timeout=600)
            held.enter_context(closing(connection)).execute("BEGIN IMMEDIATE")
        crawls["interrupted"].send_signal(signal.SIGINT)
        assert [crawl.wait(600) for crawl in crawls.values()] == [1, 130]
    for name in crawls:
        log = (tmp_path / f"{name}.log").read_text("utf-8")
        assert log.count(f"{name}.db stayed locked by another process") == 1
        assert "Traceback" not in log
        contents(tmp_path / f"{name}.db")
    assert "The crawl ended (store_failed)" in (tmp_path / "alone.log").read_text("utf-8")


def wait_for_pages(process, path, pages):
    """Return as soon as so many pages are stored, or the crawl has ended."""
    while process.poll() is None:
        if path.exists():
            with closing(sqlite3.connect(path, timeout=300)) as database:
                try:
                    if database.execute("select count(*) from page").fetchone()[0] >= pages:
                        return
                except sqlite3.OperationalError:  # the tables are not there yet
                    continue

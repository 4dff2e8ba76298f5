"""Crawls that are killed, and two at once: nothing is stored twice, nothing half, nothing is lost at the next crawl."""

import signal
import sqlite3
import subprocess
from contextlib import closing

import processes
import pytest

from crawler.demo.run import crawl_command, crawl_environment, run_site

CATEGORY = {"category": "Food-and-Drink"}


@pytest.fixture(scope="module")
def address():
    with run_site() as found:
        yield found


@pytest.fixture
def start(address, tmp_path):
    """Start a crawl of one category into a database of this name."""

    def run(database, log, **settings):
        quiet = {"LOG_FILE": str(tmp_path / log), "PROGRESS": "off", "STORE_BATCH_PAGES": "2"} | settings
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


def test_a_file_that_stays_locked_ends_a_crawl_and_ctrl_c_ends_its_wait(start, tmp_path):
    """One crawl waits for a second after its first try; the other one would wait for a day."""
    bounded = start("locked.db", "bounded.log", DATABASE_WAIT_SECONDS="1")
    patient = start("locked.db", "patient.log", DATABASE_WAIT_SECONDS="86400")
    wait_for_pages(bounded, tmp_path / "locked.db", 4)
    with closing(sqlite3.connect(tmp_path / "locked.db", isolation_level=None, timeout=600)) as database:
        database.execute("BEGIN IMMEDIATE")
        assert bounded.wait(600) == 1
        assert "DATABASE_WAIT_SECONDS=1" in (tmp_path / "bounded.log").read_text("utf-8")
        while "trying again for up to 86400 s" not in (tmp_path / "patient.log").read_text("utf-8"):
            with pytest.raises(subprocess.TimeoutExpired):
                patient.wait(0.1)
        patient.send_signal(signal.SIGINT)
        assert patient.wait(600) == 1
    contents(tmp_path / "locked.db")


def wait_for_pages(process, path, pages):
    """Return as soon as so many pages are stored, or the crawl has ended."""
    while process.poll() is None:
        if path.exists():
            with closing(sqlite3.connect(path, timeout=30)) as database:
                try:
                    if database.execute("select count(*) from page").fetchone()[0] >= pages:
                        return
                except sqlite3.OperationalError:  # the tables are not there yet
                    continue

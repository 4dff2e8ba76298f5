"""`scrapy dedup`."""

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import processes
import pytest
from sqlalchemy import update

from cleaning.fingerprint import SCHEMES
from crawler.storage.database import opened_engine
from crawler.storage.tables import page

COPIES = 4_000


@pytest.fixture
def compared(database):
    """The database of two pages, whose blocks' fingerprints (1 and 2) are two bits apart."""
    with opened_engine(f"sqlite:///{database}") as engine, engine.begin() as connection:
        connection.execute(update(page).values(scheme=SCHEMES["modified"]))
    return database


@pytest.fixture
def copied(compared):
    """The same with very many copies of the second page."""
    with closing(sqlite3.connect(compared)) as connection, connection:
        for table in ("page", "block"):
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            expressions = {"id": "id + n", "page_id": "page_id + n", "url": "url || n", "url_key": "url_key || n"}
            connection.execute(
                f"WITH copy(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copy WHERE n < {COPIES}) "
                f"INSERT INTO {table} ({', '.join(names)}) "
                f"SELECT {', '.join(expressions.get(name, name) for name in names)} FROM {table}, copy WHERE id = 2"
            )
        connection.execute("INSERT INTO fingerprint SELECT fingerprint, id, fingerprint FROM block WHERE id > 2")
    return compared


def rows(database, statement):
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(statement).fetchall()


def test_duplicates_become_sightings(scrapy, compared):
    done = scrapy("dedup")
    assert (done.returncode, done.stdout) == (0, "1 of 2 blocks became sightings of earlier ones\n")
    assert "1 of 1 duplicates made sightings" in done.stderr
    assert rows(compared, "SELECT block_id, distance, text FROM sighting") == [(1, 2, "a text of b.example")]


def test_a_dry_run_only_counts(scrapy, compared):
    counted = scrapy("dedup", "--dry-run", "--json")
    assert json.loads(counted.stdout) == {"pages_refingerprinted": 0, "compared": 2, "repeats": 1, "repointed": 0}
    assert rows(compared, "SELECT count(*) FROM block") == [(2,)]


def test_the_settings_of_crawls_hold(scrapy, compared):
    assert scrapy("dedup", "-s", "DEDUP_DISTANCE=1").stdout.startswith("0 of 2")
    assert scrapy("dedup", "-s", "DEDUP_SCOPE=site").stdout.startswith("0 of 2")


def test_another_scheme_is_an_error_until_refingerprinted(scrapy, database):
    refused = scrapy("dedup")
    assert refused.returncode == 1
    assert "scheme 'x'" in refused.stderr
    assert "--refingerprint" in refused.stderr
    done = scrapy("dedup", "--refingerprint", "-s", "FINGERPRINT_WEIGHTING=symmetric")
    assert done.stdout.startswith("recomputed the fingerprints of 2 pages\n0 of 0 blocks")
    assert rows(database, "SELECT DISTINCT scheme FROM page") == [(SCHEMES["symmetric"],)]


@pytest.mark.parametrize("options", [["--refingerprint", "--dry-run"], ["blocks.db"]])
def test_contradicting_options_are_an_error(scrapy, compared, options):
    assert scrapy("dedup", *options).returncode == 2
    assert rows(compared, "SELECT count(*) FROM block") == [(2,)]


def test_killed_at_any_moment_it_continues_at_the_next_start(scrapy, environment, copied):
    command = [sys.executable, "-m", "scrapy", "dedup"]
    with processes.start(
        command, cwd=copied.parent, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        for line in process.stderr:
            if "duplicates made sightings" in line:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    ((done,),) = rows(copied, "SELECT count(*) FROM sighting")
    assert 0 < done < COPIES
    finished = json.loads(scrapy("dedup", "--json").stdout)
    assert (finished["repeats"], finished["compared"]) == (COPIES + 1 - done, COPIES + 2 - done)
    assert rows(copied, "SELECT id FROM block") == [(1,)]
    assert rows(copied, "SELECT count(DISTINCT page_id), min(block_id), max(block_id) FROM sighting") == [
        (COPIES + 1, 1, 1)
    ]
    assert rows(copied, "PRAGMA foreign_key_check") == []

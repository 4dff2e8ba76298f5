"""`scrapy prune`."""

import json
import os
import pty
import sqlite3
import subprocess
import sys
from contextlib import closing

import processes
import psycopg
import pytest

COUNTED = {"pages": 1, "blocks": 1, "sightings": 0, "promoted": 0, "sections": 0, "requests": 0, "records": 0}


def pages(database):
    with closing(sqlite3.connect(database)) as connection:
        return [row[0] for row in connection.execute("SELECT site FROM page ORDER BY id")]


def test_a_site_is_removed_after_consent(scrapy, database):
    pruned = scrapy("prune", "--site", "a.example", "--yes")
    assert (pruned.returncode, pruned.stderr) == (0, "")
    assert pruned.stdout.startswith("removed 1 page, 1 block (0 of them kept")
    assert pages(database) == ["b.example"]


def test_a_site_is_removed_from_a_server(scrapy, on_server):
    pruned = scrapy("prune", "--site", "a.example", "--yes", "--json", DATABASE_URL=on_server)
    assert json.loads(pruned.stdout) == COUNTED
    with psycopg.connect(on_server) as connection:
        assert connection.execute("SELECT site FROM page").fetchall() == [("b.example",)]
        assert connection.execute("SELECT count(*) FROM fingerprint").fetchone() == (1,)


def test_without_a_terminal_removal_needs_yes(scrapy, database):
    refused = scrapy("prune", "--older-than", "30")
    assert refused.returncode == 1
    assert "nothing was removed; --yes removes without asking" in refused.stderr
    assert len(pages(database)) == 2


def test_a_dry_run_only_counts(scrapy, database):
    counted = scrapy("prune", "--url", "https://a.example/1", "--dry-run", "--json")
    assert json.loads(counted.stdout) == COUNTED
    assert len(pages(database)) == 2


def test_nothing_to_remove_is_not_an_error(scrapy, database):
    pruned = scrapy("prune", "--site", "a.example", "--older-than", "36500")
    assert (pruned.returncode, pruned.stdout.split(",")[0]) == (0, "removed 0 pages")


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        (["--site", "absent.example"], "no page of the site absent.example is in the database; `scrapy status` lists"),
        (["--url", "https://a.example/2"], "a.example/2 is not in the database; the most similar address is https://a"),
        (["--url", "https://absent.example/"], "absent.example/ is not in the database, nor is any page of absent"),
    ],
)
def test_an_unknown_page_or_site_is_named(scrapy, database, chosen, sentence):
    for mode in ("--yes", "--dry-run"):
        pruned = scrapy("prune", *chosen, mode)
        assert (pruned.returncode, pruned.stdout, pruned.stderr.count("\n")) == (1, "", 1)
        assert sentence in pruned.stderr


def test_a_site_that_gave_no_page_is_forgotten_too(scrapy, database):
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("INSERT INTO host (host) VALUES ('www.refusing.example')")
        connection.execute(
            "INSERT INTO alert (site, condition, since, sentence) VALUES ('refusing.example', 'refused', "
            "'2024-05-01 00:00:00', '9 of 9 visits were refused')"
        )
    counted = scrapy("prune", "--site", "refusing.example", "--dry-run")
    assert (counted.returncode, counted.stderr) == (0, "")
    assert counted.stdout.startswith("would remove 0 pages, ")
    assert counted.stdout.endswith(" 0 requests and 2 records of hosts, sitemaps, visits and conditions\n")
    assert scrapy("prune", "--site", "refusing.example", "--yes").stdout == counted.stdout.replace(
        "would ", "", 1
    ).replace("remove", "removed", 1)
    again = scrapy("prune", "--site", "refusing.example", "--yes")
    assert (again.returncode, again.stdout) == (1, "")
    assert "no page of the site refusing.example is in the database" in again.stderr


@pytest.mark.parametrize("options", [[], ["--older-than", "0"], ["--older-than", "soon"], ["a.example", "--yes"]])
def test_contradicting_options_are_an_error(scrapy, database, options):
    assert scrapy("prune", *options).returncode == 2
    assert len(pages(database)) == 2


def test_an_age_beyond_all_calendars_is_an_error(scrapy, database):
    for days in ("36501", "800000", "9" * 20):
        refused = scrapy("prune", "--older-than", days, "--yes")
        assert refused.returncode == 2
        assert f"--older-than is {days}; it takes a number of days from 1 to 36,500" in refused.stdout + refused.stderr
    assert len(pages(database)) == 2


@pytest.mark.parametrize(("answer", "code", "left"), [(b"y\n", 0, 1), (b"\n", 1, 2)])
def test_on_a_terminal_it_asks(environment, database, answer, code, left):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "scrapy", "prune", "--site", "a.example"]
    with processes.start(
        command, cwd=database.parent, env=environment, stdin=theirs, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as process:
        os.write(ours, answer)
        _, question = process.communicate()
    os.close(ours)
    os.close(theirs)
    assert b"This removes 1 page, 1 block" in question
    assert process.returncode == code
    assert len(pages(database)) == left

"""`scrapy status`."""

import json
import sqlite3
from contextlib import closing

import pytest


def test_everything_is_shown_without_control_characters(scrapy, database):
    printed = scrapy("status")
    assert (printed.returncode, printed.stderr) == (0, "")
    assert "\x1b" not in printed.stdout
    for part in (
        str(database),
        "2 pages of 2 sites, 2 blocks",
        "0 near-duplicate pages, 0 boilerplate texts",
        "a.example",
        "[/b]",
        "finished",
        "short 4",
        "captcha 1",
    ):
        assert part in printed.stdout


def test_json_contains_every_figure(scrapy, database):
    status = json.loads(scrapy("status", "--json").stdout)
    assert status["database"] == str(database)
    assert status["bytes"] >= database.stat().st_size
    totals = {"pages": 2, "blocks": 2, "sites": 2, "crawls": 1}
    assert status["totals"] == totals | dict.fromkeys(
        ("near_duplicate_pages", "gone_blocks", "sightings", "boilerplate"), 0
    )
    (crawl,) = status["crawls"]
    assert (crawl["pages"], crawl["kept"], crawl["dropped"], crawl["refused"]) == (2, 3, {"short": 4}, {"captcha": 1})
    assert crawl["arguments"] == {"token": "***"}
    assert {site["site"] for site in status["sites"]} == {"a.example", "b.example"}


def test_a_server_s_database_has_the_same_status(scrapy, database, on_server):
    here, there = (json.loads(scrapy("status", "--json", *more).stdout) for more in ([], url_option(on_server)))
    assert there["database"].startswith("postgresql+psycopg://***@")
    assert there["bytes"] > 1_000_000
    varying = {"database", "bytes", "crawls"}
    assert {k: v for k, v in there.items() if k not in varying} == {k: v for k, v in here.items() if k not in varying}
    (crawl,) = there["crawls"]
    assert (crawl["kept"], crawl["arguments"]) == (3, {"token": "***"})
    assert "2 pages of 2 sites" in scrapy("status", *url_option(on_server)).stdout


def url_option(url):
    return ["-s", f"DATABASE_URL={url}"]


def test_a_database_missing_on_a_server_is_named(scrapy, new_database):
    failed = scrapy("status", *url_option(f"{new_database()}_absent"))
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "_absent does not exist; create it with `createdb blocksieve_test_" in failed.stderr


REFUSED = "9 of 9 visits were refused"


def add_health(database):
    """Let two sites be refused, one of them without a page, one have moved, and the database be slow."""
    since, ended = "2024-05-01 12:00:00.000000", "2024-05-02 12:00:00.000000"
    counts = "new, changed, not_modified, sections, revisits, vanished, refused, failed, other"
    counts += ", blocks_seen, blocks_kept, words"
    alerts = [
        ("b.example", "refused", REFUSED, None),
        ("b.example", "vanished", "8 of 12 were not found", ended),
        ("c.example", "refused", REFUSED, None),
        ("database", "slow_database", "half took 9 s", None),
    ]
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.executemany(
            f"INSERT INTO alert (since, site, condition, sentence, ended) VALUES ('{since}', ?, ?, ?, ?)", alerts
        )
        connection.executemany(
            f"INSERT INTO site_crawl (site, crawl_id, ended, pages, {counts}) VALUES (?, 1, ?, ?{', 0' * 12})",
            [(site, ended, pages) for site, pages in (("a.example", 2), ("old.example", 2), ("gone.example", 0))],
        )
        connection.executemany(
            "INSERT INTO address (url_key, leads_to) VALUES (?, ?)",
            [
                ("https://www.old.example/1", "https://a.example/1"),
                ("https://a.example/other", "https://a.example/1"),
                ("https://very-old.example/1", "https://b.example/1"),
            ],
        )


def test_a_site_that_is_refused_does_not_look_fine(scrapy, database):
    add_health(database)
    printed = scrapy("status")
    assert (printed.returncode, printed.stderr) == (0, "")
    lines = printed.stdout.splitlines()
    assert lines[2:6] == [
        f"b.example: refused: {REFUSED}",
        f"c.example: refused: {REFUSED}",
        "database: slow database: half took 9 s",
        "old.example: its pages have moved to a.example",
    ]
    rows = [[cell.strip() for cell in line.split("│")[1:4]] for line in lines if ".example " in line and "│" in line]
    assert rows == [["b.example", "refused", "1"], ["c.example", "refused", "0"], ["a.example", "ok", "1"]]


def test_json_has_the_conditions_of_sites(scrapy, database):
    assert json.loads(scrapy("status", "--json").stdout)["sentences"] == []
    add_health(database)
    status = json.loads(scrapy("status", "--json").stdout)
    sentences = [f"b.example: refused: {REFUSED}", f"c.example: refused: {REFUSED}"]
    assert [(site["site"], site["state"], site["sentences"]) for site in status["sites"]] == [
        ("b.example", "refused", sentences[:1]),
        ("c.example", "refused", sentences[1:]),
        ("a.example", "ok", []),
    ]
    assert status["sites"][1]["last_seen"] is None
    assert status["moved"] == {"old.example": "a.example"}
    assert [(alert["site"], alert["condition"]) for alert in status["alerts"]] == [
        ("b.example", "refused"),
        ("c.example", "refused"),
        ("database", "slow_database"),
    ]
    assert status["sentences"][:2] == sentences


def test_waiting_work_is_shown(scrapy, database):
    fill_queue(database)
    output = scrapy("status").stdout
    for part in (
        "Due for a re-crawl: 1 page and 0 sections. Retired: 1 page and 0 sections.",
        "download_failed 2",
        "url=https://a.example/[/b]",
        "2099-01-01 00:00:00 UTC",
        "quota",
        "2.5 s",
    ):
        assert part in output, (part, output)
    assert "\x1b" not in output


def test_json_contains_waiting_work(scrapy, database):
    fill_queue(database)
    status = json.loads(scrapy("status", "--json").stdout)
    (queue,) = status["queues"]
    assert (queue["crawl_id"], queue["spider"], queue["state"]) == (2, "section", "open")
    assert (queue["queued"], queue["leased"], queue["processes"], queue["failed"]) == (3, 2, 1, {"download_failed": 2})
    assert queue["leased_until"].startswith("2099-01-01")
    assert [(host["host"], host["delay"], host["reason"]) for host in status["hosts"]] == [
        ("a.example", 0.0, "quota"),
        ("b.example", 2.5, None),
    ]
    assert status["due"] == {"pages": 1, "sections": 0, "retired_pages": 1, "retired_sections": 0}


def fill_queue(database):
    """Add an open crawl with requests in each state, hosts, and a page that is due beside one that is retired."""
    soon, then = "2024-05-01 12:00:00.000000", "2099-01-01 00:00:00.000000"
    states = ["queued"] * 3 + ["leased"] * 2 + ["failed"] * 2 + ["done"]
    request = "crawl_id, key, url, host, method, headers, cb_kwargs, meta, priority, attempts, added, state"
    with closing(sqlite3.connect(database)) as connection, connection:
        arguments = json.dumps({"url": "https://a.example/[/b]\x1b[2J"})
        connection.execute(
            "INSERT INTO crawl (spider, arguments, state, started, totals) VALUES ('section', ?, 'open', ?, '{}')",
            (arguments, soon),
        )
        connection.executemany(
            f"INSERT INTO request ({request}) VALUES (2, ?, 'u', 'h', 'GET', '{{}}', '{{}}', '{{}}', 0, 0, ?, ?)",
            [(str(number), soon, state) for number, state in enumerate(states)],
        )
        connection.execute("UPDATE request SET lease_id = 'one', lease_until = ? WHERE state = 'leased'", (then,))
        connection.execute("UPDATE request SET outcome = 'download_failed' WHERE state = 'failed'")
        connection.execute("INSERT INTO host (host, paused_until, reason) VALUES ('a.example', ?, 'quota')", (then,))
        connection.execute("INSERT INTO host (host, delay) VALUES ('b.example', 2.5)")
        connection.execute("UPDATE page SET spider = 'section', next_visit = ?", (soon,))
        connection.execute("UPDATE page SET retired_at = ? WHERE id = 2", (soon,))


def test_an_interrupted_recrawl_is_called_by_its_name(scrapy, database):
    values = {"url": "https://a.example/", "_recrawl": json.dumps({"CLEANING_METHOD": "default"})}
    with closing(sqlite3.connect(database)) as connection, connection:
        for arguments in (values, {"_recrawl": "{}"}):
            connection.execute(
                "INSERT INTO crawl (spider, arguments, state, started, totals, active_until) "
                "VALUES ('section', ?, 'open', ?, '{}', ?)",
                (json.dumps(arguments), "2024-05-01 12:00:00.000000", "2999-01-01 00:00:00.000000"),
            )
    output = scrapy("status").stdout
    assert "CLEANING_METHOD" not in output
    assert [row.split("│")[3].strip() for row in output.splitlines() if row.count("│") == 10 and "open" in row] == [
        "recrawl",
        "url=https://a.example/, recrawl",
    ]


@pytest.mark.parametrize("number", ["-1", "10001", "9" * 20])
def test_a_number_of_crawls_has_bounds(scrapy, database, number):
    refused = scrapy("status", "--crawls", number)
    assert refused.returncode == 2
    assert f"--crawls is {number}; it takes a number from 0 to 10,000" in refused.stdout + refused.stderr
    assert json.loads(scrapy("status", "--crawls", "0", "--json").stdout)["crawls"] == []


def test_an_empty_database_has_a_status(scrapy):
    scrapy("initdb")
    assert "0 pages of 0 sites" in scrapy("status").stdout


def test_a_missing_database_is_named_and_not_created(scrapy, tmp_path):
    failed = scrapy("status")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert f"there is no database at {tmp_path / 'blocks.db'}" in failed.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_a_database_is_named(scrapy, tmp_path):
    (tmp_path / "blocks.db").write_text("dear diary " * 100)
    failed = scrapy("status")
    assert failed.returncode == 1
    assert "is not an SQLite database" in failed.stderr
    assert "Traceback" not in failed.stderr

"""`scrapy status`."""

import io
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from rich.console import Console
from scrapy.settings import Settings

from crawler.commands import status
from crawler.config import Config
from crawler.storage.database import opened_engine, read_transaction
from crawler.storage.queries import CrawlReport


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
    ):
        assert part in printed.stdout
    lines = printed.stdout.splitlines()
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if "│ finished │" in line]
    assert [row[5:] for row in cells] == [["0", "0", "0", "3", "4", "1", "0", "0"]]


def test_details_have_the_arguments_and_all_reasons(scrapy, database):
    lines = scrapy("status", "--details").stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("crawl 1 "))
    card = [line.strip() for line in lines[start + 1 : start + 5]]
    assert card == ["arguments: token=***", "pages: 2", "blocks: 3 kept, 4 dropped: short 4", "refused: captcha 1"]


def test_json_contains_every_figure(scrapy, database):
    record = json.loads(scrapy("status", "--json").stdout)
    assert record["database"] == str(database)
    assert record["bytes"] >= database.stat().st_size
    totals = {"pages": 2, "blocks": 2, "sites": 2, "crawls": 1}
    assert record["totals"] == totals | dict.fromkeys(
        ("near_duplicate_pages", "gone_blocks", "sightings", "boilerplate"), 0
    )
    (crawl,) = record["crawls"]
    assert (crawl["pages"], crawl["kept"], crawl["dropped"], crawl["refused"]) == (2, 3, {"short": 4}, {"captcha": 1})
    assert crawl["arguments"] == {"token": "***"}
    assert {site["site"] for site in record["sites"]} == {"a.example", "b.example"}


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
        f"b.example: refused since 2024-05-01 12:00 UTC: {REFUSED}",
        f"c.example: refused since 2024-05-01 12:00 UTC: {REFUSED}",
        "database: slow database since 2024-05-01 12:00 UTC: half took 9 s",
        "old.example: its pages have moved to a.example",
    ]
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if ".example " in line and "│" in line]
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        ("b.example", "1", "refused"),
        ("c.example", "0", "refused"),
        ("a.example", "1", "ok"),
    ]


def test_a_narrow_terminal_shows_cards_without_a_cut_word(database):
    add_health(database)
    fill_queue(database)
    url = f"sqlite:///{database}"
    with opened_engine(url, must_exist=True) as engine, read_transaction(engine) as connection:
        report = status._status(connection, Config.read(Settings({"DATABASE_URL": url})), 5)
    out = io.StringIO()
    status._print(report, Console(file=out, width=80), details=False)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) < 45
    assert not any("…" in line for line in lines)
    cards = [line.strip() for line in lines]
    for part in (
        ["b.example  refused", "1 page, 1 block, 0 sightings, last seen"],
        ["c.example  refused", "0 pages, 0 blocks, 0 sightings"],
        ["pages: 2", "blocks: 3 kept, 4 dropped", "refused: captcha 1"],
        ["3 queued, 2 leased until 2099-01-01 00:00:00 UTC by 1 process", "failed: download failed 2"],
    ):
        assert any(
            all(line.startswith(words) for line, words in zip(cards[number:], part, strict=False))
            for number in range(len(cards) - len(part) + 1)
        ), (part, cards)


PAST_DAY = datetime(2024, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("counters", "colour"),
    [
        ({"visit/page": 2, "store/pages_new": 2}, "green"),
        ({"visit/not_modified": 2}, "green"),
        ({"visit/page": 2, "visit/forbidden": 1}, "yellow"),
        ({"visit/forbidden": 9}, "red"),
        ({"visit/not_found": 9}, "red"),
    ],
)
def test_the_colour_of_a_crawl_is_its_outcome(counters, colour):
    report = CrawlReport(1, "section", {}, "finished", PAST_DAY, PAST_DAY, "finished", counters)
    assert (status._crawl_state(report).plain, status._crawl_state(report).style) == ("finished", colour)


def test_pages_that_were_not_modified_are_unchanged():
    counters = {"store/pages_unchanged": 3, "visit/not_modified": 168}
    report = CrawlReport(2, "section", {}, "open", PAST_DAY, None, None, counters)
    lines = [line.plain for line in status._crawl_card(report, details=False)]
    assert lines == ["crawl 2  section  open  2024-05-01 00:00 UTC, not ended", "pages: 171 unchanged"]


def test_json_has_the_conditions_of_sites(scrapy, database):
    assert json.loads(scrapy("status", "--json").stdout)["sentences"] == []
    add_health(database)
    record = json.loads(scrapy("status", "--json").stdout)
    sentences = [f"{site}: refused since 2024-05-01 12:00 UTC: {REFUSED}" for site in ("b.example", "c.example")]
    assert [(site["site"], site["state"], site["sentences"]) for site in record["sites"]] == [
        ("b.example", "refused", sentences[:1]),
        ("c.example", "refused", sentences[1:]),
        ("a.example", "ok", []),
    ]
    assert record["sites"][1]["last_seen"] is None
    assert record["moved"] == {"old.example": "a.example"}
    assert [(alert["site"], alert["condition"]) for alert in record["alerts"]] == [
        ("b.example", "refused"),
        ("c.example", "refused"),
        ("database", "slow_database"),
    ]
    assert record["sentences"][:2] == sentences


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
    record = json.loads(scrapy("status", "--json").stdout)
    (queue,) = record["queues"]
    assert (queue["crawl_id"], queue["spider"], queue["state"]) == (2, "section", "open")
    assert (queue["queued"], queue["leased"], queue["processes"], queue["failed"]) == (3, 2, 1, {"download_failed": 2})
    assert queue["leased_until"].startswith("2099-01-01")
    assert [(host["host"], host["delay"], host["reason"]) for host in record["hosts"]] == [
        ("a.example", 0.0, "quota"),
        ("b.example", 2.5, None),
    ]
    assert record["due"] == {"pages": 1, "sections": 0, "retired_pages": 1, "retired_sections": 0}


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

"""`scrapy status`."""

import json


def test_everything_is_shown_and_nothing_obeyed(scrapy, database):
    shown = scrapy("status")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "\x1b" not in shown.stdout
    for part in (
        str(database),
        "2 pages of 2 sites, 2 blocks",
        "0 mirrors, 0 texts that are template",
        "a.example",
        "[/b]",
        "finished",
        "short 4",
        "captcha 1",
    ):
        assert part in shown.stdout


def test_json_holds_every_figure(scrapy, database):
    status = json.loads(scrapy("status", "--json").stdout)
    assert status["database"] == str(database)
    assert status["bytes"] >= database.stat().st_size
    totals = {"pages": 2, "blocks": 2, "sites": 2, "crawls": 1}
    assert status["totals"] == totals | dict.fromkeys(("mirrors", "gone_blocks", "sightings", "templates"), 0)
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


def test_a_database_that_a_server_lacks_is_named(scrapy, new_database):
    failed = scrapy("status", *url_option(f"{new_database()}_absent"))
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "_absent does not exist; create it with `createdb blocksieve_test_" in failed.stderr


def test_an_empty_database_has_a_status(scrapy):
    scrapy("initdb")
    assert "0 pages of 0 sites" in scrapy("status").stdout


def test_a_missing_database_is_named_and_not_made(scrapy, tmp_path):
    failed = scrapy("status")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert f"there is no database at {tmp_path / 'blocks.db'}" in failed.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_named(scrapy, tmp_path):
    (tmp_path / "blocks.db").write_text("dear diary " * 100)
    failed = scrapy("status")
    assert failed.returncode == 1
    assert "is not an SQLite database" in failed.stderr
    assert "Traceback" not in failed.stderr

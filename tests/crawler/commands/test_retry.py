"""`scrapy retry`: failed requests are queued again, and the printed command fetches them."""

import json
import shlex
import sqlite3
from contextlib import closing

import pytest

FAST = {
    "ALLOW_ADDRESSES": "127.0.0.0/8",
    "AUTOTHROTTLE_ENABLED": "0",
    "PROGRESS": "off",
    "RETRY_TIMES": "0",
    "ROBOTSTXT_OBEY": "0",
}
PROSE = "The ferryman of the northern lake told visitor {0} how many storms he had crossed in the year {0}. "


@pytest.fixture
def site(serve, answer):
    """A section of three articles, of which two are broken: its address, its answers and the paths asked for."""
    links = "".join(
        f'<h2><a href="/lake-news/article-{n}-of-the-ferryman.html">Article number {n} of the lake</a></h2>'
        for n in range(3)
    )
    answers = {"/lake-news/": answer(f"<html><body><h1>News</h1>{links}</body></html>")}
    for n in range(3):
        text = f"<h1>Number {n}</h1>" + f"<p>{PROSE.format(n) * 4}</p>" * 3
        path = f"/lake-news/article-{n}-of-the-ferryman.html"
        answers[path] = answer(f"<html><body><article>{text}</article></body></html>", 500 if n else 200)
    address, requests = serve(answers)
    return f"{address}/lake-news/", answers, requests


def repair(answers):
    for answer in answers.values():
        answer.status = 200


@pytest.fixture
def run(scrapy):
    """Run a command with settings in which nobody is spared."""
    return lambda *words: scrapy(*words, *(word for name, value in FAST.items() for word in ("-s", f"{name}={value}")))


@pytest.fixture
def rows(tmp_path):
    def read(query):
        with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
            return database.execute(query).fetchall()

    return read


def test_failed_requests_are_fetched_by_the_printed_command(run, scrapy, site, rows):
    url, answers, requests = site
    assert run("crawl", "section", "-a", f"url={url}").returncode == 0
    assert rows("SELECT state, count(*) FROM request GROUP BY 1 ORDER BY 1") == [("done", 2), ("failed", 2)]
    repair(answers)
    retried = run("retry", "--failed")
    assert (retried.returncode, retried.stderr) == (0, "")
    first, named = retried.stdout.splitlines()
    assert first == "crawl 1: 2 requests are queued again (http_error 2)"
    assert rows("SELECT state, finished, reason FROM crawl") == [("open", None, None)]
    requests.clear()
    program, *words = shlex.split(named)
    assert program == "scrapy"
    options = [word for name, value in FAST.items() for word in ("-s", f"{name}={value}")]
    assert words == ["crawl", "section", "-a", f"url={url}", *options]
    again = scrapy(*words)
    assert again.returncode == 0, again.stderr
    broken = [path for path in answers if "article" in path and "-0-" not in path]
    assert sorted(path for path, _ in requests) == broken
    assert rows("SELECT count(*) FROM page") == [(3,)]
    assert rows("SELECT state, reason FROM crawl") == [("finished", "finished")]


def test_a_crawl_whose_requests_all_fail_again_fails(run, site):
    url, _, _ = site
    run("crawl", "section", "-a", f"url={url}")
    run("retry", "--failed")
    again = run("crawl", "section", "-a", f"url={url}")
    assert again.returncode == 1
    assert "no page was stored (http_error 2)" in again.stderr


@pytest.fixture
def failed(database):
    """Put a request that failed into the database's crawl, which has a secret among its arguments."""
    columns = "crawl_id, key, url, host, method, headers, cb_kwargs, meta, priority, state, attempts, added, outcome"
    texts = ("k", "https://a.example/", "a.example", "GET", "{}", "{}", "{}")
    values = (1, *texts, 0, "failed", 1, "2024-05-01 12:00:00.000000", "download_failed")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE crawl SET spider = 'ezine'")
        connection.execute(f"INSERT INTO request ({columns}) VALUES ({', '.join('?' * len(values))})", values)


def test_a_dry_run_changes_nothing(scrapy, failed, rows):
    before = rows("SELECT * FROM request ORDER BY id"), rows("SELECT * FROM crawl ORDER BY id")
    output = scrapy("retry", "--failed", "--dry-run").stdout
    assert output.startswith("crawl 1: 1 request would be queued again (download_failed 1)\n  scrapy crawl ezine")
    assert (rows("SELECT * FROM request ORDER BY id"), rows("SELECT * FROM crawl ORDER BY id")) == before


def test_nothing_to_retry_is_not_an_error(scrapy, failed, rows):
    for chosen in (["--spider", "section"], ["--host", "b.example"], ["--outcome", "quota"]):
        retried = scrapy("retry", "--failed", *chosen)
        assert (retried.returncode, retried.stderr) == (0, "")
        assert retried.stdout == "nothing to retry: no such request failed in the latest crawls\n"
    assert json.loads(scrapy("retry", "--failed", "--json", "--spider", "section").stdout) == []
    assert rows("SELECT state FROM request") == [("failed",)]


def test_a_secret_must_be_given_again(scrapy, failed, database):
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE crawl SET settings = ?", (json.dumps({"API_KEY": "***", "LOG_LEVEL": "INFO"}),))
    _, command, secret = scrapy("retry", "--failed").stdout.splitlines()
    assert command == "  scrapy crawl ezine -a 'token=***' -s 'API_KEY=***' -s LOG_LEVEL=INFO"
    assert secret == "  *** stands for a secret that was not stored: give token, API_KEY again"


def test_json_has_the_crawl_and_its_command(scrapy, failed):
    chosen = ["--spider", "ezine", "--host", "a.example", "--outcome", "download_failed"]
    assert json.loads(scrapy("retry", "--failed", "--json", *chosen).stdout) == [
        {
            "crawl_id": 1,
            "spider": "ezine",
            "arguments": {"token": "***"},
            "failed": {"download_failed": 1},
            "processes": 0,
            "command": "scrapy crawl ezine -a 'token=***'",
            "masked": ["token"],
        }
    ]


def test_failed_is_a_required_option(scrapy):
    refused = scrapy("retry")
    assert refused.returncode == 2
    assert "the option --failed is required" in refused.stderr

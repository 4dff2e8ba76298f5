"""Jobs: what an editor starts runs as on the command line, with a log, and can be stopped."""

import socket
import sqlite3
import time
from contextlib import closing

import pytest
import taught_site

from crawler.editing import jobs as jobs_module
from crawler.editing.jobs import JobRefusedError, Jobs
from crawler.errors import NotStoredError, QueryError

LISTING = "".join(f'<p><a href="/news/{number}">Harbour wall of place {number} repaired</a></p>' for number in (1, 2))
SECONDS = 300
pytestmark = pytest.mark.slow


@pytest.fixture
def site(serve, answer):
    pages = {f"/news/{number}": answer(taught_site.page_html(number)) for number in (1, 2)}
    return serve({"/news/": answer(f"<title>News</title>{LISTING}")} | pages)[0]


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "crawler.settings")
    with Jobs(["ALLOW_ADDRESSES=127.0.0.0/8", "AUTOTHROTTLE_ENABLED=0", "DOWNLOAD_DELAY=0"]) as jobs:
        yield jobs


def rows(tmp_path, query):
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as connection:
        return connection.execute(query).fetchall()


def ended(job):
    job.process.wait(SECONDS)
    return job.state


def test_a_section_is_crawled_visited_again_and_set_aside(jobs, site, tmp_path):
    url = f"{site}/news/"
    first = jobs.start("crawl", url)
    assert (first.number, first.command.startswith(f"scrapy crawl section -a url={url} -s ALLOW")) == (1, True)
    assert ended(first) == "done", first.tail()
    assert rows(tmp_path, "SELECT url, retired_at FROM section") == [(url, None)]
    assert ended(jobs.start("section", f" {url} ")) == "done"
    assert ended(jobs.start("page", f"{site}/news/1")) == "done"
    assert rows(tmp_path, "SELECT max(visits), (SELECT max(visits) FROM section) FROM page") == [(2, 2)]
    aside = jobs.start("set_aside", url)
    assert (ended(aside), aside.tail()) == ("done", f"{url} is set aside: no re-crawl visits it\n")
    again = jobs.start("section", url)
    assert ended(again) == "failed with exit code 2"
    assert "has been gone from its site, or set aside, since" in again.tail()
    assert ended(jobs.start("crawl", url)) == "done"
    assert rows(tmp_path, "SELECT retired_at FROM section") == [(None,)]
    assert [job.number for job in jobs.latest()] == [6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    "url", ["", "ftp://a.example/", "--output=x", "file:///etc/passwd", "javascript:alert(1)", "https://", "x" * 5000]
)
def test_addresses_that_no_crawl_can_fetch(jobs, url):
    with pytest.raises(QueryError, match="is no address of a web page"):
        jobs.start("crawl", url)
    assert jobs.latest() == []


def test_other_actions_and_jobs_that_there_are_not(jobs):
    with pytest.raises(QueryError, match="the action is 'prune'; it is crawl, page, section, set_aside"):
        jobs.start("prune", "https://a.example/")
    for ask in (jobs.job, jobs.stop):
        with pytest.raises(NotStoredError, match="there is no job 7"):
            ask(7)


@pytest.fixture
def slow_site():
    """A site that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def running(jobs, site):
    """Start a crawl; return it when it waits for the site."""
    job = jobs.start("crawl", f"{site}/news/")
    deadline = time.monotonic() + SECONDS
    while "Spider opened" not in job.tail():
        assert (job.exit_code, time.monotonic() < deadline) == (None, True), job.tail()
        time.sleep(0.05)
    return job


def test_a_job_is_stopped_and_a_second_stop_kills_it(jobs, slow_site):
    job = running(jobs, slow_site)
    jobs.stop(job.number)
    assert job.state in {"stopping", "stopped"}
    jobs.stop(job.number)
    assert ended(job) == "stopped"
    jobs.stop(job.number)
    assert job.state == "stopped"


def test_no_more_jobs_than_the_limit_and_none_outlives_the_server(jobs, slow_site, monkeypatch):
    monkeypatch.setattr(jobs_module, "MAX_RUNNING", 1)
    monkeypatch.setattr(jobs_module, "_END_SECONDS", 0.5)
    job = running(jobs, slow_site)
    with pytest.raises(JobRefusedError, match="1 jobs run already: wait for one, or stop one"):
        jobs.start("crawl", "https://a.example/")
    jobs.close()
    assert job.exit_code is not None
    assert not job.log.exists()
    assert job.tail() == "the log cannot be read: No such file or directory"


def test_the_end_of_a_long_log_begins_with_a_line(jobs, site):
    job = jobs.start("set_aside", f"{site}/news/")
    ended(job)
    job.log.write_text("".join(f"line {number}\n" for number in range(10_000)))
    assert 19_900 < len(job.tail()) <= 20_000
    assert job.tail().startswith("line ")
    assert job.tail().endswith("line 9999\n")


def test_old_jobs_are_forgotten(jobs, site, monkeypatch):
    monkeypatch.setattr(jobs_module, "_KEPT", 1)
    first = jobs.start("set_aside", f"{site}/news/")
    ended(first)
    second = jobs.start("set_aside", f"{site}/news/")
    ended(second)
    assert jobs.latest() == [second]
    assert not first.log.exists()


def test_a_command_shows_no_secret(site):
    with Jobs(["DATABASE_URL=postgresql://anna:sesame@db.example/blocks"]) as jobs:
        job = jobs.start("set_aside", f"{site}/news/")
        ended(job)
    assert "sesame" not in job.command
    assert "db.example" in job.command

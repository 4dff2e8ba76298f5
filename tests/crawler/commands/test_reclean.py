"""`scrapy reclean`: another method for stored pages, killed and continued."""

import json
import os
import signal
import sys
import time

import processes
import pytest
from cleaned_pages import address, fill, html, state, visit
from sqlalchemy import text as sql

from crawler.storage import schema
from crawler.storage.database import open_engine, opened_engine
from crawler.storage.store import Store

PAGES = 60
SECONDS = 300


def filled(url, pages, method="default", **values):
    with opened_engine(url) as engine:
        schema.prepare_schema(engine)
        fill(Store(engine, **values), pages, method=method)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    return (
        f"sqlite:///{tmp_path / 'blocks.db'}"
        if request.param == "sqlite"
        else request.getfixturevalue("new_database")()
    )


@pytest.fixture
def killed(environment, tmp_path):
    """Kill the command when it has stored some pages, and not yet all."""

    def run(engine, *arguments):
        command = [sys.executable, "-m", "scrapy", *arguments]
        silent = {"stdout": processes.subprocess.DEVNULL, "stderr": processes.subprocess.DEVNULL}
        process = processes.start(command, cwd=tmp_path, env=environment, **silent)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until and process.poll() is None:
            with engine.connect() as connection:
                if connection.execute(sql("SELECT sum(pages) FROM reclean")).scalar():
                    break
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    return run


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The state of a database whose pages were cleaned by the other method in the first place."""
    url = f"sqlite:///{tmp_path_factory.mktemp('undisturbed') / 'blocks.db'}"
    filled(url, PAGES, method="pab")
    with opened_engine(url) as engine:
        return state(engine)


def test_a_killed_run_continues_to_the_same_result(url, scrapy, killed, undisturbed):
    filled(url, PAGES)
    settings = ["-s", f"DATABASE_URL={url}", "-s", "BOILERPLATE_MIN_PAGES=0"]
    command = ["reclean", "--method", "pab", "--processes", "1", *settings]
    engine = open_engine(url)
    killed(engine, *command)
    methods = {page[8] for page in state(engine)["pages"]}
    assert methods == {"default", "pab"}
    rest = scrapy(*command, "--format", "json")
    assert rest.returncode == 0, rest.stderr
    summary = json.loads(rest.stdout)
    assert 0 < summary["pages"] < PAGES
    assert f"pages already done: {PAGES - summary['pages']}\n" in rest.stderr
    after = state(engine)
    engine.dispose()
    assert [page[8:] for page in after["pages"]] == [page[8:] for page in undisturbed["pages"]]
    for name in ("views", "document_frequency"):
        assert after[name] == undisturbed[name]


def test_output_and_errors(scrapy, tmp_path):
    url = f"sqlite:///{tmp_path / 'blocks.db'}"
    filled(url, 2)
    with opened_engine(url) as engine:
        Store(engine, keep_html=False).save(1, [visit(2)])
    printed = scrapy("reclean", "--dry-run", "--processes", "1", "--site", "lake.example.org")
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.startswith("Nothing is stored")
    assert "3 pages" in printed.stdout
    assert f"no_html: {address(2)}" in printed.stdout
    for arguments, code, says in (
        (["nowhere.warc.gz"], 1, "there is no archive"),
        (["--method", "vce"], 1, "the method vce needs a page's layout, which is not stored"),
        (["--method", "pabb"], 2, "did you mean 'pab'"),
    ):
        refused = scrapy("reclean", *arguments)
        assert (refused.returncode, says in refused.stderr) == (code, True), refused.stderr


def test_a_page_is_cleaned_again_from_an_archive(scrapy, tmp_path):
    url = f"sqlite:///{tmp_path / 'blocks.db'}"
    (tmp_path / "index.tsv").write_text(f"file\turl\n0.html\t{address(0)}\n", "utf-8")
    (tmp_path / "0.html").write_text(html(0), "utf-8")
    filled(url, 1, keep_html=False)
    done = scrapy("reclean", str(tmp_path), "--processes", "1", "--format", "json")
    summary = json.loads(done.stdout)
    assert (summary["pages"], summary["unchanged"], summary["skipped"], summary["processes"]) == (1, 1, {}, {})
    assert (summary["complete"], summary["dry_run"], summary["cleaned_by"]) == (True, False, {"default": 1})

"""A saved page without an address: its own links are not outer in crawls, in workers, in reclean and in explain."""

import json
import os
import sys
from contextlib import closing
from pathlib import Path

import processes
import pytest
from sqlalchemy import text

from crawler.storage.database import open_engine

ROOT = Path(__file__).parents[3]
HOME = "http://www.site.example/"
STORY = (
    "<!DOCTYPE html><html><head><title>Story</title></head><body>"
    f'<p>The first story <a href="{HOME}1">links</a> to <a href="{HOME}2">its own site</a>.</p>'
    '<p>The second <img src="http://img.site.example/a.png" alt=""> has a picture.</p></body></html>'
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with the same page in two places: without an address, and with one of another site."""
    folder = tmp_path_factory.mktemp("saved")
    rows = ["site\tfile\turl", "mine\ta.html\t", "known\tb.html\thttps://www.other.example/b"]
    (folder / "index.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    for site, name in (("mine", "a.html"), ("known", "b.html")):
        (folder / site).mkdir()
        (folder / site / name).write_text(STORY, "utf-8")
    return folder


@pytest.fixture
def scrapy(tmp_path):
    database = f"sqlite:///{tmp_path / 'blocks.db'}"

    def run(*arguments):
        line = [sys.executable, "-m", "scrapy", *arguments, "-s", f"DATABASE_URL={database}", "-s", "PROGRESS=off"]
        environ = os.environ | {"PYTHONPATH": str(ROOT), "SCRAPY_SETTINGS_MODULE": "crawler.settings"}
        finished = processes.run(line, cwd=tmp_path, env=environ, capture_output=True, text=True)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    def texts():
        with closing(open_engine(database).connect()) as connection:
            query = "SELECT page.site, page_text.text FROM page_text JOIN page ON page.id = page_id"
            return sorted(tuple(row) for row in connection.execute(text(query)))

    run.texts = texts
    return run


@pytest.mark.parametrize("workers", [0, 1])
def test_the_sites_own_links_are_not_outer(scrapy, saved, workers):
    options = ("-s", f"REPLAY={saved}", "-s", "CLEANING_METHOD=pab", "-s", f"CLEANING_PROCESSES={workers}")
    scrapy("crawl", "archive", *options, "-s", "DEDUP_SCOPE=off", "-s", "BOILERPLATE_MIN_PAGES=0")
    kept = [("mine.invalid", "Story"), ("mine.invalid", "The first story links to its own site.")]
    kept += [("mine.invalid", "The second has a picture.")]
    # Where the address is known, the links lead to another site.
    elsewhere = [("other.example", "Story"), ("other.example", "The second has a picture.")]
    assert scrapy.texts() == kept + elsewhere
    if not workers:
        return
    again = json.loads(scrapy("reclean", "--method", "pab", "--processes", "1", "--format", "json"))
    assert (again["changed"], again["unchanged"]) == (0, 2)
    explained = json.loads(scrapy("explain", "https://mine.invalid/a.html", "--json"))
    assert explained["url"] is None
    assert sum(block["reason"] == "kept" for block in explained["blocks"]) == 3

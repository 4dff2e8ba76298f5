"""Real crawls with STRUCTURE, with and without cleaning processes: the database and the feed have the Markdown."""

import json
import sqlite3
from contextlib import closing

import pytest
from cleaned_pages import STRUCTURED

from cleaning import clean

pytestmark = pytest.mark.slow
PIPELINES = ("pipelines.clean.CleanPipeline", "pipelines.dedup.DedupPipeline", "pipelines.store.StorePipeline")
QUERIES = (
    "SELECT markdown, nodes FROM page_structure ORDER BY markdown",
    "SELECT position, text, table_row, table_column, list_depth FROM placed_block ORDER BY position, text",
    "SELECT text FROM block_link ORDER BY position, text",
)


@pytest.fixture
def structured(visit, tmp_path):
    """Crawl two pages, and return their addresses, the rows of the database and the items of the feed."""

    def run(path, body=STRUCTURED, **settings):
        name, feed = f"sqlite:///{tmp_path}/{path}.db", tmp_path / f"{path}.jsonl"
        defaults = {
            "ITEM_PIPELINES": json.dumps(dict(zip(PIPELINES, (100, 200, 300), strict=True))),
            "DATABASE_URL": name,
            "FEEDS": json.dumps({str(feed): {"format": "jsonlines"}}),
        }
        pages = {"/a": {"body": body}, "/b": {"body": body.replace("Fares", "Prices")}}
        crawled = visit(pages, **(defaults | settings))
        assert crawled.code == 0, crawled.log
        with closing(sqlite3.connect(tmp_path / f"{path}.db")) as database:
            urls = [row[0] for row in database.execute("SELECT url FROM page ORDER BY url")]
            rows = [database.execute(query).fetchall() for query in QUERIES]
        items = [json.loads(line) for line in feed.read_text("utf-8").splitlines()]
        return urls, rows, {item["url"]: item for item in items}

    return run


def test_a_crawl_stores_the_structure_in_one_process_and_in_several(structured):
    body = STRUCTURED.replace('"/harbour"', '"https://lake.example.org/harbour"')
    urls, alone, items = structured("alone", body, STRUCTURE="True")
    _, together, _ = structured("together", body, STRUCTURE="True", CLEANING_PROCESSES="1")
    assert together == alone
    bodies = dict(zip(urls, (body, body.replace("Fares", "Prices")), strict=True))
    for url, item in items.items():
        assert item["markdown"] == clean(bodies[url].encode(), url).markdown
    assert sorted(row[0] for row in alone[0]) == sorted(item["markdown"] for item in items.values())
    assert [row[1] for row in alone[1] if row[2:4] == (3, 2)] == ["6.25", "6.25"]


def test_without_the_setting_nothing_of_it_is_stored(structured):
    _, rows, items = structured("plain")
    assert rows == [[], [], []]
    assert len(items) == 2
    assert not any("markdown" in item for item in items.values())

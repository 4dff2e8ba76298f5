"""Feeds get one clean item for each page, the spider's own items as they are, and nothing else."""

import csv
import json
import sqlite3
from contextlib import closing

import pytest
from lxml import etree
from scrapy.settings import Settings

import crawler.settings
from crawler.addon import Blocksieve
from crawler.errors import ConfigError
from crawler.monitoring.exit_status import find_exit_status
from crawler.page import PageItem

WORDS = "the old bridge was closed until the morning, when the mayor came to see what the river had left of it"
STORY = (
    "<html lang=en><head><title>The {0}</title><meta name=author content='Ada Quill, Ben Ink'>"
    "<meta property=article:published_time content=2024-05-03T10:00:00Z></head><body><nav><a href=/>Home</a></nav>"
    "<article><h1>The {0} rose</h1><p>The {0}, &#xfffe;{1}.<p>And later {1}, which everyone at the {0} had feared."
    "</article></body></html>"
)
SPIDER = """
from scrapy import Request, Spider
from crawler.page import page

class Stories(Spider):
    name = "stories"

    async def start(self):
        yield Request(self.site + "/")

    def parse(self, response):
        yield {"listing": response.url}
        for path in ("/river", "/lake", "/gone", "/sound"):
            yield response.follow(path, callback=self.parse_story)

    def parse_story(self, response):
        yield page(response, section="Water")
"""
FORMATS = ("jsonl", "json", "csv", "xml")


@pytest.fixture
def stories(crawl, serve, answer, tmp_path):
    """Crawl into a database and into feeds of all formats, with another process that cleans."""
    pages = {f"/{name}": answer(STORY.format(name, WORDS)) for name in ("river", "lake")}
    sound = answer("no", 200, {"Content-Type": "audio/ogg"})
    site, _ = serve({"/": answer("<title>All</title><a href=/river>One</a>"), "/sound": sound, **pages})
    (tmp_path / "stories.py").write_text(SPIDER)
    of_pages = {"overwrite": True, "item_classes": ["crawler.page.PageItem"]}
    feeds = {f"items.{form}": {"format": form, **of_pages} for form in FORMATS}
    feeds["own.jsonl"] = {"format": "jsonl", "overwrite": True, "item_classes": ["builtins.dict"]}
    settings = {
        "ITEM_PIPELINES": json.dumps(crawler.settings.ITEM_PIPELINES),
        "FEEDS": json.dumps(feeds),
        "CLEANING_PROCESSES": "1",
    }

    def run(**more):
        return crawl(tmp_path / "stories.py", {"site": site, **more}, settings, folder=tmp_path), site

    return run


def test_feeds_of_every_format_have_one_clean_item_a_page(stories, tmp_path):
    crawled, site = stories()
    assert crawled.code == 0
    assert "Traceback" not in crawled.log
    assert "Dropped" not in crawled.log
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text("utf-8").splitlines()]
    assert sorted(item["url"] for item in items) == [f"{site}/lake", f"{site}/river"]
    item = next(item for item in items if item["url"].endswith("/river"))
    blocks = item.pop("blocks")
    assert [(block["kind"], block["text"]) for block in blocks] == [
        ("paragraph", f"The river, {WORDS}."),
        ("paragraph", f"And later {WORDS}, which everyone at the river had feared."),
    ]
    assert item.pop("text") == "\n".join(block["text"] for block in blocks)
    assert item.pop("fetched").endswith("+00:00")
    assert item == {
        "url": f"{site}/river",
        "site": site.removeprefix("http://"),
        "title": "The river rose",
        "author": "Ada Quill, Ben Ink",
        "published": "2024-05-03T10:00:00Z",
        "language": "en",
        "section": "Water",
        "type": "article",
    }
    assert json.loads((tmp_path / "items.json").read_text("utf-8")) == [
        json.loads(line) for line in (tmp_path / "items.jsonl").read_text("utf-8").splitlines()
    ]
    with (tmp_path / "items.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["url"]: row for row in csv.DictReader(file)}
    assert list(rows[f"{site}/river"]) == list(PageItem.fields)
    assert json.loads(rows[f"{site}/river"]["blocks"]) == blocks
    tree = etree.parse(tmp_path / "items.xml")
    assert sorted(tree.xpath("//item/url/text()")) == sorted(rows)
    assert "None" not in tree.xpath("string()")
    assert json.loads((tmp_path / "own.jsonl").read_text()) == {"listing": f"{site}/"}
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
        assert sorted(url for (url,) in database.execute("SELECT url FROM page")) == sorted(rows)

    stories(fresh="1")  # nothing has changed, so no page is cleaned again
    assert (tmp_path / "items.jsonl").read_text() == ""


@pytest.mark.parametrize("named", ["taken/items.jsonl", "file:///{folder}/taken/items.csv", "folder"])
def test_a_feed_that_cannot_be_written_stops_the_crawl(tmp_path, monkeypatch, named):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match="cannot be written"):
        Blocksieve().update_settings(Settings({"FEEDS": {named.format(folder=tmp_path): {"format": "jsonl"}}}))


def test_a_feed_that_can_be_written_is_not_created_before_its_first_item(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    feeds = ["new.jsonl", "s3://bucket/items.json", "stdout:", "%(name)s/items.csv"]
    Blocksieve().update_settings(Settings({"FEEDS": {name: {"format": "jsonl"} for name in feeds}}))
    assert list(tmp_path.iterdir()) == []


def test_a_feed_that_was_not_delivered_fails_the_crawl_and_not_its_pages():
    stats = {"finish_reason": "finished", "visit/page": 3, "feedexport/failed_count/S3FeedStorage": 1}
    assert "the database has all its pages" in find_exit_status(stats, 0.5).problem

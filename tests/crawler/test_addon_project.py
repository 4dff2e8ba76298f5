"""A project with the add-on Blocksieve and pipelines of its own: they get items, or a sentence says what to change."""

import json
import os
import sqlite3
import sys
from contextlib import closing

import processes
import pytest
from scrapy.settings import Settings

from crawler.addon import Blocksieve, Cleaning
from crawler.config import Config
from crawler.storage.store import Store

SPIDER = """
from scrapy import Request, Spider

from crawler.page import page


class Stories(Spider):
    name = "stories"

    async def start(self):
        yield Request(self.site)

    def parse(self, response):
        for path in ("/river", "/lake", "/gone"):
            yield response.follow(path, callback=self.parse_story)
        yield {"title": "the listing"}

    def parse_story(self, response):
        yield page(response)
"""
PIPELINES = """
class Upper:
    def process_item(self, item):
        item["title"] = item["title"].upper()
        return item


class Broken:
    def process_item(self, item):
        return {"title": item["headline"]}


class Visits:
    takes_visits = True

    def process_item(self, item):
        print("outcome", getattr(item, "outcome", None))
        return item
"""
STORY = (
    "<title>The {0}</title><article><h1>The {0}</h1><p>The {0} rose in the night, and the old bridge was closed until "
    "the morning, when the mayor came to see what it had left.</article><!--{1}-->"
)
LISTING = "<title>News</title><a href=/river>One</a>"


@pytest.fixture
def run_project(tmp_path, serve, answer):
    """Crawl the project with these pipelines and their orders; return the finished process."""
    stories = {f"/{name}": answer(STORY.format(name, "x" * 60_000)) for name in ("river", "lake")}
    site, _ = serve({"/": answer(LISTING)} | stories)
    package = tmp_path / "newsroom"
    package.mkdir()
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = newsroom.settings\n")
    (package / "__init__.py").touch()
    (package / "spiders.py").write_text(SPIDER)
    (package / "processing.py").write_text(PIPELINES)

    def run(pipelines, *settings):
        (package / "settings.py").write_text(
            f"SPIDER_MODULES = ['newsroom.spiders']\nITEM_PIPELINES = {pipelines!r}\n"
            "ADDONS = {'crawler.addon.Blocksieve': 500}\nALLOW_ADDRESSES = '127.0.0.0/8'\n"
        )
        command = [sys.executable, "-m", "scrapy", "crawl", "stories", "-a", f"site={site}/", "-O", "items.jsonl"]
        command += [part for setting in settings for part in ("-s", setting)]
        environment = os.environ | {"no_proxy": "", "NO_PROXY": ""}
        return processes.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run


def test_a_pipeline_at_scrapy_s_usual_order_gets_items(run_project, tmp_path):
    crawled = run_project({"newsroom.processing.Upper": 300})
    assert (crawled.returncode, "Traceback" in crawled.stderr) == (0, False), crawled.stderr
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text("utf-8").splitlines()]
    assert sorted(item["title"] for item in items) == ["THE LAKE", "THE LISTING", "THE RIVER"]
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
        assert sorted(title for (title,) in database.execute("SELECT title FROM page")) == ["The lake", "The river"]


def test_a_pipeline_that_fails_for_each_item_fails_the_crawl(run_project):
    crawled = run_project({"newsroom.processing.Broken": 300})
    assert crawled.returncode == 1, crawled.stderr
    assert "scrapy crawl: a pipeline of the project raised errors for 3 of 3 items: see the log\n" in crawled.stderr
    assert "Error processing <Visit with FetchedPage http://" in crawled.stderr
    assert "xxxx" not in crawled.stderr


def test_a_pipeline_before_ours_is_told_its_order_before_the_first_page(run_project, tmp_path):
    crawled = run_project({"newsroom.processing.Upper": -500})
    assert crawled.returncode == 2
    assert crawled.stderr.endswith(
        "scrapy crawl: ITEM_PIPELINES runs newsroom.processing.Upper (order -500) before pipelines.store.StorePipeline "
        "(order -100), so it would get visits in place of items; give it an order above -100, or set "
        "Upper.takes_visits = True if it handles crawler.visit.Visit\n"
    )
    assert not (tmp_path / "blocks.db").exists()


def test_a_pipeline_that_handles_visits_may_come_before_ours(run_project):
    crawled = run_project({"newsroom.processing.Visits": -250})
    assert crawled.returncode == 0, crawled.stderr
    outcomes = [line for line in crawled.stdout.splitlines() if line.startswith("outcome")]
    assert sorted(outcomes) == ["outcome None", "outcome not_found", "outcome page", "outcome page", "outcome section"]


READER = """
from scrapy import Request, Spider

from crawler.page import cleaned_page


class Reader(Spider):
    name = "stories"
    handle_httpstatus_list = [404]

    async def start(self):
        for path in ("/", "/river", "/gone"):
            yield Request(self.site + path)

    def parse(self, response):
        story = cleaned_page(response, self.crawler)
        found = {"path": response.url.removeprefix(self.site), "is_page": story is not None}
        if story is not None:
            found |= {"title": story.title, "kept": len(story.kept), "markdown": story.markdown}
        yield found
        yield response.follow("/?again", self.parse_copy, meta=response.meta)

    def parse_copy(self, response):
        assert cleaned_page(response, self.crawler) is None
"""


@pytest.mark.parametrize("processes", [0, 1])
def test_the_callback_of_a_host_project_has_the_cleaned_page(run_project, tmp_path, processes):
    (tmp_path / "newsroom" / "spiders.py").write_text(READER)
    addons = 'ADDONS={"crawler.addon.Cleaning": 500}'
    settings = (addons, "PAGES_FROM=/river", f"CLEANING_PROCESSES={processes}", "BLOCKSIEVE_STRUCTURE=1")
    crawled = run_project({}, *settings)
    assert (crawled.returncode, "Traceback" in crawled.stderr) == (0, False), crawled.stderr
    items = {item["path"]: item for item in map(json.loads, (tmp_path / "items.jsonl").read_text().splitlines())}
    assert {path: item["is_page"] for path, item in items.items()} == {"/": False, "/river": True, "/gone": False}
    river = items["/river"]
    assert (river["title"], river["kept"]) == ("The river", 1)
    assert river["markdown"].startswith("# The river\n\nThe river rose")


@pytest.mark.parametrize("add_on", [Cleaning, Blocksieve])
def test_a_database_in_a_project_s_folder_changes_no_setting_unless_it_is_named(tmp_path, monkeypatch, add_on):
    monkeypatch.chdir(tmp_path)
    config = Config(database_url="sqlite:///blocks.db", dedup_scope="site")
    with closing(Store.open(config)) as store:
        store.keep_settings(config)
    for named, scope in ((None, None), (config.database_url, "site")):
        settings = Settings({"DATABASE_URL": named})
        add_on().update_settings(settings)
        assert settings.get("DEDUP_SCOPE") == scope

"""Scrapy's commands that only look at pages (shell, fetch, parse, check) work and leave nothing behind."""

import json
import os
import sys
from pathlib import Path

import processes
import pytest
import taught_site
from scrapy import Spider
from scrapy.commands.shell import Command as Shell
from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES, Settings
from scrapy.utils.spider import DefaultSpider

from cleaning.teaching.site_model import write_site_models
from crawler.addon import looking_command
from crawler.urls import site_of

ROOT = Path(__file__).parents[2]
BLOCKSIEVE, CLEANING = "crawler.addon.Blocksieve", "crawler.addon.Cleaning"
HURRY = ["-s", "ALLOW_ADDRESSES=127.0.0.0/8", "-s", "AUTOTHROTTLE_ENABLED=0"]
WORDS = "the old bridge was closed until the morning, when the mayor came to see what the river had left of it"
STORY = f"<title>The river</title><article><h1>The river rose</h1><p>In the night {WORDS}.<p>Later {WORDS}.</article>"
OURS = """
from scrapy import Spider
from crawler.page import page

class Essays(Spider):
    name = "essays"

    def parse(self, response):
        for link in response.css("a.essay"):
            yield response.follow(link, callback=self.parse_essay)

    def parse_essay(self, response):
        yield page(response, section="Essays")
"""
THEIRS = """
from scrapy import Spider

class Theirs(Spider):
    name = "theirs"

    def parse(self, response):
        "@url URL"
        yield {"title": response.css("title::text").get()}
"""


@pytest.fixture
def site(serve, answer):
    listing = answer("<title>All</title><a class=essay href=/story>One</a>")
    feed = answer("<rss/>", 200, {"Content-Type": "application/rss+xml"})
    return serve({"/": listing, "/story": answer(STORY), "/feed": feed})[0]


@pytest.fixture
def scrapy(tmp_path):
    """Run `scrapy` in an empty folder with crawler.settings, or in a project with an add-on and a spider.

    Nothing may be left in the folder but the file that `-o` names.
    """

    def run(*arguments, addon=None, spider=THEIRS):
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        environment |= {"SCRAPY_SETTINGS_MODULE": "crawler.settings", "PYTHONPATH": str(ROOT)}
        if addon:
            folder = tmp_path / "newsroom"
            folder.mkdir(exist_ok=True)
            (folder / "spiders.py").write_text(spider)
            (folder / "settings.py").write_text(f"SPIDER_MODULES, ADDONS = ['newsroom.spiders'], {{'{addon}': 500}}")
            environment |= {
                "SCRAPY_SETTINGS_MODULE": "newsroom.settings",
                "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}",
            }
        command = [sys.executable, "-m", "scrapy", *arguments, *HURRY]
        finished = processes.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
        assert finished.returncode == 0, finished.stderr
        assert "Traceback" not in finished.stderr, finished.stderr
        named = {name for name in arguments if name.endswith(".jsonl")}
        assert {path.name for path in tmp_path.iterdir()} - {"newsroom"} == named
        return finished.stdout

    return run


@pytest.mark.parametrize("addon", [None, BLOCKSIEVE, CLEANING])
def test_shell_and_fetch_show_a_response_of_any_type(scrapy, site, addon):
    output = scrapy("shell", f"{site}/feed", "-c", "response.status, response.body", addon=addon)
    assert "(200, b'<rss/>')" in output
    assert "<rss/>" in scrapy("fetch", f"{site}/feed", addon=addon)


def test_parse_with_a_spider_of_ours_shows_the_cleaned_page(scrapy, site):
    command = ["parse", "--nocolour", "--spider", "section", "-a", f"url={site}/", "-c", "parse_article"]
    output = scrapy(*command, f"{site}/story")
    assert "'title': 'The river rose'" in output
    assert "'body'" not in output


@pytest.mark.parametrize("command", ["fetch", "parse"])
def test_what_only_looks_shows_pages_that_a_crawl_leaves_alone(scrapy, serve, answer, command):
    hidden = answer('<meta name="robots" content="noindex">' + STORY)
    site, requests = serve({"/hidden": hidden, "/.well-known/tdmrep.json": answer("[]")})
    more = ("--spider", "essays", "-c", "parse_essay", "--nocolour") if command == "parse" else ()
    assert "The river rose" in scrapy(command, f"{site}/hidden", *more, addon=BLOCKSIEVE, spider=OURS)
    assert "/.well-known/tdmrep.json" not in dict(requests)


def test_parse_with_pipelines_stores_nothing_and_writes_the_item_of_a_crawl(scrapy, site, tmp_path):
    project = {"addon": BLOCKSIEVE, "spider": OURS}
    assert f"[<GET {site}/story>]" in scrapy("parse", "--nocolour", "--spider", "essays", f"{site}/", **project)
    command = ["parse", "--spider", "essays", "-c", "parse_essay", "--pipelines", "-o", "items.jsonl"]
    scrapy(*command, f"{site}/story", **project)
    item = json.loads((tmp_path / "items.jsonl").read_text())
    assert (item["url"], item["title"], item["section"]) == (f"{site}/story", "The river rose", "Essays")


def test_parse_and_check_of_a_host_project_store_nothing(scrapy, site):
    project = {"addon": CLEANING, "spider": THEIRS.replace("URL", f"{site}/story")}
    assert "The river" in scrapy("parse", "--spider", "theirs", f"{site}/story", **project)
    scrapy("check", "theirs", **project)


def test_parse_cleans_by_the_model_of_the_site(scrapy, serve, answer, tmp_path_factory):
    site, _ = serve({"/7": answer(taught_site.page_html(7))})
    models = tmp_path_factory.mktemp("models") / "models"
    models.write_text(write_site_models({site_of(site): taught_site.site_model()}), "utf-8")
    command = ["parse", "--nocolour", "--spider", "essays", "-c", "parse_essay", f"{site}/7"]
    project = {"addon": BLOCKSIEVE, "spider": OURS}
    assert "lighthouse" in taught_site.offer(7)
    assert "lighthouse" in scrapy(*command, **project)
    assert "lighthouse" not in scrapy(*command, "-s", f"SITE_MODELS={models}", **project)


def test_only_scrapy_s_own_commands_look():
    defaults, settings = Shell.default_settings, Settings()
    assert looking_command(Crawler(Spider, dict(defaults))) is None
    assert looking_command(Crawler(DefaultSpider)) == "shell"
    settings.setdict(defaults, SETTINGS_PRIORITIES["command"])
    crawler = Crawler(Spider, settings)
    assert looking_command(crawler) == "shell"
    crawler.crawling = True  # another command with the same defaults, which crawls
    assert looking_command(crawler) is None

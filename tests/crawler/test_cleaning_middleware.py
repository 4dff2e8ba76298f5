"""Pages of a host project are cleaned and stored; its items stay as they are."""

import asyncio
import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import processes
import pytest
import taught_site
from scrapy import Request, Spider
from scrapy.exceptions import CloseSpider
from scrapy.http import HtmlResponse, JsonResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.test import get_crawler

from cleaning import clean
from cleaning.teaching.site_model import write_site_models
from crawler.cleaning_middleware import CleaningMiddleware
from crawler.errors import StoreError
from crawler.urls import site_of

SITE = "https://town.example.org"
STORY = (
    "<title>{0}</title><nav><a href=/>Front page</a></nav><article><h1>{0}</h1>"
    "<p>The {0} rose in the night, and the old bridge was closed until the morning, when the mayor came to see it."
    "<p>Nobody at the {0} was hurt, she said, but the market on the other bank would wait until the water had gone."
    "</article>"
)
LISTING = "<title>News</title><ul>" + "".join(f"<li><a href=/story/{n}>Story {n}</a>" for n in range(9)) + "</ul>"
CAPTCHA = "<title>One moment</title><div class=g-recaptcha></div>"


@pytest.fixture
def look(tmp_path):
    """Pass responses through the middleware; return its responses, the stats, and the URLs of the stored pages."""

    def run(*responses, callback=None, **settings):
        async def crawl():
            # There is no network, so no host is asked for its tdmrep.json.
            defaults = {"DATABASE_URL": f"sqlite:///{tmp_path}/blocks.db", "OBEY_TDM_RESERVATION": False}
            crawler = get_crawler(Spider, defaults | settings)
            crawler.spider = Spider("theirs")
            middleware = CleaningMiddleware.from_crawler(crawler)
            middleware.spider_opened()
            responses_to_spider = [
                await middleware.process_response(Request(response.url, callback), response) for response in responses
            ]
            await middleware.spider_closed("finished")
            return responses_to_spider, crawler.stats.get_stats()

        responses_to_spider, stats = asyncio.run(crawl())
        with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
            return responses_to_spider, stats, [url for (url,) in database.execute("SELECT url FROM page ORDER BY id")]

    return run


def html(path, body, status=200, cls=HtmlResponse):
    return cls(SITE + path, status, {"Content-Type": "text/html; charset=utf-8"}, body.encode(), encoding="utf-8")


def test_a_page_at_a_matching_url_is_stored_and_others_pass_uncounted(look):
    story = html("/story/1", STORY.format("river"))
    essay = html("/essay/1", STORY.format("lake"))
    responses, stats, stored = look(story, essay, PAGES_FROM=r"/story/\d")
    assert stored == [f"{SITE}/story/1"]
    assert responses[0] is story
    assert responses[1] is essay
    assert {name: count for name, count in stats.items() if name.startswith("visit/")} == {"visit/page": 1}


def test_without_a_rule_articles_are_pages(look):
    _, stats, stored = look(html("/", LISTING), html("/a", STORY.format("river")))
    assert stored == [f"{SITE}/a"]
    assert (stats["visit/page"], stats["clean/pages"], stats["clean/other_type"]) == (1, 1, 1)
    assert "store/imbalances" not in stats


def test_a_url_and_a_type_are_each_enough(look):
    _, _, stored = look(
        html("/", LISTING), html("/a", STORY.format("river")), PAGES_FROM=[r"org/$"], PAGES_OF_TYPES=["article"]
    )
    assert stored == [f"{SITE}/", f"{SITE}/a"]


def test_a_rejected_response_at_a_matching_url_is_counted_and_given_to_the_spider(look):
    captcha = html("/story/1", CAPTCHA)
    api = JsonResponse(f"{SITE}/story/2", body=b"[1]")
    responses, stats, stored = look(captcha, api, PAGES_FROM="/story/")
    assert (stats["visit/captcha"], stats["visit/not_html"], stored) == (1, 1, [])
    assert responses[0] is captcha
    assert responses[1] is api


def test_if_only_types_are_set_refusals_and_files_pass_uncounted(look):
    _, stats, _ = look(html("/a", CAPTCHA), html("/b", "no", 403), JsonResponse(f"{SITE}/c", body=b"[1]"))
    assert not [name for name in stats if name.startswith(("visit/", "clean/"))]


@pytest.mark.parametrize("rule", [{"PAGES_FROM": "/a"}, {"PAGES_OF_TYPES": "article"}])
def test_a_stored_page_that_is_gone_is_retired(look, tmp_path, rule):
    look(html("/a", STORY.format("river")), **rule)
    _, stats, _ = look(html("/a", "gone", 410), **rule)
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
        (retired,) = database.execute("SELECT retired_at FROM page").fetchone()
        (live,) = database.execute("SELECT count(*) FROM informative_block").fetchone()
    assert stats["visit/not_found"] == 1
    assert (retired is not None, live) == (True, 0)


@pytest.mark.parametrize("rule", [{"PAGES_FROM": "/a"}, {"PAGES_OF_TYPES": "article"}])
def test_a_page_that_must_be_left_alone_reaches_its_spider_only(look, tmp_path, rule):
    look(html("/a", STORY.format("river")), **rule)
    withdrawn = html("/a", '<meta name="robots" content="noindex">' + STORY.format("river"))
    responses, stats, stored = look(withdrawn, **rule)
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
        (row,) = database.execute("SELECT retired_at IS NULL, html FROM page").fetchall()
    assert (responses, stats["visit/noindex"], row) == ([withdrawn], 1, (0, None))
    assert look(withdrawn, OBEY_NOINDEX=False, **rule)[1]["visit/page"] == 1
    assert stored == [f"{SITE}/a"]


def test_the_html_of_a_page_that_says_noarchive_is_not_kept(look, tmp_path):
    _, stats, _ = look(html("/a", '<meta name="robots" content="noarchive">' + STORY.format("river")))
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
        assert database.execute("SELECT html FROM page").fetchall() == [(None,)]
    assert stats["directives/noarchive_pages"] == 1


def test_the_structure_of_a_page_is_stored(look, tmp_path):
    look(html("/a", STORY.format("river")), STRUCTURE=True)
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
        ((markdown,),) = database.execute("SELECT markdown FROM page_structure").fetchall()
    assert markdown == clean(STORY.format("river").encode(), f"{SITE}/a").markdown != ""


def test_responses_to_requests_without_a_callback_are_not_pages(look):
    _, stats, stored = look(html("/robots.txt", STORY.format("river")), callback=NO_CALLBACK)
    assert (stored, "visit/page" in stats) == ([], False)


def test_a_very_long_url_never_matches_even_if_the_pattern_backtracks(look):
    _, _, stored = look(html("/" + "a" * 2_500, STORY.format("river")), PAGES_FROM="(a+)+$")
    assert stored == []


class Unreadable(HtmlResponse):
    """A response class of the host project that fails when it is read."""

    @property
    def status(self):
        raise OSError("the file behind it is gone")

    @status.setter
    def status(self, _value):
        """Ignore the status."""


def test_a_response_that_breaks_the_middleware_still_reaches_its_spider(look, caplog):
    broken = html("/a", STORY.format("river"), cls=Unreadable)
    responses, stats, _ = look(broken, html("/b", STORY.format("lake")), PAGES_FROM="org/")
    assert responses[0] is broken
    assert (stats["visit/pipeline_failed"], stats["visit/page"]) == (1, 1)
    assert f"{SITE}/a was not stored" in caplog.text


def test_the_same_text_on_two_pages_is_stored_once(look, tmp_path):
    _, stats, stored = look(html("/a", STORY.format("river")), html("/b", STORY.format("river")))
    assert (len(stored), stats["dedup/exact"] + stats.get("dedup/near", 0)) == (2, stats["store/blocks_new"])


def test_a_database_that_cannot_be_opened_stops_the_crawl(look, tmp_path):
    with pytest.raises(StoreError, match="does not exist"):
        look(DATABASE_URL=f"sqlite:///{tmp_path}/nowhere/blocks.db")


def test_a_database_that_fails_at_the_start_closes_the_spider(tmp_path):
    async def crawl():
        crawler = get_crawler(Spider, {"DATABASE_URL": f"sqlite:///{tmp_path}/blocks.db"})
        crawler.spider = Spider("theirs")
        middleware = CleaningMiddleware.from_crawler(crawler)
        with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
            database.execute("DROP TABLE crawl")
        try:
            middleware.spider_opened()
        finally:
            await middleware.spider_closed("store_failed")

    with pytest.raises(CloseSpider) as closed:
        asyncio.run(crawl())
    assert closed.value.reason == "store_failed"


def test_without_asyncio_the_crawl_stops():
    code = (
        "from twisted.internet import selectreactor; selectreactor.install()\n"
        "from scrapy import Spider; from scrapy.crawler import Crawler; from crawler.cleaning_middleware import "
        "CleaningMiddleware\n"
        "crawler = Crawler(Spider, {'TWISTED_REACTOR': 'select'}); CleaningMiddleware.from_crawler(crawler)"
    )
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert failed.stderr.splitlines()[-1].startswith(
        "crawler.errors.ConfigError: TWISTED_REACTOR is 'select'; the add-on"
    )


FOREIGN = {
    "scrapy.cfg": "[settings]\ndefault = settings\n",
    "settings.py": """
SPIDER_MODULES = ["spiders"]
ITEM_PIPELINES = {"pipelines.Strict": 300}
SPIDER_MIDDLEWARES = {"watch.Middleware": 5}
EXTENSIONS = {"watch.Extension": 1}
FEEDS = {"items.jsonl": {"format": "jsonlines"}, "items.csv": {"format": "csv"}}
CONCURRENT_REQUESTS = 1
""",
    "pipelines/__init__.py": """
from scrapy.exceptions import DropItem

class Strict:
    def process_item(self, item):
        if item["title"] == "dropped":
            raise DropItem("as the project wants")
        return item | {"length": len(item["title"])}
""",
    "watch.py": """
import json
from scrapy import signals

class Middleware:
    seen = []

    async def process_spider_output(self, response, result):
        async for thing in result:
            Middleware.seen.append(type(thing).__name__)
            yield thing

class Extension:
    @classmethod
    def from_crawler(cls, crawler):
        made = cls()
        made.stats, made.signals = crawler.stats, []
        for name in ("item_scraped", "item_dropped", "item_error"):
            crawler.signals.connect(getattr(made, name), signal=getattr(signals, name))
        crawler.signals.connect(made.closed, signal=signals.spider_closed)
        return made

    def item_scraped(self, item):
        self.signals.append(["scraped", item])

    def item_dropped(self, item):
        self.signals.append(["dropped", item])

    def item_error(self, item):
        self.signals.append(["error", repr(item)])

    def closed(self):
        names = ("item_scraped_count", "item_dropped_count", "scheduler/enqueued", "spider_exceptions/ValueError")
        counted = {name: self.stats.get_value(name) for name in names}
        found = {"signals": self.signals, "seen": Middleware.seen, "counted": counted}
        with open("watched.json", "w") as file:
            json.dump(found, file)
""",
    "spiders/__init__.py": "",
    "spiders/news.py": """
import scrapy

class News(scrapy.Spider):
    name = "news"
    handle_httpstatus_list = [404]

    async def start(self):
        yield scrapy.Request(self.url + "/")

    def parse(self, response):
        for path in ("/story/1", "/story/2", "/story/3", "/api"):
            yield response.follow(path, self.story)

    def story(self, response):
        assert type(response).__name__ in ("HtmlResponse", "JsonResponse")
        if response.url.endswith("/1"):
            raise ValueError("the host project's own error")
        yield {"title": response.json() if response.url.endswith("/api") else response.css("h1::text").get("dropped")}
""",
}


@pytest.fixture
def foreign(tmp_path, serve, answer):
    """Crawl a site with a host project whose packages have our names; return what its own components saw."""
    stories = {f"/story/{n}": answer(STORY.format(name)) for n, name in ((1, "river"), (2, "lake"))}
    api = answer('"plain"', headers={"Content-Type": "application/json"})
    answers = {"/": answer(LISTING), "/api": api} | stories
    address, _ = serve(answers)

    def crawl(folder, *settings):
        for name, text in FOREIGN.items():
            (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / name).write_text(text, "utf-8")
        command = [sys.executable, "-m", "scrapy", "crawl", "news", "-a", f"url={address}"]
        command += [part for setting in settings for part in ("-s", setting)]
        finished = processes.run(command, cwd=tmp_path / folder, capture_output=True, text=True, check=False)
        assert finished.returncode == 0, finished.stderr
        watched = json.loads((tmp_path / folder / "watched.json").read_text("utf-8"))
        feeds = [sorted((tmp_path / folder / f"items.{kind}").read_text("utf-8").split()) for kind in ("jsonl", "csv")]
        return watched, feeds

    crawl.answers = answers
    crawl.address = address
    return crawl


def test_the_host_project_s_items_feeds_signals_and_middlewares_see_nothing_of_the_add_on(foreign, tmp_path):
    with_it = foreign("with", 'ADDONS={"crawler.addon.Cleaning": 500}', "PAGES_FROM=/story/")
    assert with_it == foreign("without")
    watched, feeds = with_it
    assert len(watched["signals"]) == 3
    assert len(feeds[0]) > 1
    with closing(sqlite3.connect(tmp_path / "with" / "blocks.db")) as database:
        urls = [url for (url,) in database.execute("SELECT url FROM page ORDER BY url")]
        (totals,) = database.execute("SELECT totals FROM crawl").fetchone()
    assert [url[-8:] for url in urls] == ["/story/1", "/story/2"]
    assert json.loads(totals)["visit/not_found"] == 1


def test_a_host_project_cleans_by_the_models_of_sites(foreign, tmp_path, answer):
    foreign.answers["/story/2"] = answer(taught_site.page_html(7))
    models = tmp_path / "models.jsonl"
    models.write_text(write_site_models({site_of(foreign.address): taught_site.site_model()}), "utf-8")
    addons = 'ADDONS={"crawler.addon.Cleaning": 500}'
    for folder, setting, kept in (("plain", "SITE_MODELS=", 1), ("taught", f"SITE_MODELS={models}", 0)):
        foreign(folder, addons, "PAGES_FROM=/story/", setting)
        with closing(sqlite3.connect(tmp_path / folder / "blocks.db")) as database:
            offers = database.execute("SELECT count(*) FROM page_text WHERE text = ?", [taught_site.offer(7)])
            assert offers.fetchone() == (kept,)


def test_the_tdmrep_json_of_a_host_is_obeyed_in_a_host_project(foreign, tmp_path, answer):
    foreign.answers["/.well-known/tdmrep.json"] = answer('[{"location": "/story/2", "tdm-reservation": 1}]')
    foreign("with", 'ADDONS={"crawler.addon.Cleaning": 500}', "PAGES_FROM=/story/")
    with closing(sqlite3.connect(tmp_path / "with" / "blocks.db")) as database:
        (url,) = [url for (url,) in database.execute("SELECT url FROM page")]
        (totals,) = database.execute("SELECT totals FROM crawl").fetchone()
    assert url.endswith("/story/1")
    assert (json.loads(totals)["visit/tdm_reserved"], json.loads(totals)["tdmrep/found"]) == (1, 1)

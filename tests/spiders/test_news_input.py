"""`scrapy crawl news`: invalid arguments, unexpected responses, and saved pages."""

import contextlib
import re
import threading
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from news_site import RSS, article, listing, numbers, pages, rss, story

from crawler.errors import ConfigError
from spiders.news import NewsSpider


def test_a_document_that_is_not_a_feed_is_counted(news, site):
    site.add("/science/", listing(story(1)))
    site.add("/html.xml", "<!DOCTYPE html><title>Sorry</title>", RSS)
    site.add("/empty.xml", "", RSS)
    site.add("/unknown.xml", '{"version": "https://jsonfeed.org/version/1"}', RSS)
    site.add("/damaged.xml", b"\x1f\x8b" + bytes(40), RSS)
    site.add_articles(story(1))
    names = ("html", "empty", "unknown", "damaged")
    feeds = [f"{site.url}/{name}.xml" for name in names]
    columns = {"sections": [f"{site.url}/science/"], "feeds": feeds, "articles": "/news/"}
    crawled = news(columns, sources="sections,feeds")
    assert numbers(crawled) == ["1"]
    assert {crawled.stats[f"news/feed_{name}"] for name in names} == {1}


class Endless(BaseHTTPRequestHandler):
    """A feed that goes on for as long as anybody reads it."""

    def do_GET(self):
        self.send_response(200 if self.path == "/feed.xml" else 404)
        self.send_header("Content-Type", "application/rss+xml")
        self.end_headers()
        with contextlib.suppress(OSError):  # the reader has left
            while self.path == "/feed.xml":
                self.wfile.write(b"<rss><channel>" + b"<item><link>/news/a</link></item>" * 100)

    def log_message(self, *_arguments):
        pass


def test_an_endless_feed_ends_at_the_download_limit(crawl, tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), Endless) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        host = f"127.0.0.1:{server.server_port}"
        row = f"[river]\nhost = '{host}'\nhome = 'http://{host}/'\nfeeds = ['http://{host}/feed.xml']\n"
        (tmp_path / "own.toml").write_text(row, "utf-8")
        settings = {"PORTALS": tmp_path / "own.toml", "DOWNLOAD_MAXSIZE": 300_000, "PAGE_MAX_BYTES": 200_000}
        crawled = crawl("news", {"site": "river", "sources": "feeds"}, settings)
        server.shutdown()
    assert crawled.stats["visit/too_large"] == 1
    assert "visit/page" not in crawled.stats


def test_a_feed_requested_as_a_sitemap_is_read_as_a_feed(news, site):
    site.add("/map.xml", rss((story(1), "")), RSS)
    site.add_articles(story(1))
    assert numbers(news({"sitemaps": [f"{site.url}/map.xml"], "articles": "/news/"}, sources="sitemaps")) == ["1"]


def test_a_page_redirected_to_another_site_is_not_stored(news, site, serve, answer):
    elsewhere, _ = serve({"/advertisement": answer(article("Buy"))})
    site.add("/science/", listing(story(1)))
    site.add(story(1), "", {"Location": f"{elsewhere}/advertisement"}, 302)
    crawled = news({"sections": [f"{site.url}/science/"], "articles": "/news/"}, sources="sections")
    assert (pages(crawled), crawled.stats["news/elsewhere"]) == ([], 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "the spider 'news' needs the argument 'site'"),
        ({"site": "bbc", "sources": "feed"}, "'feed' is not one of them; did you mean 'feeds'?"),
        ({"site": "bbc", "sources": ","}, "it takes words out of sections, feeds, sitemaps, saved"),
        ({"site": "bbc", "age": "-1"}, "it takes a whole number from 0 to 36500"),
    ],
)
def test_an_invalid_argument_is_an_error_that_says_what_it_takes(arguments, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        NewsSpider(**arguments)


def test_the_later_of_since_and_age_is_used():
    day = datetime.now(UTC).date() - timedelta(days=3)
    assert NewsSpider(site="bbc", age="3").arguments.since == day
    assert NewsSpider(site="bbc", age="3", since="2001-01-01").arguments.since == day
    assert NewsSpider(site="bbc", age="3", since="2999-01-01").arguments.since == date(2999, 1, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"site": "bcb"}, "the argument 'site' of 'news' is 'bcb': there is no portal 'bcb'"),
        ({"site": "bbc", "sources": "saved"}, "sources=saved reads saved pages, but REPLAY is not set"),
    ],
)
def test_an_unknown_site_stops_the_crawl_with_one_sentence(crawl, arguments, message):
    crawled = crawl("news", arguments)
    assert crawled.code == 2
    assert message in crawled.log
    assert "Traceback" not in crawled.log


def test_saved_pages_are_classified_by_url_or_by_text(crawl, tmp_path):
    saved = tmp_path / "saved" / "river"
    saved.mkdir(parents=True)
    rows = [
        ("1.html", "https://river.example.org/news/2024/05/20/the-river", article("The river")),
        ("2.html", "https://river.example.org/science/", listing("/news/2024/05/20/the-river", "/news/absent")),
        ("3.html", "", article("Nobody knows where")),
        ("4.html", "", listing("https://river.example.org/news/2024/05/20/the-river")),
        ("5.html", "https://other.example.net/news/1", article("Not of this site")),
    ]
    for name, _, body in rows:
        (saved / name).write_text(body, "utf-8")
    lines = ["site\tfile\turl", *(f"river\t{name}\t{url}" for name, url, _ in rows)]
    (saved.parent / "index.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    (tmp_path / "own.toml").write_text("[river]\nhost = 'river.example.org'\narticles = '/news/'\n", "utf-8")
    settings = {"REPLAY": saved.parent, "PORTALS": tmp_path / "own.toml"}
    crawled = crawl("news", {"site": "river", "sources": "saved"}, settings)
    read = [visit["url"] for visit in crawled.visits if visit["outcome"] == "page"]
    assert sorted(read) == ["https://river.example.org/news/2024/05/20/the-river", "https://river.invalid/3.html"]
    assert (crawled.stats["visit/section"], crawled.stats["replay/absent"]) == (2, 1)

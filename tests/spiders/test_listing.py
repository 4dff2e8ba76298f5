"""Endless listings, calendars and session ids; the URLs that a listing has shown; learning about article links."""

import ast
import json
import os
from collections import Counter
from itertools import count

import pytest
from documented import ROOT, blocks

from spiders.listing import SeenUrls, section_name

NEWS, WORLD = "https://a.example/news/", "https://a.example/world/"


def test_a_seen_url_is_not_new():
    seen = SeenUrls()
    assert seen.add(NEWS, ["https://a.example/1", "https://a.example/2"]) == 2
    assert seen.add(NEWS, ["https://a.example/2", "https://a.example/3", "https://a.example/3#top"]) == 1
    assert seen.has(NEWS, "https://a.example/1")
    assert not seen.has(NEWS, "https://a.example/4")


def test_session_ids_and_tracking_do_not_make_a_url_new():
    seen = SeenUrls()
    seen.add(NEWS, ["https://a.example/1;jsessionid=AB12?a=1"])
    assert seen.add(NEWS, ["https://a.example/1?a=1&PHPSESSID=8f2a&utm_source=x"]) == 0


def test_listings_are_separate():
    seen = SeenUrls()
    seen.add(NEWS, ["https://a.example/1"])
    assert seen.add(WORLD, ["https://a.example/1"]) == 1


def test_the_oldest_are_forgotten_first():
    seen = SeenUrls(most=3)
    seen.add(NEWS, ["https://a.example/1"])
    for number in range(2, 5):
        seen.add(NEWS, [f"https://a.example/{number}"])
    assert [seen.has(NEWS, f"https://a.example/{number}") for number in range(1, 5)] == [False, True, True, True]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("", None),
        ("/", None),
        ("/index.html", None),
        ("/news/", "news"),
        ("/news/science-and-space/", "news/science-and-space"),
        ("/news/world.html", "news/world"),
        ("/news/index.php?page=2", "news"),
        ("/?cat=5", "cat=5"),
        ("/%E6%96%B0%E9%97%BB/", "\u65b0\u95fb"),
        ("/news//today%20only/", "news//today only"),
        ("/" + "a" * 999, "a" * 200),
    ],
)
def test_the_name_of_a_section(path, name):
    assert section_name(f"https://a.example{path}") == name


SENTENCE = "The river rose in the night and carried the old bridge down to the mill, where it lies until today. "
STORY = "<title>A story</title><article>" + f"<p>{SENTENCE * 2}</p>" * 6 + "</article>"
THIN = "<title>Watch</title><p>Play the film.</p>"
CLEAN = {"ITEM_PIPELINES": '{"pipelines.clean.CleanPipeline": 1, "collect.Collect": 2}'}
STORE = {
    "pipelines.clean.CleanPipeline": 1,
    "pipelines.dedup.DedupPipeline": 2,
    "collect.Collect": 3,
    "pipelines.store.StorePipeline": 4,
}
BOTH = """
from spiders.listing import ListingArguments, ListingSpider

class Both(ListingSpider):
    name = "both"
    Arguments = ListingArguments

    async def start(self):
        for path in ("/all/", "/world/"):
            yield self.listing(self.settings["SITE"] + path)
"""


class Endless(dict):
    """Answers for every address; a function makes those that are not stored."""

    def __init__(self, make):
        super().__init__()
        self.make = make

    def get(self, path, default=None):
        return default if path == "/robots.txt" else self.make(path)


def entries(paths, text="The river rose again and carried the bridge away"):
    return "<ul>" + "".join(f'<li><a href="{path}">{text} {n}</a></li>' for n, path in enumerate(paths)) + "</ul>"


def seen(crawled):
    return [visit["url"].split("/", 3)[3] for visit in crawled.visits if visit["outcome"] == "section"]


@pytest.mark.parametrize(
    "following",
    [
        "/news/?page={n}",
        "/news/;jsessionid={n:032x}?page=2",
    ],
)
def test_an_endless_listing_ends_when_it_repeats_itself(crawl, serve, answer, following):
    numbers = count(2)
    stories = [f"/news/2024/05/30/the-river-rose-again-{n}" for n in range(3)]

    def make(path):
        if path in stories:
            return answer(STORY)
        return answer(entries(stories) + f'<a rel="next" href="{following.format(n=next(numbers))}">Next</a>')

    url, _ = serve(Endless(make))
    crawled = crawl("section", {"url": f"{url}/news/", "pages": "100000"})
    assert crawled.stats["visit/page"] == 3
    assert crawled.stats["visit/section"] == 2
    assert crawled.stats["section/repeated"] == 1


def test_a_next_page_that_was_seen_ends_the_listing(crawl, serve, answer):
    def page(day, following):
        return answer(entries([f"/news/2024/05/{day}/the-river-rose-again"]) + f'<a href="{following}">Next</a>')

    url, _ = serve({"/news/": page(30, "/news/?page=2"), "/news/?page=2": page(29, "/news/?utm_source=pager")})
    crawled = crawl("section", {"url": f"{url}/news/", "pages": "100"})
    assert seen(crawled) == ["news/", "news/?page=2"]
    assert crawled.stats["section/repeated"] == 1


def test_an_endless_calendar_is_neither_read_nor_followed(crawl, serve, answer):
    months = count(2)

    def make(_path):
        days = [f"/events/2024/05/{day:02}/" for day in range(1, 29)]
        return answer(
            entries([*days, "/events/?month=2024-06", "/events/2024/"])
            + f'<a rel="next" href="/events/?month={next(months)}">Next month</a>'
        )

    url, requests = serve(Endless(make))
    crawled = crawl("section", {"url": f"{url}/events/", "pages": "100000"})
    assert [path for path, _ in requests if path != "/robots.txt"] == ["/events/"]
    assert crawled.stats["section/repeated"] == 1


def test_two_listings_of_the_same_articles_are_both_read_to_their_end(crawl, serve, answer, tmp_path):
    stories = [[f"/2024/05/{day}/the-river-rose-again-{n}" for n in range(2)] for day in (30, 29)]
    site = {
        f"/{name}/{page}": answer(entries(stories[number]) + (f'<a href="/{name}/2">Next</a>' if number == 0 else ""))
        for name in ("all", "world")
        for number, page in enumerate(["", "2"])
    }
    url, _ = serve(site | {story: answer(STORY) for day in stories for story in day})
    (tmp_path / "both.py").write_text(BOTH, "utf-8")
    crawled = crawl(tmp_path / "both.py", {"pages": "9"}, {"SITE": url})
    assert sorted(seen(crawled)) == ["all/", "all/2", "world/", "world/2"]


@pytest.fixture
def film_site(serve, answer):
    """Serve stories beside films that look like stories, and a second page on which stories look like nothing."""
    stories = [f"/read/{n}" for n in range(1, 17)]
    films = [f"/watch/2024/05/30/a-film-about-the-river-and-the-bridge-{n}" for n in range(16)]
    first = entries(stories[:8]) + entries(films[:8]) + '<a href="/news/?page=2">Next</a>'
    second = entries(stories[8:], "No.") + entries(films[8:])
    pages = {"/news/": answer(first), "/news/?page=2": answer(second), "/more/": answer(second)}
    return serve(pages | dict.fromkeys(stories, answer(STORY)) | dict.fromkeys(films, answer(THIN)))


def kinds(crawled):
    return Counter(visit["url"].split("/")[3] for visit in crawled.visits if visit["outcome"] == "page")


def test_the_outcomes_of_links_count_on_the_next_page(crawl, film_site):
    crawled = crawl("section", {"url": f"{film_site[0]}/news/", "pages": "2"}, CLEAN)
    assert kinds(crawled) == {"read": 16, "watch": 9}  # one film of the second page is tried all the same
    assert crawled.stats["learned/articles"] == 16
    assert crawled.stats["learned/no_articles"] == 9


def test_a_listing_without_article_links_is_warned_of(crawl, serve, answer):
    url, _ = serve({"/news/": answer('<a href="/a">Full story</a> <a href="/b">Full story</a>')})
    crawled = crawl("section", {"url": f"{url}/news/"})
    assert f"No link of {url}/news/ seems to lead to an article" in crawled.log


def test_nothing_is_learned_from_other_methods(crawl, film_site):
    crawled = crawl("section", {"url": f"{film_site[0]}/more/"}, CLEAN | {"CLEANING_METHOD": "weighted"})
    assert kinds(crawled) == {"watch": 8}
    assert not [name for name in crawled.stats if name.startswith("learned/")]


def test_a_link_to_a_file_counts_against_its_pattern(crawl, serve, answer):
    path = "/news/2024/05/30/the-report-of-the-water-board"
    site = {"/news/": answer(entries([path])), path: answer("%PDF-1.7", headers={"Content-Type": "application/pdf"})}
    url, _ = serve(site)
    crawled = crawl("section", {"url": f"{url}/news/"}, CLEAN)
    assert (crawled.stats["visit/not_html"], crawled.stats["learned/no_articles"]) == (1, 1)


def test_without_cleaning_nothing_is_learned(crawl, film_site):
    crawled = crawl("section", {"url": f"{film_site[0]}/more/"})
    assert kinds(crawled) == {"watch": 8}


def test_a_second_crawl_learns_from_the_stored_pages(crawl, film_site, tmp_path):
    settings = {
        "ITEM_PIPELINES": json.dumps(STORE),
        "DATABASE_URL": f"sqlite:///{tmp_path}/blocks.db",
        "STORE_BATCH_SECONDS": "0.05",
    }
    first = crawl("section", {"url": f"{film_site[0]}/news/"}, settings)
    assert kinds(first) == {"read": 8, "watch": 8}
    second = crawl("section", {"url": f"{film_site[0]}/more/"}, settings)
    assert second.stats["learned/recalled"] == 16
    assert kinds(second) == {"read": 8, "watch": 1}


# Prints what the extension of the documentation has counted.
REPORT = """

import sys
from scrapy import signals


class Reported(KeptBlocks):
    @classmethod
    def from_crawler(cls, crawler):
        extension = super().from_crawler(crawler)
        crawler.signals.connect(extension.report, signal=signals.spider_closed)
        return extension

    def report(self):
        print("counted", dict(self.counts), file=sys.stderr)
"""


def test_the_spider_and_the_extension_of_the_documentation_crawl(crawl, serve, answer, tmp_path):
    (spider,) = [block.text for block in blocks("python", "extend.md") if "class Desks" in block.text]
    (extension,) = [block.text for block in blocks("python", "extend.md") if "class KeptBlocks" in block.text]
    listing = answer("<title>News</title><h3><a href=/story>A story</a></h3><h3><a href=/none>Gone</a></h3><a href=/x>")
    site, requested = serve({"/politics/": listing, "/science/": listing, "/story": answer(STORY)})
    (tmp_path / "desks.py").write_text(spider.replace("https://news.example.org", site))
    (tmp_path / "kept.py").write_text(extension + REPORT)
    settings = CLEAN | {"EXTENSIONS": '{"kept.Reported": 1}'}
    paths = os.pathsep.join([str(tmp_path), str(ROOT), str(ROOT / "tests" / "support")])
    crawled = crawl(tmp_path / "desks.py", {}, settings, environment={"PYTHONPATH": paths})
    assert sorted({path for path, _ in requested}) == ["/none", "/politics/", "/robots.txt", "/science/", "/story"]
    (line,) = [line for line in crawled.log.splitlines() if line.startswith("counted ")]
    counts = ast.literal_eval(line.removeprefix("counted "))
    assert counts["page"] >= 6
    assert counts["section"] == counts["not_found"] == 0

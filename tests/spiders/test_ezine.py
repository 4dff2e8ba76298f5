"""`scrapy crawl ezine`: the site's addresses, categories, article pages and refusals."""

import sqlite3
from contextlib import closing

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.utils.request import fingerprint

from spiders.ezine import _is_article_url, _known_categories, _submitted_on

PROSE = "The river rose in the night and carried the old bridge down to the mill, where it lies until today. "
OLD = "/?CSV-vs-XML-vs-JSON---Which-is-the-Best-Response-Data-Format?&id=4073117"
NEW = "/?Remote-Desktop-Protocol-(RDP)-Port-Forwarding&id=115181"
SHORT = "/10553192"
MOVED = "/?Spider-Solitaire---History-and-Rules&id=6806794"
BARE = "/?An-Article-without-its-Container&id=6806795"
ADVERTISED = "/?Not-an-Article-of-This-Listing&id=6806796"
CATEGORY = "/?cat=Computers-and-Technology"


def article(head, heading, author, submitted):
    return f"""<html><head><title>x</title>{head}</head><body>{heading}
    <div>By {author} | Submitted On {submitted}.</div>
    <div id="article-body"><div id="article-content"><p>{PROSE * 3}</p></div></div></body></html>"""


OLD_PAGE = article(
    '<meta property="og:article:section" content="Computers-and-Technology:Software">',
    '<h1>Articlewood</h1><h1 id="article-title">CSV or XML?</h1>',
    '<a href="/?expert=Jo_Doe" rel="author" class="author-name">Jo\n Doe</a>',
    "February 29, 2008",
)
NEW_PAGE = article(
    '<script type="application/ld+json">{"@type": "Article", "author": {"name": "Ann Lee"}}</script>',
    "<h1>Remote <em>Desktop</em></h1>",
    '<a href="/expert/Ann_Lee/12345">Ann Lee</a>',
    "<span>June 12,</span> <span>2015</span>",
)


def listing(*paths, following=""):
    entries = "".join(
        f'<div class="article"><a class="article-title-link" href="{path.replace("&", "&amp;")}">A title</a>'
        '<div class="article-summary">A summary.</div></div>'
        for path in paths
    )
    next_link = f'<a href="{following.replace("&", "&amp;")}">Next »</a>' if following else ""
    side = f'<div class="popular"><a href="{ADVERTISED.replace("&", "&amp;")}">Popular</a></div>'
    return f'<div class="category-list">{entries}</div>{next_link}{side}'


SUBCATEGORIES = (
    f'<ul><li><a href="{CATEGORY}:Software">Software</a></li><li><a href="{CATEGORY}%3AHardware">Hardware</a></li>'
    '<li><a href="/?cat=Health-and-Fitness">Health</a></li>'
    '<li><a href="/?cat=Health-and-Fitness:Yoga">Yoga</a></li></ul>'
)


@pytest.fixture
def site(serve, answer):
    """Serve a small copy of the site."""
    pages = {
        CATEGORY: SUBCATEGORIES + listing(OLD, MOVED, following=f"{CATEGORY}&page=2"),
        f"{CATEGORY}&page=2": SUBCATEGORIES + listing(NEW, BARE, following=f"{CATEGORY}&page=3"),
        f"{CATEGORY}&page=3": listing(ADVERTISED),
        f"{CATEGORY}:Software": listing(OLD, SHORT),
        f"{CATEGORY}:Hardware": listing(NEW),
        OLD: OLD_PAGE,
        NEW: NEW_PAGE,
        SHORT: OLD_PAGE,
        BARE: "<h1>Words</h1><p>This is no article, but a note from the site.</p>",
        ADVERTISED: OLD_PAGE,
        "/": listing(OLD),
        "/sitemap.html": f'<div class="accordion">{SUBCATEGORIES}</div>',
    }
    answers = {path: answer(body) for path, body in pages.items()}
    answers[MOVED] = answer(status=301, headers={"Location": "/"})
    return serve(answers)


@pytest.fixture
def ezine(crawl, site):
    def run(settings=None, **arguments):
        crawled = crawl("ezine", {"base_url": f"{site[0]}/"} | arguments, settings)
        crawled.asked = [path.replace("%3A", ":") for path, _ in site[1]]
        return crawled

    return run


def pages(crawled):
    return sorted(path for path, outcome in crawled.outcomes().items() if outcome == "page")


def test_a_category_is_read_with_its_subcategories_and_next_pages(ezine):
    crawled = ezine(category="Computers-and-Technology", pages="2")
    assert pages(crawled) == sorted([OLD, NEW, SHORT])
    listings = {path for path in crawled.asked if path.startswith("/?cat=")}
    assert listings == {CATEGORY, f"{CATEGORY}&page=2", f"{CATEGORY}:Software", f"{CATEGORY}:Hardware"}


def test_odd_slugs_are_fetched_unchanged_and_once(ezine):
    paths = ezine(category="computers and technology").asked
    assert [paths.count(path) for path in (OLD, NEW, SHORT)] == [1, 1, 1]
    assert ADVERTISED in paths  # on the third page: all pages are read unless told otherwise


def test_a_subcategory_is_read_alone(ezine):
    crawled = ezine(category="Computers-and-Technology:Software")
    assert pages(crawled) == sorted([OLD, SHORT])
    assert crawled.stats["visit/section"] == 1


def test_all_categories_come_from_the_html_sitemap(ezine):
    crawled = ezine(categories="all", pages="1")
    assert pages(crawled) == sorted([OLD, NEW, SHORT])
    assert "/?cat=Health-and-Fitness" in crawled.asked
    assert "/?cat=Automotive" not in crawled.asked


def test_without_a_sitemap_the_known_categories_are_read(crawl, serve, answer):
    url, requests = serve({CATEGORY: answer(listing(OLD)), OLD: answer(OLD_PAGE)})
    crawled = crawl("ezine", {"base_url": f"{url}/", "categories": "all", "pages": "1"})
    assert pages(crawled) == [OLD]
    assert {path for path, _ in requests if "cat=" in path} == {f"/?cat={name}" for name in _known_categories()}


def test_a_category_that_says_nofollow_leads_nowhere(crawl, serve, answer):
    listed = answer(SUBCATEGORIES + listing(OLD), headers={"Content-Type": "text/html", "X-Robots-Tag": "nofollow"})
    url, requests = serve({CATEGORY: listed, OLD: answer(OLD_PAGE)})
    crawled = crawl("ezine", {"base_url": f"{url}/", "category": "Computers-and-Technology", "pages": "1"})
    assert [path for path, _ in requests] == ["/robots.txt", CATEGORY]
    assert crawled.stats["directives/nofollow_links"] == 3


def test_several_categories_may_be_named(ezine):
    crawled = ezine(categories="Computers-and-Technology:Software,Computers-and-Technology:Hardware")
    assert pages(crawled) == sorted([OLD, NEW, SHORT])


def test_the_page_gives_title_author_date_and_category_in_both_forms(ezine):
    old = by_path(ezine(category="Computers-and-Technology:Software"))[OLD]
    assert (old["title"], old["author"], old["published"]) == ("CSV or XML?", "Jo Doe", "2008-02-29")
    assert old["section"] == "Computers-and-Technology:Software"
    new = by_path(ezine(category="Computers-and-Technology:Hardware"))[NEW]
    assert (new["title"], new["author"], new["published"]) == ("Remote Desktop", None, "2015-06-12")


def test_a_page_without_a_category_has_that_of_its_listing(ezine, tmp_path):
    pipelines = (
        '{"pipelines.clean.CleanPipeline": 1, "pipelines.dedup.DedupPipeline": 2, "pipelines.store.StorePipeline": 3}'
    )
    ezine({"ITEM_PIPELINES": pipelines, "DATABASE_URL": f"sqlite:///{tmp_path}/blocks.db"}, categories="all", pages="2")
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
        sections = dict(database.execute("SELECT title, section FROM page"))
    assert sections["CSV or XML?"] == "Computers-and-Technology:Software"
    assert sections["Remote Desktop"].startswith("Computers-and-Technology")


def test_without_arguments_the_categories_of_the_paper_are_read(ezine):
    categories = {path for path in ezine(pages="1").asked if path.startswith("/?cat=") and ":" not in path}
    assert categories == {
        f"/?cat={name}" for name in ("Arts-and-Entertainment", "Computers-and-Technology", "Food-and-Drink")
    }


def by_path(crawled):
    return {"/" + v["url"].split("/", 3)[3]: v["page"] for v in crawled.visits if v["page"]}


def test_the_author_of_recent_pages_is_read_by_cleaning(ezine):
    pipelines = '{"pipelines.clean.CleanPipeline": 1, "collect.Collect": 2}'
    crawled = ezine({"ITEM_PIPELINES": pipelines}, category="Computers-and-Technology:Hardware")
    assert [visit["cleaned"]["author"] for visit in crawled.visits if visit["page"]] == ["Ann Lee"]


def test_a_page_at_an_article_url_may_be_no_article(ezine):
    crawled = ezine(category="Computers-and-Technology", pages="2")
    assert crawled.stats["ezine/no_article"] == 2
    assert crawled.outcomes()["/"] == "section"  # where the moved article now leads
    assert crawled.outcomes()[BARE] == "section"


def test_older_articles_are_left_out(ezine):
    crawled = ezine(category="Computers-and-Technology", pages="2", since="2010-01-01")
    assert pages(crawled) == [NEW]
    assert crawled.stats["ezine/older"] == 2


# What a page might look like after the site has renamed its ids and classes.
JSON_LD = '{"@type": "Article", "headline": "A Mill", "author": {"name": "Ann Lee"}, "datePublished": "2019-03-04"}'
RENAMED = {
    "json-ld": f"""<html><head><title>x</title><script type="application/ld+json">{JSON_LD}</script></head><body>
    <h1>Site</h1><h1>A Mill</h1><div class="story-v2">{f"<p>{PROSE}</p>" * 9}</div></body></html>""",
    "microdata": f"""<html><head><title>A Mill</title></head><body itemscope itemtype="https://schema.org/Article">
    <h1>Site</h1><h1 itemprop="headline">A Mill</h1><span itemprop="author">Ann Lee</span>
    <time itemprop="datePublished" datetime="2019-03-04">March</time>
    <div itemprop="articleBody"><p>{PROSE}</p></div></body></html>""",
    "nothing": f"""<html><head><title>A Mill</title></head><body><h1>A Mill</h1>
    <div>{f"<p>{PROSE}</p>" * 9}</div></body></html>""",
}


@pytest.mark.parametrize("form", RENAMED)
def test_renamed_classes_cost_no_article(form, crawl, serve, answer):
    url, _ = serve({CATEGORY: answer(f'<a href="{SHORT}">A title</a>'), SHORT: answer(RENAMED[form])})
    pipelines = '{"pipelines.clean.CleanPipeline": 1, "collect.Collect": 2}'
    arguments = {"base_url": f"{url}/", "category": "Computers-and-Technology", "since": "2019-01-01"}
    crawled = crawl("ezine", arguments, {"ITEM_PIPELINES": pipelines})
    (cleaned,) = [visit["cleaned"] for visit in crawled.visits if visit["page"]]
    stated = ("A Mill", None, None) if form == "nothing" else ("A Mill", "Ann Lee", "2019-03-04")
    assert (cleaned["title"], cleaned["author"], cleaned["published"]) == stated


def test_articles_without_a_text_in_a_row_end_the_crawl(crawl, serve, answer):
    paths = [f"/{number}" for number in range(1_000_001, 1_000_031)]
    site = {path: answer(f"<h1>Title</h1><div id=app>Please wait, {path}.</div>") for path in paths}
    site |= {CATEGORY: answer(listing(*paths)), paths[-3]: answer(OLD_PAGE)}
    url, requests = serve(site)
    arguments = {"base_url": f"{url}/", "category": "Computers-and-Technology"}
    crawled = crawl("ezine", arguments, {"CONCURRENT_REQUESTS": "1"})
    assert crawled.code == 1
    assert "article after article had no title or no text: the site may have changed its pages" in crawled.log
    assert crawled.stats["finish_reason"] == "no_articles"
    assert pages(crawled) == [paths[-3]]
    # Up to four before the article, which begins the count anew, and four after it; the fifth ends the crawl.
    assert 4 <= crawled.stats["ezine/no_article"] <= 8
    assert len(requests) < 20


@pytest.mark.parametrize("path", [OLD, NEW, SHORT, "/?a=b&c&id=123456", "/?50%-Off---100%-Real?!&id=12345678"])
def test_article_urls(path):
    assert _is_article_url(f"https://ezinearticles.com{path}")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/?cat=Automotive",
        "/?cat=A&id=123456",
        "/?expert=Jo_Doe",
        "/expert/Jo_Doe/12345",
        "/ezinepublisher/?id=123456",
        "/?Too-Short-an-Id&id=12345",
        "/?Too-Long-an-Id&id=123456789",
        "/?Print&id=123456&opt=PRINT",
        "/123",
    ],
)
def test_other_urls_are_not_articles(path):
    assert not _is_article_url(f"https://ezinearticles.com{path}")


def test_different_articles_are_different_requests():
    paths = [
        OLD,
        NEW,
        SHORT,
        OLD.replace("4073117", "4073118"),
        OLD.replace("?&", "&"),
        OLD.replace("---", "--"),
        NEW.lower(),
    ]
    prints = {fingerprint(Request(f"https://ezinearticles.com{path}")) for path in paths}
    assert len(prints) == len(paths)
    assert [
        Request(f"https://ezinearticles.com{path}").url.removeprefix("https://ezinearticles.com") for path in paths
    ] == paths


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Submitted On June 12, 2008.", "2008-06-12"),
        ("By Jo Doe | Submitted On Sep 3, 2021. Recommend", "2021-09-03"),
        ("Submitted  On\nDecember 31,\n2009.", "2009-12-31"),
        ("Submitted On February 30, 2008.", None),
        ("Submitted On Smarch 12, 2008.", None),
        ("Submitted yesterday", None),
    ],
)
def test_the_date_of_submission(text, day):
    date = _submitted_on(HtmlResponse("https://ezinearticles.com/1", body=f"<p>{text}</p>", encoding="utf-8").selector)
    assert (date.isoformat() if date else None) == day


def test_the_known_categories_are_complete():
    known = _known_categories()
    assert (len(known), sum(map(len, known.values()))) == (30, 574)
    assert all(name and " " not in name for names in known.values() for name in names)


@pytest.mark.slow
def test_an_article_that_takes_too_long_to_read_is_given_up_and_counted(crawl, serve, answer):
    long = "<title>Words</title><dl>" + "".join(f"<dt>One {number}<dd>two" for number in range(240_000))
    url, requests = serve({CATEGORY: answer(listing(OLD, BARE)), OLD: answer(OLD_PAGE), BARE: answer(long)})
    settings = {"CLEANING_SECONDS": 0.3}
    crawled = crawl("ezine", {"base_url": f"{url}/", "category": "Computers-and-Technology", "pages": "1"}, settings)
    assert (crawled.outcomes()[OLD], crawled.outcomes()[BARE]) == ("page", "cleaning_timeout")
    assert [path for path, _ in requests].count(BARE) == 1

"""`scrapy crawl section`: listing, articles, next pages."""

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("BLOCKSIEVE_DATA", Path(__file__).parents[3] / "shared" / "data")) / "sites"
PROSE = "<p>The river rose in the night and carried the old bridge down to the mill.</p>"


def listing(day, following=None):
    entries = "".join(
        f'<li><a href="/news/2024/05/{day:02}/the-river-rose-again-{n}">The river rose again {n}</a></li>'
        for n in range(3)
    )
    return f"<ul>{entries}</ul>" + (f'<a href="{following}">Next »</a>' if following else "")


@pytest.fixture
def site(serve, answer):
    """Serve three listing pages of three articles each, one day older on each page."""
    pages = {
        "/news/": listing(30, "/news/?page=2"),
        "/news/?page=2": listing(29, "?page=3"),
        "/news/?page=3": listing(28),
    }
    for day in (30, 29, 28):
        pages |= {f"/news/2024/05/{day}/the-river-rose-again-{n}": PROSE for n in range(3)}
    return serve({path: answer(body) for path, body in pages.items()})


def days(crawled):
    return sorted({int(v["url"].split("/05/")[1][:2]) for v in crawled.visits if v["outcome"] == "page"})


def test_one_listing_page_is_read_by_default(crawl, site):
    crawled = crawl("section", {"url": f"{site[0]}/news/"})
    assert (crawled.stats["visit/section"], crawled.stats["visit/page"], days(crawled)) == (1, 3, [30])


def test_pages_counts_listing_pages(crawl, site):
    crawled = crawl("section", {"url": f"{site[0]}/news/", "pages": "2"})
    assert (crawled.stats["visit/section"], crawled.stats["visit/page"], days(crawled)) == (2, 6, [29, 30])


def test_the_last_page_ends_the_listing(crawl, site):
    crawled = crawl("section", {"url": f"{site[0]}/news/", "pages": "100"})
    assert (crawled.stats["visit/section"], crawled.stats["visit/page"]) == (3, 9)


def test_older_articles_are_not_fetched_and_end_the_listing(crawl, site):
    crawled = crawl("section", {"url": f"{site[0]}/news/", "pages": "100", "since": "2024-05-30"})
    assert days(crawled) == [30]
    assert crawled.stats["section/older"] == 3
    assert not [path for path, _ in site[1] if "/29/" in path or "page=3" in path]


def test_a_page_with_an_older_date_is_not_stored(crawl, serve, answer):
    old = f'<meta property="article:published_time" content="2020-01-01T10:00:00Z">{PROSE}'
    url, _ = serve({"/": answer('<a href="/1">one</a> <a href="/2">two</a>'), "/1": answer(old), "/2": answer(PROSE)})
    crawled = crawl("section", {"url": f"{url}/", "allow": r"/\d$", "since": "2024-01-01"})
    assert crawled.outcomes() == {"/": "section", "/1": "section", "/2": "page"}
    assert crawled.stats["section/older"] == 1


def test_allow_selects_the_articles(crawl, site):
    crawled = crawl("section", {"url": f"{site[0]}/news/", "allow": r"again-1$"})
    assert [v["url"].rsplit("/", 1)[1] for v in crawled.visits if v["outcome"] == "page"] == ["the-river-rose-again-1"]


def test_robots_txt_is_obeyed_and_the_user_agent_is_sent(crawl, serve, answer):
    robots = answer("User-agent: blocksieve\nDisallow: /news/2024/05/30/", headers={"Content-Type": "text/plain"})
    url, requests = serve({"/robots.txt": robots, "/news/": answer(listing(30)), "/x": answer(PROSE)})
    crawled = crawl("section", {"url": f"{url}/news/"}, {"CONTACT": "mailto:me@example.org"})
    assert crawled.stats["visit/robots"] == 3
    assert {headers["User-Agent"] for _, headers in requests} == {"blocksieve/0.1.0 (+mailto:me@example.org)"}


def test_a_section_that_says_nofollow_ends_with_the_setting_in_the_last_line(crawl, serve, answer):
    head = '<meta name="robots" content="nofollow">'
    url, _ = serve({"/": answer(f'{head}<a href="/1">a</a><a rel=next href="/p2">Next</a>'), "/1": answer(PROSE)})
    crawled = crawl("section", {"url": f"{url}/", "allow": r"/1", "pages": "2"})
    assert crawled.outcomes() == {"/": "section"}
    assert crawled.code == 1
    assert "2 links were not followed" in crawled.log.splitlines()[-1]
    assert "OBEY_NOFOLLOW=false" in crawled.log.splitlines()[-1]
    followed = crawl("section", {"url": f"{url}/", "allow": r"/1", "pages": "2"}, {"OBEY_NOFOLLOW": "false"})
    assert followed.outcomes()["/1"] == "page"


def test_a_page_linked_twice_is_fetched_once(crawl, serve, answer):
    url, requests = serve(
        {"/": answer('<a href="/1">a</a><a href="/1#top">b</a><a href="/1">c</a>'), "/1": answer(PROSE)}
    )
    crawl("section", {"url": f"{url}/", "allow": r"/1"})
    assert [path for path, _ in requests].count("/1") == 1


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the saved pages of BLOCKSIEVE_DATA")
@pytest.mark.parametrize(
    ("url", "articles", "outcome"),
    [
        ("https://www.bbc.com/news", 30, "section"),
        ("https://timesofindia.indiatimes.com/city/delhi", 30, "section"),
        ("https://indianexpress.com/", 100, "section"),
        # Saved without its URL: its links lead to another site, and its text is what there is.
        ("https://163.invalid/16.html.gz", 0, "page"),
    ],
)
def test_articles_on_saved_section_pages(crawl, url, articles, outcome):
    crawled = crawl("section", {"url": url}, {"REPLAY": DATA})
    assert crawled.stats[f"visit/{outcome}"] == 1
    assert crawled.stats.get("replay/absent", 0) >= articles
    assert "Traceback" not in crawled.log


def test_the_root_of_a_manual_is_a_page_and_the_log_says_what_finds_the_others(crawl, serve, answer):
    menu = "".join(f'<li><a href="{name}.html">{name}</a></li>' for name in ("install", "usage", "api"))
    site, _ = serve({"/en/": answer(f"<title>Manual</title><ul>{menu}</ul><main><h1>Manual</h1>{PROSE * 12}</main>")})
    crawled = crawl("section", {"url": f"{site}/en/"})
    assert crawled.outcomes() == {"/en/": "page"}
    assert "the pages of a manual are in its sitemap: docs/crawl.md, Manuals" in crawled.log

"""`scrapy crawl news`: sections, feeds and sitemaps of sites in the table and of unknown hosts."""

import gzip
import json
import os
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import processes
import pytest
from news_site import RSS, XML, article, listing, loc, numbers, pages, rss, story

ROOT = Path(__file__).parents[2]
HURRY = {"ALLOW_ADDRESSES": "127.0.0.0/8", "AUTOTHROTTLE_ENABLED": "0", "PROGRESS": "off"}
STORED = '{"pipelines.clean.CleanPipeline": 1, "pipelines.dedup.DedupPipeline": 2, "pipelines.store.StorePipeline": 3}'
STORE = (
    '{"pipelines.clean.CleanPipeline": 1, "pipelines.dedup.DedupPipeline": 2, "pipelines.store.StorePipeline": 3,'
    ' "collect.Collect": 4}'
)


def test_a_site_outside_the_table_is_read_from_its_home_page(news, site):
    menu = '<nav><a href="/science/">Science</a><a href="/about/">About us</a><a href="/login">Log in</a></nav>'
    feed = '<link rel="alternate" type="application/rss+xml" href="/feed.xml">'
    site.add("/", feed + menu + listing(*[story(n) for n in (1, 2, 3)]))
    site.add("/science/", menu + listing(*[story(n) for n in (3, 4, 5)]))
    site.add("/feed.xml", rss((story(6), "Mon, 20 May 2024 10:00:00 GMT")), RSS)
    site.add(
        "/robots.txt", f"User-agent: *\nDisallow: /login\nSitemap: {site.url}/map.xml", {"Content-Type": "text/plain"}
    )
    site.add("/map.xml", f"<urlset>{loc(site.url + story(7))}{loc(site.url + '/about/')}</urlset>", XML)
    site.add("/about/", "<p>About us.")
    site.add_articles(*[story(n) for n in range(1, 8)])
    crawled = news()
    assert numbers(crawled) == list("1234567")
    assert "/login" not in site.requested
    # The sitemap's other address has no text of its own.
    assert crawled.stats["news/no_article"] == 1
    assert (crawled.code, crawled.stats["visit/page"]) == (0, 7)


def test_directives_hold_for_sections_feeds_and_articles(news, site):
    site.add("/science/", '<meta name="blocksieve" content="nofollow">' + listing(story(1)))
    site.add("/feed.xml", rss((story(2), "Mon, 20 May 2024 10:00:00 GMT")), RSS | {"X-Robots-Tag": "noindex, follow"})
    site.add("/closed.xml", rss((story(3), "Mon, 20 May 2024 10:00:00 GMT")), RSS | {"X-Robots-Tag": "none"})
    site.add_articles(story(1), story(2), story(3))
    columns = {"sections": [f"{site.url}/science/"], "feeds": [f"{site.url}/feed.xml", f"{site.url}/closed.xml"]}
    crawled = news(columns, sources="sections,feeds")
    assert numbers(crawled) == ["2"]
    assert crawled.stats["directives/nofollow_links"] == 2


def test_the_next_crawl_learns_from_stored_pages(news, site, tmp_path):
    site.add("/science/", listing(*[story(n) for n in (1, 2, 3)]))
    site.add_articles(*[story(n) for n in (1, 2, 3)])
    settings = {"ITEM_PIPELINES": STORE, "DATABASE_URL": f"sqlite:///{tmp_path}/blocks.db"}
    columns = {"sections": [f"{site.url}/science/"]}
    first, second = (news(columns, settings, sources="sections") for _ in range(2))
    assert (first.stats["learned/articles"], second.stats["learned/recalled"]) == (3, 3)


def test_depth_limits_the_levels_of_sections(news, site):
    def menu(path):
        return f'<header><a href="{path}">A section</a></header>'

    site.add("/", menu("/world/"))
    site.add("/world/", menu("/world/asia/") + listing(story(1)))
    site.add("/world/asia/", menu("/world/asia/east/") + listing(story(2)))
    site.add_articles(story(1), story(2))
    crawled = news(sources="sections", depth="2")
    assert numbers(crawled) == ["1", "2"]
    assert "/world/asia/east/" not in site.requested


def test_a_row_with_render_is_rendered(news, site, chromium):
    script = "<script>document.querySelector('h1').textContent = 'Rendered'</script>"
    site.add("/science/", listing(story(1)))
    site.add(story(1), article("Plain") + script)
    columns = {"sections": [f"{site.url}/science/"], "articles": "/news/", "render": True}
    crawled = news(columns, {"CHROMIUM": chromium}, sources="sections")
    assert (crawled.stats["render/pages"], crawled.stats["visit/page"]) == (2, 1)
    refused = news(columns, {"CHROMIUM": chromium, "RENDER": "false"}, sources="sections")
    assert refused.code == 2
    assert "RENDER=false, but the row of 'river' says render = true" in refused.log


def test_a_row_names_sources_and_the_pattern_of_articles(news, site):
    site.add("/science/", listing(story(1), story(2), "/other/2024/05/20/the-bridge-that-was-carried-away-1"))
    site.add(
        "/feed.xml", rss((story(3), ""), ("/other/a-story-of-the-bridge", ""), ("https://elsewhere.org/x", "")), RSS
    )
    site.add("/map.xml", f"<urlset>{loc(site.url + story(4))}</urlset>", XML)
    site.add_articles(*[story(n) for n in range(1, 5)])
    columns = {
        "sections": [f"{site.url}/science/"],
        "feeds": [f"{site.url}/feed.xml"],
        "sitemaps": [f"{site.url}/map.xml"],
        "articles": r"/news/\d{4}/",
    }
    crawled = news(columns)
    assert numbers(crawled) == list("1234")
    assert "/" not in site.requested
    assert (crawled.stats["news/no_article"], crawled.stats["news/foreign"]) == (1, 1)
    assert (crawled.stats["news/articles/river"], crawled.stats["news/pages/river"]) == (4, 4)


def test_sources_selects_where_articles_are_looked_for(news, site):
    site.add("/science/", listing(story(1)))
    site.add("/feed.xml", rss((story(2), "")), RSS)
    site.add_articles(story(1), story(2))
    columns = {"sections": [f"{site.url}/science/"], "feeds": [f"{site.url}/feed.xml"], "articles": "/news/"}
    assert numbers(news(columns, sources="feeds")) == ["2"]
    assert site.requested == ["/feed.xml", story(2)]


@pytest.mark.parametrize("robots", [None, "User-agent: *\nDisallow: /login\n"])
def test_a_sitemap_is_looked_for_where_robots_txt_names_none(news, site, robots):
    if robots is not None:
        site.add("/robots.txt", robots, {"Content-Type": "text/plain"})
    site.add("/sitemap.xml", f"<urlset>{loc(site.url + story(1))}</urlset>", XML)
    site.add_articles(story(1))
    assert numbers(news({"articles": "/news/"}, sources="sitemaps")) == ["1"]


def test_a_site_without_a_sitemap_loses_nothing_by_it(news, site):
    site.add("/science/", listing(story(1)))
    site.add_articles(story(1))
    crawled = news({"sections": [f"{site.url}/science/"]})
    assert (crawled.code, numbers(crawled)) == (0, ["1"]), crawled.log


def test_sitemap_indexes_are_followed_to_a_limited_depth(news, site):
    def index(path):
        return f"<sitemapindex><sitemap><loc>{site.url}{path}</loc></sitemap></sitemapindex>"

    site.add("/1.xml", index("/2.xml"), XML)
    site.add("/2.xml", index("/3.xml") + index("/4.xml"), XML)
    site.add("/3.xml", gzip.compress(index("/5.xml").encode()), {"Content-Type": "application/gzip"})
    site.add(
        "/robots.txt",
        f"Sitemap: {site.url}/1.xml\nsitemap: {site.url}/flat.xml.gz\nSitemap: http://[::1\nSitemap: ftp://e.org/",
        {"Content-Type": "text/plain"},
    )
    flat = gzip.compress(f"<urlset>{loc(site.url + story(1), '2024-05-20')}</urlset>".encode())
    site.add("/flat.xml.gz", flat, {"Content-Type": "application/octet-stream"})
    site.add_articles(story(1))
    crawled = news({"articles": "/news/"}, sources="sitemaps")
    assert numbers(crawled) == ["1"]
    assert "/5.xml" not in site.requested
    assert crawled.stats["news/sitemaps_left_out"] == 1


def test_a_long_index_is_read_on_run_by_run(news, site, tmp_path):
    names = [f"/map-{number:03}.xml" for number in range(120)]
    days = [f"2024-{1 + number // 28:02}-{1 + number % 28:02}" for number in range(120)]

    def write_index(changed=()):
        items = (
            loc(site.url + name, "2025-01-01" if name in changed else day).replace("url>", "sitemap>")
            for name, day in zip(names, days, strict=True)
        )
        site.add("/index.xml", f"<sitemapindex>{''.join(items)}</sitemapindex>", XML)

    write_index()
    for number, name in enumerate(names):
        site.add(name, f"<urlset>{loc(site.url + story(number))}</urlset>", XML)
        site.add_articles(story(number))
    site.add(names[7], "gone", status=404)  # it keeps no other from its turn
    columns = {"sitemaps": [f"{site.url}/index.xml"], "articles": "/news/"}
    store = {"ITEM_PIPELINES": STORE, "DATABASE_URL": f"sqlite:///{tmp_path / 'blocks.db'}"}

    def crawl():
        seen = len(site.requested)
        crawled = news(columns, store, sources="sitemaps")
        return crawled, {path for path in site.requested[seen:] if path.startswith("/map-")}

    newest, oldest = names[::-1], names
    assert [crawl()[1] for _ in range(2)] == [set(newest[:50]), set(newest[50:100])]
    # The rest, and those that were read once and whose entries were not known then: the first run's.
    third, read = crawl()
    assert read >= set(oldest[:20])
    assert read - set(oldest[:20]) < set(newest[:50])
    assert len(read) == 50
    assert third.stats["news/sitemaps_left_out"] == 70
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
        assert database.execute("SELECT count(*) FROM page").fetchone() == (119,)
        assert database.execute("SELECT count(*), sum(known) FROM sitemap").fetchone() == (120, 30)
    # A sitemap that has changed comes first, then those whose entries were not all known.
    write_index(changed={names[119], names[30]})
    assert {names[119], names[30]} < crawl()[1]


def test_a_long_robots_txt_is_read_on_too(news, site, tmp_path):
    names = [f"/map-{number}.xml" for number in range(60)]
    lines = "\n".join(f"Sitemap: {site.url}{name}" for name in names)
    site.add("/robots.txt", lines, {"Content-Type": "text/plain"})
    for number, name in enumerate(names):
        site.add(name, f"<urlset>{loc(site.url + story(number))}</urlset>", XML)
        site.add_articles(story(number))
    store = {"ITEM_PIPELINES": STORE, "DATABASE_URL": f"sqlite:///{tmp_path / 'blocks.db'}"}
    first, second = (news({"articles": "/news/"}, store, sources="sitemaps") for _ in range(2))
    assert (first.stats["visit/page"], second.stats["visit/page"]) == (50, 10)


def test_older_articles_are_not_requested(news, site):
    today = datetime.now(UTC)
    old, new = today - timedelta(days=9), today - timedelta(days=1)
    site.add("/feed.xml", rss((story(1), format(old, "%a, %d %b %Y %H:%M:%S GMT")), (story(2), "")), RSS)
    site.add(
        "/map.xml",
        f"<urlset>{loc(site.url + story(3), old.isoformat())}{loc(site.url + story(4), new.date().isoformat())}"
        f"{loc(site.url + story(5), '2999-01-01')}</urlset>",
        XML,
    )
    site.add_articles(*[story(n) for n in range(1, 6)])
    columns = {"feeds": [f"{site.url}/feed.xml"], "sitemaps": [f"{site.url}/map.xml"], "articles": "/news/"}
    crawled = news(columns, sources="feeds,sitemaps", age="3")
    assert numbers(crawled) == ["2", "4", "5"]
    assert (crawled.stats["news/older"], crawled.stats["news/dates_doubted"]) == (2, 1)


def test_articles_limits_the_requested_articles(news, site):
    site.add("/feed.xml", rss(*[(story(n), f"Mon, 20 May 2024 1{n}:00:00 GMT") for n in range(9)]), RSS)
    site.add_articles(*[story(n) for n in range(9)])
    crawled = news({"feeds": [f"{site.url}/feed.xml"], "articles": "/news/"}, sources="feeds", articles="3")
    assert (len(pages(crawled)), crawled.stats["news/over_limit"]) == (3, 6)


def test_addresses_without_a_page_do_not_use_up_the_limit_for_ever(news, site, tmp_path):
    paths = {n: story(n) for n in range(12)}
    site.add(
        "/map.xml", f"<urlset>{''.join(loc(site.url + paths[n], f'2024-05-{30 - n:02}') for n in paths)}</urlset>", XML
    )
    site.add_articles(*[paths[n] for n in (8, 9, 10, 11)])
    for n in (0, 1, 2):
        site.add(paths[n], "gone", status=404)
    for n in (3, 4):
        site.add(paths[n], "", {"Location": f"{site.url}/"}, status=302)
    site.add(paths[5], "", {"Location": paths[11]}, status=301)
    site.add(paths[6], "%PDF-1.4", {"Content-Type": "application/pdf"})
    site.add(paths[7], article("7").replace("<title>", f'<link rel="canonical" href="{site.url}/of/7/"><title>'))
    columns = {"sitemaps": [f"{site.url}/map.xml"], "articles": "/news/"}
    url = f"sqlite:///{tmp_path / 'blocks.db'}"
    store = {"ITEM_PIPELINES": STORE, "DATABASE_URL": url}

    def crawl():
        seen = len(site.requested)
        news(columns, store, sources="sitemaps", articles="4", age="36000")
        return sorted(set(site.requested[seen:]) & set(paths.values()), key=list(paths.values()).index)

    runs = [crawl() for _ in range(4)]
    assert runs == [[paths[n] for n in part] for part in ((0, 1, 2, 3), (4, 5, 6, 7, 11), (8, 9, 10), ())]
    # A week later they are tried again, within a limit of their own.
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as connection, connection:
        connection.execute("UPDATE empty_address SET last_visit = datetime('now', '-8 days')")
        connection.execute("UPDATE page SET next_visit = datetime('now', '+9 days')")
    assert crawl() == [paths[n] for n in (0, 1, 2, 3)]
    # Those that fail again wait twice as long.
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as connection, connection:
        connection.execute("UPDATE empty_address SET last_visit = datetime('now', '-8 days') WHERE visits > 1")
    assert crawl() == [paths[n] for n in (4, 5, 6, 11)]


def test_known_articles_do_not_use_up_the_limit_so_each_run_reads_on(news, site, tmp_path):
    days = {n: f"2024-05-{20 - n:02}" for n in range(10)}
    for name, part in (("a", range(5)), ("b", range(5, 10))):
        entries = "".join(loc(site.url + story(n), days[n]) for n in part)
        site.add(f"/{name}.xml", f"<urlset>{entries}</urlset>", XML)
    names = "".join(f"<sitemap><loc>{site.url}/{name}.xml</loc></sitemap>" for name in "ab")
    site.add("/index.xml", f"<sitemapindex>{names}</sitemapindex>", XML)
    site.add_articles(*[story(n) for n in range(10)])
    columns = {"sitemaps": [f"{site.url}/index.xml"], "articles": "/news/"}
    store = {"ITEM_PIPELINES": STORE, "DATABASE_URL": f"sqlite:///{tmp_path / 'blocks.db'}"}
    runs = []
    for _ in range(3):
        stats = news(columns, store, sources="sitemaps", articles="4", age="36000").stats
        runs.append(tuple(stats.get(name, 0) for name in ("visit/page", "news/known", "news/over_limit")))
    assert runs == [(4, 0, 6), (4, 4, 2), (2, 8, 0)]
    assert sorted(path for path in site.requested if path.startswith("/news/")) == sorted(story(n) for n in range(10))
    # What is due, and what its sitemap says has changed, is requested beside what is new.
    site.add_articles(story(10))
    site.add("/b.xml", f"<urlset>{loc(site.url + story(5), '2099-01-01')}{loc(site.url + story(10))}</urlset>", XML)
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as database, database:
        late = [site.url + story(1), site.url + story(2)]
        database.execute("UPDATE page SET next_visit = '2024-01-01 00:00:00' WHERE url IN (?, ?)", late)
        database.execute("UPDATE page SET last_seen = '2024-01-01 00:00:00' WHERE url = ?", [site.url + story(0)])
    count = len(site.requested)
    last = news(columns, store, sources="sitemaps", articles="2", age="36000")
    assert sorted(path for path in site.requested[count:] if path.startswith("/news/")) == sorted(
        [story(0), story(1), story(10)]
    )
    assert (last.stats["news/known"], last.stats["news/due_over_limit"]) == (3, 1)


def test_a_second_visit_of_a_feed_requests_only_new_entries(news, site, tmp_path):
    site.add("/feed.xml", rss((story(1), "")), RSS)
    site.add_articles(story(1), story(2))
    columns = {"feeds": [f"{site.url}/feed.xml"], "articles": "/news/"}
    store = {"ITEM_PIPELINES": STORE, "DATABASE_URL": f"sqlite:///{tmp_path / 'blocks.db'}"}
    news(columns, store, sources="feeds")
    site.add("/feed.xml", rss((story(1), ""), (story(2), "")), RSS)
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as database, database:
        database.execute("UPDATE section SET next_visit = '2024-01-01 00:00:00'")
    command = [sys.executable, "-m", "scrapy", "recrawl", "--due"]
    more = HURRY | {"DATABASE_URL": store["DATABASE_URL"], "PORTALS": tmp_path / "own.toml", "ITEM_PIPELINES": STORED}
    command += [part for name, value in more.items() for part in ("-s", f"{name}={value}")]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SCRAPY_SETTINGS_MODULE": "crawler.settings"}
    done = processes.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert site.requested == ["/feed.xml", story(1), "/feed.xml", story(2)]


def test_a_crawl_ended_by_its_time_limit_continues_with_the_same_command(news, site, tmp_path):
    site.add("/feed.xml", rss(*[(story(n), "") for n in range(4)]), RSS)
    site.add_articles(*[story(n) for n in range(4)])
    columns = {"feeds": [f"{site.url}/feed.xml"], "articles": "/news/", "delay": 2}
    store = {"ITEM_PIPELINES": STORE, "DATABASE_URL": f"sqlite:///{tmp_path / 'blocks.db'}", "CLOSESPIDER_TIMEOUT": 3}
    crawled = [news(columns, store, sources="feeds")]
    assert crawled[0].stats["finish_reason"] == "closespider_timeout"
    while crawled[-1].stats["finish_reason"] != "finished" and len(crawled) < 10:
        crawled.append(news(columns | {"delay": 0}, store, sources="feeds"))
        assert crawled[-1].stats["frontier/resumed"] == 1
    assert sorted(site.requested) == sorted(["/feed.xml", *[story(n) for n in range(4)]])


def test_url_variants_are_dropped_beside_their_article(news, site):
    own = story(1)
    site.add("/science/", listing(own, f"/amp{own}", f"{own}?amp=1", f"{own}/print/", f"/amp{story(2)}"))
    site.add_articles(own, f"/amp{story(2)}")
    crawled = news({"sections": [f"{site.url}/science/"], "articles": "/news/"}, sources="sections")
    assert pages(crawled) == [f"amp{story(2)}", own[1:]]
    assert crawled.stats["news/url_variants"] == 3


def test_a_stored_variant_is_its_canonical_page(news, site, tmp_path):
    own, variant = story(1), f"/amp{story(1)}"
    link = f'<link rel="canonical" href="{site.url}{own}"><link rel="amphtml" href="{variant}">'
    site.add("/science/", listing(own))
    site.add("/sport/", listing(variant))
    for path in (own, variant):
        site.add(path, link + article("The river"))
    columns = {"sections": [f"{site.url}/science/", f"{site.url}/sport/"], "articles": "/news/"}
    store = {"ITEM_PIPELINES": STORE, "DATABASE_URL": f"sqlite:///{tmp_path / 'blocks.db'}"}
    news(columns, store, sources="sections")
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
        assert database.execute("SELECT url_key, visits FROM page").fetchall() == [(site.url + own, 2)]


def test_the_headers_method_and_delay_of_a_row_are_used(news, site, tmp_path):
    site.add("/science/", listing(*[story(n) for n in range(3)]))
    site.add_articles(*[story(n) for n in range(3)])
    columns = {"sections": [f"{site.url}/science/"], "articles": "/news/", "delay": 0.4, "method": "pab"}
    store = {"ITEM_PIPELINES": STORE, "DATABASE_URL": f"sqlite:///{tmp_path / 'blocks.db'}"}
    started = datetime.now(UTC)
    news(columns | {"headers": {"Accept-Language": "hi"}}, store, sources="sections")
    assert (datetime.now(UTC) - started).total_seconds() > 4 * 0.4
    assert {site.headers(path)["Accept-Language"] for path in ("/science/", story(0), story(2))} == {"hi"}
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
        assert database.execute("SELECT DISTINCT method, section FROM page").fetchall() == [("pab", "science")]


def test_a_sitemap_s_lastmod_is_kept_with_the_page_and_a_redirect_with_its_request(news, site, tmp_path):
    site.add("/map.xml", f"<urlset>{loc(site.url + story(1), '2024-05-20')}{loc(site.url + '/news/old')}</urlset>", XML)
    site.add_articles(story(1), story(2))
    site.add("/news/old", "", {"Location": story(2)}, 301)
    database = tmp_path / "blocks.db"
    store = {"ITEM_PIPELINES": STORE, "DATABASE_URL": f"sqlite:///{database}"}
    news({"sitemaps": [f"{site.url}/map.xml"], "articles": "/news/"}, store, sources="sitemaps")
    with closing(sqlite3.connect(database)) as opened:
        rows = opened.execute("SELECT url, outcome, error, meta FROM request WHERE url LIKE '%/news/%'").fetchall()
    told = {url.removeprefix(site.url): (outcome, error, json.loads(meta)) for url, outcome, error, meta in rows}
    assert told[story(1)][2]["lastmod"] == "2024-05-20"
    assert told["/news/old"][:2] == ("redirected", f"to {site.url}{story(2)}")
    assert told[story(2)][2]["redirect_urls"] == [f"{site.url}/news/old"]


def test_a_wrong_row_stops_no_other_site_and_is_named(news, site):
    site.add("/science/", listing(story(1)))
    site.add_articles(story(1))
    columns = {"sections": [f"{site.url}/science/"], "headers": {"Cookie": "consent=granted-9d1"}}
    wrong = '[wrong]\nhost = "e.org"\nlanguage = "English"\n[Bad]\nhost = "f.org"\n'
    crawled = news(columns, rows=wrong, site="river,wrong", sources="sections")
    assert numbers(crawled) == ["1"]
    assert crawled.code == 1
    for row in ("'language' of the portal 'wrong' is 'English': it takes a language tag", "'Bad' is not a valid name"):
        assert row in crawled.log
    alone = news(columns, rows=wrong, site="wrong", sources="sections")
    assert alone.code == 2
    assert "'language' of the portal 'wrong' is 'English'" in alone.log


def test_a_cookie_is_sent_to_the_portal_and_stored_nowhere(news, site, serve, answer, tmp_path):
    other, asked_there = serve({"/": answer("elsewhere")})
    site.add("/science/", listing(story(1), story(2)))
    site.add_articles(story(1))
    site.add(story(2), "", {"Location": f"{other}/"}, status=302)
    secret = "consent=granted-9d1"
    columns = {"sections": [f"{site.url}/science/"], "headers": {"Cookie": secret}}
    settings = {"ITEM_PIPELINES": STORE, "DATABASE_URL": f"sqlite:///{tmp_path}/blocks.db", "LOG_LEVEL": "DEBUG"}
    crawled = news(columns, settings, sources="sections")
    assert crawled.stats["visit/page"] >= 1
    assert {site.headers(path).get("Cookie") for path in ("/science/", story(1), story(2))} == {secret}
    assert {headers.get("Cookie") for _, headers in asked_there} <= {None}
    assert secret not in crawled.log
    assert all(secret.encode() not in path.read_bytes() for path in tmp_path.glob("blocks.db*"))


TRACKED = {
    "sections": "?CMP=front&spm=a.1.2",
    "feeds": "?utm_source=rss&at_medium=RSS&at_custom1=x#xtor=RSS-3",
    "sitemaps": "?xtor=map&ref_src=twsrc&wt_mc=sm&fbclid=1",
}


@pytest.mark.parametrize("states_canonical", [True, False])
@pytest.mark.parametrize("stored", [True, False], ids=["database", "memory"])
def test_each_article_is_asked_for_once_under_its_own_address(news, site, tmp_path, stored, states_canonical):
    paths = [f"{story(n)}?id={n}" for n in range(12)]
    links = {source: [f"{path}&{more[1:]}" for path in paths] for source, more in TRACKED.items()}
    site.add("/science/", listing(*links["sections"]))
    site.add("/feed.xml", rss(*[(link.replace("&", "&amp;"), "") for link in links["feeds"]]), RSS)
    entries = "".join(loc(site.url + link.replace("&", "&amp;")) for link in links["sitemaps"])
    site.add("/map.xml", f"<urlset>{entries}</urlset>", XML)
    for number, path in enumerate(paths):
        canonical = f'<link rel="canonical" href="{site.url}{path}">' if states_canonical else ""
        for variant in (path, *(urls[number].partition("#")[0] for urls in links.values())):
            site.add(variant, canonical + article(f"The river {number}"))
    columns = {
        "sections": [f"{site.url}/science/"],
        "feeds": [f"{site.url}/feed.xml"],
        "sitemaps": [f"{site.url}/map.xml"],
        "articles": "/news/",
    }
    store = {"ITEM_PIPELINES": STORE, "DATABASE_URL": f"sqlite:///{tmp_path / 'blocks.db'}"}
    crawled = news(columns, store if stored else {})
    asked = [path for path in site.requested if path.startswith("/news/")]
    assert sorted(path.partition("&")[0] for path in asked) == sorted(paths)
    assert crawled.stats["visit/page"] == 12
    if stored:
        with closing(sqlite3.connect(tmp_path / "blocks.db")) as database:
            urls = [url for (url,) in database.execute("SELECT url FROM page ORDER BY id")]
        assert sorted(urls) == sorted(site.url + path for path in paths)


def test_links_of_a_menu_that_lead_nowhere_are_asked_again_after_a_week(news, site, tmp_path):
    dead = ["/sport/", "/culture/"]
    menu = "".join(f'<a href="{path}">A section</a>' for path in ("/world/", *dead))
    feed = '<link rel="alternate" type="application/rss+xml" href="/feed.xml">'
    site.add("/", f"{feed}<nav>{menu}</nav>" + listing(story(1)))
    site.add("/world/", listing(story(1)))
    site.add_articles(story(1))
    store = {"ITEM_PIPELINES": STORE, "DATABASE_URL": f"sqlite:///{tmp_path / 'blocks.db'}"}

    def crawl():
        seen = len(site.requested)
        news(None, store, sources="sections,feeds", depth="1")
        return sorted(path for path in site.requested[seen:] if path in {*dead, "/feed.xml", "/world/"})

    assert crawl() == ["/culture/", "/feed.xml", "/sport/", "/world/"]
    assert [crawl(), crawl()] == [["/world/"], ["/world/"]]
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as connection, connection:
        connection.execute("UPDATE empty_address SET last_visit = datetime('now', '-8 days')")
    assert crawl() == ["/culture/", "/feed.xml", "/sport/", "/world/"]


def test_since_compares_the_day_of_publication_where_one_is_stated(news, site):
    def entry(path, published, changed):
        stated = f"<n:news><n:publication_date>{published}</n:publication_date></n:news>" if published else ""
        return f"<url><loc>{site.url}{path}</loc><lastmod>{changed}</lastmod>{stated}</url>"

    entries = [
        entry(story(1), "2023-02-01T10:00:00Z", "2024-05-20"),  # last year's, changed since
        entry(story(2), "2024-05-20", "2024-05-20"),
        entry(story(3), None, "2024-05-20"),  # its page says when it was published
        entry(story(4), None, "2024-05-20"),
    ]
    head = '<urlset xmlns:n="http://www.google.com/schemas/sitemap-news/0.9">'
    site.add("/map.xml", f"{head}{''.join(entries)}</urlset>", XML)
    site.add_articles(*[story(n) for n in (1, 2, 4)])
    news_article = {"@type": "NewsArticle", "datePublished": "2023-02-01T10:00:00Z", "dateModified": "2024-05-20"}
    ticker = '<header><time datetime="2024-05-20T10:00">now</time></header>'
    site.add(story(3), f'{ticker}<script type="application/ld+json">{json.dumps(news_article)}</script>{article("3")}')
    crawled = news({"sitemaps": [f"{site.url}/map.xml"], "articles": "/news/"}, sources="sitemaps", since="2024-01-01")
    assert numbers(crawled) == ["2", "4"]
    assert story(1) not in site.requested

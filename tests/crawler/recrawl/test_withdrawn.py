"""A stored page whose publisher asks later that it be left alone is retired, and comes back when the wish is gone."""

import json

import pytest
from changing_site import article, listing, prose

TDMREP = "/.well-known/tdmrep.json"


def put(site, number, head="", **values):
    page = article(f"Title {number}", prose(number), prose(number + 100))
    site.put(f"/news/{number}", page.replace("</title>", f"</title>{head}"), **values)


@pytest.fixture
def crawled(world):
    for number in range(1, 4):
        put(world.site, number)
    world.site.put("/news/", listing("/news/1", "/news/2", "/news/3"))
    assert world.crawl().returncode == 0
    return world


def recrawl(world, *paths, **settings):
    world.make_due(*paths)
    world.site.asked.clear()
    return world.scrapy("recrawl", "--due", **settings)


def is_withdrawn(world, path):
    row = world.page(path)
    return row["retired_at"] is not None and row["html"] is None and world.texts(path) == []


@pytest.mark.parametrize("directive", ["noindex", "noai"])
def test_a_page_that_says_noindex_now_is_retired_and_its_html_deleted(crawled, directive):
    before = crawled.texts("/news/1")
    put(crawled.site, 1, f'<meta name="robots" content="{directive}">')
    done = recrawl(crawled, "/news/1", "/news/2")
    assert crawled.totals()[f"visit/{directive}"] == 1
    assert crawled.totals()["store/pages_retired"] == 1
    assert is_withdrawn(crawled, "/news/1")
    assert crawled.texts("/news/1", gone=True) == before
    assert crawled.page("/news/2")["html"] is not None
    assert "do not add up" not in done.stderr
    put(crawled.site, 1)
    recrawl(crawled, "/news/1", "/news/")  # a retired page is visited if a link leads to it
    assert crawled.texts("/news/1") == before
    assert crawled.page("/news/1")["html"] is not None


@pytest.mark.parametrize("validators", ["both", "none"])
def test_a_header_that_is_new_on_an_unchanged_page_is_noticed(crawled, validators):
    put(crawled.site, 1, validators=validators)
    recrawl(crawled, "/news/1")
    crawled.site.pages["/news/1"].headers = {"X-Robots-Tag": "noindex"}
    recrawl(crawled, "/news/1")
    assert is_withdrawn(crawled, "/news/1")


def test_a_header_noarchive_that_is_new_deletes_the_html_only(crawled):
    before = crawled.texts("/news/1")
    crawled.site.pages["/news/1"].headers = {"X-Robots-Tag": "noarchive"}
    assert recrawl(crawled, "/news/1").returncode == 0
    assert crawled.page("/news/1")["html"] is None
    assert crawled.texts("/news/1") == before


def test_a_host_that_reserves_its_rights_now_withdraws_all_unchanged_pages(crawled):
    crawled.site.put(TDMREP, '[{"location": "/news/", "tdm-reservation": 1}]')
    put(crawled.site, 3, '<meta name="tdm-reservation" content="0">')
    recrawl(crawled)
    assert is_withdrawn(crawled, "/news/1")
    assert is_withdrawn(crawled, "/news/2")
    assert crawled.texts("/news/3")


def test_a_page_is_visited_again_by_the_setting_with_which_it_was_stored(world):
    put(world.site, 1, '<meta name="robots" content="noindex, nofollow">')
    world.site.put("/news/", listing("/news/1"))
    refused = world.crawl()
    assert refused.returncode == 1
    assert "-s OBEY_NOINDEX=false stores them" in refused.stderr.splitlines()[-1]
    world.crawl(OBEY_NOINDEX="false")
    texts = world.texts("/news/1")
    assert texts
    recrawl(world)
    assert world.texts("/news/1") == texts
    said = recrawl(world, OBEY_NOINDEX="true").stderr
    assert "read with OBEY_NOINDEX=False; they are now read with OBEY_NOINDEX=True" in said
    assert is_withdrawn(world, "/news/1")


def test_a_section_that_says_nofollow_stays_a_section(crawled):
    crawled.site.put("/news/", '<meta name="robots" content="none">' + listing("/news/1", "/news/4"))
    put(crawled.site, 4)
    recrawl(crawled, "/news/")
    assert "/news/4" not in crawled.site.paths()
    assert crawled.totals()["directives/nofollow_links"] == 2
    assert crawled.rows("SELECT retired_at FROM section") == [{"retired_at": None}]
    last = json.loads(crawled.scrapy("status", "--json").stdout)["crawls"][0]
    assert (last["left_alone"], last["failed"]) == ({"nofollow_links": 2}, {})

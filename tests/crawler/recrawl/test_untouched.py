"""An event is what a publisher did: what stands on a page as before is neither new nor gone."""

from itertools import pairwise

import pytest
from changing_site import listing, prose

from cleaning import clean

INTRODUCTION = (
    'The storm came at noon. Read <a href="/map">what you need to know</a> and <a href="/all">all news about it</a>.'
)
STANDING = "The storm came at noon. Read what you need to know and all news about it."
LISTED = "/news/1"
ELSEWHERE = ("/news/1?from=menu", "/news/1?from=foot")


def live_blog(entries, *, canonical="", nonce=0):
    """A page whose introduction the classifier keeps and drops in turn as entries come."""
    link = f'<link rel="canonical" href="{canonical}">' if canonical else ""
    told = "".join(f'<div class="entry"><h2>{hour}:00</h2><p>{prose(hour)}</p></div>' for hour in range(entries))
    return (
        f"<!DOCTYPE html><html lang=en><head><title>Storm live</title>{link}</head><body><!-- {nonce} -->"
        '<nav><a href="/">Home</a> <a href="/n">News</a></nav>'
        f"<div><h1>Storm live</h1><p>{INTRODUCTION}</p>{told}</div></body></html>"
    )


def kept(body, url):
    return [decision.block.text for decision in clean(body, url).decisions if decision.kept]


def kinds(world):
    return [row["kind"] for row in world.rows("SELECT kind FROM page_event ORDER BY visited")]


def test_the_same_bytes_under_another_address_are_unchanged(either_world):
    """The address says to the classifier whether it has a query, and feeds and menus add one."""
    world, site = either_world, either_world.site
    url = f"{site.url}{LISTED}"
    bodies = (live_blog(entries, canonical=url) for entries in range(1, 40))
    body = next(body for body in bodies if kept(body, url) != kept(body, site.url + ELSEWHERE[0]))
    site.put("/news/", listing(LISTED, *ELSEWHERE))
    for path in (LISTED, *ELSEWHERE):
        site.put(path, body)
    for _ in range(2):
        assert world.crawl(fresh="1").returncode == 0
        world.make_due()
    (page,) = world.rows("SELECT visits, changes, first_seen = last_changed AS same FROM page")
    assert (page["changes"], bool(page["same"])) == (0, True)
    assert page["visits"] > 2
    assert kinds(world) == ["new"]
    assert world.rows("SELECT 1 FROM block WHERE gone_at IS NOT NULL") == []


def test_entries_come_to_a_live_blog_and_nothing_else_does(world):
    site, visits = world.site, (1, 2, 4, 8, 16)
    url = site.url + LISTED
    assert [STANDING in kept(live_blog(entries), url) for entries in visits] == [True, *[False] * 4]
    site.put("/news/", listing(LISTED))
    site.put(LISTED, live_blog(1))
    world.crawl()
    for before, entries in pairwise(visits):
        standing = {decision.block.text for decision in clean(live_blog(before), url).decisions}
        texts = world.texts(LISTED)
        site.put(LISTED, live_blog(entries))
        assert world.scrapy("recrawl").returncode == 0
        assert [text for text in world.texts(LISTED) if text in standing] == texts
        assert prose(entries - 1) in world.texts(LISTED)
    assert STANDING in texts
    assert world.texts(LISTED, gone=True) == []
    assert kinds(world) == ["new", *["changed"] * 4]


@pytest.mark.parametrize("reader", ["method", "options", "version"])
def test_another_reader_decides_anew_without_an_event(world, reader):
    site = world.site
    site.put("/news/", listing(LISTED))
    site.put(LISTED, live_blog(1))
    world.crawl()
    assert STANDING in world.texts(LISTED)
    settings = {
        "method": {"CLEANING_METHOD": "subtree"},
        "options": {"CLEANING_OPTIONS": '{"favour": "precision"}'},
        "version": {},
    }[reader]
    if reader == "version":
        world.change("UPDATE headline SET version = '0.1'")
        world.change("DELETE FROM block WHERE text != :text", text=STANDING)  # as if it had dropped them
    site.put(LISTED, live_blog(1, nonce=1))
    assert world.scrapy("recrawl", **settings).returncode == 0
    assert world.texts(LISTED) != [STANDING]
    assert kinds(world) == ["new"]

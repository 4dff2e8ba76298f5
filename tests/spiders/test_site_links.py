"""Sections and feeds that pages link to."""

import gzip

import pytest
from scrapy.http import HtmlResponse

from crawler.discovery.portals import read_portals
from spiders.site_links import _FEEDS_MAX, _SECTIONS_MAX, feed_links, section_links

HOME = "https://news.example.org/"


def response(body, url=HOME):
    return HtmlResponse(url, body=body if isinstance(body, bytes) else body.encode(), encoding="utf-8")


def menu(*links):
    return "<nav>" + "".join(f'<a href="{url}">{name}</a>' for url, name in links) + "</nav>"


def sections(*links, around="<nav>{}</nav>"):
    body = "".join(f'<a href="{url}">{name}</a>' for url, name in links)
    return section_links(response(around.format(body)))


@pytest.mark.parametrize(
    "around", ["<nav>{}</nav>", "<header><ul>{}</ul></header>", "<div class='top-menu x'>{}</div>"]
)
def test_a_link_in_a_menu_is_a_section(around):
    assert sections(("/science/", "Science"), around=around) == [f"{HOME}science/"]


@pytest.mark.parametrize("around", ["<main>{}</main>", "<nav></nav>{}", "<footer><div class=menu>{}</div></footer>"])
def test_a_link_elsewhere_is_not_a_section(around):
    assert sections(("/science/", "Science"), around="<body>" + around.replace("<div class=menu>", "<div>")) == []


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("/login", "Log in"),
        ("/about/us", "About us"),
        ("/tag/river", "River"),
        ("/video/", "Video"),
        ("/news?page=2", "More"),
        ("/news/12345678", "The river"),
        ("/science/", ""),
        ("/science/", "The river that rose in the night"),
        ("/a/b/c/d", "Deep"),
        ("/feed.xml", "Feed"),
        ("https://mail.example.org/", "Mail"),
        ("https://other.example.net/science/", "Science"),
        ("#science", "Science"),
        ("mailto:a@example.org", "Write"),
    ],
)
def test_services_in_a_menu_are_not_sections(url, name):
    assert sections((url, name)) == []


def test_a_section_may_have_its_own_host():
    assert sections(("https://sport.example.org/", "Sport")) == ["https://sport.example.org/"]


def test_each_section_is_returned_once_however_it_is_spelt():
    links = [("/science/", "Science"), ("/science", "Science"), ("http://www.news.example.org/science/#top", "Science")]
    assert sections(*links) == [f"{HOME}science/"]


def test_the_cities_of_a_menu_do_not_hide_its_sections():
    cities = [(f"/city/city-{chr(97 + n)}", f"City {n}") for n in range(26)]
    urls = sections(*cities, ("/science/", "Science"))
    assert urls[-1] == f"{HOME}science/"
    assert len(urls) < 26


def test_the_number_of_sections_and_feeds_is_limited():
    assert len(sections(*[(f"/s{chr(97 + n % 26)}{n}/", f"Section {n}") for n in range(200)])) == _SECTIONS_MAX
    feeds = "".join(f'<link rel=alternate type="application/rss+xml" href="/{n}.xml">' for n in range(200))
    assert len(feed_links(response(feeds))) == _FEEDS_MAX


def test_feeds_are_those_that_the_head_names():
    head = (
        '<link rel="alternate" type="application/rss+xml; charset=utf-8" href="/news.xml">'
        '<link rel="ALTERNATE stylesheet" type="application/atom+xml" href="https://feeds.example.net/a">'
        '<link rel="alternate" type="application/rss+xml" href="/comments/feed/">'
        '<link rel="alternate" hreflang="de" href="/de/"><link rel="amphtml" href="/amp/">'
        '<link rel="alternate" type="application/rss+xml" href="javascript:feed()">'
        '<link rel="alternate" type="application/rss+xml" href="http://[::1/feed">'
        '<link rel="alternate" type="application/rss+xml" href="https://e.org:port/feed">'
    )
    assert feed_links(response(head)) == [f"{HOME}news.xml", "https://feeds.example.net/a"]


# Pages with the menu of a site, and how many of the sections that the table has of it are found there.
@pytest.mark.parametrize(
    ("site", "file", "least"),
    [
        ("bbc", "16", 8),
        ("cnn", "02", 6),
        ("indianexpress", "00", 7),
        ("qq", "04", 4),
        ("sina", "00", 7),
        ("thehindu", "00", 8),
        ("timesofindia", "02", 4),
    ],
)
def test_menus_of_saved_pages_have_the_sections_of_the_table(data, site, file, least):
    portal = read_portals()[site]
    body = gzip.decompress((data / "sites" / site / f"{file}.html.gz").read_bytes())
    urls = {url.rstrip("/") for url in section_links(response(body, portal.start))}
    assert len(urls.intersection(url.rstrip("/") for url in portal.sections)) >= least

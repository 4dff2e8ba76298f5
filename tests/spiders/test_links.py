"""Which links of a listing are articles, and which is its next page."""

import re
import time
from datetime import date

import pytest
from scrapy.http import HtmlResponse

from spiders.links import article_links, url_date
from spiders.pagination import next_page

PORTAL = """
<html><body>
<header><nav><a href="/">Home</a> <a href="/world/">World</a>
<a href="/tech/">Technology and everything about it</a></nav></header>
<div class="breadcrumb"><a href="/tech/">Technology</a> »
<a href="/tech/phones-and-tablets-and-more/">Phones and tablets</a></div>
<main>
<div class="card"><a href="/tech/2024/05/31/why-the-river-rose-so-fast"><img alt="A river"></a>
  <h3><a href="/tech/2024/05/31/why-the-river-rose-so-fast#top">Why the river rose so fast this spring</a></h3></div>
<div class="card"><h3><a href="story-4711123.html">The mill that nobody wanted to buy</a></h3>
  <time datetime="2024-05-30T08:00:00Z">yesterday</time></div>
<div class="card">
<h3><a href="https://news.portal.example/tech/bridge-opens-after-two-years-of-repairs">Bridge opens again</a></h3>
  <time datetime="2024-05-29">Wednesday</time></div>
<p><a href="/tag/rivers-and-lakes-and-the-sea">Rivers and lakes and the sea</a></p>
<p><a href="/files/annual-report-of-the-water-board-2024.pdf">The annual report of the water board as a PDF file</a></p>
<p><a href="https://elsewhere.example/2024/05/31/a-story-of-another-site">A story of another site altogether</a></p>
<p><a href="javascript:void(0)">Open the menu of the page</a> <a href="mailto:a@b.example">Write to us</a> <a href="http://[x/">x</a></p>
</main>
<footer><a href="/about/who-we-are-and-what-we-do-12345">Who we are and what we do all day long</a></footer>
</body></html>
"""


def listing(html, url="https://www.portal.example/tech/"):
    return HtmlResponse(url, body=html, encoding="utf-8")


def test_articles_are_told_from_navigation_files_and_other_sites():
    links = article_links(listing(PORTAL))
    assert [link.url for link in links] == [
        "https://www.portal.example/tech/2024/05/31/why-the-river-rose-so-fast",
        "https://www.portal.example/tech/story-4711123.html",
        "https://news.portal.example/tech/bridge-opens-after-two-years-of-repairs",
    ]


def test_a_link_has_its_longest_text_and_the_date_beside_it():
    first, second, third = article_links(listing(PORTAL))
    assert first.text == "Why the river rose so fast this spring"
    assert [link.published for link in (first, second, third)] == [
        date(2024, 5, 31),
        date(2024, 5, 30),
        date(2024, 5, 29),
    ]


def test_a_pattern_takes_the_place_of_recognition():
    links = article_links(listing(PORTAL), re.compile(r"/tag/|elsewhere"))
    assert [link.url for link in links] == ["https://www.portal.example/tag/rivers-and-lakes-and-the-sea"]


def test_a_page_without_links_has_none():
    assert article_links(listing("<p>nothing here</p>")) == []


def test_a_page_of_a_hundred_thousand_links_is_bounded():
    html = "".join(f'<a href="/a/{n}-a-story-about-the-river">A story about the river</a>' for n in range(100_000))
    assert len(article_links(listing(html))) <= 5_000


def test_links_that_hold_each_other_cost_no_more_than_others():
    html = "".join(f'<a href="/a/{n}-a-story-about-it"><div>' for n in range(1_000)) + "word " * 1_000_000
    started = time.process_time()
    response = listing(html)
    article_links(response)
    next_page(response)
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("url", "day"),
    [
        ("https://x.example/2017/03/28/a", date(2017, 3, 28)),
        ("https://x.example/news/2016-05-25/doc-1.shtml", date(2016, 5, 25)),
        ("https://x.example/omn/20200704/A04.html", date(2020, 7, 4)),
        ("https://x.example/20/0703/13/FGK.html", date(2020, 7, 3)),
        ("https://x.example/2017/13/45/a", None),
        ("https://x.example/story-1234567890.html", None),
        ("https://x.example/a", None),
    ],
)
def test_dates_in_urls(url, day):
    assert url_date(url) == day


@pytest.mark.parametrize(
    "html",
    [
        '<link rel="next" href="/tech/2">',
        '<a rel="nofollow next" href="/tech/2">more</a>',
        '<a href="/tech/2">Next »</a>',
        '<a href="/tech/2">Next Page ›</a>',
        '<a href="/tech/2">« Older posts</a>',
        '<a href="/tech/2">下一页</a>',
        '<a href="/tech/2">Weiter</a>',
        '<a href="/tech/2">Suivant »</a>',
        '<a href="/tech/2">siguiente &gt;</a>',
        '<a href="/tech/2" title="Next page"><img src="arrow.png"></a>',
        '<div class="pagination"><a href="/tech/2">»</a></div>',
        '<div class="pager"><b>1</b> <a href="/tech/2">2</a> <a href="/tech/3">3</a></div>',
    ],
)
def test_the_next_page_is_found(html):
    assert next_page(listing(html)) == "https://www.portal.example/tech/2"


def test_the_number_after_this_pages_is_next():
    html = "".join(f'<a href="?page={n}">{n}</a> ' for n in (1, 2, 4, 5))
    response = listing(html, "https://www.portal.example/tech/?page=3")
    assert next_page(response) == "https://www.portal.example/tech/?page=4"


@pytest.mark.parametrize(
    "html",
    [
        "",
        '<div class="breadcrumb"><a href="/a">A</a> <a href="/b">»</a></div>',
        '<a href="/tech/">Next</a>',
        '<a href="https://elsewhere.example/2">Next</a>',
        '<a href="#2">Next</a>',
        '<a href="javascript:next()">Next</a>',
        '<a href="/a">Next steps for the water board</a>',
        '<a href="/winners">2</a>',
    ],
)
def test_what_is_no_next_page(html):
    assert next_page(listing(html)) is None

"""Article links of a listing, and its next page."""

import re
from datetime import date

import pytest
from cpu_time import bounded_cpu_time, cpu_growth
from scrapy.http import HtmlResponse

from spiders.link_history import LinkHistory
from spiders.links import URL_MAX_CHARS, article_links, count_long_links, link_text
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
<footer><a href="/about/who-we-are-and-what-we-do-12345">Who we are</a></footer>
</body></html>
"""


def listing(html, url="https://www.portal.example/tech/"):
    return HtmlResponse(url, body=html, encoding="utf-8")


def test_articles_are_distinguished_from_navigation_files_and_other_sites():
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


def test_allow_replaces_recognition():
    links = article_links(listing(PORTAL), re.compile(r"/tag/|elsewhere"))
    assert [link.url for link in links] == ["https://www.portal.example/tag/rivers-and-lakes-and-the-sea"]


def test_a_page_without_links_has_none():
    assert article_links(listing("<p>nothing here</p>")) == []


@pytest.mark.slow
def test_the_number_of_links_is_limited():
    html = "".join(f'<a href="/a/{n}-a-story-about-the-river">A story about the river</a>' for n in range(100_000))
    assert len(article_links(listing(html))) <= 5_000


@pytest.mark.slow
def test_nested_links_are_not_slow():
    html = "".join(f'<a href="/a/{n}-a-story-about-it"><div>' for n in range(300)) + "word " * 1_000_000
    with bounded_cpu_time():
        response = listing(html)
        article_links(response)
        next_page(response)


def test_tracking_parameters_do_not_make_new_links():
    path = "/tech/2024/05/31/why-the-river-rose-so-fast"
    html = "".join(
        f'<a href="{path}{end}">Why the river rose so fast</a> ' for end in ("?utm_source=a", "", "?fbclid=b")
    )
    assert [link.url for link in article_links(listing(html))] == [
        f"https://www.portal.example{path}?utm_source=a"  # fetched as the page has it
    ]


SHELF = "".join(f'<li><a href="/item/{n}1234">No. {n}</a></li>' for n in range(20))


def taught(path, *, is_article, pages=4):
    learned = LinkHistory()
    for number in range(pages):
        learned.learn(f"https://www.portal.example{path.format(number)}", is_article=is_article)
    return learned


def test_unlikely_links_are_followed_if_their_pattern_led_to_articles():
    response = listing(SHELF)
    assert article_links(response) == []
    assert article_links(response, history=taught("/item/{}9999", is_article=True, pages=2)) == []
    assert len(article_links(response, history=taught("/item/{}9999", is_article=True, pages=30))) == 20


def test_one_link_of_an_excluded_pattern_is_tried_again():
    films = "".join(
        f'<p><a href="/watch/a-film-about-the-river-{n}">A film about the river and {n}</a>' for n in range(9)
    )
    response = listing(films)
    assert len(article_links(response)) == 9
    learned = taught("/watch/a-film-about-the-bridge-{}", is_article=False)
    assert len(article_links(response, history=learned)) == 1


def test_allow_outweighs_the_history():
    learned = taught("/item/{}9999", is_article=False)
    assert len(article_links(listing(SHELF), re.compile("/item/"), learned)) == 20


@pytest.mark.parametrize(
    ("part", "times"),
    [
        ("<img src='/x'>", 20_000),
        ("<a href='/x'></a>", 20_000),
        ("<p> </p>", 20_000),
        ("<time datetime=2024-05-01></time><a href='/1'></a>", 5_000),
        ("<span class='load-more'></span>", 5_000),
    ],
    ids=["images", "links", "blanks", "times", "buttons"],
)
def test_a_deep_listing_without_texts_is_read_in_linear_time(part, times):
    small, large = (listing(f"<title>Deep</title>{'<div>' * 240}{part * count}") for count in (times // 8, times))
    for page in (small, large):
        page.selector  # noqa: B018 — parsing is not measured
    assert cpu_growth(lambda page: (article_links(page), next_page(page)), small, large) < 24


def test_the_text_of_a_large_link_is_that_of_its_beginning():
    page = listing(f"<a href='/x'><b>First</b> {'<i></i>' * 290}last{'<i></i>' * 290} never</a>")
    (link,) = page.selector.root.iter("a")
    assert link_text(link) == "First"
    (link,) = listing(f"<a href='/x'><b>First</b> {'<i></i>' * 90}last</a>").selector.root.iter("a")
    assert link_text(link) == "First last"


def test_hashbang_links_lead_to_pages_of_their_own():
    page = listing(
        '<a href="#!/story/1">One</a> <a href="/tech/#!/story/2">Two</a> <a href="#!">Up</a> <a href="#a">A</a>'
    )
    assert [link.url for link in article_links(page, allow=re.compile("story"))] == [
        "https://www.portal.example/tech/#!/story/1",
        "https://www.portal.example/tech/#!/story/2",
    ]


@pytest.mark.parametrize(
    "path",
    [
        "/2024/05/31/",
        "/news/2024/05",
        "/archive?month=5&year=2024",
        "/reports/annual.pdf",
        "/data/story.json",
        "/stories/the-river.xml",
    ],
)
def test_allow_names_addresses_that_look_like_calendars_or_files(path):
    html = f"<a href='{path}'>The river</a> <a href='/about'>About us</a>"
    allow = re.compile(re.escape(path))
    assert [link.url for link in article_links(listing(html), allow)] == [f"https://www.portal.example{path}"]
    assert article_links(listing(html)) == []


def test_links_that_are_too_long_are_counted():
    root = "https://www.portal.example"
    longest, longer = (f"{root}/{'a' * (length - len(root) - 1)}" for length in (URL_MAX_CHARS, URL_MAX_CHARS + 1))
    page = listing(f"<a href='{longest}'>One</a> <a href='{longer}'>Two</a>")
    assert count_long_links(page) == 1
    assert [link.url for link in article_links(page, re.compile("aaa"))] == [longest]

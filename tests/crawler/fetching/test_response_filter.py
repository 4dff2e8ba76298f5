"""A page is rejected for its own words only if it has no content, and hostile pages cost no more than others."""

import pytest
from cpu_time import bounded_cpu_time
from scrapy.http import HtmlResponse
from scrapy.settings import Settings

from cleaning.blocks import Page
from cleaning.parse import parse
from crawler.config import Config
from crawler.fetching.response_filter import (
    PageResponse,
    Rejection,
    filter_response,
    has_content,
    reject_body,
    reject_page,
)
from crawler.visit import Outcome, UnparsedPage

WIDGET = b'<div class="g-recaptcha"></div>'
SECONDS = 10


@pytest.mark.parametrize(
    "body",
    [
        b"<form>" + WIDGET * 100_000,
        b"<form>" + WIDGET * 100_000 + b"<input name=q></form>",
        b"<div>" * 100_000 + WIDGET,
        WIDGET + b"<p>x</p>" * 300_000,
        WIDGET + b"<iframe src=captcha>" * 50_000,
        b"<title>" + b"not found " * 100_000,
    ],
    ids=["widgets", "widgets-in-form", "deep", "paragraphs", "frames", "title"],
)
def test_a_hostile_page_is_filtered_in_bounded_time(body):
    page = parse(body)
    with bounded_cpu_time():
        reject_page(page, body)


def test_hostile_starts_are_sniffed_in_bounded_time():
    with bounded_cpu_time():
        for body in (b"<!--" * 100_000, b"<?xml " * 100_000, b" " * 1_000_000 + b"x", b"\x00\xfe" * 100_000):
            reject_body(body, None, 10_000_000)
            reject_body(body, "text/html", 10_000_000)


@pytest.mark.parametrize(
    ("html", "content"),
    [
        (f"<p>{'word ' * 130}</p>", True),
        (f"<div>{'eight words stand in each of these lines<br>' * 20}</div>", True),
        (f"<p>{'河水在夜里上涨把旧桥冲到了磨坊' * 10}</p>", True),
        ("<div id='article-content'>Only ten words are needed in here, and here they are.</div>", True),
        ("<div id='article-content'></div>", False),
        (f"<nav>{'word ' * 200}</nav><form>{'word ' * 200}</form><script>{'word ' * 200}</script>", False),
        (f"<ul>{'<li>two words</li>' * 200}</ul>", False),
        ("", False),
    ],
)
def test_content_is_running_text_outside_links_and_frames(html, content):
    assert has_content(parse(f"<html><body>{html}</body></html>").root) is content


@pytest.mark.parametrize("kind", ["text/html", ""])
def test_a_page_that_begins_with_many_comments_is_read_once(kind):
    """Trying all ways to divide them into five comments would take hours."""
    body = b"<!---->" * 140 + b"Mill"
    expected = None if kind else Outcome.NOT_HTML
    assert getattr(reject_body(body, kind, len(body)), "outcome", None) is expected


PLAIN = b"<!DOCTYPE html><title>Mill</title><p>" + b"The old bridge lies at the mill. " * 20
PARSED = {
    "hint of a challenge": PLAIN + b"<script src=/captcha.js></script>",
    "too large": PLAIN + b"<p>x" * 250_000,
    "a long tag": PLAIN + b"<p class=" + b"x" * 50_000 + b">",
    "NUL": PLAIN + b"\x00",
    "UTF-16": PLAIN.decode().encode("utf-16"),
    "text before the first tag": b"Mill " + PLAIN,
}


@pytest.mark.parametrize("body", [PLAIN, b"\xef\xbb\xbf" + PLAIN, b"\r\n " + PLAIN, "<p>caf\u00e9".encode("latin-1")])
def test_a_page_is_only_decoded_if_it_is_parsed_later(body):
    response = HtmlResponse("https://e.org/", body=body, headers={"Content-Type": "text/html"})
    source = filter_response(response, Config.read(Settings()), parse_later=True)
    parsed = filter_response(response, Config.read(Settings()))
    assert isinstance(source, UnparsedPage)
    assert not source.is_parsed
    assert (source.encoding, source.parse_warnings, source.url) == (parsed.encoding, parsed.parse_warnings, parsed.url)
    page = PageResponse.of(response, source)
    moved = page.replace(url="https://e.org/moved")
    assert not source.is_parsed
    assert (
        page.css("p").getall() == HtmlResponse("https://e.org/", body=body, encoding=source.encoding).css("p").getall()
    )
    assert source.is_parsed
    assert page.tree is source.tree
    assert moved.tree.url == page.replace(url="https://e.org/moved").tree.url == "https://e.org/moved"


@pytest.mark.parametrize("body", PARSED.values(), ids=PARSED)
def test_a_page_that_parsing_may_reject_is_parsed_at_once(body):
    response = HtmlResponse("https://e.org/", body=body, headers={"Content-Type": "text/html"})
    result = filter_response(response, Config.read(Settings()), parse_later=True)
    expected = filter_response(response, Config.read(Settings()))
    assert type(result) is type(expected)
    assert isinstance(result, Page | Rejection)


def test_a_page_that_takes_too_long_to_read_is_rejected_and_counted():
    response = HtmlResponse("https://e.org/", body=b"<p>x</p>" * 400_000, headers={"Content-Type": "text/html"})
    config = Config.read(Settings({"CLEANING_SECONDS": 0.05}))
    result = filter_response(response, config)
    assert isinstance(result, Rejection)
    assert result.outcome is Outcome.CLEANING_TIMEOUT
    assert result.detail == "reading it: it takes more than 0.05 seconds (setting CLEANING_SECONDS)"
    assert not isinstance(filter_response(response, Config.read(Settings())), Rejection)

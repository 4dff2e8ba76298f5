"""A page is rejected for its own words only if it has no content, and hostile pages cost no more than others."""

import time

import pytest

from cleaning.parse import parse
from crawler.fetching.response_filter import has_content, reject_body, reject_page

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
    started = time.process_time()
    reject_page(page, body)
    assert time.process_time() - started < SECONDS


def test_hostile_starts_are_sniffed_in_bounded_time():
    started = time.process_time()
    for body in (b"<!--" * 100_000, b"<?xml " * 100_000, b" " * 1_000_000 + b"x", b"\x00\xfe" * 100_000):
        reject_body(body, None, 10_000_000)
        reject_body(body, "text/html", 10_000_000)
    assert time.process_time() - started < SECONDS


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

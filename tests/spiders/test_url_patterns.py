"""Patterns of URLs, and variants of articles by their URLs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spiders.url_patterns import _variant_of, drop_variants, url_pattern

SITE = "https://www.portal.example"


@pytest.mark.parametrize(
    ("path", "exact", "kind"),
    [
        ("/", "/", ""),
        ("/news/articles/c5yjegg892lo", "/news/articles/code", "word/word/code"),
        ("/2024/05/31/why-the-river-rose", "/year/day/day/slug", "year/day/day/slug"),
        ("/news/2024-05-31/doc-ihmhafir1023208.shtml", "/news/date/number.shtml", "word/date/number.shtml"),
        ("/tech/story-4711123.html", "/tech/number.html", "word/number.html"),
        ("/a-long-title-of-a-story/126041363.cms", "/slug/number.cms", "slug/number.cms"),
        ("/a-long-title-of-a-story-8661042/", "/slugnumber", "slugnumber"),
        ("/story.php?id=5&utm_source=x&PHPSESSID=1", "/word.php?id", "word.php?id"),
        ("/search?q=x&page=2", "/word?page&q", "word?page&q"),
    ],
)
def test_the_pattern_of_a_url(path, exact, kind):
    pattern = url_pattern(SITE + path)
    assert (pattern.exact, pattern.kind) == (f"www.portal.example{exact}", f"*/{kind}")


@given(st.text(max_size=200))
def test_any_url_has_a_pattern(path):
    pattern = url_pattern(f"https://www.portal.example/{path.replace('[', '').replace(']', '')}")
    assert pattern == url_pattern(f"https://www.portal.example/{path.replace('[', '').replace(']', '')}")
    assert len(pattern.exact) <= 1_000


ARTICLE = "https://www.e.org/news/the-river-rose-2024"


@pytest.mark.parametrize(
    "variant",
    [
        "https://www.e.org/news/the-river-rose-2024/amp/",
        "https://www.e.org/amp/news/the-river-rose-2024",
        "https://amp.e.org/news/the-river-rose-2024",
        "https://m.e.org/news/the-river-rose-2024",
        "http://e.org/news/the-river-rose-2024/print",
        "https://www.e.org/news/the-river-rose-2024?amp=1",
        "https://www.e.org/news/the-river-rose-2024?outputType=amp",
        "https://www.e.org/news/the-river-rose-2024?print=true",
        "https://www.e.org/news/the-river-rose-2024?amp",
        "https://www.e.org/news/amp_the-river-rose-2024",
    ],
)
def test_a_variant_is_dropped_beside_its_article_and_kept_alone(variant):
    assert drop_variants([variant, ARTICLE], str) == [ARTICLE]
    assert drop_variants([variant], str) == [variant]


@pytest.mark.parametrize(
    "url",
    [
        ARTICLE,
        "https://e.org/news/example-of-a-river",
        "https://e.org/printing/the-press",
        "https://e.org/news/amplifier",
        "https://e.org/news?print=7",
        "https://e.org/a?id=1&amp%3Bx=2",
        "http://[::1/broken",
    ],
)
def test_other_urls_are_not_variants(url):
    assert _variant_of(url) is None


def test_urls_with_different_queries_are_not_variants():
    urls = ["https://e.org/story?id=1", "https://e.org/story?id=2&print=1", "https://e.org/story?id=1&print=1"]
    assert drop_variants(urls, str) == urls[:2]

"""Twins of articles, by their addresses."""

import pytest

from spiders.url_patterns import drop_variants, variant_of

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
    assert variant_of(url) is None


def test_urls_with_different_queries_are_not_variants():
    urls = ["https://e.org/story?id=1", "https://e.org/story?id=2&print=1", "https://e.org/story?id=1&print=1"]
    assert drop_variants(urls, str) == urls[:2]

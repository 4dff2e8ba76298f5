"""Twins of articles, by their addresses."""

import pytest

from spiders.url_patterns import drop_variants, variant_of

ARTICLE = "https://www.e.org/news/the-river-rose-2024"


@pytest.mark.parametrize(
    "twin",
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
def test_a_twin_is_left_out_beside_its_article_and_stays_where_it_is_alone(twin):
    assert drop_variants([twin, ARTICLE], str) == [ARTICLE]
    assert drop_variants([twin], str) == [twin]


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
def test_an_address_like_any_other_has_no_twin(url):
    assert variant_of(url) is None


def test_addresses_that_differ_in_their_query_are_no_twins():
    urls = ["https://e.org/story?id=1", "https://e.org/story?id=2&print=1", "https://e.org/story?id=1&print=1"]
    assert drop_variants(urls, str) == urls[:2]
